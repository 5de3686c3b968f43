//! Breaths of idle graphs, by the number of apps: a sleeping source, followed by a chain of apps
//! and a sink, without packets. In the cases `polled-N` all N apps are sources that must be polled
//! in each breath, by reading a word of their own that may change at any time; in `called-N` they
//! have no such word, and are called. The model on LuaJIT polls one word for all.

use tidemill_packet::app::{Config, Declared};
use tidemill_packet::engine::Rest;
use tidemill_packet::graph::Graph;

use super::apps::Still;
use super::peers::Peers;
use super::{Contender, OWN, Own, built_in, in_order, join_all, rates};
use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};

const APPS: [u64; 9] = [1, 2, 5, 10, 20, 60, 100, 300, 1000];

/// The number of apps of published figures.
const APPS_OF_PEERS: u64 = 5;

const POLLED: [u64; 2] = [5, 60];

/// Measures all cases.
///
/// # Errors
/// An engine fails, or does work without packets.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let peers = Peers::new(extent, report);
    for apps in APPS {
        let breaths = breaths(extent, apps);
        let mut contenders = ours(chain, apps, breaths);
        contenders.extend(peers.c("breath", apps, (breaths, breaths)));
        // A trace compiler may fall off its cliff, and would take hours.
        let divisor = if apps > 20 { 200 } else { 20 };
        contenders.extend(peers.luajit(apps, (breaths / divisor).max(100), u64::MAX >> 12));
        let runs = if extent.small { 1 } else { 3 };
        let rows = rates("breath", &apps.to_string(), runs, &mut contenders)?;
        report.case(&rows, Better::High);
        if apps == APPS_OF_PEERS {
            rows.iter().for_each(|row| report.row(&seconds_of(row)));
        }
        for row in rows.iter().filter(|row| row.who.starts_with("tidemill")) {
            let value = 1e9 / row.value / apps as f64;
            report.row(&row.with(("ns_per_app", "ns"), value));
        }
    }
    report.row(&compile_time(extent)?);
    for (kind, graph) in [("polled", polled as fn(u64) -> Graph), ("called", called)] {
        for apps in POLLED {
            let breaths = breaths(extent, apps) / 4;
            let mut contenders = ours(graph, apps, breaths);
            contenders.extend(peers.c("polled", apps, (breaths, breaths)));
            // A few breaths are enough for contenders that fall off the cliff.
            let divisor = if apps > 20 { 20 } else { 1 };
            contenders.extend(peers.luajit(apps, (breaths / divisor).max(100), u64::MAX >> 12));
            let runs = if extent.small { 1 } else { 3 };
            let rows = rates("breath", &format!("{kind}-{apps}"), runs, &mut contenders)?;
            report.case(&rows, Better::High);
        }
    }
    Ok(())
}

/// The time to configure a graph of a thousand apps, including its code.
fn compile_time(extent: Extent) -> Result<Row, String> {
    let runs = if extent.small { 1 } else { 9 };
    let mut times = Vec::new();
    for _ in 0..runs {
        let graph = chain(1000);
        let before = std::time::Instant::now();
        let mut engine = Own::Compiled.engine(graph)?;
        times.push(before.elapsed().as_secs_f64() * 1e3);
        in_order(&mut engine)?;
    }
    Ok(Row::median("breath", "1000", "tidemill", ("compile_ms", "ms"), times))
}

/// A number of breaths that takes about a second in the slower engine of ours.
fn breaths(extent: Extent, apps: u64) -> u64 {
    let most = if extent.small { 20_000 } else { 100_000_000 };
    most.min(5 * most / apps)
}

/// A rate converted to seconds for 100 million breaths, as published.
fn seconds_of(row: &Row) -> Row {
    row.with(("cpu_s_1e8", "s"), 1e8 / row.value)
}

fn ours(graph: fn(u64) -> Graph, apps: u64, breaths: u64) -> Vec<Contender<'static>> {
    let contender = |own: Own| Contender {
        who: own.name().to_owned(),
        run: Box::new(move || idle(own, graph(apps), breaths)),
    };
    OWN.into_iter().map(contender).collect()
}

/// A sleeping source, apps and a sink: `apps` altogether.
fn chain(apps: u64) -> Graph {
    let mut graph = Graph::new();
    let mut all = vec![graph.app("source", Still::declaration(), Config::new())];
    for at in 0..apps.saturating_sub(2) {
        all.push(graph.app(&format!("touch{at}"), built_in("Touch"), Config::new()));
    }
    if apps > 1 {
        all.push(graph.app("input", tidemill_apps::sink::Sink::declaration(), Config::new()));
    }
    join_all(&mut graph, &all);
    graph
}

fn polled(apps: u64) -> Graph {
    sources(apps, true)
}

fn called(apps: u64) -> Graph {
    sources(apps, false)
}

fn sources(apps: u64, bell: bool) -> Graph {
    let mut graph = Graph::new();
    for at in 0..apps {
        let config = Config::new().with("polled", true).with("bell", bell);
        graph.app(&format!("source{at}"), Still::declaration(), config);
    }
    graph
}

/// Breaths per CPU second.
fn idle(own: Own, graph: Graph, breaths: u64) -> Result<f64, String> {
    let mut engine = own.engine(graph)?;
    // Sources fall asleep in the first breath.
    engine.breathe();
    let before = engine.stats();
    let (seconds, rest) = cpu_seconds(|| engine.breathe_times(breaths));
    let after = engine.stats();
    if after.breaths - before.breaths != breaths || after.breaths_busy != before.breaths_busy {
        return Err(format!("from {before:?} to {after:?}"));
    }
    if !matches!(rest, Rest::Asleep | Rest::Poll(_)) {
        return Err(format!("rests with {rest:?}"));
    }
    in_order(&mut engine)?;
    Ok(breaths as f64 / seconds)
}
