//! The cost of a kernel defined in a `.flow` file: `kernels`.
//!
//! Packets of a trace ([`Trace`]: sizes and headers change from packet to packet) are copied into
//! packets of the engine, pass one kernel, and a sink reads their first bytes.
//!
//! | metric | is |
//! |---|---|
//! | `ns` | CPU time of the kernel: the difference to one that looks at no packet |
//! | `app_ns` | as an app of its own, with its link: the difference to no app at all |
//! | `whole_ns` | from the source to the sink |
//! | `instructions` | as `ns`, in instructions per packet: with `--instructions` only |
//! | `whole_instructions` | as `whole_ns` |
//!
//! | who | does the same |
//! |---|---|
//! | `tidemill` | `bench/flow/kernels.flow`, compiled |
//! | `component` | a component, `bench/cl/kernel-*.com`: all packets reach it one by one |
//! | `c` | `bench/peers/c/kernels.c`, by the system's compiler with `-O2`, in batches like ours |
//! | `xdp` | `bench/peers/c/xdp.c`, by `BPF_PROG_TEST_RUN`, as root: warm, and by the clock |
//!
//! A packet that is dropped has no way to the sink, and no cost there. So two kernels that look at
//! no packet are measured as well, one that passes all on and one that drops all, and of these the
//! share is subtracted that a kernel passes on and drops.
//!
//! All have to let the same packets pass, modified in the same way, which is checked by a digest.
//!
//! `cargo run --release -p tidemill-bench -- kernels --peers --instructions` counts instructions
//! instead of time, by callgrind (valgrind has to be installed); see [`instructions`]. A ratio
//! above 1 says that the peer executes more. Counts are the same in each run of one build.

mod apps;
mod graphs;
mod instructions;
mod peers;

use crate::extent::Extent;
use crate::filter::trace::Trace;
use crate::report::{Better, Metric, Report, Row as Figure};
use crate::tool::built;
use graphs::{Fed, Way, checked, timed};
use peers::{C, Came, Xdp};

pub use instructions::measure;

/// The kernels by their number in C, from 1 on, and equivalent components.
const CASES: [(&str, &str); 10] = [
    ("Count", "cl/kernel-count.com"),
    ("Mac", "cl/kernel-mac.com"),
    ("Ttl", "cl/kernel-ttl.com"),
    ("Class", "cl/kernel-class.com"),
    ("Rewrite", "cl/kernel-rewrite.com"),
    ("Port", "cl/kernel-port.com"),
    ("Firewall", "cl/kernel-firewall.com"),
    ("Sum", "cl/kernel-sum.com"),
    ("Flows", "cl/kernel-flows.com"),
    ("Routes", "cl/kernel-routes.com"),
];

