//! Derivations that fail.

use tidemill_relation::expr::EvalError;
use tidemill_relation::plan::RuleId;
use tidemill_relation::view::Failures;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::ambient::NodeAmbient;
use super::counters::Counters;
use super::program::Program;
use super::watch::Observer;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Debug;

/// Handles dropped derivations: counts all, reports the first of each rule.
pub(super) struct Failing<'n> {
    pub(super) program: &'n Program,
    pub(super) node: &'n str,
    pub(super) ambient: &'n NodeAmbient,
    pub(super) counters: &'n mut Counters,
    pub(super) reported: &'n mut [bool],
    pub(super) observer: &'n mut dyn Observer,
}

impl Failures for Failing<'_> {
    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.counters.dropped_failed += 1;
        self.counters.rules[rule.index()].failed += 1;
        let is_first = !std::mem::replace(&mut self.reported[rule.index()], true);
        let rule = &self.program.plan().rules[rule.index()];
        say!(Debug, "rule", "{}: {} ({}): {error}", self.node, rule.name, rule.place);
        if is_first {
            self.observer.rule_failed(self.node, &rule.name, &rule.place, &error.to_string());
        }
    }
}
