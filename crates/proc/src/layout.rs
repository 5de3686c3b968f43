//! What generated code and the run-time agree on: the shapes of worker, component, process,
//! channel, slot and frame, with the offsets of their fields.
//!
//! ```text
//! component      process (server)            frame
//! 0  header      0   header                  0  parent, code, resume, function, result
//! 96 slots       72  channel header          32 locals and spilled registers
//!    variables   120 4 entries
//!                ... outermost frame
//! ```
//! A communication with a system component has no process: of its header there is only the part
//! from [`PROCESS_SYSTEM`] on, then the channel, then the address of a block of entries, which is
//! there while one of them is full. Only the run-time touches these. Everything is a multiple of 8
//! bytes. Memory is zero when it is handed out by the run-time; a word that owns something is zero
//! when it owns nothing. All values are 8-byte words: INTEGER as is, REAL by its bits, BOOLEAN 0 or
//! 1, CHARACTER 0 to 255, TEXT, component, array and collection as the address of their block, a
//! reference as the address of a word.
//!
//! # Fast paths
//! What generated code may do without a call, and when. Client's send on an open slot
//! (`channel` above 1): `count < 4`, the message may follow `state` and is not one that must
//! end, it carries only scalars or texts (whose words it empties), and none of
//! [`CLIENT_FINISHED`], [`SERVER_ENDED`], [`SYSTEM`] and [`SERVER_WATCHES`] is up. Then store the
//! words at entry `(head + count) & 3`, its tag, `count + 1` and `state`; if [`SERVER_WAITS`] is up
//! take it down and put the server process ([`PROCESS_CHANNEL`] before the channel) on the ready
//! queue, if there is room there. Receive: `count > 0`, the tag at `head` is the wanted
//! message of the other side, and neither `*_WAITS` nor `*_WATCHES` of the other side is up
//! (else take it and call `client_wake` or `server_wake`, before anything that may end the
//! process); the message is not one that must end if the client receives. Then load the words,
//! `head + 1 & 3`, `count - 1`. A server's send is like a client's with the sides exchanged;
//! messages that must end are allowed. Waiting, where `count` is 0 or 4, is what is left of these
//! operations: with none of the other side's `*_WAITS`, [`SERVER_ENDED`], [`CLIENT_FINISHED`],
//! [`SYSTEM`] and [`REMOTE`] up, the own `*_WAITS`, the process's `wait` (the client's slot, or
//! 0), `state` and `frame`, for a client its process in the channel; then the code returns. Lock:
//! [`Component::lock`] is 0, its queue null and [`Process::granted`] 0: -1 and [`Process::holds`];
//! where the locked code begins with a condition, if that holds, too, and [`busy`]. Unlock: both
//! queues null, or that of the lock and [`CALM`], and 0 again. A [`GRANTED`] lock is taken back
//! with [`HANDED`]. A running process need not take a lock that it could have until it waits. A
//! frame: the first free block of its class, if `used + size <= peak`; the code that takes it
//! zeroes its words. Looking an integer key up: [`quick`].

pub mod quick;

use std::mem::offset_of;
use std::sync::atomic::AtomicU8;

use crate::memory::Memory;
pub use crate::memory::{CLASS_MAX, CLASSES, GRAIN};
use crate::program::ComponentType;

/// Code of a function: runs the frame from its resume point.
pub type Code = unsafe extern "C" fn(*mut Frame, *mut Process, *mut WorkerHead) -> u32;

/// Result of code: the frame is done, its result in [`Frame::result`].
pub const DONE: u32 = 0;
/// Result of code and of operations: the process waits; call again when it is resumed.
pub const SUSPENDED: u32 = 1;
/// Result of code and of operations: a fault or the end of the process; return it at once.
pub const UNWINDING: u32 = 2;
/// Result of code: the process pauses. Its functions have got their frames only now, by
/// `frame_lazy`; the run-time makes the process ready.
pub const PAUSED: u32 = 3;
/// Result of code and of operations: the native stack is deep. The run-time runs the frame that the
/// process has got at once, from its own.
pub const DEFERRED: u32 = 4;
/// Result of operations: done.
pub const OK: u32 = DONE;

/// A block of a process's stack: this header, then locals and spilled registers.
#[repr(C)]
pub struct Frame {
    /// The caller's frame; null for the outermost.
    pub parent: *mut Frame,
    /// The function's code.
    pub code: Code,
    /// Where to resume; 0 at the start. Only the code reads it.
    pub resume: u32,
    /// Which function, in [`Program::functions`](crate::program::Program).
    pub function: u32,
    /// The result when done; before that the last value given by an operation or a call.
    pub result: u64,
}

