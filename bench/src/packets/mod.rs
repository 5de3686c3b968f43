//! Packet graphs: idle breaths, packets through graphs, and the effect of changes on the rate.
//!
//! | part | measures |
//! |---|---|
//! | `breath` | idle breaths against the number of apps |
//! | `basic1` | packets through a source, a Tee and two sinks |
//! | `chain` | packets through apps in a row, each of which changes another byte |
//! | `idle_then_load` | whether it matters that a graph was idle first |
//! | `workloads` | whether it matters that traffic changes all the time |
//! | `kernels` | kernels of a `.flow` file beside C, XDP and a component |
//! | `tables` | look-ups in their tables beside C, DPDK and BPF |
//! | `apps` | sources and other apps for that |
//! | `peers` | programs of other languages |
//!
//! Graphs are breathed in this process without the event loop, which would add one event per batch
//! of breaths. All contenders of a case take turns, and each has to carry the same number of
//! packets.

mod apps;
mod basic1;
mod breath;
mod chain;
mod idle_then_load;
mod kernels;
mod peers;
mod tables;
mod workloads;

pub use apps::{BURST, Rounds};
pub use basic1::run as basic1;
pub use breath::run as breath;
pub use chain::run as chain;
pub use idle_then_load::run as idle_then_load;
pub use kernels::measure as measure_kernels;
pub use kernels::run as kernels;
pub use tables::run as tables;
pub use workloads::run as workloads;

use tidemill_diag::Sources;
use tidemill_packet::app::Declaration;
use tidemill_packet::engine::{Engine, EngineKind, Options, Rest};
use tidemill_packet::flow;
use tidemill_packet::graph::Graph;

use crate::clock::cpu_seconds;
use crate::report::Row;

/// Breaths between two checks of progress, as in the driver on the event loop.
const BATCH: u64 = 64;

/// An app type that is written in the language of graphs.
fn built_in(name: &str) -> &'static Declaration {
    let mut all = tidemill_apps::builtin::declarations().iter();
    all.find(|one| one.name == name).expect("an app of the catalogue")
}

/// An engine of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Own {
    Compiled,
    Dispatch,
}

const OWN: [Own; 2] = [Own::Compiled, Own::Dispatch];

impl Own {
    fn name(self) -> &'static str {
        match self {
            Own::Compiled => "tidemill",
            Own::Dispatch => "tidemill-dispatch",
        }
    }

    /// An engine that runs this graph.
    fn engine(self, graph: Graph) -> Result<Engine, String> {
        let kind = match self {
            Own::Compiled => EngineKind::Compiled,
            Own::Dispatch => EngineKind::Dispatch,
        };
        let mut engine = Engine::new(Options { kind, ..Options::default() });
        engine.configure(graph).map_err(|refused| refused.to_string())?;
        Ok(engine)
    }
}

/// The graph of a text, with apps of the catalogue and these.
fn loaded(
    name: &str,
    text: &str,
    apps: &[&'static Declaration],
    defines: Vec<String>,
) -> Result<Graph, String> {
    let mut catalogue = tidemill::packets::catalogue();
    apps.iter().for_each(|app| catalogue.add(app));
    let mut sources = Sources::new();
    let options = flow::Options { defines, ..flow::Options::default() };
    let loaded = flow::load_text(name, text, &options, &catalogue, &mut sources);
    let found = loaded.diagnostics.iter().map(|one| sources.render(one));
    loaded.graph.ok_or_else(|| found.collect())
}

/// A chain of apps, each linked to the next.
fn join_all(graph: &mut Graph, apps: &[usize]) {
    for pair in apps.windows(2) {
        graph.link((pair[0], "output"), (pair[1], "input"));
    }
}

/// Breathes until all packets have arrived; returns the CPU seconds. Unfinished work is an error.
fn run_to_end(engine: &mut Engine) -> Result<f64, String> {
    let (seconds, rest) = cpu_seconds(|| {
        loop {
            match engine.breathe_while_busy(BATCH, u64::MAX) {
                (Rest::Busy, _) => {}
                (rest, _) => return rest,
            }
        }
    });
    match rest {
        Rest::Finished => Ok(seconds),
        rest => Err(format!("the graph rests before its end: {rest:?}")),
    }
}

/// The packets that arrived over a link, if nothing was dropped or is queued.
fn arrived(engine: &Engine, link: &str) -> Result<u64, String> {
    let stats = engine.link_stats(link).ok_or_else(|| format!("no link `{link}`"))?;
    if stats.tx_drops + stats.queued > 0 || stats.rx_packets != stats.tx_packets {
        return Err(format!("`{link}` is not in order: {stats:?}"));
    }
    Ok(stats.rx_packets)
}

/// A count that an app reports.
fn count_of(engine: &Engine, app: &str, name: &str) -> Result<u64, String> {
    let counts = engine.app_stats(app).ok_or_else(|| format!("there is no app `{app}`"))?;
    let count = counts.iter().find(|(other, _)| other == name).map(|(_, count)| *count);
    count.ok_or_else(|| format!("`{app}` does not count `{name}`"))
}

/// Checks that all allocated packets have been freed, and no app has failed.
fn in_order(engine: &mut Engine) -> Result<(), String> {
    if let Some(note) = engine.take_notes().first() {
        return Err(note.to_string());
    }
    match engine.pool_stats().alive() {
        0 => Ok(()),
        alive => Err(format!("{alive} packets are lost")),
    }
}

/// A contender of a case: its name, and the function that measures it once.
struct Contender<'a> {
    who: String,
    run: Box<dyn FnMut() -> Result<f64, String> + 'a>,
}

/// Our engines on a graph that carries this number of packets; `check` looks at each when all have
/// arrived.
fn own<'a>(
    packets: u64,
    graph: &'a dyn Fn() -> Result<Graph, String>,
    check: &'a dyn Fn(&Engine) -> Result<(), String>,
) -> Vec<Contender<'a>> {
    let contender = |own: Own| Contender {
        who: own.name().to_owned(),
        run: Box::new(move || {
            let mut engine = own.engine(graph()?)?;
            let seconds = run_to_end(&mut engine)?;
            check(&engine)?;
            in_order(&mut engine)?;
            Ok(packets as f64 / seconds)
        }),
    };
    OWN.into_iter().map(contender).collect()
}

/// The figures of each contender in each run; they take turns.
fn figures(
    bench: &str,
    case: &str,
    runs: usize,
    contenders: &mut [Contender<'_>],
) -> Result<Vec<Vec<f64>>, String> {
    let mut figures = vec![Vec::new(); contenders.len()];
    for _ in 0..runs {
        for (contender, figures) in contenders.iter_mut().zip(&mut figures) {
            let failed = |what| format!("{bench} {case}: {}: {what}", contender.who);
            figures.push((contender.run)().map_err(failed)?);
        }
    }
    Ok(figures)
}

/// A row of rates for each contender.
fn rates(
    bench: &'static str,
    case: &str,
    runs: usize,
    contenders: &mut [Contender<'_>],
) -> Result<Vec<Row>, String> {
    let figures = figures(bench, case, runs, contenders)?;
    let rows = contenders.iter().zip(figures);
    Ok(rows.map(|(contender, figures)| row(bench, case, &contender.who, figures)).collect())
}

/// A row of rates.
fn row(bench: &'static str, case: &str, who: &str, figures: Vec<f64>) -> Row {
    Row::median(bench, case, who, ("per_cpu_s", "1/s"), figures)
}

/// Checks a count.
fn expect(count: u64, expected: u64) -> Result<(), String> {
    if count == expected { Ok(()) } else { Err(format!("comes to {count}, not {expected}")) }
}
