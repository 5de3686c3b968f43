//! What the compiler should know besides the program.

use std::sync::Arc;

use tidemill_diag::Span;
use tidemill_relation::TypeSet;
use tidemill_stdx::sorted::SortedMap;

use crate::stage::Registry;

/// What the compiler should know besides the program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Operators that `stage` may name.
    pub operators: Arc<Registry>,
    /// Relations whose insertions are taken from the network beside those that the program exports.
    pub exports: Vec<String>,
    /// Events that other parts of the program give the rules.
    pub given: Vec<Given>,
    /// What the columns, without the location, of relations hold that other parts of the program
    /// fill, unless something else does, too: else they could hold anything.
    pub filled: SortedMap<String, Vec<TypeSet>>,
}

/// An event that another part of the program gives the rules, whose columns it knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The relation, with its namespace.
    pub relation: String,
    /// What each column holds, and where that is said; the first is the location.
    pub columns: Vec<(TypeSet, Span)>,
}
