//! Envelopes over a connection: each preceded by its length, a `u32`, little endian.

/// Bytes of a length.
const LENGTH_BYTES: usize = 4;

/// Bytes that one envelope may have on a connection.
pub const FRAME_BYTES_MAX: usize = 16 << 20;

/// A frame is longer than allowed; what follows it cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// The announced length in bytes.
    pub bytes: usize,
}

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

    /// From now on refuses envelopes over `bytes_max` bytes.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Adds what was read; all whole frames should be taken out in between.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Gives back the memory that is not needed for what is held.
    pub fn shrink(&mut self) {
        self.push(&[]);
        self.buffer.shrink_to_fit();
    }

    /// The bytes not yet returned, for another reader to continue with.
    pub fn into_rest(mut self) -> Vec<u8> {
        self.buffer.split_off(self.taken)
    }

    /// Bytes held that were not given out.
    pub fn held(&self) -> usize {
        self.buffer.len() - self.taken
    }

    /// The next whole envelope.
    ///
    /// # Errors
    /// A length over the limit: nothing that follows can be trusted, the connection must end.
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let bytes = &self.buffer[self.taken..];
        let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.bytes_max {
            return Err(TooLong { bytes: length });
        }
        let Some(frame) = rest.get(..length) else { return Ok(None) };
        self.taken += LENGTH_BYTES + length;
        Ok(Some(frame))
    }
}

/// Appends an envelope with its length.
///
/// # Errors
/// The envelope is over [`FRAME_BYTES_MAX`].
pub fn write_frame(out: &mut Vec<u8>, envelope: &[u8]) -> Result<(), TooLong> {
    if envelope.len() > FRAME_BYTES_MAX {
        return Err(TooLong { bytes: envelope.len() });
    }
    out.extend_from_slice(&(envelope.len() as u32).to_le_bytes());
    out.extend_from_slice(envelope);
    Ok(())
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
        assert_eq!(reader.next_frame(), Err(TooLong { bytes: 101 }));
        assert!(write_frame(&mut Vec::new(), &vec![0; FRAME_BYTES_MAX + 1]).is_err());
    }
}
