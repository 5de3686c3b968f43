"""What users of the package do, held against the stock protobuf package where it matters."""

import pathlib
import threading
import unittest

import tidemill
from common import Person, SCHEMA, stock


class Schemas(unittest.TestCase):
    def test_names(self):
        self.assertIn("t.Person", SCHEMA)
        self.assertNotIn("t.Nobody", SCHEMA)
        self.assertEqual(Person.full_name, "t.Person")
        self.assertEqual(Person.field_names[:3], ["name", "id", "phones"])
        with self.assertRaises(KeyError):
            SCHEMA["t.Nobody"]

    def test_errors_have_places(self):
        with self.assertRaises(tidemill.SchemaError) as caught:
            tidemill.Schema.from_text('syntax = "proto3";\nmessage M { Nothing a = 1; }\n')
        self.assertIn("input.proto:2:13: error[", str(caught.exception))

    def test_descriptors_and_files(self):
        again = tidemill.Schema.from_descriptor_set(SCHEMA.descriptor_set())
        self.assertEqual(sorted(again.message_types()), sorted(SCHEMA.message_types()))
        here = pathlib.Path(self.id())
        with self.assertRaises(tidemill.SchemaError):
            tidemill.Schema.from_files([here / "missing.proto"])


class Messages(unittest.TestCase):
    def test_fields(self):
        person = Person(name="Ada", id=7, phones=[{"number": "1", "kind": "GOOD"}])
        person.scores["chess"] = 5
        person.phones.append({"number": "2"})
        person.partner.name = "Bob"
        person.by_id[3] = {"number": "3"}
        person.born.seconds = 12
        self.assertEqual(person.phones[0].kind, 1)
        self.assertEqual(person.phones[-1].number, "2")
        self.assertEqual([phone.number for phone in person.phones], ["1", "2"])
        self.assertEqual(person.by_id[3].number, "3")
        self.assertTrue(person.has("partner"))
        self.assertFalse(person.has("photo"))
        again = Person.decode(person.encode())
        self.assertEqual(again, person)
        self.assertEqual(again.to_dict(), person.to_dict())
        theirs = stock().FromString(person.encode())
        self.assertEqual(theirs.partner.name, "Bob")
        self.assertEqual(theirs.scores["chess"], 5)
        self.assertEqual(Person.decode(theirs.SerializeToString()), person)

    def test_oneof_and_clear(self):
        person = Person(mail="a@b")
        self.assertEqual(person.which("contact"), "mail")
        person.phone.number = "9"
        self.assertEqual(person.which("contact"), "phone")
        self.assertFalse(person.has("mail"))
        person.clear("phone")
        self.assertIsNone(person.which("contact"))
        person.photo = b"x"
        person.photo = None
        self.assertFalse(person.has("photo"))

    def test_wrong_uses_are_errors(self):
        person = Person()
        for wrong in [
            lambda: person.nothing,
            lambda: setattr(person, "name", 5),
            lambda: setattr(person, "id", "five"),
            lambda: setattr(person, "id", 1 << 40),
            lambda: person.phones[0],
            lambda: person.scores["x"],
            lambda: Person(nothing=1),
            lambda: setattr(person, "phones", [{"number": 1}]),
            lambda: person.phones.append(Person()),
        ]:
            with self.assertRaises((AttributeError, TypeError, ValueError, LookupError, OverflowError)):
                wrong()

    def test_methods_keep_their_names_and_fields_have_theirs(self):
        schema = tidemill.Schema.from_text(
            'syntax = "proto3"; message M { string has = 1; int32 __hidden = 2; bool plain = 3; }'
        )
        message = schema["M"](**{"has": "x", "__hidden": 7})
        self.assertTrue(message.has("has"))
        self.assertEqual(message["has"], "x")
        self.assertEqual(getattr(message, "__hidden"), 7)
        self.assertIs(message.__class__, type(message))
        for name in ["missing", "__missing"]:
            with self.assertRaises(AttributeError):
                getattr(message, name)
        self.assertFalse(hasattr(message, "missing"))
        self.assertIn("plain", dir(message))

    def test_what_was_taken_out_is_a_message_by_itself(self):
        person = Person(phones=[{"number": "1"}, {"number": "2"}])
        phone, other = person.phones
        del person.phones[0]
        phone.number = "3"
        self.assertEqual((phone.number, other.number), ("3", "2"))
        self.assertEqual(person.to_dict(), {"phones": [{"number": "2"}]})

    def test_a_message_into_itself(self):
        person = Person(name="Ada")
        person.partner = person
        self.assertEqual(person.partner.name, "Ada")
        self.assertFalse(person.partner.has("partner"))

    def test_decode_errors(self):
        data = Person(phones=[{"number": "1"}]).encode()
        with self.assertRaises(tidemill.DecodeError) as caught:
            Person.decode(data[:-1])
        self.assertEqual(caught.exception.offset, 0)
        self.assertTrue(caught.exception.path.startswith("phones"))

    def test_dicts(self):
        values = {"name": "Ada", "numbers": [1.5, 2.0], "scores": {"a": 1}, "phone": {"number": "1"}}
        data = Person.encode(values)
        self.assertEqual(Person.decode_to_dict(data), values)

    def test_json(self):
        text = '{"name":"Ada","scores":{"a":"1"},"born":"1970-01-01T00:00:12Z"}'
        person = Person.from_json(text)
        self.assertEqual(person.born.seconds, 12)
        self.assertEqual(person.to_json(), text)
        self.assertEqual(Person.bytes_to_json(person.encode()), text)
        self.assertEqual(Person.json_to_bytes(text), person.encode())
        with self.assertRaises(tidemill.ParseError):
            Person.from_json('{"nothing":1}')
        self.assertEqual(Person.from_json('{"nothing":1}', ignore_unknown=True), Person())

    def test_threads_share_a_schema(self):
        data = Person(name="Ada", numbers=[1.0] * 100).encode()
        wrong = []

        def work():
            for _ in range(200):
                if Person.decode(data).numbers[99] != 1.0:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Columns(unittest.TestCase):
    def test_to_arrow(self):
        people = [
            {"name": "Ada", "phones": [{"number": "1", "kind": "GOOD"}], "scores": {"a": 1}},
            {"id": 4, "born": {"seconds": 12}},
        ]
        batch = tidemill.to_arrow(Person, [Person.encode(one) for one in people])
        self.assertEqual(batch.num_rows, 2)
        rows = batch.to_pylist()
        self.assertEqual(rows[0]["phones"], [{"number": "1", "kind": "GOOD"}])
        self.assertEqual(rows[0]["scores"], [("a", 1)])
        self.assertEqual((rows[1]["name"], rows[1]["id"], rows[1]["photo"]), ("", 4, None))
        self.assertEqual(rows[1]["born"].isoformat(), "1970-01-01T00:00:12+00:00")
        batch.validate(full=True)

    def test_selection(self):
        data = [Person.encode({"name": "Ada", "phone": {"number": "1"}})]
        batch = tidemill.to_arrow(Person, data, select=["phone.number"])
        self.assertEqual(batch.to_pylist(), [{"phone": {"number": "1"}}])
        with self.assertRaises(ValueError):
            tidemill.to_arrow(Person, data, select=["nothing"])


if __name__ == "__main__":
    unittest.main()
