//! What permutations of interchangeable nodes make of events, messages and the tables of a node.
//!
//! Nodes are interchangeable if all turns are *equivariant*: the turn of a renamed node with a
//! renamed event has the renamed result. Nothing is assumed about what a program does with
//! addresses. The turns of all permutations are run on the engine, and their results are compared
//! with the renamed one. The first difference ends the search, which is then repeated with fewer
//! permutations. So a search that ends has run all these turns, and a program that compares
//! addresses or reads the number of a node is treated by what it does.

use std::sync::Arc;

use tidemill_stdx::hash::{Map, Set};

use super::events::EventId;
use super::properties::ProjectionId;
use super::renaming::Renaming;
use super::turns::{MessageId, Origin, Outcome, TablesId, TurnKey, Turns};

/// Something by number, under each permutation.
pub(super) type Orbit = Arc<[u32]>;

/// A result of a turn in a form to compare.
type Compared = (TablesId, u64, Vec<EventId>, Vec<MessageId>, bool);

/// A group of permutations, and what they make of numbered things.
pub(super) struct Orbits {
    /// The identity comes first.
    pub(super) all: Arc<[Renaming]>,
    events: Map<EventId, Orbit>,
    messages: Map<MessageId, Orbit>,
    tables: Map<TablesId, Orbit>,
    verified: Set<TurnKey>,
    judged: Set<Box<[ProjectionId]>>,
    /// Why nodes are not interchangeable.
    pub(super) broken: Option<String>,
}

impl Orbits {
    pub(super) fn new(all: Arc<[Renaming]>) -> Orbits {
        Orbits {
            all,
            events: Map::default(),
            messages: Map::default(),
            tables: Map::default(),
            verified: Set::default(),
            judged: Set::default(),
            broken: None,
        }
    }

    /// The approximate memory in use.
    pub(super) fn bytes(&self) -> usize {
        let orbits = self.events.len() + self.messages.len() + self.tables.len();
        orbits * (self.all.len() * 4 + 60) + self.verified.len() * 40 + self.judged.len() * 60
    }

    /// An event under each permutation.
    pub(super) fn event(&mut self, turns: &mut Turns, event: EventId) -> Orbit {
        if let Some(orbit) = self.events.get(&event) {
            return orbit.clone();
        }
        let orbit = self.all.iter().map(|renaming| turns.events.renamed(event, renaming));
        let orbit: Orbit = orbit.collect();
        self.events.insert(event, orbit.clone());
        orbit
    }

    /// A message under each permutation.
    pub(super) fn message(&mut self, turns: &mut Turns, message: MessageId) -> Orbit {
        if let Some(orbit) = self.messages.get(&message) {
            return orbit.clone();
        }
        let (to, event) = turns.message(message);
        let events = self.event(turns, event);
        let both = self.all.iter().zip(&*events);
        let orbit =
            both.map(|(renaming, event)| turns.message_of(renaming.to[to as usize], *event));
        let orbit: Orbit = orbit.collect();
        self.messages.insert(message, orbit.clone());
        orbit
    }

    /// The tables of a node under each permutation: those of other nodes.
    pub(super) fn tables(&mut self, turns: &mut Turns, tables: TablesId) -> Orbit {
        if let Some(orbit) = self.tables.get(&tables) {
            return orbit.clone();
        }
        let all = self.all.clone();
        let orbit = (0..).zip(&*all).map(|(at, renaming)| {
            let known = turns.tables_renamed(tables, renaming);
            let found = known.or_else(|| {
                self.reach(turns, tables, at);
                turns.tables_renamed(tables, renaming)
            });
            found.unwrap_or_else(|| {
                let what = match turns.origin(tables) {
                    Origin::Start => "the start".to_owned(),
                    Origin::Turn(key, _) => format!("the turn of {}", turns.text(key.event)),
                    Origin::Later(_) => "the expiry of rows".to_owned(),
                };
                self.differ(turns, turns.node_of(tables), renaming, &what);
                tables
            })
        });
        let orbit: Orbit = orbit.collect();
        self.tables.insert(tables, orbit.clone());
        orbit
    }

    /// Takes the renamed way to tables, so that they are there if turns are equivariant.
    fn reach(&mut self, turns: &mut Turns, tables: TablesId, at: usize) {
        match turns.origin(tables) {
            Origin::Start => {
                turns.start(self.all[at].to[turns.node_of(tables) as usize]);
            }
            Origin::Turn(key, _) => {
                let key = self.keys(turns, key)[at];
                turns.outcomes(key);
            }
            Origin::Later(before) => {
                let by_ns = turns.time_between_ns(before, tables);
                let before = self.tables(turns, before)[at];
                turns.later(before, by_ns);
            }
        }
    }

