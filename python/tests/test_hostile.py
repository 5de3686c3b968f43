"""Nothing that a program or its input does ends the process: it ends in an exception."""

import gc
import os
import random
import threading
import unittest

import tidemill
from common import OLD, Outer, Person, SCHEMA, stock

ERRORS = (
    tidemill.Error,
    AttributeError,
    TypeError,
    ValueError,
    LookupError,
    OverflowError,
    RecursionError,
    RuntimeError,
)


def person(depth=3, chance=None):
    """A message with something in nearly every field."""
    chance = chance or random.Random(1)
    values = {
        "name": "Ada " * chance.randrange(1, 9),
        "id": chance.randrange(-(2**31), 2**31),
        "phones": [{"number": str(i), "kind": i % 3} for i in range(chance.randrange(6))],
        "scores": {str(i): -i for i in range(chance.randrange(20))},
        "photo": chance.randbytes(chance.randrange(40)),
        "numbers": [chance.random() for _ in range(chance.randrange(9))],
        "by_id": {i: {"number": "x"} for i in range(chance.randrange(4))},
        "tags": ["ü", "\U0001f980", ""],
        "kinds": [0, 1, 77],
        "flags": [True, False],
        "large": 2**63,
        "ratio": 0.5,
        "blobs": [b"", b"\x80"],
    }
    if chance.random() < 0.5:
        values["phone"] = {"number": "7"}
    if depth:
        values["partner"] = person(depth - 1, chance).to_dict()
        values["children"] = [person(depth - 2, chance).to_dict()] if depth > 1 else []
    return Person(**values)


