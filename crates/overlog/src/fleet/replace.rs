//! Replacing the program of all nodes of a fleet.

use std::sync::Arc;
use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_relation::plan::RelationId;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;
use tidemill_stdx::sorted::SortedSet;

use super::peer_table::Peers;
use super::periodics::start_periodics;
use super::post::post;
use super::queries::node_ended;
use super::state::{Extra, Fleet, NodeId};
use super::system_tables::SystemTables;
use super::turns;
use super::world::{Switched, World};
use crate::node::{Emptied, Event, Kept, Program, Replacement};

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Info;

/// The delay before the next try if a node was in the middle of a turn.
const AGAIN: Duration = Duration::from_micros(100);

/// Switches all nodes to another program, between two turns; nodes that start later start with it.
/// See [`Node::prepare`](crate::node::Node::prepare).
///
/// # Errors
/// Why a node cannot; then none does. If one is in the middle of a turn it is tried again, with the
/// last program that was given, and the observer is notified should it fail then.
pub fn replace<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    program: Arc<Program>,
) -> Result<(), Kept> {
    match world.fleet().pending.replace(program) {
        Some(_) => Ok(()),
        None => attempt(world, events),
    }
}

/// Checks whether all nodes that are not in the middle of a turn could switch to another program
/// now, without switching; returns the tables that would start anew.
///
/// # Errors
/// Why a node cannot.
pub fn can_replace<W: World>(
    world: &mut W,
    events: &Loop<W>,
    program: &Arc<Program>,
) -> Result<SortedSet<Emptied>, Kept> {
    let now_ns = events.now().0;
    let Fleet { slots, observer, .. } = world.fleet();
    let mut emptied = SortedSet::new();
    for alive in slots.iter_mut().filter_map(|slot| slot.alive.as_mut()) {
        match alive.node.prepare(program, now_ns, &mut **observer) {
            Ok(replacement) => emptied.extend(alive.node.emptied(&replacement)),
            Err(Kept::Busy) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(emptied)
}

fn attempt<W: World>(world: &mut W, events: &mut Loop<W>) -> Result<(), Kept> {
    let now_ns = events.now().0;
    let Fleet { slots, observer, pending, .. } = world.fleet();
    let Some(program) = pending.clone() else { return Ok(()) };
    let (mut prepared, mut emptied) = (Vec::new(), SortedSet::new());
    for (number, slot) in (0..).zip(&mut *slots) {
        let Some(alive) = &mut slot.alive else { continue };
        match alive.node.prepare(&program, now_ns, &mut **observer) {
            Ok(replacement) => {
                emptied.extend(alive.node.emptied(&replacement));
                prepared.push((NodeId(number), slot.life, replacement));
            }
            Err(Kept::Busy) => {
                let again = events.now() + AGAIN;
                events.timer(again, |world, events| {
                    if let Err(why) = attempt(world, events) {
                        world.fleet().observer.kept(why);
                    }
                });
                return Ok(());
            }
            Err(why @ Kept::TooMuch) => {
                *pending = None;
                return Err(why);
            }
        }
    }
    *pending = None;
    world.replacing(events, &emptied);
    let old = take_over(world.fleet(), program);
    let mut crossings = Vec::new();
    for (id, life, replacement) in prepared {
        replace_one(world, events, (id, life), replacement);
        if let Some((alive, _)) = world.fleet().alive(id, life) {
            crossings.push((id, alive.node.take_crossings()));
        }
    }
    world.replaced(events, Switched { old, crossings });
    Ok(())
}

/// Switches what new nodes begin with to another program; returns the old one.
fn take_over(fleet: &mut Fleet, program: Arc<Program>) -> Arc<Program> {
    let old = std::mem::replace(&mut fleet.program, program);
    let plan = fleet.program.plan();
    let of_new = |relation: RelationId| plan.find(&old.plan().relation(relation).name);
    let extra = std::mem::take(&mut fleet.extra).into_iter();
    let extra = extra.filter_map(|extra| {
        let relation = of_new(extra.relation)?;
        let fits = plan.relation(relation).takes(extra.columns.len());
        fits.then_some(Extra { relation, ..extra })
    });
    fleet.extra = extra.collect();
    if let Some(Event::Everywhere { relation, rows }) = fleet.opening.take() {
        let relation = of_new(relation);
        fleet.opening = relation.map(|relation| Event::Everywhere { relation, rows });
    }
    old
}

fn replace_one<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    (id, life): (NodeId, u32),
    replacement: Replacement,
) {
    let now = events.now();
    let clock = world.fleet().clock_of_new(events);
    let Some((alive, observer)) = world.fleet().alive(id, life) else { return };
    let retired = alive.node.retire(&replacement);
    alive.hand_over(now.0);
    let due: Vec<Option<Time>> =
        alive.periodics.iter().map(|timer| timer.map(|(_, due)| due)).collect();
    let replaced = alive.node.replace(replacement, now.0, observer);
    alive.node.measure(clock);
    let address = alive.node.identity().address.clone();
    let program = alive.node.program().clone();
    alive.mail.replace(program.post().clone(), &address, now.0);
    alive.hand_over(now.0);
    alive.peers = Peers::new(program.plan());
    let before = alive.system.take().and_then(|system| system.timer);
    alive.system = SystemTables::new(&program);
    alive.watch_peers();
    let timers = std::mem::take(&mut alive.periodics).into_iter().flatten();
    timers.map(|(timer, _)| timer).chain(before).for_each(|timer| _ = events.cancel(timer));
    say!(Info, "node", "{address}: goes on with another program, {} dropped", replaced.dropped);
    let of_new = |old: &Option<usize>| old.and_then(|old| due[old]);
    let due: Vec<Option<Time>> = replaced.timers.iter().map(of_new).collect();
    start_periodics(world, events, id, life, &due);
    // Questions under way read the tables of the old program.
    node_ended(world, events, id);
    turns::schedule(world, events, id, life, retired + replaced.follows);
    post(world, events, id, life);
    turns::arm_timers(world, events, id, life);
}
