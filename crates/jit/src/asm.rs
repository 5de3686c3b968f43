//! The small assembler: what generators write again and again, on top of the builder.
//!
//! Memory is accessed in two ways: [`aligned`] for layouts of programs, [`unaligned`] for bytes of
//! packets and messages. Both promise that the memory exists: the generator checks bounds.

use cranelift_codegen::ir::immediates::Offset32;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::Switch;

use crate::body::Body;

/// Flags of loads and stores of memory that exists and is aligned.
pub fn aligned() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// Flags of loads and stores of memory that exists, at any address.
pub fn unaligned() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Body<'_> {
    /// An address that is known now.
    pub fn address(&mut self, address: usize) -> Value {
        // As the compiler takes it: the bits, signed.
        self.ins().iconst(types::I64, (address as u64).cast_signed())
    }

    /// A word in memory, at an offset from an address that is known now.
    pub fn load_word(&mut self, base: usize, offset: usize) -> Value {
        let base = self.address(base);
        self.load_aligned(types::I64, base, offset as i32)
    }

    /// Writes such a word.
    pub fn store_word(&mut self, value: Value, base: usize, offset: usize) {
        let base = self.address(base);
        self.store_aligned(value, base, offset as i32);
    }

    /// Adds to such a word.
    pub fn add_to_word(&mut self, base: usize, offset: usize, by: Value) {
        let base = self.address(base);
        let old = self.load_aligned(types::I64, base, offset as i32);
        let new = self.ins().iadd(old, by);
        self.store_aligned(new, base, offset as i32);
    }

    /// A field of a layout, at an offset from its address.
    pub fn load_aligned(&mut self, ty: Type, from: Value, offset: impl Into<Offset32>) -> Value {
        self.ins().load(ty, aligned(), from, offset)
    }

    /// Writes such a field.
    pub fn store_aligned(&mut self, value: Value, to: Value, offset: impl Into<Offset32>) {
        self.ins().store(aligned(), value, to, offset);
    }

    /// What is at an offset from an address, which need not be aligned.
    pub fn load(&mut self, ty: Type, from: Value, offset: impl Into<Offset32>) -> Value {
        self.ins().load(ty, unaligned(), from, offset)
    }

    /// Writes there.
    pub fn store(&mut self, value: Value, to: Value, offset: impl Into<Offset32>) {
        self.ins().store(unaligned(), value, to, offset);
    }

    /// Jumps to the block of a number, and to `otherwise` where it has none.
    pub fn switch(
        &mut self,
        number: Value,
        cases: impl IntoIterator<Item = (u64, Block)>,
        otherwise: Block,
    ) {
        let mut switch = Switch::new();
        for (case, block) in cases {
            switch.set_entry(u128::from(case), block);
        }
        switch.emit(self, number, otherwise);
    }

    /// A new block that is hardly ever reached.
    pub fn cold_block(&mut self) -> Block {
        let block = self.create_block();
        self.set_cold_block(block);
        block
    }
}
