//! Lowering of predicates to triggers, lookups and negations.

use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Param, Reg};
use tidemill_relation::operator::Binary;
use tidemill_relation::plan::{Bind, Lookup, Pattern, RelationId, Step, Storage};
use tidemill_relation::table::{Access, Key};

use super::{Builder, Indexing, Open, Pending, Work};
use crate::ir::Atom;

/// How well a predicate can be looked up; the greater, the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Selectivity {
    /// By its whole key.
    by_key: bool,
    /// The number of columns by which it can be.
    columns: usize,
    /// None, but conditions bound one of its columns.
    bounded: bool,
    /// It is none of the tables that grow while views are evaluated, which have the most rows to
    /// index.
    steady: bool,
}

impl Builder<'_> {
    /// Binds columns of a relation: variables without a value get one, others are compared. Columns
    /// for which `given` returns a binding get that. The steps follow the binding.
    pub(super) fn bind_columns(
        &mut self,
        relation: RelationId,
        columns: &[Pattern],
        given: impl Fn(usize, &Self) -> Option<Bind>,
    ) -> (Vec<Bind>, Vec<Step>) {
        let mut binds = Vec::with_capacity(columns.len());
        let mut lists = Vec::new();
        for (column, pattern) in columns.iter().enumerate() {
            let bind = match given(column, self) {
                Some(bind) => bind,
                None => {
                    let types = self.catalog.relation(relation).columns.get(column).copied();
                    self.bind_column(pattern, types.unwrap_or(TypeSet::ANY), &mut lists)
                }
            };
            binds.push(bind);
        }
        // Lists are taken apart once all columns are bound.
        let after = lists
            .into_iter()
            .map(|(list, pattern)| Step::Match(list, self.inner_pattern(pattern)))
            .collect();
        (binds, after)
    }

    fn bind_column<'p>(
        &mut self,
        pattern: &'p Pattern,
        types: TypeSet,
        lists: &mut Vec<(Reg, &'p Pattern)>,
    ) -> Bind {
        if let Some(value) = self.value_of(pattern) {
            return Bind::Equal(value);
        }
        match pattern {
            Pattern::Any => Bind::Ignore,
            Pattern::Reg(reg) if self.uses[reg.0 as usize] < 2 => Bind::Ignore,
            Pattern::Reg(reg) => {
                self.bind(*reg);
                Bind::Reg(*reg)
            }
            Pattern::Equal(value) => Bind::Reg(self.compare_later(value.clone(), types)),
            Pattern::List { .. } => {
                let list = self.temporary(TypeSet::ANY);
                lists.push((list, pattern));
                Bind::Reg(list)
            }
        }
    }

    /// A register of a column, or of an element of a list, that must equal a value which cannot be
    /// computed yet. Its types decide whether the equation can be [solved](Builder::solve).
    fn compare_later(&mut self, value: Expr, types: TypeSet) -> Reg {
        let reg = self.temporary(types);
        let operands = Box::new([Expr::Reg(reg), value]);
        let work = Work::Filter(Expr::Binary(Binary::Equal, operands));
        self.pending.insert(0, Pending { position: 0, work });
        reg
    }

    /// A pattern inside a list.
    fn inner_pattern(&mut self, pattern: &Pattern) -> Pattern {
        match pattern {
            Pattern::Any => Pattern::Any,
            Pattern::Reg(reg) if self.is_bound(*reg) => Pattern::Equal(Expr::Reg(*reg)),
            Pattern::Reg(reg) if self.uses[reg.0 as usize] < 2 => Pattern::Any,
            Pattern::Reg(reg) => {
                self.bind(*reg);
                Pattern::Reg(*reg)
            }
            Pattern::Equal(value) if self.can_evaluate(value) => Pattern::Equal(value.clone()),
            Pattern::Equal(value) => Pattern::Reg(self.compare_later(value.clone(), TypeSet::ANY)),
            Pattern::List { elements, tail } => Pattern::List {
                elements: elements.iter().map(|element| self.inner_pattern(element)).collect(),
                tail: tail.as_ref().map(|tail| Box::new(self.inner_pattern(tail))),
            },
        }
    }

    /// The value that a column must have, if it can be computed already.
    pub(super) fn value_of(&self, pattern: &Pattern) -> Option<Expr> {
        match pattern {
            Pattern::Any => None,
            Pattern::Reg(reg) => self.is_bound(*reg).then_some(Expr::Reg(*reg)),
            Pattern::Equal(value) => self.can_evaluate(value).then(|| value.clone()),
            Pattern::List { elements, tail: None } => {
                let values = elements.iter().map(|element| self.value_of(element));
                values.collect::<Option<_>>().map(Expr::List)
            }
            Pattern::List { tail: Some(_), .. } => None,
        }
    }

    /// The values of the columns that have one.
    fn known_columns(&self, open: &Open) -> Vec<Option<Expr>> {
        open.atom.columns.iter().map(|pattern| self.value_of(pattern)).collect()
    }

    /// How well a predicate can be looked up.
    pub(super) fn selectivity(&self, open: &Open) -> Selectivity {
        let known = self.known_columns(open);
        let relation = self.catalog.relation(open.atom.relation);
        let by_key = match relation.table().map(|spec| &spec.key) {
            Some(Key::Columns(key)) => {
                key.iter().all(|&column| known.get(column as usize).is_some_and(Option::is_some))
            }
            _ => false,
        };
        let bound = known.iter().enumerate();
        let constant = self.catalog.constant_column(open.atom.relation).map(|at| at as usize);
        let bound = bound.filter(|(column, value)| Some(*column) != constant && value.is_some());
        let columns = bound.count();
        Selectivity {
            by_key,
            columns,
            bounded: columns == 0 && self.is_bounded(&open.atom),
            steady: !self.catalog.recursive.contains(&open.atom.relation),
        }
    }

    /// The access path: the columns by which rows are found.
    fn access(&mut self, relation: RelationId, known: &[Option<Expr>]) -> (Access, Vec<u32>) {
        let constant = self.catalog.constant_column(relation);
        let Storage::Table { spec, .. } = &mut self.catalog.relation_mut(relation).storage else {
            return (Access::Scan, Vec::new());
        };
        let has = |column: u32| known.get(column as usize).is_some_and(Option::is_some);
        if let Key::Columns(key) = &spec.key
            && key.iter().all(|&column| has(column))
        {
            return (Access::Primary, key.clone());
        }
        let wanted: Vec<u32> =
            (0..spec.arity).filter(|&column| Some(column) != constant && has(column)).collect();
        if wanted.is_empty() {
            return (Access::Scan, Vec::new());
        }
        if let Some(number) = spec.indexes.iter().position(|index| *index == wanted) {
            return (Access::Index(number as u32), wanted);
        }
        match self.indexing {
            Indexing::Existing => (Access::Scan, Vec::new()),
            Indexing::Wanted => {
                spec.indexes.push(wanted.clone());
                (Access::Index(spec.indexes.len() as u32 - 1), wanted)
            }
        }
    }

    /// Finds rows of a predicate: the lookup, and what must follow it.
    fn lookup(&mut self, open: &Open) -> (Lookup, Vec<Step>) {
        let relation = open.atom.relation;
        let known = self.known_columns(open);
        let (access, by) = self.access(relation, &known);
        let key = by.iter().filter_map(|&column| known[column as usize].clone()).collect();
        let constant = self.catalog.constant_column(relation).map(|at| at as usize);
        let local = open.atom.location(self.catalog);
        // Rows are stored at the node of their location column: at home it has been compared
        // already.
        let at_home = local == self.here || local.is_here();
        let here_known = self.can_evaluate(&local.expr()) && at_home;
        let (columns, after) =
            self.bind_columns(relation, &open.atom.columns, |column, builder| {
                let compared = by.contains(&(column as u32));
                let home = Some(column) == constant && here_known && builder.location_is_compared();
                (compared || home).then_some(Bind::Ignore)
            });
        let atom = open.number;
        (Lookup { relation, atom, access, key, bounds: Vec::new(), columns }, after)
    }

    /// Whether this strand has compared the address already: variables are bound from rows stored
    /// here, fixed addresses only once a row was found.
    pub(super) fn location_is_compared(&self) -> bool {
        match &self.here {
            crate::ir::Location::Var(reg) => self.is_bound(*reg),
            crate::ir::Location::Fixed(_) => self.compared,
        }
    }

    /// Joins a predicate.
    pub(super) fn join(&mut self, at: usize) {
        let open = self.open.remove(at);
        let compared = self.location_is_compared();
        let (lookup, after) = self.lookup(&open);
        self.steps.push(Step::Join(lookup));
        self.steps.extend(after);
        self.lies_at_home(&open.atom, compared);
    }

    /// A row of this predicate has been found. If its relation is moving, the row may be stored
    /// here although the location column of this use names another node; such rows must be left
    /// out.
    pub(super) fn lies_at_home(&mut self, atom: &Atom, compared: bool) {
        let location = atom.location(self.catalog);
        if !compared && !location.is_here() && self.catalog.is_moving(atom.relation) {
            let operands = Box::new([location.expr(), Expr::Param(Param::Node)]);
            self.steps.push(Step::Filter(Expr::Binary(Binary::Equal, operands)));
        }
        self.compared = true;
    }

    /// Lowers a negated predicate, which must have no row.
    pub(super) fn absent(&mut self, at: usize) {
        let open = self.open.remove(at);
        let before = self.bound.clone();
        let (lookup, after) = self.lookup(&open);
        debug_assert!(after.is_empty(), "the checker admits no pattern under notin");
        self.bound[..before.len()].copy_from_slice(&before);
        self.steps.push(Step::Absent(lookup));
    }
}
