"""Repeated fields and maps do what lists and dicts do, and what the stock package's do."""

import collections.abc
import copy
import pickle
import random
import unittest

import tidemill
from common import Person, stock


class Lists(unittest.TestCase):
    def both(self, values=()):
        """Our field of strings, and a list that has the same done to it."""
        return Person(tags=list(values)).tags, list(values)

    def test_random_operations_do_what_they_do_to_lists(self):
        chance = random.Random(5)

        def index(n):
            return chance.randrange(-n - 2, n + 3)

        def part(n):
            step = chance.choice([None, None, 1, 2, -1, -2, 3])
            return slice(chance.choice([None, index(n)]), chance.choice([None, index(n)]), step)

        operations = [
            lambda l, at, cut, some: l.append("x"),
            lambda l, at, cut, some: l.extend(some),
            lambda l, at, cut, some: l.insert(at, "i"),
            lambda l, at, cut, some: l.pop(at),
            lambda l, at, cut, some: l.pop(),
            lambda l, at, cut, some: l.remove("x"),
            lambda l, at, cut, some: l.reverse(),
            lambda l, at, cut, some: l.sort(),
            lambda l, at, cut, some: l.sort(key=len, reverse=True),
            lambda l, at, cut, some: l[at],
            lambda l, at, cut, some: list(l[cut]),
            lambda l, at, cut, some: l.__setitem__(at, "s"),
            lambda l, at, cut, some: l.__setitem__(cut, some),
            lambda l, at, cut, some: l.__delitem__(at),
            lambda l, at, cut, some: l.__delitem__(cut),
            lambda l, at, cut, some: l.index("x"),
            lambda l, at, cut, some: l.index("x", at),
            lambda l, at, cut, some: l.index("x", 1, at),
            lambda l, at, cut, some: l.count("x"),
            lambda l, at, cut, some: "x" in l,
            lambda l, at, cut, some: l.__iadd__(some) is l,
            lambda l, at, cut, some: l + some,
            lambda l, at, cut, some: len(l),
            lambda l, at, cut, some: list(reversed(l)),
            lambda l, at, cut, some: l.clear() if chance.random() < 0.1 else None,
        ]
        for _ in range(200):
            ours, plain = self.both([chance.choice(["x", "yy", "zzz"]) for _ in range(chance.randrange(8))])
            for _ in range(40):
                do, n = chance.choice(operations), len(plain)
                at, cut = index(n), part(n)
                some = [chance.choice(["x", "new"]) for _ in range(chance.randrange(4))]
                state = chance.getstate()
                results = []
                for one in (ours, plain):
                    chance.setstate(state)
                    try:
                        results.append(do(one, at, cut, some))
                    except (IndexError, ValueError) as error:
                        results.append(type(error))
                self.assertEqual(results[0], results[1])
                self.assertEqual(list(ours), plain)
                self.assertTrue(ours == plain and not ours != plain)

    def test_numbers_slices_and_comparison(self):
        person = Person(numbers=[1, 2.5, 3])
        self.assertEqual(person.numbers[1:], [2.5, 3.0])
        person.numbers[1:2] = [7, 8, 9]
        self.assertEqual(person.numbers, [1, 7, 8, 9, 3])
        person.numbers += [4]
        self.assertEqual(person.numbers, [1, 7, 8, 9, 3, 4])
        self.assertEqual(person.numbers.pop(), 4.0)
        self.assertNotEqual(person.numbers, Person(numbers=[1]).numbers)
        self.assertEqual(repr(person.numbers), "[1.0, 7.0, 8.0, 9.0, 3.0]")
        self.assertTrue(person.numbers)
        self.assertFalse(Person().numbers)
        with self.assertRaises(ValueError):
            person.numbers[::2] = [1]

    def test_a_value_that_does_not_fit_changes_nothing(self):
        person = Person(numbers=[1, 2], phones=[{"number": "1"}])
        for wrong in [
            lambda: person.numbers.extend([3, "x"]),
            lambda: person.numbers.__setitem__(slice(0, 1), [3, "x"]),
            lambda: person.phones.extend([{"number": "2"}, {"number": 3}]),
            lambda: person.phones.append({"nothing": 3}),
            lambda: person.phones.insert(0, 5),
            lambda: person.phones.__setitem__(slice(0, 1), [{"number": "2"}, 7]),
            lambda: setattr(person, "numbers", [1, None]),
        ]:
            with self.assertRaises((TypeError, AttributeError)):
                wrong()
            self.assertEqual(person.to_dict(), {"numbers": [1.0, 2.0], "phones": [{"number": "1"}]})

    def test_messages(self):
        person = Person()
        first = person.phones.add(number="1")
        person.phones.add().number = "2"
        person.phones.insert(1, {"number": "3"})
        self.assertEqual([phone.number for phone in person.phones], ["1", "3", "2"])
        person.phones.sort(key=lambda phone: phone.number, reverse=True)
        self.assertEqual([phone.number for phone in person.phones], ["3", "2", "1"])
        self.assertEqual(first.number, "1")
        first.number = "11"
        self.assertEqual(person.phones[2].number, "11")
        self.assertEqual([phone.number for phone in person.phones[::-1]], ["11", "2", "3"])
        person.phones[:] = person.phones[::-1]
        self.assertEqual([phone.number for phone in person.phones], ["11", "2", "3"])
        taken = person.phones.pop(0)
        self.assertEqual((taken.number, len(person.phones)), ("11", 2))
        self.assertIn({"number": "2"}, [phone.to_dict() for phone in person.phones])
        person.phones.remove(person.phones[0])
        self.assertEqual([phone.number for phone in person.phones], ["3"])
        other = Person(phones=person.phones)
        self.assertEqual(other.phones, person.phones)
        other.phones.MergeFrom(person.phones)
        self.assertEqual(len(other.phones), 2)
        other.phones.extend(other.phones)
        self.assertEqual(len(other.phones), 4)
        with self.assertRaises(TypeError):
            person.tags.add()

    def test_protocols(self):
        person = Person(tags=["a", "b"], scores={"a": 1})
        self.assertIsInstance(person.tags, collections.abc.MutableSequence)
        self.assertIsInstance(person.scores, collections.abc.MutableMapping)
        self.assertEqual(copy.copy(person.tags), ["a", "b"])
        self.assertEqual(copy.deepcopy(person.tags), ["a", "b"])
        self.assertEqual(pickle.loads(pickle.dumps(person.tags)), ["a", "b"])
        self.assertEqual(pickle.loads(pickle.dumps(person.scores)), {"a": 1})
        self.assertEqual(copy.deepcopy(person.scores), {"a": 1})
        first, *rest = person.tags
        self.assertEqual((first, rest), ("a", ["b"]))
        for unhashable in (person, person.tags, person.scores):
            with self.assertRaises(TypeError):
                hash(unhashable)

    def test_what_is_walked_may_change(self):
        person = Person(tags=["a", "b", "c", "d"])
        seen = []
        for tag in person.tags:
            seen.append(tag)
            if tag == "a":
                del person.tags[1:3]
        self.assertEqual(seen, ["a", "d"])
        walk = iter(person.tags)
        person.Clear()
        self.assertEqual(list(walk), [])
        person.tags.append("late")
        self.assertEqual(list(walk), [], "an iterator that has ended stays so")
        walk = iter(Person(scores={"a": 1}).scores)
        self.assertEqual(list(walk), ["a"])


