//! The cost of the rules of a run: as tables, as folded stacks, and as a flame graph.
//!
//! ```
//! use tidemill::console::Console;
//! use tidemill::profile;
//! use tidemill::program::{LoadOptions, Program};
//! use tidemill::sim::SimOptions;
//!
//! let source = "r1 tick(@N, E) :- periodic(@N, E, 1, 3). r2 tock(@N) :- tick(@N, _).";
//! let program = Program::of_text("tick.olg", source, &LoadOptions::default());
//!
//! let options = SimOptions { profile: true, ..SimOptions::default() };
//! let profile = program.sim(options, Console::silent())?.profile.ok_or("no profile")?;
//! assert_eq!(profile.rules[1].name, "r2");
//! assert_eq!(profile.rules[1].cost.fired, 3);
//! assert!(profile::folded(&profile).contains("run;timer of r1;r2;on event tick "));
//! assert!(profile::flame_graph(&profile).starts_with("<svg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! Counts are the same on every machine. Times are measured on this one, also in a simulation,
//! whose behaviour does not depend on them; code that is compiled is measured as such.

mod flame;
mod folded;
mod notes;
mod table;

use tidemill_overlog::fleet::Fleet;
use tidemill_overlog::node::Profile as Costs;
use tidemill_relation::cost::Cost;
use tidemill_stdx::sort;

pub use flame::flame_graph;
pub use folded::folded;
pub use notes::annotate;
pub use table::table;

/// The cost of the rules of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// Costs by origin: of rules, of operators, of the engine itself.
    pub costs: Costs,
    /// All rules of the program, the most expensive first.
    pub rules: Vec<RuleCost>,
}

/// The cost of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleCost {
    /// Its name.
    pub name: String,
    /// `file:line:column` of its head.
    pub place: String,
    /// The sum over all its parts.
    pub cost: Cost,
}

impl Profile {
    /// The costs measured at the nodes of a fleet.
    pub(crate) fn of(fleet: &Fleet) -> Profile {
        let rules = &fleet.program().plan().rules;
        let known = rules.iter().map(|rule| (rule.name.clone(), rule.place.clone()));
        Profile::new(fleet.profile(), known)
    }

    /// Adds the costs measured at other nodes.
    pub(crate) fn add(&mut self, other: Profile) {
        let mut costs = std::mem::take(&mut self.costs);
        costs.add(&other.costs);
        let known = std::mem::take(&mut self.rules).into_iter().map(|rule| (rule.name, rule.place));
        *self = Profile::new(costs, known);
    }

    /// Costs, with the names and places of all rules of the program.
    pub fn new(costs: Costs, known: impl Iterator<Item = (String, String)>) -> Profile {
        let mut of_rules = costs.rules();
        let mut rules: Vec<RuleCost> = Vec::new();
        for (name, place) in known {
            // Parts of one rule have its name.
            if rules.iter().all(|rule| rule.name != name) {
                let cost = of_rules.remove(name.as_str()).unwrap_or_default();
                rules.push(RuleCost { name, place, cost });
            }
        }
        // Costs of rules that have been removed from the program.
        for (name, cost) in of_rules {
            rules.push(RuleCost { name: name.to_owned(), place: String::new(), cost });
        }
        sort::by(&mut rules, |one, other| {
            (other.cost.ns, other.cost.fired).cmp(&(one.cost.ns, one.cost.fired))
        });
        Profile { costs, rules }
    }

    /// The total time of all turns, in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.costs.costs.iter().map(|(_, cost)| cost.ns).sum()
    }
}

/// The percentage of a part.
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

/// A readable time: three digits and a unit.
fn span(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => format!("{:.2} s", ns as f64 / 1e9),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tidemill_overlog::node::{Engine, Spot, Worker};

    use super::*;

    /// An event that starts two rules, one of which is also a view, and some work of the engine.
    pub(crate) fn example() -> Profile {
        let rule = |rule: &str, part: &str| Worker::Rule {
            rule: rule.to_owned(),
            place: format!("a.olg:{}:1", &rule[1..]),
            part: part.to_owned(),
        };
        let mut costs = Costs::default();
        let mut put = |turn: &str, worker, [fired, derived, probes, ns]: [u64; 4]| {
            let spot = Spot { turn: turn.to_owned(), worker };
            costs.costs.insert(spot, Cost { fired, derived, probes, ns });
        };
        put("event ping", rule("r1", "on event ping"), [10, 20, 300, 6_000]);
        put("event ping", rule("r2", "on event <pong>"), [20, 5, 0, 2_000]);
        put("event ping", Worker::Engine(Engine::Dispatch), [10, 0, 0, 1_000]);
        put("timer of r1", rule("r1", "on timer"), [1, 1, 0, 500]);
        put("timer of r1", Worker::Operator("COUNT".to_owned()), [1, 0, 0, 250]);
        put("timer of r1", Worker::Engine(Engine::Commit), [1, 0, 0, 250]);
        let known = ["r1", "r2", "r3", "r1"]
            .map(|name| (name.to_owned(), format!("a.olg:{}:1", &name[1..])));
        Profile::new(costs, known.into_iter())
    }

    #[test]
    fn rules_are_in_the_order_of_their_time_and_all_there() {
        let profile = example();
        let names: Vec<(&str, u64)> =
            profile.rules.iter().map(|rule| (rule.name.as_str(), rule.cost.ns)).collect();
        assert_eq!(names, [("r1", 6_500), ("r2", 2_000), ("r3", 0)]);
        assert_eq!(profile.total_ns(), 10_000);
    }
}
