//! The endpoints, and their datagrams; `streams` has the byte streams.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, getsockname, recvfrom,
    sendto, socket_with, sockopt,
};

use crate::datagrams::Datagrams;
use crate::host::{HostStats, Transport};
use crate::source::{Address, Endpoint, Interest, no_such_endpoint};

use super::poller::Held;
use super::receive::{Received, receive_all};
use super::resolve::{Lookup, split};
use super::socket::{Opened, Socket, Twin, Waiting};
use super::{Os, failed};

/// Datagrams to one name that wait for its look-up.
const WAITING: usize = 64;

/// Ports requested from the system, if the one it chose is taken on the other side of `localhost`.
const PORTS_TRIED: u32 = 64;

/// The receive buffer requested for a port, for datagrams that come while a turn runs.
const KEPT_BYTES: usize = 1 << 20;

/// The numbers that the kernel reports of a socket, and which of them is that of drops
/// (`linux/sock_diag.h`).
const MEMINFO_NUMBERS: usize = 9;
const MEMINFO_DROPS: usize = libc::SK_MEMINFO_DROPS as usize;

impl Os {
    pub(super) fn register_endpoint(
        &mut self,
        endpoint: Endpoint,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let Some(fd) = self.descriptor_to_watch(endpoint, token, interest)? else {
            return Ok(());
        };
        self.poller.add(fd, token, interest, Held::ByHost)?;
        if let Some(twin) = self.sockets.get(endpoint.0).and_then(Socket::twin) {
            let added = self.poller.add_twin(twin.as_raw_fd(), token);
            return added.inspect_err(|_| self.poller.remove(token));
        }
        Ok(())
    }

    pub(super) fn modify_endpoint(
        &mut self,
        endpoint: Endpoint,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        match self.descriptor_to_watch(endpoint, token, interest)? {
            Some(fd) => self.poller.modify(fd, token, interest),
            None => Ok(()),
        }
    }

    /// The descriptor of an endpoint. One that waits for its name to be looked up has none yet:
    /// it keeps the interest until then.
    fn descriptor_to_watch(
        &mut self,
        endpoint: Endpoint,
        token: u64,
        interest: Interest,
    ) -> io::Result<Option<RawFd>> {
        let socket = self.sockets.get_mut(endpoint.0).ok_or_else(no_such_endpoint)?;
        if let Socket::Unresolved { watch, .. } = socket {
            *watch = Some((token, interest));
            return Ok(None);
        }
        socket.fd().map(|fd| Some(fd.as_raw_fd())).ok_or_else(no_such_endpoint)
    }

    pub(super) fn deregister_endpoint(&mut self, endpoint: Endpoint, token: u64) {
        if let Some(Socket::Unresolved { watch, .. }) = self.sockets.get_mut(endpoint.0) {
            *watch = None;
        }
        self.poller.remove(token);
    }

    /// Sends and connects what has waited for names that are resolved now.
    pub(super) fn finish_lookups(&mut self) {
        let now = self.time();
        for (name, address) in self.resolver.answers(now) {
            let endpoints: Vec<Endpoint> =
                self.sockets.iter().map(|(key, _)| Endpoint(key)).collect();
            for endpoint in endpoints {
                self.finish_endpoint(endpoint, &name, address);
            }
        }
    }

    fn finish_endpoint(&mut self, endpoint: Endpoint, found: &str, address: Option<SocketAddr>) {
        match self.sockets.get_mut(endpoint.0) {
            Some(Socket::Datagram { waiting, .. }) => {
                let (ready, rest): (VecDeque<_>, VecDeque<_>) =
                    waiting.drain(..).partition(|datagram| datagram.to == found);
                *waiting = rest;
                for datagram in ready {
                    match address {
                        // An error has been counted; there is no caller to report it to.
                        Some(address) => drop(self.send_inet(endpoint, address, &datagram.bytes)),
                        None => self.stats.dropped_unresolved += 1,
                    }
                }
            }
            Some(Socket::Unresolved { name, watch }) if name == found => {
                let watch = *watch;
                if let Err(error) = self.finish_connect(endpoint, address, watch)
                    && let Some((token, _)) = watch
                {
                    self.reports.push(failed(token, error));
                }
            }
            _ => {}
        }
    }

    fn finish_connect(
        &mut self,
        endpoint: Endpoint,
        address: Option<SocketAddr>,
        watch: Option<(u64, Interest)>,
    ) -> io::Result<()> {
        let address = address.ok_or_else(unresolved)?;
        let fd = self.begin_connect(address)?;
        if let Some((token, interest)) = watch {
            self.poller.add(fd.as_raw_fd(), token, interest, Held::ByHost)?;
        }
        if let Some(socket) = self.sockets.get_mut(endpoint.0) {
            *socket = Socket::Stream { fd };
        }
        Ok(())
    }

