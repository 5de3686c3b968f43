//! Families of operators with a common prefix, each made when a program names it: the interface of
//! other parts of the system to rules.

use tidemill_diag::Span;

use super::{Declaration, Operator};

/// Operators of one prefix.
pub trait Family: Send + Sync {
    /// The prefix of their names, such as `proto:`.
    fn prefix(&self) -> &str;

    /// The declaration of the operator of this name, prefix included.
    ///
    /// # Errors
    /// The error in the name.
    fn declaration(&self, name: &str) -> Result<Declaration, Missing>;

    /// The place in the sources of the program that a name refers to, even if there is no operator.
    fn source(&self, _name: &str) -> Option<Span> {
        None
    }

    /// An instance for a node; `None` where there is no declaration.
    fn construct(&self, name: &str) -> Option<Box<dyn Operator>>;

    /// Shows each counter that its operators have beside those of all stages: name of the border,
    /// name of the counter, count; always in one order.
    fn counters(&self, _show: &mut dyn FnMut(&str, &str, u64)) {}
}

/// Why a family has no operator of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// The error.
    pub message: String,
    /// A suggestion.
    pub help: String,
}
