//! Lowering: from rules over relations to strands of a plan.
//!
//! A [`Builder`] makes one strand. It binds the trigger's columns, then joins predicates one
//! after the other ([`order`] chooses), and inserts assignments, conditions and negations as soon
//! as their variables are bound ([`atoms`] says how a predicate becomes a lookup). A join that only
//! tests whether there is a row stops at the first ([`exists`]). Conditions that determine a
//! variable bind it ([`solve`]); others may bound the rows that a join looks at ([`ranges`]).
//! Registers are the rule's variables until the strand is finished; then they are numbered in the
//! order in which they are bound ([`renumber`]).

mod atoms;
mod exists;
mod order;
mod ranges;
mod renumber;
mod solve;
mod view;

use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::plan::{Bind, Output, RuleId, Step, Strand, Trigger};

use crate::ir::{Atom, Catalog, Location, Rule, Term, for_each_reg};

pub(crate) use exists::stop_early;
pub(crate) use view::{home, view};

/// An assignment or condition that waits for its variables.
#[derive(Clone, Debug)]
struct Pending {
    /// Position in the rule's body.
    position: usize,
    work: Work,
}

#[derive(Clone, Debug)]
enum Work {
    Let(Reg, Expr),
    Filter(Expr),
}

/// A predicate that is not joined yet.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// Position in the rule's body.
    position: usize,
    /// Position among the rule's predicates.
    number: u16,
    pub atom: Atom,
}

/// Whether the strand may add new indexes to tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Indexing {
    /// It may add indexes.
    Wanted,
    /// It runs rarely: only existing indexes.
    Existing,
}

/// Makes one strand; see the module.
pub(crate) struct Builder<'c> {
    catalog: &'c mut Catalog,
    rule: RuleId,
    indexing: Indexing,
    /// By variable: whether it has a value.
    bound: Vec<bool>,
    /// By variable: the number of its occurrences in the rule.
    uses: Vec<u32>,
    /// By variable: its types.
    types: Vec<TypeSet>,
    /// The location of the strand.
    here: Location,
    /// A row stored here has been found, so the address matches the rule.
    compared: bool,
    open: Vec<Open>,
    pending: Vec<Pending>,
    steps: Vec<Step>,
}

