//! Copies of strings: short ones by loads and stores from both ends that overlap, long ones by the
//! library.

use tidemill_jit::asm::unaligned;
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
        // Up to `2 * pieces` pieces of sixteen bytes.
        for pieces in [1, 2, 4] {
            let [some, more] =
                self.fork(IntCC::UnsignedLessThanOrEqual, len, i64::from(32 * pieces));
            self.body.switch_to_block(some);
            self.ends(types::I8X16, pieces, to, from, len, done);
            self.body.switch_to_block(more);
        }
        let config = self.body.config();
        self.body.call_memcpy(config, to, from, len);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    fn copy_short(&mut self, to: Value, from: Value, len: Value, done: Block) {
        let [eight, less] = self.fork(IntCC::UnsignedGreaterThanOrEqual, len, 8);
        self.body.switch_to_block(eight);
        self.ends(types::I64, 1, to, from, len, done);
        self.body.switch_to_block(less);
        let [four, less] = self.fork(IntCC::UnsignedGreaterThanOrEqual, len, 4);
        self.body.switch_to_block(four);
        self.ends(types::I32, 1, to, from, len, done);
        self.body.switch_to_block(less);
        let some = self.body.create_block();
        self.body.ins().brif(len, some, &[], done, &[]);
        self.body.switch_to_block(some);
        // One to three bytes: the first, the middle, the last.
        let middle = self.body.ins().ushr_imm_u(len, 1);
        let last = self.body.ins().iadd_imm_s(len, -1);
        let flags = unaligned();
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

    /// The first and the last bytes, each in `pieces` pieces of the type.
    fn ends(&mut self, ty: Type, pieces: i32, to: Value, from: Value, len: Value, done: Block) {
        let flags = unaligned();
        let bytes = ty.bytes() as i32;
        let from_end = self.body.ins().iadd(from, len);
        let to_end = self.body.ins().iadd(to, len);
        for piece in 0..pieces {
            let (front, back) = (bytes * piece, -bytes * (piece + 1));
            let first = self.body.ins().load(ty, flags, from, front);
            let last = self.body.ins().load(ty, flags, from_end, back);
            self.body.ins().store(flags, first, to, front);
            self.body.ins().store(flags, last, to_end, back);
        }
        self.body.ins().jump(done, &[]);
    }

    /// Two blocks, for a comparison with a constant that holds and one that does not.
    pub(super) fn fork(&mut self, condition: IntCC, value: Value, with: i64) -> [Block; 2] {
        let blocks = [self.body.create_block(), self.body.create_block()];
        let holds = self.body.ins().icmp_imm_u(condition, value, with);
        self.body.ins().brif(holds, blocks[0], &[], blocks[1], &[]);
        blocks
    }
}
