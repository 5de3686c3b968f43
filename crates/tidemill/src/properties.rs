//! Properties of all nodes of a simulation together: rules at `@SIM`.
//!
//! ```text
//! turn of a node ── rows that came and went ──> the one node, which has the rows of all
//!                                                    │ views, kept up to date
//!                                        violation, unsettled, history ──> journal
//! ```
//! After each turn of a node its changes to rows of tables that these rules read are applied to the
//! one node, where the consequences are derived. A turn without such changes costs nothing; neither
//! does a program without such rules.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidemill_overlog::global::SIM;
use tidemill_overlog::node::{
    Coverage, Crossing, CrossingKind, Event, Identity, Node, Observer, Program as Rules, Sighting,
    Stage,
};
use tidemill_overlog::program::{Global, GlobalHead, GlobalRead};
use tidemill_overlog::stage::Registry;
use tidemill_relation::plan::RelationId;
use tidemill_relation::text::DisplayTuple;
use tidemill_relation::view::Progress;
use tidemill_relation::{Seq, SeqBuilder, TupleBuf, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::ordered::OrderedMap;
use tidemill_wire::SchemaError;

use crate::unsettled::TABLE;
use crate::why::GlobalObserver;

/// The maximum number of event tuples per call of a strand.
const DERIVE_BATCH: usize = 256;

/// Compiled rules at `@SIM`, shared by the runs of a program.
#[derive(Debug)]
pub(crate) struct PropertyRules {
    rules: Arc<Rules>,
    reads: Vec<GlobalRead>,
    heads: Vec<GlobalHead>,
}

impl PropertyRules {
    /// Compiles them.
    ///
    /// # Errors
    /// None that a program could cause: their tuples never travel.
    pub(crate) fn new(
        global: Global,
        operators: Arc<Registry>,
        is_interpreted: bool,
    ) -> Result<PropertyRules, SchemaError> {
        let Global { compiled, reads, heads } = global;
        let mut rules = Rules::with_operators(compiled, operators)?;
        heads.iter().for_each(|head| rules.cross(head.relation));
        if is_interpreted {
            rules.interpret();
        }
        Ok(PropertyRules { rules: Arc::new(rules), reads, heads })
    }

    /// The same rules, whose observer sees each execution of a rule.
    pub(crate) fn explained(&self) -> PropertyRules {
        let mut rules = (*self.rules).clone();
        rules.explain();
        PropertyRules {
            rules: Arc::new(rules),
            reads: self.reads.clone(),
            heads: self.heads.clone(),
        }
    }

    /// The names of the rules and their places, by number.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.plan().rules.iter().map(|rule| (rule.name.as_str(), rule.place.as_str()))
    }

    /// The tables of nodes that they read.
    pub(crate) fn reads(&self) -> impl Iterator<Item = RelationId> {
        self.reads.iter().map(|read| read.here)
    }
}

/// The node at `@SIM` of a run of `nodes` nodes, of which it has the rows.
pub(crate) fn node_of_all(rules: Arc<Rules>, nodes: u32, landmark: &str, seed: u64) -> Node {
    let (address, landmark) = (SIM.to_owned(), landmark.to_owned());
    let identity = Identity { address, index: nodes, count: nodes, landmark };
    Node::new(rules, identity, seed, Secret::FIXED)
}

/// The state of the rules in a run.
#[derive(Debug)]
pub(crate) struct Properties {
    shared: Arc<PropertyRules>,
    node: Node,
    /// Pending changes.
    rows: Vec<(RelationId, bool, SeqBuilder)>,
    /// Inserted and deleted rows of `unsettled`.
    unsettled: TupleBuf<CrossingKind>,
    /// The number of rules that derive each row of `unsettled`.
    holders: OrderedMap<String, u32>,
}

/// The time of a change: by the loop's clock, and as rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now_ns: u64,
    pub(crate) wall_ns: i64,
}

