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
//! A trail is `[height, size, rows]` ([`value`]): how many shipments it took, and the shipped rows
//! in order, each as the hash of its table and columns.
//!
//! # Example
//!
//! Two nodes are linked with each other, and `b` with `z`. `#b` is the row `out(@a, z, _, b)` that
//! `b` ships, `#a` the row `out(@b, z, _, a)` that `a` ships:
//!
//! ```text
//!                 at b: trails of reach(b, z)       at a: trails of reach(a, z)
//! link(b, z)      [0, 0, []], [2, 2, [#a, #b]]      [1, 1, [#b]]
//! no link(b, z)   [2, 2, [#a, #b]]                  [1, 1, [#b]]        now the best at b
//!                 #b is on it: b does not ship #b   none: a does not ship #a
//!                 none                              none
//! ```
//! Without trails each of the two rows would support the other for ever.
//!
//! # Correctness
//!
//! Trails sort by height, then size: nothing that is derived from a row has a lesser trail than the
//! row, and what was shipped has a greater. So
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
//!
//! # The rewriting
//!
//! 1. *Tables* ([`Trails::add_tables`]): each table on a cycle gets tables of trails ([`Trailed`]).
//!    A table that is shipped or received is widened by a column and has the best trails itself.
//! 2. *Views* ([`Trails::rewrite`]): each becomes a view of all trails of its rows, beside the view
//!    of the rows; what is shipped is derived from trails alone.
//! 3. *The best* ([`Trails::add_best`]): a view with a MIN for each table, after its first view.
//!
//! `tests/overlog/plan/trails.plan` is the result for programs of both kinds.

mod value;

use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::plan::{Action, HeadColumn, Pattern, RelationId, Storage, ViewKind};
use tidemill_relation::table::Key;
use tidemill_relation::{TypeSet, Value};
use tidemill_stdx::hash::Map;
use tidemill_stdx::sorted::SortedSet;

use super::candidates;
use super::circles::{Circles, circles};
use super::parts::{Parts, View};
use crate::ir::{ANYWHERE, Atom, Catalog, Head, Rule, Softness, Term, whole_row};
use crate::program::Export;
use value::{Origins, Through};

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
        shipped: parts.exports.iter().map(|export| export.out).collect(),
        tables: Map::default(),
        done: SortedSet::new(),
        catalog,
        views: Vec::new(),
    };
    trails.add_tables(&mut parts.exports);
    for view in std::mem::take(&mut parts.views) {
        trails.rewrite(view);
    }
    parts.views = trails.views;
}

/// The tables with the trails of a table's rows:
///
/// | table | `every` | `best` | `at` |
/// |---|---|---|---|
/// | `reach` | `reach!trails` | `reach!trail` | last |
/// | shipped: `out` | `out!trails` | `out` | before the sender |
/// | received: `into` | none: it gets the best only | `into` | before the sender |
#[derive(Clone, Copy)]
struct Trailed {
    /// All trails of each row.
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
    /// Tables whose rows are shipped.
    shipped: SortedSet<RelationId>,
    tables: Map<RelationId, Trailed>,
    /// Tables whose best trails have their view.
    done: SortedSet<RelationId>,
    catalog: &'c mut Catalog,
    views: Vec<View>,
}

// ---- 1. tables

