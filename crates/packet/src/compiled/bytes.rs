//! Loads and stores of a packet's bytes, by way of what is known of them ([`Known`]).

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{InstBuilder, IntCC, Type, Value, types};

use super::known::{KNOWN_MAX, Known, Raw, Word};
use super::writer::Writer;
use crate::kernel::Width;

impl Writer<'_, '_, '_> {
    /// The word at an offset.
    pub(super) fn load_known(&mut self, width: Width, offset: u32) -> Value {
        let found =
            self.known.words.iter().find(|word| word.width == width && word.offset == offset);
        if let Some(word) = found {
            return word.value;
        }
        self.write_overlapping(width, offset);
        let data = self.body.use_var(self.data);
        let value = self.load_bytes(width, data, offset);
        self.remember(Word { offset, width, value, is_new: false });
        value
    }

    /// The word at an offset becomes another.
    pub(super) fn store_known(&mut self, width: Width, offset: u32, value: Value) {
        let same = |word: &Word| word.width == width && word.offset == offset;
        self.known.words.retain(|word| !same(word));
        self.write_overlapping(width, offset);
        self.known.words.retain(|word| !word.overlaps(width, offset));
        let value = match width {
            Width::W64 => value,
            _ => {
                let cut = self.body.ins().ireduce(type_of(width), value);
                self.body.ins().uextend(types::I64, cut)
            }
        };
        self.remember(Word { offset, width, value, is_new: true });
    }

    fn remember(&mut self, word: Word) {
        if self.known.words.len() == KNOWN_MAX {
            let oldest = self.known.words.remove(0);
            self.write_word(oldest);
        }
        self.known.words.push(word);
    }

    fn write_word(&mut self, word: Word) {
        if word.is_new {
            let data = self.body.use_var(self.data);
            self.store_bytes(word.width, data, word.offset, word.value);
        }
    }

    fn write_overlapping(&mut self, width: Width, offset: u32) {
        for at in 0..self.known.words.len() {
            let word = self.known.words[at];
            if word.overlaps(width, offset) {
                self.write_word(word);
                self.known.words[at].is_new = false;
            }
        }
    }

    /// Puts all into the packet that is not there yet; it stays known.
    pub(super) fn write_known(&mut self) {
        for at in 0..self.known.words.len() {
            let word = self.known.words[at];
            self.write_word(word);
            self.known.words[at].is_new = false;
        }
    }

    /// Offsets no longer hold, or bytes have changed somewhere.
    pub(super) fn forget(&mut self) {
        self.write_known();
        self.known = Known::default();
    }

    fn load_bytes(&mut self, width: Width, data: Value, offset: u32) -> Value {
        let (data, at) = self.near(data, offset);
        if width == Width::W8 {
            return self.body.ins().uload8(types::I64, unaligned(), data, at);
        }
        let narrow = self.body.load(type_of(width), data, at);
        let number = self.in_order(narrow);
        let number = match width {
            Width::W64 => number,
            _ => self.body.ins().uextend(types::I64, number),
        };
        let mask = u64::MAX >> (64 - width.bytes() * 8);
        self.raws.insert(number, Raw { value: narrow, width, mask });
        number
    }

    /// Notes that a number is another with these bits only.
    pub(super) fn note_masked(&mut self, number: Value, of: Value, mask: u64) {
        if let Some(&raw) = self.raws.get(&of) {
            self.raws.insert(number, Raw { mask: raw.mask & mask, ..raw });
        }
    }

    /// Whether a loaded number is this constant: then the constant is put in the order of the
    /// network, not the number in that of the machine. `None`: it is no loaded number, or a byte.
    pub(super) fn compare_loaded(
        &mut self,
        condition: IntCC,
        number: Value,
        constant: u64,
    ) -> Option<Value> {
        let Raw { value, width, mask } = *self.raws.get(&number)?;
        let all = u64::MAX >> (64 - width.bytes() * 8);
        if constant & !mask != 0 {
            return None;
        }
        let [constant, masked] = [constant, mask].map(|bits| in_network_order(width, bits));
        let value = if mask == all { value } else { self.body.ins().band_imm_s(value, masked) };
        Some(self.body.ins().icmp_imm_s(condition, value, constant))
    }

    fn store_bytes(&mut self, width: Width, data: Value, offset: u32, value: Value) {
        let (data, at) = self.near(data, offset);
        let narrow = match width {
            Width::W8 => self.body.ins().ireduce(types::I8, value),
            Width::W16 => self.body.ins().ireduce(types::I16, value),
            Width::W32 => self.body.ins().ireduce(types::I32, value),
            Width::W64 => value,
        };
        let narrow = if width == Width::W8 { narrow } else { self.in_order(narrow) };
        self.body.store(narrow, data, at);
    }

    /// An address and an offset that fits an instruction.
    fn near(&mut self, data: Value, offset: u32) -> (Value, i32) {
        match i32::try_from(offset) {
            Ok(near) => (data, near),
            Err(_) => (self.body.ins().iadd_imm_u(data, i64::from(offset)), 0),
        }
    }

    /// From the order of the network to that of the machine, and back.
    fn in_order(&mut self, number: Value) -> Value {
        if cfg!(target_endian = "big") { number } else { self.body.ins().bswap(number) }
    }

    /// The word that far after a value.
    pub(super) fn load_after(&mut self, width: Width, base: Value, offset: u32) -> Value {
        self.write_known();
        let data = self.body.use_var(self.data);
        let data = self.body.ins().iadd(data, base);
        self.load_bytes(width, data, offset)
    }

    /// The word that far after a value becomes another.
    pub(super) fn store_after(&mut self, width: Width, base: Value, offset: u32, value: Value) {
        self.forget();
        let data = self.body.use_var(self.data);
        let data = self.body.ins().iadd(data, base);
        self.store_bytes(width, data, offset, value);
    }
}

fn type_of(width: Width) -> Type {
    match width {
        Width::W8 => types::I8,
        Width::W16 => types::I16,
        Width::W32 => types::I32,
        Width::W64 => types::I64,
    }
}

/// A number as the machine sees it in a packet, with the sign that it has there.
fn in_network_order(width: Width, number: u64) -> i64 {
    match width {
        Width::W8 => i64::from((number as u8).cast_signed()),
        Width::W16 => i64::from((number as u16).to_be().cast_signed()),
        Width::W32 => i64::from((number as u32).to_be().cast_signed()),
        Width::W64 => number.to_be().cast_signed(),
    }
}