/// The header of a process. In a server process the [`Channel`] follows it.
#[repr(C)]
pub struct Process {
    /// Neighbours in the list of the component's processes.
    pub next: *mut Process,
    /// See `next`.
    pub previous: *mut Process,
    /// Communications with sub-components that this process has opened.
    pub sessions: *mut Session,
    /// The next in the queue it waits in.
    pub link: *mut Process,
    /// The frame that is resumed next.
    pub frame: *mut Frame,
    /// Its component. The fields above do not exist where a system component is the server.
    pub component: *mut Component,
    /// What it waits for: a condition's code, a component, a slot, a count, a time.
    pub wait: u64,
    /// What it waits for: one of [`crate::process::ProcessState`].
    pub state: u8,
    /// Main, server, finally, system: one of [`crate::process::Role`].
    pub role: u8,
    /// [`GRANTED`]: what it waits for has been granted, its retry takes this back; [`WOKEN`]: it
    /// may try again; [`GAVE_WAY`]: for the next lock; or 0.
    pub granted: u8,
    /// The lock it holds: [`UNLOCKED`], [`SHARED`] or [`EXCLUSIVE`].
    pub holds: u8,
    /// Bytes of the block.
    pub size: u32,
    /// The number of the condition it waits for, for interpreters.
    pub condition: u32,
    /// Bits, see `process`.
    pub flags: u16,
    /// Of a server process: whether the client is on another loop, and the lock of the channel
    /// then; see `channel::guard`.
    pub guard: AtomicU8,
    /// How often in a row it was woken before a lock and its condition did not hold.
    pub lost_wakes: u8,
}

/// No lock is held.
pub const UNLOCKED: u8 = 0;
/// A shared lock is held.
pub const SHARED: u8 = 1;
/// An exclusive lock is held.
pub const EXCLUSIVE: u8 = 2;

/// In [`Process::granted`]: the operation it waits in has been granted.
pub const GRANTED: u8 = 1;
/// In [`Process::granted`]: its condition held; the process was woken to request the lock.
pub const WOKEN: u8 = 2;
/// In [`Process::granted`]: it has given way at this lock.
pub const GAVE_WAY: u8 = 3;
/// In [`Component::flags`]: the lock has been handed to a process that has not run since.
pub const HANDED: u16 = 128;
/// In [`Component::flags`]: all that await a condition are outside the lock, and their conditions
/// are evaluated without a notification by the release of the lock.
pub const CALM: u16 = 256;
/// In [`Component::flags`]: see [`busy`].
pub const BUSY: u16 = 7 << 13;

/// In [`Component::flags`]: a process that locks when the condition of this number holds has found
/// it true, and has not waited since.
#[inline(always)]
pub const fn busy(condition: u32) -> u16 {
    1 << (13 + (condition & !CLOSED) % 3)
}
/// Beside the number of a condition: it depends on nothing but the component's variables.
pub const CLOSED: u32 = 1 << 31;

/// Entries of a channel.
pub const ENTRIES: usize = 4;

/// One communication: part of its server process, after the process's header.
#[repr(C)]
pub struct Channel {
    /// The slot's word that names this channel; null when the client has finished.
    pub client: *mut *mut Channel,
    /// The client's process that waits, if one does.
    pub client_process: *mut Process,
    /// The client's component.
    pub client_component: *mut Component,
    /// Which interface, in [`Program::interfaces`](crate::program::Program).
    pub interface: u32,
    /// The entry that is read next, 0 to 3.
    pub head: u8,
    /// Entries that are full, 0 to 4.
    pub count: u8,
    /// The last message sent, of either side; [`START`] before the first.
    pub state: u16,
    /// Which sides wait, and which are gone: the bits `*_WAITS`, `*_WATCHES`, [`CLIENT_FINISHED`],
    /// ...
    pub flags: u32,
    /// Which of a set of interfaces, from 1.
    pub index: u32,
    /// Of each entry the message and its sender: [`tag`].
    pub tags: [u16; ENTRIES],
}

/// The protocol state before the first message.
pub const START: u16 = u16::MAX;
/// The server's process is blocked in a receive or send of this channel.
pub const SERVER_WAITS: u32 = 1;
/// The client's process is blocked in a receive or send of this channel.
pub const CLIENT_WAITS: u32 = 2;
/// The server's component may wait for INPUT: it must be notified of arrivals.
pub const SERVER_WATCHES: u32 = 4;
/// The client's component may wait for INPUT: it must be notified of arrivals.
pub const CLIENT_WATCHES: u32 = 8;
/// The client will send no more.
pub const CLIENT_FINISHED: u32 = 16;
/// The client has failed.
pub const CLIENT_FAILED: u32 = 32;
/// The server's implementation is done; it waits for the client to finish.
pub const SERVER_ENDED: u32 = 64;
/// The server is no process but a system component.
pub const SYSTEM: u32 = 128;
/// Client and server are on different loops: only the run-time touches the channel.
pub const REMOTE: u32 = 256;
/// The client is no component but the embedder; see `outside`.
pub const OUTSIDE: u32 = 512;
/// Of a channel of a system component: it is closed between two exchanges; see
/// [`Worker::offer_stateless`](crate::Worker::offer_stateless).
pub const STATELESS: u32 = 1024;

