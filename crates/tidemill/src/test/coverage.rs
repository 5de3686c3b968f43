//! Rule coverage over all runs of a test.

use std::fmt;

use tidemill_overlog::node::RuleCoverage;
use tidemill_relation::json::JsonWriter;

/// The coverage of a rule over all runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoveredRule {
    /// Its name.
    pub name: String,
    /// Its place, `FILE:LINE:COLUMN`.
    pub place: String,
    /// Its coverage.
    pub done: RuleCoverage,
}

/// The coverage of rules, in the order of the program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// The rules.
    pub rules: Vec<CoveredRule>,
}

impl Coverage {
    /// Adds the coverage of a run.
    pub(super) fn add(&mut self, run: &[RuleCoverage]) {
        for (rule, RuleCoverage { fired, derived }) in self.rules.iter_mut().zip(run) {
            rule.done.fired += fired;
            rule.done.derived += derived;
        }
    }

    /// The number of rules that have derived something.
    pub fn derived(&self) -> usize {
        self.rules.iter().filter(|rule| rule.done.derived > 0).count()
    }

    /// An object `{"rule":{...}}` for each rule.
    pub fn json(&self) -> impl Iterator<Item = String> {
        self.rules.iter().map(|CoveredRule { name, place, done }| {
            let mut json = JsonWriter::new();
            json.object(|json| {
                json.key("rule").object(|json| {
                    json.key("name").string(name);
                    json.key("place").string(place);
                    json.key("fired").number(done.fired);
                    json.key("derived").number(done.derived);
                });
            });
            json.finish()
        })
    }
}

/// A table for users: rules that have never fired first, then those that have never derived
/// anything.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.rules.len();
        write!(f, "rules: {} of {all} have derived something", self.derived())?;
        let width = self.rules.iter().map(|rule| rule.name.chars().count()).max().unwrap_or(0);
        let state = |rule: &CoveredRule| match rule.done {
            RuleCoverage { fired: 0, .. } => 0,
            RuleCoverage { derived: 0, .. } => 1,
            _ => 2,
        };
        let mut rules: Vec<&CoveredRule> = self.rules.iter().collect();
        rules.sort_by_key(|rule| state(rule));
        for rule in rules {
            let CoveredRule { name, place, done: RuleCoverage { fired, derived } } = rule;
            write!(f, "\n  {name:width$}  ")?;
            match state(rule) {
                0 => write!(f, "never fired")?,
                1 => write!(f, "fired {fired} times, and its body never held")?,
                _ => write!(f, "fired {fired}, derived {derived}")?,
            }
            write!(f, "  {place}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_done_nothing_comes_first() {
        let rule = |name: &str| CoveredRule {
            name: name.to_owned(),
            place: format!("a.olg:{name}"),
            done: RuleCoverage::default(),
        };
        let mut coverage = Coverage { rules: ["r1", "r2", "r30"].map(rule).to_vec() };
        let done = |fired, derived| RuleCoverage { fired, derived };
        coverage.add(&[done(2, 1), done(0, 0), done(1, 0)]);
        coverage.add(&[done(2, 1), done(0, 0), done(3, 0)]);
        assert_eq!(
            coverage.to_string(),
            "rules: 1 of 3 have derived something\n  \
             r2   never fired  a.olg:r2\n  \
             r30  fired 4 times, and its body never held  a.olg:r30\n  \
             r1   fired 4, derived 2  a.olg:r1"
        );
        let first = "{\"rule\":{\"name\":\"r1\",\"place\":\"a.olg:r1\",\"fired\":4,\"derived\":2}}";
        assert_eq!(coverage.json().next().as_deref(), Some(first));
    }
}
