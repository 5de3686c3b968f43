//! Two rings to another process, in a sealed memfd with two eventfds.
//!
//! ```text
//!      0  "PORE"   4  version 1   8  shape: 0 bytes, 1 messages   12  bytes of a ring
//!     64  prod     128  cons      of the ring from the creator to the other side
//!    192  prod     256  cons      of the ring back
//!    320  1 while the creator polls: it need not be rung; else 0
//!    384  the same of the other side
//!   4096  data of the first ring, then of the second
//! ```
//! All numbers are u32, little endian; indexes are free-running and have a cache line each. An
//! implementation that does not know the last two words leaves its own at 0 and rings always. The
//! creator hands three descriptors over a Unix socket, in this order: the memory, the bell that
//! the other side waits at, the bell that it rings. The socket stays open: when it hangs up, or the
//! process at its other end is over, the other side is gone (`crate::lifeline`).
//!
//! The memfd cannot shrink, grow or lose its seals. The side that attaches it checks that, for
//! otherwise the creator could truncate the memory under a read (SIGBUS). The bells are checked as
//! well: each is an eventfd ([`crate::doorbell`]). Before that no call is made on a descriptor
//! that the other side could leave unanswered, as it could if it served the file.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{Ordering, fence};

use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate,
    memfd_create,
};

use crate::doorbell::Doorbell;
use crate::lifeline::Lifeline;
use crate::region::Region;
use crate::ring::Layout;
use crate::ring::bytes::{Consumer, Producer};
use crate::ring::messages::{Receiver, Sender};
use crate::{Avail, Error, Pore, PoreKind, Signal, Wants, Width, handover};

const MAGIC: u32 = u32::from_le_bytes(*b"PORE");
const VERSION: u32 = 1;
const DATA: u32 = 4096;
/// The type that `fstatfs` returns for memory in huge pages.
const HUGETLBFS_MAGIC: u64 = 0x958458f6;
const CREATOR_POLLS: u32 = 320;
const ATTACHER_POLLS: u32 = 384;
/// The range of the bytes of a ring.
const RING_BYTES: std::ops::RangeInclusive<u32> = 64..=1 << 28;

/// The contents of the rings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Bytes, in any parts.
    Bytes,
    /// Messages, each whole.
    Messages,
}

/// The descriptors that are sent over the socket.
#[derive(Debug)]
pub struct Offer {
    /// The sealed memory.
    pub memory: OwnedFd,
    /// Where the receiver waits.
    pub waits_at: OwnedFd,
    /// The bell that the receiver rings.
    pub rings: OwnedFd,
}

/// An offer whose descriptors have been checked.
pub(crate) struct Checked {
    pub(crate) memory: OwnedFd,
    /// Bytes of the memory.
    pub(crate) size: u64,
    /// Where we wait, and what we ring.
    pub(crate) bells: [Doorbell; 2],
}

#[derive(Debug)]
pub(crate) enum Ends {
    Bytes(Producer, Consumer),
    Messages(Sender, Receiver),
}

/// One side of two rings.
#[derive(Debug)]
pub struct Memfd {
    kind: PoreKind,
    region: Region,
    ends: Ends,
    polling: Polling,
    /// Rung by the other side.
    bell: Doorbell,
    /// Rung by us.
    theirs: Doorbell,
    lifeline: Option<Lifeline>,
    /// Why it can no longer be used.
    broken: Option<Broken>,
}

/// The words in which each side declares that it polls.
///
/// The side that stops polling clears its word, and only then reads the indexes for the last time
/// before it sleeps; the side that publishes an index reads the word after that. With a full fence
/// between the two on each side, one of them sees the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polling {
    /// The word of our side.
    pub(crate) ours: u32,
    /// The word of the other side.
    pub(crate) theirs: u32,
    /// The value of our word.
    is_on: bool,
}

impl Polling {
    pub(crate) fn new(ours: u32, theirs: u32) -> Polling {
        Polling { ours, theirs, is_on: false }
    }
}

/// Errors that stay, to be returned again at each use.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Index(u32, u32, u32),
    Length(u32),
    Gone,
}

impl Broken {
    fn error(self) -> Error {
        match self {
            Broken::Index(theirs, ours, size) => Error::BadIndex { theirs, ours, size },
            Broken::Length(length) => Error::BadLength(length),
            Broken::Gone => Error::PeerGone,
        }
    }
}

