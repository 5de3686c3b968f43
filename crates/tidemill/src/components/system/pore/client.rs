//! Messages to clients, and their end.

use tidemill_cl::system::Response as _;
use tidemill_cl::system::pore::Response;
use tidemill_event::Loop;
use tidemill_proc::{Communication, Refused};

use super::state::PoreClient;
use crate::machine::Machine;

/// A client has ended.
pub(in crate::components::system) fn finished(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
) {
    let system = &mut world.node.systems.pores;
    let Some(mut client) = system.clients.remove(from) else { return };
    unwatch(lp, &mut client);
    // A pore that was handed over has another owner.
    system.pores.close_all_of(client.owner);
}

pub(super) fn unwatch(lp: &mut Loop<Machine>, client: &mut PoreClient) {
    for watch in client.watches.drain(..) {
        lp.unwatch(watch);
    }
    if let Some(timer) = client.paused.take() {
        lp.cancel(timer);
    }
}

/// Sends an unsolicited message to a client; returns false if the protocol does not allow one now.
pub(super) fn send(world: &mut Machine, to: Communication, response: Response<'_>) -> bool {
    response.send(|number, values| {
        !matches!(world.node.runner.worker().answer(to, number, values), Err(Refused::Protocol))
    })
}
