//! Why a tuple is there: of the violation that a simulation found, and of what a running node has.
//!
//! A run is repeated with an observer that hears of each execution of a rule; nothing else follows
//! from that, so it does the same. What it heard ([account]) is walked back from the violation
//! ([tree]). Runs that nobody explains know nothing of it.

mod absent;
mod account;
mod asked;
mod diagram;
mod global;
#[cfg(test)]
mod tests;
mod tree;

use tidemill_overlog::absent::WhyNot;
use tidemill_overlog::fleet::{Fleet, NodeId};
use tidemill_overlog::node::{Execution, Named, Receipt, Sighting};
use tidemill_overlog::program::Compiled;
use tidemill_relation::OwnedValue;
use tidemill_relation::text::{Pattern, parse_tuple};
use tidemill_relation::tuple_id::Naming;

pub use absent::{AskedNot, why_not};
pub(crate) use account::{Account, Life};
pub use asked::{Asked, WhyError, why};
pub(crate) use global::GlobalObserver;
pub use tree::Why;

/// What an observer has heard, up to the first violation, or row that must be gone.
#[derive(Debug, Default)]
pub(crate) struct Explaining {
    pub(crate) account: Account,
    events: absent::Events,
    /// The first violation of those that happened at the same time.
    violated: Option<Violated>,
    /// Why the first row is not there that a script has expected.
    why_not: Option<WhyNot>,
}

#[derive(Debug)]
struct Violated {
    at_ns: u64,
    node: String,
    tuple: i64,
    /// Executions that there had been.
    after: u32,
}

impl Explaining {
    /// Nothing is heard yet of a program.
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

    /// A tuple came from a script.
    pub(crate) fn injected(&mut self, relation: &str, columns: &[OwnedValue]) {
        let id = Naming::new(relation).id(columns.iter().map(OwnedValue::get));
        let columns = columns.iter().map(OwnedValue::get).collect();
        self.events.saw(&Named { id, relation, is_part: false, holder: None, columns });
    }

    /// A row that a script expects is not there.
    pub(crate) fn missed(&mut self, fleet: &Fleet, node: NodeId, pattern: &Pattern) {
        if self.why_not.is_none() {
            let why_not = self.events.why_not(fleet, node, pattern);
            // There may be too many.
            self.why_not = why_not.filter(|it| !it.is_there());
        }
    }

    /// A violation has appeared; `is_earlier` says whether a node's lines come before another's.
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

    /// A row is there that must be gone, at a node.
    pub(crate) fn unsettled(&mut self, at_ns: u64, node: &str, row: &str) {
        let Ok((name, columns)) = parse_tuple(row) else { return };
        if self.violated.is_none() {
            self.violated = Some(Violated {
                at_ns,
                node: node.to_owned(),
                tuple: Naming::new(&name).id(columns.iter().map(OwnedValue::get)),
                after: self.account.now(),
            });
        }
    }

    /// All that is known at the end of the run.
    pub(crate) fn explanation(self) -> Explanation {
        let why = self.why();
        Explanation { account: self.account, why, why_not: self.why_not }
    }

    /// Why the violation was there; nothing if there was none, or nothing is known of it.
    fn why(&self) -> Option<Why> {
        let Violated { node, tuple, after, .. } = self.violated.as_ref()?;
        let node = self.account.find_node(node)?;
        Some(Why::new(&self.account, node, self.account.find_tuple(*tuple)?, *after))
    }
}

/// What a run did.
#[derive(Debug)]
pub struct Explanation {
    account: Account,
    why: Option<Why>,
    why_not: Option<WhyNot>,
}

impl Explanation {
    /// Why there was a violation; nothing if there was none.
    pub fn why(&self) -> Option<&Why> {
        self.why.as_ref()
    }

    /// Why the first row was not there that the script expected; nothing if all were.
    pub fn why_not(&self) -> Option<&WhyNot> {
        self.why_not.as_ref()
    }

    /// A space-time diagram as SVG: of what led to the violation, or else of the end of the run.
    pub fn diagram(&self) -> String {
        let path = self.why.as_ref().map(|why| why.path.as_slice());
        diagram::draw(&self.account, path.unwrap_or_default())
    }
}
