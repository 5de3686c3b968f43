"""Microseconds a message: this package, the stock protobuf package, ptars.

    python python/bench/compare.py [ROUNDS]

Messages of about 100 bytes and of about 50 kB: telemetry, an OTLP export of traces, a log batch,
packed lists of numbers. Each row checks what it made; the peers take turns, so that a change of the
machine's speed touches both, and the best of the rounds counts. A package that is not installed is
said to be absent; what a package has no operation for is made of those that it has, as its users do.
"""

import json
import random
import statistics
import sys
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
  string station = 8;
  map<string, string> labels = 9;
}
message Attribute { string key = 1; oneof value { string text = 2; int64 number = 3; bool flag = 4; } }
message Event { fixed64 time_ns = 1; string name = 2; repeated Attribute attributes = 3; }
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  bytes parent_id = 3;
  string name = 4;
  int32 kind = 5;
  fixed64 start_ns = 6;
  fixed64 end_ns = 7;
  repeated Attribute attributes = 8;
  repeated Event events = 9;
}
message Traces { string service = 1; repeated Span spans = 2; }
message Line { fixed64 time_ns = 1; int32 level = 2; string text = 3; string file = 4; }
message Logs { string host = 1; repeated Line lines = 2; }
message Numbers { repeated double wide = 1; repeated int32 short = 2; repeated sint64 long = 3; }
"""


def telemetry(at, chance):
    return {
        "device": at % 5000,
        "time_ns": 1_700_000_000_000_000_000 + at,
        "position": {"latitude": 48.0 + at / 1e6, "longitude": 11.5},
        "temperature": 20.5,
        "battery": 1 + at % 100,
        "firmware": "2.10.3",
        "samples": [1 + at % 7, -3, 250],
        "station": f"station-{chance.randrange(10000):04}-of-the-north",
        "labels": {"site": "north"},
    }


def attribute(chance):
    key = chance.choice(["http.method", "http.status", "peer.address", "retry", "queue"])
    value = chance.choice([("text", f"value {chance.randrange(1000)}"), ("number", 200), ("flag", True)])
    return {"key": key, value[0]: value[1]}


def traces(count, chance):
    def span(at):
        start = 1_700_000_000_000_000_000 + at * 1000
        return {
            "trace_id": chance.randbytes(16),
            "span_id": chance.randbytes(8),
            "parent_id": chance.randbytes(8),
            "name": f"operation {chance.randrange(100)}",
            "kind": 1 + at % 4,
            "start_ns": start,
            "end_ns": start + 1 + chance.randrange(10**6),
            "attributes": [attribute(chance) for _ in range(4)],
            "events": [{"time_ns": start + 1, "name": "retry", "attributes": [attribute(chance)]}],
        }

    return {"service": "shop", "spans": [span(at) for at in range(count)]}


def logs(count, chance):
    def line(at):
        words = " ".join(chance.choice(["accepted", "closed", "peer", "timeout", "of", "42"]) for _ in range(12))
        return {"time_ns": at + 1, "level": 1 + at % 5, "text": words, "file": "src/net/listener.rs"}

    return {"host": "node-17", "lines": [line(at) for at in range(count)]}


def numbers(count, chance):
    return {
        "wide": [chance.random() for _ in range(count)],
        "short": [chance.randrange(1, 300) for _ in range(count)],
        "long": [chance.randrange(-(10**9), 10**9) for _ in range(count)],
    }


def cases():
    chance = random.Random(7)
    small = [telemetry(at, chance) for at in range(1000)]
    return [
        ("telemetry", "Telemetry", small, "samples"),
        ("traces", "Traces", [traces(270, chance) for _ in range(4)], "spans"),
        ("logs", "Logs", [logs(475, chance) for _ in range(4)], "lines"),
        ("numbers", "Numbers", [numbers(3450, chance) for _ in range(4)], "wide"),
    ]


class Rows:
    """Measures peers in turns."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.ahead = True

    def measure(self, case, what, peers, count, least_seconds=0.05):
        """Each peer is a pair of name and work; all give the same."""
        results = [work() for _, work in peers]
        for (name, _), result in zip(peers, results):
            if result != results[0]:
                raise SystemExit(f"{case} {what}: {name} made {result!r:.200}, not {results[0]!r:.200}")
        # What is compiled when it pays is compiled before anything counts.
        repeat = {}
        for name, work in peers:
            start, times = time.process_time(), 0
            while time.process_time() - start < least_seconds:
                work()
                times += 1
            repeat[name] = max(1, times)
        best = {name: [] for name, _ in peers}
        for _ in range(self.rounds):
            for name, work in peers:
                times = repeat[name]
                start = time.process_time()
                for _ in range(times):
                    work()
                best[name].append((time.process_time() - start) / times / count * 1e6)
        ours = min(best["tidemill"])
        for name, _ in peers:
            low, middle = min(best[name]), statistics.median(best[name])
            times = "" if name == "tidemill" else f"  {low / ours:6.2f} times ours"
            self.ahead &= low >= ours
            print(f"{case:<10} {what:<16} {name:<9} {low:10.3f} us (median {middle:10.3f}){times}", flush=True)


