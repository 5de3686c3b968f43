//! A permutation of nodes, applied to whatever contains their addresses.

use std::sync::Arc;

use tidemill_overlog::node::Event;
use tidemill_relation::{SeqBuilder, Value, write_value};
use tidemill_stdx::hash::Map;

/// A permutation of nodes.
#[derive(Clone, Debug)]
pub(super) struct Renaming {
    /// By node: the node that it becomes.
    pub(super) to: Box<[u32]>,
    /// By node: the node that becomes it.
    pub(super) from: Box<[u32]>,
    addresses: Arc<Addresses>,
}

/// The addresses of all nodes.
#[derive(Debug)]
pub(super) struct Addresses {
    names: Vec<String>,
    numbers: Map<String, u32>,
}

impl Addresses {
    pub(super) fn new(names: impl Iterator<Item = String>) -> Addresses {
        let names: Vec<String> = names.collect();
        let numbers = names.iter().cloned().zip(0..).collect();
        Addresses { names, numbers }
    }
}

impl Renaming {
    pub(super) fn new(to: Box<[u32]>, addresses: Arc<Addresses>) -> Renaming {
        let mut from = to.clone();
        (0..).zip(&to).for_each(|(node, becomes)| from[*becomes as usize] = node);
        Renaming { to, from, addresses }
    }

    /// Whether no node becomes another.
    pub(super) fn is_identity(&self) -> bool {
        (0..).zip(&self.to).all(|(node, becomes)| node == *becomes)
    }

    fn text<'t>(&'t self, text: &'t str) -> &'t str {
        match self.addresses.numbers.get(text) {
            Some(node) => &self.addresses.names[self.to[*node as usize] as usize],
            None => text,
        }
    }

    /// Appends a renamed value, as [`write_value`] does.
    pub(super) fn write(&self, out: &mut Vec<u8>, value: Value<'_>) {
        self.with(value, |value| write_value(out, value));
    }

    fn with<R>(&self, value: Value<'_>, take: impl FnOnce(Value<'_>) -> R) -> R {
        match value {
            Value::Str(text) => take(Value::Str(self.text(text))),
            Value::List(seq) => take(Value::List(self.row(seq.iter()).as_seq())),
            other => take(other),
        }
    }

    /// A renamed row.
    pub(super) fn row<'v>(&self, columns: impl Iterator<Item = Value<'v>>) -> SeqBuilder {
        let mut row = SeqBuilder::new();
        columns.for_each(|value| self.with(value, |value| row.push(value)));
        row
    }

    /// A renamed event.
    pub(super) fn event(&self, event: &Event) -> Event {
        let renamed = |row: &SeqBuilder| self.row(row.as_seq().iter());
        match event {
            Event::Tuple { relation, row, delete, received } => Event::Tuple {
                relation: *relation,
                row: renamed(row),
                delete: *delete,
                received: *received,
            },
            Event::Change { relation, row, link } => {
                Event::Change { relation: *relation, row: renamed(row), link: *link }
            }
            Event::Facts { tuples } => Event::Facts {
                tuples: tuples.iter().map(|(relation, row)| (*relation, renamed(row))).collect(),
            },
            // Timers, and the expiry of rows: explored nodes have no other events.
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_renamed_wherever_they_occur() {
        let names = (0..3).map(|node| format!("n{node}:1"));
        let renaming = Renaming::new([1, 2, 0].into(), Arc::new(Addresses::new(names)));
        assert_eq!(*renaming.from, [2, 0, 1]);
        let inner: SeqBuilder = [Value::Str("n2:1"), Value::Int(1)].into_iter().collect();
        let columns = [Value::Str("n0:1"), Value::Str("n0:12"), Value::List(inner.as_seq())];
        let row = renaming.row(columns.into_iter());
        assert_eq!(row.as_seq().get(0).and_then(|it| it.as_str()), Some("n1:1"));
        assert_eq!(row.as_seq().get(1).and_then(|it| it.as_str()), Some("n0:12"));
        let Some(Value::List(list)) = row.as_seq().get(2) else { panic!("no list") };
        assert_eq!(list.get(0).and_then(|it| it.as_str()), Some("n0:1"));
    }
}
