//! Explains tuples: of the violation that a simulation found, and at a running node.
//!
//! A run is repeated with an observer of each execution of a rule; the run does not depend on it,
//! so it does the same. The record ([account]) is followed back from the violation ([tree]). Other
//! runs have no such cost.

mod absent;
mod account;
mod asked;
mod diagram;
mod global;
#[cfg(test)]
mod tests;
mod tree;
mod written;

use tidemill_overlog::absent::WhyNot;
use tidemill_overlog::fleet::{Fleet, NodeId};
use tidemill_overlog::node::{Execution, Named, Receipt, Sighting};
use tidemill_overlog::program::Compiled;
use tidemill_relation::OwnedValue;
use tidemill_relation::text::{Pattern, parse_tuple};
use tidemill_relation::tuple_id::Naming;

pub use absent::{WhyNotAnswer, why_not};
pub(crate) use account::{Account, Life};
pub use asked::{WhyAnswer, why};
pub(crate) use global::GlobalObserver;
pub use tree::Why;
pub use written::WhyError;

/// The observations up to the first violation, or overdue row.
#[derive(Debug, Default)]
pub(crate) struct Explaining {
    pub(crate) account: Account,
    events: absent::Events,
    /// The first violation among those at the same time, or the first row that should be absent.
    violated: Option<Violated>,
    /// Why the first row expected by a script is absent.
    why_not: Option<WhyNot>,
}

#[derive(Debug)]
struct Violated {
    at_ns: u64,
    node: String,
    tuple: i64,
    /// The number of executions before it.
    after: u32,
}

impl Explaining {
    /// No observations yet of a program.
    pub(crate) fn of(compiled: &Compiled) -> Explaining {
        Explaining { account: Account::of(&compiled.written), ..Explaining::default() }
    }

    /// A rule has derived a tuple.
    pub(crate) fn executed(&mut self, it: Execution<'_>) {
        it.inputs.iter().chain([it.output]).for_each(|tuple| self.events.saw(tuple));
        self.account.executed(it);
    }

    /// A tuple came from another node.
    pub(crate) fn received(&mut self, it: Receipt<'_>) {
        self.events.saw(it.tuple);
        self.account.received(it);
    }

    /// A tuple was injected by a script.
    pub(crate) fn injected(&mut self, relation: &str, columns: &[OwnedValue]) {
        let id = Naming::new(relation).id(columns.iter().map(OwnedValue::get));
        let columns = columns.iter().map(OwnedValue::get).collect();
        let (is_part, is_row) = (false, false);
        self.events.saw(&Named { id, relation, is_part, is_row, holder: None, columns });
    }

    /// A row expected by a script is absent.
    pub(crate) fn missed(&mut self, fleet: &Fleet, node: NodeId, pattern: &Pattern) {
        if self.why_not.is_none() && self.violated.is_none() {
            let why_not = self.events.why_not(fleet, node, pattern);
            // The expectation may also fail as there are too many rows.
            self.why_not = why_not.filter(|it| !it.is_there());
        }
    }

    /// A violation has appeared; `is_earlier` returns whether a node's lines precede another's.
    pub(crate) fn violated(
        &mut self,
        sighting: &Sighting<'_>,
        is_earlier: impl FnOnce(&str, &str) -> bool,
    ) {
        let is_first = self.violated.as_ref().is_none_or(|known| {
            known.at_ns == sighting.at_ns && is_earlier(sighting.node, &known.node)
        });
        if is_first {
            self.violated = Some(Violated {
                at_ns: sighting.at_ns,
                node: sighting.node.to_owned(),
                tuple: Naming::new(sighting.relation).id(sighting.columns.iter().copied()),
                after: self.account.now(),
            });
        }
    }

    /// A row at a node is overdue.
    pub(crate) fn unsettled(&mut self, at_ns: u64, node: &str, row: &str) {
        let Ok((name, columns)) = parse_tuple(row) else { return };
        self.unwanted((at_ns, node), &name, &columns);
    }

    /// A node holds a row that should be absent.
    pub(crate) fn unwanted(
        &mut self,
        (at_ns, node): (u64, &str),
        relation: &str,
        columns: &[OwnedValue],
    ) {
        if self.violated.is_none() && self.why_not.is_none() {
            self.violated = Some(Violated {
                at_ns,
                node: node.to_owned(),
                tuple: Naming::new(relation).id(columns.iter().map(OwnedValue::get)),
                after: self.account.now(),
            });
        }
    }

    /// The explanation at the end of the run.
    pub(crate) fn explanation(self) -> Explanation {
        let why = self.why();
        Explanation { account: self.account, why, why_not: self.why_not }
    }

    /// Why the violation was derived; `None` if there was none, or its derivation is unknown.
    fn why(&self) -> Option<Why> {
        let Violated { node, tuple, after, .. } = self.violated.as_ref()?;
        let node = self.account.find_node(node)?;
        Some(Why::new(&self.account, node, self.account.find_tuple(*tuple)?, *after))
    }
}

/// The explanation of a run.
#[derive(Debug)]
pub struct Explanation {
    account: Account,
    why: Option<Why>,
    why_not: Option<WhyNot>,
}

impl Explanation {
    /// Why there was a violation; `None` if there was none.
    pub fn why(&self) -> Option<&Why> {
        self.why.as_ref()
    }

    /// Why the first row expected by the script was absent; `None` if all were there.
    pub fn why_not(&self) -> Option<&WhyNot> {
        self.why_not.as_ref()
    }

    /// A space-time diagram as SVG: of the causes of the violation, or else of the end of the run.
    pub fn diagram(&self) -> String {
        let path = self.why.as_ref().map(|why| why.path.as_slice());
        diagram::draw(&self.account, path.unwrap_or_default())
    }
}
