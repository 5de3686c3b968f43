//! The life of a component, and its flags.

use crate::ComponentId;
use crate::handle::ComponentRef;

/// The state of a component's life.
#[repr(u8)]
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Life {
    /// BEGIN runs or is to run.
    Beginning,
    /// It serves.
    Running,
    /// FINALLY runs.
    Finally,
    /// Its sub-components end.
    Closing,
    /// It has failed, and its FINALLY runs.
    Failing,
    /// It has failed, and its sub-components end.
    Emptying,
    /// It has failed; only the shell is left.
    Failed,
}

impl Life {
    /// For listings.
    pub fn name(self) -> &'static str {
        match self {
            Life::Beginning => "beginning",
            Life::Running => "running",
            Life::Finally => "finally",
            Life::Closing => "closing",
            Life::Failing => "failing",
            Life::Emptying => "emptying",
            Life::Failed => "failed",
        }
    }

    pub(crate) fn of(component: ComponentRef) -> Life {
        match component.life() {
            0 => Life::Beginning,
            1 => Life::Running,
            2 => Life::Finally,
            3 => Life::Closing,
            4 => Life::Failing,
            5 => Life::Emptying,
            _ => Life::Failed,
        }
    }
}

/// It is terminating: its owner has requested its end.
pub(crate) const TERMINATING: u16 = 1;

/// To be torn down.
pub(crate) const DOOMED: u16 = 2;

/// Has the virtual time of its owner.
pub(crate) const SYNCHRONOUS: u16 = 4;

/// Its conditions are to be evaluated.
pub(crate) const POKED: u16 = 8;

/// Processes wait for a connection that is missing here.
pub(crate) const PARKED: u16 = 16;

/// It has a virtual time of its own that has been used.
pub(crate) const CLOCKED: u16 = 32;

/// It is in the list of components to advance towards their end.
pub(crate) const ENDING: u16 = 64;

/// Its lock has been handed to a process that has not run since.
pub(crate) const HANDED: u16 = crate::layout::HANDED;

/// See there.
pub(crate) const CALM: u16 = crate::layout::CALM;

/// One of those that await a condition has been woken and has not run since.
pub(crate) const AWAKE: u16 = 512;

/// A component that it is connected with may live on another loop.
pub(crate) const TIED: u16 = 1024;

/// The conditions of its waiters are to be evaluated.
pub(crate) const DUE: u16 = 2048;

/// The first process kept outside has been woken too often without getting the lock: it is handed
/// the lock.
pub(crate) const URGENT: u16 = 4096;

macro_rules! flags {
    ($($is:ident, $set:ident, $clear:ident = $flag:ident;)+) => {
        #[allow(dead_code)]
        impl ComponentRef {
            $(
                #[inline]
                pub(crate) fn $is(self) -> bool {
                    self.flags() & $flag != 0
                }
                #[inline]
                pub(crate) fn $set(self) {
                    self.set_flags(self.flags() | $flag);
                }
                #[inline]
                pub(crate) fn $clear(self) {
                    self.set_flags(self.flags() & !$flag);
                }
            )+
        }
    };
}

flags! {
    is_terminating, set_terminating, clear_terminating = TERMINATING;
    is_doomed, set_doomed, clear_doomed = DOOMED;
    is_synchronous, set_synchronous, clear_synchronous = SYNCHRONOUS;
    is_poked, set_poked, clear_poked = POKED;
    is_parked, set_parked, clear_parked = PARKED;
    is_clocked, set_clocked, clear_clocked = CLOCKED;
    is_ending, set_ending, clear_ending = ENDING;
    is_handed, set_handed, clear_handed = HANDED;
    is_calm, set_calm, clear_calm = CALM;
    is_awake, set_awake, clear_awake = AWAKE;
    is_tied, set_tied, clear_tied = TIED;
    is_due, set_due, clear_due = DUE;
    is_urgent, set_urgent, clear_urgent = URGENT;
}

impl ComponentRef {
    /// Its name for the long run.
    pub(crate) fn id(self) -> ComponentId {
        ComponentId::new(self.number(), self.generation())
    }

    pub(crate) fn of_word(word: u64) -> ComponentRef {
        ComponentRef(std::ptr::with_exposed_provenance_mut(word as usize))
    }

    pub(crate) fn to_word(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Whether it has failed, or is about to be torn down.
    pub(crate) fn has_failed(self) -> bool {
        self.is_doomed() || Life::of(self) >= Life::Failing
    }

    /// Resets its monitor. It stays in the lists of components to visit.
    pub(crate) fn forget_monitor(self) {
        let kept = !(HANDED | CALM | AWAKE | URGENT | crate::layout::BUSY);
        self.set_flags(self.flags() & kept);
    }

    /// Whether `self` is `other` or below it.
    pub(crate) fn is_within(self, other: ComponentRef) -> bool {
        let mut component = self;
        while !component.is_null() {
            if component == other {
                return true;
            }
            component = component.owner();
        }
        false
    }
}
