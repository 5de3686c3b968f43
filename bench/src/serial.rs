//! Cases of one process each, for `maps` and `loops`: each contender runs a case in a fresh
//! process, in turns, several times; figures are medians, and results are checked.

use serde_json::Value;

use crate::activities::{Start, go};
use crate::extent::Extent;
use crate::measure::Measured;
use crate::report::{Better, Report, Row};

/// Runs of each contender.
const RUNS: usize = 5;

/// One case: its name, the parameters of all programs, and the expected result.
pub struct Case {
    pub name: &'static str,
    pub parameters: Vec<u64>,
    pub expected: u64,
}

/// Runs a contender of this crate, given its name and parameters.
pub type Own = fn(&str, &[u64]) -> Result<Measured, String>;

/// A benchmark.
pub struct Bench {
    pub name: &'static str,
    /// The contenders in this crate, ours first.
    pub own: &'static [&'static str],
    pub measure: Own,
    /// Whether memory is a figure.
    pub memory: bool,
}

enum Contender {
    Own(&'static str),
    /// In this process, for tests, which have no program to start.
    Inside(&'static str),
    Peer(Start),
}

impl Contender {
    fn who(&self) -> &'static str {
        match self {
            Contender::Own(who) | Contender::Inside(who) => who,
            Contender::Peer(start) => start.who,
        }
    }

    fn run(&self, bench: &Bench, parameters: &[u64]) -> Result<Measured, String> {
        match self {
            Contender::Inside(who) => (bench.measure)(who, parameters),
            Contender::Own(who) => read(&Start::this(who)?.run(bench.name, parameters)?),
            Contender::Peer(start) => read(&start.run(bench.name, parameters)?),
        }
    }
}

/// Measures all cases, beside these peers and Go.
///
/// # Errors
/// A contender fails, or has another result.
pub fn run(
    bench: &Bench,
    cases: &[Case],
    peers: impl Fn() -> Vec<Result<Start, String>>,
    extent: Extent,
    report: &mut Report,
) -> Result<(), String> {
    let mut contenders = contenders(bench, extent);
    if extent.peers && !extent.small {
        let go = match go() {
            Ok(starts) => starts.into_iter().map(Ok).collect(),
            Err(reason) => vec![Err(format!("go: {reason}"))],
        };
        for peer in go.into_iter().chain(peers()) {
            match peer {
                Ok(start) => contenders.push(Contender::Peer(start)),
                Err(reason) => report.note(&format!("absent: {reason}")),
            }
        }
    }
    let runs = if extent.small { 1 } else { RUNS };
    for case in cases {
        let mut all: Vec<Vec<Measured>> = contenders.iter().map(|_| Vec::new()).collect();
        for _ in 0..runs {
            for (who, figures) in contenders.iter().zip(&mut all) {
                let failed = |what: String| {
                    let parameters = &case.parameters;
                    format!("{} {} {parameters:?}: {}: {what}", bench.name, case.name, who.who())
                };
                let one = who.run(bench, &case.parameters).map_err(failed)?;
                if one.result != case.expected {
                    return Err(failed(format!("comes to {}, not {}", one.result, case.expected)));
                }
                figures.push(one);
            }
        }
        report.case(&rows(bench, case.name, &contenders, &all), Better::Low);
    }
    Ok(())
}

fn contenders(bench: &Bench, extent: Extent) -> Vec<Contender> {
    let own = |&who| if extent.small { Contender::Inside(who) } else { Contender::Own(who) };
    // The others need no installation: in tests they check the results.
    let count = if extent.peers || extent.small { bench.own.len() } else { 1 };
    bench.own.iter().take(count).map(own).collect()
}

fn rows(bench: &Bench, case: &str, who: &[Contender], all: &[Vec<Measured>]) -> Vec<Row> {
    type Figure = fn(&Measured) -> f64;
    let metrics: [(&str, &str, Figure); 3] = [
        ("cpu_s", "s", |one| one.cpu_s),
        ("wall_s", "s", |one| one.wall_s),
        ("peak_bytes", "bytes", |one| one.peak_bytes),
    ];
    let mut rows = Vec::new();
    for (metric, unit, figure) in metrics.into_iter().take(if bench.memory { 3 } else { 2 }) {
        for (who, figures) in who.iter().zip(all) {
            let figures = figures.iter().map(figure).collect();
            rows.push(Row::median(bench.name, case, who.who(), (metric, unit), figures));
        }
    }
    rows
}

/// The process started for `Contender::Own`: `measure WHO BENCH PARAMETERS`, for one of these
/// benchmarks.
///
/// # Errors
/// Invalid arguments, or a run that fails.
pub fn measure(bench: &Bench, who: &str, parameters: &[String]) -> Result<String, String> {
    let parameters: Result<Vec<u64>, _> = parameters.iter().map(|text| text.parse()).collect();
    let parameters = parameters.map_err(|_| "numbers are expected".to_owned())?;
    let Measured { cpu_s, wall_s, peak_bytes, result } = (bench.measure)(who, &parameters)?;
    Ok(format!(
        "{{\"cpu_s\":{cpu_s:.9},\"wall_s\":{wall_s:.9},\"peak_bytes\":{peak_bytes},\
         \"result\":{result}}}"
    ))
}

fn read(line: &str) -> Result<Measured, String> {
    let object: Value = serde_json::from_str(line)
        .map_err(|error| format!("printed {:?}: {error}", line.trim_end()))?;
    let missing = |name: &str| format!("no {name} in {:?}", line.trim_end());
    let number = |name: &str| object.get(name).and_then(Value::as_f64).ok_or_else(|| missing(name));
    let result = object.get("result").and_then(Value::as_u64).ok_or_else(|| missing("result"))?;
    Ok(Measured {
        cpu_s: number("cpu_s")?,
        wall_s: number("wall_s")?,
        peak_bytes: number("peak_bytes")?,
        result,
    })
}
