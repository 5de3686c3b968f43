//! A graph as native code.
//!
//! The whole graph becomes one module. Its breath is straight code: addresses of states, links and
//! methods are constants in it, no app is called through a table, and an app that has nothing to do
//! costs an eighth of a load and of a branch, however many there are:
//!
//! ```text
//! breathe   head:   load 8 flags -- any? ----> apps of the group, one after the other
//!             ^     load 8 flags -- any? ----> ...
//!             +-----next breath                then the groups after it, then the tail
//! ```
//! A group of flags that is zero stays zero until it is tested: flags are in the order of the
//! breath (see `flags`). Calls go to entry points, which stop panics; what is rare (an app falls
//! asleep, or fails) is left to the engine, called by the code.
//!
//! Runs of [kernels](crate::kernel) become functions of their own, a loop over the packets of the
//! first link that does with each all that the kernels do; between them packets stay in registers,
//! and the rings of the links between are not touched but for their counters. That is the same as
//! one kernel after the other, as nothing else is called in between, rings that are empty have room
//! for a whole push, and kernels send at most one packet for one. Where packets do lie on a
//! link between (they were injected), the apps are called one by one until they are gone.
//!
//! | part | writes |
//! |---|---|
//! | `blueprint` | a graph as addresses |
//! | `imports`, `calls` | functions from outside, functions that the breath calls |
//! | `breath` | the breath: flags, calls, the tail that decides whether to continue |
//! | `source` | sources that are given as code |
//! | `chain` | which kernels make a run |
//! | `run` | runs of kernels: the loop, and the ways of a packet between kernels |
//! | `writer` | the state in which a run is written |
//! | `feed` | the sources and ends of its packets: links, the pool |
//! | `rings` | the rings after a run |
//! | `counter` | what is kept while the loop of a run runs: in registers, or on the stack |
//! | `counts` | how the packets and bytes over a link between kernels are counted |
//! | `totals` | what a run counts: planned before it, written after it |
//! | `ahead` | look-ups of packets that wait, before the first is taken |
//! | `kernel` | the steps of one kernel |
//! | `versions` | a kernel for packets that are long enough, and for others |
//! | `arithmetic` | operations on two numbers |
//! | `table` | look-ups and changes of kernels in tables |
//! | `bytes` | loads and stores of a packet's bytes |
//! | `known` | bytes of headers that are in registers |
//! | `linear` | counters that follow from the number of packets |
//! | `listing` | the code as text, with names for addresses |
//!
//! It knows addresses, and nothing of the engine that they belong to: a [`Blueprint`] is plain
//! data, which may be compiled on another thread.

mod ahead;
mod arithmetic;
mod blueprint;
mod breath;
mod bytes;
mod calls;
mod chain;
mod counter;
mod counts;
mod feed;
mod imports;
mod kernel;
mod known;
mod linear;
mod listing;
mod rings;
mod run;
mod source;
mod table;
mod totals;
mod versions;
mod writer;

use tidemill_jit::{Code, Error, FuncId, Module, Options};

pub(crate) use blueprint::{
    AppPart, Blueprint, BreathStep, Frame, Helpers, KernelPart, LinkPart, PoolPart,
};
use calls::Calls;
use imports::Imports;

/// What code knows of an app besides its place, which stays: its kernel, where the memory of that
/// is, and where its bell is.
pub(crate) type KnownApp = (Option<KernelPart>, Option<usize>);

/// The breath: the flags, breaths at most, breaths at most if nothing moves; breaths taken.
pub(crate) type Breathe = unsafe extern "C" fn(flags: *const u8, breaths: u64, idle: u64) -> u64;

/// A compiled graph.
pub(crate) struct Native {
    code: Code,
    breathe: Breathe,
    /// The apps that it was made of, by position in the graph.
    known: Vec<KnownApp>,
    names: listing::Names,
    functions: Vec<FuncId>,
}

impl Native {
    /// The breath. It may be called as long as everything that the blueprint named exists.
    pub fn breathe(&self) -> Breathe {
        self.breathe
    }

    /// Whether an app is still what the code was made of.
    pub fn fits(&self, app: usize, is: &KnownApp) -> bool {
        self.known.get(app).is_some_and(|known| known == is)
    }

    /// Bytes and compile time of each function, as a table.
    pub fn report(&self) -> String {
        self.code.report()
    }

    /// The machine code as text, if it was requested.
    pub fn listing(&self) -> String {
        let texts = self.functions.iter().filter_map(|&id| self.code.listing(id));
        texts.map(|text| self.names.put_into(&text) + "\n").collect()
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
    let calls = Calls { chains: &chains, written: &written, sources: &sources };
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
