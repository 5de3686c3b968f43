//! Devices of the system as files: what is read and written is one frame each.
//!
//! Apps may not contain unsafe code; what they need of the kernel beyond the standard library is
//! here. All files are non-blocking, so their readiness can be watched by the event loop.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

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

/// A packet socket for all frames of an interface.
///
/// # Errors
/// There is no such interface, or the process may not look at it.
pub fn raw_socket(interface: &str) -> io::Result<File> {
    let name = CString::new(interface)?;
    // SAFETY: the name ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes no memory.
    let socket = check(unsafe { libc::socket(libc::AF_PACKET, kind, protocol.into()) })?;
    // SAFETY: it is fresh, and nobody else has it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
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

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
