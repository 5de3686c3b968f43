//! The coverage of the code for a type of messages: the nodes that a message of it may hold.

use super::super::tables::Tables;
use tidemill_stdx::hash::Set;

/// The fields beyond which a type is left partly to the table decoder.
pub(super) const ENTRIES_MAX: usize = 4000;

/// Nodes reached from one of them.
pub(super) struct Reach {
    all: Vec<u32>,
    compiled: Vec<u32>,
    entries: usize,
}

impl Reach {
    /// From the node `root`. The nearest nodes get code, as many as one function can hold.
    pub(super) fn of(tables: &Tables, root: u32) -> Reach {
        let (mut all, mut compiled, mut entries) = (vec![root], Vec::new(), 0);
        let mut seen = Set::default();
        seen.insert(root);
        let mut next = 0;
        while let Some(&place) = all.get(next) {
            next += 1;
            let node = tables.node(place);
            let (first, end) = node.entries;
            let own = (end - first) as usize + 1;
            let may = !node.message_set && node.required <= 64;
            if may && entries + own <= ENTRIES_MAX {
                entries += own;
                compiled.push(place);
            }
            for entry in (first..end).map(|entry| tables.entry(entry)) {
                if entry.leads() && seen.insert(entry.sub) {
                    all.push(entry.sub);
                }
            }
        }
        all.sort_unstable();
        compiled.sort_unstable();
        Reach { all, compiled, entries }
    }

    /// All nodes, ascending.
    pub(super) fn all(&self) -> &[u32] {
        &self.all
    }

    /// The nodes that get code, ascending.
    pub(super) fn compiled(&self) -> &[u32] {
        &self.compiled
    }

    /// The amount of code: fields, and one for each node.
    pub(super) fn entries(&self) -> usize {
        self.entries
    }

    pub(super) fn into_compiled(self) -> Box<[u32]> {
        self.compiled.into()
    }
}