/// Sender bit of a tag.
pub const FROM_CLIENT: u16 = 0;
/// Sender bit of a tag.
pub const FROM_SERVER: u16 = 1;

/// The tag of an entry: a message of the interface and its sender.
#[inline]
pub const fn tag(message: u16, sender: u16) -> u16 {
    message << 1 | sender
}

/// Pattern: any message.
pub const ANY: u32 = 0xFFFE;
/// Pattern: the other side has finished.
pub const FINISH: u32 = 0xFFFF;

/// A component's end of a required interface, or the redirection of an offered one.
#[repr(C)]
pub struct Slot {
    /// The open communication; null when there is none, [`FAILED`] when its server has failed.
    pub channel: *mut Channel,
    /// The component it is connected with, as a [`crate::component::ComponentId`]; 0 for none.
    pub target: u64,
    /// The interface it is connected with: a [`port`].
    pub port: u64,
}

/// A channel's address in a slot whose server has failed.
pub const FAILED: *mut Channel = std::ptr::without_provenance_mut(1);

/// A set of interfaces: the slot's first word is the address of one of these.
#[repr(C)]
pub struct SlotTable {
    /// The number of slots that follow.
    pub length: u64,
}

/// A process's end of a communication with a sub-component; its slot is the first field.
#[repr(C)]
pub struct Session {
    /// The slot; its target is the sub-component.
    pub slot: Slot,
    /// Neighbours in the list of the process's sessions.
    pub next: *mut Session,
    /// See `next`.
    pub previous: *mut Session,
    /// Whose it is.
    pub process: *mut Process,
    /// The sub-component; live as long as the slot's channel is open.
    pub component: *mut Component,
}

/// No interface.
pub const PORT_NONE: u64 = 0;
/// A required interface of the component.
pub const PORT_REQUIRED: u64 = 1;
/// An offered interface of the component.
pub const PORT_OFFERED: u64 = 2;
/// The implementation that the component has itself.
pub const PORT_IMPLEMENTATION: u64 = 3;
/// A system component.
pub const PORT_SYSTEM: u64 = 4;
/// An offered interface of a sub-component, by its number in the program: in the slot of a
/// [`Session`].
pub const PORT_SESSION: u64 = 5;
/// The index of a port: the first that is not connected.
pub const NEXT_FREE: u32 = u32::MAX;

/// Names an interface of a component: its kind, its number among the type's required or offered
/// interfaces, and which one of a set, from 1.
pub const fn port(kind: u64, interface: u32, index: u32) -> u64 {
    kind << 56 | ((interface & 0xFF_FFFF) as u64) << 32 | index as u64
}

/// The header of a component. Slots and variables follow, as its type describes.
#[repr(C)]
pub struct Component {
    /// Its type.
    pub kind: *const ComponentType,
    /// The component it belongs to; null for the entry component.
    pub owner: *mut Component,
    /// Its number; reused after its end, then with another generation.
    pub number: u32,
    /// Which component of that number.
    pub generation: u32,
    /// Beginning, running, ending, failed: one of [`crate::component::Life`].
    pub life: u8,
    /// The loop that it lives on.
    pub worker: u8,
    /// Bits, see `component`.
    pub flags: u16,
    /// The monitor: -1 held exclusively, else how many share it.
    pub lock: i32,
    /// Last of the circular list of processes that wait for the lock.
    pub lock_queue: *mut Process,
    /// Last of the circular list of processes that await a condition.
    pub await_queue: *mut Process,
    /// Its processes.
    pub processes: *mut Process,
    /// Their number.
    pub process_count: u32,
    /// The number of sub-components.
    pub child_count: u32,
    /// Its sub-components.
    pub first_child: *mut Component,
    /// Neighbours among the owner's sub-components.
    pub next_sibling: *mut Component,
    /// See `next_sibling`; of the first one it is the last.
    pub previous_sibling: *mut Component,
    /// The process that waits for its end.
    pub deleter: *mut Process,
}

