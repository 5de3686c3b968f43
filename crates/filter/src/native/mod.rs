//! Native code of filters, and the safe way to run it.

mod batch;
mod dominance;
mod filter;
mod flat;
mod join;
mod row;
mod step;
mod write;
mod writer;

pub use batch::Frame;
pub use filter::Filter;
pub use write::write;
pub use writer::Packet;
