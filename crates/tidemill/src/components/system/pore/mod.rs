//! Pore: what is shared with the outside, for components that are drivers.
//!
//! | part | |
//! |---|---|
//! | `open` | kinds, and pores that wait for the other side |
//! | `wake` | doorbells in and out, events |
//!
//! A communication owns its pore, so a pore closes with its client, however that ends. What a
//! client asks of a pore that is broken has no effect (nothing is read, nothing accepted); Arm
//! tells why, in Trouble. An offset outside the memory is the client's own fault, and faults it.
//!
//! An Event is sent between two answers, never between a question that was taken and its answer.
//! A client that has armed may find it before the answer to a question that it has just sent.

mod open;
mod wake;

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use tidemill_event::{Loop, TimerId, WatchId};
use tidemill_pore::memfd::Shape;
use tidemill_pore::{Error, Event, OwnerId, PoreId, Pores, Wants, Width};
use tidemill_proc::{Communication, Refused, Value};

use super::confined::{Listener, Root};
use super::{System, Values, World, integer, text};

/// Pores that were handed over and that nobody has taken.
const HANDED: OwnerId = OwnerId(0);
/// How many of them there may be.
const HANDED_MAX: usize = 1 << 14;
/// Bytes read at once.
const READ_MAX: usize = 1 << 20;

/// A pore that waits for the other side before it is one.
enum Opening {
    /// Somebody has to connect.
    Listener(Listener, Shape, u32),
    /// The other side has to send its descriptors.
    Rings(UnixStream),
    /// The same, of a page.
    Page(UnixStream),
}

/// What a client has.
struct Line {
    owner: OwnerId,
    pore: Option<PoreId>,
    opening: Option<Opening>,
    watches: Vec<WatchId>,
    /// The one among them that is watched only while an event is asked for.
    ready: Option<WatchId>,
    /// An event that could not be sent between a question and its answer.
    event: Option<Event>,
    /// It has rung in this turn; rings again at its end, if asked to.
    has_rung: bool,
    shall_ring: bool,
    /// Rings of the other side in a row that told nothing.
    vain: u32,
    /// When its bell is looked at again, after too many of these.
    rest: Option<TimerId>,
}

/// All pores of a program.
pub(super) struct PoreSystem {
    root: Option<Rc<Root>>,
    pores: Pores,
    lines: BTreeMap<Communication, Line>,
    last_owner: u64,
    handed: usize,
    wake: wake::Wake,
}

impl PoreSystem {
    pub(super) fn new(root: Option<Rc<Root>>) -> PoreSystem {
        PoreSystem {
            root,
            pores: Pores::new(),
            lines: BTreeMap::new(),
            last_owner: 0,
            handed: 0,
            wake: wake::Wake::default(),
        }
    }

    fn new_owner(&mut self) -> OwnerId {
        self.last_owner += 1;
        OwnerId(self.last_owner)
    }

    /// Its owner and name, if it is open.
    fn pore_of(&self, from: Communication) -> Option<(OwnerId, PoreId)> {
        let line = self.lines.get(&from)?;
        Some((line.owner, line.pore?))
    }
}

pub(super) fn serve(
    world: &mut World,
    lp: &mut Loop<World>,
    from: Communication,
    message: &str,
    mut values: Values,
) {
    match message {
        "Open" => {
            let (kind, argument) = (values.text(), values.text());
            let opened = open::open(world, lp, from, &kind, &argument);
            return open::tell(world, lp, from, opened);
        }
        "Take" => {
            let taken = take(world, lp, from, values.integer());
            return open::tell(world, lp, from, taken);
        }
        "Close" => return finished(world, lp, from),
        _ => {}
    }
    let Some((owner, pore)) = world.systems.pores.pore_of(from) else { return };
    match message {
        "Ring" => wake::ring(world, lp, from),
        "Send" => match send_whole(&mut world.systems.pores.pores, owner, pore, values) {
            Ok(()) => wake::ring(world, lp, from),
            Err(_) => return fail(world, lp, from),
        },
        "Arm" => {
            let mut amount = || usize::try_from(values.integer()).unwrap_or(0);
            let wants = Wants { readable: amount(), writable: amount() };
            wake::arm(world, lp, from, wants);
        }
        "HandOver" => hand_over(world, lp, from),
        _ => match answer(&mut world.systems.pores.pores, owner, pore, message, values) {
            Ok(Some((message, values))) => world.answer(lp, from, message, values),
            Ok(None) => {}
            Err(_) => fail(world, lp, from),
        },
    }
    wake::deliver(world, from);
}

