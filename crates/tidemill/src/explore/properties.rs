//! Properties of all nodes together: rules at `@SIM` that derive `violation`.
//!
//! Such rules see the rows of a node in the tables that they read: its *projection*. Their results
//! follow from the projections of all nodes, so they are computed once for each combination. One
//! node holds the rows of the last combination; for the next one only the differing rows are
//! changed, and its views are updated incrementally.

use std::sync::Arc;

use tidemill_overlog::global::SIM;
use tidemill_overlog::node::{Event, Identity, Node, Program as Rules};
use tidemill_overlog::program::{Global, GlobalHead, GlobalRead};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, Value, write_value};
use tidemill_stdx::hash::Map;
use tidemill_wire::SchemaError;

use super::fit::VIOLATION;
use super::found::{Findings, violation};
use super::numbers::Numbers;
use super::renaming::Renaming;
use crate::properties::node_of_all;

/// The number of a projection of a node; 0 is the one without rows.
pub(super) type ProjectionId = u32;

/// The number of a row in the tables of that one node.
type RowNumber = u32;

/// Compiled rules at `@SIM`.
#[derive(Clone, Debug)]
pub(super) struct PropertyRules {
    rules: Arc<Rules>,
    reads: Vec<GlobalRead>,
    heads: Vec<GlobalHead>,
}

impl PropertyRules {
    /// The rules of a program; `None` if none derives `violation`.
    ///
    /// # Errors
    /// None that a program could cause: their tuples never travel.
    pub(super) fn new(global: Global) -> Result<Option<PropertyRules>, SchemaError> {
        let Global { compiled, mut reads, mut heads } = global;
        heads.retain(|head| head.name == VIOLATION);
        reads.retain(|read| heads.iter().any(|head| head.reads.contains(&read.here)));
        if heads.is_empty() {
            return Ok(None);
        }
        let rules = Rules::new(compiled)?;
        Ok(Some(PropertyRules { rules: Arc::new(rules), reads, heads }))
    }

    fn node(&self, nodes: &[Identity]) -> Node {
        let landmark = nodes.first().map_or("", |node| &node.landmark);
        node_of_all(self.rules.clone(), nodes.len() as u32, landmark, 0)
    }
}

/// Evaluates properties of all nodes.
pub(super) struct Properties {
    shared: PropertyRules,
    /// The node without rows.
    empty: Node,
    /// The node with the rows of `holds`.
    node: Node,
    /// By node: its current projection.
    holds: Box<[ProjectionId]>,
    numbered: Arc<Numbered>,
    verdicts: Map<Box<[ProjectionId]>, Option<u32>>,
    bytes: usize,
}

/// What all threads number.
#[derive(Default)]
struct Numbered {
    rows: Numbers<Box<[u8]>, (RelationId, SeqBuilder)>,
    /// The rows of each projection, in order.
    projections: Numbers<Arc<[RowNumber]>, Arc<[RowNumber]>>,
    failures: Numbers<String, String>,
}

impl Properties {
    pub(super) fn new(shared: PropertyRules, nodes: &[Identity]) -> Properties {
        let empty = shared.node(nodes);
        let mut properties = Properties {
            node: empty.fork(),
            empty,
            shared,
            holds: vec![0; nodes.len()].into(),
            numbered: Arc::default(),
            verdicts: Map::default(),
            bytes: 0,
        };
        properties.number(Vec::new());
        properties
    }

    /// The same for another thread.
    pub(super) fn for_thread(&self) -> Properties {
        Properties {
            shared: self.shared.clone(),
            empty: self.empty.fork(),
            node: self.empty.fork(),
            holds: vec![0; self.holds.len()].into(),
            numbered: self.numbered.clone(),
            verdicts: Map::default(),
            bytes: 0,
        }
    }

    /// The text of a failure.
    pub(super) fn failure(&self, number: u32) -> &str {
        self.numbered.failures.get(number)
    }

