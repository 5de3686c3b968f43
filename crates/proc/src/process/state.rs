//! What a process is doing, and its flags.

use crate::fault::Reason;
use crate::handle::{ChannelRef, FrameRef, ProcessRef, SlotRef};
use crate::layout::{CLIENT_FINISHED, CLIENT_WAITS, FAILED, GRANTED, SERVER_WAITS, SUSPENDED};

/// What a process waits for.
#[repr(u8)]
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ProcessState {
    /// Nothing: it is in the ready queue.
    Ready,
    /// Nothing: it runs.
    Running,
    /// Room in a channel.
    Send,
    /// A message.
    Receive,
    /// A connection.
    Connect,
    /// The monitor.
    Lock,
    /// A condition.
    Await,
    /// A virtual time.
    Passive,
    /// The end of components.
    Delete,
    /// The end of BEGIN.
    Begin,
    /// The client's FINISH.
    Finish,
}

impl ProcessState {
    const ALL: [ProcessState; 11] = [
        ProcessState::Ready,
        ProcessState::Running,
        ProcessState::Send,
        ProcessState::Receive,
        ProcessState::Connect,
        ProcessState::Lock,
        ProcessState::Await,
        ProcessState::Passive,
        ProcessState::Delete,
        ProcessState::Begin,
        ProcessState::Finish,
    ];

    /// What a process waits for.
    pub(crate) fn of(process: ProcessRef) -> ProcessState {
        ProcessState::ALL
            .get(usize::from(process.state()))
            .copied()
            .unwrap_or(ProcessState::Running)
    }

    /// For reports: `waits to receive`.
    pub fn name(self) -> &'static str {
        match self {
            ProcessState::Ready => "is ready",
            ProcessState::Running => "runs",
            ProcessState::Send => "waits to send",
            ProcessState::Receive => "waits to receive",
            ProcessState::Connect => "waits to be connected",
            ProcessState::Lock => "waits for the lock",
            ProcessState::Await => "waits for a condition",
            ProcessState::Passive => "sleeps",
            ProcessState::Delete => "waits for a component to end",
            ProcessState::Begin => "waits for BEGIN to end",
            ProcessState::Finish => "waits for its client to finish",
        }
    }
}

/// Why a process exists.
#[repr(u8)]
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// BEGIN and ACTIVITY.
    Main,
    /// An implementation for one client.
    Server,
    /// FINALLY.
    Finally,
    /// The end of a communication with a system component: no code.
    System,
}

impl Role {
    pub(crate) fn of(process: ProcessRef) -> Role {
        match process.role() {
            0 => Role::Main,
            1 => Role::Server,
            2 => Role::Finally,
            _ => Role::System,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Main => "main",
            Role::Server => "server",
            Role::Finally => "FINALLY",
            Role::System => "system",
        }
    }
}

/// Flag: the process was killed while in the ready queue; the scheduler frees its block.
pub(crate) const DEAD: u16 = 1;

/// Flag: a main process that has reached ACTIVITY.
pub(crate) const ACTIVITY: u16 = 2;

/// Flag: a server process whose client is below its component.
pub(crate) const INNER: u16 = 4;

/// Flag: of a process in the queue of those that await a condition: it and all before it await the
/// same, about the component alone, with the same lock.
pub(crate) const SAME: u16 = 64;

/// Flag: of a process in that queue: it and all before it are still outside the lock.
pub(crate) const OUTSIDE: u16 = 128;

/// Where the flags have the lock to be held after a wait, two bits.
pub(crate) const MODE_SHIFT: u16 = 4;

impl ProcessRef {
    #[inline(always)]
    pub(crate) fn has(self, flag: u16) -> bool {
        self.flags() & flag != 0
    }

    pub(crate) fn raise(self, flag: u16) {
        self.set_flags(self.flags() | flag);
    }

    pub(crate) fn lower(self, flag: u16) {
        self.set_flags(self.flags() & !flag);
    }

    /// The lock mode that it takes when it resumes.
    pub(crate) fn mode(self) -> u8 {
        (self.flags() >> MODE_SHIFT & 3) as u8
    }

    pub(crate) fn set_mode(self, mode: u8) {
        let others = self.flags() & !(3 << MODE_SHIFT);
        self.set_flags(others | u16::from(mode) << MODE_SHIFT);
    }

    /// Notes what it waits for and where it is.
    pub(crate) fn block(self, state: ProcessState, frame: FrameRef) -> u32 {
        self.set_state(state as u8);
        self.set_frame(frame);
        SUSPENDED
    }

    /// Whether a retried operation has been granted meanwhile.
    pub(crate) fn take_grant(self) -> bool {
        let granted = self.granted() == GRANTED;
        if granted {
            self.set_granted(0);
        }
        granted
    }

    /// Whether it waits for components that it deletes, or has not resumed since they were
    /// released.
    pub(crate) fn may_delete(self) -> bool {
        ProcessState::of(self) == ProcessState::Delete || self.granted() == GRANTED
    }

    /// Prevents wake-ups at the channel where it waits as a client.
    pub(crate) fn stop_waiting(self) {
        if matches!(ProcessState::of(self), ProcessState::Send | ProcessState::Receive)
            && self.wait() != 0
        {
            let channel = self.waits_at();
            let open = !channel.is_null() && channel.0 != FAILED;
            if open && channel.client_process() == self {
                channel.clear(CLIENT_WAITS);
            }
        }
    }

    /// The channel where it waits, or waited, as a client.
    fn waits_at(self) -> ChannelRef {
        SlotRef(std::ptr::with_exposed_provenance_mut(self.wait() as usize)).channel()
    }

    /// Whether it is in the ready queue.
    pub(crate) fn is_ready(self) -> bool {
        let waits = |channel: ChannelRef, flag| {
            !channel.is_null() && channel.0 != FAILED && channel.has(flag)
        };
        match ProcessState::of(self) {
            ProcessState::Ready => true,
            ProcessState::Send | ProcessState::Receive if self.wait() != 0 => {
                let channel = self.waits_at();
                !(waits(channel, CLIENT_WAITS) && channel.client_process() == self)
            }
            ProcessState::Send | ProcessState::Receive => !waits(self.channel(), SERVER_WAITS),
            // Posted to its own loop, which ends it.
            ProcessState::Finish => self.channel().has(CLIENT_FINISHED),
            _ => false,
        }
    }
}

/// The size of a process's stack, and the memory in use then, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StackMeasured {
    pub(crate) size: u64,
    pub(crate) used: u64,
}

/// The frames that the functions of the running process have got since it runs.
#[derive(Debug)]
pub(crate) struct LazyFrames {
    /// The one made last; null before the first.
    pub(crate) last: FrameRef,
    /// Why the first function has got none, with the detail of the fault.
    pub(crate) failed: Option<(Reason, i64)>,
}

impl Default for LazyFrames {
    fn default() -> LazyFrames {
        LazyFrames { last: FrameRef::NULL, failed: None }
    }
}
