//! The socket of a node for datagrams.

use std::io;

use tidemill_event::{Datagrams, Endpoint, Handlers, Interest, Loop, WatchId};

use super::post::post;
use super::state::NodeId;
use super::turns;
use super::world::World;

/// How often datagrams are taken before other work runs.
const RECEIVES: usize = 64 / Datagrams::MOST;

pub(super) fn watch_datagrams<W: World>(
    events: &mut Loop<W>,
    endpoint: Endpoint,
    id: NodeId,
    life: u32,
) -> io::Result<WatchId> {
    let handlers = Handlers::new()
        .read(move |world: &mut W, events: &mut Loop<W>, _| receive(world, events, id, life))
        .error(|_, _, _, _| {});
    events.watch(endpoint, Interest::Read, handlers)
}

/// Reads what has arrived for a node.
fn receive<W: World>(world: &mut W, events: &mut Loop<W>, id: NodeId, life: u32) {
    let now_ns = events.now().0;
    let mut datagrams = std::mem::take(&mut world.fleet().datagrams);
    // Datagrams of one sender mostly come together.
    let (mut sender, mut from) = (None, String::new());
    let mut count = 0;
    for _ in 0..RECEIVES {
        let Some((alive, _)) = world.fleet().alive(id, life) else { break };
        let Ok(are_more) = events.host().recv_all(alive.endpoint, &mut datagrams) else { break };
        for (datagram, address) in datagrams.iter_mut() {
            if sender.replace(address) != Some(address) {
                from.clear();
                from.push_str(&events.host().name_of(address));
            }
            count += match alive.guard {
                Some(_) => alive.open(events.host(), &from, datagram, now_ns),
                None => alive.take_in(&from, datagram, now_ns),
            };
        }
        if !are_more {
            break;
        }
    }
    world.fleet().datagrams = datagrams;
    turns::schedule(world, events, id, life, count);
    post(world, events, id, life);
}
