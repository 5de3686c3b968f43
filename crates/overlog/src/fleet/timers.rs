//! Timers of nodes: periodics, expiry of rows, rows held back, retransmission.

use std::time::Duration;

use tidemill_event::{Loop, Time, TimerId};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::peers::Clocks;
use super::{Alive, INBOX_MAX, NodeId, World, streams, turns};
use crate::node::Event;
use tidemill_fabric::counters::Counters;

/// What this file says at most.
const CEILING: Level = Level::Debug;

/// The least time between two firings: what one of period 0 costs.
const PERIOD_MIN: Duration = Duration::from_micros(1);

pub(super) fn start_periodics<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    life: u32,
) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let periodics = alive.node.periodics().to_vec();
    let mut timers = Vec::with_capacity(periodics.len());
    for (timer, periodic) in periodics.iter().enumerate() {
        if periodic.left == Some(0) {
            continue;
        }
        let at = events.now() + Duration::from_nanos(periodic.period_ns);
        let mut due = at;
        timers.push(events.alarm(at, move |world: &mut W, events: &mut Loop<W>, alarm| {
            if let Some(next) = fire(world, events, id, life, timer, due) {
                due = next;
                events.rearm(alarm, next);
            }
        }));
    }
    if let Some((alive, _)) = world.fleet().alive(id, life) {
        alive.periodics = timers;
    }
}

/// Queues one firing; returns when the next is due. Firings that are late are skipped.
fn fire<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    life: u32,
    timer: usize,
    due: Time,
) -> Option<Time> {
    let (alive, _) = world.fleet().alive(id, life)?;
    let period = Duration::from_nanos(alive.node.periodics()[timer].period_ns).max(PERIOD_MIN);
    let node = &mut alive.node;
    let mut more = true;
    let mut fired = false;
    if node.fires_already(timer) || node.waiting() >= INBOX_MAX {
        node.counters_mut().periodics_skipped += 1;
        say!(Debug, "node", "{}: a periodic is late and skipped", node.identity().address);
    } else {
        more = node.fire(timer);
        fired = true;
    }
    turns::schedule(world, events, id, life, usize::from(fired));
    let late = events.now().since(due).as_nanos() / period.as_nanos();
    let next = due + period * u32::try_from(late + 1).unwrap_or(u32::MAX);
    more.then_some(next.max(events.now() + Duration::from_nanos(1)))
}

/// Sets the timer for the next row that expires.
pub(super) fn arm_expiry<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(at) = alive.node.next_expiry_ns() else { return };
    arm(&mut alive.expiry, events, Time(at), move |world: &mut W, events: &mut Loop<W>| {
        let Some((alive, _)) = world.fleet().alive(id, life) else { return };
        alive.node.enqueue(Event::Expiry);
        turns::schedule(world, events, id, life, 1);
    });
}

/// Sets the timer for the end of a hold.
pub(super) fn arm_release<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let Some(at) = alive.node.next_release_ns() else { return };
    arm(&mut alive.release, events, Time(at), move |world: &mut W, events: &mut Loop<W>| {
        let Some((alive, _)) = world.fleet().alive(id, life) else { return };
        alive.node.release();
        turns::schedule(world, events, id, life, 1);
    });
}

/// Sends what the node's mail has ready and sets the timer for what must be sent again.
pub(super) fn post<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    alive.flush(events, now_ns);
    streams::pump(world, events, id, life);
    arm_post(world, events, id, life);
}

/// Sets the timer for what the node's mail and its connections have to do next.
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

/// Sets a timer of a node to `at`, made to call `f` if there is none yet.
fn arm<W: World>(
    timer: &mut Option<TimerId>,
    events: &mut Loop<W>,
    at: Time,
    mut f: impl FnMut(&mut W, &mut Loop<W>) + 'static,
) {
    match *timer {
        Some(timer) => {
            events.rearm(timer, at);
        }
        None => *timer = Some(events.alarm(at, move |world, events, _| f(world, events))),
    }
}

/// Something must be sent again, or a peer was not heard of for too long.
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
    /// Gives what may go now to the host, or to the node's connections.
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
