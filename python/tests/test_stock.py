"""What users of the stock package reach for is here, and does the same."""

import collections
import copy
import pickle
import unittest

import tidemill
from common import OLD, Outer, Person, SCHEMA, stock

VALUES = {
    "name": "Ada",
    "phones": [{"number": "1", "kind": "GOOD"}],
    "scores": {"a": 1},
    "photo": b"\x00\xff",
    "mail": "a@b",
    "partner": {"name": "Bob"},
    "large": 2**64 - 1,
}


class Messages(unittest.TestCase):
    def both(self, **values):
        return Person(**(values or VALUES)), stock()(**(values or VALUES))

    def test_every_public_name_is_there(self):
        ours, theirs = self.both()
        missing = [name for name in dir(theirs) if not name.startswith("_") and not hasattr(ours, name)]
        skipped = {"Kind", "RegisterExtension", "ByIdEntry", "ScoresEntry", "WordsEntry"}
        skipped |= {name for name in missing if name.endswith("_FIELD_NUMBER")}
        self.assertEqual([name for name in missing if name not in skipped], [])

    def test_serialization(self):
        ours, theirs = self.both()
        data = theirs.SerializeToString(deterministic=True)
        self.assertEqual(ours.SerializeToString(deterministic=True), data)
        self.assertEqual(ours.encode(deterministic=True), data)
        self.assertEqual(Person.encode(VALUES, deterministic=True), data)
        self.assertEqual(ours.SerializePartialToString(), ours.encode())
        self.assertEqual(ours.ByteSize(), theirs.ByteSize())
        self.assertEqual(Person.FromString(data), ours)
        again = Person()
        self.assertEqual(again.ParseFromString(data), len(data))
        self.assertEqual(again, ours)
        self.assertEqual(again.MergeFromString(data), len(data))
        theirs.MergeFromString(data)
        self.assertEqual(again.encode(deterministic=True), theirs.SerializeToString(deterministic=True))
        self.assertEqual(str(ours), str(stock().FromString(data)))

    def test_deterministic_output_does_not_depend_on_the_order_of_entries(self):
        names = [f"key {i}" for i in range(50)]
        forth = Person(scores={name: 1 for name in names})
        back = Person(scores={name: 1 for name in reversed(names)})
        self.assertEqual(forth, back)
        self.assertNotEqual(forth.encode(), back.encode())
        self.assertEqual(forth.encode(deterministic=True), back.encode(deterministic=True))

    def test_presence(self):
        for one in self.both(name="Ada", mail="x"):
            self.assertTrue(one.HasField("mail") and one.HasField("contact"))
            self.assertFalse(one.HasField("partner") or one.HasField("photo"))
            for wrong in ["name", "phones", "scores", "nothing"]:
                with self.assertRaises(ValueError):
                    one.HasField(wrong)
            self.assertEqual(one.WhichOneof("contact"), "mail")
            with self.assertRaises(ValueError):
                one.WhichOneof("nothing")
            one.ClearField("contact")
            self.assertIsNone(one.WhichOneof("contact"))
            with self.assertRaises(ValueError):
                one.ClearField("nothing")
            one.partner.SetInParent()
            self.assertTrue(one.HasField("partner"))
            one.ClearField("partner")
            one.Clear()
            self.assertEqual(one.ByteSize(), 0)

    def test_copies_and_merges(self):
        for one in self.both():
            other = type(one)() if not isinstance(one, tidemill.Message) else one.DESCRIPTOR()
            other.CopyFrom(one)
            self.assertEqual(other, one)
            other.partner.name = "Eve"
            self.assertEqual(one.partner.name, "Bob")
            other.MergeFrom(one)
            self.assertEqual(len(other.phones), 2)
            self.assertEqual(other.partner.name, "Bob")
            other.CopyFrom(other)
            self.assertEqual(len(other.phones), 2)
            other.partner.partner.name = "x"
            other.CopyFrom(other.partner)
            self.assertEqual((other.name, other.partner.name), ("Bob", "x"))
            with self.assertRaises(TypeError):
                other.CopyFrom(other.born)
            with self.assertRaises(TypeError):
                other.MergeFrom(5)

    def test_what_was_taken_out_lives_on(self):
        for one in self.both():
            phone, partner = one.phones[0], one.partner
            del one.phones[0]
            one.ClearField("partner")
            self.assertEqual((phone.number, partner.name), ("1", "Bob"))
            partner.name = "alone"
            self.assertFalse(one.HasField("partner"))
            self.assertEqual(one.partner.name, "")
            one.Clear()
            self.assertEqual(phone.number, "1")

    def test_messages_that_are_not_set_read_as_empty_and_are_set_by_writing(self):
        for one in self.both(name="Ada"):
            deep = one.partner.partner.partner
            self.assertEqual(deep.name, "")
            self.assertEqual(len(deep.phones), 0)
            self.assertFalse(one.HasField("partner"))
            deep.name = "deep"
            self.assertEqual(one.partner.partner.partner.name, "deep")
            seen = one.partner.partner
            seen.ClearField("name")
            self.assertEqual(one.partner.partner.partner.name, "deep")

    def test_what_sets_a_message_that_is_not_set(self):
        for change in [
            lambda one: one.Clear(),
            lambda one: one.ClearField("name"),
            lambda one: one.SetInParent(),
            lambda one: one.MergeFromString(b""),
            lambda one: one.ParseFromString(b""),
            lambda one: one.DiscardUnknownFields(),
            lambda one: one.numbers.extend([]),
            lambda one: one.children.extend([]),
            lambda one: one.children.MergeFrom([]),
            lambda one: one.children.__delitem__(slice(None)),
            lambda one: one.scores.clear(),
            lambda one: setattr(one, "name", ""),
            lambda one: one.name,
            lambda one: one.children.sort(),
            lambda one: one.numbers.clear(),
            lambda one: one.scores.get("x"),
            lambda one: one.scores.update({}),
            lambda one: list(one.children),
            lambda one: one.CopyFrom(one),
        ]:
            ours, theirs = Person(), stock_class()()
            change(ours.partner)
            change(theirs.partner)
            self.assertEqual(ours.HasField("partner"), theirs.HasField("partner"))

    def test_list_fields_and_descriptors(self):
        ours, theirs = self.both()
        pairs = [(field.name, field.number) for field, _ in theirs.ListFields()]
        self.assertEqual([(field.name, field.number) for field, _ in ours.ListFields()], pairs)
        self.assertEqual(ours.ListFields()[0][1], "Ada")
        ours, theirs = Person.DESCRIPTOR, stock().DESCRIPTOR
        self.assertEqual((ours.name, ours.full_name), (theirs.name, theirs.full_name))
        self.assertEqual(list(ours.fields_by_name), list(theirs.fields_by_name))
        for name, field in ours.fields_by_name.items():
            other = theirs.fields_by_name[name]
            for what in ["number", "full_name", "json_name", "is_extension", "has_presence", "is_repeated"]:
                self.assertEqual(getattr(field, what), getattr(other, what), f"{name}.{what}")
            self.assertEqual(bool(field.message_type), bool(other.message_type))
            self.assertEqual(bool(field.enum_type), bool(other.enum_type))
        self.assertEqual(ours.oneofs["contact"], ["mail", "phone"])
        self.assertEqual(ours.fields_by_number[10].message_type.fields[1].message_type, SCHEMA["t.Phone"])

    def test_enums(self):
        kind = SCHEMA.enum("t.Kind")
        self.assertEqual((kind.Value("GOOD"), kind.Name(1), kind.GOOD, kind["GOOD"]), (1, "GOOD", 1, 1))
        self.assertEqual((kind.keys(), kind.values(), kind.items()), (["NONE", "GOOD"], [0, 1], [("NONE", 0), ("GOOD", 1)]))
        self.assertEqual(kind, SCHEMA["t.Phone"].fields_by_name["kind"].enum_type)
        for wrong in [lambda: kind.Value("BAD"), lambda: kind.Name(9)]:
            with self.assertRaises(ValueError):
                wrong()
        with self.assertRaises(KeyError):
            SCHEMA.enum("t.Nothing")

    def test_types(self):
        self.assertIsInstance(Person(), Person)
        self.assertNotIsInstance(Person().phone, Person)
        self.assertNotIsInstance(5, Person)
        self.assertEqual(len({Person, SCHEMA["t.Person"], SCHEMA["t.Phone"]}), 2)
        self.assertEqual(Person.schema["t.Phone"], SCHEMA["t.Phone"])

    def test_numbers_are_checked_as_there(self):
        class Index:
            def __index__(self):
                return 5

        class Broken:
            def __index__(self):
                raise ZeroDivisionError

        for one in self.both(name="Ada"):
            for name, value in [("id", 2**31), ("id", -(2**31) - 1), ("large", -1), ("large", 2**64)]:
                with self.assertRaises(ValueError):
                    setattr(one, name, value)
            for name, value in [("id", "5"), ("id", 1.5), ("name", 5), ("photo", "text"), ("ratio", "1")]:
                with self.assertRaises(TypeError):
                    setattr(one, name, value)
            with self.assertRaises(ValueError):
                one.name = b"\xff"
            with self.assertRaises(ValueError):
                one.name = "\ud800"
            one.name = b"bytes"
            self.assertEqual(one.name, "bytes")
            one.id = Index()
            self.assertEqual(one.id, 5)
            one.ratio = 3
            self.assertEqual(one.ratio, 3.0)
        with self.assertRaises(ZeroDivisionError):
            Person().id = Broken()
        with self.assertRaises(OverflowError) as caught:
            Person().id = 2**40
        self.assertIsInstance(caught.exception, tidemill.RangeError)
        self.assertIsInstance(caught.exception, tidemill.Error)

    def test_unknown_fields(self):
        known = Person(name="Ada", partner={"name": "Bob"}).encode()
        small = tidemill.Schema.from_text(
            'syntax = "proto3"; message P { int32 id = 2; P partner = 11; }'
        )["P"]
        message = small.decode(known)
        self.assertEqual(len(message.UnknownFields()), 1)
        self.assertEqual(message.encode(), known[5:] + known[:5])
        self.assertEqual(Person.decode(message.encode()), Person.decode(known))
        message.DiscardUnknownFields()
        self.assertEqual(message.encode(), b"\x5a\x00")


