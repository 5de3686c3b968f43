//! Whether a concurrent history is linearizable: whether each operation can be assigned a point
//! between its call and its return so that, in the order of these points, all results are those of
//! a sequential object (Herlihy and Wing, "Linearizability", 1990).
//!
//! ```text
//! history ── [model] reads operations, parts by key ──> [search] an order? ──> linearizable
//!                                                            │ no
//!                                                       [shrink] the smallest part that has none
//! ```
//! The search is that of Wing and Gong ("Testing and verifying concurrent objects", 1993): it tries
//! the operations that may come first, backtracks where none fits, and, as Lowe proposed ("Testing
//! for linearizability", 2017), never visits the same set of operations with the same state twice.
//! An operation that has not returned is *pending*: it may or may not have happened.
//!
//! It knows values as texts and numbers, and nothing of rules, nodes or clocks: times are integers
//! of any unit.
//!
//! ```
//! use tidemill_history::{Model, Operation, Value, Verdict, check};
//!
//! let operation = |name: &str, argument, result, (invoked, returned)| Operation {
//!     name: name.to_owned(),
//!     argument,
//!     result,
//!     invoked,
//!     returned: Some(returned),
//! };
//! let write = operation("write", Value::Int(1), Value::Null, (0, 10));
//! let early = operation("read", Value::Null, Value::Null, (5, 20));
//! let late = operation("read", Value::Null, Value::Null, (15, 20));
//! let verdict = check(Model::Register, &[write.clone(), early]);
//! assert_eq!(verdict, Ok(Verdict::Linearizable));
//! let Ok(Verdict::Fails(failure)) = check(Model::Register, &[write, late]) else { panic!() };
//! assert_eq!(failure.operations, [0, 1]);
//! ```

#![forbid(unsafe_code)]

mod model;
mod object;
mod operation;
mod parts;
mod search;
mod shrink;

pub use model::Model;
pub use object::Object;
pub use operation::{Malformed, Operation, Value};
pub use parts::{Failure, Verdict, check, check_object};
