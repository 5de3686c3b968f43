//! The watched descriptors, and waiting for them: level-triggered epoll.
//!
//! This works around three properties of epoll:
//!
//! * A descriptor closed while watched falls silent, unless a duplicate keeps its file alive:
//!   then it goes on reporting and cannot be removed. So while there was activity the callers'
//!   descriptors are checked every [`SWEEP`], all with one `poll`; a closed one is reported.
//! * A report of something that is not watched comes from such a duplicate: the set is made anew
//!   from what is, so it is not reported for ever.
//! * Errors and hang-ups are reported with any interest. One that no read or write clears ends the
//!   registration.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;

use crate::Time;
use crate::host::{Wait, Wake};
use crate::source::{Interest, Ready, SourceError};

use super::wake::EventFd;

/// The token of the waker; watches have smaller ones.
const WAKE: u64 = u64::MAX;
/// Reports taken per wait. The kernel returns the others first next time.
const REPORTS: usize = 256;
/// Time between two checks for closed descriptors.
const SWEEP: Duration = Duration::from_secs(1);

/// Which side closes a descriptor.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Held {
    /// The host, after removing it here.
    ByHost,
    /// The caller, who may do it at any time.
    ByCaller,
}

#[derive(Copy, Clone)]
struct Entry {
    fd: RawFd,
    /// Another that reports under the same token: of an endpoint with two sockets.
    twin: Option<RawFd>,
    interest: Interest,
    held: Held,
}

pub(super) struct Poller {
    epoll: OwnedFd,
    wake: OwnedFd,
    /// Read by key only, never in order.
    entries: HashMap<u64, Entry>,
    /// The token under which a descriptor is registered.
    tokens: BTreeMap<RawFd, u64>,
    events: Vec<epoll::Event>,
    /// Descriptors held by callers, which are swept.
    callers: usize,
    /// Whether callers were active since the last sweep.
    unswept: bool,
    next_sweep: Time,
    /// Descriptors found closed outside of a sweep.
    lost: Vec<u64>,
    woken: bool,
    wakes_expected: bool,
    /// There is no `epoll_pwait2`.
    lacks_pwait2: bool,
    pub(super) syscalls: u64,
    pub(super) bad_descriptors: u64,
}

impl Poller {
    pub(super) fn new(wake: &EventFd) -> io::Result<Poller> {
        let wake = wake.as_fd().try_clone_to_owned()?;
        Ok(Poller {
            epoll: new_set(&wake)?,
            wake,
            entries: HashMap::new(),
            tokens: BTreeMap::new(),
            events: Vec::with_capacity(REPORTS),
            callers: 0,
            unswept: false,
            next_sweep: Time::ZERO,
            lost: Vec::new(),
            woken: false,
            wakes_expected: false,
            lacks_pwait2: false,
            syscalls: 0,
            bad_descriptors: 0,
        })
    }

