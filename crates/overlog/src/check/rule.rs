//! Checked rules.

use crate::ast;

/// A rule without errors.
pub(crate) struct CheckedRule<'a> {
    pub ast: &'a ast::Rule,
    /// The label, or one made from its position.
    pub name: String,
    /// The position among all rules of the program.
    pub position: usize,
}

/// The name of a rule: its label, or a name made from its position, which counts from 0.
pub(crate) fn name_of(rule: &ast::Rule, position: usize) -> String {
    rule.label.as_ref().map_or_else(|| unlabelled(position), |label| label.resolved.clone())
}

/// The name of a rule without a label; `position` counts from 0.
pub(crate) fn unlabelled(position: usize) -> String {
    format!("rule{}", position + 1)
}
