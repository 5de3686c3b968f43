//! The cost of a crossing from one engine to another: programs of several kinds, run as users run
//! them, one for each border.
//!
//! A crossing is measured from the hand-over by its sender to the receiver's first instruction, by
//! [`marks`] at both ends: between them are queues, conversions and the scheduling of the loop, but
//! not the work of either side. Marks count cycles, as reading a CPU clock is a system call that
//! costs more than most crossings. All runs in one thread, so cycles between two marks are CPU time
//! unless the thread is interrupted; therefore the slowest hundredth of the stretches up to a mark
//! is left out. Two programs, with and without a border, would need no marks, but differ by less
//! than the variation between runs. The cost of the marks themselves is subtracted.
//!
//! A batch of 1 is sent when the result of the previous one has been received; a batch of 64 is
//! handed over before the receiver runs, or, where the receiver is called at once, one after the
//! other. Payloads follow from a seed and differ from crossing to crossing. The round trip is the
//! CPU time of a whole run without marks, both sides included, per crossing; with
//! `--instructions`, its instructions are counted instead, and nothing else is measured.

mod cases;
mod components;
mod load;
mod packets;
mod rules;
mod stretches;

use tidemill::program::{LoadOptions, Program};
use tidemill::run::{EngineKind, Listen, Prepared, RunOptions};
use tidemill::tape::taped;
use tidemill_stdx::marks;

use crate::clock::{cpu_seconds, median};
use crate::extent::Extent;
use crate::instructions;
use crate::report::{Better, Report, Row};
use cases::{CASES, Case};
use load::{SEED, Size};
use stretches::Scale;

/// The sizes of batches.
const BATCHES: [u64; 2] = [1, 64];

/// The crossings of the two runs whose instructions are counted: those of a border that has fewer
/// than the others are fewer.
const COUNTED: (u64, u64) = (6_400, 19_200);
const COUNTED_FEW: (u64, u64) = (640, 1_280);

/// Measures all borders.
///
/// # Errors
/// A program does not run, or gives a wrong result.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    if extent.instructions {
        return count(report);
    }
    if !marks::ARE_THERE {
        return Err("the engines have no marks: build with --features marks".to_owned());
    }
    let seed = extent.seed.unwrap_or(SEED);
    let scale = Scale::measure();
    for case in CASES {
        for batch in BATCHES {
            let crossings = if extent.small { 128 } else { case.crossings };
            let size = Size { batch, rounds: crossings / batch, seed };
            let runs = if extent.small { 1 } else { 5 };
            measure(case, size, runs, &scale, report)
                .map_err(|what| format!("{} by {batch}: {what}", case.name))?;
        }
    }
    Ok(())
}

/// Instructions of a round trip of each border.
fn count(report: &mut Report) -> Result<(), String> {
    instructions::available()?;
    for case in CASES {
        let times = if case.crossings < COUNTED.1 { COUNTED_FEW } else { COUNTED };
        for batch in BATCHES {
            let each = instructions::each(times, |crossings| {
                let (batch, crossings) = (batch.to_string(), crossings.to_string());
                instructions::own(&["borders", case.name, &batch, &crossings])
            });
            let name = format!("{} {batch}", case.name);
            let metric = ("instructions", "per round trip");
            let row = Row::median("borders", &name, "tidemill", metric, vec![each?]);
            report.case(&[row], Better::Low);
        }
    }
    Ok(())
}

/// The process that is counted: `CASE BATCH CROSSINGS`.
///
/// # Errors
/// Other arguments, or the program gives a wrong result.
pub fn measure_in(arguments: &[String]) -> Result<(), String> {
    let wrong = || format!("borders are not measured with {arguments:?}");
    let [name, batch, crossings] = arguments else { return Err(wrong()) };
    let case = CASES.iter().find(|case| case.name == name).ok_or_else(wrong)?;
    let [batch, crossings]: [Option<u64>; 2] = [batch, crossings].map(|word| word.parse().ok());
    let batch = batch.filter(|&batch| batch > 0).ok_or_else(wrong)?;
    let rounds = crossings.ok_or_else(wrong)? / batch;
    let size = Size { batch, rounds, seed: SEED };
    case.prepare(size)?.run()?()
}

