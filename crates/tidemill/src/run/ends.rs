//! External requests to end a run, or to reload something.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use tidemill_event::{Handlers, Interest, Loop, Outcome, Time};

use super::{Clock, RunOptions};
use crate::machine::{Machine, nodes, reload};

/// The period of the check for changed files.
const FILES_EVERY: Duration = Duration::from_millis(500);

/// The virtual time between two checks for requests.
const VIRTUAL_STRETCH: Duration = Duration::from_millis(100);

/// Watches for requests to stop, drain and reload.
pub(super) fn watch(
    events: &mut Loop<Machine>,
    options: &mut RunOptions,
    heard: &OwnedFd,
) -> io::Result<()> {
    for stop in [Some(heard), options.stop.as_ref()].into_iter().flatten() {
        let handlers =
            Handlers::new().read(|_: &mut Machine, events: &mut Loop<Machine>, _| events.stop());
        events.watch(stop.as_raw_fd(), Interest::Read, handlers)?;
    }
    if let Some(drain) = &options.drain {
        let service = options.service.clone();
        let handlers = Handlers::new().read(
            move |machine: &mut Machine, events: &mut Loop<Machine>, watch| {
                events.unwatch(watch);
                service.stopping();
                nodes::drain(machine, events);
            },
        );
        events.watch(drain.as_raw_fd(), Interest::Read, handlers)?;
    }
    match options.hang_up.take() {
        Some(hang_up) => watch_hang_up(events, hang_up),
        None => Ok(()),
    }
}

/// Reloads the program when the content of one of its files has changed.
pub(super) fn watch_files(events: &mut Loop<Machine>) {
    events.every(FILES_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
        reload::look(machine, events);
    });
}

/// Reloads program and keys whenever a byte arrives.
fn watch_hang_up(events: &mut Loop<Machine>, hang_up: UnixStream) -> io::Result<()> {
    hang_up.set_nonblocking(true)?;
    let fd = hang_up.as_raw_fd();
    let handlers =
        Handlers::new().read(move |machine: &mut Machine, events: &mut Loop<Machine>, _| {
            // Several requests count as one; a read error would only repeat.
            while matches!((&hang_up).read(&mut [0; 64]), Ok(1..)) {}
            reload::reload(machine, events);
            nodes::reread_keys(machine, events);
        });
    events.watch(fd, Interest::Read, handlers).map(drop)
}

/// Runs the loop until its end, or until it is stopped.
pub(super) fn run(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    options: &RunOptions,
    heard: &OwnedFd,
    end: Option<Time>,
) -> io::Result<Outcome> {
    let outcome = match (options.clock, end) {
        (Clock::Virtual, end) => {
            let stops = [Some(heard), options.stop.as_ref()];
            run_virtually(machine, events, end.unwrap_or(Time::MAX), stops)
        }
        (_, Some(end)) => events.run_until(machine, end),
        (_, None) => events.run(machine),
    };
    match outcome {
        Outcome::Failed(error) => Err(error),
        outcome => Ok(outcome),
    }
}

/// A simulation does not wait for descriptors, so they are polled now and then.
fn run_virtually(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    end: Time,
    stops: [Option<&OwnedFd>; 2],
) -> Outcome {
    loop {
        let until = (events.now() + VIRTUAL_STRETCH).min(end);
        match events.run_until(machine, until) {
            Outcome::Reached if until < end && !stops.into_iter().flatten().any(can_be_read) => {}
            outcome => return outcome,
        }
    }
}

/// Whether the descriptor is readable now.
fn can_be_read(descriptor: &OwnedFd) -> bool {
    let mut poll = [PollFd::new(descriptor, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut poll, Some(&now)).is_ok_and(|ready| ready > 0)
}
