//! When the rules of a simulation first did something.

use tidemill_overlog::node::RuleCoverage;

/// When rules were first seen to have done something, by number of the rule, in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RuleTimes {
    /// When a rule had been started.
    pub(crate) fired_ns: Vec<Option<u64>>,
    /// When it had derived something.
    pub(crate) derived_ns: Vec<Option<u64>>,
}

impl RuleTimes {
    /// Notes what rules have done by now.
    pub(crate) fn note(&mut self, now_ns: u64, rules: &[RuleCoverage]) {
        self.fired_ns.resize(rules.len(), None);
        self.derived_ns.resize(rules.len(), None);
        for (rule, times) in rules.iter().zip(self.fired_ns.iter_mut().zip(&mut self.derived_ns)) {
            let (fired, derived) = times;
            if rule.fired > 0 {
                fired.get_or_insert(now_ns);
            }
            if rule.derived > 0 {
                derived.get_or_insert(now_ns);
            }
        }
    }
}
