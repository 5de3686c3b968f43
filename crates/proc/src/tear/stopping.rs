//! A tree whose processes are being killed.

use crate::component::ComponentId;

/// A tree that is being stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopping {
    pub(crate) root: ComponentId,
    /// The next one, in preorder.
    pub(crate) next: ComponentId,
}
