"""Bytes-like inputs, text format, JSON, streams of messages."""

import array
import importlib.metadata
import io
import mmap
import random
import tempfile
import unittest

import tidemill
from common import Outer, Person, SCHEMA, stock

VALUES = {"name": "Ada", "phones": [{"number": "1"}, {"number": "2", "kind": 1}], "scores": {"a": 1}}


class Inputs(unittest.TestCase):
    def test_bytes_like_objects(self):
        data = Person.encode(VALUES)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            with mmap.mmap(file.fileno(), 0) as mapped:
                inputs = [
                    data,
                    bytearray(data),
                    memoryview(data),
                    memoryview(b"x" + data + b"x")[1:-1],
                    memoryview(bytearray(b for byte in data for b in (byte, 0)))[::2],
                    array.array("B", data),
                    array.array("b", [b - 256 if b > 127 else b for b in data]),
                    mapped,
                ]
                for one in inputs:
                    self.assertEqual(Person.decode(one).to_dict(), Person.decode(data).to_dict())
                    self.assertEqual(Person.decode_to_dict(one), Person.decode_to_dict(data))
                    self.assertEqual(Person.bytes_to_json(one), Person.bytes_to_json(data))
                    message = Person()
                    message.merge(one)
                    message.ParseFromString(one)
                    self.assertEqual(message, Person.decode(data))
                self.assertEqual(tidemill.Schema.from_descriptor_set(bytearray(SCHEMA.descriptor_set()))["t.Person"].name, "Person")
                person = Person(photo=bytearray(b"ab"), blobs=[memoryview(b"c"), b"d"])
                self.assertEqual((person.photo, list(person.blobs)), (b"ab", [b"c", b"d"]))
        for wrong in ["text", 5, None, ["a"], {}]:
            with self.assertRaises(TypeError):
                Person.decode(wrong)

    def test_what_is_decoded_does_not_follow_the_buffer(self):
        data = bytearray(Person.encode({"name": "Ada"}))
        person = Person.decode(data)
        data[2:5] = b"Bob"
        self.assertEqual(person.name, "Ada")

    def test_version(self):
        self.assertRegex(tidemill.__version__, r"^\d+\.\d+\.\d+")


class Text(unittest.TestCase):
    def test_both_ways(self):
        from google.protobuf import text_format

        person = Person(**VALUES, photo=b"\x00\xff", mail='"quoted"\n', numbers=[1, float("inf")])
        theirs = stock()()
        text_format.Parse(person.to_text(), theirs)
        self.assertEqual(Person.decode(theirs.SerializeToString()), person)
        self.assertEqual(Person.from_text(text_format.MessageToString(theirs)), person)
        self.assertEqual(Person.from_text(person.to_text(one_line=True)), person)
        self.assertNotIn("\n", person.to_text(one_line=True))
        self.assertEqual(str(person), person.to_text())
        self.assertEqual(Person.from_text(b'name: "Ada"').name, "Ada")

    def test_unknown_fields(self):
        small = tidemill.Schema.from_text('syntax = "proto3"; message P { int32 id = 2; }')["P"]
        message = small.decode(Person.encode({"name": "Ada", "id": 1}))
        self.assertEqual(message.to_text(), "id: 1\n")
        self.assertIn("Ada", message.to_text(unknown=True))

    def test_errors(self):
        for wrong in ["nothing: 1", "name: 5", "name: 'x", "{", "id: 99999999999", "partner {" * 300]:
            with self.assertRaises(tidemill.ParseError) as caught:
                Person.from_text(wrong)
            self.assertTrue(str(caught.exception))
        self.assertEqual(Outer.from_text("inner {}").FindInitializationErrors(), ["inner.x"])


class Json(unittest.TestCase):
    def test_options(self):
        message = Person(by_id={1: {"number": "1", "kind": "GOOD"}})
        self.assertEqual(message.to_json(), '{"byId":{"1":{"number":"1","kind":"GOOD"}}}')
        self.assertEqual(
            message.to_json(names="proto", enums="numbers"), '{"by_id":{"1":{"number":"1","kind":1}}}'
        )
        self.assertIn('"name":""', message.to_json(defaults=True))
        self.assertEqual(Person(name="ü").to_json(indent=2), '{\n  "name": "ü"\n}')
        for wrong in [{"names": "x"}, {"enums": "x"}]:
            with self.assertRaises(ValueError):
                message.to_json(**wrong)


