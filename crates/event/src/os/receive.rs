//! Taking several datagrams from a socket by one system call.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::io::Errno;

use crate::datagrams::Datagrams;

/// The address of a sender as the kernel writes it: `sockaddr_in` or `sockaddr_in6`, of which the
/// latter is the longer one.
///
/// ```text
/// in    family u16 | port u16 | address 4 bytes
/// in6   family u16 | port u16 | flow 4 bytes | address 16 bytes | scope u32
/// ```
/// Ports and addresses are in the order of the network, the others in that of the machine.
type RawAddress = [u8; size_of::<libc::sockaddr_in6>()];

/// A datagram that a call has taken.
#[derive(Clone, Copy)]
pub(super) struct Received {
    /// The length of the whole datagram, which may be greater than what fitted.
    pub(super) length: usize,
    /// The unspecified address if the kernel names none of IP.
    pub(super) from: SocketAddr,
}

/// Takes up to `most` datagrams, without waiting, each into one of the slots in order, and calls
/// `each` with the slot; returns how many it has taken.
///
/// # Errors
/// That of the kernel. One that follows some datagrams comes with the next call.
pub(super) fn receive_all(
    fd: &OwnedFd,
    datagrams: &mut Datagrams,
    most: usize,
    mut each: impl FnMut(&mut Datagrams, usize, Received),
) -> io::Result<usize> {
    let mut addresses = [RawAddress::default(); Datagrams::MOST];
    let mut parts = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; Datagrams::MOST];
    // SAFETY: a header of zeros is a valid one, without an address and without parts.
    let mut headers: [libc::mmsghdr; Datagrams::MOST] = unsafe { std::mem::zeroed() };
    let slots = datagrams.begin().zip(&mut addresses).zip(&mut parts);
    for (header, ((slot, address), part)) in headers.iter_mut().zip(slots) {
        *part = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
        header.msg_hdr.msg_name = address.as_mut_ptr().cast();
        header.msg_hdr.msg_namelen = size_of::<RawAddress>() as libc::socklen_t;
        (header.msg_hdr.msg_iov, header.msg_hdr.msg_iovlen) = (part, 1);
    }
    let count = most.min(headers.len()) as libc::c_uint;
    // TRUNC: the length is the datagram's, not the part of it that fitted.
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    let taken = loop {
        // SAFETY: there are at least `count` headers. The kernel writes to them, and through each
        // to an address and a slot of the lengths given, which nothing else borrows meanwhile.
        let taken = unsafe {
            libc::recvmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count, flags, ptr::null_mut())
        };
        if let Ok(taken) = usize::try_from(taken) {
            break taken;
        }
        let error = io::Error::last_os_error();
        match Errno::from_io_error(&error) {
            Some(Errno::AGAIN) => return Ok(0),
            Some(Errno::INTR) => {}
            _ => return Err(error),
        }
    };
    for (slot, (header, address)) in headers.iter().zip(&addresses).enumerate().take(taken) {
        let from = address_of(address, header.msg_hdr.msg_namelen as usize);
        let from = from.unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into());
        each(datagrams, slot, Received { length: header.msg_len as usize, from });
    }
    Ok(taken)
}

/// The address of this length.
fn address_of(raw: &RawAddress, length: usize) -> Option<SocketAddr> {
    let (family, rest) = raw.get(..length)?.split_first_chunk()?;
    let (port, rest) = rest.split_first_chunk()?;
    let port = u16::from_be_bytes(*port);
    match u16::from_ne_bytes(*family).into() {
        libc::AF_INET => {
            let (address, _) = rest.split_first_chunk()?;
            Some((Ipv4Addr::from_octets(*address), port).into())
        }
        libc::AF_INET6 => {
            let (flow, rest) = rest.split_first_chunk()?;
            let (address, rest) = rest.split_first_chunk()?;
            let (scope, _) = rest.split_first_chunk()?;
            let [flow, scope] = [flow, scope].map(|word| u32::from_ne_bytes(*word));
            Some(SocketAddrV6::new(Ipv6Addr::from_octets(*address), port, flow, scope).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let raw = |family: i32, rest: &[u8]| {
            let mut raw = RawAddress::default();
            raw[..2].copy_from_slice(&(family as u16).to_ne_bytes());
            raw[2..2 + rest.len()].copy_from_slice(rest);
            raw
        };
        let four = raw(libc::AF_INET, &[0x30, 0x39, 192, 0, 2, 1]);
        assert_eq!(address_of(&four, 16), Some("192.0.2.1:12345".parse().unwrap()));
        let scope = 2u32.to_ne_bytes();
        let mut rest = [&[0x30, 0x39, 0, 0, 0, 0, 0xfe, 0x80][..], &[0; 14], &scope].concat();
        rest[21] = 1;
        let six = raw(libc::AF_INET6, &rest);
        assert_eq!(address_of(&six, 28), Some("[fe80::1%2]:12345".parse().unwrap()));
        assert_eq!(
            (address_of(&four, 0), address_of(&four, 7), address_of(&six, 27)),
            (None, None, None)
        );
        assert_eq!(
            (address_of(&four, 29), address_of(&raw(libc::AF_UNIX, &[0; 9]), 16)),
            (None, None)
        );
    }
}
