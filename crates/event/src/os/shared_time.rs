//! A skipping clock that several hosts share, a thread each.
//!
//! ```text
//! host 0   busy ....... rests until 7 ms .....................  busy at 5 ms: a post came
//! host 1   busy ... rests until 5 ms ..................  busy at 5 ms
//! clock    0 ms ............................ 5 ms
//! ```
//! The clock stands still while one of them is busy, and jumps to the earliest deadline when all
//! rest. A call of a host's waker makes the host busy before the caller can rest, so time does not
//! pass while a post is under way. So the hosts together do at each time what one would do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::wake::EventFd;
use crate::Time;
use crate::host::Waker;

/// A clock that several hosts share. Clones are the same clock.
#[derive(Clone)]
pub struct SharedTime(Arc<Mutex<State>>);

struct State {
    now: Time,
    members: Vec<Member>,
}

struct Member {
    doing: Doing,
    /// Its waker was called, and it has not looked since.
    is_woken: bool,
    wake: Option<Arc<EventFd>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Busy,
    RestsUntil(Time),
}

/// What becomes of a host that has nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// It goes on: its time has come, or its waker was called.
    Over,
    /// It waits to be woken.
    Waits,
}

impl SharedTime {
    /// A clock at 0 for a number of hosts. It stands still until all of them rest, also those that
    /// have not started.
    pub fn new(hosts: u32) -> SharedTime {
        let member = |_| Member { doing: Doing::Busy, is_woken: false, wake: None };
        let members = (0..hosts).map(member).collect();
        SharedTime(Arc::new(Mutex::new(State { now: Time::ZERO, members })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code below leaves the state half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.state().now
    }
}

impl State {
    /// If all rest, lets the clock jump to the first deadline, and wakes the hosts that are due
    /// then.
    fn advance(&mut self) {
        let rests = self.members.iter().map(|member| match member.doing {
            Doing::Busy => None,
            Doing::RestsUntil(at) => Some(at),
        });
        let first = rests.collect::<Option<Vec<Time>>>().and_then(|all| all.into_iter().min());
        // With no deadline at all only a post, or input from outside, goes on.
        let Some(now) = first.filter(|at| *at < Time::MAX) else { return };
        self.now = self.now.max(now);
        for member in &mut self.members {
            if matches!(member.doing, Doing::RestsUntil(at) if at <= self.now) {
                member.doing = Doing::Busy;
                member.wake.iter().for_each(|wake| wake.wake());
            }
        }
    }
}

/// A host's place at a clock. When it is dropped, the others go on without it.
pub(super) struct Membership {
    time: SharedTime,
    number: usize,
}

impl Membership {
    /// The place of a host of this number, which is woken by `wake`.
    pub(super) fn new(time: SharedTime, number: u32, wake: Arc<EventFd>) -> Membership {
        let number = number as usize;
        if let Some(member) = time.state().members.get_mut(number) {
            member.wake = Some(wake);
        }
        Membership { time, number }
    }

    pub(super) fn now(&self) -> Time {
        self.time.now()
    }

    /// The host has nothing to do until `at`.
    pub(super) fn rest(&self, at: Time) -> Rest {
        let mut state = self.time.state();
        let now = state.now;
        let Some(member) = state.members.get_mut(self.number) else { return Rest::Over };
        if std::mem::take(&mut member.is_woken) || at <= now {
            return Rest::Over;
        }
        member.doing = Doing::RestsUntil(at);
        state.advance();
        match state.members[self.number].doing {
            Doing::Busy => Rest::Over,
            Doing::RestsUntil(_) => Rest::Waits,
        }
    }

    /// The host is busy again.
    pub(super) fn go_on(&self) {
        if let Some(member) = self.time.state().members.get_mut(self.number) {
            (member.doing, member.is_woken) = (Doing::Busy, false);
        }
    }

    /// A waker of the host.
    pub(super) fn waker(&self, wake: Arc<EventFd>) -> Arc<dyn Waker> {
        Arc::new(MemberWaker { time: self.time.clone(), number: self.number, wake })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut state = self.time.state();
        if let Some(member) = state.members.get_mut(self.number) {
            (member.doing, member.wake) = (Doing::RestsUntil(Time::MAX), None);
        }
        state.advance();
    }
}

/// Makes a host busy, and wakes it.
struct MemberWaker {
    time: SharedTime,
    number: usize,
    wake: Arc<EventFd>,
}

impl Waker for MemberWaker {
    fn wake(&self) {
        let mut state = self.time.state();
        // One that has left is not waited for.
        let member = state.members.get_mut(self.number).filter(|member| member.wake.is_some());
        if let Some(member) = member {
            (member.doing, member.is_woken) = (Doing::Busy, true);
        }
        drop(state);
        self.wake.wake();
    }
}
