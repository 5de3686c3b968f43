//! Relations: values, tuples, tables with indexes, plans, and the fixed point of views.
//!
//! Knows nothing of the rule language, of nodes or of networks: it gets a plan and rows, and
//! gives rows back. Depends on `stdx` alone.

pub mod flat;
pub mod id;
pub mod table;
pub mod value;

pub use flat::{OwnedValue, Seq, SeqBuilder, TupleBuf};
pub use id::Id;
pub use value::{Type, Value};
