//! The simulated host: virtual time, seeded randomness, a simulated network.
//!
//! ```text
//! now       0 at the start; waiting jumps to the next deadline or arrival, working takes no time
//! random    one stream for the program, one for keys, and for each message of the network its
//!           own draws
//! net       nodes, messages under way, what happens to them
//! ```
//! The same program and seed give the same run, bit for bit. Everything may be changed while
//! running: `lp.host().sim()` gives the simulation, in a turn or between two.
//!
//! What happens at one node does not depend on what happens at others at the same time: messages
//! that arrive together are ordered by sender and number, and the loop runs rounds. So several
//! simulations may be parts of one, each with some of the nodes ([`Sim::place_elsewhere`]): as long
//! as none is ahead of another by more than the least latency, they do what one would do.

mod conditions;
mod host;
mod net;
mod node;
mod orders;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::rc::Rc;

use tidemill_stdx::hash;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::rng::Rng;

use crate::Time;
pub use conditions::{Conditions, Shape};
use net::Net;
pub use node::{Departure, NetStats, NodeStats};
use orders::Order;
pub use orders::{Act, Meant, Sent};

/// The constant that separates the stream of entropy from the others of a seed.
const ENTROPY: u64 = 0x656e_7472_6f70_7921;

/// The time of a simulation, for what has no loop at hand.
#[derive(Clone, Debug, Default)]
pub struct SimClock(Rc<Cell<Time>>);

impl SimClock {
    /// The time now.
    pub fn now(&self) -> Time {
        self.0.get()
    }
}

/// A simulated network of machines as a [`Host`](crate::Host).
pub struct Sim {
    now: Time,
    clock: SimClock,
    random: Rng,
    entropy: Rng,
    secret: Secret,
    net: Net,
    /// Polls of the loop at the current instant.
    looks: u64,
    /// The number of times that the clock was advanced although work was left.
    pushes: u64,
}

impl Sim {
    /// A simulation with the default [`Conditions`].
    pub fn new(seed: u64) -> Sim {
        Sim {
            now: Time::ZERO,
            clock: SimClock::default(),
            random: Rng::new(seed),
            entropy: entropy(seed),
            secret: Secret::FIXED,
            net: Net::new(seed, Conditions::default()),
            looks: 0,
            pushes: 0,
        }
    }

    /// The same under other conditions.
    pub fn with_conditions(mut self, conditions: Conditions) -> Sim {
        self.net.conditions = conditions;
        self
    }

    /// The same with another [`hash_secret`](crate::Host::hash_secret): nothing may depend on it.
    pub fn with_hash_secret(mut self, secret: Secret) -> Sim {
        self.secret = secret;
        self
    }

    /// Draws all random numbers from another seed from now on.
    pub fn reseed(&mut self, seed: u64) {
        (self.random, self.entropy) = (Rng::new(seed), entropy(seed));
        self.net.reseed(seed);
    }

    /// Its clock.
    pub fn clock(&self) -> SimClock {
        self.clock.clone()
    }

    /// The conditions of the network; a change concerns what is sent from now on.
    pub fn conditions(&mut self) -> &mut Conditions {
        &mut self.net.conditions
    }

    /// Takes a node off the network: what has arrived there and what arrives until
    /// [`Sim::restart`] is dropped and counted, and so is what it sends. What it sent before is
    /// under way and arrives. The node's state is up to its owner.
    pub fn crash(&mut self, node: &str) {
        self.net.crash(node);
    }

    /// Brings a node back.
    pub fn restart(&mut self, node: &str) {
        self.net.restart(node);
    }

    /// Whether a node is on the network; an unknown one is.
    pub fn is_alive(&self, node: &str) -> bool {
        self.net.is_alive(node)
    }

    /// Cuts the network: nodes of different groups do not reach each other, messages under way
    /// included. A node in no group reaches all. Replaces an earlier partition.
    pub fn partition(&mut self, groups: &[&[&str]]) {
        self.net.partition(groups, false);
    }

    /// The same, but only what nodes of earlier groups send to those of later ones is stopped.
    pub fn partition_one_way(&mut self, groups: &[&[&str]]) {
        self.net.partition(groups, true);
    }

    /// Freezes a node, which neither reads nor sends: what comes waits there, what it sends waits
    /// to leave.
    pub fn freeze(&mut self, node: &str) {
        self.net.freeze(node);
    }

    /// Resumes a frozen node.
    pub fn thaw(&mut self, node: &str) {
        self.net.thaw(self.now, node);
    }

    /// From now on messages wait until they are delivered by [`Sim::order`].
    pub fn hold_messages(&mut self) {
        self.net.hold_messages();
    }

    /// Orders an act on a message between two nodes: the first that waits and is meant, or else the
    /// next that is sent. Returns whether one waited.
    pub fn order(&mut self, act: Act, from: &str, to: &str, is_meant: Meant) -> bool {
        let link = (self.net.node(from), self.net.node(to));
        self.net.order(self.now, Order { act, link, is_meant })
    }

    /// Records the fate of messages from now on.
    pub fn record(&mut self) {
        self.net.record();
    }

    /// Takes what was recorded.
    pub fn recorded(&mut self) -> Vec<Sent> {
        self.net.recorded()
    }

    /// Ends a partition.
    pub fn heal(&mut self) {
        self.net.heal();
    }

    /// Places a node in another part of the simulation, which has this number here: messages to it
    /// [depart](Sim::departures). All parts name all nodes, in one order, before any of them runs:
    /// by this, or by [binding](crate::Transport::bind).
    pub fn place_elsewhere(&mut self, node: &str, part: u16) {
        self.net.place_elsewhere(node, part);
    }

    /// Takes the messages for nodes of other parts.
    pub fn departures(&mut self) -> Vec<Departure> {
        self.net.departures()
    }

    /// Takes over messages that have departed in another part. None is due before the time that
    /// this part has come to, if it is not ahead by more than the least latency.
    pub fn arrive(&mut self, messages: impl IntoIterator<Item = Departure>) {
        self.net.arrive(messages);
    }

    /// When the next message arrives.
    pub fn next_arrival(&self) -> Option<Time> {
        self.net.next_arrival()
    }

    /// How often the clock was moved on although some node had work left: programs that never
    /// become idle. Parts of a simulation then behave differently from a single one.
    pub fn pushes(&self) -> u64 {
        self.pushes
    }

    /// The counters of the network.
    pub fn net_stats(&self) -> &NetStats {
        &self.net.stats
    }

    /// The counters of a node; `None` if it is unknown.
    pub fn node_stats(&self, node: &str) -> Option<&NodeStats> {
        self.net.node_stats(node)
    }

    /// Messages under way.
    pub fn in_flight(&self) -> usize {
        self.net.in_flight()
    }

    fn advance(&mut self, to: Time) {
        if to > self.now {
            self.now = to;
            self.clock.0.set(to);
            self.looks = 0;
        }
    }
}

/// The stream of keys of a seed.
fn entropy(seed: u64) -> Rng {
    Rng::new(hash::combine(seed, ENTROPY))
}