impl Trails<'_> {
    /// Adds the tables of trails of all tables on cycles. Those at the ends of shipments are first:
    /// they get no table of best trails.
    fn add_tables(&mut self, exports: &mut [Export]) {
        for export in exports {
            if self.circles.contains_key(&export.into) {
                self.widen(export.into);
            }
            if self.circles.contains_key(&export.out) {
                self.widen(export.out);
                export.trail = self.tables.get(&export.out).map(|trailed| trailed.at as u32);
            }
        }
        let members: Vec<RelationId> = self.circles.keys().copied().collect();
        for table in members {
            match self.tables.get(&table).copied() {
                Some(trailed) if self.shipped.contains(&table) => self.add_every(table, trailed),
                Some(_) => {}
                None => self.add_both(table),
            }
        }
    }

    /// Adds a column for the trail to a table that is shipped or received, before that for the
    /// sender.
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

    /// Adds the table of all trails of a table that is shipped, and has the best itself.
    fn add_every(&mut self, table: RelationId, trailed: Trailed) {
        let relation = self.catalog.relation(table).clone();
        let every = self.hidden(&relation.name, "trails", &relation.columns, relation.location);
        self.tables.insert(table, Trailed { every: Some(every), ..trailed });
        self.catalog.mark_trail(table);
    }

    /// Adds the tables of all trails and of the best ones.
    fn add_both(&mut self, table: RelationId) {
        let relation = self.catalog.relation(table).clone();
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
}

// ---- 2. views

impl Trails<'_> {
    /// Adds a view with what becomes of it: the view of the rows, unless they are shipped, and the
    /// view of their trails.
    fn rewrite(&mut self, view: View) {
        let table = view.rule.head.relation;
        let trailed = self.tables.get(&table).copied().filter(|_| view.kind != ViewKind::Plain);
        let Some(Trailed { every: Some(every), at, .. }) = trailed else {
            self.views.push(view);
            return;
        };
        let (mut rule, trail) = match view.kind {
            ViewKind::Grouped => self.group(&view.rule),
            _ if self.shipped.contains(&table) => self.shipment(&view.rule),
            _ => self.derivation(&view),
        };
        rule.head.relation = every;
        rule.head.columns.insert(at, HeadColumn::Value(trail));
        self.views.push(View { rule, kind: ViewKind::Maintained });
        if self.done.insert(table) {
            self.add_best(&view.rule, table);
        }
    }

    /// A MIN or MAX: neither the group nor its trails take a row that came through the group. Only
    /// the chosen row has trails.
    fn group(&mut self, rule: &Rule) -> (Rule, Expr) {
        let (mut rule, origins) = self.follow(rule);
        let id = self.id(&rule);
        rule.body.push(origins.lack(&id));
        let mut trailed = rule.clone();
        let chosen = chosen_row(&mut trailed);
        trailed.body.push(Term::Atom(chosen));
        self.views.push(View { rule, kind: ViewKind::Grouped });
        (trailed, origins.trail(Through::Group(id)))
    }

    /// What is shipped: no row that came through itself.
    fn shipment(&mut self, rule: &Rule) -> (Rule, Expr) {
        let (mut rule, origins) = self.follow(rule);
        let id = self.id(&rule);
        rule.body.push(origins.lack(&id));
        (rule, origins.trail(Through::Shipment(id)))
    }

    /// What follows on a node. The rows themselves follow from rows with trails only on a cycle
    /// with a MIN or MAX.
    fn derivation(&mut self, view: &View) -> (Rule, Expr) {
        let (rule, origins) = self.follow(&view.rule);
        let circle = self.circles.get(&view.rule.head.relation);
        let chooses = circle.is_some_and(|circle| self.choosing.contains(circle));
        let own = if chooses { rule.clone() } else { self.without_trails(&view.rule) };
        self.views.push(View { rule: own, kind: view.kind });
        (rule, origins.trail(Through::Node))
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

    /// The rule with the best trails of the predicates of its body that are on the cycle of its
    /// head. A negated row supports nothing.
    fn follow(&self, rule: &Rule) -> (Rule, Origins) {
        let circle = self.circles.get(&rule.head.relation).copied();
        let (mut rule, mut origins) = (rule.clone(), Origins::default());
        for index in 0..rule.body.len() {
            let Term::Atom(atom) = &rule.body[index] else { continue };
            if atom.negated || self.circles.get(&atom.relation).copied() != circle {
                continue;
            }
            let Some(&Trailed { best, at, .. }) = self.tables.get(&atom.relation) else { continue };
            let height = rule.fresh("height", TypeSet::INT);
            let rows = rule.fresh("rows", TypeSet::LIST);
            if let Term::Atom(atom) = &mut rule.body[index] {
                atom.relation = best;
                atom.columns.insert(at, origins.bind(height, rows));
            }
        }
        (rule, origins)
    }

    /// The id of a row of the head in trails; of a group without its value.
    fn id(&self, rule: &Rule) -> Expr {
        let columns = rule.head.columns.iter().filter_map(|column| match column {
            HeadColumn::Value(expr) => Some(expr.clone()),
            HeadColumn::Aggregate { .. } => None,
        });
        value::id(&self.catalog.relation(rule.head.relation).name, columns)
    }
}

