//! An app that runs: its state at an address that stays, behind entry points that generated code
//! may call.
//!
//! An entry point takes the address of the state and that of the app's [`Io`], has the calling
//! convention of C, and never unwinds: a panic ends in a status and a fault. So the dispatch loop
//! and generated code call apps in the same way, and both without a table per call.

use std::any::Any;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::time::Duration;

use super::{App, Bell, Config, Declaration, Fault, Io, Ports, Progress, Reconfigured, Settings};
use crate::kernel::Running;

/// What an entry point says; the numbers are what generated code sees.
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
    // Whoever panicked is dropped, or was only looked at: nothing half done is used again.
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| Fault::new(describe(&*panic)))
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("of unknown reason"))
}

/// Calls a method, with what stops panics around it.
fn enter<T>(
    io: &mut Io,
    status: impl Fn(T) -> Status,
    f: impl FnOnce(&mut Io) -> Outcome<T>,
) -> Status {
    match contained(|| f(io)) {
        Ok(Ok(value)) => status(value),
        Ok(Err(fault)) | Err(fault) => {
            io.fault = Some(fault);
            Status::Failed
        }
    }
}

type Outcome<T> = Result<T, Fault>;

/// # Safety
/// `state` is a live `Seat<T>` and `io` its ports; nobody else uses either during the call. So too
/// below.
unsafe extern "C" fn pull<T: App>(state: NonNull<()>, mut io: NonNull<Io>) -> Status {
    // SAFETY: as the caller says.
    let (seat, io) = unsafe { (state.cast::<Seat<T>>().as_mut(), io.as_mut()) };
    if !seat.is_taken {
        return Status::Asleep;
    }
    let app = seat.app_mut();
    io.begin();
    match contained(|| app.pull(io)) {
        Ok(Ok(Progress::Ready)) => Status::Ready,
        Ok(Ok(Progress::Poll)) => Status::Poll,
        Ok(Ok(Progress::Until(until_ns))) => {
            io.until_ns = until_ns;
            Status::Until
        }
        Ok(Ok(Progress::Asleep)) => Status::Asleep,
        Ok(Ok(Progress::Done)) => Status::Done,
        Ok(Err(fault)) | Err(fault) => {
            io.fault = Some(fault);
            Status::Failed
        }
    }
}

/// # Safety
/// As for `pull`.
unsafe extern "C" fn push<T: App>(state: NonNull<()>, mut io: NonNull<Io>) -> Status {
    // SAFETY: as the caller says.
    let (seat, io) = unsafe { (state.cast::<Seat<T>>().as_mut(), io.as_mut()) };
    if !seat.is_taken {
        return Status::Ready;
    }
    let app = seat.app_mut();
    io.begin();
    enter(io, |()| Status::Ready, |io| app.push(io))
}

/// # Safety
/// As for `pull`.
unsafe extern "C" fn tick<T: App>(state: NonNull<()>, mut io: NonNull<Io>) -> Status {
    // SAFETY: as the caller says.
    let (seat, io) = unsafe { (state.cast::<Seat<T>>().as_mut(), io.as_mut()) };
    if !seat.is_taken {
        return Status::Ready;
    }
    let app = seat.app_mut();
    io.begin();
    enter(io, |()| Status::Ready, |io| app.tick(io))
}

