//! The cost of sealing: datagrams out and in over the loopback, without key and with one, compared
//! with a loop in C over the same sockets with the cipher of OpenSSL; handshakes; the cost of
//! strangers.
//!
//! Both sides are in one process and alternate, so that each is measured separately: `out` is all
//! from a content to the socket, `in` all from the socket to the content. The kernel does its
//! receiving part as datagrams are sent, so it is in `out`, for the peer as well.

mod door;
mod handshakes;
mod node;

use std::path::PathBuf;
use std::process::Command;

use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::tool;

/// Sizes of contents; the second fills a sealed datagram except for the heads.
const CONTENT_BYTES: [usize; 2] = [64, 1100];

/// Contents sent before their receiver runs: as many of the long ones as a socket buffers.
const BURST: u64 = 64;

/// Measures all of it.
///
/// # Errors
/// A message does not arrive, or not as it was sent.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (bursts, runs) = if extent.small { (20, 1) } else { (2000, 7) };
    let peer = match extent.peers.then(build_peer) {
        Some(Err(reason)) => {
            report.note(&format!("c: absent: {reason}"));
            None
        }
        Some(Ok(peer)) => Some(peer),
        None => None,
    };
    for bytes in CONTENT_BYTES {
        for seal in [door::Seal::Without, door::Seal::With] {
            datagrams(bytes, seal, bursts, runs, peer.as_ref(), report)?;
        }
    }
    handshakes::run(extent, report)
}

fn datagrams(
    bytes: usize,
    seal: door::Seal,
    bursts: u64,
    runs: usize,
    peer: Option<&PathBuf>,
    report: &mut Report,
) -> Result<(), String> {
    let mut rates: [[Vec<f64>; 2]; 2] = Default::default();
    for _ in 0..runs {
        let ours = door::measure(bytes, seal, bursts, BURST)?;
        ours.into_iter().zip(&mut rates[0]).for_each(|(rate, rates)| rates.push(rate));
        if let Some(peer) = peer {
            let words = [seal.name(), &bytes.to_string(), &bursts.to_string(), &BURST.to_string()];
            let printed = tool::stdout_of(Command::new(peer).args(words), "c")?;
            let theirs: Vec<f64> =
                printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            if theirs.len() != 2 {
                return Err(format!("c says `{}`", printed.trim()));
            }
            theirs.into_iter().zip(&mut rates[1]).for_each(|(rate, rates)| rates.push(rate));
        }
    }
    let [ours, theirs] = rates;
    for ((way, ours), theirs) in ["out", "in"].into_iter().zip(ours).zip(theirs) {
        let case = format!("{} {bytes} {way}", seal.name());
        let row = |who, rates| Row::median("trust", &case, who, ("per_cpu_s", "1/s"), rates);
        let mut rows = vec![row("tidemill", ours)];
        if !theirs.is_empty() {
            rows.push(row("c", theirs));
        }
        report.case(&rows, Better::High);
    }
    Ok(())
}

fn build_peer() -> Result<PathBuf, String> {
    let program = tool::target("c")?.join("seal");
    tool::cc(&program, "c/seal.c", &["-lcrypto"]).map(|()| program)
}
