//! Stages: operators outside the rule language, between two events of a program.
//!
//! ```text
//! stage("TOKENIZER", line, word).
//!
//! line(@N, Delimiters, Text) -> operator -> word(@N, Token), word(@N, Token), ...
//! ```
//! For each tuple of the input event the operator is started once and yields rows, which join the
//! turn as tuples of the output event, in order; rows from outside, such as those of a file, join
//! later turns ([`Phase`]). Columns are matched by position. The location is not the operator's
//! concern: it sees the other columns, and its output has the location of its input.
//!
//! Rows are *pulled*: the node requests one after the other, and when a turn has reached its limit
//! the rest waits for a later turn. So an operator that reads a file of any size needs no more
//! memory than a row, and blocks no turn.
//!
//! An operator is declared once ([`Declaration`]); the checker, the check of inputs at run time and
//! the catalogue use that. The [`Registry`] holds the built-in ones and those that a program's host
//! adds:
//!
//! ```
//! use tidemill_overlog::stage::{Declaration, Failure, Input, Operator, Registry, Rows, rows};
//! use tidemill_relation::{OwnedValue, TypeSet, Value};
//!
//! /// Yields the numbers below the one that it is given.
//! struct Count;
//!
//! impl Operator for Count {
//!     fn start(&mut self, input: Input<'_>) -> Result<Box<dyn Rows>, Failure> {
//!         let numbers = 0..input.int(0)?;
//!         Ok(rows(numbers.map(|number| vec![OwnedValue::new(Value::Int(number))])))
//!     }
//! }
//!
//! let mut registry = Registry::default();
//! let declaration = Declaration::new("COUNT")
//!     .reads("end", TypeSet::INT)
//!     .yields("number", TypeSet::INT)
//!     .doc("The integers from 0 to `end`, without `end`.");
//! registry.add(declaration, |_| Box::new(Count))?;
//! assert!(registry.find("COUNT").is_some());
//! # Ok::<(), tidemill_overlog::stage::NameTaken>(())
//! ```

mod context;
mod csv;
mod declared;
mod failure;
mod family;
mod files;
mod records;
mod registry;
#[cfg(test)]
mod tests;
mod tokenizer;

use tidemill_relation::{OwnedValue, Seq, SeqBuilder, Value};

pub use context::{Context, Readable};
pub use declared::{Column, Columns, Declaration, Example, Leading, Works};
pub use failure::Failure;
pub use family::{Family, Missing};
pub use files::{DataFiles, Folder, Memory};
pub use registry::{NameTaken, Registry};

/// An operator as one node runs it: it may keep state from one input to the next.
pub trait Operator: Send {
    /// Takes an input and starts to yield its rows.
    ///
    /// # Errors
    /// The error in this input, which is dropped, counted, and reported once per stage.
    fn start(&mut self, input: Input<'_>) -> Result<Box<dyn Rows>, Failure>;
}

/// The rows of an operator for one input, pulled one by one.
pub trait Rows: Send {
    /// Puts the columns of the next row, without the location, into `row`, which is empty.
    ///
    /// Should do no more work than for one row, and return [`Next::Skipped`] if it finds none with
    /// that.
    ///
    /// # Errors
    /// Why this row cannot be had; the next one will still be requested.
    fn next(&mut self, row: &mut SeqBuilder) -> Result<Next, Failure>;

    /// When the first row may be requested.
    fn phase(&self) -> Phase {
        Phase::Now
    }
}

/// The phase in which rows are yielded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// In the turn of the input, for computed rows.
    Now,
    /// In turns of their own, for rows from outside: no turn waits for a file.
    Later,
}

/// The result of requesting a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A row.
    Row,
    /// Nothing yet; ask again.
    Skipped,
    /// Nothing has come yet from outside; ask again in a while.
    Waiting,
    /// There are no more.
    End,
}

/// The columns of an input without the location; their number and types are as declared.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    columns: &'a [Value<'a>],
}

impl<'a> Input<'a> {
    /// An input of these columns, which were checked against the declaration.
    pub fn new(columns: &'a [Value<'a>]) -> Input<'a> {
        Input { columns }
    }

    /// All columns.
    pub fn columns(&self) -> &'a [Value<'a>] {
        self.columns
    }

    /// Column `index`; null beyond the last.
    pub fn value(&self, index: usize) -> Value<'a> {
        self.columns.get(index).copied().unwrap_or(Value::Null)
    }

    /// Column `index`, a text.
    ///
    /// # Errors
    /// It is none: the declaration does not say that it must be one.
    pub fn text(&self, index: usize) -> Result<&'a str, Failure> {
        self.value(index).as_str().ok_or_else(|| self.unexpected(index, "string"))
    }

    /// Column `index`, an integer.
    ///
    /// # Errors
    /// As [`Input::text`].
    pub fn int(&self, index: usize) -> Result<i64, Failure> {
        self.value(index).as_int().ok_or_else(|| self.unexpected(index, "int64"))
    }

    fn unexpected(&self, index: usize, wanted: &str) -> Failure {
        let given = self.value(index).type_of().name();
        Failure::Operator(format!("column {} is {given}, not {wanted}", index + 1))
    }
}

/// Rows from an iterator over their columns.
pub fn rows(
    rows: impl IntoIterator<Item = Vec<OwnedValue>, IntoIter: Send + 'static>,
) -> Box<dyn Rows> {
    struct Iterated<I>(I);

    impl<I: Iterator<Item = Vec<OwnedValue>> + Send> Rows for Iterated<I> {
        fn next(&mut self, row: &mut SeqBuilder) -> Result<Next, Failure> {
            let Some(columns) = self.0.next() else { return Ok(Next::End) };
            columns.iter().for_each(|column| row.push(column.get()));
            Ok(Next::Row)
        }
    }
    Box::new(Iterated(rows.into_iter()))
}

/// A row of the output event: `row` with the location put in as column `location`.
///
/// `None` if that does not make a tuple of `arity` columns.
pub(crate) fn output_columns<'a>(
    row: Seq<'a>,
    address: &'a str,
    location: usize,
    arity: usize,
) -> Option<Vec<Value<'a>>> {
    if row.len() + 1 != arity || location >= arity {
        return None;
    }
    let mut columns: Vec<Value<'a>> = Vec::with_capacity(arity);
    columns.extend(row.iter());
    columns.insert(location, Value::Str(address));
    Some(columns)
}