/// What is asked of an app off the fast path.
trait Erased {
    fn declaration(&self) -> &'static Declaration;
    fn linked(&mut self, ports: &Ports<'_>);
    fn reconfigure(&mut self, config: &Config) -> Reconfigured;
    fn report(&self) -> Vec<(&'static str, u64)>;
    fn stop(&mut self, io: &mut Io);
    fn tick_every(&self) -> Option<Duration>;
    fn descriptor(&self) -> Option<RawFd>;
    fn kernel(&self) -> Option<&Running>;
    fn bell(&self) -> Option<&Bell>;
    fn vacate(&mut self);
    fn adopt(&mut self, other: &mut dyn Any) -> bool;
    fn as_any(&mut self) -> &mut dyn Any;
}

/// Where an app lives: an address that stays when the app fails and is made anew.
#[repr(C)]
struct Seat<T> {
    app: MaybeUninit<T>,
    is_taken: bool,
}

impl<T: App> Seat<T> {
    fn app(&self) -> &T {
        assert!(self.is_taken, "nobody asks an app that has failed");
        // SAFETY: a seat that is taken holds an app.
        unsafe { self.app.assume_init_ref() }
    }

    fn app_mut(&mut self) -> &mut T {
        assert!(self.is_taken, "nobody asks an app that has failed");
        // SAFETY: a seat that is taken holds an app.
        unsafe { self.app.assume_init_mut() }
    }
}

impl<T: App> Erased for Seat<T> {
    fn declaration(&self) -> &'static Declaration {
        T::declaration()
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        self.app_mut().linked(ports);
    }

    fn reconfigure(&mut self, config: &Config) -> Reconfigured {
        match T::Config::read(config) {
            Ok(config) if T::validate(&config).is_ok() => self.app_mut().reconfigure(config),
            _ => Reconfigured::Restart,
        }
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        self.app().report()
    }

    fn stop(&mut self, io: &mut Io) {
        self.app_mut().stop(io);
    }

    fn tick_every(&self) -> Option<Duration> {
        self.app().tick_every()
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.app().descriptor()
    }

    fn kernel(&self) -> Option<&Running> {
        self.app().kernel()
    }

    fn bell(&self) -> Option<&Bell> {
        self.app().bell()
    }

    fn vacate(&mut self) {
        if std::mem::replace(&mut self.is_taken, false) {
            // SAFETY: it was taken, and is no longer.
            unsafe { self.app.assume_init_drop() };
        }
    }

    fn adopt(&mut self, other: &mut dyn Any) -> bool {
        let Some(other) = other.downcast_mut::<Seat<T>>() else { return false };
        if self.is_taken || !std::mem::replace(&mut other.is_taken, false) {
            return false;
        }
        // SAFETY: the other seat was taken and is no longer, so the app is moved.
        self.app = MaybeUninit::new(unsafe { other.app.assume_init_read() });
        self.is_taken = true;
        true
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<T> Drop for Seat<T> {
    fn drop(&mut self) {
        if self.is_taken {
            // SAFETY: a seat that is taken holds an app, and nobody asks for it any more.
            unsafe { self.app.assume_init_drop() };
        }
    }
}

/// An app that runs.
pub struct Instance {
    seat: NonNull<dyn Erased>,
    pub(crate) pull: Entry,
    pub(crate) push: Entry,
    pub(crate) tick: Entry,
}

impl Instance {
    /// Takes an app to its address.
    pub fn new<T: App>(app: T) -> Instance {
        let seat = Seat { app: MaybeUninit::new(app), is_taken: true };
        let seat: Box<dyn Erased> = Box::new(seat);
        Instance {
            seat: NonNull::from(Box::leak(seat)),
            pull: pull::<T>,
            push: push::<T>,
            tick: tick::<T>,
        }
    }

    /// The address of the state, for entry points: the app is the first thing of its seat.
    pub(crate) fn state(&self) -> NonNull<()> {
        self.seat.cast()
    }

    /// The type of the app.
    pub fn declaration(&self) -> &'static Declaration {
        self.seat().declaration()
    }

    fn seat(&self) -> &dyn Erased {
        // SAFETY: lives until the instance is dropped; entry points run only while the engine,
        // which has the instance, lends nobody a reference.
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

    pub(crate) fn reconfigure(&mut self, config: &Config) -> Result<Reconfigured, Fault> {
        contained(|| self.seat_mut().reconfigure(config))
    }

    pub(crate) fn report(&self) -> Result<Vec<(&'static str, u64)>, Fault> {
        contained(|| self.seat().report())
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
        let is_code = self.declaration().kernel;
        is_code.then(|| contained(|| self.seat().kernel()).ok().flatten()).flatten()
    }

    /// The bell of a source that has one.
    pub(crate) fn bell(&self) -> Option<Bell> {
        let pulls = self.declaration().pulls;
        pulls.then(|| contained(|| self.seat().bell().cloned()).ok().flatten()).flatten()
    }

    /// Ends the app; its address is kept.
    pub(crate) fn vacate(&mut self) {
        // What an app cannot even end without panicking is lost, and nothing more.
        let _ = contained(|| self.seat_mut().vacate());
    }

    /// Takes the app of another instance of the same type to the address of this one, whose own
    /// has ended; whether it did.
    pub(crate) fn adopt(&mut self, mut other: Instance) -> Result<(), Instance> {
        let moved = self.seat_mut().adopt(other.seat_mut().as_any());
        if moved { Ok(()) } else { Err(other) }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: made from a box by `new`, and this was its only handle.
        let seat = unsafe { Box::from_raw(self.seat.as_ptr()) };
        // As for `vacate`.
        let _ = contained(move || drop(seat));
    }
}
