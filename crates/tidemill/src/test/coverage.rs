//! What all runs of a test have covered: rules, and the order of events.

use std::fmt;

use tidemill_overlog::node::{Coverage as RunCoverage, RuleCoverage};
use tidemill_relation::json::JsonWriter;
use tidemill_stdx::sorted::SortedSet;

use crate::rule_times::RuleTimes;

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

impl CoveredRule {
    fn add(&mut self, run: &RuleCoverage) {
        self.done.fired += run.fired;
        self.done.derived += run.derived;
    }
}

/// The coverage of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// The rules of nodes, in the order of the program.
    pub rules: Vec<CoveredRule>,
    /// Rules at `@SIM`.
    pub global: Vec<CoveredRule>,
    /// The names of events at nodes.
    pub(super) events: Vec<String>,
    /// Events of which one came directly after the other at a node, if the order was observed.
    pub(super) pairs: SortedSet<(u32, u32)>,
}

/// Something that a run has covered, or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Feature {
    /// A rule of nodes, or after these one at `@SIM`, was started.
    Fired(u32),
    /// It has derived something.
    Derived(u32),
    /// An event came directly before another at a node.
    Before(u32, u32),
}

/// Two events that came one directly after the other at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventPair<'c> {
    /// The one that came first.
    pub first: &'c str,
    /// The other.
    pub second: &'c str,
    /// Whether they also came in the other order.
    pub both: bool,
}

impl Coverage {
    /// Adds the coverage of a run.
    pub(super) fn add(&mut self, run: &RunCoverage) {
        self.rules.iter_mut().zip(&run.rules).for_each(|(rule, run)| rule.add(run));
        self.global.iter_mut().zip(&run.global).for_each(|(rule, run)| rule.add(run));
        self.pairs.extend(run.pairs.iter().copied());
    }

    /// What a run has covered, in ascending order, and when rules had done so, in nanoseconds; 0
    /// where that is not known.
    pub(super) fn features(&self, run: &RunCoverage, times: &RuleTimes) -> Vec<(Feature, u64)> {
        let known = |times: &[Option<u64>], rule: u32| {
            times.get(rule as usize).copied().flatten().unwrap_or(0)
        };
        let all = self.without_times(run).into_iter();
        all.map(|feature| match feature {
            Feature::Fired(rule) => (feature, known(&times.fired_ns, rule)),
            Feature::Derived(rule) => (feature, known(&times.derived_ns, rule)),
            Feature::Before(..) => (feature, 0),
        })
        .collect()
    }

    fn without_times(&self, run: &RunCoverage) -> Vec<Feature> {
        let global = run.global.iter().zip((self.rules.len() as u32)..);
        let rules: Vec<(&RuleCoverage, u32)> = run.rules.iter().zip(0..).chain(global).collect();
        let fired = rules.iter().filter(|(done, _)| done.fired > 0);
        let derived = rules.iter().filter(|(done, _)| done.derived > 0);
        let rules = fired.map(|(_, rule)| Feature::Fired(*rule));
        let rules = rules.chain(derived.map(|(_, rule)| Feature::Derived(*rule)));
        rules
            .chain(run.pairs.iter().map(|&(first, second)| Feature::Before(first, second)))
            .collect()
    }

    /// A feature in words.
    pub(super) fn name_of(&self, feature: Feature) -> String {
        let rule = |number: u32| {
            let mut rules = self.rules.iter().chain(&self.global);
            rules.nth(number as usize).map_or("", |rule| rule.name.as_str())
        };
        match feature {
            Feature::Fired(number) => format!("{} fired", rule(number)),
            Feature::Derived(number) => format!("{} derived", rule(number)),
            Feature::Before(first, second) => {
                format!("{} before {}", self.event(first), self.event(second))
            }
        }
    }

    fn event(&self, number: u32) -> &str {
        self.events.get(number as usize).map_or("", String::as_str)
    }

    /// The number of rules of nodes that have derived something.
    pub fn derived(&self) -> usize {
        self.rules.iter().filter(|rule| rule.done.derived > 0).count()
    }

