//! An app that runs, of any type: its state at an address that stays, behind entry points that
//! generated code may call.
//!
//! An entry point takes the address of the state and that of the app's [`Io`], has the calling
//! convention of C, and never unwinds: a panic ends in a status and a fault. So the dispatch loop
//! and generated code call apps in the same way, and both without a table per call.

use std::any::Any;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::time::Duration;

use super::bell::Bell;
use super::config::Config;
use super::fault::Fault;
use super::io::{Io, Ports};
use super::progress::{Flushed, Reconfigured};
use crate::kernel::Running;

/// The result of an entry point; the numbers are what generated code sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Status {
    Ready = 0,
    Poll = 1,
    Until = 2,
    Asleep = 3,
    Done = 4,
    /// The reason is in the `Io`.
    Failed = 5,
}

impl Status {
    /// The status of a number that an entry point gave.
    pub fn of(number: u32) -> Status {
        match number {
            0 => Status::Ready,
            1 => Status::Poll,
            2 => Status::Until,
            3 => Status::Asleep,
            4 => Status::Done,
            _ => Status::Failed,
        }
    }
}

/// A method of an app, to be called with its state and its ports.
pub(crate) type Entry = unsafe extern "C" fn(state: NonNull<()>, io: NonNull<Io>) -> Status;

/// Runs `f`; a panic becomes a fault.
pub(crate) fn contained<T>(f: impl FnOnce() -> T) -> Result<T, Fault> {
    // After a panic the app is dropped, or was only read: nothing half done is used again.
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| Fault::new(describe(&*panic)))
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("of unknown reason"))
}

/// The methods of an app off the fast path.
pub(super) trait Erased {
    fn linked(&mut self, ports: &Ports<'_>);
    fn can_take(&self, config: &Config) -> Result<(), Fault>;
    fn reconfigure(&mut self, config: &Config) -> Reconfigured;
    fn leave(&mut self) -> Option<Box<dyn Any>>;
    fn report(&self) -> Vec<(&'static str, u64)>;
    fn gauges(&self) -> &'static [&'static str];
    fn flush(&mut self, io: &mut Io) -> Result<Flushed, Fault>;
    fn stop(&mut self, io: &mut Io);
    fn tick_every(&self) -> Option<Duration>;
    fn descriptor(&self) -> Option<RawFd>;
    /// None unless the app is declared with `kernel`.
    fn kernel(&self) -> Option<&Running>;
    /// None unless the app is declared with `pulls`.
    fn bell(&self) -> Option<&Bell>;
    fn vacate(&mut self);
    fn adopt(&mut self, other: &mut dyn Any) -> bool;
    fn as_any(&mut self) -> &mut dyn Any;
}

/// An app that runs.
pub struct Instance {
    pub(super) seat: NonNull<dyn Erased>,
    pub(crate) pull: Entry,
    pub(crate) push: Entry,
    pub(crate) tick: Entry,
}

impl Instance {
    /// The address of the state, for entry points: the app is the first thing of its seat.
    pub(crate) fn state(&self) -> NonNull<()> {
        self.seat.cast()
    }

    fn seat(&self) -> &dyn Erased {
        // SAFETY: lives until the instance is dropped; entry points run only while the engine,
        // which has the instance, lends no reference.
        unsafe { self.seat.as_ref() }
    }

    fn seat_mut(&mut self) -> &mut dyn Erased {
        // SAFETY: as for `seat`.
        unsafe { self.seat.as_mut() }
    }

    pub(crate) fn call(&mut self, entry: Entry, io: &mut Io) -> Status {
        // SAFETY: the state is of the type that the entries of this instance are for, and both are
        // borrowed for the call.
        unsafe { entry(self.state(), NonNull::from(io)) }
    }

    pub(crate) fn linked(&mut self, ports: &Ports<'_>) -> Result<(), Fault> {
        contained(|| self.seat_mut().linked(ports))
    }

    pub(crate) fn can_take(&self, config: &Config) -> Result<(), Fault> {
        contained(|| self.seat().can_take(config)).flatten()
    }

    pub(crate) fn reconfigure(&mut self, config: &Config) -> Result<Reconfigured, Fault> {
        contained(|| self.seat_mut().reconfigure(config))
    }

    /// What its successor goes on with, as it is killed.
    pub(crate) fn leave(&mut self) -> Option<Box<dyn Any>> {
        contained(|| self.seat_mut().leave()).ok().flatten()
    }

    pub(crate) fn report(&self) -> Result<Vec<(&'static str, u64)>, Fault> {
        contained(|| self.seat().report())
    }

    /// The counters of what is there at present.
    pub(crate) fn gauges(&self) -> &'static [&'static str] {
        self.seat().gauges()
    }

    pub(crate) fn flush(&mut self, io: &mut Io) -> Result<Flushed, Fault> {
        io.begin();
        contained(|| self.seat_mut().flush(io)).flatten()
    }

    pub(crate) fn stop(&mut self, io: &mut Io) -> Result<(), Fault> {
        io.begin();
        contained(|| self.seat_mut().stop(io))
    }

    pub(crate) fn tick_every(&self) -> Option<Duration> {
        contained(|| self.seat().tick_every()).ok().flatten()
    }

    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        contained(|| self.seat().descriptor()).ok().flatten()
    }

    /// The kernel of an app that is given as code.
    pub(crate) fn kernel(&self) -> Option<&Running> {
        contained(|| self.seat().kernel()).ok().flatten()
    }

    /// The bell of a source that has one.
    pub(crate) fn bell(&self) -> Option<Bell> {
        contained(|| self.seat().bell().cloned()).ok().flatten()
    }

    /// Ends the app; its address is kept.
    pub(crate) fn vacate(&mut self) {
        // A panic in the app's destructor loses the app, and nothing more.
        let _ = contained(|| self.seat_mut().vacate());
    }

    /// Moves the app of another instance of the same type to the address of this one, whose own has
    /// ended; returns whether it could.
    pub(crate) fn adopt(&mut self, mut other: Instance) -> Result<(), Instance> {
        let moved = self.seat_mut().adopt(other.seat_mut().as_any());
        if moved { Ok(()) } else { Err(other) }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: made from a box by `Instance::new`, and this was its only handle.
        let seat = unsafe { Box::from_raw(self.seat.as_ptr()) };
        // As for `vacate`.
        let _ = contained(move || drop(seat));
    }
}
