"""Counts a capture by itself: `python3 count.py [FILE [FOLDER]]`.

Prints the line that the program prints at its end. With a folder, what the program has written
there (`flows.csv`, `heavy.jsonl`, `alarms.jsonl`) must be what is found here, else the status is 1.
"""

import collections
import csv
import glob
import json
import struct
import sys

IDLE_NS = 15_000_000_000
WINDOW_NS = 10_000_000_000
HEAVY = 100_000
HOT = 80


def packets(file):
    """Times in nanoseconds, lengths on the wire, and frames of a classic capture."""
    with open(file, "rb") as capture:
        magic = capture.read(24)[:4]
        unit = {b"\xd4\xc3\xb2\xa1": 1000, b"\x4d\x3c\xb2\xa1": 1}[magic]
        while head := capture.read(16):
            seconds, parts, kept, length = struct.unpack("<IIII", head)
            yield seconds * 1_000_000_000 + parts * unit, length, capture.read(kept)


def text(address):
    return ".".join(str(byte) for byte in address)


def varint(message, at):
    number, shift = 0, 0
    while True:
        byte = message[at]
        number, shift, at = number | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return number, at


def reading(message):
    """Device and temperature of a telemetry.Reading; an exception if it is none."""
    device, celsius, at = 0, 0.0, 0
    while at < len(message):
        tag, at = varint(message, at)
        field, kind = tag >> 3, tag & 7
        if field == 0:
            raise ValueError("no field has this number")
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 1:
            (value,), at = struct.unpack_from("<d", message, at), at + 8
        elif kind == 2:
            length, at = varint(message, at)
            value, at = message[at:at + length], at + length
            if len(value) < length:
                raise ValueError("a field is cut off")
        elif kind == 5:
            (value,), at = struct.unpack_from("<f", message, at), at + 4
        else:
            raise ValueError("no such kind of field")
        if (field, kind) == (1, 0):
            device = value & 0xFFFFFFFF
        elif (field, kind) == (2, 1):
            celsius = value
    return device, celsius


class Counts:
    def __init__(self):
        self.parts = []  # flow, window, packets, bytes, whether it is the last
        self.open = {}  # flow: last time, window, packets, bytes
        self.sent = collections.Counter()  # window and source: bytes
        self.alarms, self.odd = {}, 0
        self.flows = self.packets = self.bytes = self.others = 0

    def part(self, flow, is_last):
        _, window, count, length = self.open[flow]
        self.parts.append((*flow, window, count, length, is_last))
        self.sent[window, flow[0]] += length

    def packet(self, time, length, frame):
        if frame[12:14] != b"\x08\x00":
            self.others += 1
            return
        content = frame[14 + (frame[14] & 15) * 4:]
        protocol = frame[23]
        has_ports = protocol in (6, 17)
        ports = struct.unpack_from(">HH", content) if has_ports else (0, 0)
        flow = (text(frame[26:30]), text(frame[30:34]), protocol, *ports)
        self.packets, self.bytes = self.packets + 1, self.bytes + length
        if flow in self.open and time - self.open[flow][0] > IDLE_NS:
            self.part(flow, 1)
            del self.open[flow]
        window = time // WINDOW_NS
        if flow not in self.open:
            self.flows += 1
            self.open[flow] = (time, window, 0, 0)
        elif self.open[flow][1] != window:
            self.part(flow, 0)
            self.open[flow] = (time, window, 0, 0)
        _, _, count, total = self.open[flow]
        self.open[flow] = (time, window, count + 1, total + length)
        if protocol == 17 and ports[1] == 5000:
            self.telemetry(time, flow[0], content[8:])

    def telemetry(self, time, source, message):
        try:
            device, celsius = reading(message)
        except (ValueError, IndexError, struct.error):
            self.odd += 1
            return
        if celsius >= HOT:
            self.alarms[time, device] = (source, celsius)

    def end(self):
        for flow in self.open:
            self.part(flow, 1)
        self.heavy = {key: sent for key, sent in self.sent.items() if sent >= HEAVY}

    def line(self):
        return (f"{self.flows} flows, {self.packets} packets, {self.bytes} bytes, {self.others} "
                f"packets of other kinds, {len(self.heavy)} times heavy, {len(self.alarms)} alarms")


def compare(what, here, there):
    if here == there:
        return True
    print(f"{what}: {len(here)} here and {len(there)} there, {len(here ^ there)} differ",
          sorted(here ^ there)[:5], file=sys.stderr)
    return False


def paths(folder, name):
    """The file of that name; of several nodes each has written one, in a folder of its own."""
    return glob.glob(f"{folder}/{name}") or sorted(glob.glob(f"{folder}/[0-9]*/{name}"))


def agrees(counts, folder):
    rows = []
    for path in paths(folder, "flows.csv"):
        with open(path, encoding="utf-8") as file:
            rows += [tuple(row[1:]) for row in csv.reader(file)][1:]
    flows = collections.Counter(rows)
    here = collections.Counter(tuple(str(value) for value in part) for part in counts.parts)

    def lines(name):
        found = []
        for path in paths(folder, name):
            with open(path, encoding="utf-8") as file:
                found += [json.loads(line) for line in file]
        return found

    heavy = {(line["a2"], line["a3"], line["a4"]) for line in lines("heavy.jsonl")}
    alarms = {(line["a2"], line["a3"], line["a4"], line["a5"]) for line in lines("alarms.jsonl")}
    time = lambda ns: f"{ns // 1_000_000_000}.{ns % 1_000_000_000:09}t"
    all_agree = [
        compare("flows", set(here.items()), set(flows.items())),
        compare("heavy", {(*key, sent) for key, sent in counts.heavy.items()}, heavy),
        compare("alarms", {(time(at), source, device, celsius)
                           for (at, device), (source, celsius) in counts.alarms.items()}, alarms),
    ]
    return all(all_agree)


def main():
    counts = Counts()
    for packet in packets(sys.argv[1] if len(sys.argv) > 1 else "traffic.pcap"):
        counts.packet(*packet)
    counts.end()
    print(counts.line())
    if len(sys.argv) > 2 and not agrees(counts, sys.argv[2]):
        sys.exit(1)


main()
