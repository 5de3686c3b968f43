//! Pore: what is shared with the outside, for components that are drivers.
//!
//! | part | |
//! |---|---|
//! | `messages` | what clients ask, and are told |
//! | `open` | kinds, and pores that wait for the other side |
//! | `wake` | doorbells in and out, events |
//!
//! A communication owns its pore, so a pore closes with its client, however that ends. What a
//! client asks of a pore that is broken has no effect (nothing is read, nothing accepted); Arm
//! tells why, in Trouble. An offset outside the memory is the client's own fault, and faults it.
//!
//! An Event is sent between two answers, never between a question that was taken and its answer.
//! A client that has armed may find it before the answer to a question that it has just sent.

mod messages;
mod open;
mod wake;

use std::os::unix::net::UnixStream;
use std::rc::Rc;

use tidemill_event::{Loop, TimerId, WatchId};
use tidemill_pore::memfd::Shape;
use tidemill_pore::{Avail, Error, OwnerId, Pore, PoreId, Pores, Wants, Width};
use tidemill_proc::{Communication, CommunicationMap, Refused, Value, Values};

use super::confined::{Listener, Root};
use super::{Machine, integer, lent, text};
use messages::{Asked, Messages, Said};
pub(super) use wake::look;

/// Pores that were handed over and that nobody has taken.
const HANDED: OwnerId = OwnerId(0);
/// How many of them there may be.
const HANDED_MAX: usize = 1 << 14;
/// Bytes read at once.
const READ_MAX: usize = 1 << 20;
/// Memory kept for the next read, at most.
const KEPT_BYTES_MAX: usize = 1 << 16;

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
    event: Option<wake::Happened>,
    /// So much is to be read for the event.
    reads: Option<usize>,
    /// Bytes accepted since it was opened.
    accepted: i64,
    /// It is among those that are looked at, and those that are at the end of the turn.
    is_listed: bool,
    is_touched: bool,
    /// It has rung in this turn; rings again at its end, if asked to.
    has_rung: bool,
    shall_ring: bool,
    /// Rings of the other side in a row that told nothing.
    vain: u32,
    /// When its bell is looked at again, after too many of these.
    rest: Option<TimerId>,
}

/// A pore as it is now.
pub(crate) struct PoreView {
    /// What names it where it is handed over.
    pub(crate) number: u64,
    pub(crate) kind: &'static str,
    /// Something can be read; something would be accepted.
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// All pores of a program.
pub(super) struct PoreSystem {
    root: Option<Rc<Root>>,
    pores: Pores,
    lines: CommunicationMap<Line>,
    messages: Messages,
    /// Memory for what is read.
    data: Vec<u8>,
    last_owner: u64,
    handed: usize,
    wake: wake::Wake,
}

impl PoreSystem {
    /// With the names of the messages, by their numbers.
    pub(super) fn new(root: Option<Rc<Root>>, names: &[String]) -> PoreSystem {
        PoreSystem {
            root,
            pores: Pores::new(),
            lines: CommunicationMap::default(),
            messages: Messages::new(names),
            data: Vec::new(),
            last_owner: 0,
            handed: 0,
            wake: wake::Wake::default(),
        }
    }

    /// Frames that the kernel dropped before a pore could read them.
    pub(super) fn dropped(&mut self) -> u64 {
        self.pores.dropped()
    }

    /// What is open, with the communication that owns each.
    pub(super) fn list(&mut self) -> Vec<(Communication, PoreView)> {
        let PoreSystem { pores, lines, .. } = self;
        let open = lines.iter().filter_map(|(from, line)| Some((from, line.owner, line.pore?)));
        let view = |(from, owner, id): (Communication, OwnerId, PoreId)| {
            let pore = pores.get(owner, id).ok()?;
            // A pore that the other side has broken gives and takes nothing.
            let avail = pore.avail().unwrap_or_default();
            let (kind, number) = (pore.kind().name(), id.0);
            let (readable, writable) = (avail.readable > 0, avail.writable > 0);
            Some((from, PoreView { number, kind, readable, writable }))
        };
        open.filter_map(view).collect()
    }

    /// Takes the buffer back, unless it has become large.
    fn keep_for_data(&mut self, mut data: Vec<u8>) {
        if data.capacity() <= KEPT_BYTES_MAX {
            data.clear();
            self.data = data;
        }
    }

    fn new_owner(&mut self) -> OwnerId {
        self.last_owner += 1;
        OwnerId(self.last_owner)
    }