def to_dicts(values):
    """Plain values as JSON has them, to be compared with what the stock package makes."""
    return json.loads(json.dumps(values, sort_keys=True))


def read_all(message, fields):
    """Reads every field of a message and what is inside, by attributes."""
    count = 0
    for name, inner in fields:
        value = getattr(message, name)
        if inner is None:
            count += 1
        elif inner == "list":
            for _ in value:
                count += 1
        else:
            for one in value:
                count += read_all(one, inner)
    return count


ATTRIBUTE = [("key", None), ("text", None), ("number", None)]
FIELDS = {
    "Telemetry": [("device", None), ("battery", None), ("firmware", None), ("samples", "list"), ("station", None)],
    "Traces": [
        ("service", None),
        ("spans", [("trace_id", None), ("name", None), ("kind", None), ("attributes", ATTRIBUTE)]),
    ],
    "Logs": [("host", None), ("lines", [("time_ns", None), ("level", None), ("text", None)])],
    "Numbers": [("wide", "list"), ("short", "list")],
}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    schema = tidemill.Schema.from_text(TEXT)
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
        from google.protobuf.internal import api_implementation

        print("protobuf:", api_implementation.Type(), __import__("google.protobuf").protobuf.__version__)
    except ImportError as error:
        sys.exit(f"absent protobuf: {error}")
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError as error:
        pyarrow = None
        print("absent pyarrow:", error)
    try:
        import ptars
    except ImportError as error:
        ptars = None
        print("absent ptars:", error)
    files = descriptor_pb2.FileDescriptorSet.FromString(schema.descriptor_set())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    rows = Rows(rounds)
    for case, name, values, listed in cases():
        ours = schema[f"bench.{name}"]
        theirs = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"bench.{name}"))
        data = [theirs(**value).SerializeToString() for value in values]
        count = len(data)
        print(f"{case}: {sum(map(len, data)) // count} bytes each")

        def both(what, our_work, their_work, more=()):
            peers = [("tidemill", our_work), ("protobuf", their_work), *more]
            rows.measure(case, what, peers, count)

        def drain(make):
            def work():
                for one in data:
                    make(one)

            return work

        assert [ours.decode(one).encode(deterministic=True) for one in data] == [
            theirs.FromString(one).SerializeToString(deterministic=True) for one in data
        ]
        both("decode", drain(ours.decode), drain(theirs.FromString))
        fields = FIELDS[name]
        both(
            "decode and read",
            lambda: sum(read_all(ours.decode(one), fields) for one in data),
            lambda: sum(read_all(theirs.FromString(one), fields) for one in data),
        )
        our_messages = [ours.decode(one) for one in data]
        their_messages = [theirs.FromString(one) for one in data]
        both(
            "encode",
            lambda: sum(len(one.encode()) for one in our_messages),
            lambda: sum(len(one.SerializeToString()) for one in their_messages),
        )
        both(
            "make and encode",
            lambda: sum(len(ours(**one).encode()) for one in values),
            lambda: sum(len(theirs(**one).SerializeToString()) for one in values),
        )
        both(
            "read fields",
            lambda: sum(read_all(one, fields) for one in our_messages),
            lambda: sum(read_all(one, fields) for one in their_messages),
        )
        to_dict = json_format.MessageToDict
        options = {"preserving_proto_field_name": True}
        both(
            "bytes to dict",
            lambda: sum(len(ours.decode_to_dict(one)[listed]) for one in data),
            lambda: sum(len(to_dict(theirs.FromString(one), **options)[listed]) for one in data),
        )
        both(
            "message to dict",
            lambda: sum(len(one.to_dict()[listed]) for one in our_messages),
            lambda: sum(len(to_dict(one, **options)[listed]) for one in their_messages),
        )
        texts = [one.to_json() for one in our_messages]
        for text, message in zip(texts, their_messages):
            assert json.loads(text) == to_dict(message), "JSON"
        both(
            "message to JSON",
            drain_json(our_messages, lambda one: one.to_json()),
            drain_json(their_messages, lambda one: json_format.MessageToJson(one, indent=None)),
        )
        both(
            "bytes to JSON",
            drain_json(data, ours.bytes_to_json),
            drain_json(data, lambda one: json_format.MessageToJson(theirs.FromString(one), indent=None)),
        )
        both(
            "JSON to bytes",
            lambda: sum(len(ours.json_to_bytes(one)) for one in texts),
            lambda: sum(len(json_format.Parse(one, theirs()).SerializeToString()) for one in texts),
        )
        if pyarrow:

            def by_dicts():
                dicts = [to_dict(theirs.FromString(one), **options) for one in data]
                return pyarrow.RecordBatch.from_pylist(dicts).num_rows

            more = []
            if ptars:
                handler = ptars.HandlerPool([theirs.DESCRIPTOR.file]).get_for_message(theirs.DESCRIPTOR)
                more = [("ptars", lambda: handler.list_to_record_batch(data).num_rows)]
            both("to Arrow", lambda: tidemill.to_arrow(ours, data).num_rows, by_dicts, more)
    print("ahead in all rows" if rows.ahead else "NOT ahead in all rows")


def drain_json(messages, make):
    def work():
        for one in messages:
            make(one)

    return work


if __name__ == "__main__":
    main()
