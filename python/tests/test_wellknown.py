"""Times, durations, ``Any``, masks and structs do what the stock package's do."""

import datetime
import random
import unittest

import tidemill
from common import Person, SCHEMA, stock

TEXT = """
syntax = "proto3";
package w;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
message All {
  google.protobuf.Any any = 1;
  google.protobuf.Duration span = 2;
  google.protobuf.FieldMask mask = 3;
  google.protobuf.Struct struct = 4;
  google.protobuf.Timestamp when = 5;
  google.protobuf.ListValue list = 6;
  message Inner { int32 some_number = 1; enum Kind { ZERO = 0; ONE = 1; } }
  enum Color { RED = 0; GREEN = 7; }
}
"""
WELL = tidemill.Schema.from_text(TEXT, "w.proto")
All = WELL["w.All"]
UTC = datetime.timezone.utc


class WellKnown(unittest.TestCase):
    def both(self):
        return All(), stock(WELL, "w.All")()

    def same(self, ours, theirs, do, what=None):
        results = []
        for one in (ours, theirs):
            try:
                results.append(do(one))
            except (ValueError, OverflowError):
                results.append("ValueError")
        self.assertEqual(*results, what)
        if results[0] != "ValueError":
            self.assertEqual(ours.SerializeToString(), theirs.SerializeToString())

    def test_times_and_durations(self):
        chance = random.Random(4)
        numbers = [0, 1, -1, 999, -999, 1500, -1500, 10**9, -(10**9) - 1, 10**19, -(10**19), 2**70]
        numbers += [chance.randrange(-(10**18), 10**18) for _ in range(100)]
        for number in numbers:
            for field in ["when", "span"]:
                for unit in ["Nanoseconds", "Microseconds", "Milliseconds", "Seconds"]:
                    ours, theirs = self.both()
                    count = number if unit == "Nanoseconds" else number // 10**6
                    scale = {"Nanoseconds": 1, "Microseconds": 10**3, "Milliseconds": 10**6, "Seconds": 10**9}
                    if field == "span" and abs(count) * scale[unit] > 3 * 10**20:
                        # The stock package sets what is no duration.
                        with self.assertRaises(ValueError):
                            getattr(ours.span, "From" + unit)(2**90)
                        continue
                    self.same(ours, theirs, lambda one: getattr(getattr(one, field), "From" + unit)(count), (field, unit, count))
                    if ours.SerializeToString() != theirs.SerializeToString():
                        continue
                    for out in ["Nanoseconds", "Microseconds", "Milliseconds", "Seconds", "JsonString"]:
                        self.same(ours, theirs, lambda one: getattr(getattr(one, field), "To" + out)())
                    convert = "ToDatetime" if field == "when" else "ToTimedelta"
                    self.same(ours, theirs, lambda one: getattr(getattr(one, field), convert)())

    def test_python_times(self):
        when = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
        zone = datetime.timezone(datetime.timedelta(hours=2))
        for moment in [when, when.replace(tzinfo=UTC), when.replace(tzinfo=zone), datetime.datetime(1, 1, 1)]:
            ours, theirs = self.both()
            self.same(ours, theirs, lambda one: one.when.FromDatetime(moment))
            self.assertEqual(All(when=moment), ours)
            self.assertEqual(ours.when.ToDatetime(UTC), theirs.when.ToDatetime(UTC))
            assigned = All()
            assigned.when = moment
            self.assertEqual(assigned, ours)
        for span in [datetime.timedelta(days=-1, microseconds=5), datetime.timedelta(hours=5)]:
            ours, theirs = self.both()
            self.same(ours, theirs, lambda one: one.span.FromTimedelta(span))
            self.assertEqual(All(span=span), ours)
            self.assertEqual(ours.span.ToTimedelta(), span)
        ours, theirs = self.both()
        self.same(ours, theirs, lambda one: one.when.FromJsonString("2026-01-02T03:04:05.5Z"))
        self.same(ours, theirs, lambda one: one.span.FromJsonString("-1.5s"))
        self.same(ours, theirs, lambda one: one.when.FromJsonString("yesterday"))
        ours.when.GetCurrentTime()
        self.assertGreater(ours.when.seconds, 1_700_000_000)
        for wrong in [5, "x", when]:
            with self.assertRaises(TypeError):
                All(span=wrong)
        self.assertEqual(Person(born=when.replace(tzinfo=UTC)).born.ToDatetime(UTC), when.replace(tzinfo=UTC))

    def test_any(self):
        ours, theirs = self.both()
        inner, other = Person(name="Ada"), stock()(name="Ada")
        ours.any.Pack(inner)
        theirs.any.Pack(other)
        self.assertEqual(ours.SerializeToString(), theirs.SerializeToString())
        self.assertEqual(ours.any.TypeName(), "t.Person")
        self.assertTrue(ours.any.Is(Person.DESCRIPTOR))
        again = Person()
        self.assertTrue(ours.any.Unpack(again))
        self.assertEqual(again, inner)
        self.assertFalse(ours.any.Unpack(SCHEMA["t.Phone"]()))

    def test_structs_and_masks(self):
        values = {"a": None, "b": True, "c": 1, "d": "x", "e": [1, {"f": 2.5}], "g": {"h": []}}
        ours, theirs = self.both()
        ours.struct.update(values)
        theirs.struct.update(values)
        ours.list.extend([1, "x", None])
        theirs.list.extend([1, "x", None])
        ours.list.append({"a": 1})
        theirs.list.append({"a": 1})
        ours.struct.get_or_create_struct("s").update({"t": 1})
        theirs.struct.get_or_create_struct("s").update({"t": 1})
        ours.mask.FromJsonString("a.b,cD")
        theirs.mask.FromJsonString("a.b,cD")
        self.assertEqual(ours.mask.ToJsonString(), theirs.mask.ToJsonString())
        self.assertEqual(ours.encode(deterministic=True), theirs.SerializeToString(deterministic=True))
        with self.assertRaises(ValueError):
            ours.struct.update({"x": object()})

    def test_what_is_declared_inside(self):
        theirs = stock(WELL, "w.All")
        self.assertEqual(All.ANY_FIELD_NUMBER, theirs.ANY_FIELD_NUMBER)
        self.assertEqual(All.Inner.SOME_NUMBER_FIELD_NUMBER, 1)
        self.assertEqual((All.GREEN, All.Color.Value("GREEN"), All().GREEN), (7, 7, 7))
        self.assertEqual(All.Inner, WELL["w.All.Inner"])
        self.assertEqual(All.Inner.Kind.Name(1), "ONE")
        for wrong in ["NOTHING_FIELD_NUMBER", "Nothing", "ToDatetime", "Pack"]:
            self.assertFalse(hasattr(All, wrong))
            self.assertFalse(hasattr(All(), wrong))


if __name__ == "__main__":
    unittest.main()
