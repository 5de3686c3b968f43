//! The events that a sink needs.

use std::ops::BitOr;

/// A set of kinds of events; `Wants::I64 | Wants::SUB` is both.
///
/// A decoder that is compiled for a set has no calls for other events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Wants(u16);

impl Wants {
    /// No event at all: the bytes are only checked.
    pub const NONE: Wants = Wants(0);
    /// Start and end of the whole.
    pub const MESSAGE: Wants = Wants(1);
    /// Start and end of sub-messages.
    pub const SUB: Wants = Wants(1 << 1);
    /// Values that come as `i64`; and so on for the others.
    pub const I64: Wants = Wants(1 << 2);
    /// Values that come as `u64`.
    pub const U64: Wants = Wants(1 << 3);
    /// Values that come as `i32`.
    pub const I32: Wants = Wants(1 << 4);
    /// Values that come as `u32`.
    pub const U32: Wants = Wants(1 << 5);
    /// Doubles.
    pub const F64: Wants = Wants(1 << 6);
    /// Singles.
    pub const F32: Wants = Wants(1 << 7);
    /// Truth values.
    pub const BOOL: Wants = Wants(1 << 8);
    /// Strings: their start, pieces and end.
    pub const STRING: Wants = Wants(1 << 9);
    /// Bytes: their start, pieces and end.
    pub const BYTES: Wants = Wants(1 << 10);
    /// Unknown fields and elements.
    pub const UNKNOWN: Wants = Wants(1 << 11);
    /// Everything.
    pub const ALL: Wants = Wants((1 << 12) - 1);

    /// True if all of `others` are in it.
    #[inline]
    pub const fn has(self, others: Wants) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Wants {
    type Output = Wants;

    #[inline]
    fn bitor(self, other: Wants) -> Wants {
        Wants(self.0 | other.0)
    }
}
