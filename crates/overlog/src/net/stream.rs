//! Envelopes over a connection: each behind its length, a `u32`, little endian.

use tidemill_wire::delimited::{self, FrameError};

/// Bytes that one envelope may have on a connection.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// Gathers what a connection delivers and gives the envelopes in it.
///
/// Memory grows with what has come, never with what a length promises.
#[derive(Clone, Debug)]
pub struct FrameReader {
    bytes_max: usize,
    buffer: Vec<u8>,
    /// Bytes of `buffer` already given out.
    taken: usize,
}

impl Default for FrameReader {
    fn default() -> FrameReader {
        FrameReader::new(FRAME_BYTES_MAX)
    }
}

impl FrameReader {
    /// A reader that refuses envelopes over `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> FrameReader {
        FrameReader { bytes_max, buffer: Vec::new(), taken: 0 }
    }

    /// Adds what was read; all whole frames should be taken out in between.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes held that were not given out.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.taken
    }

    /// The next whole envelope.
    ///
    /// # Errors
    /// A length over the limit: nothing that follows can be trusted, the connection must end.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let bytes = &self.buffer[self.taken..];
        let Some((frame, _)) = delimited::split(bytes, self.bytes_max)? else {
            return Ok(None);
        };
        self.taken += delimited::HEADER_BYTES + frame.len();
        Ok(Some(frame))
    }
}

/// Appends an envelope with its length.
///
/// # Errors
/// The envelope is over [`FRAME_BYTES_MAX`].
pub fn write_frame(out: &mut Vec<u8>, envelope: &[u8]) -> Result<(), FrameError> {
    match envelope.len() > FRAME_BYTES_MAX {
        true => Err(FrameError::TooLong { bytes: envelope.len() as u64 }),
        false => delimited::write(out, envelope),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_give_the_same_envelopes() {
        let envelopes: Vec<Vec<u8>> = (0..20).map(|n| vec![n as u8; n * 7]).collect();
        let mut bytes = Vec::new();
        envelopes.iter().for_each(|envelope| write_frame(&mut bytes, envelope).unwrap());
        for size in [1, 3, 64, bytes.len()] {
            let mut reader = FrameReader::default();
            let mut seen = Vec::new();
            for piece in bytes.chunks(size) {
                reader.push(piece);
                while let Some(frame) = reader.next_frame().unwrap() {
                    seen.push(frame.to_vec());
                }
            }
            assert_eq!(seen, envelopes);
        }
    }

    #[test]
    fn a_hostile_length_ends_the_connection() {
        let mut reader = FrameReader::new(100);
        reader.push(&101u32.to_le_bytes());
        assert_eq!(reader.next_frame(), Err(FrameError::TooLong { bytes: 101 }));
        assert!(write_frame(&mut Vec::new(), &vec![0; FRAME_BYTES_MAX + 1]).is_err());
    }
}
