//! Rules between the checker and the plan.
//!
//! A rule is translated from the tree once ([`crate::translate`]) and then rewritten: aggregates
//! and bodies with several locations become rules of their own over hidden relations, until each
//! rule is one strand or one view. Variables are numbered per rule and are registers in
//! expressions, so that expressions and patterns of a plan are used here too.

use tidemill_diag::Span;
use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Param, Reg};
use tidemill_relation::plan::{Action, HeadColumn, Pattern, Relation, RelationId, RuleId, Storage};
use tidemill_relation::table::{Key, TableSpec};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use crate::arrivals::Arrivals;

/// A rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// The rule of the program that it comes from.
    pub id: RuleId,
    /// Its label, from which hidden relations take their names.
    pub name: String,
    /// The head in the source.
    pub span: Span,
    /// By number.
    pub vars: Vec<Var>,
    /// The head.
    pub head: Head,
    /// The body, in textual order.
    pub body: Vec<Term>,
}

/// A variable.
#[derive(Clone, Debug)]
pub(crate) struct Var {
    /// As written; of hidden ones the place they come from.
    pub name: String,
    /// The types that it may hold.
    pub types: TypeSet,
}

/// A head.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// Its relation.
    pub relation: RelationId,
    /// One per column.
    pub columns: Vec<HeadColumn>,
    /// The column of the location, if it is another than the relation's.
    pub place: Option<u32>,
    /// The action on a derived tuple.
    pub action: Action,
}

/// One term of a body.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    /// A predicate.
    Atom(Atom),
    /// An assignment.
    Let(Reg, Expr),
    /// A condition.
    Filter(Expr),
    /// An aggregate over a table.
    Aggregate(AggregateTerm),
}

/// A predicate.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    /// Its relation.
    pub relation: RelationId,
    /// `notin`.
    pub negated: bool,
    /// One per column; a [`Pattern::Reg`] is a variable, bound or not.
    pub columns: Vec<Pattern>,
    /// The column of the location, if it is another than the relation's.
    pub place: Option<u32>,
    /// In the source.
    pub span: Span,
}

/// The place of a predicate that takes all rows of its node, regardless of their location column.
pub(crate) const ANYWHERE: u32 = u32::MAX;

/// `a_MIN((G), (R), p(...))`.
#[derive(Clone, Debug)]
pub(crate) struct AggregateTerm {
    /// The function.
    pub function: tidemill_relation::aggregate::Aggregate,
    /// Variables of the group.
    pub group: Vec<Reg>,
    /// The aggregated value; `None` for rows.
    pub input: Option<Reg>,
    /// The variable that receives the result.
    pub result: Reg,
    /// The table.
    pub of: Atom,
}

/// The location of a predicate or a head.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Location {
    /// At the node whose address the variable holds.
    Var(Reg),
    /// At the node of this address, which reads no variables.
    Fixed(Expr),
}

impl Location {
    /// The address as an expression.
    pub fn expr(&self) -> Expr {
        match self {
            Location::Var(reg) => Expr::Reg(*reg),
            Location::Fixed(expr) => expr.clone(),
        }
    }

    /// True for `@NODE`: wherever the rule runs.
    pub fn is_here(&self) -> bool {
        *self == Location::Fixed(Expr::Param(Param::Node))
    }
}

impl Rule {
    /// A further variable.
    pub fn fresh(&mut self, name: &str, types: TypeSet) -> Reg {
        let reg = Reg(u16::try_from(self.vars.len()).unwrap_or(u16::MAX));
        self.vars.push(Var { name: name.to_owned(), types });
        reg
    }

