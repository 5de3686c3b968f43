//! Launched components, which have no client: see `root`.

use crate::handle::{ChannelRef, ComponentRef};
use crate::layout::SYSTEM;
use crate::machine::Worker;
use crate::outside::state::Over;

/// Whether a component was launched: it has no owner and no client.
#[inline]
pub(crate) fn is_launched(worker: &Worker, component: ComponentRef) -> bool {
    worker.machine.outside.has_launched
        && component.owner().is_null()
        && component.descriptor().offered.is_empty()
        && component.id() != worker.machine.entry
}

/// Notes the end of a launched component for the embedder.
pub(crate) fn note_over(worker: &mut Worker, component: ComponentRef, fault: Option<String>) {
    if is_launched(worker, component) {
        worker.machine.outside.over.push_back(Over { component: component.id(), fault });
        worker.machine.attend();
    }
}

/// Notes for the embedder that a component which it has [ended](Worker::end) is gone.
pub(crate) fn note_gone(worker: &mut Worker, component: ComponentRef) {
    let ending = &mut worker.machine.outside.ending;
    if ending.is_empty() {
        return;
    }
    if let Some(name) = ending.remove(&component.id()) {
        worker.renote(name);
    }
}

/// The component at the top of a tree.
pub(super) fn top(mut component: ComponentRef) -> ComponentRef {
    while let Some(owner) = component.owner().some() {
        component = owner;
    }
    component
}

/// The terminating launched component for which no more comes over a channel that the embedder has
/// ended.
pub(crate) fn retires(
    worker: &Worker,
    component: ComponentRef,
    channel: ChannelRef,
) -> Option<ComponentRef> {
    if !channel.has(SYSTEM) {
        return None;
    }
    let root = top(component);
    (root.is_terminating() && is_launched(worker, root)).then_some(root)
}
