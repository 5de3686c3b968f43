//! Counters of messages that pass a border, and of those that do not, by reason.

use std::sync::atomic::{AtomicU64, Ordering};

use tidemill_overlog::stage::Failure;
use tidemill_relation::MessageError;
use tidemill_wire::{AccessError, EncodeError, ErrorKind};

/// Why a message or its fields did not pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The bytes end inside a field.
    Truncated,
    /// The bytes are malformed in another way.
    Malformed,
    /// A string that is not UTF-8.
    InvalidUtf8,
    /// A required field is missing.
    MissingRequired,
    /// The message nests deeper than values may.
    TooDeep,
    /// The value exceeds the size limit.
    TooLarge,
    /// A number outside the range of the target type, such as an unsigned one above 2^63 - 1.
    OutOfRange,
    /// A value whose type does not fit the field.
    WrongType,
    /// The number of values differs from the number of fields.
    WrongCount,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 9] = [
        Reason::Truncated,
        Reason::Malformed,
        Reason::InvalidUtf8,
        Reason::MissingRequired,
        Reason::TooDeep,
        Reason::TooLarge,
        Reason::OutOfRange,
        Reason::WrongType,
        Reason::WrongCount,
    ];

    /// The name of the counter.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Truncated => "failed_truncated",
            Reason::Malformed => "failed_malformed",
            Reason::InvalidUtf8 => "failed_invalid_utf8",
            Reason::MissingRequired => "failed_missing_required",
            Reason::TooDeep => "failed_too_deep",
            Reason::TooLarge => "failed_too_large",
            Reason::OutOfRange => "failed_out_of_range",
            Reason::WrongType => "failed_wrong_type",
            Reason::WrongCount => "failed_wrong_count",
        }
    }
}

impl From<ErrorKind> for Reason {
    fn from(kind: ErrorKind) -> Reason {
        match kind {
            ErrorKind::Truncated => Reason::Truncated,
            ErrorKind::InvalidUtf8 => Reason::InvalidUtf8,
            ErrorKind::TooDeep => Reason::TooDeep,
            // A message that reaches its memory limit stops the decoder.
            ErrorKind::TooLarge | ErrorKind::Stopped => Reason::TooLarge,
            ErrorKind::MissingRequired => Reason::MissingRequired,
            ErrorKind::PastParent
            | ErrorKind::VarintTooLong
            | ErrorKind::BadFieldNumber
            | ErrorKind::BadWireType
            | ErrorKind::EndGroup
            | ErrorKind::PackedLength => Reason::Malformed,
        }
    }
}

/// Why a message or field did not pass: the reason to count, and a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failed {
    pub(crate) reason: Reason,
    pub(crate) text: String,
}

impl Failed {
    pub(super) fn new(reason: Reason, text: impl Into<String>) -> Failed {
        Failed { reason, text: text.into() }
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Failure {
        Failure::Operator(failed.text)
    }
}

impl From<Failed> for MessageError {
    fn from(failed: Failed) -> MessageError {
        MessageError(failed.text)
    }
}

impl From<AccessError> for Failed {
    fn from(error: AccessError) -> Failed {
        let reason = match error {
            AccessError::Full | AccessError::TooLarge => Reason::TooLarge,
            AccessError::NotInEnum { .. } => Reason::OutOfRange,
            _ => Reason::WrongType,
        };
        Failed::new(reason, error.to_string())
    }
}

impl From<EncodeError> for Failed {
    fn from(error: EncodeError) -> Failed {
        let reason = match error {
            EncodeError::MissingRequired { .. } => Reason::MissingRequired,
            EncodeError::TooDeep => Reason::TooDeep,
            EncodeError::TooLarge => Reason::TooLarge,
            EncodeError::WrongMessage => Reason::WrongType,
        };
        Failed::new(reason, error.to_string())
    }
}

/// The counters of one border, summed over all nodes of a run. All accesses are relaxed, as the
/// counters publish no other data.
#[derive(Debug, Default)]
pub struct Counts {
    passed: AtomicU64,
    failed: [AtomicU64; Reason::ALL.len()],
}

impl Counts {
    /// Counts a result, and returns it.
    pub(super) fn note(&self, done: Result<(), Failed>) -> Result<(), Failed> {
        let count = match &done {
            Ok(()) => &self.passed,
            Err(failed) => &self.failed[failed.reason as usize],
        };
        count.fetch_add(1, Ordering::Relaxed);
        done
    }

    /// Adds the counts of another border.
    pub(super) fn add(&self, other: &Counts) {
        self.passed.fetch_add(other.passed(), Ordering::Relaxed);
        for (own, reason) in self.failed.iter().zip(Reason::ALL) {
            own.fetch_add(other.failed(reason), Ordering::Relaxed);
        }
    }

    /// The number of messages that passed.
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// The number of messages that failed for this reason.
    pub fn failed(&self, reason: Reason) -> u64 {
        self.failed[reason as usize].load(Ordering::Relaxed)
    }

    /// Calls `show` with each counter, in a fixed order.
    pub fn each(&self, mut show: impl FnMut(&'static str, u64)) {
        show("passed", self.passed());
        Reason::ALL.iter().for_each(|reason| show(reason.name(), self.failed(*reason)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_of_its_own() {
        let counts = Counts::default();
        for (position, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, position);
            for _ in 0..=position {
                let failed = Failed::new(reason, "why");
                assert_eq!(counts.note(Err(failed.clone())), Err(failed));
            }
        }
        assert_eq!(counts.note(Ok(())), Ok(()));
        let mut shown = Vec::new();
        counts.each(|name, count| shown.push((name, count)));
        assert_eq!(shown[0], ("passed", 1));
        let expected = Reason::ALL.into_iter().zip(1..);
        let expected: Vec<_> = expected.map(|(reason, count)| (reason.name(), count)).collect();
        assert_eq!(shown[1..], expected);
    }
}