impl Offer {
    /// The descriptors in the order of the message.
    pub(crate) fn of(descriptors: Vec<OwnedFd>) -> Result<Offer, Error> {
        match <[OwnedFd; 3]>::try_from(descriptors) {
            Ok([memory, waits_at, rings]) => Ok(Offer { memory, waits_at, rings }),
            Err(others) => {
                handover::discard(others);
                Err(Error::BadOffer("not three descriptors"))
            }
        }
    }

    /// Checks that each descriptor is what it has to be: sealed memory, and two bells.
    ///
    /// # Errors
    /// One is something else.
    pub(crate) fn checked(self) -> Result<Checked, Error> {
        let check = || {
            let size = sealed_size(&self.memory)?;
            Doorbell::check_to_wait_at(self.waits_at.as_fd())?;
            Doorbell::check_to_ring(self.rings.as_fd())?;
            Ok(size)
        };
        match check() {
            Ok(size) => {
                let bells = [self.waits_at, self.rings].map(Doorbell::from_checked);
                Ok(Checked { memory: self.memory, size, bells })
            }
            Err(error) => {
                handover::discard(vec![self.memory, self.waits_at, self.rings]);
                Err(error)
            }
        }
    }

    /// Hands them over.
    pub(crate) fn send(&self, peer: &UnixStream) -> Result<(), Error> {
        handover::send(peer, &[self.memory.as_fd(), self.waits_at.as_fd(), self.rings.as_fd()])
    }
}

/// The rings from and to the creator of the memory.
fn places(size: u32) -> [Layout; 2] {
    [
        Layout { data: DATA, size, prod: 64, cons: 128 },
        Layout { data: DATA + size, size, prod: 192, cons: 256 },
    ]
}

