//! A graph as addresses, and the frame that its code and the engine share.

use std::sync::Arc;

use tidemill_jit::Body;
use tidemill_jit::build::{InstBuilder, IntCC, Value};

use crate::kernel::Kernel;
use crate::kernel::table::TableAddresses;

/// A graph as addresses: all that code is made of.
pub(crate) struct Blueprint {
    /// By position in the graph.
    pub apps: Vec<AppPart>,
    /// By position in the graph.
    pub links: Vec<LinkPart>,
    /// The steps of a breath, in order; each has the flag of its position.
    pub steps: Vec<BreathStep>,
    /// Of the [`Frame`].
    pub frame: usize,
    /// Of the time of the event loop.
    pub now: usize,
    pub pool: PoolPart,
    pub helpers: Helpers,
    pub listing: bool,
}

/// A step of a breath, by the position of an app.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BreathStep {
    Pull(usize),
    Push(usize),
}

impl Blueprint {
    /// The most packets that a breath may make: those that links and apps can take.
    fn growth(&self) -> usize {
        let ends = |link: &&LinkPart| self.apps[link.to].kernel.is_none();
        let kept = self.links.iter().filter(ends).count();
        crate::link::SLOTS * (self.links.len() + kept + 1)
    }

    /// Whether the pool is large enough for code to make packets at another point of a breath than
    /// the loop: where it cannot run out, the difference is invisible.
    pub(super) fn has_room(&self) -> bool {
        self.growth() < self.pool.limit
    }

    /// Whether the pool has as much room now.
    pub(super) fn write_has_room(&self, body: &mut Body<'_>) -> Value {
        let allocated = body.load_word(self.pool.allocated, 0);
        let freed = body.load_word(self.pool.freed, 0);
        let alive = body.ins().isub(allocated, freed);
        let most = self.pool.limit.saturating_sub(self.growth()) as i64;
        body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, alive, most)
    }
}

/// An app.
pub(crate) struct AppPart {
    pub name: String,
    pub state: usize,
    pub io: usize,
    /// Where its `Io` keeps the birth of a batch's oldest packet.
    pub oldest: usize,
    pub pull: usize,
    pub push: usize,
    /// Links by input number.
    pub inputs: Vec<Option<usize>>,
    /// Links by output number.
    pub outputs: Vec<Option<usize>>,
    pub is_sink: bool,
    /// The address of the word that is not 0 while a pull would bring packets.
    pub bell: Option<usize>,
    pub kernel: Option<KernelPart>,
}

/// A kernel, and where its memory is.
#[derive(Clone)]
pub(crate) struct KernelPart {
    pub kernel: Arc<Kernel>,
    pub words: usize,
    /// By number.
    pub tables: Vec<TableAddresses>,
}

/// Memory stays where it is: what has the same has the same tables.
impl PartialEq for KernelPart {
    fn eq(&self, other: &KernelPart) -> bool {
        Arc::ptr_eq(&self.kernel, &other.kernel) && self.words == other.words
    }
}

/// A link.
pub(crate) struct LinkPart {
    pub name: String,
    pub ring: usize,
    pub from: usize,
    pub to: usize,
    /// Apps beyond the next are to be notified of its packets.
    pub is_watched: bool,
}

/// Addresses of the pool's parts.
pub(crate) struct PoolPart {
    pub itself: usize,
    pub free: usize,
    pub allocated: usize,
    pub freed: usize,
    /// The most packets there may be.
    pub limit: usize,
}

/// What code calls for what is rare. All are `extern "C"` and never unwind.
#[derive(Clone, Copy)]
pub(crate) struct Helpers {
    /// `(frame, app, status)`: a source was pulled and is not ready.
    pub pulled: usize,
    /// `(frame, app)`: an app failed.
    pub failed: usize,
    /// `(io)`: packets wait for a sink, the first of this batch.
    pub oldest: usize,
    /// `(io) -> u8`: whether packets wait at any input.
    pub waits: usize,
    /// `(ring)`: it is no longer empty.
    pub notify: usize,
    /// `(buffer)`: the packet goes back to its pool.
    pub free: usize,
    /// `(io)`: there was no packet for an app.
    pub no_packet: usize,
    /// `(pool) -> buffer`: more for the freelist, which is empty; 0 if that cannot be.
    pub grow: usize,
    /// `(buffer) -> buffer`: a copy from the pool that owns it, or 0.
    pub duplicate: usize,
    /// `(to, from, bytes)`: copies bytes.
    pub copy: usize,
    /// `(to, bytes)`: zeros.
    pub clear: usize,
    /// `(bytes, length) -> u64`: the sum of their words (RFC 1071).
    pub sum: usize,
    /// `(buffer, bytes) -> u8`: puts zeros before the packet, if there is room.
    pub prepend: usize,
    /// `(table) -> entry`: that of the key which code has put there, or 0.
    pub find: usize,
    /// `(table, count)`: fetches what the look-ups will read that code has put there.
    pub ahead: usize,
    /// `(table, now) -> entry`: takes the draft in; 0 if there is no room.
    pub insert: usize,
    /// `(table, entry)`: deletes it.
    pub delete: usize,
}

/// What code and engine share.
#[repr(C)]
pub(crate) struct Frame<E> {
    pub engine: *mut E,
    /// Packets given when the last breath ended.
    pub born: u64,
    /// The batch ends when this many have been freed.
    pub freed_limit: u64,
    /// The engine requests an end after this breath.
    pub stop: u64,
    /// Of the breath that runs: an app was called to push; a source is ready.
    pub moving: u64,
    pub readying: u64,
    /// Of the last breath: something moved; a source was ready.
    pub moved: u64,
    pub ready: u64,
    /// Breaths in which something moved.
    pub busy: u64,
}

impl<E> Frame<E> {
    /// One that no breath has used.
    pub fn new() -> Frame<E> {
        Frame {
            engine: std::ptr::null_mut(),
            born: 0,
            freed_limit: 0,
            stop: 0,
            moving: 0,
            readying: 0,
            moved: 0,
            ready: 0,
            busy: 0,
        }
    }
}

/// Offsets of a frame, the same whatever the engine is.
pub(super) mod frame {
    use super::Frame;
    use std::mem::offset_of;

    pub const BORN: usize = offset_of!(Frame<()>, born);
    pub const FREED_LIMIT: usize = offset_of!(Frame<()>, freed_limit);
    pub const STOP: usize = offset_of!(Frame<()>, stop);
    pub const MOVING: usize = offset_of!(Frame<()>, moving);
    pub const READYING: usize = offset_of!(Frame<()>, readying);
    pub const MOVED: usize = offset_of!(Frame<()>, moved);
    pub const READY: usize = offset_of!(Frame<()>, ready);
    pub const BUSY: usize = offset_of!(Frame<()>, busy);
}
