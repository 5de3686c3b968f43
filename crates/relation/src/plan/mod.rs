//! Plans: the executable form of a rule program.
//!
//! A plan names relations and rules and holds two kinds of code:
//!
//! * *strands*: a rule as one of its triggers starts it: bind the trigger's columns to registers,
//!   then a pipeline of steps (index probes, negations, assignments, conditions), then the head;
//! * *view rules*, grouped in strata: rules whose body and head are tables, kept up to date at
//!   every commit ([`crate::view`]). Each has one strand per body atom (to propagate that atom's
//!   changes), one over everything, and one that starts from a head row (is it still derivable?
//!   what is the aggregate of this group?).
//!
//! Planners rewrite until only this is left: every body lies at one location, periodic and
//! aggregated body terms are relations of their own, and an aggregate view fills a hidden table
//! keyed by its group columns. A plan prints as text ([`print()`]), is
//! read from it ([`parse()`]) and is checked by [`verify()`].

mod bound;
mod columns;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt;

use crate::aggregate::Aggregate;
use crate::expr::{Expr, Reg};
use crate::function::FunctionId;
use crate::table::{Access, TableSpec};
use crate::types::TypeSet;

pub(crate) use bound::side;
pub use bound::{Bound, conjuncts};
pub use parse::parse;
pub use print::print;
pub use verify::verify;

macro_rules! plan_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);
        impl $name {
            /// The position in the plan.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

plan_id!(
    /// A relation of a plan.
    RelationId
);
plan_id!(
    /// A rule of a plan.
    RuleId
);

/// A program as it runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// All relations, by [`RelationId`].
    pub relations: Vec<Relation>,
    /// All rules, by [`RuleId`], in program order.
    pub rules: Vec<Rule>,
    /// Strands started by events, periodics and changes, in program order.
    pub strands: Vec<Strand>,
    /// View rules in the order of evaluation.
    pub strata: Vec<Stratum>,
}

impl Plan {
    /// A relation.
    pub fn relation(&self, id: RelationId) -> &Relation {
        &self.relations[id.index()]
    }

    /// The relation of this name.
    pub fn find(&self, name: &str) -> Option<RelationId> {
        let position = self.relations.iter().position(|relation| relation.name == name)?;
        Some(RelationId(position as u32))
    }

    /// The first rule that calls a function.
    pub fn rule_calling(&self, function: FunctionId) -> Option<RuleId> {
        let views = self.strata.iter().flat_map(|stratum| &stratum.rules).map(|rule| &rule.scan);
        let mut all = self.strands.iter().chain(views);
        let calling = all.find(|strand| !strand.calls_only(&|called| called != function));
        calling.map(|strand| strand.rule)
    }
}

/// A relation: a name with columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Relation {
    /// Qualified name, `a::b`; hidden ones contain a character no program can write.
    pub name: String,
    /// The types that each column may hold; none for an [open](Relation::is_open) relation.
    pub columns: Vec<TypeSet>,
    /// The column that holds the location (from 0).
    pub location: u32,
    /// Event or table.
    pub storage: Storage,
    /// Made by the planner: not in the schema, not in `watch`.
    pub hidden: bool,
    /// Where derivations of this table stand, if view rules fill it and its key is not the whole
    /// row: a hidden table with the rule's number as first column before the table's columns.
    pub candidates: Option<RelationId>,
}

impl Relation {
    /// Number of columns; 0 for relations that are [open](Relation::is_open).
    pub fn arity(&self) -> usize {
        self.columns.len()
    }

    /// True for events whose number of columns is not declared: their tuples are only observed, and
    /// may have any number, the location first.
    pub fn is_open(&self) -> bool {
        self.columns.is_empty()
    }

    /// Whether a tuple of `columns` columns can be one of the relation.
    pub fn takes(&self, columns: usize) -> bool {
        if self.is_open() { columns > 0 } else { columns == self.arity() }
    }

    /// The declaration of the table, if it is one.
    pub fn table(&self) -> Option<&TableSpec> {
        match &self.storage {
            Storage::Event => None,
            Storage::Table { spec, .. } => Some(spec),
        }
    }

    /// True for tables whose refreshes fire rules.
    pub fn is_soft(&self) -> bool {
        matches!(self.storage, Storage::Table { soft: true, .. })
    }
}

/// Whether tuples of a relation stay.
#[derive(Clone, PartialEq, Debug)]
pub enum Storage {
    /// They live for one turn.
    Event,
    /// They are stored.
    Table {
        /// Key, lifetime, size, indexes.
        spec: TableSpec,
        /// Soft state: a refresh fires rules as an insertion does. True for finite lifetimes and
        /// for hidden tables that pass refreshes on.
        soft: bool,
    },
}

/// A rule, for reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The label, or one made from its position.
    pub name: String,
    /// `file:line:column` of its head.
    pub place: String,
}

