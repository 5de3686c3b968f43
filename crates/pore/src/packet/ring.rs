//! Frames of an interface through a ring that the kernel fills (AF_PACKET, TPACKET_V3).
//!
//! ```text
//! block   0  version  4  private  8  status  12  frames  16  first frame     (u32)
//! frame   0  next  4  seconds  8  nanoseconds  12  bytes captured  20  status  32  VLAN  (u32)
//!         24  begin of its bytes  36  kind of VLAN  (u16)  58  direction (u8)
//! ```
//! The ring is blocks, each with as many frames as fit; the kernel hands over one block after the
//! other (status bit 0), and gets it back when its last frame has been taken. Before the bytes of a
//! frame is the header of what is left to do for it. Frames are sent through the socket itself, at
//! once.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::arrival::{Arrival, Arrivals, TAG_BYTES, Tag};
use super::group::Socket;
use super::offload::{HEADER_BYTES, Offload};
use super::socket::{self, Wanted};
use super::{FRAME_BYTES_MAX, get, set};
use crate::region::Region;
use crate::{Avail, Error, Pore, PoreKind, Signal, Width};

/// Bytes of a block: more than the longest frame.
const BLOCK_BYTES: u32 = 1 << 18;
/// The bytes before which the kernel wants frames to begin. Rings of this version ignore it.
const FRAME_BYTES: u32 = 2048;
const STATUS_USER: u32 = 1;

/// The size of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Blocks of 256 KiB.
    pub blocks: u32,
    /// The milliseconds after which the kernel hands a block over that is not full, one at least.
    pub retire_ms: u32,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { blocks: 8, retire_ms: 1 }
    }
}

/// The frames of one interface.
#[derive(Debug)]
pub struct PacketRing {
    /// Before the socket: that is open as long as its memory is mapped.
    ring: Region,
    socket: Socket,
    blocks: u32,
    block: u32,
    /// Frames of this block that are still to be taken, and where the next is.
    left: u32,
    next: u32,
    /// The copy of a frame, with room for a tag.
    copy: Vec<u8>,
    arrivals: Arrivals,
    /// Frames that were received and not read yet: the segments of a long one.
    segments: VecDeque<Vec<u8>>,
}

/// A frame in the ring.
struct Place {
    start: u64,
    length: u64,
    offload: Offload,
    tag: Option<Tag>,
    arrival: Arrival,
}

impl PacketRing {
    /// Captures the frames that an interface receives.
    ///
    /// # Errors
    /// There is no such interface, or the process may not open it.
    pub fn open(interface: &str) -> Result<PacketRing, Error> {
        PacketRing::of(interface, &Wanted::default(), Shape::default())
    }

    /// Captures the frames of an interface that are wanted.
    ///
    /// # Errors
    /// There is no such interface, the process may not open it, or the kernel refuses the filter or
    /// the shape.
    pub fn of(interface: &str, wanted: &Wanted<'_>, shape: Shape) -> Result<PacketRing, Error> {
        let Shape { blocks, retire_ms } = shape;
        let prepare = |socket: &OwnedFd| {
            let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
            set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
            let request = libc::tpacket_req3 {
                tp_block_size: BLOCK_BYTES,
                tp_block_nr: blocks,
                tp_frame_size: FRAME_BYTES,
                tp_frame_nr: BLOCK_BYTES / FRAME_BYTES * blocks,
                tp_retire_blk_tov: retire_ms,
                tp_sizeof_priv: 0,
                tp_feature_req_word: 0,
            };
            set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
            Region::map(socket, BLOCK_BYTES as usize * blocks as usize)
        };
        let (socket, ring) = socket::open(interface, wanted, prepare)?;
        Ok(PacketRing {
            socket,
            ring,
            blocks,
            block: 0,
            left: 0,
            next: 0,
            copy: Vec::new(),
            arrivals: Arrivals::default(),
            segments: VecDeque::new(),
        })
    }

    fn word(&self, offset: u64) -> Result<u32, Error> {
        Ok(self.ring.load(offset, Width::Four)? as u32)
    }

    fn half(&self, offset: u64) -> Result<u16, Error> {
        Ok(self.ring.load(offset, Width::Two)? as u16)
    }

    /// Where the block is that is being read.
    fn block_start(&self) -> u32 {
        self.block * BLOCK_BYTES
    }

