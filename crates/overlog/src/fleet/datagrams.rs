//! The socket of a node for datagrams.

use std::io;

use tidemill_event::{Endpoint, Handlers, Interest, Loop, WatchId};

use super::post::post;
use super::state::NodeId;
use super::turns;
use super::world::World;

/// Datagrams read in one call before other work runs.
const RECEIVE_BATCH: usize = 64;

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
    let mut buffer = world.fleet().take_buffer();
    let mut from = String::new();
    let mut count = 0;
    for _ in 0..RECEIVE_BATCH {
        let Some((alive, _)) = world.fleet().alive(id, life) else { break };
        let Ok(Some((length, address))) = events.host().recv(alive.endpoint, &mut buffer) else {
            break;
        };
        from.clear();
        from.push_str(&events.host().name_of(address));
        if alive.guard.is_some() {
            count += alive.open(events.host(), &from, &mut buffer[..length], now_ns);
            continue;
        }
        count += alive.take_in(&from, &buffer[..length], now_ns);
    }
    world.fleet().give_back(buffer);
    turns::schedule(world, events, id, life, count);
    post(world, events, id, life);
}
