//! Packets filtered per CPU second: native code, our interpreter, and libpcap's.
//!
//! The trace is in memory and is processed repeatedly; all contenders take turns. `tidemill` gets
//! packets as an app does, up to 256 at once; `tidemill-single` and libpcap get one packet per
//! call, as libpcap's interface (`pcap_offline_filter`) has no other form. libpcap's code is
//! optimised by its optimiser, and its program is built with the C compiler and the development
//! files of libpcap, where these are installed. `kernel` is the same code of libpcap, compiled by
//! the kernel of the system (`BPF_PROG_TEST_RUN`, as root), warm, without what the call costs. All
//! have to keep the same number of packets.

pub mod trace;

use std::path::PathBuf;
use std::process::Command;

use tidemill_diag::Sources;
use tidemill_filter::{Filter, Frame, Settings, interpret};

use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::packets::BURST;
use crate::report::{Better, Report, Row};
use crate::tool::{self, Temporary};
use trace::Trace;

const CASES: [(&str, &str); 9] = [
    ("tcp", "tcp"),
    ("port-80", "tcp port 80"),
    ("net", "net 10.1.0.0/16"),
    ("acl", "tcp port 80 and not net 10.1.0.0/16"),
    ("syn", "tcp[13] & 2 != 0"),
    ("payload", "tcp port 80 and (((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0)"),
    ("portrange", "tcp dst portrange 1024-40000 or udp port 53"),
    ("vlan", "vlan 5 and ip6 and tcp port 443"),
    (
        "hosts",
        "host 10.0.0.1 or 10.0.0.2 or 10.0.0.3 or 10.0.0.4 or 10.0.0.5 or 10.0.0.6 or 10.0.0.7 \
         or 10.0.0.8 or 10.0.0.9 or 10.0.0.10 or 10.0.0.11 or 10.0.0.12",
    ),
];

/// Measures all cases.
///
/// # Errors
/// An engine fails, or keeps another number of packets.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (packets, passes, runs) = if extent.small { (500, 2, 1) } else { (20_000, 100, 5) };
    let seed = extent.seed_or_time();
    report.note(&format!("packets are made with --seed {seed}"));
    let trace = Trace::new(packets, seed);
    let mut found = |who: &'static str, source| {
        let peer = extent.peers.then(|| Peer::new(who, source, &trace))?;
        peer.inspect_err(|reason| report.note(&format!("{who}: absent: {reason}"))).ok()
    };
    let libpcap = found("libpcap", "libpcap/filter.c");
    let kernel = found("kernel", "libpcap/kernel.c");
    for (case, expression) in CASES {
        let filter = compiled(expression)?;
        let mut rates: [Vec<f64>; 5] = Default::default();
        for _ in 0..runs {
            let figures = [
                Some(at_once(&filter, &trace, passes)),
                Some(measured(&trace, passes, |packet| filter.matches(packet))),
                Some(measured(&trace, passes.div_ceil(4), |packet| {
                    interpret(filter.graph(), packet, packet.len() as u32)
                })),
                of_libpcap(libpcap.as_ref(), expression, passes, trace.len())?,
                of_kernel(kernel.as_ref(), expression, passes)?,
            ];
            let all: Vec<usize> = figures.iter().flatten().map(|&(_, kept)| kept).collect();
            if all.iter().any(|kept| *kept != all[0]) {
                return Err(format!("{case}: not all keep as many packets: {all:?}"));
            }
            for (rates, figure) in rates.iter_mut().zip(figures) {
                rates.extend(figure.map(|(rate, _)| rate));
            }
        }
        let rows: Vec<Row> = ["tidemill", "tidemill-single", "interpreter", "libpcap", "kernel"]
            .into_iter()
            .zip(rates)
            .filter(|(_, rates)| !rates.is_empty())
            .map(|(who, rates)| Row::median("filter", case, who, ("per_cpu_s", "1/s"), rates))
            .collect();
        report.case(&rows, Better::High);
    }
    Ok(())
}

fn compiled(expression: &str) -> Result<Filter, String> {
    let mut sources = Sources::new();
    let file = sources.add("filter", expression);
    let (filter, diagnostics) = Filter::compile(file, &sources, &Settings::default());
    filter.ok_or_else(|| diagnostics.iter().map(|one| sources.render(one)).collect())
}

/// As [`measured`], with many packets in each call.
fn at_once(filter: &Filter, trace: &Trace, passes: usize) -> (f64, usize) {
    let frames: Vec<Frame<'_>> = trace.packets().map(Frame::new).collect();
    let mut kept = Vec::new();
    let (seconds, sum) = cpu_seconds(|| {
        let mut pass = || {
            let burst = |burst| {
                filter.keep(burst, &mut kept);
                kept.len()
            };
            frames.chunks(BURST).map(burst).sum::<usize>()
        };
        (0..passes).map(|_| pass()).sum::<usize>()
    });
    ((passes * trace.len()) as f64 / seconds, sum / passes)
}

/// Packets per CPU second, and the number kept in one pass.
fn measured(trace: &Trace, passes: usize, matches: impl Fn(&[u8]) -> bool) -> (f64, usize) {
    let (seconds, kept) = cpu_seconds(|| {
        let pass = || trace.packets().filter(|packet| matches(packet)).count();
        (0..passes).map(|_| pass()).sum::<usize>()
    });
    ((passes * trace.len()) as f64 / seconds, kept / passes)
}

/// The rate of libpcap's interpreter, where it is installed, and the number that it keeps.
fn of_libpcap(
    peer: Option<&Peer>,
    expression: &str,
    passes: usize,
    packets: usize,
) -> Result<Option<(f64, usize)>, String> {
    let Some(peer) = peer else { return Ok(None) };
    let (seconds, kept) = peer.run(expression, passes)?;
    Ok(Some(((passes * packets) as f64 / seconds, kept)))
}

/// The rate of code that the kernel compiles, and the number that it keeps.
fn of_kernel(
    peer: Option<&Peer>,
    expression: &str,
    passes: usize,
) -> Result<Option<(f64, usize)>, String> {
    let Some(peer) = peer else { return Ok(None) };
    let (ns, kept) = peer.run(expression, 20 * passes)?;
    Ok(Some((1e9 / ns, kept)))
}

/// A program linked with libpcap, and the trace as a capture file.
struct Peer {
    who: &'static str,
    program: PathBuf,
    capture: Temporary,
}

impl Peer {
    fn new(who: &'static str, source: &str, trace: &Trace) -> Result<Peer, String> {
        let program = tool::target("libpcap")?.join(who);
        tool::cc(&program, source, &["-lpcap"])?;
        let capture = Temporary::file(who, "trace.pcap", &trace.capture())?;
        let peer = Peer { who, program, capture };
        peer.run("ip", 1)?;
        Ok(peer)
    }

    /// Filters the trace that often; returns the time and the number of packets kept.
    fn run(&self, expression: &str, times: usize) -> Result<(f64, usize), String> {
        let mut command = Command::new(&self.program);
        command.arg(self.capture.path()).arg(expression).arg(times.to_string());
        let text = tool::stdout_of(&mut command, self.who)?;
        let wrong = || format!("{} says `{text}`", self.who);
        let [time, kept] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(wrong());
        };
        Ok((time.parse().map_err(|_| wrong())?, kept.parse().map_err(|_| wrong())?))
    }
}