    /// The next frame; nothing if the kernel has none for us.
    fn frame(&mut self) -> Result<Option<Place>, Error> {
        let start = self.block_start();
        if self.left == 0 {
            if self.ring.load_index(start + 8) & STATUS_USER == 0 {
                return Ok(None);
            }
            self.left = self.word(u64::from(start) + 12)?;
            self.next = self.word(u64::from(start) + 16)?;
            if self.left == 0 {
                self.give_back();
                return Ok(None);
            }
        }
        let at = u64::from(start) + u64::from(self.next);
        let begin = at + u64::from(self.half(at + 24)?);
        let mut header = [0; HEADER_BYTES];
        self.ring.read(begin.saturating_sub(HEADER_BYTES as u64), &mut header)?;
        let time = i64::from(self.word(at + 4)?) * 1_000_000_000 + i64::from(self.word(at + 8)?);
        let is_outgoing = self.ring.load(at + 58, Width::One)? == u64::from(libc::PACKET_OUTGOING);
        Ok(Some(Place {
            start: begin,
            length: self.word(at + 12)?.into(),
            offload: Offload::of(&header),
            tag: Tag::of(self.word(at + 20)?, self.half(at + 36)?, self.word(at + 32)? as u16),
            arrival: Arrival { is_outgoing, time_ns: Some(time) },
        }))
    }

    fn take(&mut self) -> Result<(), Error> {
        let step = self.word(u64::from(self.block_start()) + u64::from(self.next))?;
        self.left -= 1;
        self.next = self.next.checked_add(step).filter(|&next| next < BLOCK_BYTES).unwrap_or(0);
        if self.left == 0 {
            self.give_back();
        }
        Ok(())
    }

    fn give_back(&mut self) {
        self.ring.store_index(self.block_start() + 8, 0);
        self.block = (self.block + 1) % self.blocks;
        self.left = 0;
    }

    /// Takes the next frame, and calls `take` with it. What the sender left to the network card is
    /// done: one long frame can become many. False: there is none.
    ///
    /// # Errors
    /// The ring holds what the kernel does not write.
    pub fn receive(&mut self, take: &mut dyn FnMut(&[u8], &Arrival)) -> Result<bool, Error> {
        let Some(Place { start, length, offload, tag, arrival }) = self.frame()? else {
            return Ok(false);
        };
        self.copy.clear();
        self.copy.resize(TAG_BYTES, 0);
        self.ring.get(start, length, &mut self.copy)?;
        self.take()?;
        self.arrivals.finish(&mut self.copy, tag, &offload, &arrival, take);
        Ok(true)
    }

    /// Sends frames, each after a [`socket::HEADER`]; returns how many the kernel did not take.
    pub fn send(&self, frames: &[&[u8]]) -> usize {
        socket::send(&self.socket, frames)
    }

    /// Long frames that could not be cut since the last call.
    pub fn take_not_cut(&mut self) -> u64 {
        self.arrivals.take_not_cut()
    }

    /// Frames that were not delivered since the last call: those that the ring had no room for.
    ///
    /// # Errors
    /// The device is gone.
    pub fn take_kernel_drops(&self) -> Result<u64, Error> {
        // SAFETY: zeros are such numbers.
        let mut counts: libc::tpacket_stats_v3 = unsafe { std::mem::zeroed() };
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: they are numbers.
        unsafe { get(&self.socket, level, option, &mut counts) }?;
        Ok(counts.tp_drops.into())
    }

    /// The frame that is read next: it stays here until it is taken.
    fn ahead(&mut self) -> Result<Option<&Vec<u8>>, Error> {
        let mut segments = std::mem::take(&mut self.segments);
        let mut there = true;
        while there && segments.is_empty() {
            there = self.receive(&mut |frame, _| segments.push_back(frame.to_vec()))?;
        }
        self.segments = segments;
        Ok(self.segments.front())
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Pore for PacketRing {
    fn kind(&self) -> PoreKind {
        PoreKind::Packet
    }

    fn avail(&mut self) -> Result<Avail, Error> {
        let readable = self.ahead()?.map_or(0, Vec::len);
        Ok(Avail { readable, writable: FRAME_BYTES_MAX })
    }

    fn is_pollable(&self) -> bool {
        true
    }

    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let count = self.peek(n, into)?;
        if count > 0 {
            self.segments.pop_front();
        }
        Ok(count)
    }

    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        match self.ahead()? {
            Some(frame) if frame.len() <= n => {
                into.extend_from_slice(frame);
                Ok(frame.len())
            }
            _ => Ok(0),
        }
    }

    fn write(&mut self, frame: &[u8]) -> Result<usize, Error> {
        let whole = [&socket::HEADER[..], frame].concat();
        match socket::send_batch(self.socket.as_raw_fd(), &[&whole]) {
            Ok(_) => Ok(frame.len()),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS) => Ok(0),
                Some(libc::EINVAL | libc::EMSGSIZE) => Err(Error::Malformed("no frame for this")),
                _ => Err(error.into()),
            },
        }
    }

    fn take_drops(&mut self) -> u64 {
        self.take_kernel_drops().unwrap_or(0) + self.take_not_cut()
    }

    /// A write is all that the kernel needs.
    fn ring(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn signals(&self) -> Vec<Signal> {
        vec![Signal::Ready(self.socket.as_raw_fd())]
    }
}