impl Memfd {
    /// Makes one with rings of `ring_bytes` each, and what the other side gets of it.
    ///
    /// # Errors
    /// The size is no power of two, or too small or large; or the error of the system.
    pub fn create(shape: Shape, ring_bytes: u32) -> Result<(Memfd, Offer), Error> {
        if !ring_bytes.is_power_of_two() || !RING_BYTES.contains(&ring_bytes) {
            return Err(Error::Malformed("a ring has a power of two of bytes, from 64 to 2^28"));
        }
        let memory = memfd_create(c"pore", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        let size = DATA as usize + 2 * ring_bytes as usize;
        ftruncate(&memory, size as u64)?;
        fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let region = Region::map(&memory, size)?;
        for (offset, value) in [(0, MAGIC), (4, VERSION), (8, shape as u32), (12, ring_bytes)] {
            region.store(offset, Width::Four, u64::from(value))?;
        }
        let (bell, theirs) = (Doorbell::new()?, Doorbell::new()?);
        let offer = Offer {
            memory,
            waits_at: theirs.fd().try_clone_to_owned()?,
            rings: bell.fd().try_clone_to_owned()?,
        };
        let [out, back] = places(ring_bytes);
        let ends = Ends::new(&region, shape, out, back);
        let polling = Polling::new(CREATOR_POLLS, ATTACHER_POLLS);
        Ok((Memfd::over(PoreKind::Memfd, region, ends, polling, [bell, theirs]), offer))
    }

    /// Attaches what the other side offers.
    ///
    /// # Errors
    /// It is not sealed or not laid out as it should be, or a bell is none.
    pub fn attach(offer: Offer) -> Result<Memfd, Error> {
        let Checked { memory, size, bells } = offer.checked()?;
        if size < u64::from(DATA) {
            return Err(Error::BadOffer("too small"));
        }
        let head = Region::map(&memory, DATA as usize)?;
        let word = |offset| head.load(offset, Width::Four);
        if (word(0)?, word(4)?) != (u64::from(MAGIC), u64::from(VERSION)) {
            return Err(Error::BadOffer("no pore, or of another version"));
        }
        let shape = match word(8)? {
            0 => Shape::Bytes,
            1 => Shape::Messages,
            _ => return Err(Error::BadOffer("of an unknown shape")),
        };
        let ring_bytes = word(12)? as u32;
        let fits = u64::from(DATA) + 2 * u64::from(ring_bytes) <= size;
        if !ring_bytes.is_power_of_two() || !RING_BYTES.contains(&ring_bytes) || !fits {
            return Err(Error::BadOffer("of an impossible size"));
        }
        // No more of it than the rings need: memory that was never touched costs its owner nothing.
        let region = Region::map(&memory, DATA as usize + 2 * ring_bytes as usize)?;
        let [back, out] = places(ring_bytes);
        let ends = Ends::new(&region, shape, out, back);
        let polling = Polling::new(ATTACHER_POLLS, CREATOR_POLLS);
        Ok(Memfd::over(PoreKind::Memfd, region, ends, polling, bells))
    }

    pub(crate) fn over(
        kind: PoreKind,
        region: Region,
        ends: Ends,
        polling: Polling,
        [bell, theirs]: [Doorbell; 2],
    ) -> Memfd {
        Memfd { kind, region, ends, polling, bell, theirs, lifeline: None, broken: None }
    }

    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Makes one and hands the other side its part; the socket becomes the lifeline.
    ///
    /// # Errors
    /// As [`Memfd::create`], or the socket fails.
    pub fn offer_to(peer: UnixStream, shape: Shape, ring_bytes: u32) -> Result<Memfd, Error> {
        let (mut pore, offer) = Memfd::create(shape, ring_bytes)?;
        offer.send(&peer)?;
        pore.keep_lifeline(peer)?;
        Ok(pore)
    }

    /// Attaches what arrives over the socket, which becomes the lifeline; returns the socket if
    /// nothing has arrived yet.
    ///
    /// # Errors
    /// As [`Memfd::attach`], or the socket fails.
    pub fn accept_from(peer: UnixStream) -> Result<Result<Memfd, UnixStream>, Error> {
        let Some(descriptors) = handover::receive(&peer)? else { return Ok(Err(peer)) };
        let mut pore = Memfd::attach(Offer::of(descriptors)?)?;
        pore.keep_lifeline(peer)?;
        Ok(Ok(pore))
    }

    pub(crate) fn keep_lifeline(&mut self, peer: UnixStream) -> Result<(), Error> {
        self.lifeline = Some(Lifeline::new(peer)?);
        Ok(())
    }

    /// The bell that the other side rings, for threads that wait at it.
    pub fn bell(&self) -> &Doorbell {
        &self.bell
    }

    /// What becomes readable or hangs up when the other side goes.
    pub(crate) fn lifelines(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.lifeline.iter().flat_map(Lifeline::descriptors)
    }

    /// Whether the other side is alive, as far as can be known.
    pub(crate) fn is_peer_alive(&self) -> Result<bool, Error> {
        self.lifeline.as_ref().map_or(Ok(true), Lifeline::is_alive)
    }

    /// Notes an error of the other side, which stays.
    fn noted<T>(&mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &outcome {
            self.broken = match error {
                Error::BadIndex { theirs, ours, size } => {
                    Some(Broken::Index(*theirs, *ours, *size))
                }
                Error::BadLength(length) => Some(Broken::Length(*length)),
                _ => self.broken,
            };
        }
        outcome
    }

    fn usable(&self) -> Result<(), Error> {
        match self.broken {
            // What the other side wrote before it went can still be read.
            None | Some(Broken::Gone) => Ok(()),
            Some(broken) => Err(broken.error()),
        }
    }
}

/// The size of a memfd that cannot shrink.
pub(crate) fn sealed_size(memory: &impl AsFd) -> Result<u64, Error> {
    let seals = fcntl_get_seals(memory).map_err(|_| Error::BadOffer("no memory to share"))?;
    if !seals.contains(SealFlags::SHRINK) {
        return Err(Error::BadOffer("its memory is not sealed: it could be taken away"));
    }
    if fstatfs(memory)?.f_type as u64 == HUGETLBFS_MAGIC {
        return Err(Error::BadOffer("its memory is in huge pages"));
    }
    u64::try_from(fstat(memory)?.st_size).map_err(|_| Error::BadOffer("of no size"))
}

impl Ends {
    pub(crate) fn new(region: &Region, shape: Shape, out: Layout, back: Layout) -> Ends {
        match shape {
            Shape::Bytes => Ends::Bytes(Producer::new(region, out), Consumer::new(region, back)),
            Shape::Messages => {
                Ends::Messages(Sender::new(region, out), Receiver::new(region, back))
            }
        }
    }

    fn readable(&self, region: &Region) -> Result<usize, Error> {
        Ok(match self {
            Ends::Bytes(_, back) => back.readable(region)?,
            Ends::Messages(_, back) => back.readable(region)?,
        } as usize)
    }

    fn writable(&self, region: &Region) -> Result<usize, Error> {
        Ok(match self {
            Ends::Bytes(out, _) => out.writable(region)?,
            Ends::Messages(out, _) => out.writable(region)?,
        } as usize)
    }

