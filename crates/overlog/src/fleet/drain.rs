//! Draining: no new work, but what was begun is finished and what was sent is delivered.
//!
//! Periodics stop, and nothing is taken any more from nodes outside of the fleet, so those who send
//! it reliably keep it. Inboxes are emptied, and what reliable links have not yet delivered is sent
//! until it is acknowledged.

use tidemill_event::Loop;
use tidemill_stdx::sorted::SortedSet;

use super::state::Fleet;
use super::world::World;
use crate::net::address::canonical;

/// Begins to drain all living nodes; [`Fleet::is_drained`] says when it is done.
pub fn drain<W: World>(world: &mut W, events: &mut Loop<W>) {
    let fleet = world.fleet();
    let addresses = fleet.slots.iter().map(|slot| canonical(&slot.identity.address).into_owned());
    let members: SortedSet<String> = addresses.collect();
    for alive in fleet.slots.iter_mut().filter_map(|slot| slot.alive.as_mut()) {
        for (timer, _) in alive.periodics.drain(..).flatten() {
            events.cancel(timer);
        }
        alive.mail.take_only_from(members.clone());
    }
}

impl Fleet {
    /// True if no node has anything left to do or to deliver: what follows from time alone, such as
    /// the expiry of rows, does not count.
    pub fn is_drained(&self) -> bool {
        self.slots.iter().filter_map(|slot| slot.alive.as_ref()).all(|alive| {
            !alive.node.is_busy()
                && alive.mail.is_delivered()
                && alive.guard.as_ref().is_none_or(|guard| guard.has_sent_all())
                && alive
                    .streams
                    .as_ref()
                    .is_none_or(|streams| streams.connections().has_written_all())
        })
    }
}
