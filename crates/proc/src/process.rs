//! Processes: making, running, ending and killing them.
//!
//! ```text
//!          +------------- pause, wake --------------+
//!          v                                        |
//! made -> ready -> running -> waits (state says what for)
//!                     |
//!                     +--> body done: main goes on with ACTIVITY, a server waits for FINISH
//! ```
//! A process is in at most one queue. A process that waits for a channel and is woken by inlined
//! code keeps its old state: it is ready all the same when the channel's flag is down.

use crate::channel::{self, Unread};
use crate::component::{self, Life};
use crate::fault::Reason;
use crate::handle::{ChannelRef, ComponentRef, FrameRef, ProcessRef, SlotRef};
use crate::layout::{
    CHANNEL_ENTRIES, CLIENT_FINISHED, CLIENT_WAITS, DONE, ENTRIES, EXCLUSIVE, FAILED, FROM_CLIENT,
    Frame, GRANTED, PROCESS_CHANNEL, SERVER_ENDED, SERVER_WAITS, SUSPENDED, Worker,
};
use crate::memory::OutOfMemory;
use crate::words;
use crate::worker::Context;
use crate::{lines, monitor};

/// What a process waits for.
#[repr(u8)]
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
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

impl State {
    const ALL: [State; 11] = [
        State::Ready,
        State::Running,
        State::Send,
        State::Receive,
        State::Connect,
        State::Lock,
        State::Await,
        State::Passive,
        State::Delete,
        State::Begin,
        State::Finish,
    ];

    /// What a process waits for.
    pub(crate) fn of(process: ProcessRef) -> State {
        State::ALL.get(usize::from(process.state())).copied().unwrap_or(State::Running)
    }

