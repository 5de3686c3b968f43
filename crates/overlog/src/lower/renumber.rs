//! Registers in the order in which they are bound, without gaps.

use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::plan::{Bind, Bound, HeadColumn, Lookup, Pattern, Step, Strand};

/// Renumbers the registers of a strand densely.
pub(super) fn renumber(mut strand: Strand) -> Strand {
    let mut numbers = Numbers { new: vec![None; strand.regs as usize], next: 0 };
    numbers.binds(&mut strand.trigger.columns);
    for step in &mut strand.steps {
        match step {
            Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => {
                numbers.lookup(lookup);
            }
            Step::Let(reg, expr) => {
                numbers.expr(expr);
                numbers.reg(reg);
            }
            Step::Match(reg, pattern) => {
                numbers.reg(reg);
                numbers.pattern(pattern);
            }
            Step::Filter(expr) => numbers.expr(expr),
        }
    }
    for column in &mut strand.output.columns {
        match column {
            HeadColumn::Value(expr) => numbers.expr(expr),
            HeadColumn::Aggregate { input, .. } => {
                input.iter_mut().for_each(|input| numbers.expr(input));
            }
        }
    }
    strand.regs = numbers.next;
    strand
}

struct Numbers {
    new: Vec<Option<u16>>,
    next: u16,
}

impl Numbers {
    fn reg(&mut self, reg: &mut Reg) {
        let Some(slot) = self.new.get_mut(reg.0 as usize) else { return };
        let number = *slot.get_or_insert_with(|| {
            let number = self.next;
            self.next += 1;
            number
        });
        *reg = Reg(number);
    }

    fn expr(&mut self, expr: &mut Expr) {
        map_regs(expr, &mut |reg| self.reg(reg));
    }

    fn binds(&mut self, binds: &mut [Bind]) {
        for bind in binds {
            match bind {
                Bind::Ignore => {}
                Bind::Reg(reg) => self.reg(reg),
                Bind::Equal(expr) => self.expr(expr),
            }
        }
    }

    fn lookup(&mut self, lookup: &mut Lookup) {
        lookup.key.iter_mut().for_each(|expr| self.expr(expr));
        let bounds = lookup.bounds.iter_mut().flat_map(Bound::operands_mut);
        bounds.for_each(|expr| self.expr(expr));
        self.binds(&mut lookup.columns);
    }

    fn pattern(&mut self, pattern: &mut Pattern) {
        match pattern {
            Pattern::Any => {}
            Pattern::Reg(reg) => self.reg(reg),
            Pattern::Equal(expr) => self.expr(expr),
            Pattern::List { elements, tail } => {
                elements.iter_mut().for_each(|element| self.pattern(element));
                tail.iter_mut().for_each(|tail| self.pattern(tail));
            }
        }
    }
}

/// Changes every register that an expression reads.
fn map_regs(expr: &mut Expr, f: &mut impl FnMut(&mut Reg)) {
    crate::ir::map_expr(expr, &mut |inner| {
        if let Expr::Reg(reg) = inner {
            f(reg);
        }
    });
}
