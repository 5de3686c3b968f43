//! Showing tuples to observers.

use tidemill_relation::plan::{RelationId, RuleId};
use tidemill_relation::{Seq, Value};

use super::Node;
use super::stages::Stage;
use super::tuples::Columns;
use super::watch::{Observer, Sighting};

impl Node {
    /// Shows a tuple to the observer if it is watched.
    #[inline]
    pub(super) fn sight(
        &self,
        relation: RelationId,
        stage: Stage,
        rule: Option<RuleId>,
        columns: Seq<'_>,
        observer: &mut dyn Observer,
    ) {
        if self.program.watching.wants(relation, stage) {
            self.show(relation, stage, rule, columns, observer);
        }
    }

    fn show(
        &self,
        relation: RelationId,
        stage: Stage,
        rule: Option<RuleId>,
        columns: Seq<'_>,
        observer: &mut dyn Observer,
    ) {
        let columns: Columns<'_> = columns.iter().collect();
        if self.program.watching.shows(relation, stage, &columns, &self.ambient) {
            observer.sighted(self.sighting(relation, stage, rule, &columns));
        }
    }

    pub(super) fn sighting<'a>(
        &'a self,
        relation: RelationId,
        stage: Stage,
        rule: Option<RuleId>,
        columns: &'a [Value<'a>],
    ) -> Sighting<'a> {
        let plan = self.program.plan();
        Sighting {
            at_ns: self.turn.now_ns,
            node: &self.identity.address,
            stage,
            rule: rule.map(|rule| plan.rules[rule.index()].name.as_str()),
            relation: &plan.relation(relation).name,
            columns,
        }
    }
}
