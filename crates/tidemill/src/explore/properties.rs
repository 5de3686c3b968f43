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
    rows: Vec<(RelationId, SeqBuilder)>,
    row_numbers: Map<Box<[u8]>, RowNumber>,
    /// The rows of each projection, by number, in order.
    projections: Vec<Arc<[RowNumber]>>,
    projection_numbers: Map<Arc<[RowNumber]>, ProjectionId>,
    verdicts: Map<Box<[ProjectionId]>, Option<u32>>,
    failures: Vec<String>,
    bytes: usize,
}

impl Properties {
    pub(super) fn new(shared: PropertyRules, nodes: &[Identity]) -> Properties {
        let empty = shared.node(nodes);
        let mut properties = Properties {
            node: empty.fork(),
            empty,
            shared,
            holds: vec![0; nodes.len()].into(),
            rows: Vec::new(),
            row_numbers: Map::default(),
            projections: Vec::new(),
            projection_numbers: Map::default(),
            verdicts: Map::default(),
            failures: Vec::new(),
            bytes: 0,
        };
        properties.number(Vec::new());
        properties
    }

    /// The text of a failure.
    pub(super) fn failure(&self, number: u32) -> &str {
        &self.failures[number as usize]
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
        let rows = self.projections[projection as usize].clone();
        let mut renamed: Vec<RowNumber> = Vec::with_capacity(rows.len());
        for number in &*rows {
            let (relation, row) = &self.rows[*number as usize];
            let (relation, row) = (*relation, renaming.row(row.as_seq().iter()));
            renamed.push(self.row_number(relation, row));
        }
        renamed.sort_unstable();
        self.number(renamed)
    }

    fn row_number(&mut self, relation: RelationId, row: SeqBuilder) -> RowNumber {
        let mut key = relation.0.to_le_bytes().to_vec();
        row.as_seq().iter().for_each(|value| write_value(&mut key, value));
        let next = self.rows.len() as RowNumber;
        let bytes = 2 * key.len() + 100;
        let number = *self.row_numbers.entry(key.into()).or_insert(next);
        if number == next {
            self.rows.push((relation, row));
            self.bytes += bytes;
        }
        number
    }

    fn number(&mut self, rows: Vec<RowNumber>) -> ProjectionId {
        let rows: Arc<[RowNumber]> = rows.into();
        let next = self.projections.len() as ProjectionId;
        let number = *self.projection_numbers.entry(rows.clone()).or_insert(next);
        if number == next {
            self.bytes += rows.len() * size_of::<RowNumber>() + 100;
            self.projections.push(rows);
        }
        number
    }

    /// The failure of a combination of projections, by number, if it has one.
    pub(super) fn verdict(&mut self, projections: &[ProjectionId]) -> Option<u32> {
        if let Some(verdict) = self.verdicts.get(projections) {
            return *verdict;
        }
        let failure = self.look(projections);
        let verdict = failure.map(|failure| {
            let known = self.failures.iter().position(|known| *known == failure);
            known.unwrap_or_else(|| {
                self.failures.push(failure);
                self.failures.len() - 1
            }) as u32
        });
        self.bytes += size_of_val(projections) + 40;
        self.verdicts.insert(projections.into(), verdict);
        verdict
    }

    /// Computes that.
    fn look(&mut self, projections: &[ProjectionId]) -> Option<String> {
        let mut rows = Vec::new();
        for (old, new) in self.holds.iter().zip(projections) {
            let [old, new] = [old, new].map(|it| &self.projections[*it as usize]);
            let (gone, come) = differences(old, new);
            let change = |number: RowNumber, goes: bool| {
                let (relation, row) = &self.rows[number as usize];
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
