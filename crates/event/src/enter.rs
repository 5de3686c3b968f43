//! Entering and ending scopes.

use crate::{Loop, Scope};

impl<W: 'static> Loop<W> {
    /// Sets the function that is called before a closure of another scope runs. If it returns
    /// false, as the scope has ended, it has changed nothing, and the closure is dropped and
    /// counted.
    pub fn on_switch(&mut self, switch: fn(&mut W, Scope) -> bool) {
        self.switch = Some(switch);
    }

    /// The current scope.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Runs `f` in a scope; `None` if that has ended. A scope is not ended from within itself.
    pub fn within<R>(
        &mut self,
        world: &mut W,
        scope: Scope,
        f: impl FnOnce(&mut W, &mut Loop<W>) -> R,
    ) -> Option<R> {
        let before = self.scope;
        if !self.enter(world, scope) {
            return None;
        }
        let result = f(world, self);
        self.enter(world, before);
        Some(result)
    }

    /// Ends the watches and timers of a scope, before their subject is dropped. Queued events are
    /// dropped when their turn comes: see [`Loop::on_switch`].
    pub fn end(&mut self, scope: Scope) {
        for id in self.watches_of(scope) {
            self.unwatch(id);
        }
        self.timers.retain(|timer| timer.scope != scope);
    }

    /// Switches the world to a scope; false if that has ended.
    #[inline]
    pub(crate) fn enter(&mut self, world: &mut W, scope: Scope) -> bool {
        scope == self.scope || self.switch_to(world, scope)
    }

    #[cold]
    fn switch_to(&mut self, world: &mut W, scope: Scope) -> bool {
        let lives = self.switch.is_none_or(|switch| switch(world, scope));
        if lives {
            self.scope = scope;
        } else {
            self.stats.dropped_ended += 1;
        }
        lives
    }
}
