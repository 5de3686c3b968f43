//! Owners of events.

/// The owner of an event: a node, a packet graph, a component. Turns of one owner never interleave.
///
/// Numbers come from [`Loop::owner`](crate::Loop::owner), which also notes the kind of the
/// owner; one that was not given out there works, and is counted under the loop's own kind.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Owner(pub u32);

impl Owner {
    /// The loop itself, the owner of all other events.
    pub const LOOP: Owner = Owner(0);
}
