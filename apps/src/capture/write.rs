//! Writing captures.

use std::io::{self, Write};

use super::ETHERNET;

/// How a capture is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The old format, with nanoseconds.
    Pcap,
    /// The new one.
    Pcapng,
}

/// The bytes of a packet that a capture keeps at most, as those of tcpdump do.
pub const SNAP_MAX: u32 = 262_144;

/// Writes a capture, packet by packet.
pub struct CaptureWriter<W: Write> {
    output: W,
    format: Format,
    record: Vec<u8>,
    written: u64,
}

impl<W: Write> CaptureWriter<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// As the output has them.
    pub fn new(output: W, format: Format) -> io::Result<CaptureWriter<W>> {
        CaptureWriter::with_snap(output, format, SNAP_MAX)
    }

    /// Writes the head of a capture that keeps at most `snap` bytes of each packet; the caller cuts
    /// them.
    ///
    /// # Errors
    /// As the output has them.
    pub fn with_snap(mut output: W, format: Format, snap: u32) -> io::Result<CaptureWriter<W>> {
        let mut head = Vec::new();
        match format {
            Format::Pcap => {
                let words = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, snap, ETHERNET];
                words.iter().for_each(|word: &u32| head.extend(word.to_le_bytes()));
            }
            Format::Pcapng => {
                let section = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
                // One interface, whose times are in nanoseconds (option 9 with 1 byte: 9).
                let interface = [1, 32, ETHERNET, snap, 1 << 16 | 9, 9, 0, 32];
                let words = section.iter().chain(&interface);
                words.for_each(|word: &u32| head.extend(word.to_le_bytes()));
            }
        }
        output.write_all(&head)?;
        Ok(CaptureWriter { output, format, record: Vec::new(), written: head.len() as u64 })
    }

    /// Bytes written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Bytes that a packet of `bytes` bytes takes.
    pub fn record_bytes(&self, bytes: usize) -> u64 {
        match self.format {
            Format::Pcap => bytes as u64 + 16,
            Format::Pcapng => bytes.next_multiple_of(4) as u64 + 32,
        }
    }

    /// Writes a packet that had `length` bytes on the wire.
    ///
    /// # Errors
    /// As the output has them.
    pub fn write(&mut self, time_ns: i64, bytes: &[u8], length: u32) -> io::Result<()> {
        let record = &mut self.record;
        record.clear();
        let captured = bytes.len() as u32;
        let time_ns = time_ns.max(0) as u64;
        let mut word = |word: u32| record.extend(word.to_le_bytes());
        match self.format {
            Format::Pcap => {
                word((time_ns / 1_000_000_000) as u32);
                word((time_ns % 1_000_000_000) as u32);
                word(captured);
                word(length);
                record.extend_from_slice(bytes);
            }
            Format::Pcapng => {
                let padded = bytes.len().next_multiple_of(4);
                let total = 32 + padded as u32;
                [6, total, 0, (time_ns >> 32) as u32, time_ns as u32, captured, length]
                    .into_iter()
                    .for_each(&mut word);
                record.extend_from_slice(bytes);
                record.resize(28 + padded, 0);
                record.extend(total.to_le_bytes());
            }
        }
        self.output.write_all(&self.record)?;
        self.written += self.record.len() as u64;
        Ok(())
    }

    /// The destination.
    pub fn output(&mut self) -> &mut W {
        &mut self.output
    }

    /// Hands on what is buffered.
    ///
    /// # Errors
    /// As the output has them.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
