//! A strand as a function: the trigger, the steps as nested loops, the head.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value as Ir, types};

use super::frame::{COMPUTED_HEAD, COMPUTED_NOTHING, NO_ROW};
use super::layout::{
    FRAME_OVER, FRAME_SHAPES, FRAME_TRIGGER, FRAME_WORDS, SHAPE, SHAPE_FORM, SHAPE_OFFSET, tag,
};
use super::writer::{ExitKind, Operand, Writer};
use crate::expr::{Expr, Reg};
use crate::flat;
use crate::plan::{Bind, HeadColumn, Lookup, Step};
use crate::table::{Access, Form};
use crate::types::TypeSet;
use crate::value::Type;

/// Bytes of an integer in the trigger.
const INTEGER_BYTES: i64 = 9;

impl Writer<'_, '_> {
    /// Writes the whole strand.
    pub(super) fn strand(&mut self) {
        let end = self.done;
        self.trigger();
        let steps = self.strand.steps.len();
        if self.strand.output.aggregates() {
            let group = self.strand.output.group_at as usize;
            for at in 0..group {
                self.set_exit(ExitKind::Group(at));
                self.binding(at);
            }
            self.begin_group(end);
            let gathered = self.body.create_block();
            self.done = gathered;
            self.steps(group, steps);
            self.body.switch_to_block(gathered);
            self.call(self.helpers.conclude, &[]);
            self.body.ins().jump(end, &[]);
        } else {
            self.steps(0, steps);
        }
        self.write_exits();
        self.body.switch_to_block(end);
        self.end(COMPUTED_NOTHING);
    }

    fn begin_group(&mut self, end: Block) {
        self.store_registers();
        if let Some(begun) = self.call(self.helpers.group, &[]) {
            self.leave_unless(begun, end);
        }
    }

    /// Binds the columns of the trigger, which lie one after the other.
    fn trigger(&mut self) {
        self.set_exit(ExitKind::All);
        let (frame, columns) = (self.frame(), &self.strand.trigger.columns);
        let mut from = self.body.load(types::I64, frame, FRAME_TRIGGER);
        let used = columns.iter().rposition(|bind| *bind != Bind::Ignore).map_or(0, |at| at + 1);
        for bind in &columns[..used] {
            from = match bind {
                Bind::Reg(reg) if self.is_integer(*reg) => self.read_integer(*reg, from),
                Bind::Reg(reg) => {
                    let after = self.pass(from, Some(reg.0 as usize));
                    self.bind(*reg, Operand::Slot(reg.0 as usize));
                    after
                }
                Bind::Ignore => self.pass(from, None),
                Bind::Equal(expr) => {
                    let slot = self.slots.another();
                    let after = self.pass(from, Some(slot));
                    let wanted = self.value(expr);
                    self.leave_unless_equal(wanted, Operand::Slot(slot), self.done);
                    after
                }
            };
        }
    }

    /// Whether a register is compiled as an integer: it has held nothing else so far.
    fn is_integer(&self, reg: Reg) -> bool {
        self.types.get(reg.0 as usize).is_some_and(|types| *types == TypeSet::INT)
    }

    fn bind(&mut self, reg: Reg, operand: Operand) {
        self.bound[reg.0 as usize] = Some(operand);
    }

    /// Reads a column of the trigger that is an integer; else exits to the interpreter.
    fn read_integer(&mut self, reg: Reg, from: Ir) -> Ir {
        let is_integer = self.is_tagged(from, flat::tag::INT);
        let exit = self.side_exit();
        self.leave_unless(is_integer, exit);
        let value = self.body.load(types::I64, from, 1);
        self.bind(reg, Operand::Int(value));
        self.body.ins().iadd_imm_u(from, INTEGER_BYTES)
    }

