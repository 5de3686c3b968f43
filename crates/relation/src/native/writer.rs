//! The tools for writing all parts of a strand: operands, slots, calls, side exits.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value as Ir, types};
use tidemill_jit::{Body, FuncId};

use super::frame::COMPUTED_NO_RESULT;
use super::helpers::Helpers;
use super::layout::{FRAME_SLOTS, PAYLOAD, TRUTH, VALUE, tag};
use super::slots::Slots;
use crate::expr::Reg;
use crate::plan::Strand;
use crate::types::TypeSet;
use crate::value::Type;

/// A value held by the code.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    /// An integer.
    Int(Ir),
    /// A truth value, 0 or 1 in 8 bits.
    Truth(Ir),
    /// Any value in a slot.
    Slot(usize),
}

/// Writes one strand.
pub(super) struct Writer<'w, 'm> {
    pub(super) body: &'w mut Body<'m>,
    pub(super) strand: &'w Strand,
    pub(super) helpers: Helpers,
    pub(super) slots: &'w mut Slots,
    /// The types that each register has held.
    pub(super) types: &'w [TypeSet],
    /// The strand only computes: its code returns what it has computed, and leaves everything to
    /// the interpreter if it cannot.
    pub(super) computes: bool,
    frame: Ir,
    /// The address of the first slot.
    base: Ir,
    /// The operand of each register at the point that is written now.
    pub(super) bound: Vec<Option<Operand>>,
    /// The block where the run continues after the current row.
    pub(super) done: Block,
    /// What the interpreter does at an exit of the part that is written now, and the exit block, if
    /// there is one.
    exit: (ExitKind, Option<Block>),
    /// Blocks that leave something to the interpreter, to be written at the end.
    exits: Vec<SideExit>,
}

/// A block that leaves to the interpreter what the code cannot do.
#[derive(Debug)]
struct SideExit {
    block: Block,
    kind: ExitKind,
    /// The block where the run continues then.
    done: Block,
    /// The operands of the registers.
    bound: Vec<Option<Operand>>,
}

/// The action of the interpreter at a side exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExitKind {
    /// The whole strand for the trigger.
    All,
    /// All from a step on.
    Rest(usize),
    /// All for the row of a join.
    Row(usize),
    /// One step before the group of an aggregate, which it is known to fail.
    Group(usize),
}

impl<'w, 'm> Writer<'w, 'm> {
    pub(super) fn new(
        body: &'w mut Body<'m>,
        strand: &'w Strand,
        helpers: Helpers,
        slots: &'w mut Slots,
        types: &'w [TypeSet],
        computes: bool,
    ) -> Writer<'w, 'm> {
        let frame = body.begin()[0];
        let base = body.load(types::I64, frame, FRAME_SLOTS);
        let done = body.create_block();
        Writer {
            bound: vec![None; strand.regs as usize],
            exit: (ExitKind::All, None),
            exits: Vec::new(),
            body,
            strand,
            helpers,
            slots,
            types,
            computes,
            frame,
            base,
            done,
        }
    }

    pub(super) fn frame(&self) -> Ir {
        self.frame
    }

    /// The address of a slot.
    pub(super) fn address(&mut self, slot: usize) -> Ir {
        match offset(slot) {
            0 => self.base,
            offset => self.body.ins().iadd_imm_s(self.base, i64::from(offset)),
        }
    }

    /// Calls a function of the frame, which comes first.
    pub(super) fn call(&mut self, id: FuncId, arguments: &[Ir]) -> Option<Ir> {
        let mut all = vec![self.frame];
        all.extend_from_slice(arguments);
        self.body.call(id, &all).first().copied()
    }

    /// Calls a function that works on values alone.
    pub(super) fn call_plain(&mut self, id: FuncId, arguments: &[Ir]) -> Ir {
        self.body.call(id, arguments)[0]
    }

    pub(super) fn number(&mut self, number: usize) -> Ir {
        self.body.ins().iconst(types::I32, number as i64)
    }

    /// Jumps to a block if a condition holds, and continues if not.
    pub(super) fn leave_if(&mut self, condition: Ir, to: Block) {
        let on = self.body.create_block();
        self.body.ins().brif(condition, to, &[], on, &[]);
        self.body.switch_to_block(on);
    }

    /// Jumps to a block unless a condition holds.
    pub(super) fn leave_unless(&mut self, condition: Ir, to: Block) {
        let on = self.body.create_block();
        self.body.ins().brif(condition, on, &[], to, &[]);
        self.body.switch_to_block(on);
    }

