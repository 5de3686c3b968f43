//! Clients: told, and gone.

use tidemill_event::Loop;
use tidemill_proc::{Communication, Refused, Value};

use super::messages::Said;
use super::state::Line;
use crate::machine::Machine;

/// A client has gone.
pub(in crate::components::system) fn finished(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
) {
    let system = &mut world.node.systems.pores;
    let Some(mut line) = system.lines.remove(from) else { return };
    unwatch(lp, &mut line);
    // What was handed over has another owner.
    system.pores.close_all_of(line.owner);
}

pub(super) fn unwatch(lp: &mut Loop<Machine>, line: &mut Line) {
    for watch in line.watches.drain(..) {
        lp.unwatch(watch);
    }
    if let Some(rest) = line.rest.take() {
        lp.cancel(rest);
    }
}

/// Answers a client.
pub(super) fn say(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    to: Communication,
    said: Said,
    values: &[Value<'_>],
) {
    let number = world.node.systems.pores.messages.number(said);
    world.answer_by_number(lp, to, number, values);
}

/// Sends a client what it did not ask for just now; false if that is not its turn.
pub(super) fn send(
    world: &mut Machine,
    to: Communication,
    said: Said,
    values: &[Value<'_>],
) -> bool {
    let number = world.node.systems.pores.messages.number(said);
    !matches!(world.node.runner.worker().answer(to, number, values), Err(Refused::Protocol))
}
