//! What ends a run from outside, or has it read something again.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use tidemill_event::{Handlers, Interest, Loop, Outcome, Time};

use super::{Clock, RunOptions};
use crate::machine::{Machine, nodes, reload};

/// How often the files of the program are looked at.
const FILES_EVERY: Duration = Duration::from_millis(500);

/// How far virtual time goes between two looks at whether the run shall stop.
const VIRTUAL_STRETCH: Duration = Duration::from_millis(100);

/// Has the loop watch for the wishes to stop, to drain, and to read again.
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

/// Reads the program again when the content of one of its files has changed.
pub(super) fn watch_files(events: &mut Loop<Machine>) {
    events.every(FILES_EVERY, |machine: &mut Machine, events: &mut Loop<Machine>, _| {
        reload::look(machine, events);
    });
}

/// Reads what can be read again whenever a byte comes.
fn watch_hang_up(events: &mut Loop<Machine>, hang_up: UnixStream) -> io::Result<()> {
    hang_up.set_nonblocking(true)?;
    let fd = hang_up.as_raw_fd();
    let handlers =
        Handlers::new().read(move |machine: &mut Machine, events: &mut Loop<Machine>, _| {
            // Several requests are one; an error would only come back.
            while matches!((&hang_up).read(&mut [0; 64]), Ok(1..)) {}
            reload::reload(machine, events);
            nodes::reread_keys(machine, events);
        });
    events.watch(fd, Interest::Read, handlers).map(drop)
}

/// Has the loop run until its end, or until it is stopped.
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

/// In a simulation there are no descriptors to wait for: they are looked at now and then.
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

/// Whether something is there to be read, now.
fn can_be_read(descriptor: &OwnedFd) -> bool {
    let mut poll = [PollFd::new(descriptor, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut poll, Some(&now)).is_ok_and(|ready| ready > 0)
}