/// The chosen row of a group as a predicate. The head of its rule becomes the rows that it is
/// chosen from.
fn chosen_row(rule: &mut Rule) -> Atom {
    let pattern = |column: &mut HeadColumn| {
        let expr = match column {
            HeadColumn::Value(expr) => expr.clone(),
            HeadColumn::Aggregate { input, .. } => {
                let input = input.clone().unwrap_or_else(|| Expr::constant(Value::Null));
                *column = HeadColumn::Value(input.clone());
                input
            }
        };
        match expr {
            Expr::Reg(reg) => Pattern::Reg(reg),
            expr => Pattern::Equal(expr),
        }
    };
    let columns = rule.head.columns.iter_mut().map(pattern).collect();
    let Head { relation, place, .. } = rule.head;
    Atom { relation, negated: false, columns, place, span: rule.span }
}

// ---- 3. the best

impl Trails<'_> {
    /// Adds the view of the best trails of a table, and the view of those of its asserted rows.
    /// Both belong to a rule of the table.
    fn add_best(&mut self, rule: &Rule, table: RelationId) {
        let Some(&Trailed { every: Some(every), best, at }) = self.tables.get(&table) else {
            return;
        };
        let is_shipped = self.shipped.contains(&table);
        let types = self.catalog.relation(every).columns.clone();
        let mut view = Rule { vars: Vec::new(), body: Vec::new(), ..rule.clone() };
        let regs: Vec<Reg> = types.iter().map(|types| view.fresh("_", *types)).collect();
        if !is_shipped && !self.catalog.relation(table).hidden {
            self.add_asserted(&view, table, (every, &regs[..at]));
        }
        let all: Vec<Pattern> = regs.iter().copied().map(Pattern::Reg).collect();
        view.body.push(self.rows_here(table, every, all.clone(), rule));
        if !is_shipped {
            view.body.push(self.rows_here(table, table, all[..at].to_vec(), rule));
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

    /// Adds the view of the empty trails of asserted rows.
    fn add_asserted(
        &mut self,
        view: &Rule,
        table: RelationId,
        (every, regs): (RelationId, &[Reg]),
    ) {
        let candidates = candidates::forced(table, self.catalog);
        let mut pattern = vec![Pattern::Equal(Expr::constant(Value::Int(candidates::ASSERTED)))];
        pattern.extend(regs.iter().copied().map(Pattern::Reg));
        let body = vec![self.rows_here(table, candidates, pattern, view)];
        let row = regs.iter().map(|reg| Expr::Reg(*reg));
        let columns = row.chain([value::empty()]).map(HeadColumn::Value).collect();
        let head = Head { relation: every, columns, place: None, action: Action::Insert };
        let rule = Rule { head, body, ..view.clone() };
        self.views.push(View { rule, kind: ViewKind::Maintained });
    }

    /// The rows of a table that belongs to `table`, of this node: regardless of their location
    /// column.
    fn rows_here(
        &self,
        table: RelationId,
        relation: RelationId,
        columns: Vec<Pattern>,
        rule: &Rule,
    ) -> Term {
        let place = self.catalog.is_moving(table).then_some(ANYWHERE);
        Term::Atom(Atom { relation, negated: false, columns, place, span: rule.span })
    }
}
