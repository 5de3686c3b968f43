//! Queries as turns of the loop.
//!
//! ```text
//! receive -> event of the node:     copy the tables that it reads, some rows at a time
//!            event of its queries:  evaluate and send, some steps at a time
//! ```
//! The copy is a turn of the node, so that no other turn of the node changes the tables meanwhile.
//! The rest has an owner of its own and does not hold up the node either.

use tidemill_event::{Address, Loop, Owner};

use super::{NodeId, World};
use crate::query::{Ticket, Worked};

/// Rows that are copied in one call before the loop may let others run.
const COPY_ROWS: u64 = 512;

/// Steps of evaluation in one call.
const STEPS: u64 = 1024;

/// Whose query is at work, and who asks.
#[derive(Clone, Copy)]
pub(super) struct Inquiry {
    pub(super) node: NodeId,
    pub(super) life: u32,
    pub(super) ticket: Ticket,
    pub(super) asker: Address,
}

/// Queues the turn that begins the work on a query.
pub(super) fn begin<W: World>(world: &mut W, events: &mut Loop<W>, inquiry: Inquiry) {
    let Some(slot) = world.fleet().slots.get(inquiry.node.0 as usize) else { return };
    let owner = slot.owner;
    queue(world, events, owner, inquiry, copy);
}

fn queue<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    owner: Owner,
    inquiry: Inquiry,
    part: fn(&mut W, &mut Loop<W>, Inquiry),
) {
    let turn = move |world: &mut W, events: &mut Loop<W>| part(world, events, inquiry);
    if events.event(owner, turn).is_err()
        && let Some((alive, _)) = world.fleet().alive(inquiry.node, inquiry.life)
    {
        alive.answers.give_up(inquiry.ticket);
    }
}

fn copy<W: World>(world: &mut W, events: &mut Loop<W>, inquiry: Inquiry) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(inquiry.node, inquiry.life) else { return };
    let (endpoint, ticket) = (alive.endpoint, inquiry.ticket);
    let send = &mut |datagram: &[u8]| {
        // A datagram that is lost here is asked for again.
        let _ = events.host().send_to(endpoint, inquiry.asker, datagram);
    };
    let worked = alive.answers.copy(ticket, &alive.node, COPY_ROWS, now_ns, send);
    events.charge(COPY_ROWS);
    match worked {
        Worked::More => events.dpc(move |world, events| copy(world, events, inquiry)),
        Worked::Copied => {
            let slot = &mut world.fleet().slots[inquiry.node.0 as usize];
            let owner = *slot.queries.get_or_insert_with(|| events.owner("query"));
            queue(world, events, owner, inquiry, go_on);
        }
        Worked::Done => {}
    }
}

fn go_on<W: World>(world: &mut W, events: &mut Loop<W>, inquiry: Inquiry) {
    let now_ns = events.now().0;
    let Some((alive, _)) = world.fleet().alive(inquiry.node, inquiry.life) else { return };
    let endpoint = alive.endpoint;
    let send = &mut |datagram: &[u8]| {
        let _ = events.host().send_to(endpoint, inquiry.asker, datagram);
    };
    let worked = alive.answers.go_on(inquiry.ticket, STEPS, now_ns, send);
    events.charge(STEPS);
    if worked == Worked::More {
        events.dpc(move |world, events| go_on(world, events, inquiry));
    }
}