class Bytes(unittest.TestCase):
    def test_mutated_messages_are_read_as_the_stock_package_reads_them(self):
        chance, theirs = random.Random(11), stock()
        agreed = 0
        # One type is read by tables, as it is made anew, the other by machine code.
        self.assertTrue(Person.prepare())
        for round in range(4000):
            if round % 500 == 0:
                plain = tidemill.Schema.from_descriptor_set(SCHEMA.descriptor_set())["t.Person"]
            data = bytearray(person(chance.randrange(3), chance).encode())
            for _ in range(chance.randrange(4)):
                at = chance.randrange(len(data))
                what = chance.randrange(4)
                if what == 0:
                    data[at] = chance.randrange(256)
                elif what == 1:
                    del data[at : at + chance.randrange(1, 9)]
                elif what == 2:
                    data[at:at] = chance.randbytes(chance.randrange(1, 9))
                else:
                    data[at] ^= 1 << chance.randrange(8)
                if not data:
                    break
            data = bytes(data)
            try:
                ours = Person.decode(data)
                self.assertEqual(plain.decode(data).encode(), ours.encode())
            except tidemill.DecodeError as error:
                with self.assertRaises(tidemill.DecodeError) as other:
                    plain.decode(data)
                self.assertEqual(str(error), str(other.exception))
                self.assertEqual((error.offset, error.path), (other.exception.offset, other.exception.path))
                ours = None
            try:
                other = theirs.FromString(data)
            except Exception:
                other = None
            self.assertEqual(ours is None, other is None, data.hex())
            if ours is None:
                continue
            agreed += 1
            again = other.SerializeToString(deterministic=True)
            self.assertEqual(Person.decode(again), Person.decode(ours.encode(deterministic=True)))
            self.use(ours)
        self.assertGreater(agreed, 300)

    def test_mutated_messages_of_proto2(self):
        chance, theirs = random.Random(12), stock(OLD, "old.Outer")
        Outer.prepare()
        for round in range(3000):
            values = {"inner": {"x": 5, "s": "s"}, "closed": [1, 2], "pair": {"left": 1}, "big": 7}
            message = Outer(**values)
            message["[old.note]"], message["[old.deep]"] = "note", {"x": chance.randrange(300)}
            message["[old.marks]"].extend([1, 2, 300])
            data = bytearray(message.encode())
            for _ in range(chance.randrange(4)):
                at = chance.randrange(len(data))
                data[at] = chance.choice([chance.randrange(256), data[at] ^ 1 << chance.randrange(8)])
            results = []
            for parse in (Outer.decode, theirs.FromString):
                try:
                    results.append(parse(bytes(data)))
                except Exception:
                    results.append(None)
            ours, other = results
            self.assertEqual(ours is None, other is None, data.hex())
            if ours is not None:
                self.assertEqual(ours.IsInitialized(), other.IsInitialized())
                again = other.SerializePartialToString(deterministic=True)
                partial = ours.SerializePartialToString(deterministic=True)
                self.assertEqual(Outer.decode(again), Outer.decode(partial))
                self.use(ours)

    def use(self, message):
        try:
            message.to_dict(), message.to_json(), message.to_text(unknown=True), repr(message), hash
        except tidemill.Error:
            pass
        for field, value in message.ListFields():
            self.assertTrue(message.has(f"[{field.full_name}]" if field.is_extension else field.name))
            if field.is_repeated:
                len(value), list(value)
        if message.type() == Person:
            message.partner.partner.phones.add()
        message.DiscardUnknownFields()
        message.SerializePartialToString(deterministic=True)

    def test_huge_lengths_and_deep_nesting(self):
        for data in [
            b"\x0a\xff\xff\xff\xff\x07",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x42\xf8\xff\xff\xff\x0f" + b"\0" * 64,
            b"\xff" * 1000,
            b"\x5a\x7f" * 1000,
            b"\x0b" * 100_000,
        ]:
            for read in [Person.decode, Person.decode_to_dict, Person.bytes_to_json, Person().merge]:
                with self.assertRaises(tidemill.DecodeError):
                    read(data)
            with self.assertRaises(tidemill.DecodeError):
                tidemill.to_arrow(SCHEMA["t.Phone"], [data])
        data = b""
        for _ in range(99):
            data = b"\x5a" + varint(len(data)) + data
        self.assertTrue(Person.decode(data).has("partner"))
        for _ in range(2):
            data = b"\x5a" + varint(len(data)) + data
        with self.assertRaises(tidemill.DecodeError):
            Person.decode(data)

    def test_random_texts(self):
        chance = random.Random(3)
        good = [person(1).to_json(), person(1).to_text()]
        for _ in range(1000):
            for text, read in zip(good, [Person.from_json, Person.from_text]):
                text = list(text)
                for _ in range(chance.randrange(1, 4)):
                    text[chance.randrange(len(text))] = chance.choice('{}[]":,0x\\u\ud800\0eä')
                try:
                    read("".join(text))
                except (tidemill.ParseError, UnicodeEncodeError):
                    pass
        for read in [Person.from_json, Person.json_to_bytes, Person.from_text]:
            for wrong in ["[" * 100_000, '{"partner":' * 100_000, "partner{" * 100_000, b"\xff", "", "\0"]:
                if wrong == "" and read == Person.from_text:
                    continue
                with self.assertRaises(tidemill.ParseError):
                    read(wrong)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


class Nesting(unittest.TestCase):
    def test_messages_built_deeper_than_any_stack(self):
        top = Person()
        at = top
        for _ in range(20_000):
            at.name = "x"
            at = at.partner
        at.name = "end"
        for use in [
            top.to_dict,
            top.encode,
            top.to_text,
            top.SerializePartialToString,
            top.ByteSize,
            lambda: repr(top),
            lambda: str(top),
        ]:
            with self.assertRaises((RecursionError, tidemill.EncodeError)):
                use()
        top.to_json()
        copied = Person()
        copied.CopyFrom(top)
        self.assertEqual(copied, top)
        self.assertTrue(top.IsInitialized())
        top.DiscardUnknownFields()
        at.name = "other end"
        self.assertNotEqual(copied, top)

    def test_dicts_nested_deeper_than_any_stack(self):
        values = {}
        for _ in range(100_000):
            values = {"partner": values}
        with self.assertRaises(RecursionError):
            Person(**values)
        circle = {"name": "x"}
        circle["partner"] = circle
        with self.assertRaises(RecursionError):
            Person.encode(circle)
        lists = []
        lists.append(lists)
        with self.assertRaises(TypeError):
            Person(tags=lists)
        # What is nested in it goes one by one.
        while values:
            values = values.pop("partner", None)

    def test_steps_into_messages_that_are_not_set(self):
        at = Person()
        with self.assertRaises(RecursionError):
            for _ in range(100_000):
                at = at.partner
        at.name = "x"
        self.assertEqual(at.name, "x")


