//! Signals as events: Ctrl-C and the others come through a descriptor like all input.
//!
//! An asynchronous handler may call next to nothing; a signalfd is read between turns. For it the
//! signals are blocked in the calling thread and in those it starts later, so call this before any
//! other thread is started: a thread that does not block them would be ended by them.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::{Handlers, Interest, Loop, WatchId};

/// A signal to the whole program.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: end in order.
    Terminate,
    /// SIGHUP: the terminal is gone, or: reload the configuration.
    HangUp,
}

impl Signal {
    fn number(self) -> i32 {
        match self {
            Signal::Interrupt => libc::SIGINT,
            Signal::Terminate => libc::SIGTERM,
            Signal::HangUp => libc::SIGHUP,
        }
    }

    fn from_number(number: u32) -> Option<Signal> {
        let all = [Signal::Interrupt, Signal::Terminate, Signal::HangUp];
        all.into_iter().find(|signal| signal.number() as u32 == number)
    }
}

impl<W: 'static> Loop<W> {
    /// Calls `f` for each of `signals` the process gets. Unwatching restores their former
    /// disposition.
    ///
    /// # Errors
    /// The error of the kernel; `Unsupported` in a simulation.
    pub fn signals(
        &mut self,
        signals: &[Signal],
        mut f: impl FnMut(&mut W, &mut Loop<W>, Signal) + 'static,
    ) -> io::Result<WatchId> {
        let blocked = Blocked::new(signals)?;
        let fd = blocked.fd.as_raw_fd();
        let read = move |world: &mut W, lp: &mut Loop<W>, _: WatchId| {
            while let Some(signal) = blocked.next() {
                f(world, lp, signal);
            }
        };
        self.watch(fd, Interest::Read, Handlers::new().read(read))
    }
}

/// Signals kept from the thread while this lives, and the descriptor they come by.
struct Blocked {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Blocked {
    fn new(signals: &[Signal]) -> io::Result<Blocked> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` makes a set of the memory it is given, and cannot fail.
        let mut set = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        };
        for signal in signals {
            // SAFETY: the set is initialised and the number that of a signal.
            unsafe { libc::sigaddset(&mut set, signal.number()) };
        }
        // SAFETY: the set is initialised; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut before = set;
        // SAFETY: both sets are initialised, and `before` is ours to be written.
        match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before) } {
            0 => Ok(Blocked { fd, before }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// The next signal that has come.
    fn next(&self) -> Option<Signal> {
        let mut record = [0; size_of::<libc::signalfd_siginfo>()];
        loop {
            let length = rustix::io::read(&self.fd, &mut record).ok()?;
            // The record begins with the signal's number.
            let number = record.first_chunk().filter(|_| length == record.len())?;
            if let Some(signal) = Signal::from_number(u32::from_ne_bytes(*number)) {
                return Some(signal);
            }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is the thread's own from before; a null pointer asks for no answer.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }
}
