//! Texts, arrays and collections.

use super::function::Verifier;
use crate::ir::{Instruction, Key, Place, Storage, Type};

impl Verifier<'_> {
    pub(super) fn owned(&mut self, instruction: &Instruction) {
        use Type::{Character, Integer, Text};
        match instruction {
            Instruction::TextConstant { to, text } => {
                self.holds(*to, Text);
                self.text(*text);
            }
            Instruction::TextCopy { to, from } | Instruction::TextMove { to, from } => {
                self.holds(*to, Text);
                self.holds(*from, Text);
            }
            Instruction::TextNew { to, length } => {
                self.holds(*to, Text);
                self.is(*length, Integer);
            }
            Instruction::TextOf { to, .. } => self.holds(*to, Text),
            Instruction::TextNumber { from, .. } => self.holds(*from, Text),
            Instruction::TextLength { to, from } => {
                self.is(*to, Integer);
                self.holds(*from, Text);
            }
            Instruction::TextGet { to: character, from: text, index }
            | Instruction::TextSet { to: text, index, from: character } => {
                self.holds(*text, Text);
                self.is(*index, Integer);
                self.is(*character, Character);
            }
            Instruction::TextCompare { to, a, b } => {
                self.is(*to, Integer);
                self.holds(*a, Text);
                self.holds(*b, Text);
            }
            _ => self.array_or_collection(instruction),
        }
    }

    fn array_or_collection(&mut self, instruction: &Instruction) {
        use Type::{Address, Boolean, Integer};
        match instruction {
            Instruction::ArrayNew { array, extents, .. } => {
                self.array(*array, extents.len());
                extents.iter().for_each(|extent| self.is(*extent, Integer));
            }
            Instruction::ArrayLength { to, array, dimension } => {
                self.is(*to, Integer);
                if let Some(Storage::Array { dimensions, .. }) = self.storage(*array)
                    && dimension >= dimensions
                {
                    self.fault("no such dimension");
                }
            }
            Instruction::ArrayElement { to, array, indices } => {
                self.is(*to, Address);
                self.array(*array, indices.len());
                indices.iter().for_each(|index| self.is(*index, Integer));
            }
            Instruction::ArrayView { to, array } => {
                self.is(*to, Address);
                if !matches!(self.storage(*array), None | Some(Storage::Array { .. })) {
                    self.fault(format!("{array:?} is no array"));
                }
            }
            Instruction::ViewExtent { to, view, .. } => {
                self.is(*to, Integer);
                self.is(*view, Address);
            }
            Instruction::ViewElement { to, array, view, extents, indices, checked } => {
                self.is(*to, Address);
                self.is(*view, Address);
                self.array(*array, indices.len());
                if ![0, indices.len()].contains(&extents.len()) {
                    self.fault("extents of other dimensions");
                }
                if !checked && indices.len() > 1 && extents.is_empty() {
                    self.fault("no extents");
                }
                extents.iter().chain(indices).for_each(|it| self.is(*it, Integer));
            }
            Instruction::Element { to, collection, keys, .. } => {
                self.is(*to, Address);
                self.keys(*collection, keys);
            }
            Instruction::ElementExists { to: flag, collection, keys, .. }
            | Instruction::FirstKey { found: flag, collection, keys }
            | Instruction::NextKey { found: flag, collection, keys } => {
                self.is(*flag, Boolean);
                self.keys(*collection, keys);
            }
            Instruction::ElementDelete { collection, keys } => self.keys(*collection, keys),
            Instruction::ElementCount { to, .. } => self.is(*to, Integer),
            _ => self.no_rule(),
        }
    }

    fn keys(&mut self, collection: Place, keys: &[Key]) {
        let Some(storage) = self.storage(collection) else { return };
        let Storage::Collection { keys: types, .. } = storage.clone() else {
            return self.fault(format!("{collection:?} is no collection"));
        };
        if keys.len() != types.len() {
            self.fault(format!("{} keys instead of {}", keys.len(), types.len()));
        }
        for (key, ty) in keys.iter().zip(types) {
            match *key {
                Key::Register(register) => self.is(register, ty),
                Key::Text(place) => self.holds(place, Type::Text),
            }
        }
    }

    fn array(&mut self, array: Place, dimensions: usize) {
        match self.storage(array) {
            None => {}
            Some(Storage::Array { dimensions: known, .. }) if usize::from(*known) == dimensions => {
            }
            Some(_) => self.fault(format!("{array:?} is no array of {dimensions} dimensions")),
        }
    }
}
