//! Frames of an interface through a packet socket, many in one system call.

use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::{io, ptr};

use super::arrival::{Arrival, Arrivals, TAG_BYTES, Tag};
use super::group::{Group, Socket};
use super::offload::{HEADER_BYTES, Offload};
pub use super::program::{Instruction, attach};
use super::{FRAME_BYTES_MAX, check, get, index_of, last, set};
use crate::Error;

/// Frames of one system call at most.
pub const BATCH: usize = 32;

/// Bytes for the control data of a message: more than those of its only kind need.
const CONTROL_BYTES: usize = 64;

/// Bytes that the kernel keeps for a socket, with its own for each frame: of the longest frames
/// only three would fit into what it keeps otherwise.
const KEPT_BYTES: libc::c_int = 8 << 20;

/// Sockets do not see what this machine sends through the interface (Linux 4.20).
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Which frames a socket sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// The program of those that the kernel passes; all of them, if it is empty.
    pub filter: &'a [Instruction],
    /// Those that this machine sends too.
    pub outgoing: bool,
    /// Of those only the ones that a group of sockets gives to the one with this number.
    pub group: Option<(&'a Arc<Group>, u32)>,
}

/// A packet socket without a ring.
#[derive(Debug)]
pub struct PacketSocket {
    socket: Socket,
    /// Of each frame of a batch: the header of what is left to do, then its bytes.
    buffers: Vec<u8>,
    /// Frames that the next call asks for.
    wanted: usize,
    arrivals: Arrivals,
}

/// The fewest frames that a call asks for.
const WANTED_MIN: usize = 4;

/// What a message points to, except for its frame.
struct Slot {
    part: libc::iovec,
    from: libc::sockaddr_ll,
    /// Aligned as control data are.
    control: [u64; CONTROL_BYTES / 8],
}

impl Slot {
    fn new(buffer: &mut [u8]) -> Slot {
        Slot {
            part: libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() },
            // SAFETY: zeros are an address.
            from: unsafe { mem::zeroed() },
            control: [0; CONTROL_BYTES / 8],
        }
    }

    /// A message with these parts, which has to be used before the slot moves.
    fn message(&mut self) -> libc::mmsghdr {
        // SAFETY: zeros are a message without parts.
        let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
        let header = &mut message.msg_hdr;
        (header.msg_iov, header.msg_iovlen) = (&raw mut self.part, 1);
        header.msg_control = self.control.as_mut_ptr().cast();
        header.msg_controllen = CONTROL_BYTES as _;
        header.msg_name = (&raw mut self.from).cast();
        header.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        message
    }
}

/// Bytes of one buffer: with those of the longest datagram of IP behind tags.
const BUFFER_BYTES: usize = HEADER_BYTES + FRAME_BYTES_MAX + 60;

/// What a frame that is sent begins with: nothing is left to the network card.
pub const HEADER: [u8; HEADER_BYTES] = [0; HEADER_BYTES];

