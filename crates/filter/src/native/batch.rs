//! Many packets in one call.
//!
//! Packets of a burst are scattered in memory, and their first bytes are not in the cache. Given in
//! a batch, they can be prefetched while the packets before them are filtered; and the loop around
//! the filter is a few instructions of the same code.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::mem::offset_of;

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{CallConv, InstBuilder, IntCC, signature, types};
use tidemill_jit::{Error, FuncId, Module};
use tidemill_stdx::cache::prefetch;

use super::flat::Usual;
use super::step::{self, Steps};
use super::write::write_verdict;
use super::writer::Packet;
use crate::graph::Graph;

/// A packet of a batch.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Frame<'p> {
    data: *const u8,
    length: usize,
    wire_length: u32,
    bytes: PhantomData<&'p [u8]>,
}

// SAFETY: it is a shared slice of bytes and a number.
unsafe impl Send for Frame<'_> {}
// SAFETY: it gives shared access to its bytes only.
unsafe impl Sync for Frame<'_> {}

impl<'p> Frame<'p> {
    /// A whole packet.
    pub fn new(bytes: &'p [u8]) -> Frame<'p> {
        Frame::part(bytes, u32::try_from(bytes.len()).unwrap_or(u32::MAX))
    }

    /// A packet of which these bytes were kept and which had `wire_length` on the wire.
    pub fn part(bytes: &'p [u8], wire_length: u32) -> Frame<'p> {
        Frame { data: bytes.as_ptr(), length: bytes.len(), wire_length, bytes: PhantomData }
    }

    /// Prefetches the bytes that filters read first.
    #[inline]
    pub(super) fn fetch(&self, places: [usize; 2]) {
        for place in places {
            prefetch(self.data.wrapping_add(place));
        }
    }
}

impl Debug for Frame<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("length", &self.length)
            .field("wire_length", &self.wire_length)
            .finish_non_exhaustive()
    }
}

/// The packets; from which to which, the end excluded; where to write the numbers of those that
/// match, with room for all; the end of what was written.
pub(super) type Entry =
    unsafe extern "C" fn(*const Frame<'_>, usize, usize, *mut usize) -> *mut usize;

/// Between which bytes of usual packets the code reads: the first and the last, but no farther from
/// the first than one line of a cache.
pub(super) fn reads(graph: &Graph) -> [usize; 2] {
    let (first, end) = match Usual::of(graph) {
        Some(usual) => Steps::of(&usual.graph).reads(),
        None => step::reads(&graph.values),
    };
    let last = end.saturating_sub(1).clamp(first, first.saturating_add(63));
    [first as usize, last as usize]
}

/// The function of [`Entry`].
pub(super) fn define(module: &mut Module, graph: &Graph) -> Result<FuncId, Error> {
    let shape = signature(CallConv::SystemV, &[types::I64; 4], &[types::I64]);
    let id = module.declare("keep", shape);
    module.define(id, |body| {
        let arguments = body.begin();
        let (packets, from, to, kept) = (arguments[0], arguments[1], arguments[2], arguments[3]);
        let [look, done, leave] = [(); 3].map(|()| body.create_block());
        let at = body.append_block_param(look, types::I64);
        let end = body.append_block_param(look, types::I64);
        let verdict = body.append_block_param(done, types::I8);
        let last = body.append_block_param(leave, types::I64);
        let any = body.ins().icmp(IntCC::UnsignedLessThan, from, to);
        body.ins().brif(any, look, &[from.into(), kept.into()], leave, &[kept.into()]);

        body.switch_to_block(look);
        let place = body.ins().imul_imm_u(at, size_of::<Frame<'_>>() as i64);
        let frame = body.ins().iadd(packets, place);
        let flags = aligned();
        let constant = flags.with_readonly().with_can_move();
        let mut field = |kind, offset: usize| body.ins().load(kind, constant, frame, offset as i32);
        let packet = Packet {
            data: field(types::I64, offset_of!(Frame<'_>, data)),
            length: field(types::I64, offset_of!(Frame<'_>, length)),
            wire_length: field(types::I32, offset_of!(Frame<'_>, wire_length)),
            outgoing: None,
        };
        write_verdict(body, graph, packet, done);

        // The number is written in any case, and stays if the packet matches.
        body.switch_to_block(done);
        body.ins().store(flags, at, end, 0);
        let verdict = body.ins().uextend(types::I64, verdict);
        let bytes = body.ins().ishl_imm_u(verdict, 3);
        let next = [body.ins().iadd_imm_u(at, 1), body.ins().iadd(end, bytes)];
        let more = body.ins().icmp(IntCC::UnsignedLessThan, next[0], to);
        body.ins().brif(more, look, &next.map(Into::into), leave, &[next[1].into()]);

        body.switch_to_block(leave);
        body.ins().return_(&[last]);
    })?;
    Ok(id)
}
