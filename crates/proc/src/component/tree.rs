//! The tree: owners and their sub-components.

use super::husk;
use crate::crew;
use crate::fault::Reason;
use crate::handle::ComponentRef;

/// Enters a component among its owner's.
pub(crate) fn adopt(owner: ComponentRef, component: ComponentRef) {
    component.set_owner(owner);
    if owner.is_null() {
        return;
    }
    let first = owner.first_child();
    component.set_next_sibling(first);
    // Before the first is the last.
    if first.is_null() {
        component.set_previous_sibling(component);
    } else {
        component.set_previous_sibling(first.previous_sibling());
        first.set_previous_sibling(component);
    }
    owner.set_first_child(component);
    owner.set_child_count(owner.child_count() + 1);
}

/// Puts the first of a component's sub-components after the others, and returns it.
pub(crate) fn rotate(owner: ComponentRef) -> ComponentRef {
    let first = owner.first_child();
    if let Some(second) = first.some().and_then(|first| first.next_sibling().some()) {
        first.previous_sibling().set_next_sibling(first);
        first.set_next_sibling(ComponentRef::NULL);
        second.set_previous_sibling(first);
        owner.set_first_child(second);
    }
    first
}

/// Takes a component out of its owner's list.
pub(crate) fn orphan(component: ComponentRef) {
    let owner = component.owner();
    if owner.is_null() {
        return;
    }
    let (next, previous) = (component.next_sibling(), component.previous_sibling());
    if owner.first_child() == component {
        owner.set_first_child(next);
    } else {
        previous.set_next_sibling(next);
    }
    // The last one's neighbour is the first.
    if let Some(neighbour) = next.some().or(owner.first_child().some()) {
        neighbour.set_previous_sibling(previous);
    }
    owner.set_child_count(owner.child_count() - 1);
    component.set_owner(ComponentRef::NULL);
}

/// Hands a component over to another owner, as a message does.
pub(crate) fn hand_over(component: ComponentRef, owner: ComponentRef) -> Result<(), Reason> {
    if owner.is_null() || husk::is_husk(component) {
        return Err(Reason::NotMovable);
    }
    if owner.is_within(component) {
        return Err(Reason::OwnershipCycle);
    }
    orphan(component);
    adopt(owner, component);
    crew::tie(owner, component);
    Ok(())
}