    /// Reads a column of the trigger into a slot, if one is given; what follows it.
    fn pass(&mut self, from: Ir, to: Option<usize>) -> Ir {
        let (other, end) = (self.body.cold_block(), self.body.create_block());
        let after = self.body.append_block_param(end, types::I64);
        if to.is_none() {
            let [number, text] = [(); 2].map(|()| self.body.create_block());
            let is_integer = self.is_tagged(from, flat::tag::INT);
            self.body.ins().brif(is_integer, number, &[], text, &[]);
            self.body.switch_to_block(number);
            let next = self.body.ins().iadd_imm_u(from, INTEGER_BYTES);
            self.body.ins().jump(end, &[next.into()]);
            self.body.switch_to_block(text);
        }
        let length = self.text_length(from, other);
        let bytes = self.body.ins().iadd_imm_u(from, 5);
        if let Some(slot) = to {
            self.store_text(slot, bytes, length);
        }
        let next = self.body.ins().iadd(bytes, length);
        self.body.ins().jump(end, &[next.into()]);
        self.body.switch_to_block(other);
        let slot = to.unwrap_or_else(|| self.slots.another());
        let to = self.address(slot);
        if let Some(next) = self.call(self.helpers.read, &[from, to]) {
            self.body.ins().jump(end, &[next.into()]);
        }
        self.body.switch_to_block(end);
        after
    }

    /// The length of a text in the trigger; jumps to `other` if it is none.
    fn text_length(&mut self, from: Ir, other: Block) -> Ir {
        let is_text = self.is_tagged(from, flat::tag::STR);
        self.leave_unless(is_text, other);
        let length = self.body.load(types::I32, from, 1);
        self.body.ins().uextend(types::I64, length)
    }

    /// Whether a column of the trigger is of a type.
    fn is_tagged(&mut self, from: Ir, tag: u8) -> Ir {
        let first = self.body.load(types::I8, from, 0);
        self.body.ins().icmp_imm_u(IntCC::Equal, first, i64::from(tag))
    }

    /// Writes the steps from one on, and what they lead to; ends the block.
    fn steps(&mut self, at: usize, all: usize) {
        if at == all {
            self.head();
            if self.computes {
                self.end(COMPUTED_HEAD);
            } else {
                self.body.ins().jump(self.done, &[]);
            }
            return;
        }
        self.set_exit(ExitKind::Rest(at));
        match &self.strand.steps[at] {
            Step::Join(lookup) => self.join(at, lookup, all),
            Step::Exists(lookup) | Step::Absent(lookup) if is_plain(lookup) => {
                let wanted = matches!(&self.strand.steps[at], Step::Exists(_));
                self.test(at, lookup, wanted);
                self.steps(at + 1, all);
            }
            _ => {
                self.binding(at);
                self.steps(at + 1, all);
            }
        }
    }

    /// A step that continues once or not at all.
    fn binding(&mut self, at: usize) {
        match &self.strand.steps[at] {
            Step::Let(reg, expr) if expr.is_repeatable() => {
                let value = self.value(expr);
                self.bind(*reg, value);
            }
            Step::Filter(condition) if condition.is_repeatable() => {
                let value = self.value(condition);
                let truth = self.truth(value);
                self.leave_unless(truth, self.done);
            }
            step => {
                self.store_registers();
                let number = self.number(at);
                if let Some(passes) = self.call(self.helpers.interpret_step, &[number]) {
                    self.leave_unless(passes, self.done);
                }
                for reg in bound_by(step) {
                    self.bind(reg, Operand::Slot(reg.0 as usize));
                }
            }
        }
    }

