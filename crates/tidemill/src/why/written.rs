//! The rules of a running node, and whether a tuple in question fits them.

use std::fmt;
use std::time::Duration;

use tidemill_overlog::absent::{Rules, RulesError};
use tidemill_overlog::program::Written;
use tidemill_relation::OwnedValue;
use tidemill_relation::text::TextError;

use crate::ask::{AskError, Asker};

/// Why a tuple cannot be explained.
#[derive(Debug)]
pub enum WhyError {
    /// The text is not a tuple.
    Text(TextError),
    /// The node does not answer.
    Ask(AskError),
    /// The rules of the node do not parse.
    Rules(RulesError),
    /// The node has not recorded the tuple.
    Unknown,
    /// The relation is unknown to the node's program; with a similar one.
    NoRelation(String, Option<String>),
    /// The relation has another number of columns.
    Columns {
        /// The relation.
        name: String,
        /// The numbers with which rules use it, at least one.
        known: Vec<usize>,
        /// The number of the tuple.
        given: usize,
    },
}

impl fmt::Display for WhyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhyError::Text(error) => write!(f, "this is no tuple: {error}"),
            WhyError::Ask(error) => error.fmt(f),
            WhyError::Rules(error) => error.fmt(f),
            WhyError::NoRelation(name, similar) => {
                write!(f, "the program has no relation `{name}`")?;
                similar.iter().try_for_each(|it| write!(f, "; is `{it}` meant?"))
            }
            WhyError::Columns { name, known, given } => {
                let known: Vec<String> = known.iter().map(usize::to_string).collect();
                let known = known.join(" or ");
                write!(f, "`{name}` has {known} columns, location included, not {given}")
            }
            WhyError::Unknown => f.write_str(
                "nothing is recorded of this tuple: only what `trace` names is, and what is new",
            ),
        }
    }
}

impl std::error::Error for WhyError {}

/// The rules of a node, in the order of their places.
pub(super) fn rules(asker: &mut Asker, timeout: Duration) -> Result<Rules, WhyError> {
    let rows = asker.ask("sys::source", timeout).map_err(WhyError::Ask)?.rows;
    let written = |row: &Vec<OwnedValue>| {
        let (name, place, text) =
            (column_text(row, 1)?, column_text(row, 2)?, column_text(row, 3)?);
        Some(Written { name, place, text })
    };
    let mut written: Vec<Written> = rows.iter().filter_map(written).collect();
    written.sort_by_cached_key(|it| {
        let mut parts = it.place.rsplitn(3, ':');
        let mut number = || parts.next().and_then(|it| it.parse::<u32>().ok());
        let (column, line) = (number(), number());
        (parts.next().map(str::to_owned), line, column)
    });
    Rules::read(&written).map_err(WhyError::Rules)
}

/// Whether rules mention a relation, and with this number of columns. Tables of the system need
/// not be mentioned.
pub(super) fn check(rules: &Rules, name: &str, given: usize) -> Result<(), WhyError> {
    if name.starts_with("sys::") {
        return Ok(());
    }
    rules.find(name).map_err(|similar| WhyError::NoRelation(name.to_owned(), similar))?;
    let known = rules.columns(name);
    if known.is_empty() || known.contains(&given) {
        return Ok(());
    }
    Err(WhyError::Columns { name: name.to_owned(), known: known.iter().copied().collect(), given })
}

/// The text in a column of a row.
pub(super) fn column_text(row: &[OwnedValue], column: usize) -> Option<String> {
    Some(row.get(column)?.get().as_str()?.to_owned())
}
