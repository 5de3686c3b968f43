//! The native decoder: code compiled for some tables and for the events that are wanted.
//!
//! ```text
//!   Tables, Wants --write--> one function --compiled--> Native
//!
//!   piece |........ safe zone, generated code .........|. table .|
//!                    |                       ^
//!                    '-- what is not for it: one field by the table, and back
//! ```
//! All messages are in one function, and all jumps inside it: a sub-message is jumped to, its end
//! jumps back, where to is known if only one field leads there, and in a frame else. Behind each
//! field the few tags that probably follow are compared first, one by one. What is rare is not in
//! the code at all: it leaves, at the tag of the field, and the table decoder reads that one field
//! and finds what is wrong, if anything is. So both give the same errors by construction, and no
//! error is carried through registers, no signal and no system call is in the loop.
//!
//! What happens with a value is a *target*'s: `target` calls the methods of a sink, `records`
//! stores into a message in memory. The end of a message is not looked for behind each field: the
//! bytes of the next tag are compared at once, and a value has no room behind the end, which is
//! found then.
//!
//! The code reads words that begin inside the input and may end up to [`SLACK`] bytes behind it,
//! never over the end of a page; it uses no bit from there.

mod background;
mod calls;
mod context;
mod records;
mod scalar;
mod target;
mod whole;
mod write;

use std::fmt;
use std::ptr;

use tidemill_jit::build::{CallConv, signature, types};
use tidemill_jit::{Code, Level, Module, Options};

use super::load::SLACK;
use super::state::{Frame, State, Within};
use super::tables::Tables;
use super::walk::{Step, Walk, Zone};
use super::{Decoder, ErrorKind, fill};
use crate::message::layout::{Layouts, Maps};
use crate::message::storage::Storage;
use crate::schema::Schema;
use crate::sink::{Sink, Wants};
pub use background::Compiling;
use calls::Calls;
use context::{Context, Exit};
use records::Records;
pub use records::Strings;
use target::{SinkCalls, Target};

/// Messages with more fields than this together stay partly with the table decoder.
const ENTRIES_MAX: usize = 4000;

/// Why there is no native decoder.
#[derive(Debug)]
pub struct NativeError(tidemill_jit::Error);

impl fmt::Display for NativeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no native decoder: {}", self.0)
    }
}

impl std::error::Error for NativeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

type Entry = unsafe extern "C" fn(*mut Context, u32) -> u32;

/// Code that decodes; see the module. Shared freely between threads.
pub struct Native {
    tables: Tables,
    serves: Serves,
    entry: Entry,
    /// By node: whether there is code for it.
    compiled: Vec<bool>,
    /// By message: its node, if it has code that may read all of it.
    whole: Vec<Option<u32>>,
    listing: Option<String>,
    /// Owns what `entry` points to.
    code: Code,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("serves", &self.serves).finish_non_exhaustive()
    }
}

/// Whom the code is for.
#[derive(Debug)]
enum Serves {
    /// Sinks that want no other events.
    Sinks(Wants),
    /// Messages in memory of a schema.
    Messages(Schema, Maps, Strings),
}

/// Whether the text of the machine code is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// For [`Native::listing`].
    Kept,
    /// No.
    Dropped,
}

impl Native {
    /// Compiles a decoder for `tables`, which were made from `schema`, and for the events that
    /// sinks of it want. A sink that wants more is served by the table decoder.
    ///
    /// # Errors
    /// No code can be made for this machine, or there is no memory for it.
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
        let target = |_: &mut Module| SinkCalls { wants };
        Native::write(schema, tables, Serves::Sinks(wants), listing, target)
    }

    /// Compiles a decoder for `tables`, which were made from `schema`, that stores into messages
    /// in memory by itself. Sinks, and messages that keep strings otherwise, are served by the
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
        Native::for_records(schema, schema.layouts(), tables, strings, listing)
    }

    /// Compiles a decoder for `tables`, which were made from `schema`, that fills a
    /// [`Batch`](crate::message::Batch) by itself. All else is served by the table decoder.
    ///
    /// # Errors
    /// As [`Native::compile`].
    pub fn for_batches(
        schema: &Schema,
        tables: &Tables,
        listing: Listing,
    ) -> Result<Native, NativeError> {
        Native::for_records(schema, schema.batch_layouts(), tables, Strings::Copied, listing)
    }

    fn for_records(
        schema: &Schema,
        layouts: &Layouts,
        tables: &Tables,
        strings: Strings,
        listing: Listing,
    ) -> Result<Native, NativeError> {
        let target = |module: &mut Module| {
            let helpers = records::Helpers::import(module);
            Records { layouts, strings, helpers }
        };
        let serves = Serves::Messages(schema.clone(), layouts.maps(), strings);
        Native::write(schema, tables, serves, listing, target)
    }

    fn write<T: Target>(
        schema: &Schema,
        tables: &Tables,
        serves: Serves,
        listing: Listing,
        target: impl FnOnce(&mut Module) -> T,
    ) -> Result<Native, NativeError> {
        let kept = listing == Listing::Kept;
        let options =
            Options { optimise: Level::Speed, listing: kept, ..Options::named("decoder") };
        let mut module = Module::new(options).map_err(NativeError)?;
        let helpers = write::Helpers::import(&mut module);
        let target = target(&mut module);
        let parameters = [types::I64, types::I32];
        let id = module.declare("decode", signature(CallConv::SystemV, &parameters, &[types::I32]));
        let compiled = compiled(tables);
        module
            .define(id, |body| write::write(body, schema, tables, &target, &compiled, &helpers))
            .map_err(NativeError)?;
        // SAFETY: the decoder stays within its input, and stores where its sink or the layouts of
        // its records say.
        let code = unsafe { module.finish() }.map_err(NativeError)?;
        // SAFETY: the function was declared with this signature, and `code` stays beside it.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code.address(id)) };
        let listing = code.listing(id);
        let may = |&node: &u32| compiled[node as usize] && tables.node(node).required == 0;
        let whole = schema.messages().map(|message| tables.root(message).filter(may)).collect();
        Ok(Native { tables: tables.clone(), serves, entry, compiled, whole, listing, code })
    }

    /// Whether a sink can do with it.
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
            Serves::Messages(schema, maps, strings) => {
                kept == *strings && with == *maps && of.is_same(schema)
            }
        }
    }

    /// The machine code as text, if it was kept.
    pub fn listing(&self) -> Option<&str> {
        self.listing.as_deref()
    }

    /// Bytes and compile time, as a table.
    pub fn report(&self) -> String {
        self.code.report()
    }
}

