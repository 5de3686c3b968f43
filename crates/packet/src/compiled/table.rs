//! What kernels look up and change in tables, as code.
//!
//! Keys of exact tables are looked up here: the hash with the table's secret, whose words are
//! constants of the code, then the probes of `kernel::table::index`; and prefixes of tables that
//! have a trie (`kernel::table::lpm`). Values are loads and stores. The rest are calls: masks,
//! queues and wheels.

use tidemill_jit::build::{InstBuilder, IntCC, Value, types};

use super::writer::Writer;
use crate::kernel::table::spec::{TableKind, low_bits};
use crate::kernel::table::{CHILD, EntryLayout, NODE_BITS, Steps};

/// Bytes of a slot of a trie.
const SLOT_BYTES: usize = 4;

impl Writer<'_, '_, '_> {
    /// The entry of a table of kernel `at` with a key; 0: there is none.
    pub(super) fn find(&mut self, at: usize, table: u32, key: &[Value]) -> Value {
        let (spec, addresses) = self.table(at, table);
        if spec.kind == TableKind::Exact {
            return self.probe(at, table, key);
        }
        if let (Some(trie), Some(steps), [key]) = (addresses.trie, Steps::of(spec), key) {
            return self.longest_prefix(trie, steps, *key);
        }
        for (word, &value) in key.iter().enumerate() {
            self.body.store_word(value, addresses.query, word * 8);
        }
        let itself = self.body.address(addresses.table);
        self.body.call(self.imports.find, &[itself])[0]
    }

    /// The entry with the longest prefix of a key, by the trie at an address.
    fn longest_prefix(&mut self, trie: usize, steps: Steps, key: Value) -> Value {
        // Whatever a kernel looks up: no index is beyond the trie.
        let key = self.body.ins().band_imm_u(key, low_bits(steps.bits).cast_signed());
        let over = self.body.create_block();
        let entry = self.body.append_block_param(over, types::I32);
        let mut left = steps.bits - steps.root_bits;
        let index = self.body.ins().ushr_imm_u(key, i64::from(left));
        let root = self.body.address(trie);
        let mut slot = self.slot(root, index);
        for _ in 0..steps.nodes() {
            left -= NODE_BITS;
            let below = self.body.create_block();
            let has_child = self.body.ins().icmp_imm_s(IntCC::SignedLessThan, slot, 0);
            self.body.ins().brif(has_child, below, &[], over, &[slot.into()]);
            self.body.switch_to_block(below);
            let byte = self.body.ins().ushr_imm_u(key, i64::from(left));
            let byte = self.body.ins().band_imm_u(byte, (1 << NODE_BITS) - 1);
            let begin = self.body.ins().uextend(types::I64, slot);
            let index = self.body.ins().iadd(begin, byte);
            // The flag of a child is part of the index.
            let base = self.body.address(trie.wrapping_sub(CHILD as usize * SLOT_BYTES));
            slot = self.slot(base, index);
        }
        self.body.ins().jump(over, &[slot.into()]);
        self.body.switch_to_block(over);
        self.body.ins().uextend(types::I64, entry)
    }

    fn slot(&mut self, base: Value, index: Value) -> Value {
        let offset = self.body.ins().ishl_imm_u(index, i64::from(SLOT_BYTES.ilog2()));
        let slot = self.body.ins().iadd(base, offset);
        self.body.load_aligned(types::I32, slot, 0)
    }

    fn probe(&mut self, at: usize, table: u32, key: &[Value]) -> Value {
        let (_, addresses) = self.table(at, table);
        let hash = self.hash(addresses.secret, key);
        let tag = self.body.ins().ishl_imm_u(hash, 32);
        let home = self.body.ins().band_imm_u(hash, addresses.index_mask as i64);
        let [probe, some, same, next, over] = [(); 5].map(|()| self.body.create_block());
        let slot_at = self.body.append_block_param(probe, types::I64);
        let entry = self.body.append_block_param(over, types::I64);
        self.body.ins().jump(probe, &[home.into()]);
        self.body.switch_to_block(probe);
        let index = self.body.address(addresses.index);
        let offset = self.body.ins().ishl_imm_u(slot_at, 3);
        let slot = self.body.ins().iadd(index, offset);
        let slot = self.body.load_aligned(types::I64, slot, 0);
        self.body.ins().brif(slot, some, &[], over, &[slot.into()]);
        self.body.switch_to_block(some);
        // With the same tag nothing but the entry is left.
        let found = self.body.ins().bxor(slot, tag);
        let is_same = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThan, found, 1 << 32);
        self.body.ins().brif(is_same, same, &[], next, &[]);
        self.body.switch_to_block(same);
        let mut differs = None;
        for (word, &value) in key.iter().enumerate() {
            let own = self.entry_word(at, table, found, word);
            let one = self.body.ins().bxor(own, value);
            differs = Some(differs.map_or(one, |others| self.body.ins().bor(others, one)));
        }
        match differs {
            Some(differs) => self.body.ins().brif(differs, next, &[], over, &[found.into()]),
            None => self.body.ins().jump(over, &[found.into()]),
        };
        self.body.switch_to_block(next);
        let following = self.body.ins().iadd_imm_u(slot_at, 1);
        let following = self.body.ins().band_imm_u(following, addresses.index_mask as i64);
        self.body.ins().jump(probe, &[following.into()]);
        self.body.switch_to_block(over);
        entry
    }

    /// As [`Secret::word`](tidemill_stdx::keyed::Secret::word) and `combine` of the further words.
    pub(super) fn hash(&mut self, secret: [u64; 3], key: &[Value]) -> Value {
        let [offset, word_factor, step_factor] = secret.map(u64::cast_signed);
        let mut hash = None;
        for &word in key {
            let word = self.body.ins().bxor_imm_s(word, offset);
            hash = Some(match hash {
                None => self.fold(word, word_factor),
                Some(hash) => {
                    let turned = self.body.ins().rotl_imm_u(hash, 32);
                    let word = self.body.ins().bxor(word, turned);
                    self.fold(word, step_factor)
                }
            });
        }
        hash.unwrap_or_else(|| self.body.ins().iconst(types::I64, 0))
    }

    fn fold(&mut self, word: Value, factor: i64) -> Value {
        let factor = self.body.ins().iconst(types::I64, factor);
        let low = self.body.ins().imul(word, factor);
        let high = self.body.ins().umulhi(word, factor);
        self.body.ins().bxor(low, high)
    }

    /// The address of an entry that exists.
    fn entry_at(&mut self, at: usize, table: u32, entry: Value) -> Value {
        let (spec, addresses) = self.table(at, table);
        let bytes = EntryLayout::of(spec).words * 8;
        let entries = self.body.address(addresses.entries);
        let offset = self.body.ins().imul_imm_u(entry, bytes as i64);
        self.body.ins().iadd(entries, offset)
    }

    /// A word of an entry.
    pub(super) fn entry_word(&mut self, at: usize, table: u32, entry: Value, word: usize) -> Value {
        let entry = self.entry_at(at, table, entry);
        self.body.load_aligned(types::I64, entry, (word * 8) as i32)
    }

    fn store_entry(&mut self, at: usize, table: u32, entry: Value, word: usize, value: Value) {
        let entry = self.entry_at(at, table, entry);
        self.body.store_aligned(value, entry, (word * 8) as i32);
    }

    /// A word of the values of an entry.
    pub(super) fn get_value(&mut self, at: usize, table: u32, entry: Value, value: u32) -> Value {
        let layout = EntryLayout::of(self.table(at, table).0);
        self.entry_word(at, table, entry, layout.found_by + value as usize)
    }

    /// Changes a word of the values of an entry: the bits that the column has.
    pub(super) fn put(&mut self, at: usize, table: u32, entry: Value, value: u32, new: Value) {
        let layout = EntryLayout::of(self.table(at, table).0);
        let new = match layout.value_masks[value as usize] {
            u64::MAX => new,
            mask => self.body.ins().band_imm_u(new, mask.cast_signed()),
        };
        let word = layout.found_by + value as usize;
        self.store_entry(at, table, entry, word, new);
    }

    /// The age of an entry begins anew.
    pub(super) fn refresh(&mut self, at: usize, table: u32, entry: Value) {
        let layout = EntryLayout::of(self.table(at, table).0);
        let now = self.body.load_word(self.blueprint.now, 0);
        self.store_entry(at, table, entry, layout.touched, now);
    }

    /// Takes the draft of a table in; 0: there was no room.
    pub(super) fn insert(&mut self, at: usize, table: u32) -> Value {
        let (_, addresses) = self.table(at, table);
        let now = self.body.load_word(self.blueprint.now, 0);
        let itself = self.body.address(addresses.table);
        self.body.call(self.imports.insert, &[itself, now])[0]
    }

    /// Deletes an entry.
    pub(super) fn delete(&mut self, at: usize, table: u32, entry: Value) {
        let (_, addresses) = self.table(at, table);
        let itself = self.body.address(addresses.table);
        self.body.call(self.imports.delete, &[itself, entry]);
    }
}