    fn send_inet(&mut self, from: Endpoint, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
        let Some(Socket::Datagram { fd, twin, family, .. }) = self.sockets.get(from.0) else {
            return Err(no_such_endpoint());
        };
        let fd = twin.fd.as_ref().filter(|_| to.is_ipv6()).unwrap_or(fd);
        let to = if *family == AddressFamily::INET6 { mapped(to) } else { to };
        self.stats.syscalls += 1;
        match sendto(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL, &to) {
            Ok(_) => {
                self.stats.sent += 1;
                self.stats.sent_bytes += bytes.len() as u64;
                Ok(())
            }
            Err(error) => {
                let full = matches!(error, Errno::AGAIN | Errno::NOBUFS);
                self.stats.dropped_full += u64::from(full);
                self.stats.send_errors += u64::from(!full);
                Err(error.into())
            }
        }
    }

    /// Keeps a datagram until its name is known.
    fn keep(&mut self, endpoint: Endpoint, to: &str, bytes: &[u8]) -> io::Result<()> {
        let Some(Socket::Datagram { waiting, .. }) = self.sockets.get_mut(endpoint.0) else {
            return Err(no_such_endpoint());
        };
        if waiting.len() >= WAITING {
            self.stats.dropped_full += 1;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        waiting.push_back(Waiting { to: to.into(), bytes: bytes.into() });
        Ok(())
    }

    /// Datagrams that the kernel has dropped before they were taken, at the ports that are open.
    pub(super) fn kernel_drops(&self) -> u64 {
        let sockets = self.sockets.iter().map(|(_, socket)| socket);
        let of_datagrams = sockets.filter(|socket| matches!(socket, Socket::Datagram { .. }));
        of_datagrams
            .flat_map(|socket| socket.fd().into_iter().chain(socket.twin()))
            .map(drops)
            .sum()
    }

    /// Opens the sockets of an endpoint on an address of this machine.
    pub(super) fn open(&mut self, addr: &str, kind: SocketType) -> io::Result<Opened> {
        let address = self.resolver.address_now(addr)?;
        let (host, port) = split(addr)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (fd, real) = self.open_socket(address, kind)?;
            let twin = if host.eq_ignore_ascii_case("localhost") {
                self.open_twin(real.port(), kind)
            } else {
                Ok(None)
            };
            let fd_of_twin = match twin {
                Ok(twin) => twin,
                // The system chooses ports of one family: that of the other may be taken.
                Err(error) if is_taken(&error) && port == 0 && attempts < PORTS_TRIED => continue,
                Err(error) => return Err(error),
            };
            let name = format!("{host}:{}", real.port());
            if fd_of_twin.is_some() {
                self.resolver.note(of_twin(real.port()), &name);
            }
            self.resolver.note(real, &name);
            let twin = Twin::new(fd_of_twin);
            return Ok(Opened { fd, twin, name, family: family_of(&real) });
        }
    }

