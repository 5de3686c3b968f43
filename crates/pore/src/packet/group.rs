//! Packet sockets of one interface that share its frames.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use super::program::{Instruction, set_program};
use super::{get, set};
use crate::Error;

/// Options of packet sockets, and their values (`linux/if_packet.h`).
const PACKET_FANOUT: libc::c_int = 18;
const PACKET_FANOUT_DATA: libc::c_int = 22;
const BY_PROGRAM: u32 = 6;
const NEW_ID: u32 = 0x2000;

/// A group of sockets, each of which gets the frames for which a program gives its number, divided
/// by the number of sockets that have joined. Nobody of the group sees what another one sends.
#[derive(Debug)]
pub struct Group {
    program: Vec<Instruction>,
    /// The number of the group in the kernel, once a socket has joined.
    id: Mutex<Option<u16>>,
}

impl Group {
    /// A group without sockets.
    pub fn new(program: Vec<Instruction>) -> Group {
        Group { program, id: Mutex::new(None) }
    }

    /// Adds a socket, which has been bound; those before it keep their numbers.
    pub(super) fn join(&self, socket: &OwnedFd) -> Result<(), Error> {
        let mut id = self.id.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody else is in a group with a new number, so the first socket brings the program.
        let wanted = id.map_or(NEW_ID | BY_PROGRAM, |_| BY_PROGRAM) << 16;
        let wanted = (wanted | u32::from(id.unwrap_or(0))).cast_signed();
        set(socket, libc::SOL_PACKET, PACKET_FANOUT, &wanted)?;
        if id.is_none() {
            let mut given: libc::c_int = 0;
            // SAFETY: it is a number.
            unsafe { get(socket, libc::SOL_PACKET, PACKET_FANOUT, &mut given) }?;
            set_program(socket, (libc::SOL_PACKET, PACKET_FANOUT_DATA), &self.program)?;
            *id = Some(given.cast_unsigned() as u16);
        }
        Ok(())
    }
}
