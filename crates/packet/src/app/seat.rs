//! An app that runs, of its type: what is behind an [`Instance`].

use std::any::Any;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::time::Duration;

use super::App;
use super::bell::Bell;
use super::config::Config;
use super::declaration::Settings;
use super::fault::{ConfigError, Fault};
use super::instance::{Erased, Instance, Status, contained};
use super::io::{Io, Ports, Start};
use super::progress::{Flushed, Progress, Reconfigured};
use crate::kernel::Running;

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
/// `state` is a live `Seat<T>` and `io` its ports; neither is used elsewhere during the call.
unsafe extern "C" fn pull<T: App>(state: NonNull<()>, mut io: NonNull<Io>) -> Status {
    // SAFETY: the caller guarantees that `state` is a live `Seat<T>`, `io` its ports, and that
    // neither is used elsewhere during the call.
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
    // SAFETY: the caller guarantees that `state` is a live `Seat<T>`, `io` its ports, and that
    // neither is used elsewhere during the call.
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
    // SAFETY: the caller guarantees that `state` is a live `Seat<T>`, `io` its ports, and that
    // neither is used elsewhere during the call.
    let (seat, io) = unsafe { (state.cast::<Seat<T>>().as_mut(), io.as_mut()) };
    if !seat.is_taken {
        return Status::Ready;
    }
    let app = seat.app_mut();
    io.begin();
    enter(io, |()| Status::Ready, |io| app.tick(io))
}

/// Where an app lives: an address that stays when the app fails and is made anew.
#[repr(C)]
struct Seat<T> {
    app: MaybeUninit<T>,
    is_taken: bool,
}

impl<T: App> Seat<T> {
    fn app(&self) -> &T {
        assert!(self.is_taken, "an app that has failed is not called");
        // SAFETY: a seat that is taken holds an app.
        unsafe { self.app.assume_init_ref() }
    }

    fn app_mut(&mut self) -> &mut T {
        assert!(self.is_taken, "an app that has failed is not called");
        // SAFETY: a seat that is taken holds an app.
        unsafe { self.app.assume_init_mut() }
    }
}

impl<T: App> Erased for Seat<T> {
    fn linked(&mut self, ports: &Ports<'_>) {
        self.app_mut().linked(ports);
    }

    fn can_take(&self, config: &Config) -> Result<(), Fault> {
        match T::Config::read(config) {
            Ok(config) => self.app().can_take(&config),
            // The graph has been verified.
            Err(_) => Ok(()),
        }
    }

    fn reconfigure(&mut self, config: &Config) -> Reconfigured {
        match T::Config::read(config) {
            Ok(config) if T::validate(&config).is_ok() => self.app_mut().reconfigure(config),
            _ => Reconfigured::Restart,
        }
    }

    fn leave(&mut self) -> Option<Box<dyn Any>> {
        self.app_mut().leave()
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        self.app().report()
    }

    fn gauges(&self) -> &'static [&'static str] {
        T::GAUGES
    }

    fn flush(&mut self, io: &mut Io) -> Result<Flushed, Fault> {
        self.app_mut().flush(io)
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
        if T::declaration().kernel { self.app().kernel() } else { None }
    }

    fn bell(&self) -> Option<&Bell> {
        if T::declaration().pulls { self.app().bell() } else { None }
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
            // SAFETY: a seat that is taken holds an app, and is not used any more.
            unsafe { self.app.assume_init_drop() };
        }
    }
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
}

/// Helps [`declare!`](crate::declare): the check of an app's own.
pub fn validate_config<T: App>(config: &Config) -> Result<(), ConfigError> {
    T::validate(&T::Config::read(config)?)
}

/// Helps [`declare!`](crate::declare): the one constructor.
///
/// # Errors
/// An error in the config, or a fault of the constructor.
pub fn construct<T: App>(config: &Config, start: &mut Start) -> Result<Instance, Fault> {
    let fault = |error: ConfigError| Fault::new(format!("`{}`: {}", error.key, error.message));
    let config = T::Config::read(config).map_err(fault)?;
    T::validate(&config).map_err(fault)?;
    Ok(Instance::new(T::new(config, start)?))
}
