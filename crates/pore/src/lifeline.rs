//! How the other side's death is noticed: its socket hangs up, or its process ends.
//!
//! A socket hangs up when its last holder goes, and a process can pass its end to others before it
//! dies. So the process itself is watched, too, through a pidfd: the one that connected, or that
//! listens at the path (what SO_PEERCRED names). A daemon that forks listens after that.
//!
//! A process of another machine's or container's numbers that the kernel cannot name, and our own
//! process, are watched by the socket alone.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use crate::Error;

/// Gives a pidfd of the process at the other end, however its number was used since (Linux 6.5).
const SO_PEERPIDFD: libc::c_int = 77;

/// Signals that the other side is gone.
#[derive(Debug)]
pub(crate) struct Lifeline {
    socket: UnixStream,
    process: Option<OwnedFd>,
}

impl Lifeline {
    /// Of the process at the other end of a socket.
    ///
    /// # Errors
    /// It is gone already.
    pub(crate) fn new(socket: UnixStream) -> Result<Lifeline, Error> {
        socket.set_nonblocking(true)?;
        let process = process_at(&socket)?;
        Ok(Lifeline { socket, process })
    }

    /// What becomes readable, or hangs up, when there may be news.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.socket.as_fd()).chain(self.process.as_ref().map(AsFd::as_fd))
    }

    /// Whether the other side is alive. What it sends means nothing, and is dropped.
    pub(crate) fn is_alive(&self) -> Result<bool, Error> {
        if self.process.as_ref().is_some_and(has_ended) {
            return Ok(false);
        }
        let mut bytes = [0u8; 256];
        match recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => Ok(false),
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Ok(true),
            Err(Errno::CONNRESET) => Ok(false),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}

/// A pidfd is readable from the end of its process on.
fn has_ended(process: &OwnedFd) -> bool {
    let mut one = [PollFd::new(process, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut one, Some(&now)).is_ok_and(|ready| ready > 0)
}

fn process_at(socket: &UnixStream) -> Result<Option<OwnedFd>, Error> {
    let number = rustix::net::sockopt::socket_peercred(socket).ok().map(|it| it.pid);
    if number == Some(getpid()) {
        return Ok(None);
    }
    match peer_pidfd(socket) {
        Ok(process) => Ok(Some(process)),
        Err(Errno::SRCH | Errno::INVAL) => Err(Error::PeerGone),
        Err(_) => match number.filter(|it| it.as_raw_nonzero().get() > 0) {
            Some(number) => pidfd_of(number),
            None => Ok(None),
        },
    }
}

/// For kernels before 6.5: by number. A reused number cannot be detected.
fn pidfd_of(number: Pid) -> Result<Option<OwnedFd>, Error> {
    match pidfd_open(number, PidfdFlags::empty()) {
        Ok(process) => Ok(Some(process)),
        Err(Errno::SRCH) => Err(Error::PeerGone),
        // Not allowed here, or the number is of another namespace.
        Err(_) => Ok(None),
    }
}

fn peer_pidfd(socket: &UnixStream) -> Result<OwnedFd, Errno> {
    let mut fd: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, one integer, to `fd`.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &mut length,
        )
    };
    if outcome != 0 || fd < 0 {
        let error = Errno::from_io_error(&io::Error::last_os_error());
        return Err(error.unwrap_or(Errno::NOPROTOOPT));
    }
    // SAFETY: a new descriptor that nothing else in this process knows of.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
