//! Messages one after the other, each preceded by its length.
//!
//! Two framings: a fixed `u32`, little endian ([`split`], [`write`](write())), as transports use
//! it, and a varint ([`split_varint`], [`write_varint`]), as in files of "delimited" messages.

use crate::varint::{self, VarintError};

/// Bytes of the fixed length.
pub const HEADER_BYTES: usize = 4;

/// Why a frame was refused; the stream cannot be read further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// The announced length is over the limit.
    TooLong {
        /// The announced length, in bytes.
        bytes: u64,
    },
    /// The varint of the length does not end.
    BadLength,
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FrameError::TooLong { bytes } => write!(f, "a frame of {bytes} bytes is too long"),
            FrameError::BadLength => f.write_str("the length of a frame does not end"),
        }
    }
}

impl std::error::Error for FrameError {}

/// A frame's content and the bytes after it; `None` while it is incomplete.
pub type Split<'a> = Result<Option<(&'a [u8], &'a [u8])>, FrameError>;

/// Takes the frame at the front of `bytes`; its content may have `bytes_max` bytes.
pub fn split(bytes: &[u8], bytes_max: usize) -> Split<'_> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    take(rest, u64::from(u32::from_le_bytes(*header)), bytes_max)
}

/// Like [`split`], with a varint as length.
pub fn split_varint(bytes: &[u8], bytes_max: usize) -> Split<'_> {
    match varint::read(bytes) {
        Ok((length, header)) => take(&bytes[header..], length, bytes_max),
        Err(VarintError::Truncated) => Ok(None),
        Err(VarintError::TooLong) => Err(FrameError::BadLength),
    }
}

fn take(rest: &[u8], length: u64, bytes_max: usize) -> Split<'_> {
    if length > bytes_max as u64 {
        return Err(FrameError::TooLong { bytes: length });
    }
    Ok(rest.split_at_checked(length as usize))
}

/// Appends `content` as a frame; refuses content whose length exceeds a `u32`.
pub fn write(out: &mut Vec<u8>, content: &[u8]) -> Result<(), FrameError> {
    let length = u32::try_from(content.len())
        .map_err(|_| FrameError::TooLong { bytes: content.len() as u64 })?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(content);
    Ok(())
}

/// Appends `content` preceded by its length as a varint.
pub fn write_varint(out: &mut Vec<u8>, content: &[u8]) {
    varint::write(out, content.len() as u64);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_in_order() {
        let mut fixed = Vec::new();
        let mut short = Vec::new();
        for content in [&b"one"[..], b"", &[7; 300]] {
            write(&mut fixed, content).unwrap();
            write_varint(&mut short, content);
        }
        let (mut fixed, mut short) = (&fixed[..], &short[..]);
        for content in [&b"one"[..], b"", &[7; 300]] {
            let (a, rest) = split(fixed, 300).unwrap().unwrap();
            let (b, others) = split_varint(short, 300).unwrap().unwrap();
            assert_eq!((a, b), (content, content));
            (fixed, short) = (rest, others);
        }
        assert_eq!(split(fixed, 300), Ok(None));
    }

    #[test]
    fn an_incomplete_frame_waits_and_a_huge_one_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, b"abc").unwrap();
        for end in 0..bytes.len() {
            assert_eq!(split(&bytes[..end], 3), Ok(None));
        }
        assert_eq!(split(&bytes, 2), Err(FrameError::TooLong { bytes: 3 }));
        assert_eq!(split(&[0xff; 4], 1 << 20), Err(FrameError::TooLong { bytes: 0xffff_ffff }));
        assert_eq!(split_varint(&[0xff; 10], 9), Err(FrameError::BadLength));
        assert_eq!(split_varint(&[0xff; 9], 9), Ok(None));
    }
}
