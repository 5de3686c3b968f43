//! The native decoder: code compiled for some tables and for the events that are wanted.
//!
//! ```text
//!   Tables, Wants --write--> one function for a type of messages --compiled--> Unit of a Native
//!
//!   piece |........ safe zone, generated code .........|. table .|
//!                    |                       ^
//!                    '-- what is not for it: one field by the table, and back
//! ```
//! A type and all types inside are in one function, and all jumps inside it: a sub-message is
//! jumped to, its end jumps back, where to is known if only one field leads there, and in a frame
//! else. After each field the few tags that probably follow are compared first, one by one. What
//! is rare is not in the code at all: it leaves, at the tag of the field, and the table decoder
//! reads that one field and finds what is wrong, if anything is. So both give the same errors by
//! construction, and no error is carried through registers, no signal and no system call is in the
//! loop.
//!
//! What happens with a value is a *target*'s: `sink_calls` calls the methods of a sink, `records`
//! stores into a message in memory. The end of a message is not looked for after each field: the
//! bytes of the next tag are compared at once, and a value has no room after the end, which is
//! found then.
//!
//! The code reads words that begin inside the input and may end up to [`SLACK`] bytes after it,
//! never over the end of a page; it uses no bit from there.

mod background;
mod calls;
mod context;
mod dispatch;
mod exits;
mod frames;
mod reach;
mod records;
mod scalar;
mod serves;
mod sink_calls;
mod tag;
mod unit;
mod units;
mod whole;
mod write;
mod writer;

use std::fmt;
use std::ptr;
use std::sync::OnceLock;

use tidemill_jit::Module;

use super::load::SLACK;
use super::state::Within;
use super::tables::Tables;
use super::walk::{Step, Walk, Zone};
use super::{ErrorKind, fill};
use crate::message::layout::Maps;
use crate::message::storage::Storage;
use crate::schema::{MessageId, Schema};
use crate::sink::{Sink, Wants};
pub use background::Compiling;
use context::{Calls, Context, Exit};
pub use records::Strings;
use serves::Serves;
pub use serves::{Listing, NativeError};
pub(super) use unit::Unit;
use units::{Made, Units};

/// Code that decodes; see the module. Shared freely between threads.
///
/// The code for a type of messages, with all types inside, is made when the first one is decoded,
/// or when [`Native::prepare`] requests it. A type that is inside of one that has code uses that.
/// All code together grows with the schema alone, in whichever order its types come.
pub struct Native {
    schema: Schema,
    pub(super) tables: Tables,
    serves: Serves,
    listing: Listing,
    units: Units,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("serves", &self.serves).finish_non_exhaustive()
    }
}

impl Native {
    /// A decoder for `tables`, which were made from `schema`, and for the events that sinks of it
    /// need. A sink that needs more is served by the table decoder.
    ///
    /// # Errors
    /// No code can be made for this machine.
    pub fn compile(schema: &Schema, tables: &Tables, wants: Wants) -> Result<Native, NativeError> {
        Native::with_listing(schema, tables, wants, Listing::Dropped)
    }

    /// The same, with or without the text of the code.
    ///
    /// # Errors
    /// As [`Native::compile`].
    pub fn with_listing(
        schema: &Schema,
        tables: &Tables,
        wants: Wants,
        listing: Listing,
    ) -> Result<Native, NativeError> {
        Native::new(schema, tables, Serves::Sinks(wants), listing)
    }

    /// A decoder for `tables`, which were made from `schema`, that stores into messages in memory
    /// by itself. Sinks, and messages that keep strings otherwise, are served by the
    /// table decoder.
    ///
    /// # Errors
    /// As [`Native::compile`].
    pub fn for_messages(
        schema: &Schema,
        tables: &Tables,
        strings: Strings,
        listing: Listing,
    ) -> Result<Native, NativeError> {
        Native::new(schema, tables, Serves::Messages(Maps::Indexed, strings), listing)
    }

    /// A decoder for `tables`, which were made from `schema`, that fills a
    /// [`Batch`](crate::message::Batch) by itself. All else is served by the table decoder.
    ///
    /// # Errors
    /// As [`Native::compile`].
    pub fn for_batches(
        schema: &Schema,
        tables: &Tables,
        listing: Listing,
    ) -> Result<Native, NativeError> {
        Native::new(schema, tables, Serves::Messages(Maps::Listed, Strings::Copied), listing)
    }

