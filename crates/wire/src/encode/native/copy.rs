//! Copies of strings: short ones by two loads and stores that overlap, long ones by the library.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Type, Value, types};

use super::code::Writer;

impl Writer<'_, '_> {
    /// Copies `len` bytes (64 bits) from `from` to `to`, which do not overlap.
    pub(super) fn copy(&mut self, to: Value, from: Value, len: Value) {
        let done = self.body.create_block();
        let [short, long] = self.fork(IntCC::UnsignedLessThanOrEqual, len, 16);
        self.body.switch_to_block(short);
        self.copy_short(to, from, len, done);
        self.body.switch_to_block(long);
        let [two, many] = self.fork(IntCC::UnsignedLessThanOrEqual, len, 32);
        self.body.switch_to_block(two);
        self.ends(types::I8X16, to, from, len, done);
        self.body.switch_to_block(many);
        let config = self.body.config();
        self.body.call_memcpy(config, to, from, len);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    fn copy_short(&mut self, to: Value, from: Value, len: Value, done: Block) {
        let [eight, less] = self.fork(IntCC::UnsignedGreaterThanOrEqual, len, 8);
        self.body.switch_to_block(eight);
        self.ends(types::I64, to, from, len, done);
        self.body.switch_to_block(less);
        let [four, less] = self.fork(IntCC::UnsignedGreaterThanOrEqual, len, 4);
        self.body.switch_to_block(four);
        self.ends(types::I32, to, from, len, done);
        self.body.switch_to_block(less);
        let some = self.body.create_block();
        self.body.ins().brif(len, some, &[], done, &[]);
        self.body.switch_to_block(some);
        // One to three bytes: the first, the middle, the last.
        let middle = self.body.ins().ushr_imm_u(len, 1);
        let last = self.body.ins().iadd_imm_s(len, -1);
        let flags = super::code::flags();
        let first = self.body.ins().load(types::I8, flags, from, 0);
        for offset in [middle, last] {
            let at = self.body.ins().iadd(from, offset);
            let byte = self.body.ins().load(types::I8, flags, at, 0);
            let at = self.body.ins().iadd(to, offset);
            self.body.ins().store(flags, byte, at, 0);
        }
        self.body.ins().store(flags, first, to, 0);
        self.body.ins().jump(done, &[]);
    }

    /// The first and the last bytes, as many each as the type has.
    fn ends(&mut self, ty: Type, to: Value, from: Value, len: Value, done: Block) {
        let flags = super::code::flags();
        let bytes = ty.bytes() as i32;
        let from_end = self.body.ins().iadd(from, len);
        let to_end = self.body.ins().iadd(to, len);
        let first = self.body.ins().load(ty, flags, from, 0);
        let last = self.body.ins().load(ty, flags, from_end, -bytes);
        self.body.ins().store(flags, first, to, 0);
        self.body.ins().store(flags, last, to_end, -bytes);
        self.body.ins().jump(done, &[]);
    }

    /// Blocks for where the comparison with a constant holds, and where it does not.
    pub(super) fn fork(&mut self, condition: IntCC, value: Value, with: i64) -> [Block; 2] {
        let blocks = [self.body.create_block(), self.body.create_block()];
        let holds = self.body.ins().icmp_imm_u(condition, value, with);
        self.body.ins().brif(holds, blocks[0], &[], blocks[1], &[]);
        blocks
    }
}
