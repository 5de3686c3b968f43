//! Machine code at run time: the one crate that names the compiler (Cranelift) and maps memory
//! executable.
//!
//! Engines describe functions (with the builder, and [`asm`] for what they all write), this crate
//! compiles them, links them within a module, and owns the memory they are in:
//!
//! ```text
//!   Options -> Module -- declare, import, data -- define --+-- finish -> Code -- drop: unmapped
//!                           draft -> Compiler -> add ------+             address, listing,
//!                           (on any thread)                              symbolise, report
//! ```
//!
//! ```
//! use tidemill_jit::build::{CallConv, InstBuilder, signature, types};
//! use tidemill_jit::{Module, Options};
//!
//! let mut module = Module::new(Options::named("sums"))?;
//! let add = module.declare("add", signature(CallConv::SystemV, &[types::I64; 2], &[types::I64]));
//! module.define(add, |body| {
//!     let arguments = body.begin();
//!     let sum = body.ins().iadd(arguments[0], arguments[1]);
//!     body.ins().return_(&[sum]);
//! })?;
//! // SAFETY: the function touches its arguments only.
//! let code = unsafe { module.finish() }?;
//!
//! // SAFETY: the function has this signature, and `code` outlives the pointer.
//! let add: extern "C" fn(i64, i64) -> i64 = unsafe { std::mem::transmute(code.address(add)) };
//! assert_eq!(add(2, 40), 42);
//! # Ok::<(), tidemill_jit::Error>(())
//! ```
//!
//! Knows functions, data, addresses, names. Must not know what they mean: no rules, processes,
//! messages or packets, and no loop.
//!
//! * **Memory is never writable and executable at once.** It is written, then sealed; code cannot
//!   be changed later, data beside it neither. A module is freed as a whole, with its [`Code`].
//! * **Calls within a module are direct**, `call` with a displacement; imported functions are
//!   called through their full address.
//! * **No signals.** Generated code checks what may fail and leaves by a path of its own; nothing
//!   catches traps, nothing unwinds through generated frames. An `extern "C"` function that
//!   panics ends the process.
//! * **Same input, same bytes**, but for addresses; only measured times differ.
//! * Rust enters functions of the C convention directly, others by [`Module::enter`], which
//!   also describes how the pinned register is kept.
//! * Safe code can describe functions, and neither name a foreign address ([`Module::import`]) nor
//!   make anything executable ([`Module::finish`]) nor call it.
//! * Wrong code from a generator is an [`Error`] where [`Options::verify`] is on. Where it is off,
//!   it is as undefined as wrong `unsafe` code: generators are trusted, what they compile is not.

pub mod asm;
mod blob;
mod body;
pub mod build;
mod code;
mod compile;
mod constants;
mod enter;
mod error;
mod library;
mod link;
mod listing;
mod module;
mod options;
mod pages;
mod perf;
mod symbol;

pub use blob::Blob;
pub use body::Body;
pub use code::{Code, FunctionStats, Symbol};
pub use compile::{Compiled, Compiler, Draft, Span};
pub use error::Error;
pub use module::Module;
pub use options::{Level, Options};
pub use perf::{name_all_for_perf, perf_map_path};
pub use symbol::{DataId, FuncId};
