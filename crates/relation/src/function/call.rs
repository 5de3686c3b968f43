//! A call, as the implementation of a function sees it.

use crate::eval::{EvalError, Scope};
use crate::flat::Seq;
use crate::limits::{self, ListBuilder};
use crate::value::Value;

/// One call: the arguments, whose number and types have been checked, and where results go.
///
/// The accessors give an error, not a panic, where an argument is of another type than they read:
/// then the declaration does not fit its implementation.
pub struct Call<'v, 'a> {
    name: &'static str,
    arguments: &'v [Value<'a>],
    scope: Scope<'a>,
}

impl<'v, 'a> Call<'v, 'a> {
    pub(super) fn new(
        name: &'static str,
        arguments: &'v [Value<'a>],
        scope: Scope<'a>,
    ) -> Call<'v, 'a> {
        Call { name, arguments, scope }
    }

    /// The function's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Clock, random numbers and scratch region.
    pub fn scope(&self) -> Scope<'a> {
        self.scope
    }

    /// All arguments.
    pub fn arguments(&self) -> &'v [Value<'a>] {
        self.arguments
    }

    /// Argument `index`; null if it was left out.
    pub fn value(&self, index: usize) -> Value<'a> {
        self.arguments.get(index).copied().unwrap_or(Value::Null)
    }

    /// Argument `index`, a text.
    pub fn text(&self, index: usize) -> Result<&'a str, EvalError> {
        self.value(index).as_str().ok_or_else(|| self.unexpected(index))
    }

    /// Argument `index`, bytes.
    pub fn bytes(&self, index: usize) -> Result<&'a [u8], EvalError> {
        self.value(index).as_bytes().ok_or_else(|| self.unexpected(index))
    }

    /// Argument `index`, an integer from 0 on.
    pub fn count(&self, index: usize) -> Result<usize, EvalError> {
        let given = self.int(index)?;
        usize::try_from(given).map_err(|_| self.fail(format!("{given} is negative")))
    }

    /// Argument `index`, an integer.
    pub fn int(&self, index: usize) -> Result<i64, EvalError> {
        self.value(index).as_int().ok_or_else(|| self.unexpected(index))
    }

    /// Argument `index`, a number.
    pub fn double(&self, index: usize) -> Result<f64, EvalError> {
        self.value(index).as_double().ok_or_else(|| self.unexpected(index))
    }

    /// The elements of argument `index`: a list, vector or matrix.
    pub fn seq(&self, index: usize) -> Result<Seq<'a>, EvalError> {
        self.value(index).as_seq().ok_or_else(|| self.unexpected(index))
    }

    /// Argument `index` as the number of one of `length` elements, counted from 0.
    pub fn index(&self, index: usize, length: usize) -> Result<usize, EvalError> {
        let given = self.int(index)?;
        match usize::try_from(given) {
            Ok(element) if element < length => Ok(element),
            _ => Err(self.fail(format!("no element {given} among {length}"))),
        }
    }

    /// Argument `index` in text form, cut where it is long: for errors.
    pub fn shown(&self, index: usize) -> String {
        const CHARACTERS_MAX: usize = 64;
        let value = self.value(index);
        // Texts and bytes are cut before they are printed: they may be very long.
        let start = match value {
            Value::Str(text) => {
                let end = text.char_indices().nth(CHARACTERS_MAX).map_or(text.len(), |(at, _)| at);
                Value::Str(&text[..end])
            }
            Value::Bytes(bytes) => Value::Bytes(&bytes[..bytes.len().min(CHARACTERS_MAX)]),
            other => other,
        };
        start.to_string()
    }

    /// The error that an argument is wrong for this reason.
    pub fn fail(&self, reason: impl Into<String>) -> EvalError {
        EvalError::Argument { what: self.name, reason: reason.into() }
    }

    fn unexpected(&self, index: usize) -> EvalError {
        let given = self.value(index).type_of().name().to_owned();
        EvalError::Type { what: self.name, given }
    }

    /// A text as the result.
    pub fn give_text(&self, text: &str) -> Result<Value<'a>, EvalError> {
        limits::check_size(self.name, text.len())?;
        Ok(Value::Str(self.scope.scratch.alloc_str(text)))
    }

    /// Bytes as the result.
    pub fn give_bytes(&self, bytes: &[u8]) -> Result<Value<'a>, EvalError> {
        limits::check_size(self.name, bytes.len())?;
        Ok(Value::Bytes(self.scope.scratch.alloc_bytes(bytes)))
    }

    /// The elements of a list, vector or matrix to be made.
    pub fn make_seq<'e>(
        &self,
        elements: impl IntoIterator<Item = Value<'e>>,
    ) -> Result<Seq<'a>, EvalError> {
        let mut list = ListBuilder::new(self.name);
        for element in elements {
            list.push(element)?;
        }
        Ok(list.finish(self.scope.scratch))
    }

    /// A list of these elements as the result.
    pub fn give_list<'e>(
        &self,
        elements: impl IntoIterator<Item = Value<'e>>,
    ) -> Result<Value<'a>, EvalError> {
        self.make_seq(elements).map(Value::List)
    }
}
