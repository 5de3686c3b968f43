//! A simulation of many nodes with all parts: packets of a graph become events of rules, these are
//! summed up by a component, and the sums go to the next node.
//!
//! ```text
//! node n:  Generator --packet--> rules --item--> component --sum--> rules --hello--> node n + 1
//! ```

use std::process::Command;

use tidemill::program::{LoadOptions, Program};
use tidemill::sim::SimOptions;
use tidemill::tape::taped;

use crate::extent::Extent;
use crate::measure::measured;
use crate::report::{Report, Row};
use crate::tool;

/// The word that measures it in a process of its own.
pub const MEASURE: &str = "simulated";

/// Nodes, seconds of virtual time, runs; with `--small`, fewer.
const FULL: (u32, u32, usize) = (1000, 60, 3);
const SMALL: (u32, u32, usize) = (20, 3, 1);

const RULES: &str = "
materialize(heard, infinity, infinity, keys(2, 3)).
stage(\"cl:Sum\", item, sum, keys(2)).
r1 item(@N, 1, Len) :- packet(@N, Port, Id, Len).
r2 hello(@M, N, S) :- sum(@N, K, S), I := (NODE_INDEX + 1) % NODE_COUNT,
    M := f_strcat(\"n\", f_strcat(I, \":1\")).
r3 heard(@N, From, S) :- hello(@N, From, S).
";

const COMPONENTS: &str = "
INTERFACE Adding;
  { IN Add(key, length: INTEGER) { OUT Sum(key, sum: INTEGER) } OUT Done }
END Adding;
COMPONENT Sum OFFERS Adding;
  VARIABLE total: INTEGER;
  IMPLEMENTATION Adding;
    VARIABLE k, n: INTEGER;
  BEGIN
    WHILE ?Add DO
      ?Add(k, n);
      BEGIN {EXCLUSIVE} INC(total, n); n := total END;
      !Sum(k, n); !Done
    END
  END Adding;
END Sum;
";

/// One packet of 60 bytes a second.
fn graph(packets: u32) -> String {
    let frame = "00".repeat(60);
    format!(
        "src :: Generator {{ frames: [\"hex {frame}\"], packets: {packets}, rate: 1 }}\n\
         rules :: Rules {{ fields: \"len\", event: \"packet\", verdict: \"\" }}\n\
         src -> rules\n"
    )
}

/// Reports CPU time and peak memory.
///
/// # Errors
/// It does not run, or its counts are wrong.
pub fn run(bench: &'static str, extent: Extent, report: &mut Report) -> Result<(), String> {
    let (nodes, seconds, runs) = if extent.small { SMALL } else { FULL };
    let (mut cpu, mut peak) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let printed = if extent.small {
            simulate(nodes, seconds)?
        } else {
            let own = std::env::current_exe().map_err(|error| error.to_string())?;
            let mut command = Command::new(own);
            command.args(["measure", MEASURE, &nodes.to_string(), &seconds.to_string()]);
            tool::stdout_of(&mut command, "the simulation")?
        };
        let figures: Vec<f64> =
            printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [cpu_s, peak_bytes] = figures[..] else { return Err(format!("it says `{printed}`")) };
        cpu.push(cpu_s);
        peak.push(peak_bytes);
    }
    let case = format!("sim {nodes} nodes {seconds} s");
    for (metric, values) in [(("cpu_s", "s"), cpu), (("peak_bytes", "bytes"), peak)] {
        report.row(&Row::median(bench, &case, "tidemill", metric, values));
    }
    Ok(())
}

/// Measures it in this process, by nodes and seconds; returns CPU seconds and bytes.
///
/// # Errors
/// It does not run, or its counts are wrong.
pub fn measure_in(nodes: &str, seconds: &str) -> Result<String, String> {
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
    simulate(number(nodes)?, number(seconds)?)
}

fn simulate(nodes: u32, seconds: u32) -> Result<String, String> {
    let graph = graph(seconds);
    let texts = [("sum.olg", RULES), ("sum.com", COMPONENTS), ("sum.flow", &*graph)];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    if let Some(first) = program.diagnostics.iter().find(|_| program.has_errors()) {
        return Err(program.sources.render(first));
    }
    let end_ns = Some(u64::from(seconds) * 1_000_000_000);
    let options = SimOptions { nodes, end_ns, ..SimOptions::default() };
    let (console, _, notes) = taped();
    let expected = u64::from(nodes) * u64::from(seconds);
    let measured = measured(|| {
        let report = program.sim(options, console).map_err(|error| error.to_string())?;
        if !report.is_well() {
            return Err(format!("it does not end well: {}", notes.text()));
        }
        let tables = report.nodes.map(|nodes| nodes.tables).unwrap_or_default();
        let heard = tables.iter().find(|(name, _)| name == "heard");
        Ok(heard.map_or(0, |(_, rows)| *rows))
    })?;
    if measured.result != expected {
        return Err(format!("nodes hear {} sums, sent were {expected}", measured.result));
    }
    Ok(format!("{} {}", measured.cpu_s, measured.peak_bytes))
}
