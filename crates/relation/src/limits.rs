//! Bounds on the values that an expression may make, so that no program exhausts the process.
//!
//! Values are walked recursively (to compare, hash and print them), hence the bound on nesting;
//! texts and lists can double with each step of a rule, hence the bound on size.

use tidemill_stdx::region::Bump;

use crate::eval::EvalError;
use crate::flat::{Seq, SeqBuilder};
use crate::value::Value;

/// The most bytes of one text, list or other long value.
pub const VALUE_BYTES_MAX: usize = 16 << 20;

/// The maximal nesting of lists: a list of numbers has depth 1.
pub const NESTING_MAX: usize = 64;

/// An error if a value of `bytes` would be too large.
pub fn check_size(what: &'static str, bytes: usize) -> Result<(), EvalError> {
    if bytes <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let reason = format!("the result is larger than {VALUE_BYTES_MAX} bytes");
    Err(EvalError::Argument { what, reason })
}

/// True if lists lie deeper in `value` than `limit`; looks no deeper than that.
pub fn nests_deeper(value: Value<'_>, limit: usize) -> bool {
    let Some(seq) = value.as_seq() else {
        return false;
    };
    limit == 0 || seq.iter().any(|element| nests_deeper(element, limit - 1))
}

/// A copy of `value` in `scratch`.
pub fn copy_into<'a>(value: Value<'_>, scratch: &'a Bump) -> Value<'a> {
    let copy = |seq: Seq<'_>| {
        let mut list = SeqBuilder::new();
        list.extend(seq);
        list.finish(|bytes| scratch.alloc_bytes(bytes))
    };
    match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(value),
        Value::Int(value) => Value::Int(value),
        Value::Double(value) => Value::Double(value),
        Value::Str(text) => Value::Str(scratch.alloc_str(text)),
        Value::Bytes(bytes) => Value::Bytes(scratch.alloc_bytes(bytes)),
        Value::Id(id) => Value::Id(id),
        Value::Time(ns) => Value::Time(ns),
        Value::Interval(ns) => Value::Interval(ns),
        Value::List(seq) => Value::List(copy(seq)),
        Value::Vector(seq) => Value::Vector(copy(seq)),
        Value::Matrix(seq) => Value::Matrix(copy(seq)),
    }
}

/// Builds a list within the bounds.
#[derive(Debug)]
pub struct ListBuilder {
    what: &'static str,
    list: SeqBuilder,
    bytes: usize,
}

impl ListBuilder {
    /// An empty list that `what` makes.
    pub fn new(what: &'static str) -> ListBuilder {
        ListBuilder { what, list: SeqBuilder::new(), bytes: 0 }
    }

    /// Appends an element.
    pub fn push(&mut self, value: Value<'_>) -> Result<(), EvalError> {
        if nests_deeper(value, NESTING_MAX - 1) {
            let reason = format!("lists may nest {NESTING_MAX} deep");
            return Err(EvalError::Argument { what: self.what, reason });
        }
        self.grow(size(value))?;
        self.list.push(value);
        Ok(())
    }

    /// Appends all elements of `seq`.
    pub fn extend(&mut self, seq: Seq<'_>) -> Result<(), EvalError> {
        self.grow(seq.parts().bytes.len())?;
        self.list.extend(seq);
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> Result<(), EvalError> {
        self.bytes += bytes;
        check_size(self.what, self.bytes)
    }

    /// The list, in `scratch`.
    pub fn finish<'a>(&self, scratch: &'a Bump) -> Seq<'a> {
        self.list.finish(|bytes| scratch.alloc_bytes(bytes))
    }
}

/// About the bytes that `value` takes in a list; at least those.
fn size(value: Value<'_>) -> usize {
    let long = match value {
        Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => value.as_seq().map_or(0, |seq| seq.parts().bytes.len()),
    };
    // The longest fixed encoding is that of an ID: a tag and 20 bytes.
    long + 21
}
