//! Rules to install.

use tidemill_stat::{Counter, Registry};
use tidemill_stdx::sorted::SortedMap;

use super::border::ProgramsBorder;
use crate::borders::latency::Latency;

/// The table, which it counts under.
const TABLE: &str = "program::rules";

/// The rules that a node has to install.
pub(crate) struct Programs {
    pub(super) border: ProgramsBorder,
    /// By name: the text, or `None` to remove it.
    pub(super) changes: SortedMap<String, Option<String>>,
    pub(super) installed: Counter,
    pub(super) refused: Counter,
    pub(super) latency: Latency,
}

impl Programs {
    /// Of a program with these borders.
    pub(in crate::borders) fn new(border: ProgramsBorder, registry: &Registry) -> Programs {
        let counter = |name: &str| registry.counter(&format!("border/{TABLE}/{name}"));
        Programs {
            border,
            changes: SortedMap::new(),
            installed: counter("installed"),
            refused: counter("refused"),
            latency: Latency::new(registry, TABLE),
        }
    }

    /// Rebinds to the relations of other rules, if they have some.
    pub(in crate::borders) fn rebind(
        own: &mut Option<Programs>,
        border: Option<ProgramsBorder>,
        registry: &Registry,
    ) {
        match (own.as_mut(), border) {
            (Some(programs), Some(border)) => programs.border = border,
            (None, Some(border)) => *own = Some(Programs::new(border, registry)),
            (_, None) => *own = None,
        }
    }

    /// Records a change of a row.
    pub(super) fn change(&mut self, name: &str, text: Option<&str>) {
        self.changes.insert(name.to_owned(), text.map(str::to_owned));
    }

    /// Takes the recorded changes.
    pub(super) fn take(&mut self) -> SortedMap<String, Option<String>> {
        std::mem::take(&mut self.changes)
    }
}
