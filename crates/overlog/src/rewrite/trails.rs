//! Trails of rows that several nodes derive from each other.
//!
//! The view engine detects cycles within a node, but not cycles through several nodes. So each row
//! on such a cycle of tables ([`circles`]) has a *trail*: the shipped rows that it came through. A
//! node ships no row that came through itself, as in path-vector routing, and rows that depend on
//! themselves alone are removed:
//!
//! ```text
//! r1 reach(@X, Z) :- link(@X, Y).
//! r2 reach(@X, Z) :- part(@X, Y), reach(@Y, Z).      (shipped from Y: out, into)
//!
//! r1!trails(@X, Z, [0, 0, []]) :- link(@X, Z).                 every trail of a row
//! r!trail(@X, Z, a_MIN<T>) :- r!trails(@X, Z, T), reach(@X, Z).    the best one
//! out!trails(@X, Z, T', Y) :- part.., r!trail(@Y, Z, T), T' := T and this row, which is not in T
//! out(@X, Z, a_MIN<T'>, Y) :- out!trails(@X, Z, T', Y).        shipped, with the trail
//! reach(@X, Z), r!trails(@X, Z, T') :- into(@X, Z, T', Y).
//! ```
//! A trail is `[height, size, rows]`: how many shipments it took, and the shipped rows in order,
//! each as the hash of its table and columns. Trails sort by height, then size: nothing that is
//! derived from a row has a lesser trail than the row, and what was shipped has a greater. So
//!
//! * *no cycle stays*: at rest each trail holds all of those below it, and in a cycle some shipped
//!   row would be on its own trail;
//! * *nothing else is removed*: of the rows that follow from the base by `n` shipments the best
//!   trails hold rows of fewer only, by induction on `n`;
//! * *it ends*: trails do not repeat rows, and lesser ones displace greater ones; soon, as rows are
//!   shipped in rounds once one was removed (`node/shipping.rs`).
//!
//! The table itself is what its rules say, without trails: cycles within the node are left to the
//! view engine, and the table is complete before its trails are computed. So a row that only
//! changes its trail stays; were it derived from the trail, a better one would retract all that
//! follows from the row, and in a cycle the row itself, round by round.
//!
//! A MIN or MAX may take a new value from rows derived from its old one, round by round without end
//! (distances to a node that is cut off). So the row of a group is on the trail of rows derived
//! from it too, without its value, and a group takes no row derived from itself. All tables on a
//! cycle with such a group are derived from trails.
//!
//! Asserted rows have the empty trail. They are found among the candidates of the table, which thus
//! has some.

use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::function::FunctionId;
use tidemill_relation::operator::{Binary, Unary};
use tidemill_relation::plan::{Action, HeadColumn, Pattern, RelationId, Storage, ViewKind};
use tidemill_relation::table::Key;
use tidemill_relation::{TypeSet, Value};
use tidemill_stdx::hash::Map;
use tidemill_stdx::sorted::SortedSet;

use super::candidates;
use super::circles::{Circles, circles};
use super::parts::{Parts, View};
use crate::ir::{ANYWHERE, Atom, Catalog, Head, Rule, Softness, Term, whole_row};

/// Adds trails to the views that need them.
pub(crate) fn trails(parts: &mut Parts, catalog: &mut Catalog) {
    let circles = circles(parts);
    if circles.is_empty() {
        return;
    }
    let grouped = parts.views.iter().filter(|view| view.kind == ViewKind::Grouped);
    let choosing = grouped.filter_map(|view| circles.get(&view.rule.head.relation)).copied();
    let mut trails = Trails {
        choosing: choosing.collect(),
        circles,
        tables: Map::default(),
        done: SortedSet::new(),
        catalog,
        views: Vec::new(),
    };
    for export in &mut parts.exports {
        if trails.circles.contains_key(&export.into) {
            trails.widen(export.into);
        }
        if trails.circles.contains_key(&export.out) {
            trails.widen(export.out);
            export.trail = trails.tables.get(&export.out).map(|trailed| trailed.at as u32);
        }
    }
    let members: Vec<RelationId> = trails.circles.keys().copied().collect();
    let shipped: SortedSet<RelationId> = parts.exports.iter().map(|export| export.out).collect();
    for &table in &members {
        trails.add_tables(table, shipped.contains(&table));
    }
    for view in std::mem::take(&mut parts.views) {
        if trails.circles.contains_key(&view.rule.head.relation) && view.kind != ViewKind::Plain {
            trails.rewrite(view, &shipped)
        } else {
            trails.views.push(view)
        }
    }
    parts.views = trails.views;
}

