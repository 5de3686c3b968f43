//! Limits of decoders, unless set otherwise.

/// The default maximal nesting of sub-messages and unknown groups.
pub const DEPTH_MAX: usize = 100;

/// Bytes that a message may have, unless set otherwise: 2 GiB, less one.
pub const BYTES_MAX: usize = i32::MAX as usize;
