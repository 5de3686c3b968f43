//! When the costs of rules are measured: always where a run is profiled or its program reads `Ns`
//! of `sys::rule`, else while tools read them.

use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_relation::cost::{Clock, Cost};
use tidemill_stdx::ordered::OrderedMap;

use super::state::{Fleet, NodeId};
use super::times::is_read;
use super::world::World;
use crate::check::system::RULE;
use crate::node::{Profile, rule_costs};

/// The time for which costs are measured after the request of a tool.
const LOOKS: Duration = Duration::from_secs(3);

impl Fleet {
    /// Measures the costs of rules at all nodes by this clock, from now on.
    pub fn measure(&mut self, clock: Clock) {
        self.clock = Some(clock);
        for alive in self.slots.iter_mut().filter_map(|slot| slot.alive.as_mut()) {
            alive.node.measure(Some(clock));
        }
    }

    /// The costs of rules so far at all nodes, as far as they were measured.
    pub fn profile(&self) -> Profile {
        let mut profile = self.ended.clone();
        let nodes = self.slots.iter().filter_map(|slot| Some(&slot.alive.as_ref()?.node));
        nodes.filter_map(|node| node.profile()).for_each(|of_node| profile.add(&of_node));
        profile
    }

    /// The costs of each rule so far at all nodes, by its name, as far as they were measured.
    pub fn rule_costs(&self) -> OrderedMap<&str, Cost> {
        let nodes = self.slots.iter().filter_map(|slot| Some(&slot.alive.as_ref()?.node));
        let mut costs = rule_costs(self.program.plan(), nodes);
        for (rule, cost) in self.ended.rules() {
            *costs.entry(rule).or_default() += cost;
        }
        costs
    }

    /// Whether the costs of rules are measured now.
    pub fn is_measuring(&self) -> bool {
        let nodes = self.slots.iter().filter_map(|slot| slot.alive.as_ref());
        nodes.into_iter().any(|alive| alive.node.is_measuring())
    }

    /// The clock of nodes that start now.
    pub(super) fn clock_of_new<W: 'static>(&self, events: &mut Loop<W>) -> Option<Clock> {
        let asked = self.looked_at.is_some() || is_read(&self.program, RULE);
        self.clock.or_else(|| events.host().stopwatch().filter(|_| asked))
    }
}

/// Measures the costs of rules for a while, for a tool. Does nothing where a program may not see
/// the time of work, as in a simulation.
pub fn look_at_costs<W: World>(world: &mut W, events: &mut Loop<W>) {
    let Some(clock) = events.host().stopwatch() else { return };
    let until = events.now() + LOOKS;
    let fleet = world.fleet();
    let is_new = fleet.looked_at.replace(until).is_none();
    for alive in fleet.slots.iter_mut().filter_map(|slot| slot.alive.as_mut()) {
        alive.node.measure(Some(clock));
    }
    if is_new {
        end_at(events, until);
    }
}

/// Ends the measurement at that time, unless a tool has requested costs again.
fn end_at<W: World>(events: &mut Loop<W>, at: Time) {
    events.timer(at, |world: &mut W, events: &mut Loop<W>| {
        match world.fleet().looked_at {
            Some(until) if until > events.now() => return end_at(events, until),
            _ => world.fleet().looked_at = None,
        }
        let clock = world.fleet().clock_of_new(events);
        for slot in &mut world.fleet().slots {
            slot.alive.iter_mut().for_each(|alive| alive.node.measure(clock));
        }
    });
}

/// Keeps the costs of the rules of a node that ends.
pub(super) fn keep(fleet: &mut Fleet, id: NodeId) {
    let slot = fleet.slots.get(id.0 as usize);
    let alive = slot.and_then(|slot| slot.alive.as_ref());
    if let Some(profile) = alive.and_then(|alive| alive.node.profile()) {
        fleet.ended.add(&profile);
    }
}