impl Properties {
    /// Of a run of `nodes` nodes, which have no rows yet.
    pub(crate) fn new(
        shared: Arc<PropertyRules>,
        (nodes, landmark): (u32, &str),
        (seed, stop): (u64, &Arc<AtomicBool>),
    ) -> Properties {
        let mut node = node_of_all(shared.rules.clone(), nodes, landmark, seed);
        node.interrupt_by(stop.clone());
        let (unsettled, holders) = (TupleBuf::new(), OrderedMap::new());
        Properties { shared, node, rows: Vec::new(), unsettled, holders }
    }

    /// Adds what its rules have covered.
    pub(crate) fn add_coverage(&self, sums: &mut Coverage) {
        let mut own = Coverage::default();
        self.node.add_coverage(&mut own);
        sums.global = own.rules;
    }

    /// Takes the inserted and deleted rows of `unsettled`.
    pub(crate) fn take_unsettled(&mut self) -> TupleBuf<CrossingKind> {
        std::mem::take(&mut self.unsettled)
    }

    /// A node has changed rows in a turn.
    pub(crate) fn turned(
        &mut self,
        address: &str,
        tuples: &TupleBuf<Crossing>,
        moment: Moment,
        observer: &mut dyn Observer,
    ) {
        for (Crossing { relation, kind }, columns) in tuples.iter() {
            let read = self.shared.reads.iter().find(|read| read.here == relation);
            let Some(GlobalRead { there, .. }) = read else { continue };
            let mut row = SeqBuilder::default();
            row.extend(columns);
            row.push(Value::Str(address));
            row.push(Value::Str(SIM));
            self.rows.push((*there, kind == CrossingKind::Delete, row));
        }
        self.turn(moment, observer);
    }

    /// A node has ended, and its rows with it.
    pub(crate) fn crashed(&mut self, address: &str, moment: Moment, observer: &mut dyn Observer) {
        let (rows, node) = (&mut self.rows, &self.node);
        for GlobalRead { there, .. } in &self.shared.reads {
            node.rows(*there, |columns| {
                let holder = columns.iter().rev().nth(1).and_then(Value::as_str);
                if holder == Some(address) {
                    rows.push((*there, true, SeqBuilder::from_iter(columns.iter().copied())));
                }
            });
        }
        self.turn(moment, observer);
    }

    /// Applies the pending changes, and derives the consequences.
    fn turn(&mut self, moment: Moment, observer: &mut dyn Observer) {
        if self.rows.is_empty() {
            return;
        }
        let observer = &mut GlobalObserver(observer);
        self.node.enqueue(Event::Rows { rows: std::mem::take(&mut self.rows) });
        while let Some(crossings) = next_turn(&mut self.node, moment, observer) {
            self.report(&crossings, moment, observer);
        }
    }

    /// Reports the derived tuples.
    fn report(
        &mut self,
        crossings: &TupleBuf<Crossing>,
        moment: Moment,
        observer: &mut dyn Observer,
    ) {
        let shared = self.shared.clone();
        for (Crossing { relation, kind }, values) in crossings.iter() {
            let head = shared.heads.iter().find(|head| head.relation == relation);
            let Some(head) = head else { continue };
            let stage = match kind {
                CrossingKind::Delete => Stage::Deleted,
                CrossingKind::Insert | CrossingKind::Event => Stage::Inserted,
            };
            let columns: Vec<Value<'_>> = values.iter().collect();
            if head.name == TABLE {
                self.hold(kind, values);
            }
            let sighting = Sighting {
                at_ns: moment.now_ns,
                node: SIM,
                stage,
                rule: Some(&head.rule),
                relation: &head.name,
                columns: &columns,
            };
            if head.stages.contains(stage) {
                observer.sighted(sighting);
            }
            if head.name == "violation" && stage == Stage::Inserted {
                observer.violated(sighting);
            }
            if head.name == "history" && stage == Stage::Inserted {
                observer.recorded(sighting);
            }
        }
    }

    /// A rule starts or stops to derive a row of `unsettled`. While another rule derives it too,
    /// the row is neither inserted nor deleted.
    fn hold(&mut self, kind: CrossingKind, row: Seq<'_>) {
        let text = DisplayTuple::new(TABLE, row.iter()).to_string();
        let before = self.holders.get(&text).copied().unwrap_or(0);
        let after = match kind {
            CrossingKind::Delete => before.saturating_sub(1),
            CrossingKind::Insert | CrossingKind::Event => before + 1,
        };
        match after {
            0 => drop(self.holders.remove(&text)),
            _ => drop(self.holders.insert(text, after)),
        }
        if (before == 0) != (after == 0) {
            self.unsettled.push_seq(kind, row);
        }
    }
}

