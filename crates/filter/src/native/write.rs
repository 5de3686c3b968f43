//! Writes a graph as code.
//!
//! A small graph is written twice: for most packets without branches ([`flat`]), for others as
//! nodes ([`writer`](super::writer)), in blocks that are out of the way.

use tidemill_jit::Body;
use tidemill_jit::build::{Block, InstBuilder, IntCC, Value as Number, types};

use super::flat;
use super::row::NEAR;
use super::writer::{Loads, Packet, Writer};
use crate::graph::Graph;

/// Writes code that goes to `accept` if the packet matches and to `reject` if not, from the block
/// that is being written on. The graph must be [verified](Graph::verify); neither block gets
/// parameters.
pub fn write(body: &mut Body<'_>, graph: &Graph, packet: Packet, accept: Block, reject: Block) {
    both(body, graph, packet, (accept, reject), |body, verdict| {
        body.ins().brif(verdict, accept, &[], reject, &[]);
    });
}

/// As [`write`], but goes to `done` with the verdict in 8 bits: 1 for a match, else 0.
pub(super) fn write_verdict(body: &mut Body<'_>, graph: &Graph, packet: Packet, done: Block) {
    let (accept, reject) = (body.create_block(), body.create_block());
    both(body, graph, packet, (accept, reject), |body, verdict| {
        body.set_cold_block(accept);
        body.set_cold_block(reject);
        body.ins().jump(done, &[verdict.into()]);
    });
    for (block, verdict) in [(accept, 1), (reject, 0)] {
        body.switch_to_block(block);
        let verdict = body.ins().iconst(types::I8, verdict);
        body.ins().jump(done, &[verdict.into()]);
    }
}

/// Nodes that go to `ends`, and before them, where that pays, code for a branchless verdict.
fn both(
    body: &mut Body<'_>,
    graph: &Graph,
    packet: Packet,
    ends: (Block, Block),
    at_once: impl FnOnce(&mut Body<'_>, Number),
) {
    let mut nodes_are_rare = false;
    if let Some(usual) = flat::Usual::of(graph) {
        nodes_are_rare = true;
        let (long, short) = (body.create_block(), body.create_block());
        let least = i64::from(NEAR);
        let is_long =
            body.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, packet.length, least);
        body.ins().brif(is_long, long, &[], short, &[]);
        body.switch_to_block(long);
        let verdict = Writer::new(body, &usual.graph, packet, ends, Loads::Guarded).verdict(
            &usual.fragments,
            ends.1,
            short,
        );
        at_once(body, verdict);
        body.set_cold_block(short);
        body.switch_to_block(short);
    }
    let mut writer = Writer::new(body, graph, packet, ends, Loads::Checked);
    writer.is_rare = nodes_are_rare;
    writer.nodes();
}
