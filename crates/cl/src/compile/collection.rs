//! Elements of collections. An integer key is [searched](super::search) in the code, where that is
//! simple; the run-time does the rest, and every other key.

use tidemill_jit::build::{InstBuilder, IntCC, StackSlot, Value, types};
use tidemill_proc::program::WordKind as Owned;

use crate::compile::describe::{is_scalar, kind};
use crate::compile::facts::Presence;
use crate::compile::search::{LookupKey, Ways};
use crate::compile::translate::Translator;
use crate::ir::{Access, Instruction, Key, Place, Register, Storage, Type};

impl Translator<'_, '_, '_> {
    pub(super) fn collection(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Element { to, collection, keys, .. }
                if let Some(known) = self.facts.element(*collection, keys) =>
            {
                self.set(*to, known);
            }
            Instruction::Element { to, collection, shape, keys, access } => {
                let address = match access {
                    Access::Make => self.made(*collection, shape, keys),
                    Access::Expect => self.expected(*collection, shape, keys),
                };
                self.set(*to, address);
                self.facts.note_element(*collection, keys, address, Presence::There);
            }
            Instruction::ElementExists { to, collection, shape, keys } => {
                let element = self.sought(*collection, shape, keys);
                let value = self.present(element, shape);
                self.set(*to, value);
                self.facts.note_element(*collection, keys, element, Presence::If(*to));
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
        let (wanted, place) = (self.lookup_key(keys), self.place(collection));
        let word = self.load(place, Type::Integer);
        let Some(key) = self.quick(shape, wanted) else { return self.find(word, wanted) };
        let ways = self.ways();
        let (next, zero) = (ways.found, self.word(0));
        self.search(word, key, ways);
        self.body.switch_to_block(ways.missing);
        self.body.ins().jump(next, &[zero.into()]);
        self.body.switch_to_block(ways.unclear);
        let found = self.find(word, wanted);
        self.body.ins().jump(next, &[found.into()]);
        self.body.switch_to_block(next);
        self.body.block_params(next)[0]
    }

    /// The address of an element that is made if it is missing.
    fn made(&mut self, collection: Place, shape: &Storage, keys: &[Key]) -> Value {
        let (wanted, place) = (self.lookup_key(keys), self.place(collection));
        let number = self.unit.descriptors.shape(shape);
        let quick = self.quick(shape, wanted);
        let (word, number, position) = (self.pointer(place), self.half(number), self.position());
        let key = match wanted {
            LookupKey::Row(row) => {
                let words = self.row_address(row);
                return self.finds("collection_at", &[word, number, words, position]);
            }
            // In a collection of components, an element that exists may be empty.
            LookupKey::Word(key) if is_scalar(shape) && self.facts.is_missing(collection, keys) => {
                return self.finds("collection_add", &[word, number, key, position]);
            }
            LookupKey::Word(key) if quick.is_none() => {
                return self.finds("collection_at_word", &[word, number, key, position]);
            }
            LookupKey::Word(key) => key,
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
        let (wanted, place) = (self.lookup_key(keys), self.place(collection));
        let position = self.position();
        let word = self.load(place, Type::Integer);
        let key = match wanted {
            LookupKey::Row(row) => {
                let words = self.row_address(row);
                return self.finds("collection_get", &[word, words, position]);
            }
            LookupKey::Word(key) => key,
        };
        let missing = self.body.cold_block();
        let found = if self.quick(shape, wanted).is_some() {
            let ways = Ways { missing, ..self.ways() };
            self.search(word, key, ways);
            self.body.switch_to_block(ways.unclear);
            let found = self.find(word, wanted);
            self.body.ins().brif(found, ways.found, &[found.into()], missing, &[]);
            self.body.switch_to_block(ways.found);
            self.body.block_params(ways.found)[0]
        } else {
            let (found, there) = (self.find(word, wanted), self.body.create_block());
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

    fn find(&mut self, word: Value, key: LookupKey) -> Value {
        match key {
            LookupKey::Word(key) => self.value("collection_find_word", &[word, key]),
            LookupKey::Row(row) => {
                let words = self.row_address(row);
                self.value("collection_find", &[word, words])
            }
        }
    }

    /// Whether an element exists; of components, whether it holds one.
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
        let word = self.body.load_aligned(types::I64, element, 0);
        let holds = self.body.ins().icmp_imm_u(IntCC::NotEqual, word, 0);
        let holds = self.body.ins().uextend(types::I64, holds);
        self.body.ins().jump(next, &[holds.into()]);
        self.body.switch_to_block(next);
        answer
    }

    /// The form of the key for a look-up.
    fn lookup_key(&mut self, keys: &[Key]) -> LookupKey {
        match keys {
            [key] => LookupKey::Word(self.key(*key)),
            _ => LookupKey::Row(self.keys(keys)),
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