    /// Writes a look-up; returns its first row, or none, and the number of its walk, if there may
    /// be more than one row.
    fn look_up(&mut self, at: usize, lookup: &Lookup) -> (Ir, Option<usize>) {
        for (place, expr) in lookup.key.iter().enumerate() {
            let value = self.value(expr);
            self.store(value, self.slots.key + place);
        }
        if !lookup.bounds.is_empty() {
            // They are evaluated by the interpreter.
            self.store_registers();
        }
        let (step, key) = (self.number(at), self.address(self.slots.key));
        if lookup.access == Access::Primary {
            let row = self.call(self.helpers.only, &[step, key]).unwrap_or(step);
            return (row, None);
        }
        let walk = self.slots.walks;
        self.slots.walks += 1;
        let number = self.number(walk);
        let row = self.call(self.helpers.first, &[step, number, key]).unwrap_or(step);
        (row, Some(walk))
    }

    /// Goes on to the next row of a look-up.
    fn next_row(&mut self, at: usize, walk: Option<usize>, looking: Block, end: Block) {
        let Some(walk) = walk else {
            self.body.ins().jump(end, &[]);
            return;
        };
        let (step, number) = (self.number(at), self.number(walk));
        if let Some(row) = self.call(self.helpers.next, &[step, number]) {
            self.body.ins().jump(looking, &[row.into()]);
        }
    }

    fn join(&mut self, at: usize, lookup: &Lookup, all: usize) {
        let outer = self.done;
        let (first, walk) = self.look_up(at, lookup);
        let [looking, found, next] = [(); 3].map(|()| self.body.create_block());
        let row = self.body.append_block_param(looking, types::I32);
        self.body.ins().jump(looking, &[first.into()]);
        self.body.switch_to_block(looking);
        let none = self.body.ins().icmp_imm_u(IntCC::Equal, row, i64::from(NO_ROW));
        self.body.ins().brif(none, outer, &[], found, &[]);
        self.body.switch_to_block(found);
        self.done = next;
        self.set_exit(ExitKind::Row(at));
        self.bind_row(at, lookup);
        self.steps(at + 1, all);
        self.body.switch_to_block(next);
        self.next_row(at, walk, looking, outer);
        self.done = outer;
    }

    fn bind_row(&mut self, at: usize, lookup: &Lookup) {
        for (column, bind) in lookup.columns.iter().enumerate() {
            match bind {
                Bind::Ignore => {}
                Bind::Reg(reg) if self.is_integer(*reg) => {
                    let exit = self.side_exit();
                    let value = self.load_integer(column, exit);
                    self.bind(*reg, Operand::Int(value));
                }
                Bind::Reg(reg) => {
                    self.load_value(at, column, reg.0 as usize);
                    self.bind(*reg, Operand::Slot(reg.0 as usize));
                }
                Bind::Equal(expr) => {
                    let wanted = self.value(expr);
                    self.leave_unless_column(at, column, wanted);
                }
            }
        }
    }

    /// The integer in a column of the row; jumps to `other` if the column does not hold integers.
    fn load_integer(&mut self, column: usize, other: Block) -> Ir {
        let frame = self.frame();
        let shapes = self.body.load(types::I64, frame, FRAME_SHAPES);
        let words = self.body.load(types::I64, frame, FRAME_WORDS);
        let shape = column as i32 * SHAPE;
        let form = self.body.load(types::I32, shapes, shape + SHAPE_FORM);
        let offset = self.body.load(types::I32, shapes, shape + SHAPE_OFFSET);
        let offset = self.body.ins().uextend(types::I64, offset);
        let bytes = self.body.ins().ishl_imm_u(offset, 2);
        let place = self.body.ins().iadd(words, bytes);
        let [half, more, whole, end] = [(); 4].map(|()| self.body.create_block());
        let value = self.body.append_block_param(end, types::I64);
        let is = |writer: &mut Self, wanted: Form| {
            writer.body.ins().icmp_imm_u(IntCC::Equal, form, i64::from(wanted as u32))
        };
        let is_half = is(self, Form::Half);
        self.body.ins().brif(is_half, half, &[], more, &[]);
        self.body.switch_to_block(more);
        let is_whole = is(self, Form::Whole);
        self.body.ins().brif(is_whole, whole, &[], other, &[]);
        self.body.switch_to_block(half);
        let word = self.body.load(types::I32, place, 0);
        let word = self.body.ins().sextend(types::I64, word);
        self.body.ins().jump(end, &[word.into()]);
        self.body.switch_to_block(whole);
        let word = self.body.load(types::I64, place, 0);
        self.body.ins().jump(end, &[word.into()]);
        self.body.switch_to_block(end);
        value
    }

