//! Rules that make sense.

use crate::ast;

/// A rule that makes sense.
pub(crate) struct CheckedRule<'a> {
    pub ast: &'a ast::Rule,
    /// The label, or one made from its position.
    pub name: String,
    /// The position among all rules of the program.
    pub position: usize,
}

/// What a rule without a label is called; `position` counts from 0.
pub(crate) fn unlabelled(position: usize) -> String {
    format!("rule{}", position + 1)
}
