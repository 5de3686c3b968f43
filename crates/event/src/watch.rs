//! The descriptor list: what is watched, with separate handlers for read, write and error.
//!
//! Reports are by level: as long as there is something to read, each poll says so once. Handlers
//! run between turns and usually queue an event; deferring from them makes an event too. From
//! inside a handler its own watch can be changed, ended, and begun anew.

use std::io;

use crate::host::{Interest, Ready, Source, Trouble};
use crate::slab::{Key, Slab};
use crate::{Loop, Scope};

/// Names one watch of one loop.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WatchId(pub(crate) Key);

type OnReady<W> = Box<dyn FnMut(&mut W, &mut Loop<W>, WatchId)>;
type OnError<W> = Box<dyn FnMut(&mut W, &mut Loop<W>, WatchId, io::Error)>;

/// What to call when a watched source has something to say.
///
/// Handlers are bound when the watch begins, so there is no moment at which a source could be
/// ready with nobody to notify.
pub struct Handlers<W> {
    read: Option<OnReady<W>>,
    write: Option<OnReady<W>>,
    error: Option<OnError<W>>,
}

impl<W> Default for Handlers<W> {
    fn default() -> Handlers<W> {
        Handlers::new()
    }
}

impl<W> Handlers<W> {
    /// No handlers yet.
    pub fn new() -> Handlers<W> {
        Handlers { read: None, write: None, error: None }
    }

    /// Calls `f` when the source can be read, or is at its end.
    pub fn read(mut self, f: impl FnMut(&mut W, &mut Loop<W>, WatchId) + 'static) -> Self {
        self.read = Some(Box::new(f));
        self
    }

    /// Calls `f` when the source can be written.
    pub fn write(mut self, f: impl FnMut(&mut W, &mut Loop<W>, WatchId) + 'static) -> Self {
        self.write = Some(Box::new(f));
        self
    }

    /// Calls `f` when the source fails. If it failed for good (its descriptor was closed, or
    /// its other side was), the watch has ended by then and the id names nothing any more.
    pub fn error(
        mut self,
        f: impl FnMut(&mut W, &mut Loop<W>, WatchId, io::Error) + 'static,
    ) -> Self {
        self.error = Some(Box::new(f));
        self
    }

    fn covers(&self, interest: Interest) -> bool {
        (!interest.reads() || self.read.is_some()) && (!interest.writes() || self.write.is_some())
    }
}

struct Watch<W> {
    scope: Scope,
    source: Source,
    handlers: Handlers<W>,
    /// What there are handlers for, some of which may be running and so absent from `handlers`.
    reads: bool,
    writes: bool,
}

/// The watches of a loop.
pub(crate) struct Watches<W> {
    slab: Slab<Watch<W>>,
}

impl<W> Watches<W> {
    pub(crate) fn new() -> Watches<W> {
        Watches { slab: Slab::new() }
    }
}

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

    /// Changes what a watch is told of.
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

    /// How many sources are watched.
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
        match ready.trouble {
            Some(Trouble::Lasting(error)) => return self.fail(world, id, error),
            Some(Trouble::Passing(error)) => self.complain(world, id, error),
            None => {}
        }
        if ready.readable {
            self.call(world, id, |handlers| &mut handlers.read);
        }
        if ready.writable {
            self.call(world, id, |handlers| &mut handlers.write);
        }
    }

    /// Calls one handler, out of its place meanwhile so that it may end its own watch.
    fn call(
        &mut self,
        world: &mut W,
        id: WatchId,
        place: impl Fn(&mut Handlers<W>) -> &mut Option<OnReady<W>>,
    ) {
        let Some(watch) = self.watches.slab.get_mut(id.0) else { return };
        let Some(mut handler) = place(&mut watch.handlers).take() else { return };
        handler(world, self, id);
        if let Some(watch) = self.watches.slab.get_mut(id.0) {
            *place(&mut watch.handlers) = Some(handler);
        }
    }

    /// Reports an error to the watch, which lives on.
    fn complain(&mut self, world: &mut W, id: WatchId, error: io::Error) {
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