class Together(unittest.TestCase):
    """The same operations on both packages' messages leave the same bytes."""

    def step(self, chance, ours, theirs):
        """One operation, chosen at random, on a message and its counterpart there."""
        # Some way in first.
        for _ in range(chance.randrange(3)):
            way = chance.randrange(4)
            if way == 0:
                ours, theirs = ours.partner, theirs.partner
            elif way == 1 and len(theirs.children):
                at = chance.randrange(len(theirs.children))
                ours, theirs = ours.children[at], theirs.children[at]
        text, number = chance.choice(["", "x", "ü" * 40]), chance.randrange(-3, 3)
        key = chance.randrange(20)
        parts = [(ours, ours.type()), (theirs, type(theirs))]

        def each(do):
            results = []
            for one, make in parts:
                try:
                    result = do(one, make)
                    results.append(result if isinstance(result, (str, int)) else None)
                except (ValueError, IndexError, KeyError):
                    results.append("error")
            self.assertEqual(*[repr(result) for result in results])

        what = chance.randrange(24)
        other = chance.choice(["name", "mail", "phone", "partner", "scores", "children", "photo", "tags"])
        operations = [
            lambda one, make: setattr(one, "name", text),
            lambda one, make: setattr(one, "id", number),
            lambda one, make: setattr(one, "mail", text),
            lambda one, make: setattr(one.phone, "number", text),
            lambda one, make: one.phone.SetInParent(),
            lambda one, make: one.ClearField(other),
            lambda one, make: len(one.children.add(name=text).name),
            lambda one, make: one.children.append(copy.deepcopy(one)),
            lambda one, make: one.children.extend([make(id=number), make()]),
            lambda one, make: one.children.insert(number, make(name="i")),
            lambda one, make: one.children.pop(number).name if -3 <= number < len(one.children) > 3 else 0,
            lambda one, make: one.children.__delitem__(slice(number, None)),
            lambda one, make: one.children.reverse(),
            lambda one, make: one.children.sort(key=lambda child: child.name),
            lambda one, make: one.scores.__setitem__(str(key), number),
            # What is missing is made there, and is 0.
            lambda one, make: one.scores.pop(str(key), 0) if len(one.scores) else 0,
            lambda one, make: setattr(one.by_id.get_or_create(key), "number", text),
            lambda one, make: one.by_id.__delitem__(key),
            lambda one, make: one.numbers.extend([number, 0.5]),
            lambda one, make: one.numbers.__setitem__(slice(0, 1), [1, 2]),
            lambda one, make: one.partner.CopyFrom(make(tags=["t"], scores={"c": 1})),
            lambda one, make: one.MergeFrom(make(name="m", tags=[text], scores={"m": 1}, phones=[{"kind": 1}])),
            lambda one, make: one.MergeFromString(make(partner={"name": "s"}, flags=[True]).SerializeToString()),
        ]
        if what == 23:
            data = theirs.SerializeToString()[: chance.choice([40, 10**6])]
            # What was parsed before an error is left, or not: both stop here.
            try:
                theirs.ParseFromString(data)
                ours.ParseFromString(data)
            except Exception:
                theirs.Clear()
                ours.Clear()
            return
        if theirs.ByteSize() > 2000 and what in (7, 21):
            return
        each(operations[what])

    def test_random_operations(self):
        import random

        for seed in range(300):
            chance = random.Random(seed)
            ours, theirs = Person(), stock_class()()
            for _ in range(60):
                self.step(chance, ours, theirs)
                data = theirs.SerializeToString(deterministic=True)
                # The order of entries is another there: from the greatest key down.
                self.assertEqual(ours, Person.decode(data), f"seed {seed}")
                self.assertEqual(ours.ByteSize(), len(data))
                data = ours.encode(deterministic=True)
                self.assertEqual(copy.deepcopy(ours).SerializeToString(deterministic=True), data)


