//! The options of the compiler.

use std::sync::Arc;

use tidemill_diag::Span;
use tidemill_relation::TypeSet;
use tidemill_stdx::sorted::SortedMap;

use crate::stage::Registry;

/// The options of the compiler.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Operators that `stage` may name.
    pub operators: Arc<Registry>,
    /// Relations whose insertions are taken from the network beside those that the program exports.
    pub exports: Vec<String>,
    /// Events that other parts of the program pass to the rules.
    pub given: Vec<Given>,
    /// The types of the columns, without the location, of relations that other parts of the program
    /// fill, unless something else does, too: else they could hold any.
    pub filled: SortedMap<String, Vec<TypeSet>>,
    /// Tables that other parts of the program have.
    pub foreign: Vec<ForeignTable>,
    /// Predeclared tables whose rows come from outside: they exist even if no rule names them.
    pub filled_from_outside: Vec<String>,
}

/// A table that another part of the program has, and which rules read or write by its name, without
/// a declaration of their own. Its rows do not expire here: that part removes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignTable {
    /// Its name, with its namespace.
    pub relation: String,
    /// The types of each column; the first is the location.
    pub columns: Vec<TypeSet>,
    /// Columns (from 0) of the primary key.
    pub key: Vec<u32>,
    /// The part that fills it, if one does: then rules only read it.
    pub filled_by: Option<String>,
    /// Its form in rules, with a name for each column.
    pub form: String,
    /// The span of its declaration.
    pub span: Span,
}

/// An event that another part of the program passes to the rules, with known columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Given {
    /// The relation, with its namespace.
    pub relation: String,
    /// The types of each column, and the place of their declaration; the first is the location.
    pub columns: Vec<(TypeSet, Span)>,
}
