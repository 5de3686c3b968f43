//! Packet sockets of one interface that share its frames.

use std::fmt;
use std::ops::Deref;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::program::{Instruction, set_program};
use super::{get, set};
use crate::Error;

/// Options of packet sockets, and their values (`linux/if_packet.h`).
const PACKET_FANOUT: libc::c_int = 18;
const PACKET_FANOUT_DATA: libc::c_int = 22;
const BY_PROGRAM: u32 = 6;
const NEW_ID: u32 = 0x2000;

/// The program for sockets with these numbers, in their order: its result is a position.
type Write = dyn Fn(&[u32]) -> Vec<Instruction> + Send + Sync;

/// A group of numbered sockets, each of which gets the frames that a program gives to it. No socket
/// of the group sees what another one sends.
///
/// The kernel knows sockets by their positions: one that is opened is the last, and the last one
/// takes the place of one that is closed. The program is written anew each time.
pub struct Group {
    write: Box<Write>,
    members: Mutex<Members>,
}

#[derive(Debug, Default)]
struct Members {
    /// The number of the group in the kernel, while there are sockets in it.
    id: u16,
    /// Numbers and descriptors, by position. A descriptor is closed only under the lock.
    order: Vec<(u32, RawFd)>,
}

impl Group {
    /// A group without sockets.
    pub fn new(write: impl Fn(&[u32]) -> Vec<Instruction> + Send + Sync + 'static) -> Group {
        Group { write: Box::new(write), members: Mutex::default() }
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a socket, which has been bound.
    fn join(&self, number: u32, socket: &OwnedFd) -> Result<(), Error> {
        let mut members = self.members();
        let is_first = members.order.is_empty();
        // No other process is in a group with a new number.
        let (kind, id) = if is_first { (BY_PROGRAM | NEW_ID, 0) } else { (BY_PROGRAM, members.id) };
        let wanted = (kind << 16 | u32::from(id)).cast_signed();
        set(socket, libc::SOL_PACKET, PACKET_FANOUT, &wanted)?;
        if is_first {
            let mut given: libc::c_int = 0;
            // SAFETY: it is a number.
            unsafe { get(socket, libc::SOL_PACKET, PACKET_FANOUT, &mut given) }?;
            members.id = given.cast_unsigned() as u16;
        }
        members.order.push((number, socket.as_raw_fd()));
        self.steer(&members)
    }

    /// Closes a socket of the group.
    fn leave(&self, socket: OwnedFd) {
        let mut members = self.members();
        let descriptor = socket.as_raw_fd();
        drop(socket);
        let position = members.order.iter().position(|(_, it)| *it == descriptor);
        if let Some(position) = position {
            members.order.swap_remove(position);
            // Without the program, those that are left get the frames of other numbers.
            let _ = self.steer(&members);
        }
    }

    /// Gives the kernel the program for the sockets that there are.
    fn steer(&self, members: &Members) -> Result<(), Error> {
        let Some((_, any)) = members.order.last() else { return Ok(()) };
        let numbers: Vec<u32> = members.order.iter().map(|(number, _)| *number).collect();
        set_program(any, (libc::SOL_PACKET, PACKET_FANOUT_DATA), &(self.write)(&numbers))
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("members", &self.members).finish_non_exhaustive()
    }
}

/// A packet socket, which may be in a group until it is closed.
#[derive(Debug)]
pub(super) struct Socket {
    /// There until it is dropped.
    open: Option<OwnedFd>,
    group: Option<Arc<Group>>,
}

impl Socket {
    /// A socket that has been bound, as the one with its number in a group, if there is one.
    pub(super) fn of(socket: OwnedFd, group: Option<(&Arc<Group>, u32)>) -> Result<Socket, Error> {
        if let Some((group, number)) = group {
            group.join(number, &socket)?;
        }
        Ok(Socket { open: Some(socket), group: group.map(|(group, _)| group.clone()) })
    }
}

impl Deref for Socket {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        self.open.as_ref().expect("a socket is open until it is dropped")
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let (Some(socket), Some(group)) = (self.open.take(), &self.group) {
            group.leave(socket);
        }
    }
}
