//! The cost of counting, compared with adding to a variable.

use tidemill_stat::{Registry, measure};

use crate::extent::Extent;
use crate::report::{Better, Report, Row};

/// Measures counters, histograms and logs in mapped files.
///
/// # Errors
/// Readers see other values than were counted.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let registry = Registry::open();
    if let Some(problem) = registry.problem() {
        report.note(&format!("in memory: {problem}"));
    }
    let (turns, operations) = if extent.small { (20, 1000) } else { (500, 100_000) };
    let costs = measure::costs(&registry, turns, operations);
    if !costs.is_correct {
        return Err("readers see other counts".to_owned());
    }
    let runs = turns as usize;
    let row =
        |case: &str, who: &str, value| Row::new("stat", case, who, ("ns", "ns"), (value, runs));
    let counter = [("tidemill", costs.counter_ns), ("plain", costs.plain_ns)];
    let counter = counter.map(|(who, value)| row("counter", who, value));
    report.case(&counter, Better::Low);
    let above = costs.counter_ns - costs.plain_ns;
    report.row(&counter[0].with(("above_ns", "ns"), above));
    report.row(&row("histogram", "tidemill", costs.histogram_ns));
    report.row(&row("log", "tidemill", costs.log_ns));
    Ok(())
}