    /// The approximate memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The projection of a node with this address.
    pub(super) fn project(&mut self, node: &Node, address: &str) -> ProjectionId {
        let mut rows: Vec<RowNumber> = Vec::new();
        for GlobalRead { here, there } in self.shared.reads.clone() {
            node.rows(here, |columns| {
                let place = [Value::Str(address), Value::Str(SIM)];
                let row: SeqBuilder = columns.iter().copied().chain(place).collect();
                rows.push(self.row_number(there, row));
            });
        }
        rows.sort_unstable();
        rows.dedup();
        self.number(rows)
    }

    /// The number of a renamed projection.
    pub(super) fn renamed(
        &mut self,
        projection: ProjectionId,
        renaming: &Renaming,
    ) -> ProjectionId {
        let rows = self.numbered.projections.get(projection).clone();
        let mut renamed: Vec<RowNumber> = Vec::with_capacity(rows.len());
        for number in &*rows {
            let (relation, row) = self.numbered.rows.get(*number);
            let (relation, row) = (*relation, renaming.row(row.as_seq().iter()));
            renamed.push(self.row_number(relation, row));
        }
        renamed.sort_unstable();
        self.number(renamed)
    }

    fn row_number(&mut self, relation: RelationId, row: SeqBuilder) -> RowNumber {
        let mut key = relation.0.to_le_bytes().to_vec();
        row.as_seq().iter().for_each(|value| write_value(&mut key, value));
        let bytes = 2 * key.len() + 100;
        let (number, is_new) = self.numbered.rows.number(key.into(), || (relation, row));
        self.bytes += if is_new { bytes } else { 0 };
        number
    }

    fn number(&mut self, rows: Vec<RowNumber>) -> ProjectionId {
        let rows: Arc<[RowNumber]> = rows.into();
        let bytes = rows.len() * size_of::<RowNumber>() + 100;
        let (number, is_new) = self.numbered.projections.number(rows.clone(), || rows);
        self.bytes += if is_new { bytes } else { 0 };
        number
    }

    /// The failure of a combination of projections, by number, if it has one.
    pub(super) fn verdict(&mut self, projections: &[ProjectionId]) -> Option<u32> {
        if let Some(verdict) = self.verdicts.get(projections) {
            return *verdict;
        }
        let failure = self.look(projections);
        let failures = &self.numbered.failures;
        let verdict = failure.map(|failure| failures.number(failure.clone(), || failure).0);
        self.bytes += size_of_val(projections) + 40;
        self.verdicts.insert(projections.into(), verdict);
        verdict
    }

    /// Computes that.
    fn look(&mut self, projections: &[ProjectionId]) -> Option<String> {
        let mut rows = Vec::new();
        for (old, new) in self.holds.iter().zip(projections) {
            let [old, new] = [old, new].map(|it| self.numbered.projections.get(*it));
            let (gone, come) = differences(old, new);
            let change = |number: RowNumber, goes: bool| {
                let (relation, row) = self.numbered.rows.get(number);
                (*relation, goes, row.clone())
            };
            rows.extend(gone.into_iter().map(|number| change(number, true)));
            rows.extend(come.into_iter().map(|number| change(number, false)));
        }
        let mut found = Findings::default();
        let turned = self.node.run_turn(Event::Rows { rows }, 0, 0, &mut found);
        self.holds.copy_from_slice(projections);
        if turned.is_none() {
            // An error leaves the node in an incomplete state.
            self.node = self.empty.fork();
            self.holds.fill(0);
            return found.failure.or_else(|| Some("a turn is given up".to_owned()));
        }
        self.shared.heads.iter().find_map(|head| {
            let mut texts = Vec::new();
            self.node.rows(head.relation, |columns| {
                texts.push(violation(VIOLATION, columns, Some(&head.rule)));
            });
            texts.into_iter().min()
        })
    }
}

/// The rows only in the first, and those only in the second.
fn differences(old: &[RowNumber], new: &[RowNumber]) -> (Vec<RowNumber>, Vec<RowNumber>) {
    let without = |these: &[RowNumber], those: &[RowNumber]| {
        these.iter().filter(|it| those.binary_search(it).is_err()).copied().collect()
    };
    (without(old, new), without(new, old))
}