    /// Reads a column of the row into a slot.
    fn load_value(&mut self, at: usize, column: usize, slot: usize) {
        let (number, column, to) = (self.number(at), self.number(column), self.address(slot));
        self.call(self.helpers.load, &[number, column, to]);
    }

    /// Continues with the next row unless a column equals a value.
    fn leave_unless_column(&mut self, at: usize, column: usize, wanted: Operand) {
        let [other, same] = [(); 2].map(|()| self.body.create_block());
        if let Operand::Int(value) = wanted {
            let found = self.load_integer(column, other);
            let equal = self.body.ins().icmp(IntCC::Equal, found, value);
            self.body.ins().brif(equal, same, &[], self.done, &[]);
        } else {
            self.body.ins().jump(other, &[]);
        }
        self.body.switch_to_block(other);
        let slot = self.slots.another();
        self.load_value(at, column, slot);
        let (found, wanted) = (self.address(slot), self.address_of(wanted));
        let equal = self.call_plain(self.helpers.equal, &[found, wanted]);
        self.body.ins().brif(equal, same, &[], self.done, &[]);
        self.body.switch_to_block(same);
    }

    /// Tests whether there is a row, where nothing can fail; continues if the result is `wanted`.
    fn test(&mut self, at: usize, lookup: &Lookup, wanted: bool) {
        let outer = self.done;
        let (first, walk) = self.look_up(at, lookup);
        let [looking, found, next, yes, no] = [(); 5].map(|()| self.body.create_block());
        let row = self.body.append_block_param(looking, types::I32);
        self.body.ins().jump(looking, &[first.into()]);
        self.body.switch_to_block(looking);
        let none = self.body.ins().icmp_imm_u(IntCC::Equal, row, i64::from(NO_ROW));
        self.body.ins().brif(none, no, &[], found, &[]);
        self.body.switch_to_block(found);
        self.done = next;
        for (column, bind) in lookup.columns.iter().enumerate() {
            match bind {
                Bind::Ignore => {}
                // Only this look-up reads it.
                Bind::Reg(reg) => {
                    self.load_value(at, column, reg.0 as usize);
                    self.bind(*reg, Operand::Slot(reg.0 as usize));
                }
                Bind::Equal(expr) => {
                    let value = self.value(expr);
                    self.leave_unless_column(at, column, value);
                }
            }
        }
        self.body.ins().jump(yes, &[]);
        self.body.switch_to_block(next);
        self.next_row(at, walk, looking, no);
        self.done = outer;
        let (on, off) = if wanted { (yes, no) } else { (no, yes) };
        self.body.switch_to_block(off);
        self.body.ins().jump(outer, &[]);
        self.body.switch_to_block(on);
        if !wanted {
            // An empty result is void if the search was interrupted.
            let frame = self.frame();
            let over = self.body.load(types::I32, frame, FRAME_OVER);
            self.leave_if(over, outer);
        }
    }

    /// Derives the head, or takes the result into the aggregates.
    fn head(&mut self) {
        self.set_exit(ExitKind::Rest(self.strand.steps.len()));
        let gathers = self.strand.output.aggregates();
        let mut count = 0;
        for column in &self.strand.output.columns {
            let value = match column {
                HeadColumn::Value(_) if gathers => continue,
                HeadColumn::Value(expr) | HeadColumn::Aggregate { input: Some(expr), .. } => {
                    self.value(expr)
                }
                // `*` counts every result, whatever it holds.
                HeadColumn::Aggregate { input: None, .. } => {
                    Operand::Truth(self.body.ins().iconst(types::I8, 1))
                }
            };
            self.store(value, self.slots.head + count);
            count += 1;
        }
        if gathers {
            let count = self.number(count);
            self.call(self.helpers.gather, &[count]);
        } else if !self.computes {
            self.call(self.helpers.derive, &[]);
        }
    }