class Pieces(io.RawIOBase):
    """A file that gives and takes a few bytes at a time."""

    def __init__(self, data=b""):
        self.data, self.at, self.chance = bytearray(data), 0, random.Random(3)

    def readable(self):
        return True

    def writable(self):
        return True

    def read(self, size=-1):
        piece = self.data[self.at : self.at + self.chance.randrange(1, 5)]
        self.at += len(piece)
        return bytes(piece)

    def write(self, piece):
        taken = piece[: self.chance.randrange(1, 50)]
        self.data += taken
        return len(taken)


class Streams(unittest.TestCase):
    people = [Person(id=i, name="n" * (i % 300)) for i in range(500)]

    def test_files_bytes_and_iterators(self):
        for framing in ["varint", "fixed32"]:
            file = io.BytesIO()
            self.assertEqual(Person.write_delimited(file, iter(self.people), framing=framing), 500)
            slow = Pieces()
            Person.write_delimited(slow, (one.to_dict() for one in self.people), framing=framing)
            self.assertEqual(slow.data, file.getvalue())
            data = file.getvalue()
            sources = [
                lambda: io.BytesIO(data),
                lambda: data,
                lambda: bytearray(data),
                lambda: Pieces(data),
                lambda: iter([data[:7], b"", bytearray(data[7:5000]), memoryview(data[5000:])]),
                lambda: (data[at : at + 1] for at in range(len(data))),
            ]
            for source in sources:
                self.assertEqual(list(Person.read_delimited(source(), framing=framing)), self.people)

    def test_the_stock_package_reads_and_writes_the_same(self):
        from google.protobuf import proto

        file = io.BytesIO()
        for one in self.people:
            proto.serialize_length_prefixed(stock().FromString(one.encode()), file)
        self.assertEqual(list(Person.read_delimited(file.getvalue())), self.people)
        again = io.BytesIO()
        Person.write_delimited(again, self.people)
        self.assertEqual(again.getvalue(), file.getvalue())

    def test_wrong_streams(self):
        data = io.BytesIO()
        Person.write_delimited(data, self.people[300:303])
        data = data.getvalue()
        for end in range(1, len(data)):
            read, ended = Person.read_delimited(io.BytesIO(data[:end])), None
            count = 0
            try:
                for _ in read:
                    count += 1
            except tidemill.DecodeError:
                ended = True
            self.assertTrue(ended or (data[:end] == data[:0]) or count in (1, 2))
            self.assertEqual(list(read), [])
        for wrong in [b"\xff" * 11, b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x10"]:
            with self.assertRaises(tidemill.DecodeError):
                list(Person.read_delimited(wrong))
        with self.assertRaises(tidemill.DecodeError):
            list(Person.read_delimited(data, bytes_max=1))
        for wrong in [5, None, Person()]:
            with self.assertRaises(TypeError):
                Person.read_delimited(wrong)
        with self.assertRaises(TypeError):
            list(Person.read_delimited(iter(["text"])))
        with self.assertRaises(ValueError):
            Person.read_delimited(b"", framing="other")

    def test_a_message_that_is_wrong_is_passed_over(self):
        data = b"\x02\x0a\x01" + b"\x03\x0a\x01x"
        read = Person.read_delimited(data)
        with self.assertRaises(tidemill.DecodeError):
            next(read)
        self.assertEqual(next(read).name, "x")

    def test_files_that_misbehave(self):
        class File:
            def __init__(self, *given):
                self.given = list(given)

            def read(self, size):
                one = self.given.pop(0)
                if isinstance(one, type):
                    raise one("wrong")
                return one

            def write(self, data):
                return 0

        for given, error in [((OSError,), OSError), (("text",), TypeError), ((None,), tidemill.Error)]:
            with self.assertRaises(error):
                next(Person.read_delimited(File(*given)))
        with self.assertRaises(tidemill.Error):
            Person.write_delimited(File(), self.people)
        with self.assertRaises(TypeError):
            Person.write_delimited(io.BytesIO(), [SCHEMA["t.Phone"]()])

        reader = None

        class Inside(File):
            def read(self, size):
                return next(reader) and b""

        reader = Person.read_delimited(Inside())
        with self.assertRaises(RecursionError):
            next(reader)


if __name__ == "__main__":
    unittest.main()
