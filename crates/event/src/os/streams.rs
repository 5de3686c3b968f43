//! Byte streams: nothing here waits, and over TCP small writes go out at once (no Nagle).

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, chmodat};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with,
    acceptfrom_with, bind, connect, listen, recv, send, sockopt,
};

use crate::host::Streams;
use crate::source::{Address, Endpoint, Peer, no_such_endpoint};

use super::Os;
use super::resolve::Lookup;
use super::socket::{Opened, Socket};
use super::sockets::{canonical, family_of, new_socket, unresolved};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

impl Os {
    /// A socket that is being connected to `address`.
    pub(super) fn begin_connect(&mut self, address: SocketAddr) -> io::Result<OwnedFd> {
        self.stats.syscalls += 3;
        let fd = new_socket(family_of(&address), SocketType::STREAM)?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        match connect(&fd, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(fd),
            Err(error) => Err(error.into()),
        }
    }

    /// The descriptor of a stream; none while its name is looked up.
    fn stream(&self, endpoint: Endpoint) -> io::Result<Option<&OwnedFd>> {
        match self.sockets.get(endpoint.0) {
            Some(Socket::Stream { fd }) => Ok(Some(fd)),
            Some(Socket::Unresolved { .. }) => Ok(None),
            _ => Err(no_such_endpoint()),
        }
    }
}

impl Streams for Os {
    fn listen(&mut self, addr: &str) -> io::Result<Endpoint> {
        let Opened { fd, twin, name, .. } = self.open(addr, SocketType::STREAM)?;
        for fd in std::iter::once(&fd).chain(&twin.fd) {
            self.stats.syscalls += 1;
            listen(fd, BACKLOG)?;
        }
        Ok(Endpoint(self.sockets.insert(Socket::Listener { fd, twin, name })))
    }

    fn accept(&mut self, listener: Endpoint) -> io::Result<Option<(Endpoint, Address)>> {
        let accepted = match self.sockets.get_mut(listener.0) {
            Some(Socket::Listener { fd, twin, .. }) => twin.first_ready(fd, accept_inet)?,
            Some(Socket::LocalListener { fd }) => {
                let accepted = accept_local(fd)?;
                accepted.map(|(fd, peer)| (fd, Address::Local(peer)))
            }
            _ => return Err(no_such_endpoint()),
        };
        self.stats.syscalls += 2;
        Ok(accepted.map(|(fd, from)| (Endpoint(self.sockets.insert(Socket::Stream { fd })), from)))
    }

    fn connect(&mut self, to: &str) -> io::Result<Endpoint> {
        let now = self.time();
        let socket = match self.resolver.address(to, now)? {
            Lookup::Known(address) => Socket::Stream { fd: self.begin_connect(address)? },
            Lookup::Pending => Socket::Unresolved { name: to.into(), watch: None },
            Lookup::Unknown => return Err(unresolved()),
        };
        Ok(Endpoint(self.sockets.insert(socket)))
    }

    fn listen_local(&mut self, path: &Path) -> io::Result<Endpoint> {
        self.stats.syscalls += 4;
        let fd = new_socket(AddressFamily::UNIX, SocketType::STREAM)?;
        bind(&fd, &SocketAddrUnix::new(path)?)?;
        // Connecting fails before `listen`, so there is no moment at which other users could
        // connect.
        chmodat(CWD, path, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        listen(&fd, BACKLOG)?;
        Ok(Endpoint(self.sockets.insert(Socket::LocalListener { fd })))
    }

    fn connect_local(&mut self, path: &Path) -> io::Result<(Endpoint, Peer)> {
        self.stats.syscalls += 3;
        let fd = new_socket(AddressFamily::UNIX, SocketType::STREAM)?;
        connect(&fd, &SocketAddrUnix::new(path)?)?;
        let peer = peer_of(&fd)?;
        Ok((Endpoint(self.sockets.insert(Socket::Stream { fd })), peer))
    }

    fn read(&mut self, stream: Endpoint, buf: &mut [u8]) -> io::Result<Option<usize>> {
        self.stats.syscalls += 1;
        let Some(fd) = self.stream(stream)? else { return Ok(None) };
        not_now(recv(fd, buf, RecvFlags::DONTWAIT).map(|(length, _)| length))
    }

    fn write(&mut self, stream: Endpoint, bytes: &[u8]) -> io::Result<Option<usize>> {
        self.stats.syscalls += 1;
        let Some(fd) = self.stream(stream)? else { return Ok(None) };
        not_now(send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL))
    }
}

/// One waiting connection.
fn accept_inet(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, Address)>> {
    match acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
        Ok((fd, from)) => {
            sockopt::set_tcp_nodelay(&fd, true)?;
            let from = canonical(SocketAddr::try_from(from.ok_or(Errno::DESTADDRREQ)?)?);
            Ok(Some((fd, Address::Inet(from))))
        }
        // A connection that broke before it was accepted is no error of the listener.
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// One waiting local connection.
fn accept_local(listener: &OwnedFd) -> io::Result<Option<(OwnedFd, Peer)>> {
    match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
        Ok(fd) => {
            let peer = peer_of(&fd)?;
            Ok(Some((fd, peer)))
        }
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The process that opened the other end. Not by rustix, whose process ids are never 0, which the
/// kernel returns for a process without an id in this namespace.
fn peer_of(fd: &OwnedFd) -> io::Result<Peer> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let option = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: `peer` lives, and has `length` bytes for the kernel to write numbers to.
    let status = unsafe {
        let peer = (&raw mut peer).cast();
        libc::getsockopt(fd.as_raw_fd(), option.0, option.1, peer, &raw mut length)
    };
    match status {
        0 => Ok(Peer { uid: peer.uid, pid: u32::try_from(peer.pid).unwrap_or(0) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// "Not now" is an answer, not an error.
fn not_now(result: Result<usize, Errno>) -> io::Result<Option<usize>> {
    match result {
        Ok(length) => Ok(Some(length)),
        // ENOTCONN: the connection is still being made.
        Err(Errno::AGAIN | Errno::INTR | Errno::NOTCONN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
