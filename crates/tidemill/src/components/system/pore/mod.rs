//! Pore: memory and devices shared with other programs, for components that are drivers.
//!
//! | part | |
//! |---|---|
//! | `state` | open pores by client |
//! | `client` | messages to clients, and their end |
//! | `open` | kinds, and pores that wait for the peer |
//! | `wake` | doorbells in and out, events |
//!
//! A communication owns its pore, so a pore closes with its client, however that ends. Requests to
//! a broken pore have no effect (nothing is read or accepted); Arm reports the reason, in Trouble.
//! An offset outside the memory is an error of the client, which faults.
//!
//! An Event is sent between two answers, never between a request and its answer. A client that has
//! armed may receive it before the answer to a request that it has just sent.
mod client;
mod open;
mod state;
mod wake;

use tidemill_cl::system::pore::{Request, Response};
use tidemill_event::Loop;
use tidemill_pore::{Avail, Error, OwnerId, Pore, PoreId, Wants, Width};
use tidemill_proc::Communication;

use crate::machine::Machine;
pub(super) use client::finished;
pub(super) use state::PoreSystem;
pub(crate) use state::PoreView;
pub(super) use wake::look;

/// The owner of pores that were handed over and not taken yet.
const HANDED: OwnerId = OwnerId(0);
/// The maximum number of such pores.
const HANDED_MAX: usize = 1 << 14;
/// The maximum size of a read.
const READ_MAX: usize = 1 << 20;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    match request {
        Request::Open { kind, argument } => {
            let opened = open::open(world, lp, from, kind.0, argument.0);
            open::answer_opened(world, lp, from, opened);
        }
        Request::Take { id } => {
            let taken = take(world, lp, from, id);
            open::answer_opened(world, lp, from, taken);
        }
        Request::Close => finished(world, lp, from),
        _ => serve_open(world, lp, from, request),
    }
}

/// Serves a request to an open pore.
fn serve_open(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    let Some((owner, pore)) = world.node.systems.pores.pore_of(from) else { return };
    match request {
        Request::Ring => wake::ring(world, lp, from),
        Request::Send { parts } => {
            if send_whole(&mut world.node.systems.pores, from, parts.0).is_err() {
                return fail(world, lp, from);
            }
            wake::ring(world, lp, from);
        }
        Request::Ask { n, parts } => {
            if send_whole(&mut world.node.systems.pores, from, parts.0).is_err() {
                return fail(world, lp, from);
            }
            wake::ring(world, lp, from);
            let wants = Wants { readable: 1, writable: 0 };
            wake::arm(world, lp, from, wants, Some(amount(n).min(READ_MAX)));
        }
        Request::Arm { readable, writable } => {
            let wants = Wants { readable: amount(readable), writable: amount(writable) };
            wake::arm(world, lp, from, wants, None);
        }
        Request::Next { n, writable } => {
            let wants = Wants { readable: 1, writable: amount(writable) };
            wake::arm(world, lp, from, wants, Some(amount(n).min(READ_MAX)));
        }
        Request::HandOver => hand_over(world, lp, from),
        _ => answer(world, lp, from, (owner, pore), request),
    }
    wake::deliver(world, from);
}

