//! Conditions that a kernel asks and others know: the seam for packet filters.

use std::fmt;

use tidemill_jit::Body;
use tidemill_jit::build::{Block, Value};

/// What generated code of a test may look at.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// The address of the first byte of the packet.
    pub data: Value,
    /// How many bytes there are, 64 bits wide.
    pub length: Value,
}

/// A condition on the bytes of a packet. Both forms must agree.
pub trait Test: fmt::Debug + Send + Sync {
    /// What it asks, in one line.
    fn name(&self) -> &str;

    /// Whether it holds: the oracle of the code.
    fn holds(&self, bytes: &[u8]) -> bool;

    /// Writes code that ends the block and goes to `yes` or to `no`; neither takes parameters. It
    /// reads no byte beyond the length, and changes nothing.
    fn write(&self, body: &mut Body<'_>, packet: Looked, yes: Block, no: Block);
}