type Answer = Option<(&'static str, Vec<Value>)>;

/// What is answered at once.
///
/// # Errors
/// It is the client's fault.
fn answer(
    pores: &mut Pores,
    owner: OwnerId,
    id: PoreId,
    message: &str,
    mut values: Values,
) -> Result<Answer, Error> {
    let pore = pores.get(owner, id)?;
    let mut data = Vec::new();
    let amount = |n: i64| usize::try_from(n).unwrap_or(0).min(READ_MAX);
    let answer = match message {
        "Avail" => {
            let avail = pore.avail().unwrap_or_default();
            let (readable, writable) = (avail.readable as i64, avail.writable as i64);
            ("Available", vec![integer(readable), integer(writable)])
        }
        "Read" => {
            or_nothing(pore.read(amount(values.integer()), &mut data))?;
            ("Data", vec![text(data)])
        }
        "Peek" => {
            or_nothing(pore.peek(amount(values.integer()), &mut data))?;
            ("Data", vec![text(data)])
        }
        "Get" => {
            let (offset, length) = (unsigned(values.integer()), unsigned(values.integer()));
            pore.get(offset, length, &mut data)?;
            ("Data", vec![text(data)])
        }
        "Put" => {
            let offset = unsigned(values.integer());
            pore.put(offset, &values.bytes())?;
            return Ok(None);
        }
        "Write" => ("Accepted", vec![integer(or_nothing(pore.write(&values.bytes()))?)]),
        "Load" => {
            let offset = unsigned(values.integer());
            let value = pore.load(offset, width(values.integer())?)?;
            ("Loaded", vec![integer(value.cast_signed())])
        }
        "Store" => {
            let offset = unsigned(values.integer());
            let width = width(values.integer())?;
            pore.store(offset, width, values.integer().cast_unsigned())?;
            return Ok(None);
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

/// Writes four parts as one, all of it, for a client that knows there is room.
///
/// # Errors
/// It was wrong about that.
fn send_whole(
    pores: &mut Pores,
    owner: OwnerId,
    id: PoreId,
    mut values: Values,
) -> Result<(), Error> {
    let pore = pores.get(owner, id)?;
    let parts: [Vec<u8>; 4] = std::array::from_fn(|_| values.bytes());
    let message = parts.concat();
    match pore.write(&message) {
        Ok(count) if count < message.len() => Err(Error::Malformed("there is no room for it")),
        outcome => or_nothing(outcome).map(drop),
    }
}

/// Offsets below 0 are far outside.
fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn width(bytes: i64) -> Result<Width, Error> {
    Width::of(bytes).ok_or(Error::Malformed("a width is 1, 2, 4 or 8 bytes"))
}

/// A pore that the other side has broken reads and accepts nothing.
fn or_nothing(outcome: Result<usize, Error>) -> Result<i64, Error> {
    match outcome {
        Ok(count) => Ok(count as i64),
        Err(error @ (Error::Malformed(_) | Error::OutOfBounds { .. })) => Err(error),
        Err(_) => Ok(0),
    }
}

/// What the client asked for is its own mistake: it faults at its next use of the pore.
fn fail(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    finished(world, lp, from);
    world.systems.open.remove(&from);
    world.runner.worker.fail(from);
}

fn hand_over(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let system = &mut world.systems.pores;
    let Some((owner, pore)) = system.pore_of(from) else { return };
    let mut number = 0;
    if system.handed < HANDED_MAX && system.pores.hand_over(owner, pore, HANDED).is_ok() {
        system.handed += 1;
        number = pore.0 as i64;
    }
    world.answer(lp, from, "Handed", vec![integer(number)]);
    finished(world, lp, from);
}

fn take(
    world: &mut World,
    lp: &mut Loop<World>,
    from: Communication,
    number: i64,
) -> Result<open::Opened, Error> {
    let id = PoreId(u64::try_from(number).map_err(|_| Error::NoSuchPore)?);
    let system = &mut world.systems.pores;
    let owner = system.new_owner();
    system.pores.hand_over(HANDED, id, owner)?;
    system.handed -= 1;
    open::keep(world, lp, from, owner, id)
}

/// A client has gone.
pub(super) fn finished(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let system = &mut world.systems.pores;
    let Some(mut line) = system.lines.remove(&from) else { return };
    unwatch(lp, &mut line);
    // What was handed over has another owner.
    system.pores.close_all_of(line.owner);
}

fn unwatch(lp: &mut Loop<World>, line: &mut Line) {
    for watch in line.watches.drain(..) {
        lp.unwatch(watch);
    }
    if let Some(rest) = line.rest.take() {
        lp.cancel(rest);
    }
}

/// Sends a client what it did not ask for just now; false if that is not its turn.
fn send(world: &mut World, to: Communication, message: &str, values: Vec<Value>) -> bool {
    let mut names = world.systems.messages[System::Pore as usize].iter();
    let Some(number) = names.position(|name| name == message) else { return true };
    let answered = world.runner.worker.answer(to, number as u32, values);
    !matches!(answered, Err(Refused::Protocol))
}
