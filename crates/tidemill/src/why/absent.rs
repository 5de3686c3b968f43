//! Why a tuple is absent: at running nodes, and in a simulation whose script expects it.

use std::sync::Arc;
use std::time::Duration;

use tidemill_overlog::absent::{Known, KnownTable, Rules, Wanted, WhyNot};
use tidemill_overlog::fleet::{Fleet, NodeId};
use tidemill_overlog::node::Named;
use tidemill_relation::expr::Param;
use tidemill_relation::text::{Pattern, Term, parse_pattern};
use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::hash::Set;
use tidemill_stdx::sorted::SortedMap;

use super::asked::NODES_MAX;
use super::written::{self, WhyError, column_text};
use crate::ask::{AskError, Asker};
use crate::tuples::Parameters;

/// The maximum number of event tuples kept of a simulation.
const EVENTS_MAX: usize = 1 << 16;

/// The explanation by a running system.
#[derive(Debug)]
pub struct WhyNotAnswer {
    /// Why the tuple is absent.
    pub why_not: WhyNot,
    /// Nodes that did not answer, with the reason.
    pub silent: Vec<(String, String)>,
}

/// Explains why a tuple, given as text in which `_` matches any value, is absent at the node of an
/// address. `reach` connects to a node. If the rules that could derive it refer to several nodes,
/// the peers of the node are queried, too, and their peers.
///
/// # Errors
/// See [`WhyError`].
pub fn why_not(
    address: &str,
    text: &str,
    timeout: Duration,
    mut reach: impl FnMut(&str) -> Result<Asker, AskError>,
) -> Result<WhyNotAnswer, WhyError> {
    let pattern = parse_pattern(text).map_err(WhyError::Text)?;
    let mut first = reach(address).map_err(WhyError::Ask)?;
    let rules = written::rules(&mut first, timeout)?;
    written::check(&rules, &pattern.name, pattern.terms.len())?;
    let wanted = wanted(&pattern, |_| Value::Str(address));
    let names: Vec<String> = rules.reads(&pattern.name).into_iter().collect();
    let is_spread = rules.is_spread(&pattern.name);
    let (mut rows, mut silent) = (Gathered::default(), Vec::new());
    let (mut open, mut seen) = (vec![(address.to_owned(), first)], Set::default());
    seen.insert(address.to_owned());
    while let Some((node, mut asker)) = open.pop() {
        if let Err(error) = rows.take(&rules, &names, &mut asker, timeout) {
            silent.push((node, error.to_string()));
            continue;
        }
        if !is_spread {
            break;
        }
        let peers = asker.ask("sys::peer", timeout).map(|it| it.rows).unwrap_or_default();
        for peer in peers.iter().filter_map(|row| column_text(row, 1)) {
            if seen.len() < NODES_MAX && seen.insert(peer.clone()) {
                match reach(&peer) {
                    Ok(asker) => open.push((peer, asker)),
                    Err(error) => silent.push((peer, error.to_string())),
                }
            }
        }
    }
    let mut known = Known::new(rows.tables(), Arc::default());
    Ok(WhyNotAnswer { why_not: rules.why_not(&mut known, wanted), silent })
}

/// The columns of a pattern, with the values of parameters at its node.
fn wanted<'v>(pattern: &'v Pattern, param: impl Fn(Param) -> Value<'v>) -> Wanted {
    let column = |term: &'v Term| match term {
        Term::Any | Term::Variable(_) => None,
        Term::Value(value) => Some(value.clone()),
        Term::Param(it) => Some(OwnedValue::new(param(*it))),
    };
    Wanted { relation: pattern.name.clone(), columns: pattern.terms.iter().map(column).collect() }
}

/// Rows by relation, of all nodes.
#[derive(Debug, Default)]
struct Gathered(SortedMap<String, Vec<Vec<OwnedValue>>>);

impl Gathered {
    /// Fetches the rows of some relations at a node, and its recorded event tuples.
    fn take(
        &mut self,
        rules: &Rules,
        names: &[String],
        asker: &mut Asker,
        timeout: Duration,
    ) -> Result<(), AskError> {
        for name in names {
            let is_kept = rules.is_table(name) || name.starts_with("sys::");
            if is_kept {
                match asker.ask(name, timeout) {
                    Ok(it) => self.0.entry(name.clone()).or_default().extend(it.rows),
                    // A node with another version of the program; the answer reports the relation
                    // as unknown.
                    Err(AskError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let recorded = match asker.ask("sys::content", timeout) {
            Ok(it) => it.rows,
            // The node records no events.
            Err(AskError::Refused(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        for row in recorded {
            let Some(name) = column_text(&row, 2) else { continue };
            if names.contains(&name) && !rules.is_table(&name) {
                let columns = row.get(3).and_then(|it| it.get().as_seq());
                let columns = columns.map(|it| it.iter().map(OwnedValue::new).collect());
                self.0.entry(name).or_default().extend(columns);
            }
        }
        Ok(())
    }

    fn tables(self) -> Vec<KnownTable> {
        let tables = self.0.into_iter();
        tables.map(|(name, rows)| KnownTable { name, rows }).collect()
    }
}

/// Event tuples of a simulation, each once.
#[derive(Debug, Default)]
pub(crate) struct Events {
    seen: Set<i64>,
    rows: Gathered,
}

impl Events {
    /// Records a tuple of an event or a table.
    pub(crate) fn saw(&mut self, tuple: &Named<'_>) {
        if tuple.is_part || self.seen.len() >= EVENTS_MAX || !self.seen.insert(tuple.id) {
            return;
        }
        let columns = tuple.columns.iter().map(|it| OwnedValue::new(*it)).collect();
        self.rows.0.entry(tuple.relation.to_owned()).or_default().push(columns);
    }

    /// Why a row that a script expects is absent now.
    pub(crate) fn why_not(&self, fleet: &Fleet, node: NodeId, pattern: &Pattern) -> Option<WhyNot> {
        let compiled = &fleet.program().compiled;
        let rules = Rules::read(&compiled.written).ok()?;
        let identity = fleet.identity(node);
        let wanted = wanted(pattern, |param| Parameters(identity).get(param));
        let mut tables = Vec::new();
        for name in rules.reads(&pattern.name) {
            let mut rows = Vec::new();
            match compiled.plan.find(&name).filter(|_| rules.is_table(&name)) {
                Some(relation) => {
                    let nodes = fleet.ids().filter_map(|it| fleet.node(it));
                    nodes.for_each(|node| {
                        node.rows(relation, |columns| {
                            rows.push(columns.iter().map(|it| OwnedValue::new(*it)).collect());
                        });
                    });
                }
                // Events that start no strand are not observed.
                None => rows.extend(self.rows.0.get(&name).into_iter().flatten().cloned()),
            }
            if rules.is_table(&name) || !rows.is_empty() {
                tables.push(KnownTable { name, rows });
            }
        }
        let mut known = Known::new(tables, fleet.program().operators().clone());
        Some(rules.why_not(&mut known, wanted))
    }
}
