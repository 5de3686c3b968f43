//! Frames of devices: as pores, of which each read returns one whole frame and each write sends
//! one, and many in one call for packet apps. They need rights that programs seldom
//! have (CAP_NET_RAW, CAP_NET_ADMIN); without them opening fails with an error that names them.

mod arrival;
pub mod group;
mod offload;
mod program;
pub mod ring;
pub mod socket;
pub mod tap;
pub mod xdp;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use crate::Error;
pub use arrival::Arrival;

/// The longest frame.
pub const FRAME_BYTES_MAX: usize = 65_536;

/// The number of an interface.
pub(crate) fn index_of(interface: &str) -> Result<i32, Error> {
    let name = CString::new(interface).map_err(|_| Error::Malformed("no name of a device"))?;
    // SAFETY: the name ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(last()),
        index => Ok(index.cast_signed()),
    }
}

/// The most bytes after the header that the interface's frames have.
fn mtu_of(interface: &str) -> Result<u32, Error> {
    // SAFETY: zeros are such a request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: the name ends there.
    let [name @ .., _] = &mut request.ifr_name;
    if interface.len() > name.len() {
        return Err(Error::Malformed("no name of a device"));
    }
    for (at, byte) in name.iter_mut().zip(interface.bytes()) {
        *at = byte.cast_signed();
    }
    // The sockets of AF_XDP do not answer this.
    let socket = UnixDatagram::unbound()?;
    // SAFETY: the request is one for an interface's numbers, and outlives the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) })?;
    // SAFETY: the kernel has written this number.
    Ok(unsafe { request.ifr_ifru.ifru_mtu }.unsigned_abs())
}

/// The error that the last call left in `errno`.
pub(crate) fn last() -> Error {
    io::Error::last_os_error().into()
}

pub(crate) fn check(result: libc::c_int) -> Result<libc::c_int, Error> {
    if result < 0 { Err(last()) } else { Ok(result) }
}

/// Sets what a socket is to do.
fn set<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> Result<(), Error> {
    let (length, at) = (size_of::<T>() as libc::socklen_t, std::ptr::from_ref(value).cast());
    // SAFETY: the value is of this length and lives during the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, length) }).map(drop)
}

/// Reads numbers of a socket (getsockopt).
///
/// # Safety
/// Any bytes are a `T`.
unsafe fn get<T>(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: &mut T,
) -> Result<(), Error> {
    let (mut length, at) = (size_of::<T>() as libc::socklen_t, std::ptr::from_mut(value).cast());
    // SAFETY: the value has room for this length, and is still one with what is written to it.
    check(unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, at, &raw mut length) })
        .map(drop)
}
