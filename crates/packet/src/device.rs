//! Devices of the system as files: each read and write is one frame.
//!
//! Apps may not contain unsafe code; what they need of the kernel beyond the standard library is
//! here. All files are non-blocking, so their readiness can be watched by the event loop.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Bytes of a VLAN tag, and those before it: the addresses.
const TAG: usize = 4;
const ADDRESSES: usize = 12;

/// A TAP device of this name, which is made if it does not exist and goes when the file is closed.
///
/// # Errors
/// The name is too long, the system has no such devices, or the process may not have one.
pub fn tap(name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open("/dev/net/tun")?;
    // SAFETY: zeros are a request without a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    if name.len() > room || name.contains('\0') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name of a device"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is open, and the request is of the kind that this call reads.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw const request) })?;
    Ok(file)
}

/// An instruction of classic BPF: code, distances if its condition holds and if not, number.
pub type SocketInstruction = (u16, u8, u8, u32);

/// A packet socket for the frames of an interface that a filter of the kernel passes; all of them,
/// if that is empty.
///
/// # Errors
/// There is no such interface, the process may not open it, or the kernel refuses the filter.
pub fn raw_socket(interface: &str, filter: &[SocketInstruction]) -> io::Result<File> {
    let name = CString::new(interface)?;
    // SAFETY: the name ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // Of no protocol until it is bound: it must not see what other interfaces receive.
    // SAFETY: takes no memory.
    let socket = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new, and this is its only owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let (on, length) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    let (fd, level, option) = (socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_AUXDATA);
    // SAFETY: the value is of this length and lives during the call.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const on).cast(), length) })?;
    // Before it is bound: no other frame comes in.
    attach(&socket, filter)?;
    // SAFETY: zeros are an address.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = index.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let at = (&raw const address).cast();
    // SAFETY: the address is of this length and lives during the call.
    check(unsafe { libc::bind(socket.as_raw_fd(), at, length) })?;
    Ok(File::from(socket))
}

/// Makes the kernel drop what a filter does not pass, before it reaches a socket. An empty one
/// changes nothing.
///
/// # Errors
/// The kernel refuses the filter.
pub fn attach(socket: &impl AsRawFd, filter: &[SocketInstruction]) -> io::Result<()> {
    if filter.is_empty() {
        return Ok(());
    }
    let instruction =
        |&(code, jt, jf, k): &SocketInstruction| libc::sock_filter { code, jt, jf, k };
    let mut instructions: Vec<_> = filter.iter().map(instruction).collect();
    let len = u16::try_from(instructions.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len, filter: instructions.as_mut_ptr() };
    let length = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let (fd, level, option) = (socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: the program and its instructions are of these lengths, live during the call, and are
    // only read.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const program).cast(), length) })?;
    Ok(())
}

/// Frames that the kernel has not delivered to a packet socket since the last call: there was
/// no room for them.
///
/// # Errors
/// It is no packet socket.
pub fn take_kernel_drops(socket: &File) -> io::Result<u64> {
    // SAFETY: zeros are such numbers.
    let mut found: libc::tpacket_stats = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    let (fd, level, option) = (socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS);
    // SAFETY: the call writes at most `length` bytes to the value.
    let outcome =
        unsafe { libc::getsockopt(fd, level, option, (&raw mut found).cast(), &raw mut length) };
    check(outcome).map(|_| u64::from(found.tp_drops))
}

/// The control data of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Beside {
    tag: Option<[u8; TAG]>,
    lacks_checksum: bool,
}

/// A received frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// What of the buffer it is.
    pub frame: Range<usize>,
    /// This machine sent it.
    pub is_outgoing: bool,
}

/// Receives a frame from a packet socket.
///
/// The kernel takes the outer VLAN tag off and hands it over beside the frame: it is put back. A
/// checksum that was left to the network card is completed.
///
/// # Errors
/// As reading has them.
pub fn receive(socket: &File, buffer: &mut [u8]) -> io::Result<Received> {
    // Room for a tag is left in front.
    let Some((_, rest)) = buffer.split_at_mut_checked(TAG) else {
        return Ok(Received { frame: 0..0, is_outgoing: false });
    };
    let mut part = libc::iovec { iov_base: rest.as_mut_ptr().cast(), iov_len: rest.len() };
    // More than one message of this kind needs, aligned as such messages are.
    let mut control = [0u64; 16];
    // SAFETY: zeros are a message without parts.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) =
        ((&raw mut control).cast(), size_of_val(&control) as _);
    // SAFETY: zeros are an address.
    let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the message has the addresses and lengths of its parts, which live during the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the call has filled in the message, whose parts still live.
    let Beside { tag, lacks_checksum } = unsafe { beside(&message) };
    let frame = TAG..TAG + length;
    if lacks_checksum {
        // What it cannot complete is left: a tunnel's inner one, and a frame that was cut.
        tidemill_stdx::internet::complete(&mut buffer[frame.clone()]);
    }
    let is_outgoing = from.sll_pkttype == libc::PACKET_OUTGOING;
    let Some(tag) = tag.filter(|_| length >= ADDRESSES) else {
        return Ok(Received { frame, is_outgoing });
    };
    buffer.copy_within(TAG..TAG + ADDRESSES, 0);
    buffer[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
    Ok(Received { frame: 0..frame.end, is_outgoing })
}

/// The control data of a received frame.
///
/// # Safety
/// `recvmsg` has filled in the message, and what it points to lives.
unsafe fn beside(message: &libc::msghdr) -> Beside {
    // SAFETY: the caller promises that the kernel has filled in the message.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !header.is_null() {
        // SAFETY: the kernel has put a header here.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        if (level, kind) == (libc::SOL_PACKET, libc::PACKET_AUXDATA) {
            // SAFETY: messages of this kind hold this; it need not be aligned.
            let data: libc::tpacket_auxdata =
                unsafe { libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>().read_unaligned() };
            let is = |status: u32| data.tp_status & status != 0;
            let lacks_checksum = is(libc::TP_STATUS_CSUMNOTREADY);
            if !is(libc::TP_STATUS_VLAN_VALID) {
                return Beside { tag: None, lacks_checksum };
            }
            // Older kernels do not set the kind of the tag.
            let known = is(libc::TP_STATUS_VLAN_TPID_VALID);
            let kind = if known { data.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
            let [a, b] = kind.to_be_bytes();
            let [c, d] = data.tp_vlan_tci.to_be_bytes();
            return Beside { tag: Some([a, b, c, d]), lacks_checksum };
        }
        // SAFETY: as for the first.
        header = unsafe { libc::CMSG_NXTHDR(message, header) };
    }
    Beside::default()
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
