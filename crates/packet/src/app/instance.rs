//! An app that runs: its state at an address that stays, behind entry points that generated code
//! may call.
//!
//! An entry point takes the address of the state and that of the app's [`Io`], has the calling
//! convention of C, and never unwinds: a panic ends in a status and a fault. So the dispatch loop
//! and generated code call apps in the same way, and both without a table per call.

use std::any::Any;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::time::Duration;

use super::{App, Config, Declaration, Fault, Io, Ports, Progress, Reconfigured, Settings};

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
/// `state` is a live `T` and `io` its ports; nobody else uses either during the call. So too below.
unsafe extern "C" fn pull<T: App>(state: NonNull<()>, mut io: NonNull<Io>) -> Status {
    // SAFETY: as the caller says.
    let (app, io) = unsafe { (state.cast::<T>().as_mut(), io.as_mut()) };
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
    let (app, io) = unsafe { (state.cast::<T>().as_mut(), io.as_mut()) };
    io.begin();
    enter(io, |()| Status::Ready, |io| app.push(io))
}

/// # Safety
/// As for `pull`.
unsafe extern "C" fn tick<T: App>(state: NonNull<()>, mut io: NonNull<Io>) -> Status {
    // SAFETY: as the caller says.
    let (app, io) = unsafe { (state.cast::<T>().as_mut(), io.as_mut()) };
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
}

impl<T: App> Erased for T {
    fn declaration(&self) -> &'static Declaration {
        T::declaration()
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        App::linked(self, ports);
    }

    fn reconfigure(&mut self, config: &Config) -> Reconfigured {
        match T::Config::read(config) {
            Ok(config) if T::validate(&config).is_ok() => App::reconfigure(self, config),
            _ => Reconfigured::Restart,
        }
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        App::report(self)
    }

    fn stop(&mut self, io: &mut Io) {
        App::stop(self, io);
    }

    fn tick_every(&self) -> Option<Duration> {
        App::tick_every(self)
    }

    fn descriptor(&self) -> Option<RawFd> {
        App::descriptor(self)
    }
}

/// An app that runs.
pub struct Instance {
    app: NonNull<dyn Erased>,
    pub(crate) pull: Entry,
    pub(crate) push: Entry,
    pub(crate) tick: Entry,
}

impl Instance {
    /// Takes an app to its address.
    pub fn new<T: App>(app: T) -> Instance {
        let app: Box<dyn Erased> = Box::new(app);
        Instance {
            app: NonNull::from(Box::leak(app)),
            pull: pull::<T>,
            push: push::<T>,
            tick: tick::<T>,
        }
    }

    /// The address of the state, for entry points.
    pub(crate) fn state(&self) -> NonNull<()> {
        self.app.cast()
    }

    /// The type of the app.
    pub fn declaration(&self) -> &'static Declaration {
        self.app().declaration()
    }

    fn app(&self) -> &dyn Erased {
        // SAFETY: lives until the instance is dropped; entry points run only while the engine,
        // which has the instance, lends nobody a reference.
        unsafe { self.app.as_ref() }
    }

    fn app_mut(&mut self) -> &mut dyn Erased {
        // SAFETY: as for `app`.
        unsafe { self.app.as_mut() }
    }

    pub(crate) fn call(&mut self, entry: Entry, io: &mut Io) -> Status {
        // SAFETY: the state is of the type that the entries of this instance are for, and both are
        // borrowed for the call.
        unsafe { entry(self.state(), NonNull::from(io)) }
    }

    pub(crate) fn linked(&mut self, ports: &Ports<'_>) -> Result<(), Fault> {
        contained(|| self.app_mut().linked(ports))
    }

    pub(crate) fn reconfigure(&mut self, config: &Config) -> Result<Reconfigured, Fault> {
        contained(|| self.app_mut().reconfigure(config))
    }

    pub(crate) fn report(&self) -> Result<Vec<(&'static str, u64)>, Fault> {
        contained(|| self.app().report())
    }

    pub(crate) fn stop(&mut self, io: &mut Io) -> Result<(), Fault> {
        io.begin();
        contained(|| self.app_mut().stop(io))
    }

    pub(crate) fn tick_every(&self) -> Option<Duration> {
        contained(|| self.app().tick_every()).ok().flatten()
    }

    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        contained(|| self.app().descriptor()).ok().flatten()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: made from a box by `new`, and this was its only handle.
        let app = unsafe { Box::from_raw(self.app.as_ptr()) };
        // What an app cannot even end without panicking is lost, and nothing more.
        let _ = contained(move || drop(app));
    }
}