/// Clamps a count from a client.
fn amount(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// Answers at once. An error of the client faults it.
fn answer(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    (owner, id): (OwnerId, PoreId),
    request: Request<'_>,
) {
    let mut data = std::mem::take(&mut world.node.systems.pores.data);
    let pore = world.node.systems.pores.pores.get(owner, id);
    let answer = pore.and_then(|pore| answer_of(pore, request, &mut data));
    match answer {
        Ok(Answer::None) => {}
        Ok(Answer::Data) => {
            world.answer(lp, from, Response::Data { data: data.as_slice().into() });
        }
        Ok(Answer::Accepted(n)) => {
            world.answer(lp, from, Response::Accepted { n });
            if let Some(client) = world.node.systems.pores.clients.get_mut(from) {
                client.accepted += n;
            }
        }
        Ok(Answer::Loaded(value)) => world.answer(lp, from, Response::Loaded { value }),
        Ok(Answer::Available(avail)) => {
            let (readable, writable) = (avail.readable as i64, avail.writable as i64);
            world.answer(lp, from, Response::Available { readable, writable });
        }
        Err(_) => fail(world, lp, from),
    }
    world.node.systems.pores.keep_for_data(data);
}

enum Answer {
    None,
    /// The contents of the buffer.
    Data,
    /// The number of accepted bytes.
    Accepted(i64),
    Loaded(i64),
    Available(Avail),
}

/// The answer of a request that needs no wait.
///
/// # Errors
/// An error of the client.
fn answer_of(
    pore: &mut dyn Pore,
    request: Request<'_>,
    data: &mut Vec<u8>,
) -> Result<Answer, Error> {
    match request {
        Request::Avail => Ok(Answer::Available(pore.avail().unwrap_or_default())),
        Request::Read { n } => {
            or_nothing(pore.read(amount(n).min(READ_MAX), data)).map(|_| Answer::Data)
        }
        Request::Peek { n } => {
            or_nothing(pore.peek(amount(n).min(READ_MAX), data)).map(|_| Answer::Data)
        }
        Request::Get { offset, length } => {
            pore.get(unsigned(offset), unsigned(length), data).map(|_| Answer::Data)
        }
        Request::Put { offset, data } => pore.put(unsigned(offset), data).map(|_| Answer::None),
        Request::Write { data } => or_nothing(pore.write(data)).map(Answer::Accepted),
        Request::Load { offset, width } => {
            let value = pore.load(unsigned(offset), self::width(width)?)?;
            Ok(Answer::Loaded(value.cast_signed()))
        }
        Request::Store { offset, width, value } => {
            pore.store(unsigned(offset), self::width(width)?, value.cast_unsigned())?;
            Ok(Answer::None)
        }
        // Served before.
        Request::Open { .. }
        | Request::Take { .. }
        | Request::Send { .. }
        | Request::Ask { .. }
        | Request::Ring
        | Request::Arm { .. }
        | Request::Next { .. }
        | Request::Close
        | Request::HandOver => Ok(Answer::None),
    }
}

/// Writes all of a message, for a client that relies on having room.
///
/// # Errors
/// There is not enough room.
fn send_whole(system: &mut PoreSystem, from: Communication, message: &[u8]) -> Result<(), Error> {
    let client = system.clients.get_mut(from).ok_or(Error::NoSuchPore)?;
    let pore = system.pores.get(client.owner, client.pore.ok_or(Error::NoSuchPore)?)?;
    client.accepted += match pore.write(message) {
        Ok(count) if count < message.len() => {
            return Err(Error::Malformed("there is no room for it"));
        }
        outcome => or_nothing(outcome)?,
    };
    Ok(())
}

/// Maps negative offsets far outside the memory.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn width(bytes: i64) -> Result<Width, Error> {
    Width::of(bytes).ok_or(Error::Malformed("a width is 1, 2, 4 or 8 bytes"))
}

/// A pore broken by the peer reads and accepts nothing.
fn or_nothing(outcome: Result<usize, Error>) -> Result<i64, Error> {
    match outcome {
        Ok(count) => Ok(count as i64),
        Err(error @ (Error::Malformed(_) | Error::OutOfBounds { .. })) => Err(error),
        Err(_) => Ok(0),
    }
}

/// The request was an error of the client: it faults at its next use of the pore.
fn fail(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    finished(world, lp, from);
    world.node.systems.open.remove(from);
    world.node.runner.worker().fail(from);
}

fn hand_over(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some((owner, pore)) = system.pore_of(from) else { return };
    let mut number = 0;
    if system.handed < HANDED_MAX && system.pores.hand_over(owner, pore, HANDED).is_ok() {
        system.handed += 1;
        number = pore.0 as i64;
    }
    world.answer(lp, from, Response::Handed { id: number });
    finished(world, lp, from);
}

fn take(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    number: i64,
) -> Result<open::Opened, Error> {
    let id = PoreId(u64::try_from(number).map_err(|_| Error::NoSuchPore)?);
    let system = &mut world.node.systems.pores;
    let owner = system.new_owner();
    system.pores.hand_over(HANDED, id, owner)?;
    system.handed -= 1;
    open::keep(world, lp, from, owner, id)
}