/// The tables with the trails of a table's rows.
#[derive(Clone, Copy)]
struct Trailed {
    /// All of them; a table that receives rows has only the best.
    every: Option<RelationId>,
    /// The best of each row.
    best: RelationId,
    /// The column of the trail in both; the others are those of the table.
    at: usize,
}

struct Trails<'c> {
    circles: Circles,
    /// Cycles with a group that must not take rows derived from itself.
    choosing: SortedSet<RelationId>,
    tables: Map<RelationId, Trailed>,
    /// Tables whose best trails have their view.
    done: SortedSet<RelationId>,
    catalog: &'c mut Catalog,
    views: Vec<View>,
}

/// The trail of a body: the registers of heights and row lists of its predicates.
type Origins = Vec<(Reg, Reg)>;

impl Trails<'_> {
    /// Adds a column for the trail to a table that is shipped, before that for the sender.
    fn widen(&mut self, table: RelationId) {
        if self.tables.contains_key(&table) {
            return;
        }
        let relation = self.catalog.relation_mut(table);
        let at = relation.columns.len() - 1;
        relation.columns.insert(at, TypeSet::LIST);
        if relation.location as usize >= at {
            relation.location += 1;
        }
        if let Storage::Table { spec, .. } = &mut relation.storage {
            spec.arity += 1;
            spec.key = Key::Columns((0..spec.arity).filter(|&c| c as usize != at).collect());
        }
        self.tables.insert(table, Trailed { every: None, best: table, at });
    }

    /// Adds the hidden tables of trails.
    fn add_tables(&mut self, table: RelationId, shipped: bool) {
        let relation = self.catalog.relation(table).clone();
        if let Some(trailed) = self.tables.get(&table).copied() {
            if shipped {
                let every =
                    self.hidden(&relation.name, "trails", &relation.columns, relation.location);
                self.tables.insert(table, Trailed { every: Some(every), ..trailed });
                self.catalog.mark_trail(table);
            }
            return;
        }
        let at = relation.columns.len();
        let columns = [&relation.columns[..], &[TypeSet::LIST]].concat();
        let every = self.hidden(&relation.name, "trails", &columns, relation.location);
        let name = self.catalog.marked(&relation.name, "trail");
        let (location, key) = (relation.location, whole_row(at));
        let best = self.catalog.hidden_table(name, columns, location, key, Softness::Hard);
        self.catalog.mark_trail(best);
        if self.catalog.is_moving(table) {
            let locations = self.catalog.locations(table);
            self.catalog.mark_moving(every, locations.clone());
            self.catalog.mark_moving(best, locations);
        }
        self.tables.insert(table, Trailed { every: Some(every), best, at });
    }

    fn hidden(&mut self, of: &str, word: &str, columns: &[TypeSet], location: u32) -> RelationId {
        let (name, key) = (self.catalog.marked(of, word), whole_row(columns.len()));
        self.catalog.hidden_table(name, columns.to_vec(), location, key, Softness::Hard)
    }

    fn rewrite(&mut self, view: View, shipped: &SortedSet<RelationId>) {
        let View { mut rule, kind } = view;
        let table = rule.head.relation;
        let Some(Trailed { every: Some(every), at, .. }) = self.tables.get(&table).copied() else {
            self.views.push(View { rule, kind });
            return;
        };
        let plain = self.without_trails(&rule);
        let origins = self.follow(&mut rule);
        let mut trailed = rule.clone();
        match kind {
            ViewKind::Grouped => {
                let (_, rows) = joined(&origins);
                let id = self.id(&rule);
                rule.body.push(absent(&rows, &id));
                trailed.body.push(absent(&rows, &id));
                let chosen = self.itself(&mut trailed);
                trailed.body.push(Term::Atom(chosen));
                step(&mut trailed, &origins, Some(id), 0);
                self.views.push(View { rule: rule.clone(), kind });
            }
            _ if shipped.contains(&table) => {
                let (_, rows) = joined(&origins);
                let id = self.id(&rule);
                trailed.body.push(absent(&rows, &id));
                step(&mut trailed, &origins, Some(id), 1);
            }
            _ => {
                step(&mut trailed, &origins, None, 0);
                let circle = self.circles.get(&table);
                let chooses = circle.is_some_and(|circle| self.choosing.contains(circle));
                let own = if chooses { rule.clone() } else { plain };
                self.views.push(View { rule: own, kind });
            }
        }
        // The trail is the last column.
        if let Some(trail) = trailed.head.columns.pop() {
            trailed.head.columns.insert(at, trail);
        }
        trailed.head.relation = every;
        self.views.push(View { rule: trailed, kind: ViewKind::Maintained });
        if self.done.insert(table) {
            self.choose(&rule, table, shipped.contains(&table));
        }
    }

    /// The rule without trails, except in tables that are shipped.
    fn without_trails(&self, rule: &Rule) -> Rule {
        let mut rule = rule.clone();
        for term in &mut rule.body {
            if let Term::Atom(atom) = term
                && let Some(&Trailed { best, at, .. }) = self.tables.get(&atom.relation)
                && best == atom.relation
            {
                atom.columns.insert(at, Pattern::Any);
            }
        }
        rule
    }

    /// Binds the trails of the predicates of a body that are on the cycle of its head.
    fn follow(&mut self, rule: &mut Rule) -> Origins {
        let circle = self.circles.get(&rule.head.relation).copied();
        let mut origins = Vec::new();
        for index in 0..rule.body.len() {
            let Term::Atom(atom) = &rule.body[index] else { continue };
            if atom.negated || self.circles.get(&atom.relation).copied() != circle {
                continue;
            }
            let Some(&Trailed { best, at, .. }) = self.tables.get(&atom.relation) else { continue };
            let height = rule.fresh("height", TypeSet::INT);
            let rows = rule.fresh("rows", TypeSet::LIST);
            origins.push((height, rows));
            if let Term::Atom(atom) = &mut rule.body[index] {
                atom.relation = best;
                let elements = vec![Pattern::Reg(height), Pattern::Any, Pattern::Reg(rows)];
                atom.columns.insert(at, Pattern::List { elements, tail: None });
            }
        }
        origins
    }

    /// The id of a row of the head in trails; of a group without its value.
    fn id(&self, rule: &Rule) -> Expr {
        let name = &self.catalog.relation(rule.head.relation).name;
        let mut parts = vec![Expr::constant(Value::Str(name))];
        parts.extend(rule.head.columns.iter().filter_map(|column| match column {
            HeadColumn::Value(expr) => Some(expr.clone()),
            HeadColumn::Aggregate { .. } => None,
        }));
        call("sha1", vec![Expr::List(parts)])
    }

    /// The row of the head as a predicate: only the chosen row of a group has a trail.
    fn itself(&self, rule: &mut Rule) -> Atom {
        let pattern = |column: &mut HeadColumn| {
            let expr = match column {
                HeadColumn::Value(expr) => expr.clone(),
                HeadColumn::Aggregate { input, .. } => {
                    let input = input.clone().unwrap_or_else(|| Expr::constant(Value::Null));
                    *column = HeadColumn::Value(input.clone());
                    input
                }
            };
            equal_to(expr)
        };
        let columns = rule.head.columns.iter_mut().map(pattern).collect();
        let Head { relation, place, .. } = rule.head;
        Atom { relation, negated: false, columns, place, span: rule.span }
    }

    /// The view of the best trails of a table, and the trails of its asserted rows.
    fn choose(&mut self, rule: &Rule, table: RelationId, shipped: bool) {
        let Some(&Trailed { every: Some(every), best, at }) = self.tables.get(&table) else {
            return;
        };
        let types = self.catalog.relation(every).columns.clone();
        let mut view = Rule { vars: Vec::new(), body: Vec::new(), ..rule.clone() };
        let regs: Vec<Reg> = types.iter().map(|types| view.fresh("_", *types)).collect();
        let all: Vec<Pattern> = regs.iter().map(|reg| Pattern::Reg(*reg)).collect();
        // All rows of this node, regardless of their location column.
        let place = self.catalog.is_moving(table).then_some(ANYWHERE);
        let atom = |relation: RelationId, columns: &[Pattern]| {
            let columns = columns.to_vec();
            Term::Atom(Atom { relation, negated: false, columns, place, span: rule.span })
        };
        let asserted = (!shipped && !self.catalog.relation(table).hidden)
            .then(|| candidates::forced(table, self.catalog));
        if let Some(candidates) = asserted {
            let asserted = Pattern::Equal(Expr::constant(Value::Int(candidates::ASSERTED)));
            let columns = [&[asserted], &all[..at]].concat();
            let mut columns_of_head: Vec<HeadColumn> =
                regs[..at].iter().map(|reg| HeadColumn::Value(Expr::Reg(*reg))).collect();
            columns_of_head.push(HeadColumn::Value(trail(&[], None, 0)));
            let head = Head {
                relation: every,
                columns: columns_of_head,
                place: None,
                action: Action::Insert,
            };
            let body = vec![atom(candidates, &columns)];
            self.views.push(View {
                rule: Rule { head, body, ..view.clone() },
                kind: ViewKind::Maintained,
            });
        }
        view.body.push(atom(every, &all));
        if !shipped {
            view.body.push(atom(table, &all[..at]));
        }
        let column = |(index, reg): (usize, &Reg)| {
            if index == at {
                HeadColumn::Aggregate { function: Aggregate::Min, input: Some(Expr::Reg(*reg)) }
            } else {
                HeadColumn::Value(Expr::Reg(*reg))
            }
        };
        let columns = regs.iter().enumerate().map(column).collect();
        view.head = Head { relation: best, columns, place: None, action: Action::Insert };
        self.views.push(View { rule: view, kind: ViewKind::Grouped });
    }
}

