//! The options of a module, and the target that follows from them.

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

use crate::error::Error;

/// How hard the compiler tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Instructions are chosen and registers given out; nothing else.
    None,
    /// Constants, common and dead code, loads, loop invariants.
    Speed,
}

/// The options of a module.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the module: what its functions are called by in profiles and listings.
    pub name: String,
    /// How hard the compiler tries.
    pub optimise: Level,
    /// Check each function before it is compiled. On in debug builds; checked generators need it
    /// no more.
    pub verify: bool,
    /// Keep the text of the machine code for [`Code::listing`](crate::Code::listing).
    pub listing: bool,
    /// Name the functions in the map file that `perf` reads. Stacks need no option: all functions
    /// keep frame pointers.
    pub perf_map: bool,
    /// Set one register aside for the generator: `get_pinned_reg` and `set_pinned_reg` of
    /// [`build::InstBuilder`](crate::build::InstBuilder), see
    /// [`Module::enter`](crate::Module::enter).
    pub pinned_register: bool,
}

impl Options {
    /// A module of this name, optimised, with everything else off.
    pub fn named(name: impl Into<String>) -> Options {
        Options {
            name: name.into(),
            optimise: Level::Speed,
            verify: cfg!(debug_assertions),
            listing: false,
            perf_map: false,
            pinned_register: false,
        }
    }
}

/// The machine we run on. It optimises, if it does, apart from the rest, so that there is a
/// function to change in between.
#[derive(Clone)]
pub(crate) struct Machine {
    pub optimiser: Option<OwnedTargetIsa>,
    pub generator: OwnedTargetIsa,
}

impl Machine {
    pub(crate) fn new(options: &Options) -> Result<Machine, Error> {
        let optimiser = match options.optimise {
            Level::None => None,
            Level::Speed => Some(isa(options, "speed")?),
        };
        Ok(Machine { optimiser, generator: isa(options, "none")? })
    }
}

/// The instruction set, with the settings that all our code shares.
fn isa(options: &Options, optimise: &str) -> Result<OwnedTargetIsa, Error> {
    let switch = |on: bool| if on { "true" } else { "false" };
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", optimise),
        ("enable_verifier", switch(options.verify)),
        ("enable_pinned_reg", switch(options.pinned_register)),
        // Tail calls rely on frame pointers, and profiles find the callers by them.
        ("preserve_frame_pointers", "true"),
        // Nothing unwinds through our frames.
        ("unwind_info", "false"),
        // A frame of several pages touches each, so it cannot jump over the guard of the stack.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        // The code has no secrets from its author: no masks around jump tables.
        ("enable_table_access_spectre_mitigation", "false"),
        ("enable_heap_access_spectre_mitigation", "false"),
        // 128-bit integers as arguments.
        ("enable_llvm_abi_extensions", "true"),
    ] {
        flags.set(name, value).map_err(|error| Error::Machine(format!("{name}: {error}")))?;
    }
    let builder = cranelift_native::builder().map_err(|text| Error::Machine(text.to_owned()))?;
    builder.finish(settings::Flags::new(flags)).map_err(|error| Error::Machine(error.to_string()))
}
