//! Which node it is the turn of.

use tidemill_event::{Loop, Scope};
use tidemill_overlog::fleet::NodeId;

use super::Machine;
use super::node::{Node, Others, Slot, slot};

impl Machine {
    /// Has the loop turn the machine to the node that something is about.
    pub(crate) fn follow(events: &mut Loop<Machine>) {
        events.on_switch(|machine: &mut Machine, Scope(scope)| {
            let slot = machine.others.scopes.get(scope as usize).copied().flatten();
            slot.inspect(|&slot| machine.turn_to(slot)).is_some()
        });
    }

    fn turn_to(&mut self, slot: usize) {
        let Others { slots, current, .. } = &mut self.others;
        if let Some(node) = slots.get_mut(slot).and_then(|slot| slot.node.take()) {
            slots[*current].node = Some(std::mem::replace(&mut self.node, node));
            *current = slot;
        }
    }

    /// Adds a node, or a new life of one; the scope of that.
    pub(crate) fn add_node(&mut self, node: Node) -> Scope {
        let slot = slot(node.id);
        let Others { slots, scopes, .. } = &mut self.others;
        if slots.len() <= slot {
            slots.resize_with(slot + 1, Slot::default);
        }
        let scope = Scope(scopes.len() as u32);
        scopes.push(Some(slot));
        slots[slot] = Slot { node: Some(Box::new(node)), scope: Some(scope) };
        scope
    }

    /// The scope of a node that has one of its own, and lives.
    pub(crate) fn scope_of(&self, id: NodeId) -> Option<Scope> {
        self.others.slots.get(slot(id))?.scope
    }

    /// Whether nothing is under way between the engines of all nodes.
    pub(super) fn borders_are_idle(&self) -> bool {
        let others = self.others.slots.iter().filter_map(|slot| slot.node.as_ref());
        others.chain([&self.node]).all(|node| node.borders.are_idle())
    }

    /// Whether nodes have scopes of their own.
    pub(crate) fn has_scopes(&self) -> bool {
        self.others.scopes.len() > 1
    }

    /// Calls `f` with the machine turned to a node; `None` if that has no engines but rules, or
    /// does not live.
    pub(crate) fn at_node<R>(
        &mut self,
        id: NodeId,
        f: impl FnOnce(&mut Machine) -> R,
    ) -> Option<R> {
        if !self.has_scopes() {
            return (self.node.id == id).then(|| f(self));
        }
        self.scope_of(id)?;
        let before = self.others.current;
        self.turn_to(slot(id));
        let result = f(self);
        self.turn_to(before);
        Some(result)
    }

    /// Whether the main parts of all nodes that live have ended, and there are some.
    pub(super) fn all_are_over(&self) -> bool {
        let others = self.others.slots.iter().skip(1).filter_map(|slot| slot.node.as_ref());
        let current = (self.others.current > 0).then_some(&self.node);
        let mut living = others.chain(current).peekable();
        living.peek().is_some() && living.all(|node| node.is_over)
    }
}