class Maps(unittest.TestCase):
    def test_random_operations_do_what_they_do_to_dicts(self):
        chance = random.Random(6)
        operations = [
            lambda m, k: m.__setitem__(k, 7),
            lambda m, k: m[k],
            lambda m, k: m.__delitem__(k),
            lambda m, k: m.get(k),
            lambda m, k: m.get(k, 3),
            lambda m, k: m.pop(k),
            lambda m, k: m.pop(k, None),
            lambda m, k: m.setdefault(k, 9),
            lambda m, k: m.update({k: 1, "zz": 2}),
            lambda m, k: m.update([(k, 4)]),
            lambda m, k: m.update(named=5),
            lambda m, k: k in m,
            lambda m, k: sorted(m),
            lambda m, k: sorted(m.keys()),
            lambda m, k: sorted(m.values()),
            lambda m, k: sorted(m.items()),
            lambda m, k: len(m),
            lambda m, k: m.clear() if chance.random() < 0.1 else None,
        ]
        for _ in range(100):
            ours, plain = Person(scores={"a": 1}).scores, {"a": 1}
            for _ in range(40):
                do, key = chance.choice(operations), chance.choice("abcdefghijklmnop")
                state = chance.getstate()
                results = []
                for one in (ours, plain):
                    chance.setstate(state)
                    try:
                        results.append(do(one, key))
                    except KeyError as error:
                        results.append(("KeyError", error.args))
                self.assertEqual(results[0], results[1])
                self.assertTrue(ours == plain and not ours != plain)

    def test_messages_and_keys_of_all_types(self):
        person = Person()
        person.by_id.get_or_create(3).number = "3"
        person.by_id[4] = {"number": "4"}
        self.assertEqual({key: value.number for key, value in person.by_id.items()}, {3: "3", 4: "4"})
        self.assertEqual(sorted(value.number for value in person.by_id.values()), ["3", "4"])
        self.assertEqual(person.by_id.pop(3).number, "3")
        self.assertEqual(list(person.by_id), [4])
        person.words[True] = "yes"
        self.assertEqual(dict(person.words), {True: "yes"})
        key, value = person.words.popitem()
        self.assertEqual((key, value), (True, "yes"))
        with self.assertRaises(KeyError):
            person.words.popitem()
        for wrong in [
            lambda: person.by_id["x"],
            lambda: person.by_id.get("x"),
            lambda: person.by_id.__setitem__(1 << 40, {}),
            lambda: person.scores.__setitem__("x", "y"),
            lambda: person.scores.get_or_create("x"),
            lambda: person.scores.pop("x", 1, 2),
        ]:
            with self.assertRaises((TypeError, ValueError)):
                wrong()
        self.assertNotIn("x", person.by_id)

    def test_a_map_that_changes_while_it_is_walked(self):
        person = Person(scores={"a": 1, "b": 2})
        with self.assertRaises(RuntimeError):
            for key in person.scores:
                person.scores[key + "x"] = 1
        for key in list(person.scores):
            del person.scores[key]
        self.assertEqual(len(person.scores), 0)

    def test_the_stock_package_agrees(self):
        theirs = stock()(scores={"a": 1}, by_id={1: {"number": "1"}}, tags=["x"])
        ours = Person(scores={"a": 1}, by_id={1: {"number": "1"}}, tags=["x"])
        for name in ["tags", "scores", "by_id"]:
            for method in dir(getattr(theirs, name)):
                known = hasattr(getattr(ours, name), method)
                if not method.startswith("_") and method not in {"GetEntryClass", "InvalidateIterators"}:
                    self.assertTrue(known, f"{name}.{method}")
        self.assertEqual(ours.scores.get("a"), theirs.scores.get("a"))
        self.assertEqual(list(ours.scores.values()), list(theirs.scores.values()))


if __name__ == "__main__":
    unittest.main()
