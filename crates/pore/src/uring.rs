//! io_uring: the kernel's own rings in our memory, around one file or socket.
//!
//! Writes are requests, and reads are completions, records of fixed size:
//!
//! ```text
//! request     0  what: 0 nothing, 1 read, 2 write, 3 sync   4  length u32   8  place in the file
//!            16  place in memory                            24  tag         (u64 each)
//! completion  0  tag   8  result: bytes, or an error below 0                (i64)
//! ```
//! Data is in the pore's memory (`get`, `put`). It is registered with the kernel, so that requests
//! still under way when the pore closes reach pages that are not reused. Submission entries are
//! made here, of requests that were checked: no owner can name other memory or files.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::io_uring::{
    IoringEnterFlags, IoringFeatureFlags, IoringRegisterOp, io_uring_enter, io_uring_params,
    io_uring_register, io_uring_setup, iovec,
};

use crate::doorbell::Doorbell;
use crate::region::Region;
use crate::{Avail, Error, Pore, PoreKind, Signal, Width};

/// Requests that can be written before they are submitted; twice this number can be under way.
const ENTRIES: u32 = 64;
/// Bytes of memory for data.
const MEMORY_BYTES: usize = 1 << 18;
/// Bytes of a request.
pub const REQUEST_BYTES: usize = 32;
/// Bytes of a completion.
pub const COMPLETION_BYTES: usize = 16;
const SQE_BYTES: u64 = 64;
const CQE_BYTES: u64 = 16;

const OP_NOP: u8 = 0;
const OP_FSYNC: u8 = 3;
const OP_READ_FIXED: u8 = 4;
const OP_WRITE_FIXED: u8 = 5;
/// Offsets of the mappings of a ring.
const OFFSET_RINGS: u64 = 0;
const OFFSET_ENTRIES: u64 = 0x1000_0000;

/// The rings around one file.
#[derive(Debug)]
pub struct Uring {
    // Dropped first: it ends what is under way.
    ring: OwnedFd,
    rings: Region,
    entries: Region,
    memory: Region,
    params: io_uring_params,
    file: OwnedFd,
    bell: Doorbell,
    /// Our index of the submission ring, and the index that the kernel has been notified of.
    tail: u32,
    submitted: u32,
    /// Our index of the completion ring.
    head: u32,
    under_way: u32,
}

impl Uring {
    /// Rings around a file or socket.
    ///
    /// # Errors
    /// The kernel has no io_uring, or does not let this process use it.
    pub fn new(file: OwnedFd) -> Result<Uring, Error> {
        let mut params = io_uring_params::default();
        // SAFETY: the parameters are zero but for what the kernel fills in.
        let ring =
            unsafe { io_uring_setup(ENTRIES, &mut params) }.map_err(|error| match error {
                Errno::PERM | Errno::NOSYS | Errno::ACCESS => {
                    Error::Unsupported("io_uring is not there, or kernel.io_uring_disabled is set")
                }
                other => other.into(),
            })?;
        if !params.features.contains(IoringFeatureFlags::SINGLE_MMAP) {
            return Err(Error::Unsupported("io_uring before Linux 5.4"));
        }
        let sq_end = params.sq_off.array as usize + params.sq_entries as usize * 4;
        let cq_end = params.cq_off.cqes as usize + params.cq_entries as usize * CQE_BYTES as usize;
        let rings = Region::map_at(&ring, sq_end.max(cq_end), OFFSET_RINGS)?;
        let entries_bytes = params.sq_entries as usize * SQE_BYTES as usize;
        let entries = Region::map_at(&ring, entries_bytes, OFFSET_ENTRIES)?;
        let memory = Region::anonymous(MEMORY_BYTES)?;
        let bell = Doorbell::new()?;
        let iov = iovec { iov_base: memory.address(0, 0)?.cast(), iov_len: MEMORY_BYTES };
        let at = (&raw const iov).cast();
        // SAFETY: one vector over our own mapping, which the kernel pins.
        unsafe { io_uring_register(&ring, IoringRegisterOp::RegisterBuffers, at, 1)? };
        let fd = bell.raw();
        let at = (&raw const fd).cast();
        // SAFETY: one descriptor, which is read during the call.
        unsafe { io_uring_register(&ring, IoringRegisterOp::RegisterEventfd, at, 1)? };
        for slot in 0..params.sq_entries {
            let offset = u64::from(params.sq_off.array + slot * 4);
            rings.store(offset, Width::Four, u64::from(slot))?;
        }
        let (tail, head) =
            (rings.load_index(params.sq_off.tail), rings.load_index(params.cq_off.head));
        Ok(Uring {
            ring,
            rings,
            entries,
            memory,
            params,
            file,
            bell,
            tail,
            submitted: tail,
            head,
            under_way: 0,
        })
    }

    fn room(&self) -> usize {
        let taken = self.rings.load_index(self.params.sq_off.head);
        let queued = self.tail.wrapping_sub(taken);
        let entries = self.params.sq_entries.saturating_sub(queued);
        // Completions always find room: none overflows.
        entries.min(self.params.cq_entries - self.under_way) as usize
    }

