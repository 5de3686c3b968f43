//! Programs of many activities: `ring`, `prodcons`, `sieve`, `spin`, `spawn`.
//!
//! Ours are `bench/cl/*.com`; peers are our own programs in the style of their language
//! (`bench/peers`), the floor is hand-written state machines (`floor`). All have channels of the
//! same capacity as ours, where the language has channels. Each contender runs a case in a fresh
//! process, in turns, several times; a figure is the median. The measurement begins when the first
//! activity is made and ends with the last result: without start and compilation.

mod case;
mod contender;
mod peers;

use std::collections::BTreeMap;

pub use case::Bench;
use case::Case;
pub use contender::measure;
use contender::{Contender, Figures, Own};
pub use peers::{Start, go};

use crate::cl;
use crate::clock::median;
use crate::extent::Extent;
use crate::measure::available;
use crate::report::{Better, Report, Row};

/// The initial estimate of the size of an activity: more than any here takes.
const BYTES_MAX: f64 = 5000.0;

/// Measures all cases of one program.
///
/// # Errors
/// A contender fails, or has another result.
pub fn run(bench: Bench, extent: Extent, report: &mut Report) -> Result<(), String> {
    let contenders = contenders(extent, report);
    let cases = if extent.small { bench.small_cases() } else { bench.cases() };
    let mut bytes = BTreeMap::new();
    for case in &cases {
        let contenders: Vec<&Contender> =
            contenders.iter().filter(|who| fits(who, case, &bytes, report)).collect();
        let measured = interleaved(case, &contenders)?;
        for (who, figures) in &measured {
            if let Some(value) = middle(figures, |one| one.bytes) {
                bytes.insert(who.who(), value);
            }
        }
        report.case(&rows(case, &measured), Better::Low);
    }
    Ok(())
}

/// All contenders that are available; for the others the reason is reported.
fn contenders(extent: Extent, report: &mut Report) -> Vec<Contender> {
    let own = |own| if extent.small { Contender::Inside(own) } else { Contender::Own(own) };
    let mut all = Vec::new();
    match cl::ABSENT {
        None => all.extend([Own::Tidemill, Own::NoCheckpoints, Own::Two].map(own)),
        Some(reason) => report.note(&format!("{}: absent: {reason}", Own::Tidemill.name())),
    }
    // It needs no installation, so tests always have a contender to check.
    if extent.peers || extent.small {
        all.push(own(Own::Floor));
    }
    if extent.peers {
        for peer in peers::all() {
            match peer {
                Ok(starts) => all.extend(starts.into_iter().map(Contender::Peer)),
                Err(absent) => report.note(&format!("{}: absent: {}", absent.who, absent.reason)),
            }
        }
    }
    all
}

/// Whether there is memory for a contender's activities, judged by smaller cases.
fn fits(who: &Contender, case: &Case, bytes: &BTreeMap<&str, f64>, report: &mut Report) -> bool {
    if case.checkpoints == 0 && who.who() == Own::NoCheckpoints.name() {
        return false;
    }
    if case.bench != Bench::Spawn {
        return true;
    }
    let count = case.parameters.first().map_or(0.0, |&count| count as f64);
    let need = bytes.get(who.who()).copied().unwrap_or(BYTES_MAX) * count;
    let there = available().unwrap_or(f64::INFINITY);
    let (name, who) = (case.name, who.who());
    if need > 0.9 * there {
        let (need, there) = (need / 1e9, there / 1e9);
        report.note(&format!("{who}: spawn {name} needs {need:.1} GB of {there:.1}: not run"));
    }
    need <= 0.9 * there
}

type MeasuredBy<'c> = Vec<(&'c Contender, Vec<Figures>)>;

fn interleaved<'c>(case: &Case, contenders: &[&'c Contender]) -> Result<MeasuredBy<'c>, String> {
    let expected = case.expected();
    let mut measured: MeasuredBy<'c> = contenders.iter().map(|&who| (who, Vec::new())).collect();
    for _ in 0..case.runs {
        for (who, figures) in &mut measured {
            figures.push(who.run(case, expected)?);
        }
    }
    for _ in case.runs..case.checkpoints {
        for (who, figures) in measured.iter_mut().filter(|(who, _)| who.is_priced()) {
            figures.push(who.run(case, expected)?);
        }
    }
    Ok(measured)
}

