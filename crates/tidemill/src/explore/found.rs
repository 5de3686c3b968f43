//! Records failures of turns, as text.

use tidemill_overlog::node::{GivenUp, Observer, Sighting};
use tidemill_relation::Value;
use tidemill_relation::text::DisplayTuple;

/// The failure of a turn.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) failure: Option<String>,
}

impl Observer for Findings {
    fn sighted(&mut self, _: Sighting<'_>) {}

    fn violated(&mut self, sighting: Sighting<'_>) {
        let Sighting { relation, columns, rule, .. } = sighting;
        self.failure.get_or_insert_with(|| violation(relation, columns, rule));
    }

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {}

    fn given_up(&mut self, given_up: GivenUp<'_>) {
        let names: Vec<&str> = given_up.rules.iter().map(|(name, _)| *name).collect();
        let text = format!("a turn has no end and is given up: rules {}", names.join(", "));
        self.failure.get_or_insert(text);
    }
}

/// A violation, with the rule that derived it.
pub(super) fn violation(relation: &str, columns: &[Value<'_>], rule: Option<&str>) -> String {
    let tuple = DisplayTuple::new(relation, columns.iter().copied());
    let rule = rule.map(|rule| format!(" (rule {rule})")).unwrap_or_default();
    format!("{tuple}{rule}")
}
