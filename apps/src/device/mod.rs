//! Frames through devices of the system.
//!
//! Apps are pulled when a descriptor is ready, and take as many frames as their link has room for.
//! Those of an interface sleep only when a pull has found nothing: under load more frames have
//! come by the time the first are sent on, and looking costs less than being woken.

pub mod raw_socket;
mod socket_filter;
pub mod steering;
pub mod tap;
pub mod unix_socket;
pub mod xdp_socket;

use std::io::{self, ErrorKind};

use tidemill_packet::Packet;
use tidemill_packet::app::{Fault, Io, Progress};
use tidemill_pore::packet::Arrival;
use tidemill_pore::packet::socket::BATCH;

/// Frames of one pull at most: their packets stay in the cache until they are sent on.
const BURST: usize = 64;

/// A device that receives only while a link has this much room: a long frame of the kernel becomes
/// many packets.
const ROOM: usize = 64;

/// Sends the frames that `read` puts into the buffer, one at a time, until there are no more or
/// enough for one pull.
fn burst(
    io: &mut Io,
    buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> Result<Progress, Fault> {
    for _ in 0..io.room(0).min(BURST) {
        match read(buffer) {
            Ok(length) => send(io, &buffer[..length], &Arrival::default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Asleep),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Progress::Ready)
}

/// Sends a received frame as a packet.
fn send(io: &mut Io, frame: &[u8], arrival: &Arrival) {
    let Some(mut packet) = io.packet_of(frame) else { return };
    packet.set_outgoing(arrival.is_outgoing);
    packet.set_time_ns(arrival.time_ns);
    io.send(0, packet);
}

/// Gives the packets that wait to a device, many at once and each after a header; `give` returns
/// how many of them the device refuses.
fn transmit(
    io: &mut Io,
    header: &[u8],
    mut give: impl FnMut(&[&[u8]]) -> Result<usize, Fault>,
) -> Result<(), Fault> {
    let mut packets: [Option<Packet>; BATCH] = [const { None }; BATCH];
    loop {
        let (mut frames, mut count) = ([&[][..]; BATCH], 0);
        for (frame, slot) in frames.iter_mut().zip(&mut packets) {
            let Some(packet) = io.receive(0) else { break };
            *frame = slot.insert(packet).bytes_after(header);
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        let refused = give(&frames[..count])?;
        (0..refused).for_each(|_| io.count_drop("not_taken"));
    }
}

/// The error of a device.
fn fault(error: &tidemill_pore::Error) -> Fault {
    Fault::new(error.to_string())
}