/// The kernels that look at no packet, with their number in C.
const NOTHING: (Way<'static>, u32) = (Way::Kernel("Nothing"), 0);
const NOWHERE: (Way<'static>, u32) = (Way::Kernel("Nowhere"), 11);

/// The cost of packets that are passed on and of those that are dropped.
#[derive(Clone, Copy)]
struct Ends {
    passed: f64,
    dropped: f64,
}

impl Ends {
    /// The cost, where a share of the packets is passed on.
    fn mixed(self, share: f64) -> f64 {
        share * self.passed + (1.0 - share) * self.dropped
    }
}

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
    let packets = if extent.small { PACKETS_SMALL } else { PACKETS };
    let seed = extent.seed_or_time();
    report.note(&format!("packets are made with --seed {seed}"));
    let fed = Fed { packets, seed };
    let c = built(extent, report, "c", || C::new(&Trace::new(packets as usize, seed)));
    if extent.instructions {
        crate::instructions::available()?;
        return count(fed, c.as_ref(), report);
    }
    let short = if extent.small { PACKETS_XDP_SMALL } else { PACKETS_XDP };
    let xdp = built(extent, report, "xdp", || Xdp::new(&Trace::new(short as usize, seed)));
    let all = checked(NOTHING.0, fed)?;
    for (number, (kernel, component)) in (1..).zip(CASES) {
        let came = checked(Way::Kernel(kernel), fed)?;
        let mut rows = time(extent, fed, (number, kernel, component), c.as_ref(), [came, all])?;
        match xdp.as_ref().map(|xdp| xdp.run(number, extent)) {
            Some(Ok((ns, theirs))) => {
                expect(
                    "xdp",
                    kernel,
                    theirs,
                    checked(Way::Kernel(kernel), Fed { packets: short, seed })?,
                )?;
                rows.push(figure(kernel, "xdp", ("ns", "ns"), vec![ns]));
            }
            Some(Err(reason)) => report.note(&format!("xdp: {kernel}: {reason}")),
            None => {}
        }
        report.case(&rows, Better::Low);
    }
    Ok(())
}

/// A contender, and its figures in nanoseconds: see the metrics above.
struct Times {
    who: &'static str,
    ns: Vec<f64>,
    app_ns: Vec<f64>,
    whole_ns: Vec<f64>,
}

impl Times {
    fn new(who: &'static str) -> Times {
        Times { who, ns: Vec::new(), app_ns: Vec::new(), whole_ns: Vec::new() }
    }
}

/// The CPU time of a kernel; what it is measured against takes turns with it.
fn time(
    extent: Extent,
    fed: Fed,
    (number, kernel, component): (u32, &str, &str),
    c: Option<&C>,
    [came, all_packets]: [Came; 2],
) -> Result<Vec<Figure>, String> {
    let share = came.share_of(all_packets);
    let (passes, runs) = if extent.small { (2, 1) } else { (250, 9) };
    let component = Way::Component(component);
    expect("component", kernel, checked(component, fed)?, came)?;
    let mut all =
        [(Times::new("tidemill"), Way::Kernel(kernel)), (Times::new("component"), component)];
    let mut by_c = Times::new("c");
    for _ in 0..runs {
        let [link, passed, dropped] =
            [Way::Link, NOTHING.0, NOWHERE.0].map(|way| timed(way, fed, passes));
        let (link, ends) = (link?, Ends { passed: passed?, dropped: dropped? });
        for (times, way) in &mut all {
            let few = if matches!(way, Way::Component(_)) { 1 + passes / 25 } else { passes };
            let whole = timed(*way, fed, few)?;
            times.ns.push(whole - ends.mixed(share));
            times.app_ns.push(whole - link);
            times.whole_ns.push(whole);
        }
        let Some(c) = c else { continue };
        let ns = |seconds: f64| seconds * 1e9 / (f64::from(fed.packets) * passes as f64);
        let [passed, dropped] = [NOTHING.1, NOWHERE.1].map(|number| c.run(number, passes));
        let ends = Ends { passed: ns(passed?.0), dropped: ns(dropped?.0) };
        let (whole, theirs) = c.run(number, passes)?;
        expect("c", kernel, theirs, came)?;
        by_c.ns.push(ns(whole) - ends.mixed(share));
        by_c.whole_ns.push(ns(whole));
    }
    let contenders = all.into_iter().map(|(times, _)| times).chain(c.map(|_| by_c));
    let mut rows = Vec::new();
    for Times { who, ns, app_ns, whole_ns } in contenders {
        for (metric, figures) in [("ns", ns), ("app_ns", app_ns), ("whole_ns", whole_ns)] {
            if !figures.is_empty() {
                rows.push(figure(kernel, who, (metric, "ns"), figures));
            }
        }
    }
    Ok(rows)
}

/// Instructions per packet of each kernel.
fn count(fed: Fed, c: Option<&C>, report: &mut Report) -> Result<(), String> {
    let count = |way| instructions::of_graph(way, fed);
    let ends = Ends { passed: count(NOTHING.0)?, dropped: count(NOWHERE.0)? };
    let mut ends_c = None;
    if let Some(c) = c {
        let [passed, dropped] =
            [NOTHING.1, NOWHERE.1].map(|number| instructions::of_c(c, number, fed.packets));
        ends_c = Some((c, Ends { passed: passed?, dropped: dropped? }));
    }
    let all_packets = checked(NOTHING.0, fed)?;
    for (number, (kernel, component)) in (1..).zip(CASES) {
        let share = checked(Way::Kernel(kernel), fed)?.share_of(all_packets);
        let mut rows = Vec::new();
        let mut add = |who, whole, ends: Ends| {
            let one = |metric, value| figure(kernel, who, (metric, "per packet"), vec![value]);
            let own = one("instructions", whole - ends.mixed(share));
            rows.extend([own, one("whole_instructions", whole)]);
        };
        add("tidemill", count(Way::Kernel(kernel))?, ends);
        add("component", count(Way::Component(component))?, ends);
        if let Some((c, ends)) = ends_c {
            add("c", instructions::of_c(c, number, fed.packets)?, ends);
        }
        report.case(&rows, Better::Low);
    }
    Ok(())
}

fn figure(kernel: &str, who: &str, metric: Metric, figures: Vec<f64>) -> Figure {
    Figure::median("kernels", kernel, who, metric, figures)
}

fn expect(who: &str, kernel: &str, theirs: Came, ours: Came) -> Result<(), String> {
    if theirs == ours {
        return Ok(());
    }
    Err(format!("kernels {kernel}: {who} comes to {theirs:?}, and not to {ours:?}"))
}