    /// A socket on ::1, if this host has that.
    fn open_twin(&mut self, port: u16, kind: SocketType) -> io::Result<Option<OwnedFd>> {
        match self.open_socket(of_twin(port), kind) {
            Ok((fd, _)) => Ok(Some(fd)),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// A bound socket, and its actual address.
    fn open_socket(
        &mut self,
        address: SocketAddr,
        kind: SocketType,
    ) -> io::Result<(OwnedFd, SocketAddr)> {
        self.stats.syscalls += 4;
        let fd = new_socket(family_of(&address), kind)?;
        if kind == SocketType::STREAM {
            sockopt::set_socket_reuseaddr(&fd, true)?;
        }
        if address.is_ipv6() {
            // The unspecified address takes IPv4 as well.
            sockopt::set_ipv6_v6only(&fd, !address.ip().is_unspecified())?;
        }
        bind(&fd, &address)?;
        let real = SocketAddr::try_from(getsockname(&fd)?)?;
        Ok((fd, real))
    }
}

impl Transport for Os {
    fn bind(&mut self, addr: &str) -> io::Result<Endpoint> {
        let Opened { fd, twin, name, family } = self.open(addr, SocketType::DGRAM)?;
        for fd in std::iter::once(&fd).chain(&twin.fd) {
            // A smaller one works as well, but drops sooner under load.
            let _ = sockopt::set_socket_recv_buffer_size(fd, KEPT_BYTES);
            self.stats.syscalls += 1;
        }
        let socket = Socket::Datagram { fd, twin, name, family, waiting: VecDeque::new() };
        Ok(Endpoint(self.sockets.insert(socket)))
    }

    fn local_addr(&self, endpoint: Endpoint) -> io::Result<String> {
        match self.sockets.get(endpoint.0) {
            Some(Socket::Datagram { name, .. } | Socket::Listener { name, .. }) => Ok(name.clone()),
            Some(Socket::Stream { fd }) => Ok(SocketAddr::try_from(getsockname(fd)?)?.to_string()),
            _ => Err(no_such_endpoint()),
        }
    }

    fn send(&mut self, endpoint: Endpoint, to: &str, bytes: &[u8]) -> io::Result<()> {
        let now = self.time();
        match self.resolver.address(to, now)? {
            Lookup::Known(address) => self.send_inet(endpoint, address, bytes),
            Lookup::Pending => self.keep(endpoint, to, bytes),
            Lookup::Unknown => {
                self.stats.dropped_unresolved += 1;
                Err(unresolved())
            }
        }
    }

    fn send_to(&mut self, endpoint: Endpoint, to: Address, bytes: &[u8]) -> io::Result<()> {
        match to {
            Address::Inet(to) => self.send_inet(endpoint, to, bytes),
            Address::Sim(_) | Address::Local(_) => Err(no_such_endpoint()),
        }
    }

    fn recv(&mut self, endpoint: Endpoint, buf: &mut [u8]) -> io::Result<Option<(usize, Address)>> {
        let Some(Socket::Datagram { fd, twin, .. }) = self.sockets.get_mut(endpoint.0) else {
            return Err(no_such_endpoint());
        };
        let stats = &mut self.stats;
        twin.first_ready(fd, |fd| {
            loop {
                stats.syscalls += 1;
                // TRUNC: the length is the datagram's, not the part of it that fitted.
                match recvfrom(fd, &mut *buf, RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
                    Ok((_, length, _)) if !fits(stats, length, buf.len()) => {}
                    Ok((_, length, from)) => {
                        let from = from.ok_or(Errno::DESTADDRREQ)?;
                        let from = canonical(SocketAddr::try_from(from)?);
                        return Ok(Some((length, Address::Inet(from))));
                    }
                    Err(Errno::AGAIN) => return Ok(None),
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        })
    }

    fn recv_all(&mut self, endpoint: Endpoint, to: &mut Datagrams) -> io::Result<bool> {
        let Some(Socket::Datagram { fd, twin, .. }) = self.sockets.get_mut(endpoint.0) else {
            return Err(no_such_endpoint());
        };
        let stats = &mut self.stats;
        let count = twin.take(fd, Datagrams::MOST, |fd, most| {
            stats.syscalls += 1;
            receive_all(fd, to, most, |to, slot, Received { length, from }| {
                if fits(stats, length, Datagrams::BYTES_MAX) {
                    to.note(slot, length, Address::Inet(canonical(from)));
                }
            })
        })?;
        // One call takes what one of the two sockets has.
        Ok(count == Datagrams::MOST || count > 0 && twin.fd.is_some())
    }

    fn name_of(&self, address: Address) -> Cow<'_, str> {
        match address {
            Address::Inet(address) => match self.resolver.name_of(&address) {
                Some(name) => Cow::Borrowed(name),
                None => Cow::Owned(address.to_string()),
            },
            Address::Sim(index) => Cow::Owned(format!("sim {index}")),
            Address::Local(peer) => {
                Cow::Owned(format!("process {} of user {}", peer.pid, peer.uid))
            }
        }
    }

    fn close(&mut self, endpoint: Endpoint) {
        let Some(socket) = self.sockets.remove(endpoint.0) else { return };
        for fd in socket.fd().into_iter().chain(socket.twin()) {
            self.poller.remove_fd(fd.as_raw_fd());
            self.stats.syscalls += 1;
        }
        if let Socket::Datagram { fd, twin, waiting, .. } = socket {
            self.stats.dropped_kernel +=
                std::iter::once(&fd).chain(&twin.fd).map(drops).sum::<u64>();
            self.stats.dropped_unresolved += waiting.len() as u64;
        }
    }
}

/// The other address of a port of `localhost`.
fn of_twin(port: u16) -> SocketAddr {
    SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port)
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

pub(super) fn new_socket(family: AddressFamily, kind: SocketType) -> io::Result<OwnedFd> {
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?)
}

pub(super) fn family_of(address: &SocketAddr) -> AddressFamily {
    if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET }
}

/// Datagrams that the kernel has dropped at a socket since it was made: what SO_RXQ_OVFL says with
/// each datagram, read on demand.
fn drops(fd: &OwnedFd) -> u64 {
    let mut numbers = [0u32; MEMINFO_NUMBERS];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    let (option, out) = (libc::SO_MEMINFO, numbers.as_mut_ptr().cast());
    // SAFETY: the kernel writes at most `length` bytes to `out`, which are those of `numbers`.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, option, out, &mut length) };
    if result == 0 { numbers[MEMINFO_DROPS].into() } else { 0 }
}

/// An IPv4 address as an IPv6 socket sends to it.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

/// Counts a datagram as received; one whose end did not fit as dropped, which is false.
fn fits(stats: &mut HostStats, length: usize, room: usize) -> bool {
    if length > room {
        stats.dropped_truncated += 1;
        return false;
    }
    stats.received += 1;
    stats.received_bytes += length as u64;
    true
}

/// The canonical form of an address: IPv4 seen through an IPv6 socket is IPv4.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => SocketAddr::new(ip.into(), address.port()),
            None => address,
        },
        IpAddr::V4(_) => address,
    }
}

pub(super) fn unresolved() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the name has no address")
}
