//! Rows of results, as text or JSON lines.

use std::fmt::Write as _;

use crate::clock::median;

/// One measured figure: the median of some runs.
#[derive(Clone, Debug)]
pub struct Row {
    /// The benchmark.
    pub bench: &'static str,
    /// The case in it.
    pub case: String,
    /// The contender: `tidemill` or a peer.
    pub who: String,
    /// The metric, its unit last: `cpu_s`, `ns`.
    pub metric: &'static str,
    /// The figure.
    pub value: f64,
    /// The unit.
    pub unit: &'static str,
    /// The number of runs of which it is the median.
    pub runs: usize,
}

/// A metric with its unit.
pub type Metric = (&'static str, &'static str);

impl Row {
    /// A figure, and the number of runs that it comes from.
    pub fn new(
        bench: &'static str,
        case: &str,
        who: &str,
        (metric, unit): Metric,
        (value, runs): (f64, usize),
    ) -> Row {
        Row { bench, case: case.to_owned(), who: who.to_owned(), metric, value, unit, runs }
    }

    /// The median of the figures of some runs.
    pub fn median(
        bench: &'static str,
        case: &str,
        who: &str,
        metric: Metric,
        figures: Vec<f64>,
    ) -> Row {
        let runs = figures.len();
        Row::new(bench, case, who, metric, (median(figures), runs))
    }

    /// Another figure of the same runs.
    pub fn with(&self, (metric, unit): Metric, value: f64) -> Row {
        Row { metric, value, unit, ..self.clone() }
    }
}

/// Whether small or large figures are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Time, memory.
    Low,
    /// Rates.
    High,
}

/// The format of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Aligned columns.
    Text,
    /// One object per line.
    Json,
}

/// Prints rows as they are added.
#[derive(Debug)]
pub struct Report {
    form: Form,
    headed: bool,
}

impl Report {
    /// A report in this form on standard output.
    pub fn new(form: Form) -> Report {
        Report { form, headed: false }
    }

    /// Prints the rows of one case, ours first, and the ratio to each peer.
    pub fn case(&mut self, rows: &[Row], better: Better) {
        for row in rows {
            self.row(row);
        }
        let Some(ours) = rows.iter().find(|row| row.who == "tidemill") else { return };
        for peer in rows.iter().filter(|row| row.who != "tidemill" && row.metric == ours.metric) {
            let ratio = match better {
                Better::Low => peer.value / ours.value,
                Better::High => ours.value / peer.value,
            };
            self.ratio(ours, &peer.who, ratio);
        }
    }

    /// Prints one row.
    pub fn row(&mut self, row: &Row) {
        let Row { bench, case, who, metric, value, unit, runs } = row;
        match self.form {
            Form::Json => println!(
                "{{\"bench\":{bench:?},\"case\":{case:?},\"who\":{who:?},\"metric\":{metric:?},\
                 \"value\":{},\"unit\":{unit:?},\"runs\":{runs}}}",
                number(*value)
            ),
            Form::Text => {
                self.head();
                let value = number(*value);
                println!("{bench:<14} {case:<16} {who:<17} {metric:<20} {value:>14} {unit}");
            }
        }
    }

    fn ratio(&mut self, ours: &Row, peer: &str, ratio: f64) {
        let Row { bench, case, .. } = ours;
        match self.form {
            Form::Json => println!(
                "{{\"bench\":{bench:?},\"case\":{case:?},\"who\":\"tidemill\",\
                 \"metric\":\"ratio\",\"vs\":{peer:?},\"value\":{}}}",
                number(ratio)
            ),
            Form::Text => {
                let metric = format!("ratio vs {peer}");
                let ratio = number(ratio);
                println!("{bench:<14} {case:<16} {:<17} {metric:<20} {ratio:>14}", "tidemill");
            }
        }
    }

    /// Prints a line that is not a figure: a chart, or a missing peer. Goes to standard error if
    /// rows are JSON.
    pub fn note(&mut self, line: &str) {
        match self.form {
            Form::Json => eprintln!("{line}"),
            Form::Text => println!("{line}"),
        }
    }

    fn head(&mut self) {
        if !std::mem::replace(&mut self.headed, true) {
            println!(
                "{:<14} {:<16} {:<17} {:<20} {:>14} unit",
                "bench", "case", "who", "metric", "value"
            );
        }
    }
}

/// Four significant digits, never an exponent.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let digits = (3 - value.abs().max(1e-12).log10().floor() as i32).clamp(0, 12) as usize;
    let mut out = String::new();
    let _ = write!(out, "{value:.digits$}");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        assert_eq!(number(0.012345), "0.01235");
        assert_eq!(number(123456.7), "123457");
        assert_eq!(number(9.8), "9.800");
        assert_eq!(number(f64::NAN), "null");
    }
}
