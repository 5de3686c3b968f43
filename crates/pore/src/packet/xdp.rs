//! Frames of one queue of an interface through AF_XDP. The kernel copies them, unless the driver
//! of the interface can share its memory.
//!
//! ```text
//! umem         frames: the first half to receive into, the second to send from
//! fill         frames that the kernel may fill       ->  rx          frames it has filled
//! tx           frames that it shall send             ->  completion  frames it has sent
//! ```
//! A program of five instructions on the interface gives its frames to the socket, within the
//! driver if it can; it goes with the pore. All four rings are rings of the kernel: indexes count
//! entries, free-running.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::arrival::Arrival;
use super::{check, get, index_of, last, mtu_of, set};
use crate::region::Region;
use crate::{Avail, Error, Pore, PoreKind, Signal, Width};

/// What a frame takes of `umem`: the first that the interface's frames fit into. The kernel accepts
/// no more than a page.
const SLOT_BYTES: [u32; 2] = [2048, 4096];
/// Bytes of a slot that the kernel leaves free in front of a frame that it received.
const HEADROOM_BYTES: u32 = 256;
/// An Ethernet header with two VLAN tags, which the MTU does not count.
const HEADER_BYTES: u32 = 14 + 2 * 4;
/// Entries of each ring, and frames in each direction.
const ENTRIES: u32 = 2048;
/// Descriptors that one kick sends, in copy mode.
const KICK: u32 = 32;
/// Bytes of an entry of rx and tx: address, length, options.
const DESCRIPTOR_BYTES: u32 = 16;

const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_ATTACH_XDP: u32 = 37;
/// The program runs in the generic part of the kernel, whatever the driver can do: it may not be
/// able to with the size of the interface's frames.
const XDP_FLAGS_SKB_MODE: u32 = 2;

/// One of the four rings.
#[derive(Debug)]
struct Ring {
    region: Region,
    producer: u32,
    consumer: u32,
    entries: u32,
    /// Our index: of what we produce, or consume.
    own: u32,
}

impl Ring {
    fn map(
        socket: &OwnedFd,
        at: &libc::xdp_ring_offset,
        page: u64,
        entry: u32,
    ) -> Result<Ring, Error> {
        let size = at.desc as usize + (ENTRIES * entry) as usize;
        let region = Region::map_at(socket, size, page)?;
        let (producer, consumer) = (at.producer as u32, at.consumer as u32);
        Ok(Ring { region, producer, consumer, entries: at.desc as u32, own: 0 })
    }

    /// Entries that the kernel has produced for us.
    fn filled(&self) -> Result<u32, Error> {
        self.within(self.region.load_index(self.producer).wrapping_sub(self.own))
    }

    /// Entries that we have produced and the kernel not consumed.
    fn queued(&self) -> Result<u32, Error> {
        self.within(self.own.wrapping_sub(self.region.load_index(self.consumer)))
    }

    fn within(&self, count: u32) -> Result<u32, Error> {
        if count <= ENTRIES {
            return Ok(count);
        }
        Err(Error::BadIndex { theirs: self.own.wrapping_add(count), ours: self.own, size: ENTRIES })
    }

    fn slot(&self, entry: u32) -> u64 {
        u64::from(self.entries + (self.own & (ENTRIES - 1)) * entry)
    }

    /// The next entry is ours to fill, or was read.
    fn step(&mut self) {
        self.own = self.own.wrapping_add(1);
    }

    /// Hands over the entries that were filled.
    fn produced(&self) {
        self.region.store_index(self.producer, self.own);
    }

    /// Gives back the entries that were read.
    fn consumed(&self) {
        self.region.store_index(self.consumer, self.own);
    }
}

/// The frames of one queue.
#[derive(Debug)]
pub struct Xdp {
    // Dropped first: then no more frames arrive.
    _link: OwnedFd,
    socket: OwnedFd,
    fill: Ring,
    completion: Ring,
    rx: Ring,
    tx: Ring,
    umem: Region,
    /// What a frame takes of it.
    slot_bytes: u32,
    /// Frames that can be sent from.
    free: Vec<u64>,
    is_kick_due: bool,
    /// Drops that the kernel had counted at the last query.
    drops: u64,
    /// The copy of a frame.
    copy: Vec<u8>,
    _program: OwnedFd,
    _map: OwnedFd,
}

/// The slot that frames of an interface fit into, otherwise the greatest.
fn slot_bytes(mtu: u32) -> u32 {
    let [small, large] = SLOT_BYTES;
    let fits = mtu.saturating_add(HEADER_BYTES) <= small - HEADROOM_BYTES;
    if fits { small } else { large }
}

