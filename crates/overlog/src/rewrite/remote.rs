//! Views whose parts lie at several locations.
//!
//! ```text
//! r reach(@X, Z) :- link(@X, Y), reach(@Y, Z).
//!
//! at X: part(@Y, X) :- link(@X, Y).                     [`split`]
//! at Y: reach(@X, Z) :- part(@Y, X), reach(@Y, Z).
//! ```
//! A rule whose head is at another location than its body ships the rows of its head ([`export`]):
//!
//! ```text
//! at X: out(@X; Y, X) :- link(@X, Y).       its last column is the node that ships
//! at Y: part(@Y, X) :- into(@Y, X, from).   rows that came
//! ```
//! The node ships insertions and deletions of `out` to `into`, to itself by a turn of its own. So
//! a view across nodes consists of views within nodes, and rows that are no longer derivable are
//! removed everywhere. Rows of several nodes may support each other in a cycle that no node sees as
//! a whole: see [`super::trails`]. Where soft state takes part, rows are sent like those of any
//! rule and end by their lifetimes.

use tidemill_diag::Diagnostic;
use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::operator::Binary;
use tidemill_relation::plan::{Action, HeadColumn, Pattern, RelationId, ViewKind};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::parts::{Parts, View, locations, type_of_expr};
use crate::ir::{Atom, Catalog, Head, Location, Rule, Softness, Term, Var, whole_row};
use crate::localise::{settle_params, type_of, unroutable_at};
use crate::lower::home;
use crate::program::Export;

/// Splits a body of several locations: the part at one of them, and a rule over that part and
/// the rest, at the location to which the part is sent.
pub(super) fn split(rule: Rule, catalog: &mut Catalog) -> Result<[Rule; 2], Diagnostic> {
    let places = locations(&rule, catalog);
    for here in &places {
        if let Some(parts) = split_at(&rule, here, catalog) {
            return Ok(parts);
        }
    }
    let mut names = SortedSet::new();
    let mut spans = Vec::new();
    for atom in rule.atoms() {
        if let Location::Var(reg) = atom.location(catalog)
            && let Some(var) = rule.vars.get(reg.0 as usize)
            && names.insert(format!("`{}`", var.name))
        {
            spans.push((atom.span, var.name.clone()));
        }
    }
    Err(unroutable_at(&rule, names, spans))
}

fn split_at(rule: &Rule, here: &Location, catalog: &mut Catalog) -> Option<[Rule; 2]> {
    let mut rule = rule.clone();
    let start = rule.atoms().position(|atom| atom.location(catalog) == *here)?;
    settle_params(&mut rule, start as u16, here, catalog);
    let mut uses = vec![0; rule.vars.len()];
    rule.body.iter().for_each(|term| term.for_each_reg(&mut |reg| uses[reg.0 as usize] += 1));
    let mut work = Split { bound: SortedSet::new(), added: Vec::new(), uses, here, catalog };
    let (first, mut rest) = work.divide(&mut rule);
    let ready = |term: &&Term| match term {
        Term::Atom(atom) => !atom.negated || work.knows_all(atom),
        _ => false,
    };
    let next = rest.iter().filter(ready).find_map(|term| match term {
        Term::Atom(atom) => match atom.location(work.catalog) {
            Location::Var(reg) if !work.bound.contains(&reg) => None,
            location => Some(location),
        },
        _ => None,
    })?;
    let Split { bound, mut added, catalog, .. } = work;
    rest.append(&mut added);
    let mut needed = SortedSet::new();
    let mut need = |reg: Reg| {
        if bound.contains(&reg) && Location::Var(reg) != next {
            needed.insert(reg);
        }
    };
    rest.iter().for_each(|term| term.for_each_reg(&mut need));
    rule.head.for_each_reg(&mut need);
    let needed: Vec<Reg> = needed.into_iter().collect();
    let part = part_table(&rule, &first, &needed, catalog);
    let exprs = std::iter::once(next.expr()).chain(needed.iter().map(|reg| Expr::Reg(*reg)));
    let head = Head {
        relation: part,
        columns: exprs.map(HeadColumn::Value).collect(),
        place: None,
        action: Action::Insert,
    };
    let place = match next {
        Location::Var(reg) => Pattern::Reg(reg),
        Location::Fixed(expr) => Pattern::Equal(expr),
    };
    let columns = std::iter::once(place).chain(needed.into_iter().map(Pattern::Reg)).collect();
    let atom = Atom { relation: part, negated: false, columns, place: None, span: rule.span };
    let mut body = vec![Term::Atom(atom)];
    body.append(&mut rest);
    Some([Rule { head, body: first, ..rule.clone() }, Rule { body, ..rule }])
}