    /// For reports: `waits to receive`.
    pub fn name(self) -> &'static str {
        match self {
            State::Ready => "is ready",
            State::Running => "runs",
            State::Send => "waits to send",
            State::Receive => "waits to receive",
            State::Connect => "waits to be connected",
            State::Lock => "waits for the lock",
            State::Await => "waits for a condition",
            State::Passive => "sleeps",
            State::Delete => "waits for a component to end",
            State::Begin => "waits for BEGIN to end",
            State::Finish => "waits for its client to finish",
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
/// Flag: a main process that has come to ACTIVITY.
pub(crate) const ACTIVITY: u16 = 2;
/// Flag: a server process whose client is below its component.
pub(crate) const INNER: u16 = 4;
/// Flag: of a process in the queue of those that await a condition: it and all before it await the
/// same, about the component alone, with the same lock.
pub(crate) const SAME: u16 = 64;
/// Flag: of a process in that queue: it and all before it have not asked for the lock yet.
pub(crate) const OUTSIDE: u16 = 128;
/// How often processes go before others until all others have had their turn.
const FAVOURS: u32 = 32;
/// Where the flags have the lock to be held after a wait, two bits.
const MODE_SHIFT: u16 = 4;

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

    /// The lock it wants when it goes on.
    pub(crate) fn mode(self) -> u8 {
        (self.flags() >> MODE_SHIFT & 3) as u8
    }

    pub(crate) fn set_mode(self, mode: u8) {
        let others = self.flags() & !(3 << MODE_SHIFT);
        self.set_flags(others | u16::from(mode) << MODE_SHIFT);
    }

    /// Notes what it waits for and where it is.
    pub(crate) fn block(self, state: State, frame: FrameRef) -> u32 {
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

    /// Whether it waits for components that it deletes, or has not gone on since they went.
    pub(crate) fn may_delete(self) -> bool {
        State::of(self) == State::Delete || self.granted() == GRANTED
    }

    /// Nobody shall wake it at the channel where it waits as a client.
    fn stop_waiting(self) {
        if matches!(State::of(self), State::Send | State::Receive) && self.wait() != 0 {
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
    fn is_ready(self) -> bool {
        let waits = |channel: ChannelRef, flag| {
            !channel.is_null() && channel.0 != FAILED && channel.has(flag)
        };
        match State::of(self) {
            State::Ready => true,
            State::Send | State::Receive if self.wait() != 0 => {
                let channel = self.waits_at();
                !(waits(channel, CLIENT_WAITS) && channel.client_process() == self)
            }
            State::Send | State::Receive => !waits(self.channel(), SERVER_WAITS),
            // Its own loop has been told to end it.
            State::Finish => self.channel().has(CLIENT_FINISHED),
            _ => false,
        }
    }
}

impl Worker {
    /// Makes a waiting process ready.
    pub(crate) fn wake(&mut self, process: ProcessRef) {
        process.set_state(State::Ready as u8);
        self.push_home(process);
    }

    /// The same of one that runs before others, but not all the time.
    pub(crate) fn wake_next(&mut self, process: ProcessRef) {
        process.set_state(State::Ready as u8);
        let desk = self.machine.desk.as_ref();
        let is_here = desk.is_none_or(|desk| process.component().worker() == desk.index);
        if is_here && self.machine.favours < FAVOURS {
            self.machine.favours += 1;
            self.push_ready_first(process);
        } else {
            self.machine.favours = 0;
            self.push_home(process);
        }
    }

    /// Runs a process until it waits, pauses or ends.
    #[inline]
    pub(crate) fn step(&mut self, process: ProcessRef) {
        self.current = process.0;
        self.depth = 0;
        let mut frame = process.frame();
        if frame.is_null() {
            bury(self, process);
            return;
        }
        loop {
            // SAFETY: the code is what the program gave for this frame's function, and the
            // handles are live; nothing of the worker is borrowed.
            let status = unsafe { (frame.code())(frame.0, process.0, self) };
            if status == SUSPENDED {
                return;
            }
            match self.after(process, frame, status) {
                Some(next) => frame = next,
                None => return,
            }
        }
    }

    /// What to do when code has come back otherwise than by suspension; the frame to run next.
    fn after(&mut self, process: ProcessRef, frame: FrameRef, status: u32) -> Option<FrameRef> {
        if status != DONE {
            process.set_state(State::Running as u8);
            return None;
        }
        if let Some(parent) = frame.parent().some() {
            parent.set_result(frame.result());
            free_frame(self, frame);
            process.set_frame(parent);
            return Some(parent);
        }
        process.set_state(State::Running as u8);
        process.set_frame(frame);
        match Role::of(process) {
            Role::Main => main_done(self, process, frame),
            Role::Finally => {
                component::finally_done(self, process);
                None
            }
            Role::Server | Role::System => {
                server_done(self, process);
                None
            }
        }
    }
}

/// BEGIN is done: servers may begin; or ACTIVITY is: that is the end of the process.
fn main_done(worker: &mut Worker, process: ProcessRef, frame: FrameRef) -> Option<FrameRef> {
    let component = process.component();
    if !process.has(ACTIVITY) {
        process.raise(ACTIVITY);
        component::begun(worker, component);
        if process.holds() == EXCLUSIVE {
            monitor::release(worker, process);
            monitor::pass(worker, component, monitor::Turn::Last);
        }
        if let Some(activity) = component.descriptor().activity {
            prepare_frame(worker, frame, activity, FrameRef::NULL);
            // Its first slice is its own: whoever waits for BEGIN goes first.
            worker.wake(process);
            return None;
        }
    }
    let entry = component.id() == worker.machine.entry;
    end(worker, process);
    if entry {
        component::tell_end(worker, component, ProcessRef::NULL);
    }
    None
}

fn server_done(worker: &mut Worker, process: ProcessRef) {
    let channel = process.channel();
    channel::hold(worker, channel);
    channel.raise(SERVER_ENDED);
    let finished = channel.has(CLIENT_FINISHED);
    channel::release(worker);
    if finished {
        end(worker, process);
        return;
    }
    lines::close_all(worker, process, lines::Leave::Finished);
    process.set_state(State::Finish as u8);
    if process.component().is_told() {
        component::may_end(worker, process.component());
    }
    channel::hold(worker, channel);
    if channel.has(CLIENT_WAITS) {
        channel.clear(CLIENT_WAITS);
        worker.wake(channel.client_process());
    }
    channel::tell_watching_client(worker, channel);
    channel::release(worker);
}

/// Bytes of the frames of a function.
fn frame_size(worker: &Worker, function: u32) -> usize {
    worker.program().functions[function as usize].frame_size as usize
}

/// Makes zeroed memory, or memory of a frame that is done, the start of a function.
fn prepare_frame(worker: &Worker, frame: FrameRef, function: u32, parent: FrameRef) {
    let known = &worker.program().functions[function as usize];
    let words = (known.frame_size as usize).div_ceil(8);
    for index in size_of::<Frame>() / 8..words {
        frame.word(0).set(index, 0);
    }
    frame.set_parent(parent);
    frame.set_code(known.code.entry());
    frame.set_resume(0);
    frame.set_function(function);
    frame.set_result(0);
}

/// A block with a process in it, entered in its component, with room behind the header.
fn create(
    worker: &mut Worker,
    component: ComponentRef,
    role: Role,
    rest: usize,
) -> Result<ProcessRef, OutOfMemory> {
    let size = PROCESS_CHANNEL as usize + rest;
    let process = ProcessRef(worker.memory.take(size)?.cast());
    process.set_size(size as u32);
    process.set_role(role as u8);
    process.set_component(component);
    worker.machine.counts.processes.add();
    if !component.is_null() {
        let first = component.processes();
        process.set_next(first);
        if !first.is_null() {
            first.set_previous(process);
        }
        component.set_processes(process);
        component.set_process_count(component.process_count() + 1);
    }
    Ok(process)
}

/// The process for BEGIN and ACTIVITY, or for FINALLY: it holds the lock if it begins exclusively.
pub(crate) fn create_body(
    worker: &mut Worker,
    component: ComponentRef,
    role: Role,
    functions: [Option<u32>; 2],
) -> Result<ProcessRef, OutOfMemory> {
    let sizes = functions.map(|known| known.map_or(0, |function| frame_size(worker, function)));
    let process = create(worker, component, role, sizes[0].max(sizes[1]))?;
    let frame = FrameRef(process.channel().0.cast());
    process.set_frame(frame);
    let [exclusive, other] = functions;
    if exclusive.is_some() {
        component.set_lock(-1);
        process.set_holds(EXCLUSIVE);
    } else {
        process.raise(ACTIVITY);
    }
    if let Some(function) = exclusive.or(other) {
        prepare_frame(worker, frame, function, FrameRef::NULL);
    }
    Ok(process)
}

/// A server process with its channel; not started yet.
pub(crate) fn create_server(
    worker: &mut Worker,
    component: ComponentRef,
    interface: u32,
    function: u32,
) -> Result<ProcessRef, OutOfMemory> {
    let entries = ENTRIES * worker.program().interfaces[interface as usize].entry_size as usize;
    let channel = CHANNEL_ENTRIES as usize + entries;
    let rest = channel + frame_size(worker, function);
    let process = create(worker, component, Role::Server, rest)?;
    let frame = FrameRef(process.channel().0.cast::<Frame>().wrapping_byte_add(channel));
    process.set_frame(frame);
    prepare_frame(worker, frame, function, FrameRef::NULL);
    worker.machine.counts.channels.add();
    Ok(process)
}

/// The other end of a communication with a system component.
pub(crate) fn create_system(
    worker: &mut Worker,
    interface: u32,
) -> Result<ProcessRef, OutOfMemory> {
    let entries = ENTRIES * worker.program().interfaces[interface as usize].entry_size as usize;
    let rest = CHANNEL_ENTRIES as usize + entries;
    let process = create(worker, ComponentRef::NULL, Role::System, rest)?;
    worker.machine.counts.channels.add();
    Ok(process)
}

/// Ends a process whose body is done.
pub(crate) fn end(worker: &mut Worker, process: ProcessRef) {
    lines::close_all(worker, process, lines::Leave::Finished);
    let component = process.component();
    forget(worker, process);
    if !component.is_null() && component.is_told() {
        component::may_end(worker, component);
    }
}

/// Takes a process out of its component and frees it.
pub(crate) fn forget(worker: &mut Worker, process: ProcessRef) {
    if matches!(Role::of(process), Role::Server | Role::System) {
        channel::drop_entries(worker, process.channel());
        worker.machine.counts.channels.remove();
    }
    unlink(process);
    worker.machine.counts.processes.remove();
    worker.memory.give(process.0.cast(), process.size() as usize);
}

fn unlink(process: ProcessRef) {
    let component = process.component();
    if component.is_null() {
        return;
    }
    let (next, previous) = (process.next(), process.previous());
    if !next.is_null() {
        next.set_previous(previous);
    }
    if previous.is_null() {
        component.set_processes(next);
    } else {
        previous.set_next(next);
    }
    component.set_process_count(component.process_count() - 1);
}

/// Kills a process where it stands: what its frames own is dropped, its communications fail. The
/// queues of its own component are its killer's business.
pub(crate) fn kill(worker: &mut Worker, process: ProcessRef) {
    match State::of(process) {
        State::Connect => channel::unpark(worker, process),
        State::Passive => crate::clock::forget(worker, process),
        State::Delete => {
            crate::pieces::forget(worker, process);
            component::forget_deleter(process);
        }
        _ => {}
    }
    let ready = process.is_ready();
    process.stop_waiting();
    lines::close_all(worker, process, lines::Leave::Failed);
    unwind(worker, process);
    if Role::of(process) == Role::Server {
        channel::close_failed(worker, process.channel());
        channel::take_unread(worker, process.channel(), FROM_CLIENT, Unread::IsGone);
    }
    if !ready {
        forget(worker, process);
        return;
    }
    if Role::of(process) == Role::Server {
        channel::drop_entries(worker, process.channel());
        worker.machine.counts.channels.remove();
        process.set_role(Role::Main as u8);
    }
    unlink(process);
    process.set_component(ComponentRef::NULL);
    process.set_frame(FrameRef::NULL);
    process.raise(DEAD);
}

/// Frees what the frames own, and those that have blocks of their own. Components in them stay with
/// their owner, who ends, too.
fn unwind(worker: &mut Worker, process: ProcessRef) {
    let mut frame = process.frame();
    while !frame.is_null() {
        let parent = frame.parent();
        let function = frame.function() as usize;
        for variable in &worker.program().functions[function].owned {
            words::free_word(worker, variable.kind, frame.word(variable.offset));
        }
        if !parent.is_null() {
            free_frame(worker, frame);
        }
        frame = parent;
    }
}

/// Frees a process that was killed while it was ready.
pub(crate) fn bury(worker: &mut Worker, process: ProcessRef) {
    if process.has(DEAD) {
        worker.machine.counts.processes.remove();
        worker.memory.give(process.0.cast(), process.size() as usize);
    }
}

/// Frees a frame that owns nothing any more and is not its process's outermost.
pub(crate) fn free_frame(worker: &mut Worker, frame: FrameRef) {
    let size = frame_size(worker, frame.function());
    worker.memory.give(frame.0.cast(), size);
}

pub(crate) fn pause(cx: &mut Context) -> u32 {
    cx.process.set_frame(cx.frame);
    cx.worker.wake(cx.process);
    SUSPENDED
}

/// How much more stack interpreted functions may take.
const INTERPRETED_FACTOR: u64 = 4;

/// The size of a process's stack, and the memory in use then, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StackMeasured {
    size: u64,
    used: u64,
}

/// Whether the stack of a process with a frame more is within the limit.
///
/// Frames that come from free lists are not counted one by one: that would cost every call. A stack
/// that grows without end has soon used up these, and comes here. So its size is measured now and
/// then, when as much memory has come into use as a part of what the limit left it the last time.
#[cold]
#[inline(never)]
fn has_stack_left(worker: &mut Worker, frame: FrameRef) -> bool {
    // Interpreted frames have every register in memory, where compiled ones have few.
    let factor = if worker.machine.interpreter.is_some() { INTERPRETED_FACTOR } else { 1 };
    let limit = worker.machine.stack_max.saturating_mul(factor);
    let mut size = 0;
    let mut here = frame.some();
    while let Some(frame) = here
        && size <= limit
    {
        size += frame_size(worker, frame.function()) as u64;
        here = frame.parent().some();
    }
    let (used, last) = (worker.memory.used, worker.machine.stack_measured);
    let left = limit.saturating_sub(size);
    // Where it is something else that grows, walking through the stack every time would take longer
    // than all the rest; the stack cannot grow by more than is used meanwhile.
    let is_stack = size.saturating_sub(last.size) >= used.saturating_sub(last.used) / 4;
    let step = if is_stack { (left / 4).max(limit / 64) } else { limit };
    worker.machine.stack_mark = used.saturating_add(step);
    worker.machine.stack_measured = StackMeasured { size, used };
    size <= limit
}

pub(crate) fn frame_new(cx: &mut Context, function: u32, position: u32) -> *mut Frame {
    if cx.worker.memory.used >= cx.worker.machine.stack_mark && !has_stack_left(cx.worker, cx.frame)
    {
        cx.fault(Reason::Stack, cx.worker.machine.stack_max as i64, position);
        return std::ptr::null_mut();
    }
    match cx.worker.memory.take(frame_size(cx.worker, function)) {
        Ok(block) => {
            let known = &cx.worker.program().functions[function as usize];
            let frame = FrameRef(block.cast());
            frame.set_parent(cx.frame);
            frame.set_code(known.code.entry());
            frame.set_function(function);
            frame.0
        }
        Err(error) => {
            cx.out_of_memory(error, position);
            std::ptr::null_mut()
        }
    }
}

pub(crate) fn frame_free(cx: &mut Context, callee: *mut Frame) {
    free_frame(cx.worker, FrameRef(callee));
}

pub(crate) fn call_deferred(cx: &mut Context, callee: *mut Frame) -> u32 {
    cx.process.set_frame(FrameRef(callee));
    cx.worker.wake(cx.process);
    SUSPENDED
}

/// Whether a component's processes may still begin to serve.
pub(crate) fn starts_at_once(component: ComponentRef) -> bool {
    component.life() != Life::Beginning as u8
}
