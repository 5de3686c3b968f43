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

/// What a rule is called: its label, or a name made from its position, which counts from 0.
pub(crate) fn name_of(rule: &ast::Rule, position: usize) -> String {
    rule.label.as_ref().map_or_else(|| unlabelled(position), |label| label.resolved.clone())
}

/// What a rule without a label is called; `position` counts from 0.
pub(crate) fn unlabelled(position: usize) -> String {
    format!("rule{}", position + 1)
}
