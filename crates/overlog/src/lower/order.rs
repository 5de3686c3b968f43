//! The order of a strand's steps.
//!
//! The next predicate is the one whose whole key is known, else the one with the most known
//! columns, else, if none is known, one with a [bounded](super::ranges) column, else one of a table
//! that does not grow meanwhile, else the first in the program.
//! Assignments, conditions and negations follow as soon as their variables have values, in textual
//! order; those that use the time or random numbers also wait for the predicates written before
//! them, so that each row gets its own. Then [equations](super::solve) are solved.

use tidemill_relation::expr::Expr;
use tidemill_relation::operator::Binary;
use tidemill_relation::plan::{HeadColumn, Step};
use tidemill_stdx::sorted::SortedSet;

use super::atoms::Selectivity;
use super::{Builder, Open, Pending, Work};
use crate::ir::{Atom, Location, is_impure};

impl Builder<'_> {
    /// Joins all predicates at this location, and adds all terms that are ready.
    pub fn run(&mut self) {
        self.flush();
        while let Some(at) = self.next_join() {
            let step = self.steps.len();
            self.join(at);
            self.flush();
            self.bound_join(step);
        }
    }

    /// True once all of the body is done.
    pub fn is_done(&self) -> bool {
        self.open.is_empty() && self.pending.is_empty()
    }

    /// Number of joins so far.
    pub fn joins(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Join(_))).count()
    }

    fn lies_here(&self, location: &Location) -> bool {
        *location == self.here || location.is_here()
    }

    /// Whether a predicate is located where the strand runs.
    pub fn is_local(&self, atom: &Atom) -> bool {
        self.lies_here(&atom.location(self.catalog))
    }

    fn next_join(&self) -> Option<usize> {
        let mut best: Option<(usize, Selectivity)> = None;
        for (at, open) in self.open.iter().enumerate() {
            if open.atom.negated || !self.lies_here(&open.atom.location(self.catalog)) {
                continue;
            }
            let selectivity = self.selectivity(open);
            if best.is_none_or(|(_, found)| selectivity > found) {
                best = Some((at, selectivity));
            }
        }
        best.map(|(at, _)| at)
    }

    /// Adds all terms that are ready.
    pub(super) fn flush(&mut self) {
        loop {
            if let Some(at) = self.pending.iter().position(|pending| self.can_do(pending)) {
                let pending = self.pending.remove(at);
                self.work(pending.work);
                continue;
            }
            if self.solve() {
                continue;
            }
            let absent = self.open.iter().position(|open| {
                open.atom.negated
                    && self.lies_here(&open.atom.location(self.catalog))
                    && self.is_ready(&open.atom)
            });
            match absent {
                Some(at) => self.absent(at),
                None => return,
            }
        }
    }

    fn can_do(&self, pending: &Pending) -> bool {
        let (Work::Let(_, expr) | Work::Filter(expr)) = &pending.work;
        let earlier = |open: &Open| !open.atom.negated && open.position < pending.position;
        self.can_evaluate(expr) && !(is_impure(expr) && self.open.iter().any(earlier))
    }

    fn work(&mut self, work: Work) {
        let step = match work {
            Work::Filter(condition) => Step::Filter(condition),
            // The trigger has bound the variable: the two values must agree.
            Work::Let(reg, value) if self.is_bound(reg) => {
                let operands = Box::new([Expr::Reg(reg), value]);
                Step::Filter(Expr::Binary(Binary::Equal, operands))
            }
            Work::Let(reg, value) => {
                self.bind(reg);
                Step::Let(reg, value)
            }
        };
        self.steps.push(step);
    }

    /// Computes what the group columns of an event's aggregate need, and nothing else; returns
    /// the number of steps after which they can be evaluated.
    pub fn group(&mut self, columns: &[HeadColumn]) -> u16 {
        let mut wanted = SortedSet::new();
        for column in columns {
            if let HeadColumn::Value(expr) = column {
                expr.for_each_reg(&mut |reg| {
                    wanted.insert(reg);
                });
            }
        }
        loop {
            let before = wanted.len();
            for pending in &self.pending {
                if let Work::Let(reg, value) = &pending.work
                    && wanted.contains(reg)
                {
                    value.for_each_reg(&mut |part| {
                        wanted.insert(part);
                    });
                }
            }
            if wanted.len() == before {
                break;
            }
        }
        let ready = |builder: &Self| {
            builder.pending.iter().position(|pending| match &pending.work {
                Work::Let(reg, value) => wanted.contains(reg) && builder.can_evaluate(value),
                Work::Filter(_) => false,
            })
        };
        while let Some(at) = ready(self) {
            let pending = self.pending.remove(at);
            self.work(pending.work);
        }
        self.steps.len() as u16
    }
}
