//! What nodes have covered of their program.

use tidemill_relation::plan::RuleId;
use tidemill_stdx::sorted::SortedSet;

use super::Node;

/// The coverage of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleCoverage {
    /// How often it was started: by an event, a timer, a row that changed. Of a view: whether its
    /// table has ever had a row.
    pub fired: u64,
    /// What it has derived. Of a view: whether its table has ever had a row.
    pub derived: u64,
}

/// What nodes have covered of their program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// By number of the rule.
    pub rules: Vec<RuleCoverage>,
    /// The same of rules at `@SIM`.
    pub global: Vec<RuleCoverage>,
    /// Events of which one came directly after the other at a node, by their positions in
    /// [`Program::event_names`](super::Program::event_names). Changes that earlier turns made are
    /// no events.
    pub pairs: SortedSet<(u32, u32)>,
}

impl Node {
    /// Observes the order of its events from now on.
    pub fn observe_order(&mut self) {
        self.order.get_or_insert_default();
    }

    /// Adds what has been covered here.
    pub fn add_coverage(&self, sums: &mut Coverage) {
        let Coverage { rules, pairs, .. } = sums;
        pairs.extend(self.order.iter().flat_map(|order| order.pairs.iter().copied()));
        self.add_coverage_of_rules(rules);
    }

    /// Adds what its rules have covered, by number of the rule.
    pub fn add_coverage_of_rules(&self, rules: &mut Vec<RuleCoverage>) {
        let plan = self.program.plan();
        rules.resize(plan.rules.len(), RuleCoverage::default());
        for (sum, counters) in rules.iter_mut().zip(&self.counters.rules) {
            sum.fired += counters.fired;
            sum.derived += counters.derived;
        }
        let views = plan.strata.iter().flat_map(|stratum| &stratum.rules);
        for view in views {
            let RuleId(rule) = view.rule;
            let has_had_rows =
                self.database.get(view.head).is_some_and(|table| table.next_row().0 > 0);
            if let Some(sum) = rules.get_mut(rule as usize).filter(|_| has_had_rows) {
                sum.fired += 1;
                sum.derived += 1;
            }
        }
    }
}
