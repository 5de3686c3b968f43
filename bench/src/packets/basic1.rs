//! `basic1`: packets through a source, a Tee and two sinks. They are counted at the source and
//! checked at the sinks.

use tidemill_apps::{sink::Sink, source::Source, tee::Tee};
use tidemill_packet::app::{Config, Declared};
use tidemill_packet::graph::Graph;

use super::peers::Peers;
use super::{Contender, OWN, Own, arrived, expect, in_order, rates, run_to_end};
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
    let own = |own: Own| Contender {
        who: own.name().to_owned(),
        run: Box::new(move || {
            let mut engine = own.engine(graph(packets))?;
            let seconds = run_to_end(&mut engine)?;
            for end in ENDS {
                expect(arrived(&engine, end)?, packets)?;
            }
            in_order(&mut engine)?;
            Ok(packets as f64 / seconds)
        }),
    };
    let mut contenders: Vec<Contender<'_>> = OWN.into_iter().map(own).collect();
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
