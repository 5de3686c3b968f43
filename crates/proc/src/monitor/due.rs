//! Components whose conditions are to be evaluated later.

use crate::component::ComponentId;

/// The components to visit.
#[derive(Default)]
pub(crate) struct Looker {
    pub(crate) due: Vec<Due>,
    /// The rest of the slice beyond the steps to the next visit.
    pub(crate) lent: i64,
}

/// A component, and how often it has been passed over.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) component: ComponentId,
    pub(crate) passed: u8,
}

impl Looker {
    /// The components to visit.
    pub(crate) fn due(&self) -> &[Due] {
        &self.due
    }

    /// The same to be taken over.
    pub(crate) fn due_mut(&mut self) -> &mut Vec<Due> {
        &mut self.due
    }
}
