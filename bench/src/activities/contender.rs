//! A contender, and its run in a fresh process.

use serde_json::Value;

use super::case::{Bench, Case};
use super::peers::Start;
use crate::measure::{Measured, measured};
use crate::{cl, floor};

/// A contender in a program of this crate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    Tidemill,
    NoCheckpoints,
    /// On two loops.
    Two,
    Floor,
}

/// A contender.
#[derive(Clone, Debug)]
pub enum Contender {
    /// Ours or the floor, in a process of its own.
    Own(Own),
    /// The same in this process, for tests, which have no program to start.
    Inside(Own),
    /// A program of another language.
    Peer(Start),
}

/// The figures that one run printed; those that do not apply to its case are absent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures {
    pub cpu_s: Option<f64>,
    pub wall_s: Option<f64>,
    /// Per activity.
    pub bytes: Option<f64>,
    pub result: u64,
}

impl Own {
    const ALL: [Own; 4] = [Own::Tidemill, Own::NoCheckpoints, Own::Two, Own::Floor];

    pub fn name(self) -> &'static str {
        match self {
            Own::Tidemill => "tidemill",
            Own::NoCheckpoints => "tidemill without checkpoints",
            Own::Two => "tidemill-2",
            Own::Floor => "floor",
        }
    }

    fn measure(self, bench: Bench, parameters: &[u64]) -> Result<Measured, String> {
        let cl = |checkpoints, workers| {
            cl::run(bench.source(), parameters, cl::Options { checkpoints, workers })
        };
        match self {
            Own::Tidemill => cl(true, 1),
            Own::NoCheckpoints => cl(false, 1),
            Own::Two => cl(true, 2),
            Own::Floor => measured(|| floor::run(bench.name(), parameters)),
        }
    }

    /// One JSON object, as peers print.
    fn line(self, bench: Bench, parameters: &[u64]) -> Result<String, String> {
        let Measured { cpu_s, wall_s, peak_bytes, result } = self.measure(bench, parameters)?;
        if bench == Bench::Spawn {
            let bytes = peak_bytes / parameters.first().map_or(1.0, |&count| count as f64);
            return Ok(format!("{{\"result\":{result},\"bytes\":{bytes}}}"));
        }
        Ok(format!("{{\"cpu_s\":{cpu_s:.9},\"wall_s\":{wall_s:.9},\"result\":{result}}}"))
    }
}

/// The process started for `Contender::Own`: `measure WHO BENCH PARAMETERS`.
///
/// # Errors
/// Invalid arguments, or a run that fails.
pub fn measure(arguments: &[String]) -> Result<String, String> {
    let usage = || format!("usage: measure WHO BENCH PARAMETERS, not {arguments:?}");
    let [who, bench, parameters @ ..] = arguments else { return Err(usage()) };
    let own = Own::ALL.into_iter().find(|own| own.name() == who).ok_or_else(usage)?;
    let bench = Bench::ALL.into_iter().find(|one| one.name() == bench).ok_or_else(usage)?;
    let parameters: Result<Vec<u64>, _> = parameters.iter().map(|text| text.parse()).collect();
    own.line(bench, &parameters.map_err(|_| usage())?)
}

impl Contender {
    /// Whether it is ours on one loop, with or without checkpoints.
    pub fn is_priced(&self) -> bool {
        [Own::Tidemill, Own::NoCheckpoints].iter().any(|own| own.name() == self.who())
    }

    /// The name in rows.
    pub fn who(&self) -> &'static str {
        match self {
            Contender::Own(own) | Contender::Inside(own) => own.name(),
            Contender::Peer(start) => start.who,
        }
    }

    /// Runs a case once and checks its result.
    ///
    /// # Errors
    /// It fails, or has another result.
    pub fn run(&self, case: &Case, expected: u64) -> Result<Figures, String> {
        let parameters = &case.parameters;
        let line = match self {
            Contender::Own(own) => Start::this(own.name())?.run(case.bench.name(), parameters),
            Contender::Inside(own) => own.line(case.bench, parameters),
            Contender::Peer(start) => start.run(case.bench.name(), parameters),
        };
        let figures = line.and_then(|line| figures(&line));
        let failed =
            |what: String| format!("{} {}: {}: {what}", case.bench.name(), case.name, self.who());
        let figures = figures.map_err(failed)?;
        if figures.result != expected {
            return Err(failed(format!("comes to {}, not {expected}", figures.result)));
        }
        Ok(figures)
    }
}

fn figures(line: &str) -> Result<Figures, String> {
    let object: Value = serde_json::from_str(line)
        .map_err(|error| format!("printed {:?}: {error}", line.trim_end()))?;
    let number = |name: &str| object.get(name).and_then(Value::as_f64);
    let result = object.get("result").and_then(Value::as_u64);
    let result = result.ok_or_else(|| format!("no result in {:?}", line.trim_end()))?;
    Ok(Figures { cpu_s: number("cpu_s"), wall_s: number("wall_s"), bytes: number("bytes"), result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_result_is_no_figure() {
        let case = &Bench::Sieve.small_cases()[0];
        let floor = Contender::Inside(Own::Floor);
        assert!(floor.run(case, case.expected()).is_ok());
        let error = floor.run(case, 1).expect_err("another result");
        assert_eq!(error, "sieve 1000: floor: comes to 168, not 1");
    }

    #[test]
    fn figures_are_read_as_printed() {
        let spawn = figures("{\"result\":7,\"bytes\":12.5}\n");
        let expected = Figures { cpu_s: None, wall_s: None, bytes: Some(12.5), result: 7 };
        assert_eq!(spawn, Ok(expected));
        assert!(figures("{\"cpu_s\":1.0}").is_err());
        assert!(figures("").is_err());
    }

    #[test]
    fn arguments_of_the_other_side_are_checked() {
        let of = |text: &str| measure(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(of("floor ring 10 3").is_ok_and(|line| line.ends_with("\"result\":30}")));
        for wrong in ["floor", "nobody ring 1 1", "floor nothing 1", "floor ring 1", "floor ring x"]
        {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
