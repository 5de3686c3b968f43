//! Packets through graphs: a source, a Tee and two sinks; and chains of apps that each modify a
//! byte of the header. Packets are counted at the source and checked at the sinks.
//!
//! In `chain` all apps modify the same byte. Our code keeps it in a register from the first to the
//! last, and stores it where the packet arrives; in C each app accesses memory, also in the loop
//! that is fused by hand, as independent elements do.

use tidemill_apps::{sink::Sink, source::Source, tee::Tee};
use tidemill_packet::app::{Config, Declared};
use tidemill_packet::graph::Graph;

use super::peers::Peers;
use super::{
    Contender, OWN, Own, arrived, built_in, expect, in_order, join_all, rates, run_to_end,
};
use crate::extent::Extent;
use crate::report::{Better, Report};

/// Apps between source and sink.
const LENGTHS: [u64; 3] = [1, 5, 20];

/// `basic1`: all packets are copied once.
///
/// # Errors
/// An engine fails, or loses packets.
pub fn basic1(extent: Extent, report: &mut Report) -> Result<(), String> {
    let packets = if extent.small { 20_000 } else { 100_000_000 };
    let peers = Peers::new(extent, report);
    let ends = ["tee.one->one.tee", "tee.two->two.tee"];
    let mut contenders = ours(&basic1_graph, packets, &ends);
    contenders.extend(peers.c("basic1", 0, packets));
    let runs = if extent.small { 1 } else { 3 };
    let rows = rates("basic1", &packets.to_string(), runs, &mut contenders)?;
    report.case(&rows, Better::High);
    Ok(())
}

/// `chain`: 1, 5 and 20 apps.
///
/// # Errors
/// An engine fails, or loses packets.
pub fn chain(extent: Extent, report: &mut Report) -> Result<(), String> {
    let peers = Peers::new(extent, report);
    for apps in LENGTHS {
        let packets = if extent.small { 20_000 } else { 100_000_000 / (apps + 4) };
        let graph = |packets| chain_graph(apps, packets);
        let end = format!("touch{}.output->sink.input", apps - 1);
        let ends = [end.as_str()];
        let mut contenders = ours(&graph, packets, &ends);
        contenders.extend(peers.c("chain", apps, packets));
        let runs = if extent.small { 1 } else { 5 };
        let rows = rates("chain", &apps.to_string(), runs, &mut contenders)?;
        report.case(&rows, Better::High);
    }
    Ok(())
}

/// Ours on a graph that carries this number of packets; each of `ends` must receive them all.
fn ours<'a>(
    graph: &'a dyn Fn(u64) -> Graph,
    packets: u64,
    ends: &'a [&'a str],
) -> Vec<Contender<'a>> {
    let contender = |own: Own| Contender {
        who: own.name().to_owned(),
        run: Box::new(move || {
            let mut engine = own.engine(graph(packets))?;
            let seconds = run_to_end(&mut engine)?;
            for end in ends {
                expect(arrived(&engine, end)?, packets)?;
            }
            in_order(&mut engine)?;
            Ok(packets as f64 / seconds)
        }),
    };
    OWN.into_iter().map(contender).collect()
}

fn source(packets: u64) -> Config {
    Config::new().with("packets", packets as i64)
}

fn basic1_graph(packets: u64) -> Graph {
    let mut graph = Graph::new();
    let source = graph.app("source", Source::declaration(), source(packets));
    let tee = graph.app("tee", Tee::declaration(), Config::new());
    graph.link((source, "output"), (tee, "input"));
    for name in ["one", "two"] {
        let sink = graph.app(name, Sink::declaration(), Config::new());
        graph.link((tee, name), (sink, "tee"));
    }
    graph
}

fn chain_graph(apps: u64, packets: u64) -> Graph {
    let mut graph = Graph::new();
    let mut all = vec![graph.app("source", Source::declaration(), source(packets))];
    for at in 0..apps {
        all.push(graph.app(&format!("touch{at}"), built_in("Touch"), Config::new()));
    }
    all.push(graph.app("sink", Sink::declaration(), Config::new()));
    join_all(&mut graph, &all);
    graph
}
