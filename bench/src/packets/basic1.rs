//! `basic1`: packets through a source, a Tee and two sinks. They are counted at the source and
//! checked at the sinks.

use tidemill_apps::{sink::Sink, source::Source, tee::Tee};
use tidemill_packet::app::{Config, Declared};
use tidemill_packet::engine::Engine;
use tidemill_packet::graph::Graph;

use super::peers::Peers;
use super::{arrived, expect, own, rates};
use crate::extent::Extent;
use crate::report::{Better, Report};

/// The ends of the graph.
const ENDS: [&str; 2] = ["tee.one->one.tee", "tee.two->two.tee"];

/// Measures.
///
/// # Errors
/// An engine fails, or loses packets.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let packets = if extent.small { 20_000 } else { 100_000_000 };
    let peers = Peers::new(extent, report);
    let graph = || Ok(graph(packets));
    let all_arrive =
        |engine: &Engine| ENDS.iter().try_for_each(|end| expect(arrived(engine, end)?, packets));
    let mut contenders = own(packets, &graph, &all_arrive);
    contenders.extend(peers.c("basic1", 0, (packets, packets)));
    let runs = if extent.small { 1 } else { 3 };
    let rows = rates("basic1", &packets.to_string(), runs, &mut contenders)?;
    report.case(&rows, Better::High);
    Ok(())
}

fn graph(packets: u64) -> Graph {
    let mut graph = Graph::new();
    let packets = Config::new().with("packets", packets as i64);
    let source = graph.app("source", Source::declaration(), packets);
    let tee = graph.app("tee", Tee::declaration(), Config::new());
    graph.link((source, "output"), (tee, "input"));
    for name in ["one", "two"] {
        let sink = graph.app(name, Sink::declaration(), Config::new());
        graph.link((tee, name), (sink, "tee"));
    }
    graph
}
