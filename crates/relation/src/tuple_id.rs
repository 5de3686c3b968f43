//! Ids of tuples, by which provenance names them.
//!
//! The id of a tuple is a hash of the name of its relation and of its columns, location included.
//! So a tuple has one id wherever it is, in every run: nothing has to be sent with it, and a tuple
//! that is derived again is the same one. The times of the executions say when it was derived.
//!
//! The hash is not collision-resistant: two tuples of one id can be constructed.

use tidemill_stdx::hash::{combine, hash_bytes};
use tidemill_stdx::keyed::Secret;

use crate::value::Value;

/// A relation's part of the ids of its tuples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Naming(u64);

impl Naming {
    /// For the relation of this qualified name.
    pub fn new(relation: &str) -> Naming {
        Naming(hash_bytes(relation.as_bytes()))
    }

    /// The id of a tuple with these columns, never negative. Values that are equal give the same.
    pub fn id<'v>(self, columns: impl Iterator<Item = Value<'v>>) -> i64 {
        let hash = |hash, value: Value<'_>| combine(hash, value.hash(&Secret::FIXED));
        (columns.fold(self.0, hash) >> 1) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_relation_and_columns() {
        let (p, q) = (Naming::new("p"), Naming::new("q"));
        let tuple = || [Value::Str("n0:1"), Value::Int(1)].into_iter();
        assert_eq!(p.id(tuple()), p.id(tuple()));
        assert_ne!(p.id(tuple()), q.id(tuple()));
        assert_ne!(p.id(tuple()), p.id(tuple().rev()));
        assert_eq!(p.id([Value::Int(1)].into_iter()), p.id([Value::Double(1.0)].into_iter()));
    }
}
