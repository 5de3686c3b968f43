//! Why a tuple is there: of the violation that a simulation found, and of what a running node has.
//!
//! A run is repeated with an observer that hears of each execution of a rule; nothing else follows
//! from that, so it does the same. What it heard ([account]) is walked back from the violation
//! ([tree]). Runs that nobody explains know nothing of it.

mod account;
mod asked;
mod diagram;
mod global;
#[cfg(test)]
mod tests;
mod tree;

use tidemill_overlog::node::Sighting;
use tidemill_relation::OwnedValue;
use tidemill_relation::text::parse_tuple;
use tidemill_relation::tuple_id::Naming;

pub(crate) use account::{Account, Life};
pub use asked::{Asked, WhyError, why};
pub(crate) use global::GlobalObserver;
pub use tree::Why;

/// What an observer has heard, up to the first violation, or row that must be gone.
#[derive(Debug, Default)]
pub(crate) struct Explaining {
    pub(crate) account: Account,
    /// The first violation of those that happened at the same time.
    violated: Option<Violated>,
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
        Explanation { account: self.account, why }
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
}

impl Explanation {
    /// Why there was a violation; nothing if there was none.
    pub fn why(&self) -> Option<&Why> {
        self.why.as_ref()
    }

    /// A space-time diagram as SVG: of what led to the violation, or else of the end of the run.
    pub fn diagram(&self) -> String {
        let path = self.why.as_ref().map(|why| why.path.as_slice());
        diagram::draw(&self.account, path.unwrap_or_default())
    }
}