    /// Whether nothing is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.lost.is_empty()
    }

    /// From now on polls look for the waker, too.
    pub(super) fn expect_wakes(&mut self) {
        self.wakes_expected = true;
    }

    /// Whether the waker was called since the last call.
    pub(super) fn take_woken(&mut self) -> bool {
        std::mem::take(&mut self.woken)
    }

    pub(super) fn add(
        &mut self,
        fd: RawFd,
        token: u64,
        interest: Interest,
        held: Held,
    ) -> io::Result<()> {
        if fd < 0 {
            return Err(Errno::BADF.into());
        }
        self.syscalls += 1;
        epoll::add(&self.epoll, borrow(fd), EventData::new_u64(token), flags(interest))?;
        // The kernel took it, so the descriptor that had this number before was closed.
        if let Some(old) = self.tokens.insert(fd, token) {
            self.forget(old);
            self.lost.push(old);
        }
        self.entries.insert(token, Entry { fd, twin: None, interest, held });
        self.callers += usize::from(held == Held::ByCaller);
        Ok(())
    }

    /// Watches another descriptor of the host as the one that is watched under `token`.
    pub(super) fn add_twin(&mut self, fd: RawFd, token: u64) -> io::Result<()> {
        let Some(entry) = self.entries.get_mut(&token) else {
            return Err(Errno::NOENT.into());
        };
        self.syscalls += 1;
        let flags = flags(entry.interest);
        epoll::add(&self.epoll, borrow(fd), EventData::new_u64(token), flags)?;
        entry.twin = Some(fd);
        self.tokens.insert(fd, token);
        Ok(())
    }

    pub(super) fn modify(&mut self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        let Some(entry) = self.entries.get_mut(&token) else {
            return Err(Errno::NOENT.into());
        };
        if entry.interest == interest {
            return Ok(());
        }
        for fd in std::iter::once(fd).chain(entry.twin) {
            self.syscalls += 1;
            epoll::modify(&self.epoll, borrow(fd), EventData::new_u64(token), flags(interest))?;
        }
        entry.interest = interest;
        Ok(())
    }

    pub(super) fn remove(&mut self, token: u64) {
        self.lost.retain(|&lost| lost != token);
        let Some(entry) = self.forget(token) else { return };
        for fd in std::iter::once(entry.fd).chain(entry.twin) {
            self.tokens.remove(&fd);
            self.syscalls += 1;
            // A closed descriptor has been removed by the kernel; one whose file lives on in a
            // duplicate shows itself by a report without an entry.
            let _ = epoll::delete(&self.epoll, borrow(fd));
        }
    }

    /// Removes a descriptor that is about to be closed, if it is watched.
    pub(super) fn remove_fd(&mut self, fd: RawFd) {
        if let Some(&token) = self.tokens.get(&fd) {
            self.remove(token);
        }
    }

    fn forget(&mut self, token: u64) -> Option<Entry> {
        let entry = self.entries.remove(&token)?;
        self.callers -= usize::from(entry.held == Held::ByCaller);
        Some(entry)
    }

    /// Waits, and appends what is ready.
    pub(super) fn wait(
        &mut self,
        wait: Wait,
        now: Time,
        ready: &mut Vec<Ready>,
    ) -> io::Result<Wake> {
        self.report_lost(ready);
        if self.callers > 0 && self.unswept && now >= self.next_sweep {
            self.sweep(now, ready)?;
        }
        let timeout = if ready.is_empty() { self.timeout(wait, now) } else { Some(Duration::ZERO) };
        if timeout == Some(Duration::ZERO) && self.entries.is_empty() && !self.wakes_expected {
            return Ok(Wake::Ready);
        }
        self.syscalls += 1;
        self.events.clear();
        match self.wait_for_reports(timeout.map(timespec)) {
            Ok(()) => {}
            Err(Errno::INTR) => return Ok(Wake::Interrupted),
            Err(error) => return Err(error.into()),
        }
        self.unswept |= !self.events.is_empty();
        self.take_events(ready)?;
        Ok(Wake::Ready)
    }

    /// One wait. Where the kernel or its emulation (valgrind, sandboxes) lacks `epoll_pwait2`, the
    /// wait is one for the set itself, which takes nanoseconds, too.
    fn wait_for_reports(&mut self, timeout: Option<Timespec>) -> Result<(), Errno> {
        if !self.lacks_pwait2 {
            match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
                Err(Errno::NOSYS) => self.lacks_pwait2 = true,
                waited => return waited.map(|_| ()),
            }
        }
        self.syscalls += 1;
        if poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], timeout.as_ref())? > 0 {
            take_reports(&self.epoll, &mut self.events)?;
        }
        Ok(())
    }

    /// The time to wait: to the deadline, but not beyond a pending sweep.
    fn timeout(&self, wait: Wait, now: Time) -> Option<Duration> {
        let until = match wait {
            Wait::Poll => return Some(Duration::ZERO),
            Wait::Until(at) => Some(at),
            Wait::Forever => None,
        };
        let sweep = (self.callers > 0 && self.unswept).then_some(self.next_sweep);
        let until = [until, sweep].into_iter().flatten().min()?;
        Some(until - now)
    }

    /// Notes that turns have run, which may have closed a watched descriptor.
    pub(super) fn note_activity(&mut self) {
        self.unswept = true;
    }

    fn take_events(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        let mut orphans = false;
        let mut events = std::mem::take(&mut self.events);
        for event in events.drain(..) {
            let (token, flags) = (event.data.u64(), event.flags);
            if token == WAKE {
                self.woken = true;
                continue;
            }
            let Some(&entry) = self.entries.get(&token) else {
                orphans = true;
                continue;
            };
            let report = self.report(token, entry, flags);
            if matches!(report.error, Some(SourceError::Lasting(_))) {
                self.remove(token);
            }
            ready.push(report);
        }
        self.events = events;
        if orphans { self.renew() } else { Ok(()) }
    }

    fn report(&mut self, token: u64, entry: Entry, flags: EventFlags) -> Ready {
        let hung_up = flags.contains(EventFlags::HUP);
        let readable = entry.interest.reads()
            && flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP);
        let writable = entry.interest.writes() && flags.contains(EventFlags::OUT);
        let mut error = None;
        if flags.contains(EventFlags::ERR) {
            error = Some(match self.error_of(entry) {
                Ok(Err(error)) if !hung_up => SourceError::Transient(error.into()),
                Ok(Err(error)) => SourceError::Lasting(error.into()),
                // No socket, or no error that reading it has cleared.
                _ => SourceError::Lasting(Errno::PIPE.into()),
            });
        } else if hung_up && !readable && !writable {
            error = Some(SourceError::Lasting(Errno::PIPE.into()));
        }
        Ready { token, readable, writable, error }
    }

    /// The error of the sockets of an entry; reading clears it.
    fn error_of(&mut self, entry: Entry) -> Result<Result<(), Errno>, Errno> {
        self.syscalls += 1;
        match (socket_error(borrow(entry.fd)), entry.twin) {
            (Ok(Ok(())), Some(twin)) => {
                self.syscalls += 1;
                socket_error(borrow(twin))
            }
            (found, _) => found,
        }
    }

    fn report_lost(&mut self, ready: &mut Vec<Ready>) {
        self.bad_descriptors += self.lost.len() as u64;
        ready.extend(self.lost.drain(..).map(closed));
    }

    /// Asks the kernel about all descriptors of callers at once, and reports the closed ones.
    fn sweep(&mut self, now: Time, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.unswept = false;
        self.next_sweep = now + SWEEP;
        let (mut tokens, mut asked) = (Vec::new(), Vec::new());
        for (&fd, token) in &self.tokens {
            if self.entries.get(token).is_some_and(|entry| entry.held == Held::ByCaller) {
                tokens.push(*token);
                asked.push(PollFd::from_borrowed_fd(borrow(fd), PollFlags::empty()));
            }
        }
        self.syscalls += 1;
        match poll(&mut asked, Some(&timespec(Duration::ZERO))) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let answers: Vec<PollFlags> = asked.iter().map(PollFd::revents).collect();
        for (token, answer) in tokens.into_iter().zip(answers) {
            if answer.contains(PollFlags::NVAL) {
                self.remove(token);
                self.bad_descriptors += 1;
                ready.push(closed(token));
            }
        }
        Ok(())
    }

    /// Rebuilds the set from the watches.
    fn renew(&mut self) -> io::Result<()> {
        self.epoll = new_set(&self.wake)?;
        self.syscalls += 2;
        for (fd, token) in std::mem::take(&mut self.tokens) {
            let Some(entry) = self.entries.get(&token) else { continue };
            self.syscalls += 1;
            let data = EventData::new_u64(token);
            if epoll::add(&self.epoll, borrow(fd), data, flags(entry.interest)).is_ok() {
                self.tokens.insert(fd, token);
            } else {
                self.forget(token);
                self.lost.push(token);
            }
        }
        Ok(())
    }
}

