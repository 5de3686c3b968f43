//! A graph as native code.
//!
//! The whole graph becomes one module. Its breath is straight code: addresses of states, links and
//! methods are constants in it, no app is called through a table, and an app that has nothing to do
//! costs an eighth of a load and of a branch, however many there are:
//!
//! ```text
//! breathe   head:   load 8 flags -- any? ----> apps of the group, one after the other
//!             ^     load 8 flags -- any? ----> ...
//!             +-----next breath                then the groups behind it, then the tail
//! ```
//! A group of flags that is zero cannot become another before it is asked: flags stand in the order
//! of the breath (see `flags`). What is called is an entry point, which stops panics; what is rare
//! (an app falls asleep, or fails) is left to the engine, called by the code.
//!
//! Runs of [kernels](crate::kernel) become functions of their own, a loop over the packets of the
//! first link that does with each all that the kernels do; between them packets stay in registers,
//! and the rings of the links between are not touched but for their counters. That is the same as
//! one kernel after the other, as nobody else is called in between, rings that are empty have room
//! for a whole push, and kernels give out at most one packet for one. Where packets do lie on a
//! link between (somebody injected them), the apps are called one by one until they are gone.
//!
//! | part | writes |
//! |---|---|
//! | `breath` | the breath: flags, calls, the tail that decides whether to go on |
//! | `source` | sources that are given as code |
//! | `chain` | which kernels make a run |
//! | `run` | runs of kernels: what happens to each packet, and what is counted |
//! | `feed` | where its packets come from and go: links, the pool |
//! | `kernel` | the steps of one kernel |
//! | `known` | bytes of headers that are in registers |
//! | `linear` | counters that follow from how many packets came |
//! | `listing` | the code as text, with names for addresses |
//!
//! It knows addresses, and nothing of the engine that they belong to: a [`Blueprint`] is plain
//! data, which may be compiled on another thread.

mod breath;
mod chain;
mod feed;
mod kernel;
mod known;
mod linear;
mod listing;
mod run;
mod source;

use std::sync::Arc;

use tidemill_jit::build::{CallConv, InstBuilder, IntCC, MemFlagsData, Value, signature, types};
use tidemill_jit::{Body, Code, Error, FuncId, Module, Options};

use crate::kernel::Kernel;

/// A graph as addresses: all that code is made of.
pub(crate) struct Blueprint {
    /// By position in the graph.
    pub apps: Vec<AppPart>,
    /// By position in the graph.
    pub links: Vec<LinkPart>,
    /// What a breath does, in order; each has the flag of its position.
    pub steps: Vec<Doing>,
    /// Of the [`Frame`].
    pub frame: usize,
    /// Of the time of the event loop.
    pub now: usize,
    pub pool: PoolPart,
    pub helpers: Helpers,
    pub listing: bool,
}

/// What a breath may do, by the position of an app.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    Pull(usize),
    Push(usize),
}

impl Blueprint {
    /// How many packets may come to be in a breath: those that links and apps can take.
    fn growth(&self) -> usize {
        let ends = |link: &&LinkPart| self.apps[link.to].kernel.is_none();
        let kept = self.links.iter().filter(ends).count();
        crate::link::SLOTS * (self.links.len() + kept + 1)
    }

    /// Whether the pool is large enough for code to make packets at another point of a breath than
    /// the loop: where it cannot run out, nobody sees the difference.
    fn has_room(&self) -> bool {
        self.growth() < self.pool.limit
    }

    /// Whether as much room is left now.
    fn write_has_room(&self, body: &mut Body<'_>) -> Value {
        let allocated = load_word(body, self.pool.allocated, 0);
        let freed = load_word(body, self.pool.freed, 0);
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
    /// Where the word is that says whether a pull would bring anything.
    pub bell: Option<usize>,
    /// A kernel, and where its words are.
    pub kernel: Option<(Arc<Kernel>, usize)>,
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
    /// `(buffer) -> buffer`: a copy from the pool that it came from, or 0.
    pub duplicate: usize,
    /// `(to, from, bytes)`: copies bytes.
    pub copy: usize,
    /// `(to, bytes)`: zeros.
    pub clear: usize,
    /// `(buffer, bytes) -> u8`: puts zeros before the packet, if there is room.
    pub prepend: usize,
}

/// What code and engine tell each other.
#[repr(C)]
pub(crate) struct Frame<E> {
    pub engine: *mut E,
    /// Packets given when the last breath ended.
    pub born: u64,
    /// The batch ends when so many have come back.
    pub freed_limit: u64,
    /// The engine asks for an end after this breath.
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

/// Offsets of a frame, the same whatever the engine is.
mod frame {
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

/// What code knows of an app besides its place, which stays: its kernel and where the words of that
/// are, and where its bell is.
pub(crate) type KnownApp = (Option<(Arc<Kernel>, usize)>, Option<usize>);

/// The breath: the flags, breaths at most, breaths at most if nothing moves; breaths taken.
pub(crate) type Breathe = unsafe extern "C" fn(flags: *const u8, breaths: u64, idle: u64) -> u64;

/// A compiled graph.
pub(crate) struct Native {
    code: Code,
    breathe: Breathe,
    /// What it was made of, by position in the graph.
    known: Vec<KnownApp>,
    names: listing::Names,
    functions: Vec<FuncId>,
}

impl Native {
    /// The breath. It may be called as long as all that the blueprint named is there.
    pub fn breathe(&self) -> Breathe {
        self.breathe
    }