fn measure(
    case: &Case,
    size: Size,
    runs: usize,
    scale: &Scale,
    report: &mut Report,
) -> Result<(), String> {
    let count = case.count(size) as f64;
    let (mut crossings, mut trips) = (Vec::new(), Vec::new());
    let mut parts = Vec::new();
    for _ in 0..runs {
        let (seconds, result) = cpu_seconds_of(case, size)?;
        result?()?;
        trips.push(seconds * 1e9 / count);
        let prepared = case.prepare(size)?;
        let (result, all) = marks::record(|| prepared.run());
        result?()?;
        let found = scale.parts(&all, case.marks, count as usize);
        if found.is_empty() {
            return Err("nothing has crossed".to_owned());
        }
        crossings.push(found.iter().map(|(_, ns)| ns).sum());
        parts.push(found);
    }
    let name = format!("{} {}", case.name, size.batch);
    let median_of = |metric, figures| Row::median("borders", &name, "tidemill", metric, figures);
    report.case(&[median_of(("ns", "ns"), crossings)], Better::Low);
    report.row(&median_of(("round_trip_ns", "ns"), trips));
    let part = |name: &'static str| {
        let of = |found: &Vec<(&str, f64)>| found.iter().find(|(it, _)| *it == name).map(|it| it.1);
        let ns = median(parts.iter().filter_map(of).collect());
        format!("{name} {ns:.1} ns")
    };
    let parts: Vec<String> = parts[0].iter().map(|(name, _)| part(name)).collect();
    report.note(&format!("  to {}", parts.join(", to ")));
    Ok(())
}

/// The CPU time of a run without marks, excluding compilation.
fn cpu_seconds_of(case: &Case, size: Size) -> Result<(f64, Result<Check, String>), String> {
    let prepared = case.prepare(size)?;
    Ok(cpu_seconds(|| prepared.run()))
}

/// A compiled program, and the check of its result.
struct Ready {
    prepared: Prepared,
    expected: String,
    check: Check,
}

/// Checks the output of a run.
type Check = Box<dyn FnOnce() -> Result<(), String>>;

impl Case {
    fn prepare(&self, size: Size) -> Result<Ready, String> {
        let texts = (self.texts)(size);
        let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
        let loading = LoadOptions { injected: Some(Default::default()), ..LoadOptions::default() };
        let program = Program::of_texts(&texts, &loading);
        if program.has_errors() {
            let found = program.diagnostics.iter().filter(|one| one.is_error());
            return Err(found.map(|one| program.sources.render(one)).collect());
        }
        let mut options = RunOptions::default();
        options.nodes.listen = Listen::Address("localhost:0".to_owned());
        options.components.root = Some(std::env::temp_dir());
        options.packets.engine = EngineKind::Dispatch;
        let prepared = Prepared::new(program, options).map_err(|error| error.to_string())?;
        let ending = self.name.strip_prefix("rules->files ");
        let check = move || ending.map_or(Ok(()), |ending| rules::check_file(ending, size));
        Ok(Ready { prepared, expected: (self.expected)(size), check: Box::new(check) })
    }
}

impl Ready {
    fn run(self) -> Result<Check, String> {
        let (console, data, notes) = taped();
        let report = self.prepared.run(console).map_err(|error| error.to_string())?;
        let (data, notes) = (data.text(), notes.text());
        if data.trim() == self.expected && report.is_well() {
            Ok(self.check)
        } else {
            Err(format!("prints {:?}, not {:?}; {notes}", data.trim(), self.expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_processes_do_their_work_and_others_are_refused() {
        let run = |words: [&str; 3]| measure_in(&words.map(str::to_owned));
        assert_eq!(run(["components->rules", "4", "128"]), Ok(()));
        for refused in [["rules->", "1", "1"], ["components->rules", "0", "1"]] {
            assert!(run(refused).is_err_and(|text| text.contains(refused[0])));
        }
    }
}
