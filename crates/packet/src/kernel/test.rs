//! Tests in kernels that are implemented elsewhere: the seam for packet filters.

use std::fmt;

use tidemill_jit::Body;
use tidemill_jit::build::{Block, InstBuilder, Value, types};

use crate::packet::{OUTGOING, offsets};

/// The inputs of the generated code of a test.
#[derive(Clone, Copy, Debug)]
pub struct PacketValues {
    /// The address of the first byte of the packet.
    pub data: Value,
    /// The number of bytes, 64 bits wide.
    pub length: Value,
    /// The address of the packet itself.
    pub(crate) packet: Value,
}

impl PacketValues {
    /// Writes code for how many bytes there were on the wire, 32 bits wide: the greatest number for
    /// more than that.
    pub fn wire_length(&self, body: &mut Body<'_>) -> Value {
        let at = offsets::MISSING as i32;
        let missing = body.load_aligned(types::I64, self.packet, at);
        let length = body.ins().iadd(self.length, missing);
        let most = body.ins().iconst(types::I64, i64::from(u32::MAX));
        let length = body.ins().umin(length, most);
        body.ins().ireduce(types::I32, length)
    }

    /// Writes code for 1 if this machine sent the packet, else 0; 32 bits wide.
    pub fn outgoing(&self, body: &mut Body<'_>) -> Value {
        const { assert!(OUTGOING == 1) };
        let at = offsets::FLAGS as i32;
        let flags = body.load_aligned(types::I64, self.packet, at);
        let flags = body.ins().ireduce(types::I32, flags);
        body.ins().band_imm_u(flags, 1)
    }
}

/// The inputs of a test, outside of generated code.
#[derive(Clone, Copy, Debug)]
pub struct PacketView<'p> {
    /// The bytes.
    pub bytes: &'p [u8],
    /// The number on the wire; the greatest number for more than that.
    pub wire_length: u32,
    /// This machine sent the packet.
    pub is_outgoing: bool,
}

/// A condition on a packet. Both forms must agree.
pub trait Test: fmt::Debug + Send + Sync {
    /// Its condition, in one line.
    fn name(&self) -> &str;

    /// Whether it holds: the oracle of the code.
    fn holds(&self, packet: PacketView<'_>) -> bool;

    /// Writes code that ends the block and goes to `yes` or to `no`; neither takes parameters. It
    /// reads no byte beyond the length, and changes nothing.
    fn write(&self, body: &mut Body<'_>, packet: PacketValues, yes: Block, no: Block);
}
