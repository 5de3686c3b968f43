//! The descriptor list: what is watched, with separate handlers for read, write and error.
//!
//! Reports are by level: as long as there is something to read, each poll reports it once. Handlers
//! run between turns and usually queue an event; deferring from them makes an event too. From
//! inside a handler its own watch can be changed, ended, and restarted.

use std::io;

use crate::event_loop::{Handlers, OnReady};
use crate::slab::Key;
use crate::source::{Interest, Ready, Source, SourceError};
use crate::watches::{Watch, WatchId};
use crate::{Loop, Scope};

impl<W: 'static> Loop<W> {
    /// Watches a descriptor or an endpoint. A source can be watched once at a time.
    ///
    /// # Errors
    /// `InvalidInput` if `interest` has no handler to go with it, else what the host reports:
    /// a closed descriptor, one watched already, or one that cannot be waited for (a file).
    pub fn watch(
        &mut self,
        source: impl Into<Source>,
        interest: Interest,
        handlers: Handlers<W>,
    ) -> io::Result<WatchId> {
        if !handlers.covers(interest) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "interest without handler"));
        }
        let source = source.into();
        let (reads, writes) = (handlers.read.is_some(), handlers.write.is_some());
        let watch = Watch { scope: self.scope, source, handlers, reads, writes };
        let key = self.watches.slab.insert(watch);
        match self.host.register(source, key.to_word(), interest) {
            Ok(()) => Ok(WatchId(key)),
            Err(error) => {
                self.watches.slab.remove(key);
                Err(error)
            }
        }
    }

    /// Changes what is reported to a watch.
    ///
    /// # Errors
    /// `NotFound` if the watch has ended, `InvalidInput` if `interest` has no handler, else what
    /// the host reports.
    pub fn modify(&mut self, id: WatchId, interest: Interest) -> io::Result<()> {
        let Some(watch) = self.watches.slab.get(id.0) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no such watch"));
        };
        if interest.reads() && !watch.reads || interest.writes() && !watch.writes {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "interest without handler"));
        }
        self.host.modify(watch.source, id.0.to_word(), interest)
    }

    /// Ends a watch; false if it had ended. Its handlers are dropped, a running one after it
    /// has returned.
    pub fn unwatch(&mut self, id: WatchId) -> bool {
        let Some(watch) = self.watches.slab.remove(id.0) else { return false };
        self.host.deregister(watch.source, id.0.to_word());
        true
    }

    /// The watches of a scope.
    pub(crate) fn watches_of(&self, scope: Scope) -> Vec<WatchId> {
        let of_scope = self.watches.slab.iter().filter(|(_, watch)| watch.scope == scope);
        of_scope.map(|(key, _)| WatchId(key)).collect()
    }

    /// The number of watched sources.
    pub fn watched(&self) -> usize {
        self.watches.slab.len()
    }

    /// Calls the handlers of one source that the host reported.
    pub(crate) fn serve(&mut self, world: &mut W, ready: Ready) {
        let id = WatchId(Key::from_word(ready.token));
        let Some(watch) = self.watches.slab.get(id.0) else {
            // Ended by a handler that ran before it in the same round.
            return;
        };
        if !self.enter(world, watch.scope) {
            self.unwatch(id);
            return;
        }
        self.stats.served += 1;
        self.steps += 1;
        match ready.error {
            Some(SourceError::Lasting(error)) => return self.fail(world, id, error),
            Some(SourceError::Transient(error)) => self.report_error(world, id, error),
            None => {}
        }
        if ready.readable {
            self.call(world, id, |handlers| &mut handlers.read);
        }
        if ready.writable {
            self.call(world, id, |handlers| &mut handlers.write);
        }
    }

    /// Calls one handler, which is taken out of its slot meanwhile so that it may end its own
    /// watch.
    fn call(
        &mut self,
        world: &mut W,
        id: WatchId,
        handler_of: impl Fn(&mut Handlers<W>) -> &mut Option<OnReady<W>>,
    ) {
        let Some(watch) = self.watches.slab.get_mut(id.0) else { return };
        let Some(mut handler) = handler_of(&mut watch.handlers).take() else { return };
        handler(world, self, id);
        if let Some(watch) = self.watches.slab.get_mut(id.0) {
            *handler_of(&mut watch.handlers) = Some(handler);
        }
    }

    /// Reports an error to the watch, which lives on.
    fn report_error(&mut self, world: &mut W, id: WatchId, error: io::Error) {
        self.stats.errors += 1;
        let Some(watch) = self.watches.slab.get_mut(id.0) else { return };
        let Some(mut handler) = watch.handlers.error.take() else { return };
        handler(world, self, id, error);
        if let Some(watch) = self.watches.slab.get_mut(id.0) {
            watch.handlers.error = Some(handler);
        }
    }

    /// Ends the watch, then reports why; without a handler it is only counted.
    fn fail(&mut self, world: &mut W, id: WatchId, error: io::Error) {
        self.stats.errors += 1;
        let Some(watch) = self.watches.slab.remove(id.0) else { return };
        self.host.deregister(watch.source, id.0.to_word());
        if let Some(mut handler) = watch.handlers.error {
            handler(world, self, id, error);
        }
    }
}