/// Memory for the frames that the kernel shares, and the sizes of the rings.
fn share_frames(socket: &OwnedFd, slot_bytes: u32) -> Result<Region, Error> {
    let bytes = 2 * ENTRIES * slot_bytes;
    let umem = Region::anonymous(bytes as usize)?;
    let mut register = [0u64; 4];
    register[0] = umem.address(0, u64::from(bytes))?.expose_provenance() as u64;
    register[1] = u64::from(bytes);
    register[2] = u64::from(slot_bytes);
    set(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &register)?;
    for ring in [
        libc::XDP_UMEM_FILL_RING,
        libc::XDP_UMEM_COMPLETION_RING,
        libc::XDP_RX_RING,
        libc::XDP_TX_RING,
    ] {
        set(socket, libc::SOL_XDP, ring, &ENTRIES)?;
    }
    Ok(umem)
}

impl Xdp {
    /// The frames of a queue of an interface. No other program sees them while this is open.
    ///
    /// # Errors
    /// There is no such interface or queue, the kernel has no AF_XDP, or the process may not use
    /// it.
    pub fn open(interface: &str, queue: u32) -> Result<Xdp, Error> {
        let index = index_of(interface)?.cast_unsigned();
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: takes no memory.
        let socket = check(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
        // SAFETY: the descriptor is new, and this is its only owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let slot_bytes = slot_bytes(mtu_of(interface)?);
        let umem = share_frames(&socket, slot_bytes)?;
        // SAFETY: zeros are offsets.
        let mut at: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        // SAFETY: they are numbers.
        unsafe { get(&socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut at) }?;
        let ring = |at, page, entry| Ring::map(&socket, at, page, entry);
        let rx = ring(&at.rx, libc::XDP_PGOFF_RX_RING as u64, DESCRIPTOR_BYTES)?;
        let tx = ring(&at.tx, libc::XDP_PGOFF_TX_RING as u64, DESCRIPTOR_BYTES)?;
        let mut fill = ring(&at.fr, libc::XDP_UMEM_PGOFF_FILL_RING, 8)?;
        let completion = ring(&at.cr, libc::XDP_UMEM_PGOFF_COMPLETION_RING, 8)?;
        for frame in 0..ENTRIES {
            let address = u64::from(frame * slot_bytes);
            fill.region.store(fill.slot(8), Width::Eight, address)?;
            fill.step();
        }
        fill.produced();
        bind(&socket, index, queue)?;
        let map = bpf(BPF_MAP_CREATE, &words(&[BPF_MAP_TYPE_XSKMAP, 4, 4, queue + 1]))?;
        let (key, value) = (queue, socket.as_raw_fd());
        let mut update = [0u64; 4];
        update[0] = map.as_raw_fd() as u64;
        update[1] = (&raw const key).expose_provenance() as u64;
        update[2] = (&raw const value).expose_provenance() as u64;
        call(BPF_MAP_UPDATE_ELEM, &update)?;
        let program = load_program(&map)?;
        let link = |flags| {
            let link = [program.as_raw_fd() as u32, index, BPF_ATTACH_XDP, flags];
            bpf(BPF_LINK_CREATE, &words(&link))
        };
        let link = link(0).or_else(|_| link(XDP_FLAGS_SKB_MODE))?;
        let free = (ENTRIES..2 * ENTRIES).map(|frame| u64::from(frame * slot_bytes)).collect();
        Ok(Xdp {
            _link: link,
            socket,
            fill,
            completion,
            rx,
            tx,
            umem,
            slot_bytes,
            free,
            is_kick_due: false,
            drops: 0,
            copy: Vec::new(),
            _program: program,
            _map: map,
        })
    }

    /// Takes back the frames that were sent.
    fn reclaim(&mut self) -> Result<(), Error> {
        for _ in 0..self.completion.filled()? {
            let address = self.completion.region.load(self.completion.slot(8), Width::Eight)?;
            self.completion.step();
            self.free.push(address);
        }
        self.completion.consumed();
        Ok(())
    }

    /// Where the next frame is, and its length.
    fn next(&self) -> Result<Option<(u64, u64)>, Error> {
        if self.rx.filled()? == 0 { Ok(None) } else { self.descriptor().map(Some) }
    }

    /// The descriptor of the next frame, which is there: its address and length.
    fn descriptor(&self) -> Result<(u64, u64), Error> {
        let at = self.rx.slot(DESCRIPTOR_BYTES);
        let address = self.rx.region.load(at, Width::Eight)?;
        Ok((address, self.rx.region.load(at + 8, Width::Four)?))
    }

    /// The next frame was copied: the kernel may fill it again, when the rings are handed over. It
    /// leaves a headroom, which it cuts off itself.
    fn took(&mut self, address: u64) -> Result<(), Error> {
        self.rx.step();
        let frame = address - address % u64::from(self.slot_bytes);
        self.fill.region.store(self.fill.slot(8), Width::Eight, frame)?;
        self.fill.step();
        Ok(())
    }

    /// Hands the frames over that were copied.
    fn release(&self) {
        self.rx.consumed();
        self.fill.produced();
    }

    /// Takes at most `limit` frames, and calls `take` with each; returns their number.
    ///
    /// # Errors
    /// A ring holds what the kernel does not write.
    pub fn receive(
        &mut self,
        limit: usize,
        take: &mut dyn FnMut(&[u8], &Arrival),
    ) -> Result<usize, Error> {
        let count = limit.min(self.rx.filled()? as usize);
        for _ in 0..count {
            let (address, length) = self.descriptor()?;
            self.copy.clear();
            self.umem.get(address, length, &mut self.copy)?;
            self.took(address)?;
            take(&self.copy, &Arrival::default());
        }
        self.release();
        Ok(count)
    }

    /// The longest frame that is received; the kernel counts longer ones among its drops.
    fn longest(&self) -> usize {
        (self.slot_bytes - HEADROOM_BYTES) as usize
    }

    /// Sends frames; returns how many there was no room for, or were longer than what is received.
    ///
    /// # Errors
    /// A ring holds what the kernel does not write, or the device is gone.
    pub fn send(&mut self, frames: &[&[u8]]) -> Result<usize, Error> {
        self.reclaim()?;
        let mut refused = 0;
        for frame in frames {
            let is_frame = (1..=self.longest()).contains(&frame.len());
            refused += usize::from(!(is_frame && self.queue(frame)?));
        }
        self.tx.produced();
        self.finish_sending()?;
        Ok(refused)
    }

    /// Has the kernel send what it has not sent yet, as far as it can now.
    ///
    /// # Errors
    /// The device is gone.
    pub fn finish_sending(&mut self) -> Result<(), Error> {
        let mut queued = self.tx.queued()?;
        for _ in 0..ENTRIES / KICK {
            if queued == 0 && !self.is_kick_due {
                break;
            }
            self.kick()?;
            let left = self.tx.queued()?;
            if left == queued {
                break;
            }
            queued = left;
        }
        Ok(())
    }

    /// Whether there is what the kernel has not sent yet.
    pub fn is_sending(&self) -> bool {
        self.tx.queued().is_ok_and(|queued| queued > 0)
    }

    /// Frames that the kernel has not delivered, so far: those that a ring had no room for.
    pub fn kernel_drops(&self) -> u64 {
        // SAFETY: zeros are such numbers.
        let mut counts: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        // SAFETY: they are numbers.
        if unsafe { get(&self.socket, libc::SOL_XDP, libc::XDP_STATISTICS, &mut counts) }.is_err() {
            return self.drops;
        }
        counts.rx_dropped.wrapping_add(counts.rx_ring_full)
    }

    /// Puts a frame into the ring, to be handed over; false, if there is no room.
    fn queue(&mut self, frame: &[u8]) -> Result<bool, Error> {
        if self.tx.queued()? == ENTRIES {
            return Ok(false);
        }
        let Some(address) = self.free.pop() else { return Ok(false) };
        self.umem.put(address, frame)?;
        let at = self.tx.slot(DESCRIPTOR_BYTES);
        self.tx.region.store(at, Width::Eight, address)?;
        self.tx.region.store(at + 8, Width::Four, frame.len() as u64)?;
        self.tx.region.store(at + 12, Width::Four, 0)?;
        self.tx.step();
        self.is_kick_due = true;
        Ok(true)
    }

    /// Has the kernel send from the ring.
    fn kick(&mut self) -> Result<(), Error> {
        self.is_kick_due = false;
        let flags = libc::MSG_DONTWAIT;
        let socket = self.socket.as_raw_fd();
        // SAFETY: without an address and bytes: the kernel reads only the ring.
        let sent = unsafe { libc::sendto(socket, std::ptr::null(), 0, flags, std::ptr::null(), 0) };
        if sent >= 0 {
            return Ok(());
        }
        match last() {
            Error::System(error) => match error.raw_os_error() {
                // It is busy, and continues by itself or at the next kick.
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS) => {
                    self.is_kick_due = true;
                    Ok(())
                }
                _ => Err(error.into()),
            },
            other => Err(other),
        }
    }
}

