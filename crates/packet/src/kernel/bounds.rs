//! The greatest number that each value of a kernel can be.
//!
//! Blocks lead to later blocks only, so one pass in their order is enough: what a local word holds
//! where it is read has been set by an earlier step. State words and counters may hold anything.

use super::{Expr, Kernel, Operator, Step, Value, WordKind};
use crate::packet::BYTES_MAX;

/// Bounds of values.
pub(crate) struct Bounds {
    /// By number.
    values: Vec<u64>,
    /// Of constants: their number.
    constants: Vec<Option<u64>>,
    /// Of local words, so far.
    words: Vec<u64>,
}

impl Bounds {
    /// The bounds of all values of a verified kernel.
    pub fn of(kernel: &Kernel) -> Bounds {
        let count = kernel.values as usize;
        let words = kernel.words.iter().map(|word| match word.kind {
            WordKind::Local => 0,
            WordKind::State | WordKind::Counter => u64::MAX,
        });
        let mut bounds = Bounds {
            values: vec![u64::MAX; count],
            constants: vec![None; count],
            words: words.collect(),
        };
        for &step in kernel.blocks.iter().flat_map(|block| &block.steps) {
            match step {
                Step::Let(value, expr) => {
                    let at = value.raw() as usize;
                    bounds.values[at] = bounds.expr(kernel, expr);
                    if let Expr::Const(number) = expr {
                        bounds.constants[at] = Some(number);
                    }
                }
                Step::SetWord(word, value) => {
                    let bound = bounds.most(value);
                    let word = &mut bounds.words[word as usize];
                    *word = bound.max(*word);
                }
                _ => {}
            }
        }
        bounds
    }

    /// No number that a value can be is greater.
    pub fn most(&self, value: Value) -> u64 {
        self.values[value.raw() as usize]
    }

    /// The number of a value that is a constant.
    pub fn constant(&self, value: Value) -> Option<u64> {
        self.constants[value.raw() as usize]
    }

    fn expr(&self, kernel: &Kernel, expr: Expr) -> u64 {
        match expr {
            Expr::Const(number) => number,
            Expr::Length => BYTES_MAX as u64,
            Expr::Load(width, _) => u64::MAX >> (64 - width.bytes() * 8),
            Expr::Sum(_) => 0xFFFF,
            Expr::Linked(_) => 1,
            Expr::Word(word) => self.words[word as usize],
            Expr::Input | Expr::Find(..) | Expr::Insert(_) | Expr::Entry(_) => u32::MAX.into(),
            Expr::Get(table, _, at) => kernel.tables[table as usize].value_masks()[at as usize],
            Expr::Binary(operator, a, b) => self.binary(operator, a, b),
            Expr::WireLength | Expr::Now | Expr::Mark | Expr::EntryKey(..) => u64::MAX,
        }
    }

    fn binary(&self, operator: Operator, a: Value, b: Value) -> u64 {
        let known = self.constant(a);
        let (constant, a, b) = (self.constant(b), self.most(a), self.most(b));
        // The greatest number of as many bits.
        let filled = |number: u64| u64::MAX.checked_shr(number.leading_zeros()).unwrap_or(0);
        match operator {
            // One that exceeds 64 bits may be any number.
            Operator::Add | Operator::AddSat => a.saturating_add(b),
            Operator::Mul | Operator::MulSat => a.saturating_mul(b),
            Operator::And | Operator::Min => a.min(b),
            Operator::Or | Operator::Xor => filled(a | b),
            Operator::Shl => match constant {
                Some(by) if by < 64 && a << by >> by == a => a << by,
                Some(by) if by >= 64 => 0,
                _ => u64::MAX,
            },
            Operator::Shr | Operator::Div => constant.map_or(a, |by| operator.apply(a, by)),
            Operator::Rem => a.min(b.saturating_sub(1)),
            Operator::SubSat => a,
            Operator::Sub => known.filter(|known| b <= *known).unwrap_or(u64::MAX),
            Operator::Sum16 => 0xFFFF,
            Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le => 1,
        }
    }
}
