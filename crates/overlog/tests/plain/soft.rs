//! A minimal model of soft state: rows with a lifetime, and rules that fire for arrivals and, in
//! soft state, for refreshes.
//!
//! A rule whose head and body are hard state is a view, as in [`super::evaluate`]. Any other
//! asserts its head like a fact, once for each commit, and retracts nothing. On several nodes,
//! without loss, a row may be late by some hops; all lifetimes end half-way between two steps, so
//! that this has no effect. There, rules neither negate nor recurse: their results would depend on
//! message timing.

use std::collections::{BTreeMap, BTreeSet};

use super::evaluate::{Derivation, Row, State, evaluate, heads};
use super::program::{Program, Reach, Rule};
use tidemill_stdx::rng::Rng;

/// The changes at the start of a second.
#[derive(Clone, Debug)]
pub enum Step {
    Put(String, Row),
    Cut(String, Row),
    Rest,
}

/// A program some of whose tables are soft.
pub fn program(random: &mut Rng, reach: Reach) -> Program {
    let mut program = Program::random(random, reach);
    for layer in &mut program.layers {
        layer.retain(|(name, _)| !name.starts_with('g'));
    }
    let layer_of: BTreeMap<String, usize> = (program.layers.iter().enumerate())
        .flat_map(|(layer, tables)| tables.iter().map(move |table| (table.0.clone(), layer)))
        .collect();
    program.rules.retain(|rule| {
        let mut atoms = rule.body.iter().chain(&rule.negated);
        let head = layer_of.get(&rule.head.relation);
        let is_lower = |name: &String| layer_of.get(name) < head;
        rule.aggregate.is_none()
            && atoms.all(|atom| layer_of.contains_key(&atom.relation))
            && (reach == Reach::Local
                || rule.negated.is_none() && rule.body.iter().all(|it| is_lower(&it.relation)))
    });
    for (name, _) in program.layers.iter().flatten() {
        if random.chance(0.6) {
            program.lifetimes.insert(name.clone(), random.range(1..=4) as u32);
        }
    }
    program
}

/// The lifetime of soft rows in [`program_at_rest`]: long enough to bridge every other refresh
/// being lost.
const LIFE_S: u32 = 9;

/// A program for several nodes some of whose tables are soft, aggregates among them. If asserted
/// soft rows are refreshed all the time, the final state follows from those asserted at the end,
/// whatever was lost or crashed before: soft state only derives soft state or aggregates, without
/// recursion.
pub fn program_at_rest(random: &mut Rng) -> Program {
    let mut program = Program::random(random, Reach::Nodes);
    for (name, _) in &program.layers[0] {
        if random.chance(0.7) {
            program.lifetimes.insert(name.clone(), LIFE_S);
        }
    }
    for (name, _) in program.layers[1..].iter().flatten() {
        if random.chance(0.2) {
            program.lifetimes.insert(name.clone(), LIFE_S);
        }
    }
    loop {
        let soft = |name: &String| program.lifetimes.contains_key(name);
        let hardened = program.rules.iter().find(|rule| {
            let mut atoms = rule.body.iter().chain(&rule.negated);
            let is_led_to = atoms.any(|atom| soft(&atom.relation));
            rule.aggregate.is_none() && is_led_to && !soft(&rule.head.relation)
        });
        let Some(head) = hardened.map(|rule| rule.head.relation.clone()) else { break };
        program.lifetimes.insert(head, LIFE_S);
    }
    let layer_of = |name: &String| {
        program.layers.iter().position(|layer| layer.iter().any(|table| table.0 == *name))
    };
    let lifetimes = &program.lifetimes;
    let leads_on = |rule: &Rule| {
        let head = layer_of(&rule.head.relation);
        let lower = rule.body.iter().all(|atom| layer_of(&atom.relation) < head);
        lower || !lifetimes.contains_key(&rule.head.relation)
    };
    let rules = program.rules.iter().filter(|rule| leads_on(rule)).cloned().collect();
    Program { rules, ..program }
}