/// The hidden table that holds the first part at the location of the rest.
fn part_table(rule: &Rule, first: &[Term], needed: &[Reg], catalog: &mut Catalog) -> RelationId {
    let types = std::iter::once(TypeSet::TEXT).chain(needed.iter().map(|reg| type_of(rule, *reg)));
    let types: Vec<TypeSet> = types.collect();
    let key = whole_row(types.len());
    let tables = first.iter().filter_map(|term| match term {
        Term::Atom(atom) => Some(atom.relation),
        _ => None,
    });
    match catalog.softness(tables) {
        Softness::Hard => {
            let name = catalog.marked(&rule.name, "part");
            catalog.hidden_table(name, types, 0, key, Softness::Hard)
        }
        softness => {
            let name = catalog.numbered(&rule.name);
            let part = catalog.hidden_table(name, types, 0, key, softness);
            catalog.shipped.push(part);
            part
        }
    }
}

/// Divides the terms of a rule into those that can be done at one location and the rest.
struct Split<'a> {
    bound: SortedSet<Reg>,
    /// Comparisons that were moved out of predicates because their variables are bound later.
    added: Vec<Term>,
    /// By variable: how often it occurs in the body.
    uses: Vec<u32>,
    here: &'a Location,
    catalog: &'a mut Catalog,
}

impl Split<'_> {
    fn divide(&mut self, rule: &mut Rule) -> (Vec<Term>, Vec<Term>) {
        let lies_here = |atom: &Atom, catalog: &Catalog| {
            let location = atom.location(catalog);
            location == *self.here || location.is_here()
        };
        for term in &rule.body {
            if let Term::Atom(atom) = term
                && !atom.negated
                && lies_here(atom, self.catalog)
            {
                atom.columns.iter().for_each(|pattern| bind(pattern, &mut self.bound));
            }
        }
        let mut done = vec![false; rule.body.len()];
        loop {
            let before = self.bound.len();
            for (at, term) in rule.body.iter().enumerate() {
                if let Term::Let(reg, expr) = term
                    && self.knows(expr)
                {
                    done[at] = true;
                    self.bound.insert(*reg);
                }
            }
            if self.bound.len() == before {
                break;
            }
        }
        for (at, term) in rule.body.iter().enumerate() {
            done[at] |= match term {
                Term::Atom(atom) if !lies_here(atom, self.catalog) => false,
                Term::Atom(atom) => !atom.negated || self.knows_all(atom),
                Term::Filter(expr) => self.knows(expr),
                Term::Let(..) | Term::Aggregate(_) => false,
            };
        }
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for (mut term, done) in std::mem::take(&mut rule.body).into_iter().zip(done) {
            if !done {
                rest.push(term);
                continue;
            }
            if let Term::Atom(atom) = &mut term {
                for pattern in &mut atom.columns {
                    self.postpone(pattern, &mut rule.vars);
                }
            }
            first.push(term);
        }
        (first, rest)
    }

    fn knows(&self, expr: &Expr) -> bool {
        let mut all = true;
        expr.for_each_reg(&mut |reg| all &= self.bound.contains(&reg));
        all
    }

    /// Whether the variables of a negated predicate are bound, but for those in it alone.
    fn knows_all(&self, atom: &Atom) -> bool {
        let mut inside: SortedMap<Reg, u32> = SortedMap::new();
        atom.for_each_reg(&mut |reg| *inside.entry(reg).or_insert(0) += 1);
        let alone = |reg: &Reg, times: u32| self.uses.get(reg.0 as usize) == Some(&times);
        inside.iter().all(|(reg, times)| self.bound.contains(reg) || alone(reg, *times))
    }

    /// A column that must equal a value that only the rest can compute is a variable here, and
    /// compared there.
    fn postpone(&mut self, pattern: &mut Pattern, vars: &mut Vec<Var>) {
        match pattern {
            Pattern::Any | Pattern::Reg(_) => {}
            Pattern::Equal(expr) if self.knows(expr) => {}
            Pattern::Equal(expr) => {
                let reg = Reg(u16::try_from(vars.len()).unwrap_or(u16::MAX));
                vars.push(Var { name: "_".to_owned(), types: TypeSet::ANY });
                let operands = Box::new([Expr::Reg(reg), expr.clone()]);
                self.added.push(Term::Filter(Expr::Binary(Binary::Equal, operands)));
                self.bound.insert(reg);
                *pattern = Pattern::Reg(reg);
            }
            Pattern::List { elements, tail } => {
                elements.iter_mut().for_each(|element| self.postpone(element, vars));
                tail.iter_mut().for_each(|tail| self.postpone(tail, vars));
            }
        }
    }
}