    /// The input of a turn under each permutation.
    fn keys(&mut self, turns: &mut Turns, key: TurnKey) -> Vec<TurnKey> {
        let tables = self.tables(turns, key.tables);
        let events = self.event(turns, key.event);
        let both = tables.iter().zip(&*events);
        both.map(|(&tables, &event)| TurnKey { tables, event, ..key }).collect()
    }

    /// Checks that a turn is equivariant.
    pub(super) fn verify(&mut self, turns: &mut Turns, key: TurnKey) {
        if self.broken.is_some() || self.verified.contains(&key) {
            return;
        }
        let keys = self.keys(turns, key);
        let results: Vec<Arc<[Outcome]>> = keys.iter().map(|key| turns.outcomes(*key)).collect();
        let expected = self.expected(turns, &results[0]);
        for (at, (expected, result)) in expected.into_iter().zip(&results).enumerate() {
            if self.broken.is_none() && expected != compared(result) {
                let what = format!("the turn of {}", turns.text(key.event));
                let (node, renaming) = (turns.node_of(key.tables), &self.all.clone()[at]);
                self.differ(turns, node, renaming, &what);
            }
        }
        self.verified.extend(keys);
    }

    /// The results of a turn that are expected under each permutation.
    fn expected(&mut self, turns: &mut Turns, outcomes: &[Outcome]) -> Vec<Vec<Compared>> {
        let mut all: Vec<Vec<Compared>> = vec![Vec::new(); self.all.len()];
        for Outcome { tables, symbol, follows, sends, failure } in outcomes {
            let tables = self.tables(turns, *tables);
            let follows: Vec<Orbit> = follows.iter().map(|it| self.event(turns, *it)).collect();
            let sends: Vec<Orbit> = sends.iter().map(|it| self.message(turns, *it)).collect();
            for (at, expected) in all.iter_mut().enumerate() {
                let follows = follows.iter().map(|orbit| orbit[at]).collect();
                let mut sends: Vec<MessageId> = sends.iter().map(|orbit| orbit[at]).collect();
                sends.sort_unstable();
                expected.push((tables[at], *symbol, follows, sends, failure.is_some()));
            }
        }
        all.iter_mut().for_each(|expected| expected.sort_unstable());
        all
    }

    /// Checks that all nodes together fail under each permutation, or under none: `fails` is
    /// whether they fail with these projections.
    pub(super) fn judge(&mut self, turns: &mut Turns, all: &[ProjectionId], fails: bool) {
        let Some(properties) = turns.properties.as_mut() else { return };
        if self.broken.is_some() || self.judged.contains(all) {
            return;
        }
        let mut differs = None;
        for renaming in &*self.all {
            let mut renamed = vec![0; all.len()];
            for (node, projection) in all.iter().enumerate() {
                renamed[renaming.to[node] as usize] = properties.renamed(*projection, renaming);
            }
            if properties.verdict(&renamed).is_some() != fails {
                differs.get_or_insert_with(|| renaming.clone());
            }
            self.judged.insert(renamed.into());
        }
        if let Some(renaming) = differs {
            let moved = (0..).zip(&renaming.to).find(|(node, to)| node != *to);
            let node = moved.map_or(0, |(node, _)| node);
            self.differ(turns, node, &renaming, "a rule at @SIM");
        }
    }

    /// Notes a difference between a node and the one that it becomes.
    fn differ(&mut self, turns: &Turns, node: u32, renaming: &Renaming, what: &str) {
        let address = |node: u32| &turns.identities[node as usize].address;
        let moved = (0..).zip(&renaming.to).find(|(node, to)| node != *to);
        let others = match moved {
            Some((one, other)) if renaming.to[node as usize] == node => {
                format!(" with {} and {} exchanged", address(one), address(*other))
            }
            _ => format!(" from {}", address(renaming.to[node as usize])),
        };
        let at = address(node);
        self.broken.get_or_insert_with(|| format!("{what} tells {at}{others}"));
    }
}

/// The results of a turn in a form to compare.
fn compared(outcomes: &[Outcome]) -> Vec<Compared> {
    let one = |Outcome { tables, symbol, follows, sends, failure }: &Outcome| {
        let mut sends = sends.to_vec();
        sends.sort_unstable();
        (*tables, *symbol, follows.to_vec(), sends, failure.is_some())
    };
    let mut all: Vec<Compared> = outcomes.iter().map(one).collect();
    all.sort_unstable();
    all
}
