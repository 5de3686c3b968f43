//! The report of a search.

use std::fmt;
use std::time::Duration;

use tidemill_relation::json::JsonWriter;

use super::counterexample::Counterexample;

/// The report of a search.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExploreReport {
    /// The number of states that were reached: the first, and one by each step.
    pub states: u64,
    /// The number of distinct ones among them.
    pub distinct: u64,
    /// A fingerprint of the set of distinct states, if it was wanted and all runs within the bounds
    /// were explored:
    /// searches of two programs with the same options and script have the same one if they find
    /// the same states, and else, with a probability of almost 1, different ones.
    pub fingerprint: Option<u128>,
    /// The maximum number of inputs in an explored run.
    pub depth: u32,
    /// The number of turns run; all others were known.
    pub turns: u64,
    /// The number of distinct states of single nodes.
    pub node_states: u64,
    /// The order of rows in tables is part of a state.
    pub is_ordered: bool,
    /// The bounds of runs, as requested.
    pub bounds: String,
    /// Why not all runs within the bounds were explored; empty if they were.
    pub missed: Vec<String>,
    /// Relations with conditions on a whole run, which no search checks: `unsettled`, `history`.
    pub ignored: Vec<String>,
    /// The classes of nodes that were interchangeable, if symmetry was requested.
    pub interchangeable: Vec<Vec<String>>,
    /// Why symmetry was requested and no nodes were interchangeable.
    pub asymmetry: Option<String>,
    /// An upper bound on the probability that two distinct states had the same hash.
    pub collision: f64,
    /// A failing run, if one was found.
    pub counterexample: Option<Counterexample>,
    /// It was interrupted.
    pub interrupted: bool,
    /// The CPU time used.
    pub cpu: Duration,
    /// The peak memory of the process.
    pub peak_bytes: Option<u64>,
}

impl ExploreReport {
    /// Whether no run failed.
    pub fn is_well(&self) -> bool {
        self.counterexample.is_none()
    }

    /// Whether all runs within the bounds were explored.
    pub fn is_complete(&self) -> bool {
        self.missed.is_empty() && self.is_well()
    }

    /// The resources used, which differ from run to run.
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

    /// The object `{"summary":{...}}`; all but its `cost` is the same in each run.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("summary").object(|json| {
                json.key("states").number(self.states);
                json.key("distinct").number(self.distinct);
                if let Some(fingerprint) = self.fingerprint {
                    json.key("fingerprint").string(&format!("{fingerprint:032x}"));
                }
                json.key("depth").number(self.depth);
                // Others differ by the number of threads.
                if self.is_well() {
                    json.key("turns").number(self.turns);
                    json.key("node_states").number(self.node_states);
                }
                json.key("ordered_rows").bool(self.is_ordered);
                json.key("bounds").string(&self.bounds);
                json.key("complete").bool(self.is_complete());
                json.key("missed")
                    .array(|json| self.missed.iter().for_each(|reason| json.string(reason)));
                json.key("ignored")
                    .array(|json| self.ignored.iter().for_each(|name| json.string(name)));
                if !self.interchangeable.is_empty() {
                    json.key("interchangeable").array(|json| {
                        for class in &self.interchangeable {
                            json.array(|json| class.iter().for_each(|node| json.string(node)));
                        }
                    });
                }
                if let Some(asymmetry) = &self.asymmetry {
                    json.key("asymmetry").string(asymmetry);
                }
                json.key("collision").string(&above(self.collision));
                json.key("failed").bool(!self.is_well());
                json.key("cost").object(|json| {
                    json.key("cpu_ms").number(self.cpu.as_millis());
                    if let Some(bytes) = self.peak_bytes {
                        json.key("memory_bytes_max").number(bytes);
                        let each = bytes / self.distinct.max(1);
                        json.key("memory_bytes_per_state").number(each);
                    }
                });
                if self.interrupted {
                    json.key("interrupted").bool(true);
                }
            });
        });
        json.finish()
    }
}

/// One line for users.
impl fmt::Display for ExploreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExploreReport { states, distinct, depth, .. } = self;
        write!(f, "summary: {states} states, {distinct} distinct, depth {depth}; ")?;
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
        for class in &self.interchangeable {
            write!(f, "; {} are interchangeable", class.join(", "))?;
        }
        if let Some(asymmetry) = &self.asymmetry {
            write!(f, "; no nodes are interchangeable: {asymmetry}")?;
        }
        let collision = above(self.collision);
        write!(f, "; two states are taken for one with a probability below {collision}")?;
        if self.interrupted { f.write_str("; interrupted") } else { Ok(()) }
    }
}

/// An upper bound of a small number, with one digit.
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
    fn a_summary_shows_whether_the_search_is_complete() {
        let bounds = "at most 1 drop".to_owned();
        let mut report = ExploreReport { states: 5, distinct: 3, bounds, ..Default::default() };
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