impl AsFd for Xdp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Pore for Xdp {
    fn kind(&self) -> PoreKind {
        PoreKind::Xdp
    }

    fn avail(&mut self) -> Result<Avail, Error> {
        self.reclaim()?;
        let readable = self.next()?.map_or(0, |(_, length)| length as usize);
        Ok(Avail { readable, writable: if self.free.is_empty() { 0 } else { self.longest() } })
    }

    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let Some((address, length)) = self.next()? else { return Ok(0) };
        if length as usize > n {
            return Ok(0);
        }
        self.umem.get(address, length, into)?;
        self.took(address)?;
        self.release();
        Ok(length as usize)
    }

    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        match self.next()? {
            Some((address, length)) if length as usize <= n => {
                self.umem.get(address, length, into)?;
                Ok(length as usize)
            }
            _ => Ok(0),
        }
    }

    fn write(&mut self, frame: &[u8]) -> Result<usize, Error> {
        if frame.is_empty() || frame.len() > self.longest() {
            return Err(Error::Malformed("a frame is empty, or longer than a slot of the ring"));
        }
        self.reclaim()?;
        let is_queued = self.queue(frame)?;
        self.tx.produced();
        Ok(if is_queued { frame.len() } else { 0 })
    }

    /// Makes the kernel send what was written.
    fn ring(&mut self) -> Result<(), Error> {
        self.kick()
    }

    fn take_drops(&mut self) -> u64 {
        let drops = self.kernel_drops();
        drops.wrapping_sub(std::mem::replace(&mut self.drops, drops))
    }

    fn is_ring_due(&mut self) -> bool {
        self.is_kick_due
    }

    fn signals(&self) -> Vec<Signal> {
        vec![Signal::Ready(self.socket.as_raw_fd())]
    }
}