class Change(unittest.TestCase):
    def test_code_that_runs_in_conversions_changes_the_message(self):
        for change in [
            lambda one: one.Clear(),
            lambda one: one.ParseFromString(person().encode()),
            lambda one: one.phones.clear(),
            lambda one: one.phones.extend([{"number": "y"}] * 50),
            lambda one: one.ClearField("partner"),
            lambda one: one.CopyFrom(person()),
            lambda one: one.merge(one.encode()),
            lambda one: one.scores.clear(),
        ]:
            one = person()

            class Sly:
                def __index__(self):
                    change(one)
                    return 1

                __float__ = __index__

                def __iter__(self):
                    change(one)
                    yield {"number": "z"}
                    change(one)

                def keys(self):
                    change(one)
                    return ["a"]

                def items(self):
                    change(one)
                    return [("a", Sly())]

                def __eq__(self, other):
                    change(one)
                    return False

                def __hash__(self):
                    return 1

            uses = [
                lambda: setattr(one, "id", Sly()),
                lambda: setattr(one, "ratio", Sly()),
                lambda: setattr(one, "phones", Sly()),
                lambda: setattr(one, "numbers", [1, Sly(), 2]),
                lambda: setattr(one, "partner", {"name": "x", "id": Sly(), "phones": [{"kind": Sly()}]}),
                lambda: setattr(one, "phones", [{"number": "1"}, {"kind": Sly(), "number": "2"}]),
                lambda: setattr(one, "scores", {"a": Sly()}),
                lambda: one.phones.append({"kind": Sly()}),
                lambda: one.phones.insert(0, {"kind": Sly()}),
                lambda: one.phones.__setitem__(slice(0, 2), [{"kind": Sly()}] * 3),
                lambda: one.phones.__setitem__(0, {"kind": Sly()}),
                lambda: one.phones.sort(key=lambda phone: change(one) or phone.number),
                lambda: one.phones.index(Sly()),
                lambda: one.phones.remove(Sly()),
                lambda: one.numbers.__setitem__(Sly(), 1),
                lambda: one.numbers.insert(Sly(), 1),
                lambda: one.numbers.pop(Sly()),
                lambda: one.scores.__setitem__("b", Sly()),
                lambda: one.scores.update({"b": Sly()}),
                lambda: one.by_id.__setitem__(Sly(), {"kind": Sly()}),
                lambda: one.by_id.get(Sly()),
                lambda: Person(**{"id": Sly(), "partner": one, "children": [one, {"id": Sly()}]}),
                lambda: one.merge({"id": Sly(), "partner": one}),
            ]
            for use in uses:
                one.CopyFrom(person())
                try:
                    use()
                except ERRORS:
                    pass
                one.to_dict(), one.encode(deterministic=True), one.to_json()

    def test_dicts_that_change_while_they_are_read(self):
        values = {}

        class Sly:
            def __index__(self):
                for i in range(100):
                    values[f"tag{i}"] = 1
                values.clear()
                return 1

        values.update(id=Sly(), name="x", large=3)
        self.assertIn(Person.decode(Person.encode(values)).id, (0, 1))
        entries = {}

        class Slyer:
            def __index__(self):
                entries.clear()
                gc.collect()
                return 1

        entries.update({str(i): Slyer() for i in range(10)})
        Person(scores=entries)

    def test_finalizers_that_change_what_is_read(self):
        one = person(3)

        class Last:
            def __del__(self):
                try:
                    one.phones.clear()
                    one.mail = "x"
                    one.phones.extend([{"number": "y"}] * 50)
                except tidemill.Error:
                    pass

        def litter():
            for _ in range(100):
                last = Last()
                last.itself = last

        threshold = gc.get_threshold()
        try:
            gc.set_threshold(1)
            for _ in range(30):
                litter()
                try:
                    one.to_dict(), list(one.phones), one.encode(), copy_of(one)
                except tidemill.Error:
                    pass
        finally:
            gc.set_threshold(*threshold)

    def test_a_message_in_itself(self):
        one = person()
        one.partner = one
        one.partner.partner.MergeFrom(one)
        one.children.append(one)
        one.children.extend(one.children)
        one.children[0].CopyFrom(one)
        one.children = one.children
        one.MergeFrom(one)
        one.merge(one)
        one.by_id[1] = one.phones.add()
        one.partner.CopyFrom(one.partner.partner)
        self.assertEqual(Person.decode(one.encode()), one)

    def test_parents_that_are_gone(self):
        phones = person().phones
        partner = person().partner.partner
        scores = person().scores
        walk = iter(person().phones)
        unset = Person().partner.partner
        extensions = Outer().Extensions
        gc.collect()
        for _ in range(50):
            person()
        self.assertGreaterEqual(len(phones), 0)
        partner.name = "x"
        unset.name = "y"
        scores["z"] = 1
        extensions["old.note"] = "n"
        self.assertEqual((partner.name, unset.name, scores["z"]), ("x", "y", 1))
        list(walk)

    def test_objects_of_a_message_that_is_parsed_again(self):
        one = person(2)
        partner, phones = one.partner, one.phones
        name = partner.name
        for _ in range(100):
            one.ParseFromString(person(1).encode())
        self.assertEqual(partner.name, name)
        list(phones)
        del partner, phones
        for _ in range(100):
            one.ParseFromString(person(1).encode())
            self.assertEqual(one, person(1))
        with self.assertRaises(tidemill.DecodeError):
            one.ParseFromString(b"\xff")
        one.to_dict()


