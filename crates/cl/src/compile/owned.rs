//! Texts and arrays.

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, InstBuilder, IntCC, Value, types};
use tidemill_proc::layout::{TEXT_BYTES, TEXT_LENGTH};
use tidemill_proc::program::WordKind as Owned;

use crate::compile::translate::Translator;
use crate::ir::{Instruction, Place, Type};

impl Translator<'_, '_, '_> {
    /// Texts that are made, and by the functions below all other instructions of the group.
    pub(super) fn owned(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::TextConstant { to, text } => {
                let length = self.unit.ir.texts[*text].len();
                let value = if length == 0 {
                    self.word(0)
                } else {
                    let bytes = self.body.data_address(self.unit.texts[*text]);
                    let (length, position) = (self.word(length as i64), self.position());
                    self.faults("text_literal", &[bytes, length, position]);
                    self.result(Type::Text)
                };
                self.put_text(*to, value);
            }
            Instruction::TextCopy { to, from } => {
                let (from, position) = (self.text(*from), self.position());
                self.faults("text_copy", &[from, position]);
                let value = self.result(Type::Text);
                self.put_text(*to, value);
            }
            Instruction::TextMove { to, from } => {
                let from = self.place(*from);
                let value = self.load(from, Type::Text);
                let zero = self.word(0);
                self.store(from, zero);
                self.put_text(*to, value);
            }
            Instruction::TextNew { to, length } => {
                let (length, position) = (self.get(*length), self.position());
                self.faults("text_new", &[length, position]);
                let value = self.result(Type::Text);
                self.put_text(*to, value);
            }
            Instruction::TextOf { to, from, .. } => {
                let name = match self.function.registers[*from] {
                    Type::Real => "text_of_real",
                    Type::Boolean => "text_of_boolean",
                    Type::Character => "text_of_character",
                    _ => "text_of_integer",
                };
                let (value, position) = (self.get(*from), self.position());
                self.faults(name, &[value, position]);
                let value = self.result(Type::Text);
                self.put_text(*to, value);
            }
            _ => self.text_access(instruction),
        }
    }

    /// Reads a text, or sets a character of it.
    fn text_access(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::TextNumber { to, from } => {
                let ty = self.function.registers[*to];
                let name = if ty == Type::Real { "real_of_text" } else { "integer_of_text" };
                let (from, position) = (self.text(*from), self.position());
                self.faults(name, &[from, position]);
                let value = self.result(ty);
                self.set(*to, value);
            }
            Instruction::TextLength { to, from } => {
                let from = self.text(*from);
                let value = self.text_length(from);
                self.set(*to, value);
            }
            Instruction::TextGet { to, from, index } => {
                let (from, index) = (self.text(*from), self.get(*index));
                let value = self.text_get(from, index);
                self.set(*to, value);
            }
            Instruction::TextSet { to, index, from } => {
                let (to, index, from) = (self.text(*to), self.get(*index), self.get(*from));
                self.text_set(to, index, from);
            }
            Instruction::TextCompare { to, a, b } => {
                let (a, b) = (self.text(*a), self.text(*b));
                let value = self.value("text_compare", &[a, b]);
                self.set(*to, value);
            }
            _ => self.elements(instruction),
        }
    }

    /// The word of a text.
    pub(super) fn text(&mut self, place: Place) -> Value {
        let from = self.place(place);
        self.load(from, Type::Text)
    }

    /// The empty text has no block.
    fn text_length(&mut self, text: Value) -> Value {
        let (some, next) = (self.body.create_block(), self.body.create_block());
        let length = self.body.append_block_param(next, types::I64);
        let zero = self.word(0);
        self.body.ins().brif(text, some, &[], next, &[zero.into()]);
        self.body.switch_to_block(some);
        let there = self.body.ins().uload32(aligned(), text, TEXT_LENGTH);
        self.body.ins().jump(next, &[there.into()]);
        self.body.switch_to_block(next);
        length
    }

    /// The address to which [`TEXT_BYTES`] is added, and the block for an index that is out of
    /// range: there the run-time raises the fault.
    fn text_place(&mut self, text: Value, index: Value) -> (Value, Block) {
        let (some, inside) = (self.body.create_block(), self.body.create_block());
        let outside = self.body.cold_block();
        self.body.ins().brif(text, some, &[], outside, &[]);
        self.body.switch_to_block(some);
        let length = self.body.ins().uload32(aligned(), text, TEXT_LENGTH);
        let is_inside = self.body.ins().icmp(IntCC::UnsignedLessThan, index, length);
        self.body.ins().brif(is_inside, inside, &[], outside, &[]);
        self.body.switch_to_block(inside);
        (self.body.ins().iadd(text, index), outside)
    }

    fn text_get(&mut self, text: Value, index: Value) -> Value {
        let next = self.body.create_block();
        let character = self.body.append_block_param(next, types::I64);
        let (place, outside) = self.text_place(text, index);
        let there = self.body.ins().uload8(types::I64, aligned(), place, TEXT_BYTES);
        self.body.ins().jump(next, &[there.into()]);
        self.body.switch_to_block(outside);
        let position = self.position();
        self.states_fault("text_get", &[text, index, position]);
        self.body.switch_to_block(next);
        character
    }

    fn text_set(&mut self, text: Value, index: Value, character: Value) {
        let next = self.body.create_block();
        let (place, outside) = self.text_place(text, index);
        self.body.ins().istore8(aligned(), character, place, TEXT_BYTES);
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(outside);
        let position = self.position();
        self.states_fault("text_set", &[text, index, character, position]);
        self.body.switch_to_block(next);
    }

    /// The place becomes owner of the text instead of what it had.
    pub(super) fn put_text(&mut self, to: Place, value: Value) {
        let to = self.place(to);
        self.drop_if_any(to, Owned::Text);
        self.store(to, value);
    }

    fn elements(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::ArrayNew { array, shape, extents } => {
                let retry = self.retry();
                let word = self.place(*array);
                let (word, array_kind) = (self.pointer(word), self.half(Owned::Array as u32));
                self.blocks("delete", &[word, array_kind], retry);
                let row = self.row(extents.len());
                for (index, extent) in extents.iter().enumerate() {
                    let extent = self.get(*extent);
                    self.row_store(row, index, extent);
                }
                let shape = self.unit.descriptors.shape(shape);
                let (shape, extents) = (self.half(shape), self.row_address(row));
                let word = self.place(*array);
                let (word, position) = (self.pointer(word), self.position());
                self.faults("array_new", &[word, shape, extents, position]);
            }
            Instruction::ArrayLength { .. }
            | Instruction::ArrayElement { .. }
            | Instruction::ArrayView { .. }
            | Instruction::ViewExtent { .. }
            | Instruction::ViewElement { .. } => self.array(instruction),
            _ => self.collection(instruction),
        }
    }
}