/// The pending reports, without waiting and without `epoll_pwait2`.
fn take_reports(epoll: &OwnedFd, events: &mut Vec<epoll::Event>) -> Result<(), Errno> {
    const _: () = assert!(size_of::<epoll::Event>() == size_of::<libc::epoll_event>());
    let room = events.spare_capacity_mut();
    let most = i32::try_from(room.len()).unwrap_or(i32::MAX);
    // SAFETY: the kernel writes at most `most` events, whose layout is the same in both crates, to
    // the spare capacity.
    let count = unsafe { libc::epoll_wait(epoll.as_raw_fd(), room.as_mut_ptr().cast(), most, 0) };
    let Ok(count) = usize::try_from(count) else {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO));
    };
    // SAFETY: the kernel has written `count` events after the length.
    unsafe { events.set_len(events.len() + count) };
    Ok(())
}

fn new_set(wake: &OwnedFd) -> io::Result<OwnedFd> {
    let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&set, wake, EventData::new_u64(WAKE), EventFlags::IN)?;
    Ok(set)
}

fn flags(interest: Interest) -> EventFlags {
    let mut flags = EventFlags::empty();
    if interest.reads() {
        flags |= EventFlags::IN | EventFlags::RDHUP;
    }
    if interest.writes() {
        flags |= EventFlags::OUT;
    }
    flags
}

fn closed(token: u64) -> Ready {
    let error = Some(SourceError::Lasting(Errno::BADF.into()));
    Ready { token, readable: false, writable: false, error }
}

fn timespec(span: Duration) -> Timespec {
    // Longer than the kernel can count is 292 years.
    let tv_sec = span.as_secs().min(i64::MAX as u64 / 1_000_000_000) as i64;
    Timespec { tv_sec, tv_nsec: i64::from(span.subsec_nanos()) }
}

/// Names a descriptor to the kernel for the length of one call.
fn borrow<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: it is not -1 (`add` refuses negative ones). It may be closed: it is only passed to
    // calls that neither read nor write through it, and return EBADF then.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;

    #[test]
    fn without_epoll_pwait2_waits_end_in_time_and_report_the_same() {
        let wake = EventFd::new().unwrap();
        let mut poller = Poller::new(&wake).unwrap();
        poller.lacks_pwait2 = true;
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        poller.add(ours.as_raw_fd(), 7, Interest::Read, Held::ByCaller).unwrap();
        let mut ready = Vec::new();
        let until = Wait::Until(Time::ZERO + Duration::from_micros(200));
        let best = (0..20).map(|_| {
            let began = Instant::now();
            poller.wait(until, Time::ZERO, &mut ready).unwrap();
            began.elapsed()
        });
        let best = best.min().unwrap();
        assert!(best >= Duration::from_micros(150), "{best:?}");
        assert!(best < Duration::from_micros(900), "{best:?}");
        assert!(ready.is_empty(), "{ready:?}");
        theirs.write_all(b"x").unwrap();
        assert_eq!(poller.wait(Wait::Forever, Time::ZERO, &mut ready).unwrap(), Wake::Ready);
        assert_eq!(ready.iter().map(|it| (it.token, it.readable)).collect::<Vec<_>>(), [(7, true)]);
    }
}