def copy_of(one):
    import copy

    return copy.deepcopy(one)


class Arguments(unittest.TestCase):
    def test_everything_is_called_with_everything(self):
        """Any method with any arguments raises what a method may raise, and nothing else."""
        chance = random.Random(9)
        values = [
            None, True, 0, -1, 1 << 70, 1.5, float("nan"), "", "name", "\ud800", b"", b"\xff", [], [1], {},
            {"name": 1}, {1: 2}, (), object(), Person, SCHEMA, int, slice(None), slice(1, 2, 3), print,
        ]
        makers = [
            lambda: person(1), lambda: person(1).phones, lambda: person(1).scores, lambda: person(1).by_id,
            lambda: Outer(), lambda: Outer().Extensions, lambda: Person, lambda: SCHEMA, lambda: SCHEMA.enum("t.Kind"),
            lambda: Person.fields_by_name["phones"], lambda: iter(person(1).tags), lambda: iter(person(1).scores),
            lambda: Person.read_delimited(b"\x02\x10\x01"), lambda: person(1).partner.partner,
        ]
        for make in makers:
            names = [name for name in dir(type(make())) if name not in {
                "__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getstate__"}]
            for name in names:
                for _ in range(20):
                    one = make()
                    arguments = [chance.choice(values + [one, person(0)]) for _ in range(chance.randrange(4))]
                    try:
                        found = getattr(one, name)
                        if callable(found):
                            found(*arguments)
                    except (*ERRORS, StopIteration, OSError):
                        pass

    def test_fields_take_anything_or_raise(self):
        values = [None, True, -1, 2**64, 1e400, "x", b"x", [1], ["x"], {1: 1}, {"a": 1}, object(), Person(), [Person()], [[]]]
        for name in Person.field_names:
            for value in values:
                one = Person()
                try:
                    setattr(one, name, value)
                except ERRORS:
                    pass
                self.assertEqual(Person.decode(one.encode()), one)

    def test_classes_cannot_be_made_by_hand(self):
        for cls in [tidemill.Message, tidemill.RepeatedField, tidemill.MapField, tidemill.MessageType, tidemill.Schema]:
            with self.assertRaises(TypeError):
                cls()
            with self.assertRaises(TypeError):
                type("Sub", (cls,), {})


