//! Acts ordered for single messages, and records of their fate.

use std::fmt;
use std::time::Duration;

use crate::Time;

/// An order for a message.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// It is lost.
    Drop,
    /// It arrives twice, the second time after this.
    Duplicate {
        /// From now, or from when it is sent.
        after: Duration,
    },
    /// It takes this long, and others may overtake it.
    Delay {
        /// From now, or from when it is sent.
        after: Duration,
    },
    /// It arrives now. Only a message that waits can.
    Deliver,
}

/// An act on the first message between two nodes that is meant.
pub(super) struct Order {
    pub(super) act: Act,
    pub(super) link: (u32, u32),
    pub(super) is_meant: Meant,
}

/// Whether a message is one that is meant, by its bytes.
pub type Meant = Box<dyn Fn(&[u8]) -> bool>;

impl Order {
    pub(super) fn means(&self, link: (u32, u32), bytes: &[u8]) -> bool {
        self.link == link && (self.is_meant)(bytes)
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.act, self.link)
    }
}

/// The fate of a message that was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When it was sent.
    pub at: Time,
    /// By whom.
    pub from: String,
    /// To whom.
    pub to: String,
    /// Its kind.
    pub bytes: Box<[u8]>,
    /// When it was to arrive; nothing if it was lost.
    pub arrival: Option<Time>,
    /// It was held up, so that others overtake it.
    pub is_overtaken: bool,
    /// When its double was to arrive.
    pub double: Option<Time>,
}
