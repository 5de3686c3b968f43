//! Parts of trees that were written nowhere.

use tidemill_diag::{FileId, Span};

use crate::ast::{Expr, ExprKind, Name};

/// A name that no program can write.
pub(super) fn name(text: &str) -> Name {
    Name { written: text.to_owned(), resolved: text.to_owned(), span: nowhere() }
}

/// The span of what was written nowhere.
pub(super) fn nowhere() -> Span {
    Span { file: FileId(0), start: 0, end: 0 }
}

pub(super) fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: nowhere() }
}
