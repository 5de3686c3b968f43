//! Switches between the nodes of a machine.

use tidemill_event::{Loop, Scope};
use tidemill_overlog::fleet::NodeId;

use super::Machine;
use super::node::{Node, Others, Slot, slot};

impl Machine {
    /// Makes the loop switch the machine to the node of each event.
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

    /// Adds a node, or a new life of one; returns its scope.
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

    /// The scope of a live node that has one of its own.
    pub(crate) fn scope_of(&self, id: NodeId) -> Option<Scope> {
        self.others.slots.get(slot(id))?.scope
    }

    /// Whether nothing is in transit between the engines of all nodes.
    pub(super) fn borders_are_idle(&self) -> bool {
        // One that computes may be about to ask for the next change, or for the end.
        let may_ask = |node: &Node| node.borders.has_listeners() && !node.runner.all_wait();
        self.nodes().all(|node| node.borders.are_idle() && !may_ask(node))
    }

    /// Whether components receive changes of tables.
    pub(crate) fn has_listeners(&self) -> bool {
        self.nodes().any(|node| node.borders.has_listeners())
    }

    /// The current node, and those that are in scopes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        let others = self.others.slots.iter().filter_map(|slot| slot.node.as_deref());
        others.chain([&*self.node])
    }

    /// Whether processes of some node are ready.
    pub(super) fn components_run(&self) -> bool {
        !self.all_nodes(|node| node.runner.all_wait())
    }

    /// Whether nodes have scopes of their own.
    pub(crate) fn has_scopes(&self) -> bool {
        self.others.scopes.len() > 1
    }

    /// Calls `f` with a node as the current one; `None` if the node has rules only, or is down.
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

    /// Whether the main parts of all nodes have ended.
    pub(super) fn all_are_over(&self) -> bool {
        self.all_nodes(|node| node.is_over)
    }

    /// Whether there are live nodes, and all of them are so.
    pub(super) fn all_nodes(&self, is_so: impl Fn(&Node) -> bool) -> bool {
        if !self.has_scopes() {
            return is_so(&self.node);
        }
        let others = self.others.slots.iter().skip(1).filter_map(|slot| slot.node.as_ref());
        let current = (self.others.current > 0).then_some(&self.node);
        let mut living = others.chain(current).peekable();
        living.peek().is_some() && living.all(|node| is_so(node))
    }
}
