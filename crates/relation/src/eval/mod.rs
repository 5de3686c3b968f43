//! What operators, functions and expressions share: what evaluation takes from outside, and how it
//! fails. Programs of other crates find it in [`crate::expr`].

mod error;
mod scope;
mod truth;

pub use error::EvalError;
pub use scope::{Ambient, Param, Scope, is_below};
pub use truth::is_true;
