//! Periodics of nodes.

use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::state::{INBOX_MAX, NodeId};
use super::turns;
use super::world::World;
use crate::node::Periodic;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Debug;

/// The least time between two firings, for a period of 0.
const PERIOD_MIN: Duration = Duration::from_micros(1);

/// Starts the timers of a node, each after its period or at the time that is `due`.
pub(super) fn start_periodics<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    life: u32,
    due: &[Option<Time>],
) {
    let Some((alive, _)) = world.fleet().alive(id, life) else { return };
    let periodics = alive.node.periodics().to_vec();
    let spans: Vec<u64> =
        periodics.iter().map(|periodic| alive.span_ns(periodic.period_ns)).collect();
    let start = |(timer, periodic): (usize, &Periodic)| {
        if periodic.left == Some(0) {
            return None;
        }
        let first = events.now() + Duration::from_nanos(spans[timer]);
        let at = due.get(timer).copied().flatten().unwrap_or(first);
        let alarm = events.alarm(at, move |world: &mut W, events: &mut Loop<W>, alarm| {
            if let Some(next) = fire(world, events, id, life, timer) {
                events.rearm(alarm, next);
            }
        });
        Some((alarm, at))
    };
    let timers = periodics.iter().enumerate().map(start).collect();
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
) -> Option<Time> {
    let holds = world.fleet().holds_timers;
    let (alive, _) = world.fleet().alive(id, life)?;
    let (alarm, due) = alive.periodics.get_mut(timer)?.take()?;
    let period_ns = alive.span_ns(alive.node.periodics()[timer].period_ns);
    let period = Duration::from_nanos(period_ns).max(PERIOD_MIN);
    let node = &mut alive.node;
    let mut more = true;
    let mut fired = false;
    if holds {
        // It is fired explicitly.
    } else if node.fires_already(timer) || node.waiting() >= INBOX_MAX {
        node.counters_mut().periodics_skipped += 1;
        say!(Debug, "node", "{}: a periodic is late and skipped", node.identity().address);
    } else {
        more = node.fire(timer);
        fired = true;
    }
    let late = events.now().since(due).as_nanos() / period.as_nanos();
    let next = due + period * u32::try_from(late + 1).unwrap_or(u32::MAX);
    let next = more.then_some(next.max(events.now() + Duration::from_nanos(1)));
    alive.periodics[timer] = next.map(|next| (alarm, next));
    turns::schedule(world, events, id, life, usize::from(fired));
    next
}
