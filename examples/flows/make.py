"""Makes a capture: `python3 make.py SEED [FILE]`. The same seed gives the same bytes.

Two minutes of a link: short and long flows, some that pause for longer than a flow may, a few
sources that send a lot, sensors with telemetry in UDP, and what is neither TCP nor UDP nor IPv4.
"""

import random
import struct
import sys

START = 1_795_255_200_000_000  # microseconds since the epoch
SECONDS = 120


def address(text):
    return bytes(int(part) for part in text.split("."))


def ethernet(kind, content):
    return bytes.fromhex("020000000002020000000001") + struct.pack(">H", kind) + content


def ip(source, target, protocol, content, number=0):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(content), number & 0xFFFF, 0, 64,
                       protocol, 0, address(source), address(target))
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return ethernet(0x0800, head[:10] + struct.pack(">H", total) + head[12:] + content)


def udp(source, target, sport, dport, content):
    head = struct.pack(">HHHH", sport, dport, 8 + len(content), 0)
    return ip(source, target, 17, head + content)


def tcp(source, target, sport, dport, length, sequence):
    head = struct.pack(">HHIIBBHHH", sport, dport, sequence & 0xFFFFFFFF, 1, 0x50, 0x10, 8192, 0, 0)
    return ip(source, target, 6, head + bytes(length))


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def reading(device, celsius, samples, place):
    packed = b"".join(varint((number << 1) ^ (number >> 31)) for number in samples)
    place = place.encode()
    return (b"\x08" + varint(device) + b"\x11" + struct.pack("<d", celsius)
            + b"\x1a" + varint(len(packed)) + packed + b"\x22" + varint(len(place)) + place)


def times(chance, count, pauses):
    """When the packets of a flow come. No gap is near the 15 seconds that end a flow."""
    at, out = chance.uniform(0, SECONDS), []
    for _ in range(count):
        if at > SECONDS:
            break
        out.append(at)
        is_pause = pauses and chance.random() < 0.1
        at += chance.uniform(20, 30) if is_pause else chance.uniform(0.0001, 8 if count < 20 else 0.3)
    return out


def packets(chance):
    for number in range(400):
        source = f"10.{chance.randrange(4)}.0.{chance.randrange(1, 250)}"
        target = f"192.0.2.{chance.randrange(1, 250)}"
        sport, dport = chance.randrange(1024, 65536), chance.choice([53, 80, 443, 8080])
        is_long = number % 40 == 0
        count = chance.randrange(150, 400) if is_long else chance.randrange(1, 15)
        for step, at in enumerate(times(chance, count, number % 5 == 1)):
            size = 1400 if is_long else chance.randrange(0, 600)
            if dport == 53:
                yield at, udp(source, target, sport, dport, bytes(size))
            else:
                yield at, tcp(source, target, sport, dport, size, step * 1000)
    for device in range(1, 21):
        sensor = f"10.9.0.{device}"
        for second in range(device % 7, SECONDS, 7):
            at = second + chance.random()
            celsius = chance.choice([21.5, 40.25, 79.5, 80.0, 95.75])
            samples = [chance.randrange(-1000, 1000) for _ in range(chance.randrange(4))]
            content = reading(device, celsius, samples, chance.choice(["", "mill", "Mühle"]))
            if chance.random() < 0.05:
                content = b"\xff\xff no telemetry"
            yield at, udp(sensor, "10.9.0.100", 4000, 5000, content)
    for number in range(30):
        at = chance.uniform(0, SECONDS)
        yield at, ip("10.0.0.1", "192.0.2.1", 1, b"\x08\0\0\0\0\1" + struct.pack(">H", number))
        arp = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + bytes(6) + address("10.0.0.1") + bytes(10)
        yield at + 0.001, ethernet(0x0806, arp)


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else "1"
    file = sys.argv[2] if len(sys.argv) > 2 else "traffic.pcap"
    made = sorted(packets(random.Random(seed)), key=lambda packet: packet[0])
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for at, frame in made:
            micros = START + int(at * 1_000_000)
            out.write(struct.pack("<IIII", micros // 1_000_000, micros % 1_000_000,
                                  len(frame), len(frame)))
            out.write(frame)


main()
