//! The memory of a message with all that is in it, shared by the Python objects that read it.
//!
//! ```text
//!   Message object --.
//!   Message object --+--> Arc<Tree> --> wire's Message: arena with all records
//!   Message object --'        '-------> Arc<Shared>: schema, names, machine code
//! ```
//! Objects hold addresses of records. Records do not move and are freed with the tree, so an object
//! of a message that was taken out of its parent reads what it had, as in the stock package. The
//! one operation that frees records, [`Tree::reuse`], requires that no other object has the tree.
//!
//! The interpreter's lock is the only lock: the module requires it (`gil_used`). References into a
//! tree never outlive a call into the interpreter, but for reading: reads are counted, and a
//! change during one (by a finalizer, for example) is an error.

use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use pyo3::prelude::*;
use tidemill_wire::message::{AccessError, Message, MessageAddress, MessageMut, MessageRef};
use tidemill_wire::{DecodeError, MessageId};

use crate::error;
use crate::shared::Shared;

/// See the module.
pub(crate) struct Tree {
    message: ManuallyDrop<UnsafeCell<Message<'static>>>,
    /// Reads under way.
    readers: Cell<u32>,
    /// Operations under way that keep addresses of records while the interpreter runs.
    pins: Cell<u32>,
    shared: Arc<Shared>,
}

// SAFETY: used with the interpreter's lock held only; see the module.
unsafe impl Send for Tree {}
// SAFETY: used with the interpreter's lock held only; see the module.
unsafe impl Sync for Tree {}

/// A read under way.
pub(crate) struct Reading<'t>(&'t Tree);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.readers.set(self.0.readers.get() - 1);
    }
}

/// An operation under way; see [`Tree::pin`].
pub(crate) struct Pin<'t>(&'t Tree);

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        self.0.pins.set(self.0.pins.get() - 1);
    }
}

impl Tree {
    pub(crate) fn new(shared: Arc<Shared>, message: Message<'static>) -> Arc<Tree> {
        let message = ManuallyDrop::new(UnsafeCell::new(message));
        Arc::new(Tree { message, readers: Cell::new(0), pins: Cell::new(0), shared })
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Where the outermost message is.
    pub(crate) fn root(&self) -> MessageAddress {
        // SAFETY: a reference that ends here.
        unsafe { &*self.message.get() }.as_ref().place()
    }

    /// Begins a read, during which nothing changes.
    #[inline]
    pub(crate) fn reading(&self) -> Reading<'_> {
        self.readers.set(self.readers.get() + 1);
        Reading(self)
    }

    /// Keeps all records where they are, whatever changes.
    #[inline]
    pub(crate) fn pin(&self) -> Pin<'_> {
        self.pins.set(self.pins.get() + 1);
        Pin(self)
    }

    /// An error while the tree is read.
    #[inline]
    pub(crate) fn check_writable(&self) -> PyResult<()> {
        if self.readers.get() > 0 { Err(error::busy()) } else { Ok(()) }
    }

    /// The message at a place.
    ///
    /// # Safety
    /// The place is of a message of this tree.
    #[inline]
    pub(crate) unsafe fn at<'r>(
        &'r self,
        _: &'r Reading<'_>,
        place: MessageAddress,
    ) -> MessageRef<'r> {
        // SAFETY: no change begins while the read goes on; the caller vouches for the place.
        unsafe { (*self.message.get()).at(place) }
    }

    /// Changes the message at a place. `change` does not call the interpreter.
    ///
    /// # Safety
    /// The place is of a message of this tree.
    #[inline]
    pub(crate) unsafe fn change<T>(
        &self,
        place: MessageAddress,
        change: impl FnOnce(MessageMut<'_>) -> Result<T, AccessError>,
    ) -> PyResult<T> {
        self.check_writable()?;
        // SAFETY: no read is under way, changes do not nest, and the caller vouches for the place.
        let at = unsafe { (*self.message.get()).at_mut(place) };
        at.map_or_else(|| Err(error::busy()), |at| change(at).map_err(error::access))
    }

    /// Fills the outermost message anew, in the memory that it has; `None` if others use it.
    pub(crate) fn reuse<T>(
        self: &Arc<Tree>,
        fill: impl FnOnce(&mut Message<'static>) -> Result<T, DecodeError>,
    ) -> Option<Result<T, DecodeError>> {
        if self.readers.get() > 0 || self.pins.get() > 0 || Arc::strong_count(self) > 1 {
            return None;
        }
        // SAFETY: no other object has the tree, and nothing that goes on keeps addresses.
        Some(fill(unsafe { &mut *self.message.get() }))
    }

    /// A copy of a message by itself.
    pub(crate) fn copy(shared: &Arc<Shared>, from: MessageRef<'_>) -> PyResult<Arc<Tree>> {
        let mut message = shared.message(from.message_type())?;
        message.merge(from).map_err(error::access)?;
        Ok(Tree::new(shared.clone(), message))
    }

    pub(crate) fn message_type(&self) -> MessageId {
        // SAFETY: a reference that ends here.
        unsafe { &*self.message.get() }.message_type()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // SAFETY: taken once, as the tree ends here.
        let message = unsafe { ManuallyDrop::take(&mut self.message) }.into_inner();
        self.shared.give_back(message);
    }
}