    /// Whether an app is still what the code was made of.
    pub fn fits(&self, app: usize, is: &KnownApp) -> bool {
        let Some((kernel, bell)) = self.known.get(app) else { return false };
        let same = match (kernel, &is.0) {
            (Some((known, words)), Some((kernel, address))) => {
                Arc::ptr_eq(known, kernel) && words == address
            }
            (None, None) => true,
            _ => false,
        };
        same && *bell == is.1
    }

    /// Bytes and compile time of each function, as a table.
    pub fn report(&self) -> String {
        self.code.report()
    }

    /// The machine code as text, if it was asked for.
    pub fn listing(&self) -> String {
        let texts = self.functions.iter().filter_map(|&id| self.code.listing(id));
        texts.map(|text| self.names.put_into(&text) + "\n").collect()
    }
}

/// Functions from outside, as the module knows them.
struct Imports {
    pulled: FuncId,
    failed: FuncId,
    oldest: FuncId,
    waits: FuncId,
    notify: FuncId,
    free: FuncId,
    no_packet: FuncId,
    grow: FuncId,
    duplicate: FuncId,
    copy: FuncId,
    clear: FuncId,
    prepend: FuncId,
}

impl Imports {
    fn new(module: &mut Module, helpers: &Helpers) -> Imports {
        let mut import = |name: &str, address: usize, parameters: &[_], results: &[_]| {
            let signature = signature(CallConv::SystemV, parameters, results);
            let address = std::ptr::with_exposed_provenance(address);
            // SAFETY: the helpers of a blueprint are functions of these signatures.
            unsafe { module.import(name, signature, address) }
        };
        let (wide, narrow, byte) = (types::I64, types::I32, types::I8);
        Imports {
            pulled: import("engine.pulled", helpers.pulled, &[wide, narrow, narrow], &[]),
            failed: import("engine.failed", helpers.failed, &[wide, narrow], &[]),
            oldest: import("engine.oldest", helpers.oldest, &[wide], &[]),
            waits: import("engine.waits", helpers.waits, &[wide], &[byte]),
            notify: import("link.notify", helpers.notify, &[wide], &[]),
            free: import("packet.free", helpers.free, &[wide], &[]),
            no_packet: import("app.no_packet", helpers.no_packet, &[wide], &[]),
            grow: import("pool.grow", helpers.grow, &[wide], &[wide]),
            duplicate: import("packet.duplicate", helpers.duplicate, &[wide], &[wide]),
            copy: import("bytes.copy", helpers.copy, &[wide, wide, wide], &[]),
            clear: import("bytes.clear", helpers.clear, &[wide, wide], &[]),
            prepend: import("packet.prepend", helpers.prepend, &[wide, wide], &[byte]),
        }
    }
}

/// Makes code of a blueprint.
///
/// # Errors
/// No code can be made for this machine, or there is no memory for it.
pub(crate) fn compile(blueprint: &Blueprint) -> Result<Native, Error> {
    let options = Options { listing: blueprint.listing, ..Options::named("packets") };
    let mut module = Module::new(options)?;
    let imports = Imports::new(&mut module, &blueprint.helpers);
    let mut functions = Vec::new();
    let chains = chain::find(blueprint);
    let mut written = Vec::new();
    for chain in &chains {
        let one = chain::write(&mut module, &imports, blueprint, chain)?;
        functions.extend([one.links].into_iter().chain(one.pool));
        written.push(one);
    }
    let sources = source::write(&mut module, &imports, blueprint, &chains)?;
    functions.extend(sources.iter().filter_map(|source| source.alone));
    let calls = breath::Calls { chains: &chains, written: &written, sources: &sources };
    let breathe = breath::define(&mut module, &imports, blueprint, calls)?;
    functions.insert(0, breathe);
    // SAFETY: the code touches what the blueprint names, which its engine keeps in place, and bytes
    // of packets whose length it has checked.
    let code = unsafe { module.finish() }?;
    let address = code.address(breathe);
    // SAFETY: the function was declared with this signature; the code stays beside the pointer.
    let breathe = unsafe { std::mem::transmute::<*const u8, Breathe>(address) };
    let known = blueprint.apps.iter().map(|app| (app.kernel.clone(), app.bell)).collect();
    let names = listing::Names::of(blueprint);
    Ok(Native { code, breathe, known, names, functions })
}

/// Loads and stores of what we know to be there.
pub(crate) fn plain() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_aligned()
}

/// Loads and stores of packets' bytes, which may be anywhere.
fn loose() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// An address in code.
fn address(body: &mut Body<'_>, address: usize) -> Value {
    // As the compiler takes it: the bits, signed.
    body.ins().iconst(types::I64, (address as u64).cast_signed())
}

/// A word in memory, at an offset from an address that is known now.
fn load_word(body: &mut Body<'_>, base: usize, offset: usize) -> Value {
    let base = address(body, base);
    body.ins().load(types::I64, plain(), base, offset as i32)
}

fn store_word(body: &mut Body<'_>, value: Value, base: usize, offset: usize) {
    let base = address(body, base);
    body.ins().store(plain(), value, base, offset as i32);
}

/// Adds to a word in memory.
fn add_to_word(body: &mut Body<'_>, base: usize, offset: usize, by: Value) {
    let base = address(body, base);
    let old = body.ins().load(types::I64, plain(), base, offset as i32);
    let new = body.ins().iadd(old, by);
    body.ins().store(plain(), new, base, offset as i32);
}
