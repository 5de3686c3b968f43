//! Loops and scopes: what runs in which, and what ends with it.

use crate::{Loop, Scope};

impl<W: 'static> Loop<W> {
    /// Has `switch` called before a closure of another scope runs. Where it says that the scope
    /// has ended, for which it has done nothing, the closure is dropped and counted.
    pub fn on_switch(&mut self, switch: fn(&mut W, Scope) -> bool) {
        self.switch = Some(switch);
    }

    /// The scope of what runs.
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

    /// Ends the watches and timers of a scope, before what they are about goes. Events that are
    /// queued go when their turn comes: see [`Loop::on_switch`].
    pub fn end(&mut self, scope: Scope) {
        for id in self.watches_of(scope) {
            self.unwatch(id);
        }
        self.timers.retain(|timer| timer.scope != scope);
    }

    /// Turns the world to a scope; false if that has ended.
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