    fn completed(&self) -> Result<u32, Error> {
        let tail = self.rings.load_index(self.params.cq_off.tail);
        let count = tail.wrapping_sub(self.head);
        if count <= self.params.cq_entries {
            return Ok(count);
        }
        Err(Error::BadIndex { theirs: tail, ours: self.head, size: self.params.cq_entries })
    }

    /// One request becomes a submission entry.
    fn queue(&mut self, request: &[u8]) -> Result<(), Error> {
        let word =
            |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().unwrap_or_default());
        let length = (word(0) >> 32) as u32;
        let (place, at, tag) = (word(8), word(16), word(24));
        let op = match request[0] {
            0 => OP_NOP,
            1 => OP_READ_FIXED,
            2 => OP_WRITE_FIXED,
            3 => OP_FSYNC,
            _ => return Err(Error::Malformed("a request reads, writes, or syncs")),
        };
        let mut entry = [0u8; SQE_BYTES as usize];
        entry[0] = op;
        entry[4..8].copy_from_slice(&self.file.as_raw_fd().to_ne_bytes());
        if matches!(op, OP_READ_FIXED | OP_WRITE_FIXED) {
            let address = self.memory.address(at, u64::from(length))?;
            entry[8..16].copy_from_slice(&place.to_ne_bytes());
            entry[16..24].copy_from_slice(&(address.expose_provenance() as u64).to_ne_bytes());
            entry[24..28].copy_from_slice(&length.to_ne_bytes());
        }
        entry[32..40].copy_from_slice(&tag.to_ne_bytes());
        let slot = u64::from(self.tail & (self.params.sq_entries - 1));
        self.entries.put(slot * SQE_BYTES, &entry)?;
        self.tail = self.tail.wrapping_add(1);
        self.under_way += 1;
        Ok(())
    }

    fn copy(&self, n: usize, into: &mut Vec<u8>) -> Result<u32, Error> {
        let count = self.completed()?.min(u32::try_from(n / COMPLETION_BYTES).unwrap_or(u32::MAX));
        for one in 0..count {
            let slot = self.head.wrapping_add(one) & (self.params.cq_entries - 1);
            let offset = u64::from(self.params.cq_off.cqes) + u64::from(slot) * CQE_BYTES;
            let tag = self.rings.load(offset, Width::Eight)?;
            let result = self.rings.load(offset + 8, Width::Four)? as u32 as i32;
            into.extend(tag.to_le_bytes());
            into.extend(i64::from(result).to_le_bytes());
        }
        Ok(count)
    }
}

impl Pore for Uring {
    fn kind(&self) -> PoreKind {
        PoreKind::Uring
    }

    fn size(&self) -> usize {
        self.memory.size()
    }

    fn avail(&mut self) -> Result<Avail, Error> {
        let readable = self.completed()? as usize * COMPLETION_BYTES;
        Ok(Avail { readable, writable: self.room() * REQUEST_BYTES })
    }

    fn is_pollable(&self) -> bool {
        true
    }

    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let count = self.copy(n, into)?;
        self.head = self.head.wrapping_add(count);
        self.rings.store_index(self.params.cq_off.head, self.head);
        self.under_way = self.under_way.saturating_sub(count);
        Ok(count as usize * COMPLETION_BYTES)
    }

    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        Ok(self.copy(n, into)? as usize * COMPLETION_BYTES)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let requests = bytes.chunks_exact(REQUEST_BYTES);
        if !requests.remainder().is_empty() {
            return Err(Error::Malformed("a request has 32 bytes"));
        }
        let mut accepted = 0;
        for request in requests.take(self.room()) {
            self.queue(request)?;
            accepted += REQUEST_BYTES;
        }
        self.rings.store_index(self.params.sq_off.tail, self.tail);
        Ok(accepted)
    }

    fn load(&mut self, offset: u64, width: Width) -> Result<u64, Error> {
        self.memory.load(offset, width)
    }

    fn store(&mut self, offset: u64, width: Width, value: u64) -> Result<(), Error> {
        self.memory.store(offset, width, value)
    }

    fn get(&mut self, offset: u64, length: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        self.memory.get(offset, length, into)
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.memory.put(offset, bytes)
    }

    /// Submits what was written.
    fn ring(&mut self) -> Result<(), Error> {
        let count = self.tail.wrapping_sub(self.submitted);
        if count > 0 {
            // SAFETY: the entries name registered memory and a file that is open.
            let taken = unsafe { io_uring_enter(&self.ring, count, 0, IoringEnterFlags::empty())? };
            self.submitted = self.submitted.wrapping_add(taken);
        }
        Ok(())
    }

    fn is_ring_due(&mut self) -> bool {
        self.tail != self.submitted
    }

    fn signals(&self) -> Vec<Signal> {
        vec![Signal::Bell(self.bell.raw())]
    }

    fn drain_doorbell(&mut self) {
        self.bell.drain();
    }
}

/// A request, as bytes.
pub fn request(what: u8, length: u32, place: u64, at: u64, tag: u64) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[0] = what;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    for (to, word) in bytes[8..].chunks_exact_mut(8).zip([place, at, tag]) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