fn equal_to(expr: Expr) -> Pattern {
    match expr {
        Expr::Reg(reg) => Pattern::Reg(reg),
        expr => Pattern::Equal(expr),
    }
}

fn call(name: &str, operands: Vec<Expr>) -> Expr {
    let function = FunctionId::from_name(name).expect("a built-in function");
    Expr::Call(function, operands)
}

/// The condition that a row is not on a trail.
fn absent(rows: &Expr, id: &Expr) -> Term {
    let member = call("member", vec![rows.clone(), id.clone()]);
    Term::Filter(Expr::Unary(Unary::Not, Box::new(member)))
}

/// Height and rows of the trail of a row derived from rows with these trails.
fn joined(origins: &[(Reg, Reg)]) -> (Expr, Expr) {
    let mut heights = origins.iter().map(|(height, _)| Expr::Reg(*height));
    let height = heights.next().unwrap_or_else(|| Expr::constant(Value::Int(0)));
    let height = heights.fold(height, |a, b| call("max", vec![a, b]));
    let rows: Vec<Expr> = origins.iter().map(|(_, rows)| Expr::Reg(*rows)).collect();
    let rows = match &rows[..] {
        [] => Expr::List(Vec::new()),
        [rows] => rows.clone(),
        _ => call("union", rows),
    };
    (height, rows)
}

/// The trail of a row derived from rows with these trails, through `id`.
fn trail(origins: &[(Reg, Reg)], id: Option<Expr>, shipments: i64) -> Expr {
    let (mut height, mut rows) = joined(origins);
    if let Some(id) = id {
        rows = call("union", vec![rows, Expr::List(vec![id])]);
    }
    if shipments > 0 {
        let operands = Box::new([height, Expr::constant(Value::Int(shipments))]);
        height = Expr::Binary(Binary::Add, operands);
    }
    let size = call("size", vec![rows.clone()]);
    Expr::List(vec![height, size, rows])
}

/// Adds its trail to the head of a rule, as the last column.
fn step(rule: &mut Rule, origins: &[(Reg, Reg)], id: Option<Expr>, shipments: i64) {
    rule.head.columns.push(HeadColumn::Value(trail(origins, id, shipments)));
}