/// Which nodes get code: as many as are not too much for one function.
fn compiled(tables: &Tables) -> Vec<bool> {
    let mut entries = 0;
    let mut chosen = Vec::with_capacity(tables.nodes().len());
    for node in tables.nodes() {
        entries += (node.entries.1 - node.entries.0) as usize + 1;
        chosen.push(entries <= ENTRIES_MAX && !node.message_set && node.required <= 64);
    }
    chosen
}

impl Native {
    /// Runs the code from where the walk is, and says where it came to.
    #[inline]
    fn execute(&self, state: &mut State, context: &mut Context, depth_max: usize) -> u32 {
        let depth = state.frames.len();
        let room = state.frames.room_mut();
        let allowed = room.len().min(depth_max).max(depth);
        let frames: *mut Frame = room.as_mut_ptr().cast();
        (context.pos, context.end) = (context.address(state.pos), context.address(state.end));
        context.seen = state.seen;
        context.top = frames.wrapping_add(depth);
        context.frames_end = frames.wrapping_add(allowed);
        // SAFETY: the code was written for these tables; `Context` says what is where; the words
        // it reads begin before `safe`, and so end on pages of the piece.
        let code = unsafe { (self.entry)(context, state.node) };
        let depth = (context.top.addr() - frames.addr()) / size_of::<Frame>();
        // SAFETY: the code wrote each frame that it pushed.
        unsafe { state.frames.set_len(depth) };
        (state.pos, state.end) = (context.place(context.pos), context.place(context.end));
        state.seen = context.seen;
        state.node = context.node as u32;
        state.next = self.tables.node(state.node).first();
        code
    }
}

impl<'s> Decoder<'s> {
    /// Goes by the tables of a native decoder, and uses it for sinks that want no more events than
    /// it has code for.
    #[inline]
    pub fn native(self, native: &'s Native) -> Decoder<'s> {
        Decoder { tables: &native.tables, native: Some(native), ..self }
    }
}

/// How many bytes can be read behind the end of a piece without touching another page.
const PAGE_BYTES: usize = 4096;

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Over the piece by generated code, but for its end.
    pub(super) fn over_piece_natively(&mut self, native: &Native) -> Step {
        let have = self.have();
        let behind = self.piece.as_ptr().addr() + self.piece.len();
        let on_page = behind % PAGE_BYTES;
        let same_page = on_page > 0 && on_page + SLACK <= PAGE_BYTES;
        let safe = if same_page { have } else { have.saturating_sub(SLACK).max(self.piece_start) };
        loop {
            if self.state.within == Within::Fields {
                let pos = self.state.pos;
                if pos > safe || pos == safe && pos != self.state.end {
                    return Ok(());
                }
                if !native.compiled[self.state.node as usize] {
                    if self.piece.len() > SLACK {
                        let to = have - SLACK;
                        self.over_zone(self.piece_zone(to))?;
                    }
                    return Ok(());
                }
                if let Serves::Messages(..) = native.serves {
                    if !self.fill(native, safe)? {
                        // An entry of a map that came to the table decoder stays there.
                        if !self.one_by_table()? {
                            return Ok(());
                        }
                        continue;
                    }
                } else {
                    self.run(native, safe)?;
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

    /// One field by the table decoder; false if the rest of the piece is for it.
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

    /// By code that calls the sink.
    fn run(&mut self, native: &Native, safe: usize) -> Step {
        let mut context = Context::new(self.piece_base(), safe);
        context.host = ptr::from_mut(&mut *self.sink).cast();
        context.calls.write(const { Calls::of::<S>() });
        let code = native.execute(self.state, &mut context, self.depth_max);
        if let Some(panic) = context.panic.take() {
            std::panic::resume_unwind(panic);
        }
        self.left(code, &context)
    }

    /// By code that stores into the message that the sink fills; false if it cannot go on here.
    fn fill(&mut self, native: &Native, safe: usize) -> Step<bool> {
        let mut context = Context::new(self.piece_base(), safe);
        let Some(mut storage) = self.sink.storage() else { return Ok(false) };
        let state = &mut *self.state;
        let tables = &native.tables;
        // Code stores at offsets: where records have not the types it was made for, it stays away.
        let Some(record) = fill::enter(state, tables, storage) else { return Ok(false) };
        context.arena = storage.arena();
        context.record = record.address().expose_provenance();
        context.host = (&raw mut storage).cast();
        let code = native.execute(state, &mut context, self.depth_max);
        fill::leave(state, tables, storage, fill::record_at(context.record));
        self.left(code, &context).map(|()| true)
    }

    fn piece_base(&self) -> *const u8 {
        self.piece.as_ptr().wrapping_sub(self.piece_start)
    }

    /// What the end of the code asks for.
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
