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
    /// Tables that other parts of the program have.
    pub foreign: Vec<ForeignTable>,
}

/// A table that another part of the program has, and which rules read or write by its name, without
/// a declaration of their own. Its rows do not expire here: that part says when they go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignTable {
    /// Its name, with its namespace.
    pub relation: String,
    /// What each column holds; the first is the location.
    pub columns: Vec<TypeSet>,
    /// Columns (from 0) of the primary key.
    pub key: Vec<u32>,
    /// Who fills it: then rules only read it.
    pub filled_by: Option<String>,
    /// How a rule writes it, with a name for each column.
    pub form: String,
    /// Where it is declared.
    pub span: Span,
}

/// An event that another part of the program gives the rules, whose columns it knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The relation, with its namespace.
    pub relation: String,
    /// What each column holds, and where that is said; the first is the location.
    pub columns: Vec<(TypeSet, Span)>,
}
