//! The memory of a message and everything inside, shared by the Python objects that read it.
//!
//! ```text
//!   Message object --.
//!   Message object --+--> Arc<Tree> --> wire's Message: arena with all records
//!   Message object --'        '-------> Arc<Shared>: schema, names, machine code
//! ```
//! Objects hold addresses of records. Records do not move and are freed with the tree, so the
//! object of a message that was removed from its parent still reads the old contents, as in the
//! stock package. The one operation that frees records, [`Tree::reuse`], requires that no other
//! object refers to the tree.
//!
//! The interpreter's lock is the only lock: the module requires it (`gil_used`). Only references
//! for reading are held across calls into the interpreter: reads are counted, and a change during
//! one (by a finalizer, for example) is an error.

use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use pyo3::prelude::*;
use tidemill_wire::message::{AccessError, Message, MessageAddress, MessageMut, MessageRef};
use tidemill_wire::{DecodeError, MessageId};

use crate::error;
use crate::shared::Shared;

/// The memory of a message and everything inside.
pub(crate) struct Tree {
    message: ManuallyDrop<UnsafeCell<Message<'static>>>,
    /// The number of reads in progress.
    readers: Cell<u32>,
    /// The number of operations in progress that keep addresses of records while the interpreter
    /// runs.
    pins: Cell<u32>,
    shared: Arc<Shared>,
}

// SAFETY: the tree is used only with the interpreter's lock held.
unsafe impl Send for Tree {}
// SAFETY: the tree is used only with the interpreter's lock held.
unsafe impl Sync for Tree {}

/// A read in progress.
pub(crate) struct Reading<'t>(&'t Tree);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.readers.set(self.0.readers.get() - 1);
    }
}

/// An operation in progress; see [`Tree::pin`].
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

    /// The address of the outermost message.
    pub(crate) fn root(&self) -> MessageAddress {
        // SAFETY: the lock is held, and the reference ends here.
        unsafe { &*self.message.get() }.as_ref().place()
    }

    /// Begins a read, during which nothing changes.
    #[inline]
    pub(crate) fn reading(&self) -> Reading<'_> {
        self.readers.set(self.readers.get() + 1);
        Reading(self)
    }

    /// Keeps the addresses of all records valid across changes.
    #[inline]
    pub(crate) fn pin(&self) -> Pin<'_> {
        self.pins.set(self.pins.get() + 1);
        Pin(self)
    }

    /// Fails while the tree is being read.
    #[inline]
    pub(crate) fn check_writable(&self) -> PyResult<()> {
        if self.readers.get() > 0 { Err(error::busy()) } else { Ok(()) }
    }

    /// The message at an address.
    ///
    /// # Safety
    /// The address is that of a message of this tree.
    #[inline]
    pub(crate) unsafe fn at<'r>(
        &'r self,
        _: &'r Reading<'_>,
        place: MessageAddress,
    ) -> MessageRef<'r> {
        // SAFETY: no change begins during the read; the caller guarantees that the address is of
        // this tree.
        unsafe { (*self.message.get()).at(place) }
    }

    /// Changes the message at an address. `change` does not call the interpreter.
    ///
    /// # Safety
    /// The address is that of a message of this tree.
    #[inline]
    pub(crate) unsafe fn change<T>(
        &self,
        place: MessageAddress,
        change: impl FnOnce(MessageMut<'_>) -> Result<T, AccessError>,
    ) -> PyResult<T> {
        self.check_writable()?;
        // SAFETY: no read is in progress, changes do not nest, and the caller guarantees that the
        // address is of this tree.
        let at = unsafe { (*self.message.get()).at_mut(place) };
        at.map_or_else(|| Err(error::busy()), |at| change(at).map_err(error::access))
    }

    /// Refills the outermost message in its memory; `None` if others use it.
    pub(crate) fn reuse<T>(
        self: &Arc<Tree>,
        fill: impl FnOnce(&mut Message<'static>) -> Result<T, DecodeError>,
    ) -> Option<Result<T, DecodeError>> {
        if self.readers.get() > 0 || self.pins.get() > 0 || Arc::strong_count(self) > 1 {
            return None;
        }
        // SAFETY: no other object has the tree, and no operation in progress keeps addresses.
        Some(fill(unsafe { &mut *self.message.get() }))
    }

    /// A copy of a message in a tree of its own.
    pub(crate) fn copy(shared: &Arc<Shared>, from: MessageRef<'_>) -> PyResult<Arc<Tree>> {
        let mut message = shared.message(from.message_type())?;
        message.merge(from).map_err(error::access)?;
        Ok(Tree::new(shared.clone(), message))
    }

    pub(crate) fn message_type(&self) -> MessageId {
        // SAFETY: the lock is held, and the reference ends here.
        unsafe { &*self.message.get() }.message_type()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // SAFETY: the message is taken once, as the tree is dropped here.
        let message = unsafe { ManuallyDrop::take(&mut self.message) }.into_inner();
        self.shared.give_back(message);
    }
}