/// Runs the next turn of a node that nothing else drives, and returns its crossing tuples; `None`
/// if no event waits, or the turn was interrupted: then the tables are incomplete.
pub(crate) fn next_turn(
    node: &mut Node,
    moment: Moment,
    observer: &mut dyn Observer,
) -> Option<TupleBuf<Crossing>> {
    if !node.begin(moment.now_ns, moment.wall_ns, observer) {
        return None;
    }
    let progress = derive_all(node, observer);
    if node.is_interrupted() {
        return None;
    }
    match progress {
        Progress::Exceeded => node.abandon(),
        Progress::Done | Progress::More => drop(node.finish(observer)),
    }
    Some(node.take_crossings())
}

/// Derives, commits and refines the views of a turn that has begun.
fn derive_all(node: &mut Node, observer: &mut dyn Observer) -> Progress {
    loop {
        match node.derive(DERIVE_BATCH, observer) {
            Progress::More if node.is_interrupted() => return Progress::More,
            Progress::More => {}
            Progress::Done => break,
            Progress::Exceeded => return Progress::Exceeded,
        }
    }
    node.commit(observer);
    loop {
        match node.refine(observer) {
            Progress::More if node.is_interrupted() => return Progress::More,
            Progress::More => {}
            over => return over,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::program::{LoadOptions, Program};

    /// An observer that ignores everything.
    struct Deaf;

    impl Observer for Deaf {
        fn sighted(&mut self, _: Sighting<'_>) {}
        fn violated(&mut self, _: Sighting<'_>) {}
        fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {}
    }

    /// Properties of one node, the tables that they read, and the flag that ends them.
    fn properties(text: &str) -> (Properties, Vec<RelationId>, Arc<AtomicBool>) {
        let rules = Program::of_text("a.olg", text, &LoadOptions::default()).rules;
        let global = rules.program.and_then(|it| it.global).expect("rules at @SIM");
        let shared = PropertyRules::new(*global, rules.operators, false).expect("no wire");
        let (reads, stop) = (shared.reads().collect(), Arc::new(AtomicBool::new(false)));
        (Properties::new(Arc::new(shared), (1, "n0:1"), (1, &stop)), reads, stop)
    }

    /// A turn of the node inserts or deletes a row of a table; returns the changes of `unsettled`.
    fn turned(it: &mut Properties, relation: RelationId, kind: CrossingKind) -> Vec<CrossingKind> {
        let mut tuples = TupleBuf::new();
        let row = SeqBuilder::from_iter([Value::Str("n0:1"), Value::Int(7)]);
        tuples.push_seq(Crossing { relation, kind }, row.as_seq());
        it.turned("n0:1", &tuples, Moment { now_ns: 0, wall_ns: 0 }, &mut Deaf);
        it.take_unsettled().iter().map(|(kind, _)| kind).collect()
    }

    const NONE: [CrossingKind; 0] = [];
    const TWO: &str = "\
        materialize(p, infinity, infinity, keys(2)).\n\
        materialize(q, infinity, infinity, keys(2)).\n\
        u1 unsettled(@SIM, X) :- p(@_, X).\n\
        u2 unsettled(@SIM, X) :- q(@_, X).\n";

    #[test]
    fn a_row_of_two_rules_is_there_until_neither_derives_it() {
        let (mut it, reads, _) = properties(TWO);
        use CrossingKind::{Delete, Insert};
        assert_eq!(turned(&mut it, reads[0], Insert), [Insert]);
        assert_eq!(turned(&mut it, reads[1], Insert), NONE);
        assert_eq!(turned(&mut it, reads[0], Delete), NONE);
        assert_eq!(turned(&mut it, reads[1], Delete), [Delete]);
    }

    #[test]
    fn an_interrupt_ends_what_they_derive() {
        let (mut it, reads, stop) = properties(TWO);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(turned(&mut it, reads[0], CrossingKind::Insert), NONE);
    }
}