impl<'c> Builder<'c> {
    /// A strand of `rule` without any terms yet.
    pub fn new(
        rule: &Rule,
        here: Location,
        catalog: &'c mut Catalog,
        indexing: Indexing,
    ) -> Builder<'c> {
        let mut uses = vec![0; rule.vars.len()];
        let mut count = |reg: Reg| uses[reg.0 as usize] += 1;
        rule.body.iter().for_each(|term| term.for_each_reg(&mut count));
        rule.head.for_each_reg(&mut count);
        for atom in rule.atoms().filter(|atom| catalog.is_moving(atom.relation)) {
            // It is also compared with the node's address.
            if let Location::Var(reg) = atom.location(catalog) {
                count(reg);
            }
        }
        let mut open = Vec::new();
        let mut pending = Vec::new();
        for (position, term) in rule.body.iter().enumerate() {
            match term {
                Term::Atom(atom) => {
                    let number = open.len() as u16;
                    open.push(Open { position, number, atom: atom.clone() });
                }
                Term::Let(reg, expr) => {
                    pending.push(Pending { position, work: Work::Let(*reg, expr.clone()) });
                }
                Term::Filter(expr) => {
                    pending.push(Pending { position, work: Work::Filter(expr.clone()) });
                }
                // Rewritten to predicates before.
                Term::Aggregate(_) => {}
            }
        }
        Builder {
            catalog,
            rule: rule.id,
            indexing,
            bound: vec![false; rule.vars.len()],
            uses,
            types: rule.vars.iter().map(|var| var.types).collect(),
            here,
            compared: false,
            open,
            pending,
            steps: Vec::new(),
        }
    }

    /// The location of the strand.
    pub fn here(&self) -> &Location {
        &self.here
    }

    /// The relations.
    pub fn catalog(&mut self) -> &mut Catalog {
        self.catalog
    }

    /// Predicates that are not joined yet, in textual order.
    pub fn open(&self) -> &[Open] {
        &self.open
    }

    /// Whether a variable has a value.
    pub fn is_bound(&self, reg: Reg) -> bool {
        self.bound.get(reg.0 as usize).copied().unwrap_or(false)
    }

    /// Whether all variables of an expression have values.
    fn can_evaluate(&self, expr: &Expr) -> bool {
        let mut all = true;
        expr.for_each_reg(&mut |reg| all &= self.is_bound(reg));
        all
    }

    fn bind(&mut self, reg: Reg) {
        self.bound[reg.0 as usize] = true;
    }

    /// A register without a variable of the rule.
    fn temporary(&mut self, types: TypeSet) -> Reg {
        let reg = Reg(u16::try_from(self.bound.len()).unwrap_or(u16::MAX));
        self.bound.push(true);
        self.uses.push(2);
        self.types.push(types);
        reg
    }

    /// Whether negation leaves a variable open: it occurs in that one predicate alone.
    fn is_wildcard(&self, reg: Reg, atom: &Atom) -> bool {
        let mut inside = 0;
        atom.for_each_reg(&mut |one| inside += u32::from(one == reg));
        inside == self.uses[reg.0 as usize]
    }

    /// Whether a predicate can be joined or, if negated, looked up.
    pub fn is_ready(&self, atom: &Atom) -> bool {
        let mut ready = true;
        if atom.negated {
            atom.for_each_reg(&mut |reg| {
                ready &= self.is_bound(reg) || self.is_wildcard(reg, atom);
            });
        }
        ready
    }

    /// Starts with the row of a predicate; a positive one is then complete.
    pub fn trigger(&mut self, number: u16) -> Vec<Bind> {
        let Some(at) = self.open.iter().position(|open| open.number == number) else {
            return Vec::new();
        };
        let atom = self.open[at].atom.clone();
        if !atom.negated {
            self.open.remove(at);
        }
        let compared = self.location_is_compared();
        let (binds, after) = self.bind_columns(atom.relation, &atom.columns, |_, _| None);
        if atom.negated {
            let mut free = Vec::new();
            atom.for_each_reg(&mut |reg| {
                if self.is_wildcard(reg, &atom) {
                    free.push(reg);
                }
            });
            free.into_iter().for_each(|reg| self.bound[reg.0 as usize] = false);
        }
        self.steps.extend(after);
        if atom.location(self.catalog) == self.here {
            self.lies_at_home(&atom, compared);
        }
        binds
    }

    /// Variables that later terms or the head need, in order.
    pub fn needed(&self, rule: &Rule) -> Vec<Reg> {
        let mut wanted = vec![false; self.bound.len()];
        let mut want = |reg: Reg| wanted[reg.0 as usize] = true;
        for open in &self.open {
            open.atom.columns.iter().for_each(|pattern| for_each_reg(pattern, &mut want));
        }
        for pending in &self.pending {
            match &pending.work {
                Work::Let(reg, expr) => {
                    want(*reg);
                    expr.for_each_reg(&mut want);
                }
                Work::Filter(expr) => expr.for_each_reg(&mut want),
            }
        }
        rule.head.for_each_reg(&mut want);
        (0..wanted.len() as u16)
            .map(Reg)
            .filter(|&reg| wanted[reg.0 as usize] && self.is_bound(reg))
            .collect()
    }

    /// The rest of the rule after the steps so far, for a strand that continues at another
    /// location.
    pub fn continuation(&self) -> Continuation {
        Continuation {
            open: self.open.clone(),
            pending: self.pending.clone(),
            uses: self.uses.clone(),
            types: self.types.clone(),
        }
    }

    /// Continues the rest of another strand.
    pub fn resume(
        rule: &Rule,
        here: Location,
        catalog: &'c mut Catalog,
        rest: Continuation,
    ) -> Builder<'c> {
        Builder {
            catalog,
            rule: rule.id,
            indexing: Indexing::Wanted,
            bound: vec![false; rest.types.len()],
            uses: rest.uses,
            types: rest.types,
            here,
            compared: true,
            open: rest.open,
            pending: rest.pending,
            steps: Vec::new(),
        }
    }

    /// Binds a variable from the trigger of a continued strand.
    pub fn receive(&mut self, reg: Reg) -> Bind {
        if self.is_bound(reg) {
            Bind::Equal(Expr::Reg(reg))
        } else {
            self.bind(reg);
            Bind::Reg(reg)
        }
    }

    /// The strand.
    pub fn finish(self, trigger: Trigger, output: Output) -> Strand {
        let regs = u16::try_from(self.bound.len()).unwrap_or(u16::MAX);
        let strand = Strand { rule: self.rule, trigger, steps: self.steps, output, regs };
        renumber::renumber(strand)
    }
}

/// The rest of a rule, from one strand to the next.
#[derive(Clone, Debug)]
pub(crate) struct Continuation {
    open: Vec<Open>,
    pending: Vec<Pending>,
    uses: Vec<u32>,
    types: Vec<TypeSet>,
}
