//! Captures: files of packets with times, in the formats pcap and pcapng.
//!
//! A [`CaptureReader`] takes its input for hostile: lengths are bounded before memory is allocated,
//! and an error ends the capture with a reason, never the program. A [`CaptureWriter`] writes
//! either format, for Ethernet, with times in nanoseconds.

mod read;
mod replay;
mod write;

pub use read::{CaptureReader, Ended, Frame};
pub use replay::Replay;
pub use write::{CaptureWriter, Format, SNAP_MAX};

/// Bytes of a packet that are kept; captures may hold longer ones.
pub const FRAME_BYTES_MAX: usize = tidemill_packet::packet::BYTES_MAX;

/// Bytes of a block or packet record at most. A greater length means that it is no capture.
const RECORD_BYTES_MAX: usize = 1 << 24;

/// Ethernet, in the list of link types.
const ETHERNET: u32 = 1;

#[cfg(test)]
mod tests;