    /// The predicates of the body, negated ones included.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.body.iter().filter_map(|term| match term {
            Term::Atom(atom) => Some(atom),
            _ => None,
        })
    }

    /// True if an aggregate stands in the head.
    pub fn aggregates(&self) -> bool {
        self.head.columns.iter().any(|column| matches!(column, HeadColumn::Aggregate { .. }))
    }

    /// True if a function that takes the time or random numbers is called.
    pub fn is_impure(&self) -> bool {
        let body = self.body.iter().any(|term| match term {
            Term::Let(_, expr) | Term::Filter(expr) => is_impure(expr),
            Term::Atom(atom) => atom.columns.iter().any(pattern_is_impure),
            Term::Aggregate(term) => term.of.columns.iter().any(pattern_is_impure),
        });
        body || self.head.columns.iter().any(|column| match column {
            HeadColumn::Value(expr) => is_impure(expr),
            HeadColumn::Aggregate { input, .. } => input.as_ref().is_some_and(is_impure),
        })
    }

    /// The location of the head; `None` if it is an aggregate.
    pub fn head_location(&self, catalog: &Catalog) -> Option<Location> {
        match self.head.columns.get(self.head.location_column(catalog) as usize)? {
            HeadColumn::Value(expr) => Some(location_of(expr)),
            HeadColumn::Aggregate { .. } => None,
        }
    }

    /// Notes that the head may go to another node than `home`, where its body ends.
    pub fn note_arrival(&self, home: &Location, catalog: &mut Catalog) {
        if !self.head_location(catalog).is_some_and(|head| head == *home || head.is_here()) {
            let location = self.head.location_column(catalog);
            catalog.arrivals.allow(self.head.relation, self.head.action, location);
        }
    }
}

impl Atom {
    /// The column with the location of the predicate.
    pub fn location_column(&self, catalog: &Catalog) -> u32 {
        self.place.unwrap_or(catalog.relation(self.relation).location)
    }

    /// The location of the predicate.
    pub fn location(&self, catalog: &Catalog) -> Location {
        match self.columns.get(self.location_column(catalog) as usize) {
            Some(Pattern::Reg(reg)) => Location::Var(*reg),
            Some(Pattern::Equal(expr)) => location_of(expr),
            // `ANYWHERE`; the checker allows nothing else there.
            _ => Location::Fixed(Expr::Param(Param::Node)),
        }
    }

    /// Calls `f` for every variable in it.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg)) {
        self.columns.iter().for_each(|pattern| for_each_reg(pattern, f));
    }
}

impl Term {
    /// Calls `f` for every variable in it.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg)) {
        match self {
            Term::Atom(atom) => atom.for_each_reg(f),
            Term::Let(reg, expr) => {
                f(*reg);
                expr.for_each_reg(f);
            }
            Term::Filter(expr) => expr.for_each_reg(f),
            Term::Aggregate(term) => {
                term.group.iter().for_each(|reg| f(*reg));
                f(term.result);
                term.of.for_each_reg(f);
            }
        }
    }
}

impl Head {
    /// The column with the location of the head.
    pub fn location_column(&self, catalog: &Catalog) -> u32 {
        self.place.unwrap_or(catalog.relation(self.relation).location)
    }

    /// Calls `f` for every variable in it.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg)) {
        for column in &self.columns {
            match column {
                HeadColumn::Value(expr) => expr.for_each_reg(f),
                HeadColumn::Aggregate { input: Some(input), .. } => input.for_each_reg(f),
                HeadColumn::Aggregate { input: None, .. } => {}
            }
        }
    }
}

fn location_of(expr: &Expr) -> Location {
    match expr {
        Expr::Reg(reg) => Location::Var(*reg),
        expr => Location::Fixed(expr.clone()),
    }
}

/// Calls `f` for every variable of a pattern.
pub(crate) fn for_each_reg(pattern: &Pattern, f: &mut impl FnMut(Reg)) {
    match pattern {
        Pattern::Any => {}
        Pattern::Reg(reg) => f(*reg),
        Pattern::Equal(expr) => expr.for_each_reg(f),
        Pattern::List { elements, tail } => {
            elements.iter().for_each(|element| for_each_reg(element, f));
            tail.iter().for_each(|tail| for_each_reg(tail, f));
        }
    }
}

fn pattern_is_impure(pattern: &Pattern) -> bool {
    !pattern.is_pure()
}

/// True if a function that takes the time or random numbers is called.
pub(crate) fn is_impure(expr: &Expr) -> bool {
    !expr.is_pure()
}

