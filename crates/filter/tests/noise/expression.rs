//! Expressions of the filter language and packets: what reads keeps the same packets interpreted
//! and compiled, as written and optimised.

use crate::common;

use common::{AS_TCPDUMP, Captured, agree, packets};
use tidemill_diag::Sources;
use tidemill_filter::{Graph, compile};

/// Code for larger ones takes its time.
const NODES_MAX: usize = 200;

/// A valid graph, or nothing; errors have spans in the text and can be rendered.
fn read(text: &str) -> Option<Graph> {
    let mut sources = Sources::new();
    let file = sources.add("filter", text);
    let (graph, diagnostics) = compile(file, &sources, &AS_TCPDUMP);
    assert_eq!(graph.is_none(), !diagnostics.is_empty());
    for diagnostic in &diagnostics {
        let span = diagnostic.span;
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{diagnostic:?}");
        assert!(!sources.render(diagnostic).is_empty());
    }
    graph
}

/// Packets, each preceded by its length in a byte. The one after a length above 127 was cut.
fn packets_of(mut bytes: &[u8]) -> Vec<Captured> {
    let mut packets = Vec::new();
    while let [length, rest @ ..] = bytes {
        let (packet, rest) = rest.split_at((*length as usize & 127).min(rest.len()));
        let wire_length = packet.len() as u32 + u32::from(length >> 7) * 40;
        packets.push(Captured { bytes: packet.to_vec(), wire_length });
        bytes = rest;
    }
    packets
}

/// Panics if the engines do not agree about `input`: an expression up to the first zero, then
/// packets.
pub fn check(input: &[u8]) {
    let mut parts = input.splitn(2, |&byte| byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let Some(graph) = read(&text).filter(|graph| graph.nodes.len() < NODES_MAX) else { return };
    let mut all = packets_of(parts.next().unwrap_or_default());
    all.extend(packets(3, 12));
    agree(&text, &graph, &all);
}

/// True for an expression that is right.
pub fn is_understood(input: &[u8]) -> bool {
    let text = input.split(|&byte| byte == 0).next().unwrap_or_default();
    str::from_utf8(text).is_ok_and(|text| read(text).is_some())
}