/// Times that binding is tried, and the pause between: the kernel frees the queue of a socket some
/// milliseconds after it was closed.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

fn bind(socket: &OwnedFd, index: u32, queue: u32) -> Result<(), Error> {
    // SAFETY: zeros are an address.
    let mut address: libc::sockaddr_xdp = unsafe { std::mem::zeroed() };
    address.sxdp_family = libc::AF_XDP as u16;
    address.sxdp_ifindex = index;
    address.sxdp_queue_id = queue;
    let length = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    let at = (&raw const address).cast();
    for _ in 1..TRIES {
        // SAFETY: the address is of this length and lives during the call.
        match check(unsafe { libc::bind(socket.as_raw_fd(), at, length) }) {
            Err(Error::System(error)) if error.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(PAUSE);
            }
            bound => return bound.map(drop),
        }
    }
    Err(std::io::Error::from_raw_os_error(libc::EBUSY).into())
}

/// A redirect of each frame to the socket of its queue, or on its way if there is none:
///
/// ```text
/// r2 = queue of the frame; r1 = the map; r3 = PASS; r0 = redirect_map(r1, r2, r3); exit
/// ```
fn load_program(map: &OwnedFd) -> Result<OwnedFd, Error> {
    let code = |op: u64, registers: u64, offset: u64, value: u64| {
        op | registers << 8 | offset << 16 | value << 32
    };
    let program = [
        code(0x61, 0x12, 16, 0),
        code(0x18, 0x11, 0, map.as_raw_fd() as u64),
        0,
        code(0xb7, 0x03, 0, 2),
        code(0x85, 0, 0, 51),
        code(0x95, 0, 0, 0),
    ];
    let license = c"Dual MIT/GPL";
    let mut load = [0u64; 16];
    load[0] = u64::from(BPF_PROG_TYPE_XDP) | (program.len() as u64) << 32;
    load[1] = program.as_ptr().expose_provenance() as u64;
    load[2] = license.as_ptr().expose_provenance() as u64;
    bpf(BPF_PROG_LOAD, &load)
}

/// Pairs of 32-bit fields as they lie in memory, little endian.
fn words(fields: &[u32]) -> [u64; 16] {
    let mut words = [0; 16];
    for (at, &field) in fields.iter().enumerate() {
        words[at / 2] |= u64::from(field) << (at % 2 * 32);
    }
    words
}

fn call(command: libc::c_long, attributes: &[u64]) -> Result<libc::c_long, Error> {
    let length = size_of_val(attributes);
    // SAFETY: the attributes are of this length, and what they point to lives during the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), length) };
    if result < 0 { Err(last()) } else { Ok(result) }
}

fn bpf(command: libc::c_long, attributes: &[u64]) -> Result<OwnedFd, Error> {
    let descriptor = call(command, attributes)?;
    // SAFETY: these commands give a fresh descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as libc::c_int) })
}
