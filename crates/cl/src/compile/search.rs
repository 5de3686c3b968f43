//! The search for an integer key in a table that holds its elements, as [`quick`] describes,
//! without a call: so the cache misses of a loop's searches overlap.

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, InstBuilder, IntCC, StackSlot, Value, types};
use tidemill_proc::layout::quick;

use crate::compile::translate::Translator;
use crate::ir::{Storage, Type};

/// Searches in the code of one function: what is longer is no loop that runs hot.
const SEARCHES_MAX: u32 = 200;

/// A key as an operation is given it.
#[derive(Debug, Clone, Copy)]
pub(super) enum LookupKey {
    /// The word of the only one.
    Word(Value),
    /// Several in a row.
    Row(StackSlot),
}

/// Where a search continues; `found` has the address as a parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ways {
    pub(super) found: Block,
    pub(super) missing: Block,
    /// To the run-time.
    pub(super) unclear: Block,
}

impl Translator<'_, '_, '_> {
    /// The key, if the table of such a collection may be searched here.
    pub(super) fn quick(&mut self, shape: &Storage, key: LookupKey) -> Option<Value> {
        let (Storage::Collection { keys, .. }, LookupKey::Word(key)) = (shape, key) else {
            return None;
        };
        let is_integer = *keys != [Type::Text] && self.unit.descriptors.moves(shape);
        self.searches += u32::from(is_integer);
        (is_integer && self.searches <= SEARCHES_MAX).then_some(key)
    }

    pub(super) fn ways(&mut self) -> Ways {
        let (found, missing) = (self.body.create_block(), self.body.create_block());
        self.body.append_block_param(found, types::I64);
        Ways { found, missing, unclear: self.body.cold_block() }
    }

    /// Searches the table of the collection that a word owns; a collection that does not exist is
    /// left to the run-time.
    pub(super) fn search(&mut self, word: Value, key: Value, ways: Ways) {
        let [there, simple, candidate, none] = [(); 4].map(|()| self.body.create_block());
        self.body.ins().brif(word, there, &[], ways.unclear, &[]);
        self.body.switch_to_block(there);
        let first = self.body.load_aligned(types::I64, word, quick::COLLECTION_FIRST);
        self.body.ins().brif(first, simple, &[], ways.unclear, &[]);

        self.body.switch_to_block(simple);
        let hash = self.hash(word, key);
        let bits = self.body.ins().uload32(aligned(), word, quick::COLLECTION_BITS);
        // By 64 - bits in all, at most by 63 at once.
        let rest = self.body.ins().bnot(bits);
        let number = self.body.ins().ushr_imm_u(hash, 1);
        let number = self.body.ins().ushr(number, rest);
        let bytes = self.body.ins().ishl_imm_u(number, i64::from(quick::CHUNK_SHIFT));
        let chunk = self.body.ins().iadd(first, bytes);
        let tags = self.body.load_aligned(types::I64, chunk, 0);
        let matches = self.matches(tags, hash);
        self.body.ins().brif(matches, candidate, &[], none, &[]);

        self.body.switch_to_block(candidate);
        // For slot s it is 8 s + 7; twice that is 16 s + 14: 6 after its key, 2 before its value.
        let bit = self.body.ins().ctz(matches);
        let slot = self.body.ins().ishl_imm_u(bit, 1);
        let slot = self.body.ins().iadd(chunk, slot);
        let kept = self.body.load_aligned(types::I64, slot, -6);
        let value = self.body.ins().iadd_imm_s(slot, 2);
        let is = self.body.ins().icmp(IntCC::Equal, kept, key);
        self.body.ins().brif(is, ways.found, &[value.into()], ways.unclear, &[]);

        self.body.switch_to_block(none);
        let passed = self.body.ins().ushr_imm_u(tags, i64::from(quick::TAG_BITS));
        self.body.ins().brif(passed, ways.unclear, &[], ways.missing, &[]);
    }

    fn hash(&mut self, word: Value, key: Value) -> Value {
        let seed = quick::COLLECTION_SEED;
        let addend = self.body.load_aligned(types::I64, word, seed);
        let factor = self.body.load_aligned(types::I64, word, seed + 8);
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
}