/// Calls `f` on an expression and all below it, outer before inner; `f` may replace them.
pub(crate) fn map_expr(expr: &mut Expr, f: &mut impl FnMut(&mut Expr)) {
    f(expr);
    match expr {
        Expr::Const(_) | Expr::Reg(_) | Expr::Param(_) => {}
        Expr::Unary(_, operand) => map_expr(operand, f),
        Expr::Binary(_, operands) | Expr::And(operands) | Expr::Or(operands) => {
            operands.iter_mut().for_each(|operand| map_expr(operand, f));
        }
        Expr::In { operands, .. } | Expr::If(operands) => {
            operands.iter_mut().for_each(|operand| map_expr(operand, f));
        }
        Expr::Call(_, operands) | Expr::List(operands) => {
            operands.iter_mut().for_each(|operand| map_expr(operand, f));
        }
        Expr::Matrix(rows) => {
            rows.iter_mut().flatten().for_each(|operand| map_expr(operand, f));
        }
    }
}

/// The relations of a program, hidden ones included.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    relations: Vec<Relation>,
    names: SortedMap<String, RelationId>,
    /// Hidden relations that cross the network.
    pub shipped: Vec<RelationId>,
    /// The arrivals allowed from other nodes.
    pub arrivals: Arrivals,
    /// Tables that depend on themselves in the views being lowered.
    pub recursive: SortedSet<RelationId>,
    /// The number of numbered names made from each label.
    numbers: SortedMap<String, u32>,
    /// Lifetimes of soft tables whose rows expire with those that they are derived from.
    borrowed_ns: SortedMap<RelationId, u64>,
    /// Hidden tables of aggregates: up to date whatever their body is.
    exact: SortedSet<RelationId>,
    /// Tables that choose the best trail of each row.
    trails: SortedSet<RelationId>,
    /// Relations whose location is in different columns in different uses: those columns.
    moving: SortedMap<RelationId, Vec<u32>>,
}

impl Catalog {
    /// Adds a relation; names are unique.
    pub fn add(&mut self, relation: Relation) -> RelationId {
        let id = RelationId(self.relations.len() as u32);
        self.names.insert(relation.name.clone(), id);
        self.relations.push(relation);
        id
    }

    /// The relation of that name.
    pub fn find(&self, name: &str) -> Option<RelationId> {
        self.names.get(name).copied()
    }

    /// A relation.
    pub fn relation(&self, id: RelationId) -> &Relation {
        &self.relations[id.index()]
    }

    /// A relation, to change it.
    pub fn relation_mut(&mut self, id: RelationId) -> &mut Relation {
        &mut self.relations[id.index()]
    }

    /// All relations in order.
    pub fn iter(&self) -> impl Iterator<Item = (RelationId, &Relation)> {
        (0..).map(RelationId).zip(&self.relations)
    }

    /// The relations, for the plan.
    pub fn into_relations(self) -> Vec<Relation> {
        self.relations
    }

    /// True for tables whose rows do not expire.
    pub fn is_hard(&self, id: RelationId) -> bool {
        self.relation(id).table().is_some() && !self.relation(id).is_soft()
    }

    /// Notes that uses of a relation have their location in different columns: no column need
    /// hold the address of the node where a row lies.
    pub fn mark_moving(&mut self, id: RelationId, columns: Vec<u32>) {
        self.moving.insert(id, columns);
    }

    /// The columns that hold the location in some use.
    pub fn locations(&self, id: RelationId) -> Vec<u32> {
        self.moving.get(&id).cloned().unwrap_or_else(|| vec![self.relation(id).location])
    }

    /// True for relations whose uses have their location in different columns.
    pub fn is_moving(&self, id: RelationId) -> bool {
        self.moving.contains_key(&id)
    }

    /// The column that holds the same address in all rows of a node, if there is one.
    pub fn constant_column(&self, id: RelationId) -> Option<u32> {
        (!self.is_moving(id)).then(|| self.relation(id).location)
    }

    /// Notes that a hidden table holds exactly what its rule derives at any time.
    pub fn mark_exact(&mut self, id: RelationId) {
        self.exact.insert(id);
    }

