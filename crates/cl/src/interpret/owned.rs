//! Texts, arrays and collections.

use tidemill_proc::entry::Operation;
use tidemill_proc::fault::Reason as Fault;
use tidemill_proc::program::WordKind as Owned;

use crate::interpret::step::{Done, Step};
use crate::ir::{Access, Instruction, Key, Place, Register, Storage, Type};

impl Step<'_, '_, '_> {
    /// Texts that are made, and by the functions below all other instructions of the group.
    pub(super) fn owned(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::TextConstant { to, text } => {
                let machine = self.machine;
                let bytes = &machine.ir.texts[*text];
                let value = if bytes.is_empty() { 0 } else { self.literal(bytes)? };
                self.put_text(*to, value);
            }
            Instruction::TextCopy { to, from } => {
                let value = self.text_copy(*from)?;
                self.put_text(*to, value);
            }
            Instruction::TextMove { to, from } => {
                let value = self.take(*from);
                self.put_text(*to, value);
            }
            Instruction::TextNew { to, length } => {
                let words = [self.get(*length), self.position()];
                let value = self.result(Operation::text_new, &words)?;
                self.put_text(*to, value);
            }
            Instruction::TextOf { to, from, .. } => {
                let operation = match self.ty(*from) {
                    Type::Real => Operation::text_of_real,
                    Type::Boolean => Operation::text_of_boolean,
                    Type::Character => Operation::text_of_character,
                    _ => Operation::text_of_integer,
                };
                let words = [self.get(*from), self.position()];
                let value = self.result(operation, &words)?;
                self.put_text(*to, value);
            }
            _ => return self.text_access(instruction),
        }
        Ok(())
    }

    /// Reads a text, or sets a character of it.
    fn text_access(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::TextNumber { to, from } => {
                let operation = match self.ty(*to) {
                    Type::Real => Operation::real_of_text,
                    _ => Operation::integer_of_text,
                };
                let words = [self.load(*from), self.position()];
                let value = self.result(operation, &words)?;
                self.set(*to, value);
            }
            Instruction::TextLength { to, from } => {
                let from = self.load(*from);
                let value = self.value(Operation::text_length, &[from]);
                self.set(*to, value);
            }
            Instruction::TextGet { to, from, index } => {
                let words = [self.load(*from), self.get(*index), self.position()];
                let value = self.result(Operation::text_get, &words)?;
                self.set(*to, value);
            }
            Instruction::TextSet { to, index, from } => {
                let text = self.load(*to);
                let words = [text, self.get(*index), self.get(*from), self.position()];
                self.status(Operation::text_set, &words)?;
            }
            Instruction::TextCompare { to, a, b } => {
                let words = [self.load(*a), self.load(*b)];
                let value = self.value(Operation::text_compare, &words);
                self.set(*to, value);
            }
            Instruction::ArrayNew { .. }
            | Instruction::ArrayLength { .. }
            | Instruction::ArrayElement { .. }
            | Instruction::ArrayView { .. }
            | Instruction::ViewExtent { .. }
            | Instruction::ViewElement { .. } => return self.array(instruction),
            _ => return self.collection(instruction),
        }
        Ok(())
    }

    fn literal(&mut self, bytes: &[u8]) -> Done<u64> {
        let position = self.machine.numbers.position(self.span);
        match self.activation.literal(bytes, position) {
            tidemill_proc::interpret::Status::Done => Ok(self.activation.result()),
            other => Err(other),
        }
    }

    pub(super) fn text_copy(&mut self, from: Place) -> Done<u64> {
        let words = [self.load(from), self.position()];
        self.result(Operation::text_copy, &words)
    }

    /// The place becomes owner of the text instead of what it had.
    pub(super) fn put_text(&mut self, to: Place, value: u64) {
        self.drop_word(to, Owned::Text);
        self.store(to, value);
    }

    fn array(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::ArrayNew { array, shape, extents } => {
                let word = self.address(*array);
                self.status(Operation::delete, &[word, Owned::Array as u64])?;
                let shape = u64::from(self.machine.numbers.shape(shape));
                let extents = self.registers(extents);
                let words = [word, shape, extents, self.position()];
                self.status(Operation::array_new, &words)?;
            }
            Instruction::ArrayLength { to, array, dimension } => {
                let words = [self.load(*array), u64::from(*dimension)];
                if words[0] == 0 {
                    return Err(self.fault(Fault::Unallocated, 0));
                }
                let value = self.value(Operation::array_length, &words);
                self.set(*to, value);
            }
            Instruction::ArrayElement { to, array, indices } => {
                let indices = self.registers(indices);
                let words = [self.load(*array), indices, self.position()];
                let element = self.find(Operation::array_at, &words)?;
                self.set(*to, element);
            }
            // A view is the array itself.
            Instruction::ArrayView { to, array } => {
                let view = self.load(*array);
                self.set(*to, view);
            }
            Instruction::ViewExtent { to, view, dimension } => {
                let words = [self.get(*view), u64::from(*dimension)];
                let value = self.value(Operation::array_length, &words);
                self.set(*to, value);
            }
            Instruction::ViewElement { to, view, indices, .. } => {
                let indices = self.registers(indices);
                let words = [self.get(*view), indices, self.position()];
                let element = self.find(Operation::array_at, &words)?;
                self.set(*to, element);
            }
            other => unreachable!("{other:?} is executed elsewhere"),
        }
        Ok(())
    }

    fn registers(&mut self, registers: &[Register]) -> u64 {
        let words: Vec<u64> = registers.iter().map(|register| self.get(*register)).collect();
        self.row(&words)
    }

    fn collection(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::Element { to, collection, shape, keys, access } => {
                let keys = self.keys(keys);
                let element = match access {
                    Access::Make => {
                        let shape = u64::from(self.machine.numbers.shape(shape));
                        let words = [self.address(*collection), shape, keys, self.position()];
                        self.find(Operation::collection_at, &words)?
                    }
                    Access::Expect => {
                        let words = [self.load(*collection), keys, self.position()];
                        self.find(Operation::collection_get, &words)?
                    }
                };
                self.set(*to, element);
            }
            Instruction::ElementExists { to, collection, shape, keys } => {
                let words = [self.load(*collection), self.keys(keys)];
                let element = self.value(Operation::collection_find, &words);
                let holds_component =
                    matches!(shape, Storage::Collection { element: Type::Component, .. });
                let exists = match element {
                    0 => false,
                    element => !holds_component || self.activation.load(element) != 0,
                };
                self.set(*to, u64::from(exists));
            }
            Instruction::ElementDelete { collection, keys } => {
                let words = [self.load(*collection), self.keys(keys)];
                self.status(Operation::collection_delete, &words)?;
            }
            Instruction::FirstKey { found, collection, keys } => {
                for key in keys {
                    if let Key::Text(place) = key {
                        self.put_text(*place, 0);
                    }
                }
                self.next_key(*found, *collection, keys, true)?;
            }
            Instruction::NextKey { found, collection, keys } => {
                self.next_key(*found, *collection, keys, false)?;
            }
            Instruction::ElementCount { to, collection } => {
                let collection = self.load(*collection);
                let value = self.value(Operation::collection_length, &[collection]);
                self.set(*to, value);
            }
            other => unreachable!("{other:?} is executed elsewhere"),
        }
        Ok(())
    }

    fn keys(&mut self, keys: &[Key]) -> u64 {
        let word = |key: &Key| match *key {
            Key::Register(register) => self.get(register),
            Key::Text(place) => self.load(place),
        };
        let words: Vec<u64> = keys.iter().map(word).collect();
        self.row(&words)
    }

    /// The keys become the next ones. The operation frees the texts that were keys, and gives new
    /// ones.
    fn next_key(
        &mut self,
        found: Register,
        collection: Place,
        keys: &[Key],
        is_first: bool,
    ) -> Done {
        let row = self.keys(keys);
        let words = [self.load(collection), row, u64::from(is_first), self.position()];
        let is = self.result(Operation::collection_next, &words)?;
        for (index, key) in keys.iter().enumerate() {
            let word = self.row_word(index);
            match *key {
                Key::Register(register) => self.set(register, word),
                Key::Text(place) => self.store(place, word),
            }
        }
        self.set(found, is);
        Ok(())
    }
}