    /// Puts a value into a slot.
    pub(super) fn store(&mut self, operand: Operand, slot: usize) {
        let (base, to) = (self.base, offset(slot));
        match operand {
            Operand::Int(value) => {
                // The whole first word, so that it can be read as one.
                let first = self.body.ins().iconst(types::I64, tag(Type::Int));
                self.body.store(first, base, to);
                self.body.store(value, base, to + PAYLOAD);
            }
            Operand::Truth(value) => {
                let wide = self.body.ins().uextend(types::I64, value);
                let shifted = self.body.ins().ishl_imm_u(wide, i64::from(8 * TRUTH));
                let first = self.body.ins().bor_imm_u(shifted, tag(Type::Bool));
                self.body.store(first, base, to);
            }
            Operand::Slot(from) if from == slot => {}
            Operand::Slot(from) => {
                for word in 0..VALUE / 8 {
                    let value = self.body.load(types::I64, base, offset(from) + 8 * word);
                    self.body.store(value, base, to + 8 * word);
                }
            }
        }
    }

    /// Puts words into a slot, from its first on.
    pub(super) fn store_words(&mut self, slot: usize, words: [Ir; 3]) {
        for (at, word) in (0..).zip(words) {
            self.body.store(word, self.base, offset(slot) + 8 * at);
        }
    }

    /// The slot of a value: where it is, or a temporary that it is put into.
    pub(super) fn slot_of(&mut self, operand: Operand) -> usize {
        match operand {
            Operand::Slot(slot) => slot,
            _ => {
                let slot = self.slots.another();
                self.store(operand, slot);
                slot
            }
        }
    }

    /// The address of a value.
    pub(super) fn address_of(&mut self, operand: Operand) -> Ir {
        let slot = self.slot_of(operand);
        self.address(slot)
    }

    pub(super) fn register(&self, reg: Reg) -> Option<Operand> {
        self.bound[reg.0 as usize]
    }

    /// Stores the registers in the slots from which the interpreter reads them.
    pub(super) fn store_registers(&mut self) {
        for reg in 0..self.bound.len() {
            if let Some(operand) = self.bound[reg] {
                self.store(operand, reg);
            }
        }
    }

    /// Sets how the interpreter takes over from here on.
    pub(super) fn set_exit(&mut self, kind: ExitKind) {
        self.exit = (kind, None);
    }

    /// The block of the side exit. A part has one, with the registers that were bound before the
    /// part.
    pub(super) fn side_exit(&mut self) -> Block {
        let (kind, block) = self.exit;
        block.unwrap_or_else(|| {
            let block = self.body.cold_block();
            self.exit = (kind, Some(block));
            let bound = self.bound.clone();
            self.exits.push(SideExit { block, kind, done: self.done, bound });
            block
        })
    }

    /// Writes the blocks that leave something to the interpreter.
    pub(super) fn write_exits(&mut self) {
        for SideExit { block, kind, done, bound } in std::mem::take(&mut self.exits) {
            self.body.switch_to_block(block);
            if self.computes {
                self.end(COMPUTED_NO_RESULT);
                continue;
            }
            self.bound = bound;
            self.store_registers();
            let helpers = self.helpers;
            let (what, step) = match kind {
                ExitKind::All => (helpers.interpret_all, None),
                ExitKind::Rest(step) => (helpers.interpret_rest, Some(step)),
                ExitKind::Row(step) => (helpers.interpret_row, Some(step)),
                ExitKind::Group(step) => (helpers.interpret_step, Some(step)),
            };
            let step = step.map(|step| self.number(step));
            self.call(what, step.as_slice());
            self.body.ins().jump(done, &[]);
        }
    }

    /// Returns; the code of a strand that only computes returns this.
    pub(super) fn end(&mut self, computed: u32) {
        let result = self.computes.then(|| self.number(computed as usize));
        self.body.ins().return_(result.as_slice());
    }

    /// Leaves it to the interpreter unless a function has succeeded.
    pub(super) fn exit_if_zero(&mut self, result: Option<Ir>) {
        let Some(result) = result else { return };
        let exit = self.side_exit();
        self.leave_unless(result, exit);
    }

    /// The integer in a slot; else exits to the interpreter.
    pub(super) fn integer_in(&mut self, slot: usize) -> Ir {
        let found = self.body.load(types::I8, self.base, offset(slot));
        let is_integer = self.body.ins().icmp_imm_u(IntCC::Equal, found, tag(Type::Int));
        let exit = self.side_exit();
        self.leave_unless(is_integer, exit);
        self.body.load(types::I64, self.base, offset(slot) + PAYLOAD)
    }

    /// The truth value in a slot that holds one.
    pub(super) fn truth_in(&mut self, slot: usize) -> Ir {
        self.body.load(types::I8, self.base, offset(slot) + TRUTH)
    }
}

fn offset(slot: usize) -> i32 {
    slot as i32 * VALUE
}
