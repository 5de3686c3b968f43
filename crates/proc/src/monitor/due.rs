//! Components whose conditions are to be looked at later.

use crate::component::ComponentId;

/// What is to be looked at.
#[derive(Default)]
pub(crate) struct Looker {
    pub(crate) due: Vec<Due>,
    /// What the slice has left beyond the steps to the next look.
    pub(crate) lent: i64,
}

/// A component, and how often it has been passed over.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) component: ComponentId,
    pub(crate) passed: u8,
}

impl Looker {
    /// What is to be looked at.
    pub(crate) fn due(&self) -> &[Due] {
        &self.due
    }

    /// The same to be taken over.
    pub(crate) fn due_mut(&mut self) -> &mut Vec<Due> {
        &mut self.due
    }
}