def stock_class(made=[]):
    """Made once, as each call of `stock` makes a class of its own."""
    if not made:
        made.append(stock())
    return made[0]


class Old(unittest.TestCase):
    """What proto2 has besides."""

    def test_required(self):
        message = Outer(inner={})
        theirs = stock(OLD, "old.Outer")(inner={})
        for one, error in [(message, tidemill.EncodeError), (theirs, Exception)]:
            self.assertFalse(one.IsInitialized())
            self.assertEqual(one.FindInitializationErrors(), ["inner.x"])
            errors = []
            self.assertFalse(one.IsInitialized(errors))
            self.assertEqual(errors, ["inner.x"])
            with self.assertRaises(error):
                one.SerializeToString()
            self.assertEqual(one.SerializePartialToString(), b"\x0a\x00")
            one.inner.x = 0
            self.assertTrue(one.IsInitialized())
            self.assertEqual(one.SerializeToString(), b"\x0a\x02\x08\x00")

    def test_required_in_extensions(self):
        message = Outer()
        message["[old.deep]"] = {}
        with self.assertRaises(tidemill.EncodeError):
            message.encode()

    def test_extensions(self):
        message = Outer()
        note = OLD.extension("old.note")
        self.assertTrue(note.is_extension)
        self.assertFalse(message.HasExtension(note))
        message.Extensions[note] = "a"
        message.Extensions["old.marks"].append(3)
        message.Extensions["[old.deep]"].x = 4
        self.assertTrue(message.HasExtension("old.note"))
        self.assertIn(note, message.Extensions)
        self.assertEqual(message["[old.marks]"], [3])
        self.assertEqual(Outer.decode(message.encode()), message)
        self.assertEqual(Outer(**message.to_dict()), message)
        message.ClearExtension(note)
        del message.Extensions["old.deep"]
        self.assertEqual(message.to_dict(), {"[old.marks]": [3]})
        for wrong in ["old.nothing", "t.note"]:
            with self.assertRaises(KeyError):
                message.Extensions[wrong]

    def test_defaults_closed_enums_and_groups(self):
        message = Outer(closed=["B", 1])
        self.assertEqual((message.big, message.inner.s), (-5, "none"))
        self.assertEqual(Outer.fields_by_name["big"].default_value, -5)
        with self.assertRaises(tidemill.Error):
            message.closed.append(7)
        message.pair.left = 1
        self.assertEqual(Outer.decode(message.encode()).pair.left, 1)
        self.assertEqual(Outer.fields_by_name["pair"].kind, "group")


