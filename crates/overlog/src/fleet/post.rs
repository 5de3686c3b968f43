//! Posting: sends what a node's mail has ready, and retransmits it on timeouts.

use tidemill_event::{Loop, Time};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::alarm::arm;
use super::clocks::Clocks;
use super::state::{Alive, NodeId};
use super::world::World;
use super::{streams, turns};
use tidemill_fabric::counters::Counters;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Debug;

/// Sends what the node's mail has ready and sets the timer for what must be sent again.
pub(super) fn post<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    alive.flush(events, now_ns);
    streams::pump(world, events, id, life);
    arm_post(world, events, id, life);
}

/// Sets the timer for the next timeout of the node's mail and its connections.
pub(super) fn arm_post<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let clocks = Clocks::of(events);
    let changed = alive.note_peers(clocks);
    turns::schedule(world, events, id, life, changed);
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let guard = alive.guard.as_ref().and_then(|guard| guard.next_timeout());
    let streams = alive.streams.as_ref();
    let streams = streams.and_then(|streams| streams.connections().next_timeout());
    let next = [alive.mail.next_timeout_ns(), guard, streams].into_iter().flatten().min();
    let Some(at) = next else { return };
    arm(&mut alive.post, events, Time(at), move |world: &mut W, events: &mut Loop<W>| {
        overdue(world, events, id, life);
    });
}

/// Handles a timeout: something must be sent again, or a peer was silent for too long.
fn overdue<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    alive.mail.on_time(now_ns);
    alive.guarded(events.host(), now_ns, |guard, cx| guard.on_time(cx));
    let count = alive.settle_fates();
    streams::on_time(world, events, id, life);
    turns::schedule(world, events, id, life, count);
    post(world, events, id, life);
}

impl Alive {
    /// Passes what may be sent now to the host, or to the node's connections.
    fn flush<W: World>(&mut self, events: &mut Loop<W>, now_ns: u64) {
        let endpoint = self.endpoint;
        if self.guard.is_some() {
            return self.seal_all(events.host(), now_ns);
        }
        let Some(streams) = &mut self.streams else {
            let mut unsent = 0;
            self.mail.flush(now_ns, &mut |to, datagram| {
                unsent += u64::from(events.host().send(endpoint, to, datagram).is_err());
            });
            if unsent > 0 {
                let name = &self.node.identity().address;
                say!(Debug, "net", "{name}: {unsent} datagrams were not taken for sending");
            }
            return self.mail.count_unsent(unsent);
        };
        let mut drops = Counters::new();
        let name = &self.node.identity().address;
        self.mail.flush(now_ns, &mut |to, envelope| streams.send(to, envelope, now_ns, &mut drops));
        if let Some(reason) = drops.dropped_since(0) {
            let count = drops.drops();
            say!(Debug, "net", "{name}: dropped {count} frames to be sent: {}", reason.name());
        }
        self.mail.counters_mut().merge(&drops);
    }
}