    /// Its owner and name, if it is open.
    fn pore_of(&self, from: Communication) -> Option<(OwnerId, PoreId)> {
        let line = self.lines.get(from)?;
        Some((line.owner, line.pore?))
    }
}

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: u32,
    values: &Values,
) {
    let Some(asked) = world.node.systems.pores.messages.asked(message) else { return };
    match asked {
        Asked::Open => {
            let (kind, argument) = (values.text(), values.text());
            let opened = open::open(world, lp, from, kind, argument);
            return open::tell(world, lp, from, opened);
        }
        Asked::Take => {
            let taken = take(world, lp, from, values.integer());
            return open::tell(world, lp, from, taken);
        }
        Asked::Close => return finished(world, lp, from),
        _ => {}
    }
    let Some((owner, pore)) = world.node.systems.pores.pore_of(from) else { return };
    match asked {
        Asked::Ring => wake::ring(world, lp, from),
        Asked::Send | Asked::Ask => {
            let reads = (asked == Asked::Ask).then(|| amount(values).min(READ_MAX));
            if send_whole(&mut world.node.systems.pores, from, values.joined()).is_err() {
                return fail(world, lp, from);
            }
            wake::ring(world, lp, from);
            if reads.is_some() {
                wake::arm(world, lp, from, Wants { readable: 1, writable: 0 }, reads);
            }
        }
        Asked::Arm => {
            let wants = Wants { readable: amount(values), writable: amount(values) };
            wake::arm(world, lp, from, wants, None);
        }
        Asked::Next => {
            let (bytes, writable) = (amount(values).min(READ_MAX), amount(values));
            wake::arm(world, lp, from, Wants { readable: 1, writable }, Some(bytes));
        }
        Asked::HandOver => hand_over(world, lp, from),
        _ => answer(world, lp, from, (owner, pore), asked, values),
    }
    wake::deliver(world, from);
}

/// Of what there may be nothing, or much.
fn amount(values: &Values) -> usize {
    usize::try_from(values.integer()).unwrap_or(0)
}

/// Answers at once. What is the client's own fault faults it.
fn answer(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    (owner, id): (OwnerId, PoreId),
    asked: Asked,
    values: &Values,
) {
    let mut data = std::mem::take(&mut world.node.systems.pores.data);
    let pore = world.node.systems.pores.pores.get(owner, id);
    let answer = pore.and_then(|pore| answer_of(pore, asked, values, &mut data));
    match answer {
        Ok(Answer::None) => {}
        Ok(Answer::Data) => say(world, lp, from, Said::Data, &[lent(&data)]),
        Ok(Answer::One(said, value)) => say(world, lp, from, said, &[integer(value)]),
        Ok(Answer::Available(avail)) => {
            let values = [integer(avail.readable as i64), integer(avail.writable as i64)];
            say(world, lp, from, Said::Available, &values);
        }
        Err(_) => fail(world, lp, from),
    }
    if let (Asked::Write, Ok(Answer::One(_, count))) = (asked, answer)
        && let Some(line) = world.node.systems.pores.lines.get_mut(from)
    {
        line.accepted += count;
    }
    world.node.systems.pores.keep_for_data(data);
}

enum Answer {
    None,
    /// What has been put into the buffer.
    Data,
    One(Said, i64),
    Available(Avail),
}

/// What is answered at once.
///
/// # Errors
/// It is the client's fault.
fn answer_of(
    pore: &mut dyn Pore,
    asked: Asked,
    values: &Values,
    data: &mut Vec<u8>,
) -> Result<Answer, Error> {
    Ok(match asked {
        Asked::Avail => Answer::Available(pore.avail().unwrap_or_default()),
        Asked::Read => {
            or_nothing(pore.read(amount(values).min(READ_MAX), data))?;
            Answer::Data
        }
        Asked::Peek => {
            or_nothing(pore.peek(amount(values).min(READ_MAX), data))?;
            Answer::Data
        }
        Asked::Get => {
            let (offset, length) = (unsigned(values.integer()), unsigned(values.integer()));
            pore.get(offset, length, data)?;
            Answer::Data
        }
        Asked::Put => {
            pore.put(unsigned(values.integer()), values.bytes())?;
            Answer::None
        }
        Asked::Write => Answer::One(Said::Accepted, or_nothing(pore.write(values.bytes()))?),
        Asked::Load => {
            let offset = unsigned(values.integer());
            let value = pore.load(offset, width(values.integer())?)?;
            Answer::One(Said::Loaded, value.cast_signed())
        }
        Asked::Store => {
            let offset = unsigned(values.integer());
            let width = width(values.integer())?;
            pore.store(offset, width, values.integer().cast_unsigned())?;
            Answer::None
        }
        _ => Answer::None,
    })
}

/// Writes all of it, for a client that knows there is room.
///
/// # Errors
/// It was wrong about that.
fn send_whole(system: &mut PoreSystem, from: Communication, message: &[u8]) -> Result<(), Error> {
    let line = system.lines.get_mut(from).ok_or(Error::NoSuchPore)?;
    let pore = system.pores.get(line.owner, line.pore.ok_or(Error::NoSuchPore)?)?;
    line.accepted += match pore.write(message) {
        Ok(count) if count < message.len() => {
            return Err(Error::Malformed("there is no room for it"));
        }
        outcome => or_nothing(outcome)?,
    };
    Ok(())
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
    say(world, lp, from, Said::Handed, &[integer(number)]);
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

/// A client has gone.
pub(super) fn finished(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some(mut line) = system.lines.remove(from) else { return };
    unwatch(lp, &mut line);
    // What was handed over has another owner.
    system.pores.close_all_of(line.owner);
}

fn unwatch(lp: &mut Loop<Machine>, line: &mut Line) {
    for watch in line.watches.drain(..) {
        lp.unwatch(watch);
    }
    if let Some(rest) = line.rest.take() {
        lp.cancel(rest);
    }
}

/// Answers a client.
fn say(
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
fn send(world: &mut Machine, to: Communication, said: Said, values: &[Value<'_>]) -> bool {
    let number = world.node.systems.pores.messages.number(said);
    !matches!(world.node.runner.worker().answer(to, number, values), Err(Refused::Protocol))
}
