//! Frames of an interface through a ring that the kernel fills (AF_PACKET, TPACKET_V3).
//!
//! ```text
//! block   0  version  4  private  8  status  12  frames  16  first frame     (u32)
//! frame   0  next  12  bytes captured  20  status  24  mac u16               (from its begin)
//! ```
//! The ring is blocks, each with as many frames as fit; the kernel hands over one block after the
//! other (status bit 0), and gets it back when its last frame has been taken. Frames are sent
//! through the socket itself: one system call each, at once.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use tidemill_stdx::internet::complete;

use super::{FRAME_BYTES_MAX, check, get, index_of, last, set};
use crate::region::Region;
use crate::{Avail, Error, Pore, PoreKind, Signal, Width};

/// Bytes of a block.
const BLOCK_BYTES: u32 = 1 << 18;
/// Blocks of the ring.
const BLOCKS: u32 = 8;
/// The kernel hands over a block that is not full after this time.
const RETIRE_MS: u32 = 1;
const STATUS_USER: u32 = 1;
/// Sockets do not see what this machine sends through the interface (Linux 4.20).
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// The frames of one interface.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    ring: Region,
    block: u32,
    /// Frames of this block that are still to be taken, and where the next is.
    left: u32,
    next: u32,
}

impl PacketRing {
    /// Captures the frames that an interface receives.
    ///
    /// # Errors
    /// There is no such interface, or the process may not open it.
    pub fn open(interface: &str) -> Result<PacketRing, Error> {
        let index = index_of(interface)?;
        let protocol = (libc::ETH_P_ALL as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes no memory. Without a protocol nothing arrives before it is bound.
        let socket = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the descriptor is new, and this is its only owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        // An older kernel shows us our own frames as well.
        let _ = set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES,
            tp_block_nr: BLOCKS,
            tp_frame_size: 2048,
            tp_frame_nr: BLOCK_BYTES / 2048 * BLOCKS,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let ring = Region::map(&socket, (BLOCK_BYTES * BLOCKS) as usize)?;
        // SAFETY: zeros are an address.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let at = (&raw const address).cast();
        // SAFETY: the address is of this length and lives during the call.
        check(unsafe { libc::bind(socket.as_raw_fd(), at, length) })?;
        Ok(PacketRing { socket, ring, block: 0, left: 0, next: 0 })
    }

    fn word(&self, offset: u32) -> Result<u32, Error> {
        Ok(self.ring.load(u64::from(offset), Width::Four)? as u32)
    }

    /// The next frame: where it is, and its length; nothing if the kernel has none for us.
    fn frame(&mut self) -> Result<Option<(u32, u32)>, Error> {
        let start = self.block * BLOCK_BYTES;
        if self.left == 0 {
            if self.ring.load_index(start + 8) & STATUS_USER == 0 {
                return Ok(None);
            }
            self.left = self.word(start + 12)?;
            self.next = self.word(start + 16)?;
            if self.left == 0 {
                self.give_back();
                return Ok(None);
            }
        }
        let at = start + self.next;
        let (length, mac) = (self.word(at + 12)?, self.ring.load(u64::from(at) + 24, Width::Two)?);
        Ok(Some((at + mac as u32, length)))
    }

    /// Whether the kernel has left the checksum of this frame to the network card.
    fn lacks_checksum(&self) -> Result<bool, Error> {
        let status = self.word(self.block * BLOCK_BYTES + self.next + 20)?;
        Ok(status & libc::TP_STATUS_CSUMNOTREADY != 0)
    }

    fn take(&mut self) -> Result<(), Error> {
        let step = self.word(self.block * BLOCK_BYTES + self.next)?;
        self.left -= 1;
        self.next = self.next.checked_add(step).filter(|&next| next < BLOCK_BYTES).unwrap_or(0);
        if self.left == 0 {
            self.give_back();
        }
        Ok(())
    }

    fn give_back(&mut self) {
        self.ring.store_index(self.block * BLOCK_BYTES + 8, 0);
        self.block = (self.block + 1) % BLOCKS;
        self.left = 0;
    }
}

impl Pore for PacketRing {
    fn kind(&self) -> PoreKind {
        PoreKind::Packet
    }

    fn avail(&mut self) -> Result<Avail, Error> {
        let readable = self.frame()?.map_or(0, |(_, length)| length as usize);
        Ok(Avail { readable, writable: FRAME_BYTES_MAX })
    }

    fn is_pollable(&self) -> bool {
        true
    }

    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let count = self.peek(n, into)?;
        if count > 0 {
            self.take()?;
        }
        Ok(count)
    }

    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let Some((at, length)) = self.frame()? else { return Ok(0) };
        if length as usize > n {
            return Ok(0);
        }
        let start = into.len();
        self.ring.get(u64::from(at), u64::from(length), into)?;
        if self.lacks_checksum()? {
            complete(&mut into[start..]);
        }
        Ok(length as usize)
    }

    fn write(&mut self, frame: &[u8]) -> Result<usize, Error> {
        let (at, flags) = (frame.as_ptr().cast(), libc::MSG_DONTWAIT);
        // SAFETY: reads the frame during the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), at, frame.len(), flags) };
        if sent >= 0 {
            return Ok(sent.cast_unsigned());
        }
        match last() {
            Error::System(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS) => Ok(0),
                Some(libc::EINVAL | libc::EMSGSIZE) => Err(Error::Malformed("no frame for this")),
                _ => Err(error.into()),
            },
            other => Err(other),
        }
    }

    /// The kernel begins to count again after each question.
    fn take_drops(&mut self) -> u64 {
        // SAFETY: zeros are such numbers.
        let mut counts: libc::tpacket_stats_v3 = unsafe { std::mem::zeroed() };
        let (level, option) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // SAFETY: they are numbers.
        match unsafe { get(&self.socket, level, option, &mut counts) } {
            Ok(()) => counts.tp_drops.into(),
            Err(_) => 0,
        }
    }

    /// A write is all that the kernel needs.
    fn ring(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn signals(&self) -> Vec<Signal> {
        vec![Signal::Ready(self.socket.as_raw_fd())]
    }
}
