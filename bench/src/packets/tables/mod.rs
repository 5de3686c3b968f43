//! Look-ups in tables of kernels defined in a `.flow` file: `tables`.
//!
//! Packets carry keys: a source copies them into packets of the engine, a kernel looks each up and
//! writes the value that it finds into the packet, and a sink reads it. Half of the look-ups find
//! nothing; one packet in a hundred inserts an entry or replaces one, except in the cases `read`.
//! Keys come from a seed that is printed and that `--seed` repeats.
//!
//! | metric | is |
//! |---|---|
//! | `ns` | CPU time of a look-up: the difference to a kernel that looks at no packet |
//! | `per_cpu_s` | such look-ups in a CPU second |
//! | `whole_ns` | CPU time of a packet from the source to the sink |
//!
//! | who | does the same |
//! |---|---|
//! | `tidemill` | `bench/flow/tables.flow`, compiled |
//! | `c` | `bench/peers/c/tables.c`: open addressing, DIR-24-8, with prefetching, in batches |
//! | `dpdk` | `bench/peers/c/tables_dpdk.c`: `rte_hash`, `rte_lpm`, up to 64 keys at once |
//! | `dpdk-single` | the same, key by key |
//! | `dpdk-fib` | `rte_fib` with DIR-24-8, up to 64 keys at once |
//! | `bpf` | `bench/peers/c/tables_bpf.c`: maps of the system, by `BPF_PROG_TEST_RUN`, as root |
//!
//! A pass is measured after one that is not. All have to find the same: the number of hits and the
//! sum of the values are compared. The programs in C copy and read packets as ours do; those of
//! `bpf` are taken in groups and measured by the clock. Inserts count as look-ups: what a table
//! takes for one is part of the figure.

mod apps;
mod graphs;
mod peers;
mod plan;
mod requests;

use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::tool::Temporary;
use crate::tool::built;
use graphs::{Between, timed};
use peers::{LPM_REASON, Peer, Peers, Program, Timed};
use plan::{Choice, KeyKind, Plan, Writes};
use requests::{Found, made};

/// Entries of tables.
const ENTRIES: [u64; 3] = [1000, 100_000, 1_000_000];
const ENTRIES_SMALL: [u64; 2] = [100, 2000];

/// What packets ask for.
const WAYS: [(Choice, Writes); 3] = [
    (Choice::Uniform, Writes::Some),
    (Choice::Zipf, Writes::Some),
    (Choice::Uniform, Writes::None),
];

/// Packets of a pass: a multiple of what is one packet to BPF.
const PACKETS: u64 = 1 << 20;
const PACKETS_SMALL: u64 = 1 << 12;

/// Measures all cases.
///
/// # Errors
/// A contender fails, or finds something else.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let seed = extent.seed_or_time();
    report.note(&format!("requests are made with --seed {seed}"));
    let (sizes, packets): (&[u64], u64) =
        if extent.small { (&ENTRIES_SMALL, PACKETS_SMALL) } else { (&ENTRIES, PACKETS) };
    let peers = Peers {
        c: built(extent, report, "c", Program::by_hand),
        dpdk: built(extent, report, "dpdk", Program::dpdk),
        bpf: built(extent, report, "bpf", Program::bpf),
    };
    for kind in [KeyKind::Exact, KeyKind::Prefix] {
        for &entries in sizes {
            for (choice, writes) in WAYS {
                let plan = Plan { kind, entries, choice, writes, packets, seed };
                case(&plan, extent, &peers, report)?;
            }
        }
    }
    Ok(())
}

/// A contender, and its figures in nanoseconds.
struct Times {
    who: &'static str,
    ns: Vec<f64>,
    whole_ns: Vec<f64>,
}

impl Times {
    fn new(who: &'static str) -> Times {
        Times { who, ns: Vec::new(), whole_ns: Vec::new() }
    }

    fn add(&mut self, timed: Timed, look_ups: u64) {
        let ns = |seconds: f64| seconds * 1e9 / look_ups as f64;
        self.ns.push(ns(timed.whole - timed.idle));
        self.whole_ns.push(ns(timed.whole));
    }

    fn rows(self, case: &str) -> Option<[Row; 3]> {
        if self.ns.is_empty() {
            return None;
        }
        let ns = Row::median("tables", case, self.who, ("ns", "ns"), self.ns);
        let rate = ns.with(("per_cpu_s", "1/s"), 1e9 / ns.value);
        let whole = Row::median("tables", case, self.who, ("whole_ns", "ns"), self.whole_ns);
        Some([ns, rate, whole])
    }
}

/// Measures one case; all contenders take turns.
fn case(plan: &Plan, extent: Extent, peers: &Peers, report: &mut Report) -> Result<(), String> {
    let name = plan.name();
    let (passes, runs) = if extent.small { (1, 1) } else { (2, 3) };
    let look_ups = passes * plan.packets;
    let file = Temporary::file("c", "requests", &made(plan))?;
    if peers.lpm_is_left_out(plan) {
        report.note(LPM_REASON);
    }
    let mut ours = Times::new("tidemill");
    let mut theirs: Vec<(Peer<'_>, Times)> =
        peers.of(plan).into_iter().map(|peer| (peer, Times::new(peer.who))).collect();
    for _ in 0..runs {
        let (idle, _) = timed(Between::Nothing, (plan, file.path()), passes)?;
        let (whole, found) = timed(Between::Table, (plan, file.path()), passes)?;
        plausible(&name, found, look_ups + plan.packets)?;
        ours.add(Timed { whole, idle, found }, look_ups);
        let mut refused = Vec::new();
        for (peer, times) in &mut theirs {
            match peer.program.run(file.path(), passes, peer.how) {
                Ok(timed) => {
                    expect(peer.who, &name, timed.found, found)?;
                    times.add(timed, look_ups);
                }
                // The system may not permit it, or have too little memory.
                Err(reason) if peer.who != "c" => {
                    report.note(&format!("{}: {name}: {reason}", peer.who));
                    refused.push(peer.who);
                }
                Err(reason) => return Err(format!("tables {name}: c: {reason}")),
            }
        }
        theirs.retain(|(peer, _)| !refused.contains(&peer.who));
    }
    let all = std::iter::once(ours).chain(theirs.into_iter().map(|(_, times)| times));
    let rows: Vec<Row> = all.filter_map(|times| times.rows(&name)).flatten().collect();
    report.case(&rows, Better::Low);
    Ok(())
}

/// Half of the look-ups hit, and all values have 24 bits.
fn plausible(case: &str, found: Found, look_ups: u64) -> Result<(), String> {
    let share = found.hits as f64 / look_ups as f64;
    if (0.4..0.6).contains(&share) && found.sum >> 24 < found.hits {
        return Ok(());
    }
    Err(format!("tables {case}: {look_ups} look-ups come to {found:?}"))
}

fn expect(who: &str, case: &str, theirs: Found, ours: Found) -> Result<(), String> {
    if theirs == ours {
        return Ok(());
    }
    Err(format!("tables {case}: {who} finds {theirs:?}, and we {ours:?}"))
}