/// A rule as one of its triggers starts it.
#[derive(Clone, PartialEq, Debug)]
pub struct Strand {
    /// The rule.
    pub rule: RuleId,
    /// Its trigger.
    pub trigger: Trigger,
    /// The steps for each trigger, in order; each may continue no, one or many times.
    pub steps: Vec<Step>,
    /// The derivation at the end.
    pub output: Output,
    /// Number of registers.
    pub regs: u16,
}

impl Strand {
    /// False if a function in it takes the time or random numbers.
    pub fn is_pure(&self) -> bool {
        self.calls_only(&FunctionId::is_pure)
    }

    /// Whether all functions that are called in it are of one kind.
    fn calls_only(&self, is_one: &impl Fn(FunctionId) -> bool) -> bool {
        let bind = |bind: &Bind| match bind {
            Bind::Equal(expr) => expr.calls_only(is_one),
            Bind::Ignore | Bind::Reg(_) => true,
        };
        let step = |step: &Step| match step {
            Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => {
                let mut bounds = lookup.bounds.iter().flat_map(Bound::operands);
                lookup.key.iter().all(|expr| expr.calls_only(is_one))
                    && bounds.all(|expr| expr.calls_only(is_one))
                    && lookup.columns.iter().all(bind)
            }
            Step::Let(_, expr) | Step::Filter(expr) => expr.calls_only(is_one),
            Step::Match(_, pattern) => pattern.calls_only(is_one),
        };
        let column = |column: &HeadColumn| match column {
            HeadColumn::Value(expr) => expr.calls_only(is_one),
            HeadColumn::Aggregate { input, .. } => {
                input.as_ref().is_none_or(|input| input.calls_only(is_one))
            }
        };
        self.trigger.columns.iter().all(bind)
            && self.steps.iter().all(step)
            && self.output.columns.iter().all(column)
    }
}

impl Strand {
    /// Whether it may derive values that it does not read.
    fn computes(&self) -> bool {
        let step = |step: &Step| matches!(step, Step::Let(_, expr) if !expr.is_given());
        let column = |column: &HeadColumn| match column {
            HeadColumn::Value(expr) => !expr.is_given(),
            HeadColumn::Aggregate { input, .. } => {
                input.as_ref().is_some_and(|input| !input.is_given())
            }
        };
        self.steps.iter().any(step) || self.output.columns.iter().any(column)
    }
}

/// The trigger of a strand, and the columns that it binds.
#[derive(Clone, PartialEq, Debug)]
pub struct Trigger {
    /// The relation of the row that starts it; for [`On::Scan`] the head.
    pub relation: RelationId,
    /// When.
    pub on: On,
    /// One per column; empty for [`On::Scan`].
    pub columns: Vec<Bind>,
}

/// When a strand starts.
#[derive(Clone, PartialEq, Debug)]
pub enum On {
    /// A tuple of an event relation joins the turn.
    Event,
    /// A row of a table was inserted (in soft state: or refreshed) by an earlier commit.
    Change,
    /// A timer of the node fires; columns: location, random integer, period, and the count if
    /// the rule gives one. Both expressions read no registers.
    Periodic {
        /// Seconds between firings.
        period: Expr,
        /// The number of firings; 0 or `None`: for ever.
        count: Option<Expr>,
    },
    /// The view engine gives it a changed row of a body atom.
    Delta,
    /// The view engine gives it a row of the head.
    Head,
    /// The view engine runs it once over everything.
    Scan,
}

/// The action for one column of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Bind {
    /// Nothing: not used, or the access has compared it already.
    Ignore,
    /// Its value goes into a register.
    Reg(Reg),
    /// It must equal this.
    Equal(Expr),
}

/// One step of a strand.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Continues once for each row found.
    Join(Lookup),
    /// Continues once if a row is found: its columns are not used later.
    Exists(Lookup),
    /// Continues if no row is found.
    Absent(Lookup),
    /// Puts a value into a register.
    Let(Reg, Expr),
    /// Continues if the value in the register has the form of the pattern.
    Match(Reg, Pattern),
    /// Continues if the condition is true.
    Filter(Expr),
}

/// Finding rows of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Lookup {
    /// The table.
    pub relation: RelationId,
    /// The position among the atoms of the rule's body, from 0.
    pub atom: u16,
    /// The look-up of rows.
    pub access: Access,
    /// The values of the columns of `access`, in their order.
    pub key: Vec<Expr>,
    /// The bounds of the last column of an ordered index; none of other accesses.
    pub bounds: Vec<Bound>,
    /// What happens to each column of a row found. In [`Step::Exists`] and [`Step::Absent`],
    /// registers bound here are read only by later `Equal`s of the same lookup.
    pub columns: Vec<Bind>,
}

impl Lookup {
    /// The computed expressions that columns are compared with, the same for all rows.
    pub fn compared_alike(&self) -> impl Iterator<Item = &Expr> {
        self.columns.iter().filter_map(|bind| match bind {
            Bind::Equal(expr) if !expr.is_given() && !self.binds_any_of(expr) => Some(expr),
            _ => None,
        })
    }

    fn binds_any_of(&self, expr: &Expr) -> bool {
        let mut any = false;
        expr.for_each_reg(&mut |reg| any |= self.columns.contains(&Bind::Reg(reg)));
        any
    }
}

