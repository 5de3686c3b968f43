//! Control of the time of nodes by a simulation: pauses and slow turns, clocks, and timers.

use tidemill_event::{Loop, Time};

use super::pace::{Pace, Skew};
use super::state::{Fleet, NodeId};
use super::turns::{go_on, schedule};
use super::world::World;

impl Fleet {
    /// Sets the clock of a node, of this life and later ones.
    pub fn set_clock(&mut self, id: NodeId, skew: Skew) {
        self.pace(id, |pace| pace.skew = skew);
    }

    /// Makes each turn of a node take this long, in this life and later ones.
    pub fn slow_down(&mut self, id: NodeId, turn_ns: u64) {
        self.pace(id, |pace| pace.turn_ns = turn_ns);
    }

    /// Holds timers of periodics, which then fire by [`fire_timer`] alone.
    pub fn hold_timers(&mut self) {
        self.holds_timers = true;
    }

    fn pace(&mut self, id: NodeId, mut change: impl FnMut(&mut Pace)) {
        let Some(slot) = self.slots.get_mut(id.0 as usize) else { return };
        change(slot.pace.get_or_insert_default());
        if let Some(alive) = &mut slot.alive {
            change(alive.pace.get_or_insert_default());
        }
    }
}

/// Pauses the turns of a node until a time; does nothing if it is not alive.
pub fn pause<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, until: Time) {
    let Some(slot) = world.fleet().slots.get_mut(id.0 as usize) else { return };
    let life = slot.life;
    let Some(alive) = &mut slot.alive else { return };
    let pace = alive.pace.get_or_insert_default();
    pace.until = pace.until.max(until);
    go_on(world, events, id, life);
}

/// Fires the timer of a rule at a node; false if it has none.
pub fn fire_timer<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, rule: &str) -> bool {
    let Some((life, _, node)) = world.fleet().with_room(id) else { return false };
    let Some(timer) = node.periodic_of(rule) else { return false };
    if !node.fires_already(timer) {
        node.fire(timer);
        schedule(world, events, id, life, 1);
    }
    true
}