    fn avail(&self, region: &Region) -> Result<Avail, Error> {
        Ok(Avail { readable: self.readable(region)?, writable: self.writable(region)? })
    }

    /// Whether the other side has taken all that was written.
    fn is_drained(&self, region: &Region) -> bool {
        match self {
            Ends::Bytes(out, _) => out.is_drained(region),
            Ends::Messages(out, _) => out.is_drained(region),
        }
    }

    fn meets(&self, region: &Region, wants: Wants) -> Result<bool, Error> {
        Ok(wants.readable > 0 && self.readable(region)? >= wants.readable
            || wants.writable > 0 && self.writable(region)? >= wants.writable)
    }
}

impl Pore for Memfd {
    fn kind(&self) -> PoreKind {
        self.kind
    }

    fn size(&self) -> usize {
        self.region.size()
    }

    fn avail(&mut self) -> Result<Avail, Error> {
        self.usable()?;
        let avail = self.ends.avail(&self.region);
        let avail = self.noted(avail)?;
        match self.broken {
            Some(broken) if avail.readable == 0 => Err(broken.error()),
            _ => Ok(avail),
        }
    }

    fn meets(&mut self, wants: Wants) -> Result<bool, Error> {
        if self.broken.is_some() {
            return Ok(wants.are_met_by(self.avail()?));
        }
        let outcome = self.ends.meets(&self.region, wants);
        self.noted(outcome)
    }

    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        self.usable()?;
        let outcome = match &mut self.ends {
            Ends::Bytes(_, back) => back.read(&self.region, n, into),
            Ends::Messages(_, back) => back.read(&self.region, n, into),
        };
        self.noted(outcome)
    }

    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        self.usable()?;
        let outcome = match &self.ends {
            Ends::Bytes(_, back) => back.peek(&self.region, n, into),
            Ends::Messages(_, back) => back.peek(&self.region, n, into),
        };
        self.noted(outcome)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        self.usable()?;
        if let Some(gone) = self.broken {
            return Err(gone.error());
        }
        let outcome = match &mut self.ends {
            Ends::Bytes(out, _) => out.write(&self.region, bytes),
            Ends::Messages(out, _) => out.write(&self.region, bytes),
        };
        self.noted(outcome)
    }

    fn load(&mut self, offset: u64, width: Width) -> Result<u64, Error> {
        self.region.load(offset, width)
    }

    fn store(&mut self, offset: u64, width: Width, value: u64) -> Result<(), Error> {
        self.region.store(offset, width, value)
    }

    fn get(&mut self, offset: u64, length: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        self.region.get(offset, length, into)
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.region.put(offset, bytes)
    }

    fn ring(&mut self) -> Result<(), Error> {
        self.theirs.ring()
    }

    fn is_ring_due(&mut self) -> bool {
        // Both are called, for both reset their flag.
        let (sent, freed) = match &mut self.ends {
            Ends::Bytes(out, back) => (out.take_news(), back.take_news()),
            Ends::Messages(out, back) => (out.take_news(), back.take_news()),
        };
        if !(sent || freed) {
            return false;
        }
        fence(Ordering::SeqCst);
        // The word of a side that polls seldom changes, so it costs less to read than the index.
        self.region.load_index(self.polling.theirs) != 1
            && (freed || !self.ends.is_drained(&self.region))
    }

    fn is_pollable(&self) -> bool {
        true
    }

    fn is_peer_polling(&self) -> bool {
        self.region.load_index(self.polling.theirs) == 1
    }

    fn begin_polling(&mut self) {
        if !std::mem::replace(&mut self.polling.is_on, true) {
            self.region.store_index(self.polling.ours, 1);
        }
    }

    fn end_polling(&mut self) -> bool {
        let was_on = std::mem::take(&mut self.polling.is_on);
        if was_on {
            self.region.store_index(self.polling.ours, 0);
            fence(Ordering::SeqCst);
        }
        was_on
    }

    fn signals(&self) -> Vec<Signal> {
        let lifelines = self.lifelines().map(|it| Signal::Lifeline(it.as_raw_fd()));
        std::iter::once(Signal::Bell(self.bell.raw())).chain(lifelines).collect()
    }

    fn drain_doorbell(&mut self) {
        self.bell.drain();
    }

    fn look_at_peer(&mut self) -> Result<(), Error> {
        if self.is_peer_alive()? {
            return Ok(());
        }
        self.broken = self.broken.or(Some(Broken::Gone));
        Err(Error::PeerGone)
    }
}