class Copies(unittest.TestCase):
    def test_pickle(self):
        person = Person(**VALUES)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(person, protocol))
            self.assertEqual(again, person)
            self.assertEqual(again.type(), Person)
        self.assertEqual(pickle.loads(pickle.dumps(Person)), Person)
        self.assertIn("t.Person", pickle.loads(pickle.dumps(SCHEMA)))
        many = [Person(id=i) for i in range(1, 101)]
        data = pickle.dumps(many)
        self.assertEqual(pickle.loads(data), many)
        self.assertLess(len(data), len(pickle.dumps(many[0])) + 100 * 60, "the schema is there once")
        partner = pickle.loads(pickle.dumps(person.partner))
        self.assertEqual(partner.name, "Bob")
        unfinished = Outer(inner={})
        self.assertEqual(pickle.loads(pickle.dumps(unfinished)), unfinished)

    def test_pickles_of_other_processes(self):
        import subprocess
        import sys

        script = (
            "import pickle, sys, tidemill\n"
            "one = pickle.load(sys.stdin.buffer)\n"
            "one.name += '!'\n"
            "sys.stdout.buffer.write(pickle.dumps([one, one.type()]))\n"
        )
        data = pickle.dumps(Person(name="Ada"))
        done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
        message, ty = pickle.loads(done.stdout)
        self.assertEqual((message.name, message.type(), ty), ("Ada!", Person, Person))
        self.assertEqual(message, Person(name="Ada!"))

    def test_copy(self):
        person = Person(**VALUES)
        for copied in (copy.copy(person), copy.deepcopy(person), copy.deepcopy([person])[0]):
            self.assertEqual(copied, person)
            copied.partner.name = "Eve"
            self.assertEqual(person.partner.name, "Bob")
        inner = copy.copy(person.partner)
        inner.name = "Eve"
        self.assertEqual(person.partner.name, "Bob")

    def test_named_fields_of_any_kind(self):
        values = collections.OrderedDict(name="Ada", partner=collections.OrderedDict(name="Bob"))
        self.assertEqual(Person(**values).partner.name, "Bob")
        self.assertEqual(Person(partner=Person(name="Bob").to_dict()).partner.name, "Bob")


if __name__ == "__main__":
    unittest.main()
