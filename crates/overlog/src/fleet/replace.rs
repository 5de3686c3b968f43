//! The nodes of a fleet go on with another program.

use std::sync::Arc;
use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::peer_table::Peers;
use super::periodics::start_periodics;
use super::post::post;
use super::queries::node_ended;
use super::state::{Fleet, NodeId};
use super::system_tables::SystemTables;
use super::turns;
use super::world::World;
use crate::node::{Kept, Program};

/// What this file says at most.
const CEILING: Level = Level::Info;

/// When a node is tried again that was in the middle of a turn.
const AGAIN: Duration = Duration::from_micros(100);

/// Has all nodes go on with another program, each between two turns; nodes that start later start
/// with it. See [`Node::replace`](crate::node::Node::replace).
pub fn replace<W: World>(world: &mut W, events: &mut Loop<W>, program: Arc<Program>) {
    let fleet = world.fleet();
    fleet.program = program;
    for number in 0..fleet.slots.len() {
        let (id, life) = (NodeId(number as u32), world.fleet().slots[number].life);
        replace_one(world, events, id, life);
    }
}

fn replace_one<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    match try_one(world, events, id, life) {
        None | Some(Ok(())) => {}
        Some(Err(Kept::Busy)) => {
            let again = events.now() + AGAIN;
            events.timer(again, move |world, events| replace_one(world, events, id, life));
        }
        Some(Err(why @ Kept::TooMuch)) => {
            let fleet = world.fleet();
            let node = &fleet.slots[id.0 as usize].identity.address;
            fleet.observer.kept(node, why);
        }
    }
}

fn try_one<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    id: NodeId,
    life: u32,
) -> Option<Result<(), Kept>> {
    let program = world.fleet().program.clone();
    let now = events.now();
    let (alive, observer) = world.fleet().alive(id, life)?;
    if Arc::ptr_eq(alive.node.program(), &program) {
        return Some(Ok(()));
    }
    let retired = match alive.node.retire(&program) {
        Ok(retired) => retired,
        Err(why) => return Some(Err(why)),
    };
    alive.hand_over(now.0);
    let due: Vec<Option<Time>> =
        alive.periodics.iter().map(|timer| timer.map(|(_, due)| due)).collect();
    let replaced = match alive.node.replace(&program, now.0, observer) {
        Ok(replaced) => replaced,
        Err(why) => return Some(Err(why)),
    };
    let address = alive.node.identity().address.clone();
    alive.mail.replace(program.post().clone(), &address, now.0);
    alive.hand_over(now.0);
    alive.peers = Peers::new(program.plan());
    let before = alive.system.take().and_then(|system| system.timer);
    alive.system = SystemTables::new(program.plan());
    alive.watch_peers();
    let timers = std::mem::take(&mut alive.periodics).into_iter().flatten();
    timers.map(|(timer, _)| timer).chain(before).for_each(|timer| _ = events.cancel(timer));
    say!(Info, "node", "{address}: goes on with another program");
    let of_new = |old: &Option<usize>| old.and_then(|old| due[old]);
    let due: Vec<Option<Time>> = replaced.timers.iter().map(of_new).collect();
    start_periodics(world, events, id, life, &due);
    // Questions that are being answered stand in the tables of the old program.
    node_ended(world, events, id);
    turns::schedule(world, events, id, life, retired + replaced.follows);
    post(world, events, id, life);
    turns::arm_timers(world, events, id, life);
    Some(Ok(()))
}

impl Fleet {
    /// Whether all living nodes run its program, and not one that it has replaced.
    pub fn is_replaced(&self) -> bool {
        let living = self.slots.iter().filter_map(|slot| slot.alive.as_ref());
        living.into_iter().all(|alive| Arc::ptr_eq(alive.node.program(), &self.program))
    }
}
