//! `chain`: packets through 1, 5 and 20 apps, each of which adds to a byte of its own.
//!
//! A first app writes 24 bytes that differ from packet to packet, and the last reads them; their
//! sum says whether each contender has changed all of them.

use tidemill_packet::engine::Engine;
use tidemill_packet::graph::Graph;

use super::peers::Peers;
use super::{arrived, count_of, expect, loaded, own, rates};
use crate::extent::Extent;
use crate::report::{Better, Report};

/// Apps between the first and the last.
const LENGTHS: [u64; 3] = [1, 5, 20];

/// The ends of the chain.
const ENDS: &str = include_str!("../../flow/chain.flow");

/// The offset of the words in a packet, and of the byte of the first app.
const AT: u64 = 14;

/// Measures all lengths.
///
/// # Errors
/// An engine fails, loses packets, or leaves other bytes than it should.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let peers = Peers::new(extent, report);
    for apps in LENGTHS {
        let packets = if extent.small { 20_000 } else { 100_000_000 / (apps + 4) };
        let sum = sum(apps, packets);
        let graph = || graph(apps, packets);
        let end = format!("touch{}.output->end.in", apps - 1);
        let is_right = |engine: &Engine| {
            expect(arrived(engine, &end)?, packets)?;
            expect(count_of(engine, "end", "sum")?, sum)
        };
        let mut contenders = own(packets, &graph, &is_right);
        contenders.extend(peers.c("chain", apps, (packets, sum)));
        let runs = if extent.small { 1 } else { 5 };
        let rows = rates("chain", &apps.to_string(), runs, &mut contenders)?;
        report.case(&rows, Better::High);
    }
    Ok(())
}

fn graph(apps: u64, packets: u64) -> Result<Graph, String> {
    let mut text = format!("{ENDS}\nsource :: Source {{ packets: {packets} }} -> stamp :: Stamp");
    for at in 0..apps {
        text += &format!(" -> touch{at} :: Touch {{ offset: {}, add: {} }}", AT + at, at + 1);
    }
    text += " -> end :: Read\n";
    loaded("chain.flow", &text, &[], Vec::new())
}

/// The sum of all words of all packets at the end, modulo 2^64.
fn sum(apps: u64, packets: u64) -> u64 {
    let mut last: u64 = 0;
    let mut sum: u64 = 0;
    for _ in 0..packets {
        last = last.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let words = [1, 3, 5].map(|factor| last.wrapping_mul(factor).to_be_bytes());
        let mut bytes = words.concat();
        for (byte, add) in bytes.iter_mut().zip(1..).take(apps as usize) {
            *byte = byte.wrapping_add(add);
        }
        for word in bytes.as_chunks::<8>().0 {
            sum = sum.wrapping_add(u64::from_be_bytes(*word));
        }
    }
    sum
}
