//! Parts of trees that come from no source.

use tidemill_diag::{FileId, Span};

use crate::ast::{Expr, ExprKind, Name};

/// A name that no program can write.
pub(super) fn name(text: &str) -> Name {
    Name { written: text.to_owned(), resolved: text.to_owned(), span: nowhere() }
}

/// The span of parts that come from no source.
pub(super) fn nowhere() -> Span {
    Span { file: FileId(0), start: 0, end: 0 }
}

pub(super) fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: nowhere() }
}