fn bind(pattern: &Pattern, bound: &mut SortedSet<Reg>) {
    match pattern {
        Pattern::Any | Pattern::Equal(_) => {}
        Pattern::Reg(reg) => {
            bound.insert(*reg);
        }
        Pattern::List { elements, tail } => {
            elements.iter().for_each(|element| bind(element, bound));
            tail.iter().for_each(|tail| bind(tail, bound));
        }
    }
}

/// Ships the rows of a maintained head to their location.
pub(super) fn export(rule: Rule, catalog: &mut Catalog, parts: &mut Parts) {
    let home = home(&rule, catalog);
    let location = rule.head.location_column(catalog);
    let mut columns = rule.head.columns.clone();
    columns.push(HeadColumn::Value(home.expr()));
    let types: Vec<TypeSet> = columns
        .iter()
        .map(|column| match column {
            HeadColumn::Value(expr) => type_of_expr(&rule, expr),
            HeadColumn::Aggregate { .. } => TypeSet::ANY,
        })
        .collect();
    let last = types.len() as u32 - 1;
    let mut types = types;
    types[location as usize] = TypeSet::TEXT;
    types[last as usize] = TypeSet::TEXT;
    let key = whole_row(types.len());
    let name = catalog.marked(&rule.name, "out");
    let out = catalog.hidden_table(name, types.clone(), last, key.clone(), Softness::Hard);
    let name = catalog.numbered(&rule.name);
    let into = catalog.hidden_table(name, types.clone(), location, key, Softness::Hard);
    catalog.shipped.push(into);
    catalog.arrivals.allow(into, Action::Insert, location);
    catalog.arrivals.allow(into, Action::Delete, location);
    parts.exports.push(Export { out, into, trail: None });

    let come = arrival(&rule, into, &types);
    let head = Head { relation: out, columns, place: None, action: Action::Insert };
    parts.views.push(View { rule: Rule { head, ..rule }, kind: ViewKind::Maintained });
    parts.views.push(View { rule: come, kind: ViewKind::Maintained });
}

/// The rule that moves received rows to their table.
fn arrival(rule: &Rule, from: RelationId, types: &[TypeSet]) -> Rule {
    let vars = types.iter().map(|types| Var { name: rule.name.clone(), types: *types }).collect();
    let last = types.len() - 1;
    let pattern = |column: usize| Pattern::Reg(Reg(column as u16));
    let value = |column: usize| HeadColumn::Value(Expr::Reg(Reg(column as u16)));
    let columns = (0..types.len()).map(pattern).collect();
    let atom = Atom { relation: from, negated: false, columns, place: None, span: rule.span };
    Rule {
        id: rule.id,
        name: rule.name.clone(),
        span: rule.span,
        vars,
        head: Head { columns: (0..last).map(value).collect(), ..rule.head.clone() },
        body: vec![Term::Atom(atom)],
    }
}
