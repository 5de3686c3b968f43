//! Packets filtered per CPU second: native code, our interpreter, and libpcap's.
//!
//! The trace lies in memory and is gone through again and again; the three take turns. libpcap's
//! code went through its optimiser, and its program is built with the C compiler and the
//! development files of libpcap, where these are installed. All have to keep as many packets.

mod trace;

use std::path::PathBuf;
use std::process::Command;

use tidemill_filter::{Filter, Settings, interpret};
use tidemill_stdx::diag::Sources;

use crate::Extent;
use crate::clock::{cpu_seconds, median};
use crate::report::{Better, Report, Row};
use crate::tool;
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
/// An engine fails, or keeps other packets.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (packets, passes, runs) = if extent.small { (500, 2, 1) } else { (20_000, 100, 5) };
    let trace = Trace::new(packets);
    let peer = match extent.peers.then(|| Peer::new(&trace)) {
        Some(Ok(peer)) => Some(peer),
        Some(Err(reason)) => {
            report.note(&format!("libpcap: absent: {reason}"));
            None
        }
        None => None,
    };
    for (case, expression) in CASES {
        let filter = compiled(expression)?;
        let mut rates: [Vec<f64>; 3] = Default::default();
        for _ in 0..runs {
            let native = measured(&trace, passes, |packet| filter.matches(packet));
            let interpreted = measured(&trace, passes.div_ceil(4), |packet| {
                interpret(filter.graph(), packet, packet.len() as u32)
            });
            let theirs = peer.as_ref().map(|peer| peer.run(expression, passes, trace.len()));
            let others = [Some(interpreted), theirs.transpose()?];
            for (_, kept) in others.iter().flatten() {
                if *kept != native.1 {
                    return Err(format!("{case}: {} packets are kept, or {kept}", native.1));
                }
            }
            let rate = |one: Option<(f64, usize)>| one.map(|(rate, _)| rate);
            rates[0].push(native.0);
            rates[1].extend(rate(others[0]));
            rates[2].extend(rate(others[1]));
        }
        let rows: Vec<Row> = ["tidemill", "interpreter", "libpcap"]
            .into_iter()
            .zip(rates)
            .filter(|(_, rates)| !rates.is_empty())
            .map(|(who, rates)| Row {
                bench: "filter",
                case: case.to_owned(),
                who: who.to_owned(),
                metric: "per_cpu_s",
                runs: rates.len(),
                value: median(rates),
                unit: "1/s",
            })
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

/// Packets per CPU second, and how many were kept in one pass.
fn measured(trace: &Trace, passes: usize, matches: impl Fn(&[u8]) -> bool) -> (f64, usize) {
    let (seconds, kept) = cpu_seconds(|| {
        let pass = || trace.packets().filter(|packet| matches(packet)).count();
        (0..passes).map(|_| pass()).sum::<usize>()
    });
    ((passes * trace.len()) as f64 / seconds, kept / passes)
}

/// The program that is linked with libpcap, and the trace as it reads it.
struct Peer {
    program: PathBuf,
    capture: PathBuf,
}

impl Peer {
    fn new(trace: &Trace) -> Result<Peer, String> {
        let target = tool::target("libpcap")?;
        let program = target.join("filter");
        tool::cc(&program, "libpcap/filter.c", &["-lpcap"])?;
        let capture = target.join(format!("{}.pcap", std::process::id()));
        std::fs::write(&capture, trace.capture())
            .map_err(|error| format!("{}: {error}", capture.display()))?;
        Ok(Peer { program, capture })
    }

    fn run(&self, expression: &str, passes: usize, packets: usize) -> Result<(f64, usize), String> {
        let mut command = Command::new(&self.program);
        command.arg(&self.capture).arg(expression).arg(passes.to_string());
        let text = tool::said(&mut command, "libpcap")?;
        let mut words = text.split_whitespace();
        let mut word = || words.next().ok_or_else(|| format!("libpcap says `{text}`"));
        let seconds: f64 = word()?.parse().map_err(|_| format!("libpcap says `{text}`"))?;
        let kept: usize = word()?.parse().map_err(|_| format!("libpcap says `{text}`"))?;
        Ok(((passes * packets) as f64 / seconds, kept))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A file in the target folder, at worst.
        let _ = std::fs::remove_file(&self.capture);
    }
}
