//! Strands as machine code.
//!
//! A strand becomes one function: nested loops over the rows that its look-ups find, with integers
//! and truth values in registers of the machine. It is specialised for the types observed in the
//! strand's registers while it was interpreted: a column that has held nothing but integers is
//! compiled as one, and a row in which it is something else is left to the interpreter. Texts,
//! identifiers and lists stay in memory, and operators on them are calls. Whatever fails is left to
//! the interpreter, too, which fails in the same place and reports it.
//!
//! ```text
//! Strand + type profile --strand, expression--> IR --jit--> Native --run--> Sink
//!                                                             |  what it cannot do: frame
//!                                                             v
//!                                                        strand::interpret
//! ```
//! So [`run`] and [`crate::strand::run`] derive the same tuples in the same order, count the same
//! rows, and report the same failures.

mod code;
mod expected;
mod expression;
mod frame;
mod helpers;
mod layout;
mod slots;
mod strand;
mod writer;

pub use code::{Computed, FrameValues, Native, compute, run};
pub use expected::expected;
pub use tidemill_jit::{Error, Options};
