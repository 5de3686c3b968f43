//! The origins of types: the statement that first gave a column its type, and the place where a
//! rule takes a variable from a column. Findings about types show both.

use tidemill_diag::{Diagnostic, Span};
use tidemill_relation::TypeSet;

/// The first source of each column's type, by position among the symbols, by column.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    columns: Vec<Vec<Option<Span>>>,
}

/// The column that a rule takes a variable from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'r> {
    /// The relation as the rule writes it.
    pub relation: &'r str,
    /// Its position among the symbols.
    pub at: Option<usize>,
    /// The column, from 0.
    pub column: usize,
    /// The place where the rule binds it.
    pub span: Span,
}

impl Origins {
    /// No origins yet, for relations with these numbers of columns.
    pub fn new(columns: impl Iterator<Item = usize>) -> Origins {
        Origins { columns: columns.map(|count| vec![None; count]).collect() }
    }

    /// Notes the origin of a column's types; the first one counts.
    pub fn note(&mut self, at: usize, column: usize, span: Span) {
        let origin = self.columns.get_mut(at).and_then(|columns| columns.get_mut(column));
        if let Some(origin) = origin {
            origin.get_or_insert(span);
        }
    }

    /// The first origin of a column's types.
    pub fn of(&self, at: usize, column: usize) -> Option<Span> {
        self.columns.get(at)?.get(column).copied().flatten()
    }

    /// Adds the places that explain why a variable has these types.
    pub fn explain(&self, found: Diagnostic, place: Origin<'_>, types: TypeSet) -> Diagnostic {
        let Origin { relation, at, column, span } = place;
        let number = column + 1;
        let found = found.label(span, format!("column {number} of `{relation}` holds {types}"));
        match at.and_then(|at| self.of(at, column)) {
            Some(origin) => found.label(origin, "it has its type from here"),
            None => found,
        }
    }
}