/// What generated code uses of a worker, which runs the processes of one loop: a
/// [`Worker`](crate::Worker) begins with it.
#[repr(C)]
pub struct WorkerHead {
    /// Not 0 when the slice is over; checkpoints test it.
    pub flag: AtomicU8,
    /// Direct calls of functions with frames on the native stack; at [`DEPTH_MAX`] the run-time
    /// runs the callee.
    pub depth: u32,
    /// Where the native stack is deep: functions without frames make one below it, and the run-time
    /// runs them.
    pub stack_end: usize,
    /// The frame of the innermost running function that has one, stored before it calls functions
    /// without: they pass it to operations.
    pub base: *mut Frame,
    /// Checkpoints left in this slice, where they are counted.
    pub budget: i64,
    /// The running process.
    pub(crate) current: *mut Process,
    /// The ready queue: a ring of `ready_mask + 1` processes.
    pub(crate) ready: *mut *mut Process,
    /// See `ready`.
    pub(crate) ready_mask: u64,
    /// Next to run; counts on without end.
    pub(crate) ready_head: u64,
    /// Where the next is put; counts on without end.
    pub(crate) ready_tail: u64,
    /// The allocator.
    pub(crate) memory: Memory,
}

/// Nested direct calls of functions with frames.
pub const DEPTH_MAX: u32 = 64;
/// Bytes of the native stack that nested calls of functions without frames may take: far less than
/// a thread has, for the frame of the last one, and for operations.
pub const NATIVE_STACK: usize = 512 << 10;

/// Names an offset constant for each field.
macro_rules! offsets {
    ($($name:ident = $type:ident . $($field:ident).+;)+) => {$(
        #[doc = concat!("Offset of ", stringify!($type), $(".", stringify!($field),)+ ".")]
        pub const $name: i32 = offset_of!($type, $($field).+) as i32;
    )+};
}

offsets! {
    FRAME_PARENT = Frame.parent;
    FRAME_CODE = Frame.code;
    FRAME_RESUME = Frame.resume;
    FRAME_FUNCTION = Frame.function;
    FRAME_RESULT = Frame.result;
    PROCESS_FRAME = Process.frame;
    PROCESS_COMPONENT = Process.component;
    PROCESS_STATE = Process.state;
    PROCESS_WAIT = Process.wait;
    PROCESS_HOLDS = Process.holds;
    PROCESS_SESSIONS = Process.sessions;
    PROCESS_GRANTED = Process.granted;
    CHANNEL_HEAD = Channel.head;
    CHANNEL_COUNT = Channel.count;
    CHANNEL_STATE = Channel.state;
    CHANNEL_FLAGS = Channel.flags;
    CHANNEL_TAGS = Channel.tags;
    CHANNEL_CLIENT_PROCESS = Channel.client_process;
    SLOT_CHANNEL = Slot.channel;
    SLOT_PORT = Slot.port;
    SESSION_COMPONENT = Session.component;
    COMPONENT_FLAGS = Component.flags;
    COMPONENT_LOCK = Component.lock;
    COMPONENT_LOCK_QUEUE = Component.lock_queue;
    COMPONENT_AWAIT_QUEUE = Component.await_queue;
    WORKER_FLAG = WorkerHead.flag;
    WORKER_DEPTH = WorkerHead.depth;
    WORKER_STACK_END = WorkerHead.stack_end;
    WORKER_BASE = WorkerHead.base;
    WORKER_BUDGET = WorkerHead.budget;
    WORKER_CURRENT = WorkerHead.current;
    WORKER_READY = WorkerHead.ready;
    WORKER_READY_MASK = WorkerHead.ready_mask;
    WORKER_READY_HEAD = WorkerHead.ready_head;
    WORKER_READY_TAIL = WorkerHead.ready_tail;
    WORKER_USED = WorkerHead.memory.used;
    WORKER_PEAK = WorkerHead.memory.peak;
    WORKER_FREE = WorkerHead.memory.free;
}

/// Where a text that is not empty has its length, of 32 bits; the empty one is a word of 0.
pub const TEXT_LENGTH: i32 = 0;
/// Where it has its bytes.
pub const TEXT_BYTES: i32 = 8;
/// Bytes of a frame's header: where its locals begin.
pub const FRAME_HEADER: i32 = size_of::<Frame>() as i32;
/// Where a server process has its channel.
pub const PROCESS_CHANNEL: i32 = size_of::<Process>() as i32;
/// Where the header of a process begins if a system component is the server.
pub const PROCESS_SYSTEM: i32 = offset_of!(Process, component) as i32;
/// Where a channel has its entries, 8 bytes for each parameter of the largest message.
pub const CHANNEL_ENTRIES: i32 = size_of::<Channel>() as i32;
/// Where a component has its slots and variables.
pub const COMPONENT_HEADER: i32 = size_of::<Component>() as i32;
/// Bytes of a slot.
pub const SLOT_SIZE: i32 = size_of::<Slot>() as i32;

const _: () = {
    assert!(FRAME_HEADER == 32 && PROCESS_CHANNEL == 72);
    assert!(CHANNEL_ENTRIES == 48 && COMPONENT_HEADER == 96 && SLOT_SIZE == 24);
};
