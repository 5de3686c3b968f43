//! Loads and stores of a packet's bytes, by way of what is known of them ([`Known`]).

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{InstBuilder, Value, types};

use super::known::{KNOWN_MAX, Known, Word};
use super::run::Writer;
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
        let narrow = match width {
            Width::W8 => types::I8,
            Width::W16 => types::I16,
            Width::W32 => types::I32,
            Width::W64 => types::I64,
        };
        let value = match width {
            Width::W64 => value,
            _ => {
                let cut = self.body.ins().ireduce(narrow, value);
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
        let kind = match width {
            Width::W8 => types::I8,
            Width::W16 => types::I16,
            Width::W32 => types::I32,
            Width::W64 => types::I64,
        };
        let narrow = self.body.ins().load(kind, unaligned(), data, at);
        let number = if width == Width::W8 { narrow } else { self.in_order(narrow) };
        match width {
            Width::W64 => number,
            _ => self.body.ins().uextend(types::I64, number),
        }
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
        self.body.ins().store(unaligned(), narrow, data, at);
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

    /// The word so far behind a value.
    pub(super) fn load_behind(&mut self, width: Width, base: Value, offset: u32) -> Value {
        self.write_known();
        let data = self.body.use_var(self.data);
        let data = self.body.ins().iadd(data, base);
        self.load_bytes(width, data, offset)
    }

    /// The word so far behind a value becomes another.
    pub(super) fn store_behind(&mut self, width: Width, base: Value, offset: u32, value: Value) {
        self.forget();
        let data = self.body.use_var(self.data);
        let data = self.body.ins().iadd(data, base);
        self.store_bytes(width, data, offset, value);
    }
}