impl PacketSocket {
    /// Opens one for the frames of an interface.
    ///
    /// # Errors
    /// There is no such interface, the process may not open it, or the kernel refuses the filter.
    pub fn open(interface: &str, wanted: &Wanted<'_>) -> Result<PacketSocket, Error> {
        let prepare = |socket: &OwnedFd| {
            let on: libc::c_int = 1;
            set(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)?;
            // Beyond the limit of the system only with privilege.
            set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &KEPT_BYTES)
                .or_else(|_| set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &KEPT_BYTES))
        };
        let (socket, ()) = open(interface, wanted, prepare)?;
        // The memory is the kernel's until a frame is that long.
        let buffers = vec![0; BATCH * BUFFER_BYTES];
        Ok(PacketSocket { socket, buffers, wanted: BATCH, arrivals: Arrivals::default() })
    }

    /// Receives the frames that wait, at most [`BATCH`], and calls `take` for each. What the sender
    /// left to the network card is done: one long frame can become many. Returns the number
    /// received.
    ///
    /// # Errors
    /// The device is gone or down.
    pub fn receive(&mut self, take: &mut dyn FnMut(&[u8], &Arrival)) -> Result<usize, Error> {
        // As many as have come lately, and more: preparing a message costs as much as copying one.
        let wanted = self.wanted;
        let mut slots: [MaybeUninit<Slot>; BATCH] = [const { MaybeUninit::uninit() }; BATCH];
        let mut messages: [MaybeUninit<libc::mmsghdr>; BATCH] =
            [const { MaybeUninit::uninit() }; BATCH];
        let buffers = self.buffers.chunks_exact_mut(BUFFER_BYTES).take(wanted);
        for ((buffer, slot), message) in buffers.zip(&mut slots).zip(&mut messages) {
            message.write(slot.write(Slot::new(buffer)).message());
        }
        let (fd, count) = (self.socket.as_raw_fd(), wanted as libc::c_uint);
        // SAFETY: that many messages have been written, each with the addresses and lengths of its
        // parts, which live during the call and are not used otherwise.
        let received =
            unsafe { libc::recvmmsg(fd, messages.as_mut_ptr().cast(), count, 0, ptr::null_mut()) };
        let Ok(received) = usize::try_from(received) else { return self.arrivals.failed(last()) };
        self.wanted = (2 * received).clamp(WANTED_MIN, BATCH);
        let buffers = self.buffers.chunks_exact_mut(BUFFER_BYTES);
        let of_kernel = messages.iter().zip(&slots).take(received);
        for (buffer, (message, slot)) in buffers.zip(of_kernel) {
            // SAFETY: no more messages were received than were written above, with a slot each.
            let (message, slot) = unsafe { (message.assume_init_ref(), slot.assume_init_ref()) };
            let frame = buffer.get_mut(..message.msg_len as usize);
            let Some(&header) = frame.as_ref().and_then(|it| it.first_chunk()) else { continue };
            // The header was read: its end is room for a tag.
            let room = frame.and_then(|it| it.get_mut(HEADER_BYTES - TAG_BYTES..));
            // SAFETY: the kernel has filled in the message, and its control data still live.
            let tag = unsafe { tag_of(&message.msg_hdr) };
            let is_outgoing = slot.from.sll_pkttype == libc::PACKET_OUTGOING;
            let arrival = Arrival { is_outgoing, time_ns: None };
            let room = room.unwrap_or_default();
            self.arrivals.finish(room, tag, &Offload::of(&header), &arrival, take);
        }
        Ok(received)
    }

    /// Sends frames, each after a [`HEADER`]; returns how many the kernel did not take.
    pub fn send(&self, frames: &[&[u8]]) -> usize {
        send(&self.socket, frames)
    }

    /// Frames that were not delivered since the last call: those that the kernel had no room for.
    ///
    /// # Errors
    /// The device is gone.
    pub fn take_kernel_drops(&self) -> Result<u64, Error> {
        // SAFETY: zeros are such numbers.
        let mut counts: libc::tpacket_stats = unsafe { mem::zeroed() };
        // SAFETY: they are numbers.
        unsafe { get(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts) }?;
        Ok(counts.tp_drops.into())
    }

    /// Long frames that could not be cut since the last call.
    pub fn take_not_cut(&mut self) -> u64 {
        self.arrivals.take_not_cut()
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A packet socket that is bound to an interface when all else has been set: nothing arrives
/// before. Its frames have the header of [`Offload`] in front, in both directions.
pub(super) fn open<T>(
    interface: &str,
    wanted: &Wanted<'_>,
    prepare: impl FnOnce(&OwnedFd) -> Result<T, Error>,
) -> Result<(Socket, T), Error> {
    let index = index_of(interface)?;
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no memory. Without a protocol nothing arrives before it is bound.
    let socket = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new, and this is its only owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let on: libc::c_int = 1;
    set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &on)?;
    if !wanted.outgoing {
        // An older kernel shows us our own frames as well.
        let _ = set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &on);
    }
    attach(&socket, wanted.filter)?;
    let prepared = prepare(&socket)?;
    // SAFETY: zeros are an address.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let at = (&raw const address).cast();
    // SAFETY: the address is of this length and lives during the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), at, length) })?;
    Ok((Socket::of(socket, wanted.group)?, prepared))
}

/// Sends frames, each after a [`HEADER`]; returns how many the kernel did not take.
pub(super) fn send(socket: &OwnedFd, frames: &[&[u8]]) -> usize {
    let (mut at, mut refused) = (0, 0);
    while at < frames.len() {
        let batch = &frames[at..frames.len().min(at + BATCH)];
        match send_batch(socket.as_raw_fd(), batch) {
            Ok(sent) => at += sent,
            Err(error) if is_of_all(&error) => return refused + frames.len() - at,
            Err(_) => (at, refused) = (at + 1, refused + 1),
        }
    }
    refused
}

/// Whether other frames would be refused as well.
fn is_of_all(error: &io::Error) -> bool {
    let codes = [libc::EAGAIN, libc::ENOBUFS, libc::ENETDOWN, libc::ENXIO];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

/// Sends at most [`BATCH`] frames: how many of them, one at least; or why not the first.
pub(super) fn send_batch(socket: RawFd, frames: &[&[u8]]) -> io::Result<usize> {
    // SAFETY: zeros are messages without parts, and places for parts.
    let (mut messages, mut parts): ([libc::mmsghdr; BATCH], [libc::iovec; BATCH]) =
        unsafe { (mem::zeroed(), mem::zeroed()) };
    for ((frame, message), part) in frames.iter().zip(&mut messages).zip(&mut parts) {
        let bytes = frame.as_ptr().cast_mut().cast();
        *part = libc::iovec { iov_base: bytes, iov_len: frame.len() };
        (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (part, 1);
    }
    let (at, count) = (messages.as_mut_ptr(), frames.len().min(BATCH) as libc::c_uint);
    // SAFETY: each of the messages has the addresses and lengths of its parts, which live during
    // the call and are only read.
    let sent = unsafe { libc::sendmmsg(socket, at, count, libc::MSG_DONTWAIT) };
    match usize::try_from(sent) {
        Ok(sent) if sent > 0 => Ok(sent),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// The VLAN tag in the control data of a received frame.
///
/// # Safety
/// `recvmmsg` has filled in the message, and what it points to lives.
unsafe fn tag_of(message: &libc::msghdr) -> Option<Tag> {
    // SAFETY: the caller promises that the kernel has filled in the message.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: the kernel has put a header here.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        if (level, kind) == (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
            // SAFETY: messages of this kind hold this; it need not be aligned.
            let data: libc::tpacket_auxdata =
                unsafe { libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>().read_unaligned() };
            return Tag::of(data.tp_status, data.tp_vlan_tpid, data.tp_vlan_tci);
        }
        // SAFETY: as for the first.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    None
}
