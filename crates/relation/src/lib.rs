//! Relations: values, tuples, tables with indexes, plans, and the fixed point of views.
//!
//! Knows nothing of the rule language, of nodes or of networks: it gets a plan and rows, and
//! gives rows back. Depends on `stdx` alone.

pub mod aggregate;
pub mod civil;
pub mod cost;
pub mod database;
mod eval;
pub mod expr;
pub mod flat;
pub mod function;
pub mod id;
pub mod json;
pub mod limits;
pub mod messages;
mod narrow;
pub mod native;
pub mod operator;
pub mod plan;
mod spare;
pub mod strand;
pub mod table;
#[cfg(test)]
mod testing;
pub mod text;
pub mod tuple_id;
pub mod types;
pub mod value;
pub mod view;

pub use flat::{OwnedValue, Seq, SeqBuilder, TupleBuf, write_value};
pub use id::Id;
pub use messages::{MessageError, Messages};
pub use spare::SpareRows;
pub use types::TypeSet;
pub use value::{Type, Value};
