//! A plain search as oracle: it copies whole worlds, reduces nothing, and checks all nodes after
//! every turn. Rows expire in it; it has no other timers and no randomness.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use tidemill_overlog::node::{
    Event, GivenUp, Identity, Node, Observer, Program as Rules, Sighting, Turned,
};
use tidemill_relation::{SeqBuilder, Value};
use tidemill_stdx::keyed::Secret;

/// An input of a script: the time, the node, the name of an event and its columns but the first,
/// all strings.
pub type Given = (u32, usize, &'static str, &'static [&'static str]);

/// The rows of a table at each node, as text.
pub type Rows<'r> = &'r dyn Fn(&str) -> Vec<Vec<Vec<String>>>;

/// A forbidden condition on all nodes.
pub type Wrong = fn(Rows<'_>) -> bool;

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub struct Searched {
    /// The number of distinct states, if no run fails.
    pub distinct: u64,
    /// The minimum number of inputs of a failing run.
    pub fails_after: Option<usize>,
}

/// The state of a run.
struct World {
    nodes: Vec<Node>,
    inboxes: Vec<VecDeque<Event>>,
    messages: Vec<(usize, Event)>,
    done: Vec<bool>,
    crashes: u8,
    /// The number of remaining expiries of rows.
    expiries: u8,
    clocks_ns: Vec<u64>,
}

pub struct Plain {
    rules: Arc<Rules>,
    script: Vec<Given>,
    wrong: Wrong,
    /// The order of rows is part of the state.
    in_order: bool,
}

impl Plain {
    pub fn new(rules: Rules, script: &[Given], wrong: Wrong, in_order: bool) -> Plain {
        Plain { rules: Arc::new(rules), script: script.to_vec(), wrong, in_order }
    }

    /// Searches all runs.
    pub fn search(&self, nodes: usize, crashes: u8, expiries: u8) -> Searched {
        let fresh: Vec<Node> = (0..nodes).map(|index| self.node(index, nodes)).collect();
        let first = World {
            inboxes: fresh.iter().map(starting).collect(),
            nodes: fresh,
            messages: Vec::new(),
            done: vec![false; self.script.len()],
            crashes,
            expiries,
            clocks_ns: vec![0; nodes],
        };
        let mut seen = HashSet::from([self.key(&first)]);
        let mut layer = vec![first];
        let mut depth = 0;
        while !layer.is_empty() {
            // Turns are not inputs.
            let mut at = 0;
            while at < layer.len() {
                for node in 0..nodes {
                    let Some((next, is_wrong)) = self.turn(&layer[at], node) else { continue };
                    if is_wrong {
                        return Searched { distinct: 0, fails_after: Some(depth) };
                    }
                    if seen.insert(self.key(&next)) {
                        layer.push(next);
                    }
                }
                at += 1;
            }
            depth += 1;
            let mut next_layer = Vec::new();
            for world in &layer {
                for (next, is_wrong) in self.outside(world) {
                    if is_wrong {
                        return Searched { distinct: 0, fails_after: Some(depth) };
                    }
                    if seen.insert(self.key(&next)) {
                        next_layer.push(next);
                    }
                }
            }
            layer = next_layer;
        }
        Searched { distinct: seen.len() as u64, fails_after: None }
    }

    fn node(&self, index: usize, count: usize) -> Node {
        let identity = Identity {
            address: format!("n{index}:1"),
            index: index as u32,
            count: count as u32,
            landmark: "n0:1".to_owned(),
        };
        Node::new(self.rules.clone(), identity, 0, Secret::FIXED)
    }

    /// The turn of the first waiting event at a node, and whether it fails.
    fn turn(&self, world: &World, node: usize) -> Option<(World, bool)> {
        let mut next = world.copy();
        let event = next.inboxes[node].pop_front()?;
        let mut violated = Violated(false);
        let turned = next.nodes[node]
            .run_turn(event, world.clocks_ns[node], 0, &mut violated)
            .expect("an end");
        let Turned { sends, follows, .. } = turned;
        next.inboxes[node].extend(follows);
        for (send, row) in sends {
            let to = row.as_seq().get(send.location as usize);
            let to = to.and_then(|to| to.as_str()).and_then(number);
            let Some(to) = to.filter(|to| *to < world.nodes.len()) else { continue };
            let (relation, delete, received) = (send.relation, send.delete, true);
            next.messages.push((to, Event::Tuple { relation, row, delete, received }));
        }
        let is_wrong = violated.0 || self.is_wrong(&next);
        Some((next, is_wrong))
    }

    /// All possible inputs.
    fn outside(&self, world: &World) -> Vec<(World, bool)> {
        let mut all = Vec::new();
        for at in 0..world.messages.len() {
            let mut next = world.copy();
            let (to, event) = next.messages.remove(at);
            next.inboxes[to].push_back(event);
            all.push((next, false));
        }
        let mut left = (0..self.script.len()).filter(|at| !world.done[*at]);
        let now = left.clone().map(|at| self.script[at].0).min();
        for at in left.by_ref().filter(|at| Some(self.script[*at].0) == now) {
            let (_, node, name, columns) = self.script[at];
            let mut next = world.copy();
            next.done[at] = true;
            let relation = self.rules.plan().find(name);
            // An event that no rule reads has no effect.
            if let Some(relation) = relation {
                let address = format!("n{node}:1");
                let columns = [address.as_str()].into_iter().chain(columns.iter().copied());
                let row: SeqBuilder = columns.map(Value::Str).collect();
                let (delete, received) = (false, false);
                let event = Event::Tuple { relation, row, delete, received };
                next.inboxes[node].push_back(event);
            }
            all.push((next, false));
        }
        for node in (0..world.nodes.len()).filter(|_| world.expiries > 0) {
            let mut next = world.copy();
            next.expiries -= 1;
            let waits = world.inboxes[node].contains(&Event::Expiry);
            let Some(at_ns) = next.nodes[node].next_expiry_ns().filter(|_| !waits) else {
                continue;
            };
            next.clocks_ns[node] = next.clocks_ns[node].max(at_ns);
            next.inboxes[node].push_back(Event::Expiry);
            all.push((next, false));
        }
        for node in (0..world.nodes.len()).filter(|_| world.crashes > 0) {
            let mut next = world.copy();
            next.crashes -= 1;
            next.nodes[node] = self.node(node, world.nodes.len());
            next.inboxes[node] = starting(&next.nodes[node]);
            let is_wrong = self.is_wrong(&next);
            all.push((next, is_wrong));
        }
        all
    }

    fn is_wrong(&self, world: &World) -> bool {
        (self.wrong)(&|table| {
            let of_node = |node: &Node| {
                let mut rows = Vec::new();
                if let Some(relation) = self.rules.plan().find(table) {
                    node.rows(relation, |columns| {
                        let text = |value: &Value<'_>| {
                            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
                        };
                        rows.push(columns.iter().map(text).collect());
                    });
                }
                rows
            };
            world.nodes.iter().map(of_node).collect()
        })
    }

    /// A key that is equal for equal worlds.
    fn key(&self, world: &World) -> Vec<u8> {
        let mut key = Vec::new();
        for (at, (node, inbox)) in world.nodes.iter().zip(&world.inboxes).enumerate() {
            node.append_state(self.in_order, world.clocks_ns[at], &mut key);
            key.extend(format!("{inbox:?}").into_bytes());
        }
        let mut messages: Vec<String> =
            world.messages.iter().map(|message| format!("{message:?}")).collect();
        messages.sort_unstable();
        let World { done, crashes, expiries, .. } = world;
        key.extend(format!("{messages:?} {done:?} {crashes} {expiries}").into_bytes());
        key
    }
}

impl World {
    fn copy(&self) -> World {
        World {
            nodes: self.nodes.iter().map(Node::fork).collect(),
            inboxes: self.inboxes.clone(),
            messages: self.messages.clone(),
            done: self.done.clone(),
            crashes: self.crashes,
            expiries: self.expiries,
            clocks_ns: self.clocks_ns.clone(),
        }
    }
}

/// The initial inbox of a node.
fn starting(node: &Node) -> VecDeque<Event> {
    node.together(node.facts()).into()
}

/// The number in the address of a node.
fn number(address: &str) -> Option<usize> {
    address.strip_prefix('n')?.strip_suffix(":1")?.parse().ok()
}

/// Whether a node has found a violation.
struct Violated(bool);

impl Observer for Violated {
    fn sighted(&mut self, _: Sighting<'_>) {}

    fn violated(&mut self, _: Sighting<'_>) {
        self.0 = true;
    }

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {}

    fn given_up(&mut self, _: GivenUp<'_>) {}
}
