//! What a search has found.

use std::fmt;
use std::time::Duration;

use tidemill_relation::json::JsonWriter;

use super::counterexample::Counterexample;

/// What a search has found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExploreReport {
    /// Steps that were taken, each to a state.
    pub steps: u64,
    /// States that differ.
    pub distinct: u64,
    /// The most things from outside in a run that was looked at.
    pub depth: u32,
    /// Turns of nodes that were run; all others were known.
    pub turns: u64,
    /// States of single nodes that differ.
    pub node_states: u64,
    /// The order of rows in tables is part of a state.
    pub is_ordered: bool,
    /// What bounds runs: what was asked for.
    pub bounds: String,
    /// Why not all runs within the bounds were looked at; none if they were.
    pub missed: Vec<String>,
    /// Relations that say what must be so of a run as a whole, which no search looks at:
    /// `unsettled`, `history`.
    pub ignored: Vec<String>,
    /// The probability that two states were taken for one, at most.
    pub collision: f64,
    /// A run that fails, if there is one.
    pub counterexample: Option<Counterexample>,
    /// It was told to end before its end.
    pub interrupted: bool,
    /// The CPU time that it took.
    pub cpu: Duration,
    /// The most memory that the process had at once.
    pub peak_bytes: Option<u64>,
}

impl ExploreReport {
    /// Whether no run failed.
    pub fn is_well(&self) -> bool {
        self.counterexample.is_none()
    }

    /// Whether all runs within the bounds were looked at.
    pub fn is_complete(&self) -> bool {
        self.missed.is_empty() && self.is_well()
    }

    /// What it took, which differs from run to run.
    pub fn cost(&self) -> String {
        let ExploreReport { distinct, turns, node_states, cpu, peak_bytes, .. } = self;
        let mut text = format!(
            "explored in {:.3} s of CPU time; {turns} turns run, {node_states} states of nodes",
            cpu.as_secs_f64()
        );
        if let Some(bytes) = peak_bytes {
            let each = bytes / (*distinct).max(1);
            text += &format!("; {} MB of memory at most, {each} bytes a state", bytes >> 20);
        }
        text
    }

    /// The object `{"summary":{...}}`.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("summary").object(|json| {
                json.key("states").number(self.steps);
                json.key("distinct").number(self.distinct);
                json.key("depth").number(self.depth);
                json.key("turns").number(self.turns);
                json.key("node_states").number(self.node_states);
                json.key("ordered_rows").bool(self.is_ordered);
                json.key("bounds").string(&self.bounds);
                json.key("complete").bool(self.is_complete());
                json.key("missed")
                    .array(|json| self.missed.iter().for_each(|reason| json.string(reason)));
                json.key("ignored")
                    .array(|json| self.ignored.iter().for_each(|name| json.string(name)));
                json.key("collision").string(&above(self.collision));
                json.key("failed").bool(!self.is_well());
                if self.interrupted {
                    json.key("interrupted").bool(true);
                }
            });
        });
        json.finish()
    }
}

/// One line for people.
impl fmt::Display for ExploreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExploreReport { steps, distinct, depth, .. } = self;
        write!(f, "summary: {steps} states, {distinct} distinct, depth {depth}; ")?;
        let bounds = &self.bounds;
        match (&self.counterexample, &self.missed[..]) {
            (Some(failed), _) => write!(f, "failed in a run of {} steps", failed.outside())?,
            (None, []) => write!(f, "complete: no run fails with {bounds}")?,
            (None, reasons) => {
                write!(f, "no run failed with {bounds}; not complete: {}", reasons.join("; "))?;
            }
        }
        match &self.ignored[..] {
            [] => {}
            [one] => write!(f, "; {one} is not looked at")?,
            all => write!(f, "; {} are not looked at", all.join(" and "))?,
        }
        let collision = above(self.collision);
        write!(f, "; two states are taken for one with a probability below {collision}")?;
        match self.interrupted {
            true => f.write_str("; interrupted"),
            false => Ok(()),
        }
    }
}

/// A small number with one digit that is above it.
fn above(probability: f64) -> String {
    let exponent = probability.max(f64::MIN_POSITIVE).log10().floor();
    let digit = (probability / 10f64.powf(exponent)).floor() + 1.0;
    format!("{:.0e}", digit * 10f64.powf(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_rounded_up() {
        assert_eq!(above(1.2e-30), "2e-30");
        assert_eq!(above(9.9e-30), "1e-29");
        assert_eq!(above(3.5e-35), "4e-35");
    }

    #[test]
    fn a_summary_says_whether_all_was_looked_at() {
        let bounds = "at most 1 drop".to_owned();
        let mut report = ExploreReport { steps: 5, distinct: 3, bounds, ..Default::default() };
        let line = report.to_string();
        assert!(line.contains("complete: no run fails with at most 1 drop; two"), "{line}");
        report.missed.push("the memory was used up".to_owned());
        let line = report.to_string();
        assert!(line.contains("not complete: the memory was used up; two states"), "{line}");
        assert!(report.json().contains("\"complete\":false"));
        report.ignored.push("unsettled".to_owned());
        assert!(report.to_string().contains("; unsettled is not looked at; two states"));
        report.ignored.push("history".to_owned());
        assert!(report.to_string().contains("; unsettled and history are not looked at; two"));
        report.counterexample = Some(Counterexample::default());
        assert!(!report.is_well() && report.to_string().contains("failed in a run of 0 steps"));
    }
}