/// The form of a list.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// Anything.
    Any,
    /// Anything; its value goes into a register.
    Reg(Reg),
    /// This value.
    Equal(Expr),
    /// A list of at least `items.len()` elements, exactly that number without a tail.
    List {
        /// The first elements.
        elements: Vec<Pattern>,
        /// The rest of the list.
        tail: Option<Box<Pattern>>,
    },
}

impl Pattern {
    /// Calls `f` for every register that it binds.
    pub fn for_each_bound(&self, f: &mut impl FnMut(Reg)) {
        match self {
            Pattern::Any | Pattern::Equal(_) => {}
            Pattern::Reg(reg) => f(*reg),
            Pattern::List { elements, tail } => {
                elements.iter().chain(tail.as_deref()).for_each(|part| part.for_each_bound(f));
            }
        }
    }

    /// False if a function in it takes the time or random numbers.
    pub fn is_pure(&self) -> bool {
        self.calls_only(&FunctionId::is_pure)
    }

    fn calls_only(&self, is_one: &impl Fn(FunctionId) -> bool) -> bool {
        match self {
            Pattern::Any | Pattern::Reg(_) => true,
            Pattern::Equal(expr) => expr.calls_only(is_one),
            Pattern::List { elements, tail } => {
                elements.iter().chain(tail.as_deref()).all(|part| part.calls_only(is_one))
            }
        }
    }
}

/// The derivation of a strand.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// The head.
    pub relation: RelationId,
    /// One per column.
    pub columns: Vec<HeadColumn>,
    /// The action for the tuple.
    pub action: Action,
    /// The column with the destination of the tuple, if it is another than the relation's location.
    pub location: Option<u32>,
    /// Strands with aggregates: number of leading steps (`Let` and `Match` only) after which the
    /// other columns can be evaluated. They are evaluated there, once, and there is exactly one
    /// result, even if nothing is found. 0 otherwise.
    pub group_at: u16,
}

impl Output {
    /// True if a column is an aggregate.
    pub fn aggregates(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, HeadColumn::Aggregate { .. }))
    }
}

/// One column of a head.
#[derive(Clone, PartialEq, Debug)]
pub enum HeadColumn {
    /// A value.
    Value(Expr),
    /// The aggregate of a value over all results of the strand.
    Aggregate {
        /// The aggregate function.
        function: Aggregate,
        /// The aggregated value; `None` for `*`.
        input: Option<Expr>,
    },
}

/// The action for a derived tuple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// An event, here or at its location.
    Emit,
    /// A row put in, here or at its location.
    Insert,
    /// The row with its primary key removed, here or at its location.
    Delete,
}

/// View rules whose heads depend on each other, or a single head.
#[derive(Clone, PartialEq, Debug)]
pub struct Stratum {
    /// The heads (candidate tables included), ascending.
    pub heads: Vec<RelationId>,
    /// The rules, in program order.
    pub rules: Vec<ViewRule>,
    /// Tables whose rows are selected from candidates in this stratum.
    pub selected: Vec<RelationId>,
}

impl Stratum {
    /// Whether its rules can go on for ever: one that reads a table of the stratum computes a
    /// value, so there may always be another row. Without that, rows are put together from the
    /// values that are there, which ends.
    pub fn computes(&self) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|rule| {
            let mut own = self.heads.iter().chain(&self.selected);
            own.any(|table| rule.reads(*table)) && rule.scan.computes()
        })
    }
}

/// The treatment of removed rows by a view rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewKind {
    /// Head and body are hard state: what is no longer derivable goes.
    Maintained,
    /// Soft state takes part: rows are put in and never taken back.
    Plain,
    /// The head is a hidden table keyed by the group columns: one row per group that has any
    /// result, up to date whatever the state of the body.
    Grouped,
}

/// A rule from tables to a table.
#[derive(Clone, PartialEq, Debug)]
pub struct ViewRule {
    /// The rule.
    pub rule: RuleId,
    /// The treatment of removed rows.
    pub kind: ViewKind,
    /// The head.
    pub head: RelationId,
    /// The body: each atom and whether it is negated.
    pub body: Vec<Atom>,
    /// Derives everything; for [`ViewKind::Grouped`] without the aggregation, one output per
    /// binding: the group columns and the inputs.
    pub scan: Strand,
    /// For each body atom, what a row of it contributes; for [`ViewKind::Grouped`] like `scan`.
    pub deltas: Vec<Strand>,
    /// From a head row: for [`ViewKind::Grouped`] its group aggregated, otherwise the derivations
    /// of that very row. `None` for [`ViewKind::Plain`].
    pub check: Option<Strand>,
}

impl ViewRule {
    /// Whether a table is in the body.
    pub fn reads(&self, relation: RelationId) -> bool {
        self.body.iter().any(|atom| atom.relation == relation)
    }
}

/// One atom of a view rule's body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atom {
    /// The table.
    pub relation: RelationId,
    /// `notin`.
    pub negated: bool,
}

impl fmt::Display for RelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}
