//! The cost of a kernel defined in a `.flow` file: `kernels`.
//!
//! Packets of a trace ([`Trace`]: sizes and headers change from packet to packet) are copied into
//! packets of the engine, pass one kernel, and a sink reads their first bytes. The same is run
//! without the kernel, in the same turn, and the difference is the cost of the kernel: `ns`.
//! `whole_ns` is the total.
//!
//! | who | does the same |
//! |---|---|
//! | `tidemill` | `bench/flow/kernels.flow`, compiled |
//! | `component` | a component, where there is one: all packets reach it one by one |
//! | `c` | `bench/peers/c/kernels.c`, by the system's compiler with `-O2`, in batches like ours |
//! | `xdp` | `bench/peers/c/xdp.c`, by `BPF_PROG_TEST_RUN`, as root: warm, and by the clock |
//!
//! All have to let the same packets pass, modified in the same way, which is checked by a digest.

mod apps;
mod peers;

use tidemill_diag::Sources;
use tidemill_packet::app::Declared;
use tidemill_packet::engine::Engine;
use tidemill_packet::flow;
use tidemill_packet::graph::Graph;
use tidemill_packet::kernel::table::{Change, Row};

use super::{Own, in_order, run_to_end};
use crate::extent::Extent;
use crate::filter::trace::Trace;
use crate::report::{Better, Report, Row as Figure};
use crate::tool;
use apps::{Read, Replay};
use peers::{C, Came, Xdp};

const KERNELS: &str = include_str!("../../../flow/kernels.flow");

/// The kernels by their number in C, from 1 on, and equivalent components.
const CASES: [(&str, Option<&str>); 10] = [
    ("Count", Some("cl/kernel-count.com")),
    ("Mac", None),
    ("Ttl", None),
    ("Class", None),
    ("Rewrite", None),
    ("Port", None),
    ("Firewall", None),
    ("Sum", Some("cl/kernel-sum.com")),
    ("Flows", None),
    ("Routes", None),
];

/// Packets of the trace, and of the short one for XDP.
const PACKETS: u32 = 4000;
const PACKETS_SMALL: u32 = 300;
const PACKETS_XDP: u32 = 60;
const PACKETS_XDP_SMALL: u32 = 8;

/// Measures all kernels.
///
/// # Errors
/// A contender fails, or lets other packets pass.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (packets, passes, runs) =
        if extent.small { (PACKETS_SMALL, 2, 1) } else { (PACKETS, 500, 5) };
    let c = built(extent, report, "c", || C::new(&Trace::new(packets as usize)));
    let short = if extent.small { PACKETS_XDP_SMALL } else { PACKETS_XDP };
    let xdp = built(extent, report, "xdp", || Xdp::new(&Trace::new(short as usize)));
    for (number, (kernel, component)) in (1..).zip(CASES) {
        let came = checked(&Way::Kernel(kernel), packets)?;
        let mut all = vec![Contender::new("tidemill", Way::Kernel(kernel))];
        if let Some(component) = component {
            let own = Contender::new("component", Way::Component(component));
            expect("component", kernel, checked(&own.way, packets)?, came)?;
            all.push(own);
        }
        let mut by_c = (Vec::new(), Vec::new());
        for _ in 0..runs {
            for one in &mut all {
                let passes =
                    if matches!(one.way, Way::Component(_)) { 1 + passes / 50 } else { passes };
                let without = timed(&Way::Nothing, packets, passes)?;
                let with = timed(&one.way, packets, passes)?;
                one.ns.push(with - without);
                one.whole_ns.push(with);
            }
            if let Some(c) = &c {
                let ns = |seconds: f64| seconds * 1e9 / (f64::from(packets) * passes as f64);
                let (without, _) = c.run(0, passes)?;
                let (with, theirs) = c.run(number, passes)?;
                expect("c", kernel, theirs, came)?;
                by_c.0.push(ns(with) - ns(without));
                by_c.1.push(ns(with));
            }
        }
        let row =
            |who, metric, figures| Figure::median("kernels", kernel, who, (metric, "ns"), figures);
        let mut rows: Vec<Figure> =
            all.iter().map(|one| row(one.who, "ns", one.ns.clone())).collect();
        if c.is_some() {
            rows.push(row("c", "ns", by_c.0));
        }
        match xdp.as_ref().map(|xdp| xdp.run(number, extent)) {
            Some(Ok((ns, theirs))) => {
                expect("xdp", kernel, theirs, checked(&Way::Kernel(kernel), short)?)?;
                rows.push(row("xdp", "ns", vec![ns]));
            }
            Some(Err(reason)) => report.note(&format!("xdp: {kernel}: {reason}")),
            None => {}
        }
        rows.extend(all.iter().map(|one| row(one.who, "whole_ns", one.whole_ns.clone())));
        if c.is_some() {
            rows.push(row("c", "whole_ns", by_c.1));
        }
        report.case(&rows, Better::Low);
    }
    report.note("kernels: instructions are not counted");
    Ok(())
}

