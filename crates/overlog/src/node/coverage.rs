//! The rules that have run at a node.

use tidemill_relation::plan::RuleId;

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

impl Node {
    /// Adds the coverage of each rule of the program here, by number.
    pub fn add_coverage(&self, sums: &mut Vec<RuleCoverage>) {
        let plan = self.program.plan();
        sums.resize(plan.rules.len(), RuleCoverage::default());
        for (sum, counters) in sums.iter_mut().zip(&self.counters.rules) {
            sum.fired += counters.fired;
            sum.derived += counters.derived;
        }
        let views = plan.strata.iter().flat_map(|stratum| &stratum.rules);
        for view in views {
            let RuleId(rule) = view.rule;
            let has_had_rows =
                self.database.get(view.head).is_some_and(|table| table.next_row().0 > 0);
            if let Some(sum) = sums.get_mut(rule as usize).filter(|_| has_had_rows) {
                sum.fired += 1;
                sum.derived += 1;
            }
        }
    }
}