    /// Pairs of different events, each once.
    pub fn pairs(&self) -> impl Iterator<Item = EventPair<'_>> {
        let name = |event: u32| self.event(event);
        self.pairs.iter().filter_map(move |&(first, second)| {
            let both = self.pairs.contains(&(second, first));
            let is_wanted = !both || first < second;
            is_wanted.then(|| EventPair { first: name(first), second: name(second), both })
        })
    }

    /// An object `{"rule":{...}}` for each rule, and `{"pair":{...}}` for each pair of events.
    pub fn json(&self) -> impl Iterator<Item = String> {
        let rules = self.rules.iter().chain(&self.global);
        let rules = rules.map(|CoveredRule { name, place, done }| {
            object("rule", |json| {
                json.key("name").string(name);
                json.key("place").string(place);
                json.key("fired").number(done.fired);
                json.key("derived").number(done.derived);
            })
        });
        rules.chain(self.pairs().map(|EventPair { first, second, both }| {
            object("pair", |json| {
                json.key("first").string(first);
                json.key("second").string(second);
                json.key("both").bool(both);
            })
        }))
    }
}

/// An object with one key.
fn object(key: &str, inner: impl FnOnce(&mut JsonWriter)) -> String {
    let mut json = JsonWriter::new();
    json.object(|json| json.key(key).object(inner));
    json.finish()
}

/// A table for users: rules that have never fired first, then those that have never derived
/// anything; then events that came in one order only.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.rules.len();
        write!(f, "rules: {} of {all} have derived something", self.derived())?;
        list(&self.rules, f)?;
        if !self.global.is_empty() {
            write!(f, "\nrules at @SIM:")?;
            list(&self.global, f)?;
        }
        let both = self.pairs().filter(|pair| pair.both).count();
        let single: Vec<EventPair<'_>> = self.pairs().filter(|pair| !pair.both).collect();
        write!(f, "\npairs of events: {both} in both orders, {} in one", single.len())?;
        for EventPair { first, second, .. } in single {
            write!(f, "\n  {first} before {second} only")?;
        }
        Ok(())
    }
}

fn list(rules: &[CoveredRule], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let width = rules.iter().map(|rule| rule.name.chars().count()).max().unwrap_or(0);
    let state = |rule: &CoveredRule| match rule.done {
        RuleCoverage { fired: 0, .. } => 0,
        RuleCoverage { derived: 0, .. } => 1,
        _ => 2,
    };
    let mut rules: Vec<&CoveredRule> = rules.iter().collect();
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
        let mut coverage = Coverage {
            rules: ["r1", "r2", "r30"].map(rule).to_vec(),
            global: vec![rule("v1")],
            events: ["p", "q", "expiry"].map(str::to_owned).to_vec(),
            pairs: SortedSet::new(),
        };
        let done = |fired, derived| RuleCoverage { fired, derived };
        let run = |rules: [RuleCoverage; 3], pairs: &[(u32, u32)]| RunCoverage {
            rules: rules.to_vec(),
            global: vec![done(0, 0)],
            pairs: pairs.iter().copied().collect(),
        };
        coverage.add(&run([done(2, 1), done(0, 0), done(1, 0)], &[(0, 1), (2, 1)]));
        coverage.add(&run([done(2, 1), done(0, 0), done(3, 0)], &[(0, 1), (1, 0)]));
        assert_eq!(
            coverage.to_string(),
            "rules: 1 of 3 have derived something\n  \
             r2   never fired  a.olg:r2\n  \
             r30  fired 4 times, and its body never held  a.olg:r30\n  \
             r1   fired 4, derived 2  a.olg:r1\n\
             rules at @SIM:\n  \
             v1  never fired  a.olg:v1\n\
             pairs of events: 1 in both orders, 1 in one\n  \
             expiry before q only"
        );
        let done_so = coverage.without_times(&run([done(2, 1), done(0, 0), done(1, 0)], &[(2, 1)]));
        let names: Vec<String> = done_so.into_iter().map(|it| coverage.name_of(it)).collect();
        assert_eq!(names, ["r1 fired", "r30 fired", "r1 derived", "expiry before q"]);
        let json: Vec<String> = coverage.json().collect();
        let first = "{\"rule\":{\"name\":\"r1\",\"place\":\"a.olg:r1\",\"fired\":4,\"derived\":2}}";
        assert_eq!(json[0], first);
        assert_eq!(json[4], "{\"pair\":{\"first\":\"p\",\"second\":\"q\",\"both\":true}}");
    }
}
