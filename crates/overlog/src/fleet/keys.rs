//! Replacing the keys of all nodes, while they run.

use tidemill_event::Loop;
use tidemill_fabric::counters::Count;

use super::post::post;
use super::seal::Seal;
use super::state::Fleet;
use super::world::World;

/// Replaces the keys and the list of known peers of all nodes, and of those that start from now on.
/// Identities stay; sessions go on until they are replaced, unless their peer is no longer in the
/// list.
pub fn replace_keys<W: World>(world: &mut W, events: &mut Loop<W>, seal: &Seal) {
    let now_ns = events.now().0;
    let fleet = world.fleet();
    if let Some(old) = &mut fleet.seal {
        *old = Seal { identity: old.identity.clone(), ..seal.clone() };
    }
    for id in fleet.ids() {
        let Some(slot) = world.fleet().slots.get_mut(id.0 as usize) else { continue };
        let (Some(alive), life) = (&mut slot.alive, slot.life) else { continue };
        let (keys, known) = (seal.keys.clone(), seal.known.clone());
        let counters = alive.mail.counters_mut();
        if let Some(guard) = &mut alive.guard {
            guard.set_keys(keys);
            guard.set_known(known, counters);
        } else if let Some(streams) = &mut alive.streams {
            streams.with(events.host(), now_ns, counters, |connections, cx| {
                connections.replace_keys(keys, known, cx);
            });
        }
        alive.mail.counters_mut().count(Count::KeysTaken);
        post(world, events, id, life);
    }
}

impl Fleet {
    /// Notes that keys could not be replaced.
    pub fn keep_keys(&mut self) {
        for alive in self.slots.iter_mut().filter_map(|slot| slot.alive.as_mut()) {
            alive.mail.counters_mut().count(Count::KeysRefused);
        }
    }
}