    fn new(
        schema: &Schema,
        tables: &Tables,
        serves: Serves,
        listing: Listing,
    ) -> Result<Native, NativeError> {
        // Fails early if no code can be made for this machine.
        Module::new(unit::options(listing)).map_err(NativeError::Code)?;
        let units = Units::new(schema, tables);
        let (schema, tables) = (schema.clone(), tables.clone());
        Ok(Native { schema, tables, serves, listing, units })
    }

    /// Makes the code for messages of a type now.
    ///
    /// # Errors
    /// It cannot be made; such messages are decoded by the table decoder.
    pub fn prepare(&self, message: MessageId) -> Result<(), &NativeError> {
        match self.made(message) {
            Some(Err(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// The code for messages of a type; `None` if there is none.
    #[inline]
    pub(super) fn unit(&self, message: MessageId) -> Option<&Unit> {
        Some(&self.made(message)?.as_ref().ok()?.unit)
    }

    /// The code that may read all of a message of a type, and its node there.
    #[inline]
    fn whole(&self, message: MessageId) -> Option<(&Unit, u32)> {
        let made = self.made(message)?.as_ref().ok()?;
        Some((&made.unit, made.whole?))
    }

    #[inline]
    fn made(&self, message: MessageId) -> Option<&Result<Made, NativeError>> {
        let slot = self.units.slot(message)?;
        match slot.get() {
            Some(made) => Some(made),
            None => self.make(slot, message),
        }
    }

    #[cold]
    fn make<'n>(
        &'n self,
        slot: &'n OnceLock<Result<Made, NativeError>>,
        message: MessageId,
    ) -> Option<&'n Result<Made, NativeError>> {
        let root = self.tables.root(message)?;
        let Native { schema, tables, serves, listing, units } = self;
        let make = |reach| Unit::new(schema, tables, serves, *listing, reach);
        Some(slot.get_or_init(|| units.make(tables, root, make)))
    }

    /// Whether it serves a sink.
    #[inline]
    pub(super) fn serves<'a, S: Sink<'a>>(&self, sink: &mut S) -> bool {
        match &self.serves {
            Serves::Sinks(wants) => wants.has(S::wants()),
            Serves::Messages(..) => {
                sink.storage().is_some_and(|storage| self.serves_storage(storage))
            }
        }
    }

    /// Whether it stores as a storage does.
    #[inline]
    fn serves_storage(&self, storage: &dyn Storage) -> bool {
        let strings = if storage.copies() { Strings::Copied } else { Strings::Viewed };
        self.serves_records(storage.schema(), storage.maps(), strings)
    }

    /// Whether it stores into such records of a schema.
    #[inline]
    fn serves_records(&self, of: &Schema, with: Maps, kept: Strings) -> bool {
        match &self.serves {
            Serves::Sinks(_) => false,
            Serves::Messages(maps, strings) => {
                kept == *strings && with == *maps && of.is_same(&self.schema)
            }
        }
    }

    /// The machine code for messages of a type as text, if that is kept.
    pub fn listing(&self, message: MessageId) -> Option<&str> {
        self.unit(message)?.listing.as_deref()
    }

    /// Bytes and compile time of the code for messages of a type, as a table.
    pub fn report(&self, message: MessageId) -> Option<String> {
        Some(self.unit(message)?.code.report())
    }
}

/// The number of bytes that can be read after the end of a piece without touching another page.
const PAGE_BYTES: usize = 4096;

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads the piece by generated code, except its end.
    pub(super) fn over_piece_natively(&mut self, unit: &Unit) -> Step {
        let have = self.have();
        let end = self.piece.as_ptr().addr() + self.piece.len();
        let on_page = end % PAGE_BYTES;
        let same_page = on_page > 0 && on_page + SLACK <= PAGE_BYTES;
        let safe = if same_page { have } else { have.saturating_sub(SLACK).max(self.piece_start) };
        loop {
            if self.state.within == Within::Fields {
                let pos = self.state.pos;
                if pos > safe || pos == safe && pos != self.state.end {
                    return Ok(());
                }
                if !unit.covers(self.state.node) {
                    if self.piece.len() > SLACK {
                        let to = have - SLACK;
                        self.over_zone(self.piece_zone(to))?;
                    }
                    return Ok(());
                }
                if unit.fills {
                    if !self.fill(unit, safe)? {
                        // An entry of a map that the table decoder has begun stays with it.
                        if !self.one_by_table()? {
                            return Ok(());
                        }
                        continue;
                    }
                } else {
                    self.run(unit, safe)?;
                }
                if self.state.pos >= safe && self.state.pos != self.state.end {
                    return Ok(());
                }
            }
            if !self.one_by_table()? {
                return Ok(());
            }
        }
    }

    fn piece_zone(&self, to: usize) -> Zone {
        Zone { base: self.piece_base(), to }
    }

    /// Reads one field by the table decoder; false if the rest of the piece is left to it.
    fn one_by_table(&mut self) -> Step<bool> {
        let pos = self.state.pos;
        let to = match self.state.within {
            Within::Packed { .. } => self.state.end,
            _ => pos + 1,
        };
        if pos + SLACK >= self.have() {
            return Ok(false);
        }
        let before = (pos, self.state.within, self.state.frames.len());
        self.over_zone(self.piece_zone(to.min(self.have() - SLACK)))?;
        Ok(before != (self.state.pos, self.state.within, self.state.frames.len()))
    }

    /// Runs code that calls the sink.
    fn run(&mut self, unit: &Unit, safe: usize) -> Step {
        let mut context = Context::new(self.piece_base(), safe);
        context.host = ptr::from_mut(&mut *self.sink).cast();
        context.calls.write(const { Calls::of::<S>() });
        let code = unit.execute(self.state, &mut context, self.depth_max);
        if let Some(panic) = context.panic.take() {
            std::panic::resume_unwind(panic);
        }
        self.left(code, &context)
    }

    /// Runs code that stores into the message that the sink fills; false if it cannot continue
    /// here.
    fn fill(&mut self, unit: &Unit, safe: usize) -> Step<bool> {
        let mut context = Context::new(self.piece_base(), safe);
        let Some(mut storage) = self.sink.storage() else { return Ok(false) };
        let state = &mut *self.state;
        let tables = &unit.tables;
        // Code stores at offsets, so it must not run if the records have other types.
        let Some(record) = fill::enter(state, tables, storage) else { return Ok(false) };
        context.arena = storage.arena();
        context.record = record.address().expose_provenance();
        context.host = (&raw mut storage).cast();
        let code = unit.execute(state, &mut context, self.depth_max);
        fill::leave(state, tables, storage, fill::record_at(context.record));
        self.left(code, &context).map(|()| true)
    }

    fn piece_base(&self) -> *const u8 {
        self.piece.as_ptr().wrapping_sub(self.piece_start)
    }

    /// Handles the exit of the code.
    fn left(&mut self, code: u32, context: &Context) -> Step {
        let state = &mut *self.state;
        let entry = context.entry as u32;
        match Exit::of(code) {
            Exit::AtField => Ok(()),
            Exit::Stopped => {
                let number = self.tables.entry(entry).number();
                if context.list_end != 0 {
                    self.enter_list(context);
                }
                self.stopped(context.place(context.start), number)
            }
            Exit::InvalidUtf8 => {
                state.tag_start = context.place(context.start);
                state.number = self.tables.entry(entry).number();
                Err(ErrorKind::InvalidUtf8)
            }
            Exit::StoppedAtEnd => {
                let Some(frame) = state.frames.pop() else { return Ok(()) };
                let entry = self.tables.entry(frame.entry);
                (state.node, state.number) = (entry.owner, entry.number());
                state.tag_start = frame.start;
                Err(ErrorKind::Stopped)
            }
            Exit::InPacked => {
                self.enter_list(context);
                Ok(())
            }
        }
    }

    /// The code left inside a packed list.
    fn enter_list(&mut self, context: &Context) {
        let place = context.entry as u32;
        let entry = self.tables.entry(place);
        let state = &mut *self.state;
        (state.tag_start, state.number) = (context.place(context.start), entry.number());
        state.within = Within::Packed { entry: place, outer_end: state.end };
        (state.end, state.next) = (context.place(context.list_end), entry.next);
    }
}