    fn store_text(&mut self, slot: usize, bytes: Ir, length: Ir) {
        let first = self.body.ins().iconst(types::I64, tag(Type::Str));
        self.store_words(slot, [first, bytes, length]);
    }
}

/// Whether nothing in a test of a look-up can fail but its key.
fn is_plain(lookup: &Lookup) -> bool {
    lookup.columns.iter().all(|bind| match bind {
        Bind::Equal(expr) => expr.is_given(),
        Bind::Ignore | Bind::Reg(_) => true,
    })
}

/// Whether a strand that [fits] only computes: its one trigger leads to one tuple or none, and
/// nothing in it is left to the interpreter but the whole.
pub(super) fn computes(strand: &crate::plan::Strand) -> bool {
    let column = |column: &HeadColumn| match column {
        HeadColumn::Value(expr) => !expr.has_lists(),
        HeadColumn::Aggregate { .. } => false,
    };
    let step = |step: &Step| match step {
        Step::Let(_, expr) | Step::Filter(expr) => expr.is_repeatable() && !expr.has_lists(),
        Step::Join(_) | Step::Exists(_) | Step::Absent(_) | Step::Match(..) => false,
    };
    let bind = |bind: &Bind| !matches!(bind, Bind::Equal(expr) if expr.has_lists());
    strand.trigger.columns.iter().all(bind)
        && strand.steps.iter().all(step)
        && strand.output.columns.iter().all(column)
}

/// The registers that a step binds which the interpreter does.
fn bound_by(step: &Step) -> Vec<Reg> {
    let mut regs = Vec::new();
    match step {
        Step::Let(reg, _) => regs.push(*reg),
        Step::Match(_, pattern) => pattern.for_each_bound(&mut |reg| regs.push(reg)),
        Step::Join(_) | Step::Exists(_) | Step::Absent(_) | Step::Filter(_) => {}
    }
    regs
}

/// Whether a strand can be compiled at all: expressions that may be evaluated twice must be
/// repeatable, and no register may be bound twice.
pub(super) fn fits(strand: &crate::plan::Strand) -> bool {
    let bind = |bind: &Bind| !matches!(bind, Bind::Equal(expr) if !expr.is_repeatable());
    let lookup = |lookup: &Lookup| {
        lookup.key.iter().all(Expr::is_repeatable) && lookup.columns.iter().all(bind)
    };
    let column = |column: &HeadColumn| match column {
        HeadColumn::Value(expr) => expr.is_repeatable(),
        HeadColumn::Aggregate { input, .. } => input.as_ref().is_none_or(Expr::is_repeatable),
    };
    let mut bound = vec![false; strand.regs as usize];
    let mut once = |reg: Reg| !std::mem::replace(&mut bound[reg.0 as usize], true);
    let mut is_single = |binds: &[Bind]| {
        binds.iter().all(|bind| match bind {
            Bind::Reg(reg) => once(*reg),
            Bind::Ignore | Bind::Equal(_) => true,
        })
    };
    let single = is_single(&strand.trigger.columns)
        && strand.steps.iter().all(|step| match super::slots::lookup_of(step) {
            Some(lookup) => is_single(&lookup.columns),
            None => bound_by(step).into_iter().all(|reg| is_single(&[Bind::Reg(reg)])),
        });
    single
        && strand.trigger.columns.iter().all(bind)
        && strand.steps.iter().filter_map(super::slots::lookup_of).all(lookup)
        && strand.output.columns.iter().all(column)
}
