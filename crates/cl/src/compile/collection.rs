//! Elements of collections. An integer key is looked up here where that is simple ([`quick`]);
//! what is left, and every other key, the run-time does.

use tidemill_jit::build::{Block, InstBuilder, IntCC, StackSlot, Value, types};
use tidemill_proc::layout::quick;
use tidemill_proc::program::Kind as Owned;

use crate::compile::describe::{is_scalar, kind};
use crate::compile::found::Presence;
use crate::compile::translate::{Translator, sound};
use crate::ir::{Access, Instruction, Key, Place, Register, Storage, Type};

/// Searches in the code of one function: what is longer is no loop that runs hot.
const SEARCHES_MAX: u32 = 200;

/// A key as an operation is given it.
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// The word of the only one.
    Word(Value),
    /// Several in a row.
    Row(StackSlot),
}

/// Where a search goes on; `found` has the address as a parameter.
#[derive(Debug, Clone, Copy)]
struct Ways {
    found: Block,
    missing: Block,
    /// To the run-time.
    unclear: Block,
}

impl Translator<'_, '_, '_> {
    pub(super) fn collection(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Element { to, collection, keys, .. }
                if let Some(known) = self.found.element(*collection, keys) =>
            {
                self.set(*to, known);
            }
            Instruction::Element { to, collection, shape, keys, access } => {
                let address = match access {
                    Access::Make => self.made(*collection, shape, keys),
                    Access::Expect => self.expected(*collection, shape, keys),
                };
                self.set(*to, address);
                self.found.note_element(*collection, keys, address, Presence::There);
            }
            Instruction::ElementExists { to, collection, shape, keys } => {
                let element = self.sought(*collection, shape, keys);
                let value = self.present(element, shape);
                self.set(*to, value);
                self.found.note_element(*collection, keys, element, Presence::If(*to));
            }
            Instruction::ElementDelete { collection, keys } => {
                let retry = self.retry();
                let row = self.keys(keys);
                let keys = self.row_address(row);
                let collection = self.place(*collection);
                let collection = self.load(collection, Type::Integer);
                self.blocks("collection_delete", &[collection, keys], retry);
            }
            Instruction::FirstKey { found, collection, keys } => {
                for key in keys {
                    if let Key::Text(place) = key {
                        let zero = self.word(0);
                        self.put_text(*place, zero);
                    }
                }
                self.next_key(*found, *collection, keys, 1);
            }
            Instruction::NextKey { found, collection, keys } => {
                self.next_key(*found, *collection, keys, 0);
            }
            Instruction::ElementCount { to, collection } => {
                let collection = self.place(*collection);
                let collection = self.load(collection, Type::Integer);
                let value = self.value("collection_length", &[collection]);
                self.set(*to, value);
            }
            other => unreachable!("{other:?} is translated elsewhere"),
        }
    }

    /// The address of an element, or 0.
    fn sought(&mut self, collection: Place, shape: &Storage, keys: &[Key]) -> Value {
        let (asked, place) = (self.asked(keys), self.place(collection));
        let word = self.load(place, Type::Integer);
        let Some(key) = self.quick(shape, asked) else { return self.find(word, asked) };
        let ways = self.ways();
        let (next, zero) = (ways.found, self.word(0));
        self.search(word, key, ways);
        self.body.switch_to_block(ways.missing);
        self.body.ins().jump(next, &[zero.into()]);
        self.body.switch_to_block(ways.unclear);
        let found = self.find(word, asked);
        self.body.ins().jump(next, &[found.into()]);
        self.body.switch_to_block(next);
        self.body.block_params(next)[0]
    }

    /// The address of an element that is made if it is missing.
    fn made(&mut self, collection: Place, shape: &Storage, keys: &[Key]) -> Value {
        let (asked, place) = (self.asked(keys), self.place(collection));
        let number = self.unit.descriptors.shape(shape);
        let quick = self.quick(shape, asked);
        let (word, number, position) = (self.pointer(place), self.half(number), self.position());
        let key = match asked {
            Asked::Row(row) => {
                let words = self.row_address(row);
                return self.finds("collection_at", &[word, number, words, position]);
            }
            // Where components are asked for, an element that is there may hold none.
            Asked::Word(key) if is_scalar(shape) && self.found.is_missing(collection, keys) => {
                return self.finds("collection_add", &[word, number, key, position]);
            }
            Asked::Word(key) if quick.is_none() => {
                return self.finds("collection_at_word", &[word, number, key, position]);
            }
            Asked::Word(key) => key,
        };
        let ways = self.ways();
        let owned = self.load(place, Type::Integer);
        self.search(owned, key, ways);
        self.body.switch_to_block(ways.missing);
        let added = self.finds("collection_add", &[word, number, key, position]);
        self.body.ins().jump(ways.found, &[added.into()]);
        self.body.switch_to_block(ways.unclear);
        let made = self.finds("collection_at_word", &[word, number, key, position]);
        self.body.ins().jump(ways.found, &[made.into()]);
        self.body.switch_to_block(ways.found);
        self.body.block_params(ways.found)[0]
    }

    /// The address of an element whose absence is a fault.
    fn expected(&mut self, collection: Place, shape: &Storage, keys: &[Key]) -> Value {
        let (asked, place) = (self.asked(keys), self.place(collection));
        let position = self.position();
        let word = self.load(place, Type::Integer);
        let key = match asked {
            Asked::Row(row) => {
                let words = self.row_address(row);
                return self.finds("collection_get", &[word, words, position]);
            }
            Asked::Word(key) => key,
        };
        let missing = self.outside();
        let found = if self.quick(shape, asked).is_some() {
            let ways = Ways { missing, ..self.ways() };
            self.search(word, key, ways);
            self.body.switch_to_block(ways.unclear);
            let found = self.find(word, asked);
            self.body.ins().brif(found, ways.found, &[found.into()], missing, &[]);
            self.body.switch_to_block(ways.found);
            self.body.block_params(ways.found)[0]
        } else {
            let (found, there) = (self.find(word, asked), self.body.create_block());
            self.body.ins().brif(found, there, &[], missing, &[]);
            self.body.switch_to_block(there);
            found
        };
        let next = self.body.create_block();
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(missing);
        let row = self.row(1);
        self.row_store(row, 0, key);
        let words = self.row_address(row);
        self.states_fault("collection_get", &[word, words, position]);
        self.body.switch_to_block(next);
        found
    }

    fn find(&mut self, word: Value, asked: Asked) -> Value {
        match asked {
            Asked::Word(key) => self.value("collection_find_word", &[word, key]),
            Asked::Row(row) => {
                let words = self.row_address(row);
                self.value("collection_find", &[word, words])
            }
        }
    }

    /// The key, if the table of such a collection may be searched here.
    fn quick(&mut self, shape: &Storage, asked: Asked) -> Option<Value> {
        let (Storage::Collection { keys, .. }, Asked::Word(key)) = (shape, asked) else {
            return None;
        };
        let is_integer = *keys != [Type::Text] && self.unit.descriptors.moves(shape);
        self.searches += u32::from(is_integer);
        (is_integer && self.searches <= SEARCHES_MAX).then_some(key)
    }

    fn ways(&mut self) -> Ways {
        let (found, missing) = (self.body.create_block(), self.body.create_block());
        self.body.append_block_param(found, types::I64);
        Ways { found, missing, unclear: self.outside() }
    }

    /// Searches the table of the collection that a word owns; a collection that does not exist is
    /// left to the run-time.
    fn search(&mut self, word: Value, key: Value, ways: Ways) {
        let [there, simple, candidate, none] = [(); 4].map(|()| self.body.create_block());
        self.body.ins().brif(word, there, &[], ways.unclear, &[]);
        self.body.switch_to_block(there);
        let first = self.body.ins().load(types::I64, sound(), word, quick::COLLECTION_FIRST);
        self.body.ins().brif(first, simple, &[], ways.unclear, &[]);

        self.body.switch_to_block(simple);
        let hash = self.hash(word, key);
        let bits = self.body.ins().uload32(sound(), word, quick::COLLECTION_BITS);
        // By 64 - bits in all, at most by 63 at once.
        let rest = self.body.ins().bnot(bits);
        let number = self.body.ins().ushr_imm_u(hash, 1);
        let number = self.body.ins().ushr(number, rest);
        let bytes = self.body.ins().ishl_imm_u(number, i64::from(quick::CHUNK_SHIFT));
        let chunk = self.body.ins().iadd(first, bytes);
        let tags = self.body.ins().load(types::I64, sound(), chunk, 0);
        let matches = self.matches(tags, hash);
        self.body.ins().brif(matches, candidate, &[], none, &[]);

        self.body.switch_to_block(candidate);
        // 8 s + 7 for slot s.
        let bit = self.body.ins().ctz(matches);
        let slot = self.body.ins().ishl_imm_u(bit, 1);
        let slot = self.body.ins().iadd(chunk, slot);
        let kept = self.body.ins().load(types::I64, sound(), slot, 8 - 14);
        let value = self.body.ins().iadd_imm_s(slot, 16 - 14);
        let is = self.body.ins().icmp(IntCC::Equal, kept, key);
        self.body.ins().brif(is, ways.found, &[value.into()], ways.unclear, &[]);

        self.body.switch_to_block(none);
        let passed = self.body.ins().ushr_imm_u(tags, i64::from(quick::TAG_BITS));
        self.body.ins().brif(passed, ways.unclear, &[], ways.missing, &[]);
    }

    fn hash(&mut self, word: Value, key: Value) -> Value {
        let seed = quick::COLLECTION_SEED;
        let addend = self.body.ins().load(types::I64, sound(), word, seed);
        let factor = self.body.ins().load(types::I64, sound(), word, seed + 8);
        let mixed = self.body.ins().bxor(key, addend);
        let low = self.body.ins().imul(mixed, factor);
        let high = self.body.ins().umulhi(mixed, factor);
        self.body.ins().bxor(low, high)
    }

    /// The top bits of the tags that are that of the hash; the lowest that is set is surely one.
    fn matches(&mut self, tags: Value, hash: Value) -> Value {
        let ones = self.word(quick::TAG_ONES as i64);
        let tag = self.body.ins().band_imm_u(hash, quick::TAG_TOP as i64 - 1);
        let tag = self.body.ins().bor_imm_u(tag, quick::TAG_TOP as i64);
        let wanted = self.body.ins().imul(tag, ones);
        let difference = self.body.ins().bxor(tags, wanted);
        let below = self.body.ins().isub(difference, ones);
        let equal = self.body.ins().band_not(below, difference);
        self.body.ins().band_imm_u(equal, quick::TAG_TOPS as i64)
    }

    /// Whether an element is there; of components, whether it holds one.
    fn present(&mut self, element: Value, shape: &Storage) -> Value {
        let is = self.body.ins().icmp_imm_u(IntCC::NotEqual, element, 0);
        let is = self.body.ins().uextend(types::I64, is);
        let Storage::Collection { element: ty, .. } = shape else { return is };
        if kind(*ty) != Owned::Component {
            return is;
        }
        let (some, next) = (self.body.create_block(), self.body.create_block());
        let answer = self.body.append_block_param(next, types::I64);
        self.body.ins().brif(element, some, &[], next, &[is.into()]);
        self.body.switch_to_block(some);
        let word = self.body.ins().load(types::I64, sound(), element, 0);
        let holds = self.body.ins().icmp_imm_u(IntCC::NotEqual, word, 0);
        let holds = self.body.ins().uextend(types::I64, holds);
        self.body.ins().jump(next, &[holds.into()]);
        self.body.switch_to_block(next);
        answer
    }

    /// What a collection is asked with.
    fn asked(&mut self, keys: &[Key]) -> Asked {
        match keys {
            [key] => Asked::Word(self.key(*key)),
            _ => Asked::Row(self.keys(keys)),
        }
    }

    fn key(&mut self, key: Key) -> Value {
        match key {
            Key::Register(register) => self.get(register),
            Key::Text(place) => self.text(place),
        }
    }

    /// The words of keys in a row.
    fn keys(&mut self, keys: &[Key]) -> StackSlot {
        let row = self.row(keys.len());
        for (index, key) in keys.iter().enumerate() {
            let word = self.key(*key);
            self.row_store(row, index, word);
        }
        row
    }

    fn next_key(&mut self, found: Register, collection: Place, keys: &[Key], first: u32) {
        let retry = self.retry();
        let row = self.keys(keys);
        let words = self.row_address(row);
        let collection = self.place(collection);
        let (collection, first) = (self.load(collection, Type::Integer), self.half(first));
        let position = self.position();
        self.pauses("collection_next", &[collection, words, first, position], retry);
        let is = self.result(Type::Boolean);
        for (index, key) in keys.iter().enumerate() {
            match *key {
                Key::Register(register) => {
                    let word = self.row_load(row, index, Type::Integer);
                    self.set(register, word);
                }
                Key::Text(place) => {
                    // The old text has been dropped by the operation.
                    let word = self.row_load(row, index, Type::Text);
                    let to = self.place(place);
                    self.store(to, word);
                }
            }
        }
        self.set(found, is);
    }
}
