"""Microseconds a message: this package, the stock protobuf package, ptars.

Each row checks what it made; a package that is not installed is said to be absent.
"""

import time

import tidemill

TEXT = """
syntax = "proto3";
package bench;
message Position { double latitude = 1; double longitude = 2; }
message Telemetry {
  fixed64 device = 1;
  int64 time_ns = 2;
  Position position = 3;
  float temperature = 4;
  int32 battery = 5;
  string firmware = 6;
  repeated sint32 samples = 7;
}
"""
COUNT = 100_000
RUNS = 5


def values(at):
    return {
        "device": at % 5000,
        "time_ns": 1_700_000_000_000_000_000 + at,
        "position": {"latitude": 48.0 + at / 1e6, "longitude": 11.5},
        "temperature": 20.5,
        "battery": at % 101,
        "firmware": "2.10.3",
        "samples": [at % 7, -3, 250],
    }


def measure(what, who, work, expected):
    best = None
    for _ in range(RUNS):
        start = time.process_time()
        result = work()
        seconds = time.process_time() - start
        if result != expected:
            raise SystemExit(f"{who} {what}: {result} instead of {expected}")
        best = seconds if best is None else min(best, seconds)
    print(f"{what:<22} {who:<10} {best / COUNT * 1e6:8.3f} us")


def main():
    schema = tidemill.Schema.from_text(TEXT)
    ours = schema["bench.Telemetry"]
    messages = [ours.encode(values(at)) for at in range(COUNT)]
    total = sum(at % 101 for at in range(COUNT))
    size = sum(map(len, messages))

    measure("decode, one field", "tidemill", lambda: sum(ours.decode(m).battery for m in messages), total)
    measure(
        "decode to dict",
        "tidemill",
        lambda: sum(ours.decode_to_dict(m).get("battery", 0) for m in messages),
        total,
    )
    decoded = [ours.decode(m) for m in messages]
    measure("encode", "tidemill", lambda: sum(len(m.encode()) for m in decoded), size)

    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
    except ImportError as error:
        print("absent protobuf:", error)
        return
    files = descriptor_pb2.FileDescriptorSet.FromString(schema.descriptor_set())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    theirs = message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.Telemetry"))
    measure(
        "decode, one field", "protobuf", lambda: sum(theirs.FromString(m).battery for m in messages), total
    )
    to_dict = json_format.MessageToDict
    measure(
        "decode to dict",
        "protobuf",
        lambda: sum(to_dict(theirs.FromString(m)).get("battery", 0) for m in messages),
        total,
    )
    decoded = [theirs.FromString(m) for m in messages]
    measure("encode", "protobuf", lambda: sum(len(m.SerializeToString()) for m in decoded), size)

    try:
        import pyarrow.compute
    except ImportError as error:
        print("absent pyarrow:", error)
        return

    def battery(batch):
        return pyarrow.compute.sum(batch.column("battery")).as_py()

    measure("to Arrow", "tidemill", lambda: battery(tidemill.to_arrow(ours, messages)), total)
    try:
        import ptars
    except ImportError as error:
        print("absent ptars:", error)
        return
    handler = ptars.HandlerPool([theirs.DESCRIPTOR.file]).get_for_message(theirs.DESCRIPTOR)
    measure("to Arrow", "ptars", lambda: battery(handler.list_to_record_batch(messages)), total)


main()
