//! A graph that is idle first and loaded later, against one that is loaded from the start: a
//! difficulty of compilers that observe the program. Chains of apps as in `chain`; on LuaJIT the
//! idle model, whose apps start to work after a thousand breaths, or at once. `kept` is the share
//! of the rate that remains.

use tidemill_apps::sink::Sink;
use tidemill_packet::app::{Config, Declared};
use tidemill_packet::engine::Rest;
use tidemill_packet::graph::Graph;

use super::apps::Gate;
use super::peers::Peers;
use super::{
    Contender, OWN, Own, arrived, built_in, expect, figures, in_order, join_all, row, run_to_end,
};
use crate::extent::Extent;
use crate::report::{Better, Report, Row};

const BENCH: &str = "idle-then-load";

/// Apps between source and sink.
const LENGTHS: [u64; 3] = [1, 5, 20];

/// Measures all cases.
///
/// # Errors
/// An engine fails, or loses packets.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let peers = Peers::new(extent, report);
    let runs = if extent.small { 1 } else { 15 };
    for apps in LENGTHS {
        let packets = if extent.small { 20_000 } else { 30_000_000 / (apps + 4) };
        let idle = if extent.small { 1_000 } else { 1_000_000 };
        let breaths = if extent.small { 2_000 } else { 1_000_000 } / apps;
        let mut contenders = Vec::new();
        for own in OWN {
            contenders.push(ours(own, apps, idle, packets));
            contenders.push(ours(own, apps, 0, packets));
        }
        let after = peers.luajit(apps, breaths + 1000, 1000);
        for (after, at_once) in after.into_iter().zip(peers.luajit(apps, breaths, 0)) {
            contenders.extend([after, at_once]);
        }
        let case = apps.to_string();
        let all = figures(BENCH, &case, runs, &mut contenders)?;
        let whos: Vec<&str> = contenders.iter().map(|one| one.who.as_str()).step_by(2).collect();
        let (pairs, _) = all.as_chunks::<2>();
        let mut rows = Vec::new();
        for (who, [after, at_once]) in whos.into_iter().zip(pairs) {
            // Ratios of adjacent runs, which are disturbed alike.
            let ratios = after.iter().zip(at_once).map(|(after, at_once)| after / at_once);
            rows.push(Row::median(BENCH, &case, who, ("kept", ""), ratios.collect()));
            rows.push(row(BENCH, &case, who, after.clone()));
            let at_once = at_once.clone();
            rows.push(Row::median(BENCH, &case, who, ("loaded_per_cpu_s", "1/s"), at_once));
        }
        let (kept, rates): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| row.metric == "kept");
        report.case(&kept, Better::High);
        rates.iter().for_each(|row| report.row(row));
    }
    Ok(())
}

/// Packets per CPU second after this number of idle breaths, which are not counted.
fn ours<'a>(own: Own, apps: u64, idle: u64, packets: u64) -> Contender<'a> {
    let run = move || {
        let mut engine = own.engine(graph(apps, idle, packets))?;
        if idle > 0 && !matches!(engine.breathe_times(idle), Rest::Poll(_)) {
            return Err("something moves where nothing can".to_owned());
        }
        let seconds = run_to_end(&mut engine)?;
        expect(arrived(&engine, &format!("touch{}.output->sink.input", apps - 1))?, packets)?;
        in_order(&mut engine)?;
        Ok(packets as f64 / seconds)
    };
    Contender { who: own.name().to_owned(), run: Box::new(run) }
}

fn graph(apps: u64, idle: u64, packets: u64) -> Graph {
    let mut graph = Graph::new();
    let config = Config::new().with("breaths", idle as i64).with("packets", packets as i64);
    let mut all = vec![graph.app("gate", Gate::declaration(), config)];
    for at in 0..apps {
        all.push(graph.app(&format!("touch{at}"), built_in("Touch"), Config::new()));
    }
    all.push(graph.app("sink", Sink::declaration(), Config::new()));
    join_all(&mut graph, &all);
    graph
}