/// The additional cost of the first over the second, in percent: the median of paired runs.
fn price(with: &[Figures], without: &[Figures]) -> Option<f64> {
    let pairs = with.iter().zip(without);
    let ratios = pairs.map(|(with, without)| Some(with.cpu_s? / without.cpu_s?));
    let ratio = median(ratios.collect::<Option<Vec<f64>>>()?);
    ratio.is_finite().then_some((ratio - 1.0) * 100.0)
}

/// The median of a figure, if all runs have it.
fn middle(figures: &[Figures], figure: impl Fn(&Figures) -> Option<f64>) -> Option<f64> {
    figures.iter().map(figure).collect::<Option<Vec<f64>>>().map(median)
}

/// Medians, ours first; ours without checkpoints appears in its price only.
fn rows(case: &Case, measured: &MeasuredBy<'_>) -> Vec<Row> {
    let bench = case.bench.name();
    type Figure = fn(&Figures) -> Option<f64>;
    let metrics: [(&str, &str, Figure); 3] = [
        ("cpu_s", "s", |one| one.cpu_s),
        ("wall_s", "s", |one| one.wall_s),
        ("bytes", "bytes", |one| one.bytes),
    ];
    let mut rows = Vec::new();
    for (metric, unit, figure) in metrics {
        for (who, figures) in measured {
            let shown = who.who() != Own::NoCheckpoints.name();
            if let (true, Some(value)) = (shown, middle(figures, figure)) {
                let value = (value, figures.len());
                rows.push(Row::new(bench, case.name, who.who(), (metric, unit), value));
            }
        }
    }
    let of = |own: Own| {
        let mut all = measured.iter();
        all.find(|(who, _)| who.who() == own.name()).map_or(&[][..], |(_, figures)| figures)
    };
    let with = of(Own::Tidemill);
    if let (true, Some(percent)) = (case.checkpoints > 0, price(with, of(Own::NoCheckpoints))) {
        let percent = (percent, with.len());
        let metric = ("checkpoint_percent", "%");
        rows.push(Row::new(bench, case.name, Own::Tidemill.name(), metric, percent));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_medians_and_the_price_of_checkpoints() {
        let case = &Bench::Spin.cases()[0];
        let figures = |seconds: [f64; 3]| {
            let one = |cpu_s| Figures {
                cpu_s: Some(cpu_s),
                wall_s: Some(2.0 * cpu_s),
                bytes: None,
                result: 0,
            };
            seconds.map(one).to_vec()
        };
        let who = [Own::Tidemill, Own::NoCheckpoints, Own::Floor].map(Contender::Inside);
        let seconds = [[0.33, 9.0, 0.1], [0.3, 0.1, 0.5], [0.01, 0.02, 0.03]];
        let measured = who.iter().zip(seconds.map(figures)).collect();
        let rows = rows(case, &measured);
        let shown: Vec<String> = rows
            .iter()
            .map(|row| format!("{} {} {:.2} {}", row.who, row.metric, row.value, row.unit))
            .collect();
        assert_eq!(
            shown,
            [
                "tidemill cpu_s 0.33 s",
                "floor cpu_s 0.02 s",
                "tidemill wall_s 0.66 s",
                "floor wall_s 0.04 s",
                "tidemill checkpoint_percent 10.00 %",
            ]
        );
    }

    #[test]
    fn only_what_fits_into_memory_runs() {
        let report = &mut Report::new(crate::report::Form::Text);
        let case = &Bench::Spawn.cases()[0];
        let floor = Contender::Inside(Own::Floor);
        assert!(fits(&floor, case, &BTreeMap::from([("floor", 1.0)]), report));
        assert!(!fits(&floor, case, &BTreeMap::from([("floor", 1e12)]), report));
        let without = Contender::Inside(Own::NoCheckpoints);
        assert!(!fits(&without, case, &BTreeMap::new(), report));
    }
}