/// A peer, if peers are measured and it can be built; otherwise the reason is reported.
fn built<T>(
    extent: Extent,
    report: &mut Report,
    who: &str,
    build: impl FnOnce() -> Result<T, String>,
) -> Option<T> {
    match extent.peers.then(build)? {
        Ok(peer) => Some(peer),
        Err(reason) => {
            report.note(&format!("{who}: absent: {reason}"));
            None
        }
    }
}

/// The part of the graph between source and sink.
#[derive(Clone, Copy, Debug)]
enum Way {
    Nothing,
    Kernel(&'static str),
    Component(&'static str),
}

/// A contender of ours, and its figures.
struct Contender {
    who: &'static str,
    way: Way,
    ns: Vec<f64>,
    whole_ns: Vec<f64>,
}

impl Contender {
    fn new(who: &'static str, way: Way) -> Contender {
        Contender { who, way, ns: Vec::new(), whole_ns: Vec::new() }
    }
}

fn expect(who: &str, kernel: &str, theirs: Came, ours: Came) -> Result<(), String> {
    match theirs == ours {
        true => Ok(()),
        false => Err(format!("kernels {kernel}: {who} comes to {theirs:?}, and not to {ours:?}")),
    }
}

/// The packets that leave in one pass.
fn checked(way: &Way, packets: u32) -> Result<Came, String> {
    let mut engine = engine(way, (packets, 1), true)?;
    run_to_end(&mut engine)?;
    let counts = engine.app_stats("end").ok_or("no sink")?;
    in_order(&mut engine)?;
    let count = |wanted: &str| counts.iter().find(|(name, _)| name == wanted).map(|(_, it)| *it);
    Ok(Came {
        packets: count("packets").ok_or("no count")?,
        digest: count("seen").ok_or("no digest")?,
    })
}

/// CPU nanoseconds per packet over `passes` passes. One pass before is not measured: it touches
/// memory for the first time, and makes new flows.
fn timed(way: &Way, packets: u32, passes: u64) -> Result<f64, String> {
    let mut engine = engine(way, (packets, passes + 1), false)?;
    while engine.pool_stats().freed < packets.into() {
        engine.breathe();
    }
    let left = (passes + 1) * u64::from(packets) - engine.pool_stats().freed;
    let seconds = run_to_end(&mut engine)?;
    in_order(&mut engine)?;
    Ok(seconds * 1e9 / left as f64)
}

/// An engine with this part between source and sink.
fn engine(way: &Way, (packets, passes): (u32, u64), all: bool) -> Result<Engine, String> {
    let (app, between) = match way {
        Way::Nothing => (String::new(), ""),
        Way::Kernel(kernel) => (format!("way :: {kernel}"), "way -> "),
        Way::Component(file) => {
            let file = tool::own(file);
            (format!("way :: Script {{ file: {:?} }}", file.display().to_string()), "way -> ")
        }
    };
    let text = format!(
        "{KERNELS}
        in :: Replay {{ packets: {packets}, passes: {passes} }}
        {app}
        end :: Read {{ all: {all} }}
        in -> {between}end"
    );
    let mut engine = Own::Compiled.engine(graph(&text)?)?;
    if matches!(way, Way::Kernel("Routes")) {
        let written = engine.write_table("way", "routes", &routes());
        written.map_err(|error| error.to_string())?;
    }
    Ok(engine)
}

fn graph(text: &str) -> Result<Graph, String> {
    let mut catalogue = tidemill::packets::catalogue();
    catalogue.add(Replay::declaration());
    catalogue.add(Read::declaration());
    let mut sources = Sources::new();
    let options = flow::Options::default();
    let loaded = flow::load_text("kernels.flow", text, &options, &catalogue, &mut sources);
    let found = loaded.diagnostics.iter().map(|one| sources.render(one));
    loaded.graph.ok_or_else(|| found.collect())
}

/// The routes of `fill_routes` of the program in C.
fn routes() -> Vec<Change> {
    let route = |net: u64, bits: u32, hop: u64| {
        let mask = vec![u64::from(u32::MAX << (32 - bits))];
        let values = vec![0x0200_0000_0000 | hop];
        Change::Insert(Row { key: vec![net], mask, priority: 0, values })
    };
    let far = (0..256).step_by(2).map(|net| route(net << 24, 8, net + 1));
    let near = (0..4).map(|net| route(10 << 24 | net << 16, 16, net + 1000));
    let inner =
        (0..252).map(|net| route(10 << 24 | (net & 3) << 16 | (net & !3) << 8, 24, net + 2000));
    far.chain(near).chain(inner).collect()
}