/// The final state of a program of [`program_at_rest`]. A soft row exists if a rule derives it from
/// soft rows, which are refreshed; one that was derived once, from hard rows, has expired.
pub fn at_rest(program: &Program, asserted: &State) -> State {
    let soft = |name: &String| program.lifetimes.contains_key(name);
    let mut program = program.clone();
    let rules = std::mem::take(&mut program.rules);
    let comes_again = |rule: &Rule| {
        !soft(&rule.head.relation) || rule.body.iter().any(|atom| soft(&atom.relation))
    };
    program.rules = rules.into_iter().filter(comes_again).collect();
    evaluate(&program, asserted, &|_, _, row| row[0].starts_with('"'))
}

/// The rows of all nodes and when they were put in or refreshed last.
pub struct Soft<'p> {
    program: &'p Program,
    /// Asserted rows: facts, and heads of rules that are no views.
    asserted: BTreeMap<(String, Row), u64>,
    /// All rows.
    state: State,
}

impl<'p> Soft<'p> {
    pub fn new(program: &'p Program) -> Soft<'p> {
        Soft { program, asserted: BTreeMap::new(), state: State::new() }
    }

    fn is_soft(&self, name: &str) -> bool {
        self.program.lifetimes.contains_key(name)
    }

    fn is_view(&self, number: usize) -> bool {
        let rule = &self.program.rules[number];
        let atoms = rule.body.iter().chain(&rule.negated);
        atoms.chain([&rule.head]).all(|atom| !self.is_soft(&atom.relation))
    }

    /// The rows after a step, just before the next one.
    pub fn step(&mut self, second: u64, step: &Step) -> &State {
        self.expire(second);
        let before = self.asserted.clone();
        let mut fresh = BTreeSet::new();
        match step {
            Step::Put(name, row) => self.put(name, row, second, &mut fresh),
            Step::Cut(name, row) => {
                self.asserted.remove(&(name.clone(), row.clone()));
            }
            Step::Rest => {}
        }
        let old = self.views(&before);
        let program = self.program;
        for layer in 1..=program.layers.len() {
            loop {
                self.state = self.views(&self.asserted);
                for (name, rows) in &self.state {
                    let new = rows.iter().filter(|row| !old[name].contains(*row));
                    fresh.extend(new.map(|row| (name.clone(), row.clone())));
                }
                let count = fresh.len();
                let below: Vec<&String> =
                    program.layers[..layer].iter().flatten().map(|t| &t.0).collect();
                for (number, rule) in program.rules.iter().enumerate() {
                    if self.is_view(number) || !below.contains(&&rule.head.relation) {
                        continue;
                    }
                    for (row, uses) in heads(rule, &self.state) {
                        if uses.iter().any(|used| fresh.contains(used)) && row[0].starts_with('"') {
                            let name = rule.head.relation.clone();
                            self.put(&name, &row, second, &mut fresh);
                        }
                    }
                }
                if fresh.len() == count {
                    break;
                }
            }
        }
        self.state = self.views(&self.asserted);
        &self.state
    }

    /// Removes expired rows: lifetimes end half a second after a step.
    fn expire(&mut self, second: u64) {
        let lifetimes = &self.program.lifetimes;
        self.asserted.retain(|(name, _), put| {
            lifetimes.get(name).is_none_or(|life| *put + u64::from(*life) >= second)
        });
    }

    fn put(&mut self, name: &str, row: &Row, second: u64, fresh: &mut BTreeSet<(String, Row)>) {
        let key = (name.to_owned(), row.clone());
        let is_new = self.state.get(name).is_none_or(|rows| !rows.contains(row));
        let was = self.asserted.insert(key.clone(), second);
        if was.is_none() && is_new || self.is_soft(name) {
            fresh.insert(key);
        }
    }

    /// All rows, given the asserted ones.
    fn views(&self, asserted: &BTreeMap<(String, Row), u64>) -> State {
        let mut rows = State::new();
        for (name, row) in asserted.keys() {
            rows.entry(name.clone()).or_default().insert(row.clone());
        }
        let is_view = |derivation: &Derivation, _: &str, row: &Row| {
            self.is_view(derivation.0) && row[0].starts_with('"')
        };
        evaluate(self.program, &rows, &is_view)
    }
}