class Entries(unittest.TestCase):
    def test_entries_of_maps_by_themselves(self):
        theirs = stock(SCHEMA, "t.Person.ScoresEntry")
        entry = SCHEMA["t.Person.ScoresEntry"]
        by_id = SCHEMA["t.Person.ByIdEntry"]
        # In memory that was used before.
        self.assertTrue(entry.prepare() and by_id.prepare())
        for _ in range(300):
            entry(key="some key", value=77).encode(), by_id(key=3, value={"number": "9"}).encode()
            self.assertEqual(entry().encode(), b"")
            self.assertEqual(entry(value=3).encode(), b"\x10\x03")
            self.assertEqual(entry(key="a").encode(), b"\x0a\x01a")
            self.assertEqual(by_id(key=1).encode(), b"\x08\x01")
            self.assertEqual(entry().to_dict(), {})
        self.assertEqual(theirs.FromString(entry(key="a", value=1).encode()).key, "a")
        for refused in [entry().to_json, lambda: entry.bytes_to_json(b"")]:
            with self.assertRaises(tidemill.Error):
                refused()


class Threads(unittest.TestCase):
    def test_threads_share_messages_and_types(self):
        schema = tidemill.Schema.from_descriptor_set(SCHEMA.descriptor_set())
        ty = schema["t.Person"]
        data, shared, wrong = person().encode(), ty.decode(person().encode()), []

        def work(seed):
            chance = random.Random(seed)
            try:
                for _ in range(300):
                    what = chance.randrange(6)
                    try:
                        if what == 0:
                            shared.phones.append({"number": str(seed)})
                        elif what == 1 and len(shared.phones):
                            shared.phones.pop()
                        elif what == 2:
                            shared.scores[str(chance.randrange(50))] = seed
                        elif what == 3:
                            [phone.number for phone in shared.phones]
                        elif what == 4:
                            shared.ParseFromString(data)
                        else:
                            ty.decode(shared.encode()).to_dict()
                    except (IndexError, tidemill.Error):
                        pass
                    if ty.decode(data).encode(deterministic=True) != person().encode(deterministic=True):
                        wrong.append("decode")
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Memory(unittest.TestCase):
    def test_nothing_is_kept(self):
        """Memory does not grow with what was decoded, made and dropped."""
        import tracemalloc

        def work():
            one = person(2)
            again = Person.decode(one.encode())
            again.phones.add(number="x")
            again.to_dict(), again.to_json(), list(again.phones), again.scores.items()
            again.ParseFromString(one.encode())

        for _ in range(50):
            work()
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        resident = resident_bytes()
        for _ in range(200 if "PYTHONMALLOC" in os.environ else 2000):
            work()
        gc.collect()
        self.assertLess(tracemalloc.get_traced_memory()[0] - before, 200_000)
        tracemalloc.stop()
        # A checker of memory keeps what is freed, to find uses of it.
        if "PYTHONMALLOC" not in os.environ:
            self.assertLess(resident_bytes() - resident, 30_000_000)

    def test_schemas_go_with_their_last_user(self):
        for _ in range(100):
            schema = tidemill.Schema.from_text('syntax = "proto3"; message M { M m = 1; }')
            kept = schema["M"]().m.m
            del schema
            kept.m.SetInParent()
            del kept


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


if __name__ == "__main__":
    unittest.main()
