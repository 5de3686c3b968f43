//! Flags: a byte for each thing that a breath may have to do, in the order in which it does them.
//!
//! The flag of a source is set when it is to be pulled, the flag of any other app when packets wait
//! for it. The sender that puts a packet on an empty link sets the flag of the app behind it, so a
//! breath need not check the links of idle apps: generated code tests eight flags at once.

use std::cell::Cell;
use std::rc::Rc;

/// Flags that generated code tests at once.
pub(crate) const GROUP: usize = 8;

/// All flags of a graph.
pub(crate) type Flags = Rc<[Cell<u8>]>;

/// `count` flags, none set, in whole groups.
pub(crate) fn flags(count: usize) -> Flags {
    (0..count.next_multiple_of(GROUP).max(GROUP)).map(|_| Cell::new(0)).collect()
}

/// One flag.
#[derive(Clone)]
pub(crate) struct Flag {
    all: Flags,
    at: usize,
}

impl Flag {
    pub fn new(all: &Flags, at: usize) -> Flag {
        Flag { all: all.clone(), at }
    }

    /// A flag that is never tested.
    pub fn spare() -> Flag {
        Flag::new(&flags(1), 0)
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.all[self.at].get() != 0
    }

    #[inline]
    pub fn set(&self, to: bool) {
        self.all[self.at].set(u8::from(to));
    }

    /// Where it is, for as long as the flags of the graph.
    pub fn address(&self) -> *const Cell<u8> {
        &raw const self.all[self.at]
    }
}