    /// Notes that a table chooses the best trail of each row.
    pub fn mark_trail(&mut self, id: RelationId) {
        self.trails.insert(id);
    }

    /// True for tables that choose the best trail of each row.
    pub fn is_trail(&self, id: RelationId) -> bool {
        self.trails.contains(&id)
    }

    /// True for tables whose removals a view can follow: hard state, and aggregates.
    pub fn is_exact(&self, id: RelationId) -> bool {
        self.is_hard(id) || self.exact.contains(&id)
    }

    /// The softness of rows derived from these tables: that of the shortest-lived.
    pub fn softness(&self, of: impl Iterator<Item = RelationId>) -> Softness {
        let lifetime = |id: RelationId| {
            let spec = self.relation(id).table().and_then(|spec| spec.lifetime_ns);
            spec.or_else(|| self.borrowed_ns.get(&id).copied())
        };
        of.filter(|&id| !self.is_hard(id)).fold(Softness::Hard, |softness, id| {
            match (softness, lifetime(id)) {
                (Softness::Lifetime(a), Some(b)) => Softness::Lifetime(a.min(b)),
                (Softness::Lifetime(a), None) => Softness::Lifetime(a),
                (_, Some(b)) => Softness::Lifetime(b),
                (_, None) => Softness::Passing,
            }
        })
    }

    /// `LABEL::1`, `LABEL::2`: names that no program can write and the network can carry.
    pub fn numbered(&mut self, label: &str) -> String {
        let number = self.numbers.entry(label.to_owned()).or_insert(0);
        *number += 1;
        format!("{label}::{number}")
    }

    /// `LABEL!WORD`, with a number from the second on.
    pub fn marked(&self, label: &str, word: &str) -> String {
        let plain = format!("{label}!{word}");
        let taken = |name: &String| self.names.contains_key(name);
        if !taken(&plain) {
            return plain;
        }
        (2u32..).map(|i| format!("{plain}{i}")).find(|name| !taken(name)).unwrap_or(plain)
    }

    /// Adds a hidden event.
    pub fn hidden_event(
        &mut self,
        name: String,
        columns: Vec<TypeSet>,
        location: u32,
    ) -> RelationId {
        let storage = Storage::Event;
        self.add(Relation { name, columns, location, storage, hidden: true, candidates: None })
    }

    /// Adds a hidden table whose rows expire with those that they are derived from.
    pub fn hidden_view(
        &mut self,
        name: String,
        columns: Vec<TypeSet>,
        location: u32,
        key: Key,
        softness: Softness,
    ) -> RelationId {
        let own = match softness {
            Softness::Hard => Softness::Hard,
            Softness::Passing | Softness::Lifetime(_) => Softness::Passing,
        };
        let id = self.hidden_table(name, columns, location, key, own);
        if let Softness::Lifetime(lifetime_ns) = softness {
            self.borrowed_ns.insert(id, lifetime_ns);
        }
        id
    }

    /// Adds a hidden table with this key.
    pub fn hidden_table(
        &mut self,
        name: String,
        columns: Vec<TypeSet>,
        location: u32,
        key: Key,
        softness: Softness,
    ) -> RelationId {
        let spec = TableSpec {
            arity: columns.len() as u32,
            key,
            lifetime_ns: match softness {
                Softness::Lifetime(lifetime_ns) => Some(lifetime_ns),
                Softness::Hard | Softness::Passing => None,
            },
            size_max: None,
            indexes: Vec::new(),
            ordered: Vec::new(),
        };
        let soft = softness != Softness::Hard;
        let storage = Storage::Table { spec, soft };
        self.add(Relation { name, columns, location, storage, hidden: true, candidates: None })
    }
}

/// The treatment of refreshes and time by a hidden table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Softness {
    /// Rows stay, refreshes have no effect.
    Hard,
    /// Rows stay while their rule derives them; refreshes are passed on.
    Passing,
    /// Rows live this number of nanoseconds; refreshes are passed on.
    Lifetime(u64),
}

/// Every column, as a key.
pub(crate) fn whole_row(arity: usize) -> Key {
    Key::Columns((0..arity as u32).collect())
}
