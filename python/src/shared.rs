//! The state shared by all objects of a schema: the definitions, Python's strings for names,
//! machine code, reusable memory.
//!
//! A message type is compiled to machine code once the tables have read or written enough of it
//! that compiling pays; until then, and where no code can be generated, the tables are used.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tidemill_wire::decode::{Listing, Strings};
use tidemill_wire::encode::table::Encoder;
use tidemill_wire::message::{MapOrder, Message, MessageRef};
use tidemill_wire::{
    DecodeError, Decoder, EncodeError, EncoderCode, FieldId, Label, MessageId, Native,
    NativeEncoder, Schema, Tables,
};

use crate::batch::Codes;
use crate::error;
use crate::names::Names;

/// Bytes that the tables read or write per field of a type before it is compiled. Compiling takes
/// some hundred microseconds per field, the tables about two nanoseconds per byte more than code:
/// so code pays for itself after about six times as much.
const BYTES_PER_FIELD: u64 = 32 << 10;

/// The fixed cost of a message, in bytes.
const BYTES_PER_MESSAGE: u64 = 100;

/// The maximal memory of a type that is kept for later messages.
const SPARE_BYTES: usize = 1 << 20;

/// The maximal number of messages of a type that are kept.
const SPARE_COUNT: usize = 16;

/// An encoder whose buffer is larger is not kept.
const BUFFER_BYTES: usize = 4 << 20;

/// The state shared by all objects of a schema.
pub(crate) struct Shared {
    pub(crate) schema: Schema,
    /// Compiled decoders for columns.
    pub(crate) codes: Codes,
    types: Box<[OnceLock<Type>]>,
    /// By field: its key in dicts.
    keys: Box<[OnceLock<Py<PyString>>]>,
    decoders: OnceLock<Option<Native>>,
    /// By message: whether it or anything inside may lack required fields.
    required: OnceLock<Box<[bool]>>,
    descriptor_set: OnceLock<Py<PyBytes>>,
}

/// The state of one message type.
pub(crate) struct Type {
    pub(crate) names: Names,
    name: Py<PyString>,
    /// Fields of the type and all types inside.
    fields: u64,
    read_bytes: Cell<u64>,
    written_bytes: Cell<u64>,
    encoders: RefCell<Encoders>,
    spare: Cell<Vec<Message<'static>>>,
    spare_bytes: Cell<usize>,
}

// SAFETY: its mutable parts are used only with the interpreter's lock held, never across calls of
// the interpreter; the module requires the lock.
unsafe impl Send for Shared {}
// SAFETY: its mutable parts are used only with the interpreter's lock held, as for `Send`.
unsafe impl Sync for Shared {}

/// Live schemas that can be found by their descriptors, so that unpickling returns the same schema.
static KNOWN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

impl Shared {
    pub(crate) fn new(schema: Schema) -> Arc<Shared> {
        let types = schema.messages().map(|_| OnceLock::new()).collect();
        let keys = (0..schema.field_count()).map(|_| OnceLock::new()).collect();
        Arc::new(Shared {
            schema,
            codes: Codes::default(),
            types,
            keys,
            decoders: OnceLock::new(),
            required: OnceLock::new(),
            descriptor_set: OnceLock::new(),
        })
    }

    /// The state of a message type.
    #[inline]
    pub(crate) fn of(&self, py: Python<'_>, message: MessageId) -> &Type {
        let slot = &self.types[message.index()];
        match slot.get() {
            Some(known) => known,
            None => slot.get_or_init(|| Type::new(py, self, message)),
        }
    }

    /// The key of a field in dicts: its name, that of an extension in brackets.
    #[inline]
    pub(crate) fn key<'k>(&'k self, py: Python<'_>, field: FieldId) -> &'k Py<PyString> {
        let slot = &self.keys[field.index()];
        match slot.get() {
            Some(known) => known,
            None => slot.get_or_init(|| {
                let field = self.schema.field(field);
                match field.extension_name() {
                    Some(name) => PyString::intern(py, &format!("[{name}]")).unbind(),
                    None => PyString::intern(py, field.name()).unbind(),
                }
            }),
        }
    }

    /// The full name of a type, the same object on each call.
    pub(crate) fn full_name<'py>(&self, py: Python<'py>, message: MessageId) -> Py<PyString> {
        self.of(py, message).name.clone_ref(py)
    }

    /// An empty message, in spare memory if there is some.
    pub(crate) fn message(&self, of: MessageId) -> PyResult<Message<'static>> {
        if let Some(mut message) = self.spare(of) {
            message.clear();
            return Ok(message);
        }
        Message::new(&self.schema, of).map_err(error::access)
    }

    #[inline]
    fn spare(&self, of: MessageId) -> Option<Message<'static>> {
        let known = self.types[of.index()].get()?;
        let mut spare = known.spare.take();
        let message = spare.pop();
        known.spare.set(spare);
        if let Some(message) = &message {
            known.spare_bytes.set(known.spare_bytes.get() - message.held_bytes());
        }
        message
    }

    /// Takes back a message, to reuse its memory.
    pub(crate) fn give_back(&self, message: Message<'static>) {
        let Some(known) = self.types[message.message_type().index()].get() else { return };
        let bytes = known.spare_bytes.get() + message.held_bytes();
        let mut spare = known.spare.take();
        if bytes <= SPARE_BYTES && spare.len() < SPARE_COUNT {
            known.spare_bytes.set(bytes);
            spare.push(message);
        }
        known.spare.set(spare);
    }

    /// The message encoded in `data`.
    pub(crate) fn decode(
        &self,
        py: Python<'_>,
        of: MessageId,
        data: &[u8],
    ) -> PyResult<Message<'static>> {
        // Decoding clears it.
        let message = match self.spare(of) {
            Some(message) => Ok(message),
            None => Message::new(&self.schema, of).map_err(error::access),
        };
        let mut message = message?;
        self.decode_into(py, &mut message, data).map_err(|error| error::decode(py, &error))?;
        Ok(message)
    }

    /// Replaces a message by the one encoded in `data`.
    #[inline]
    pub(crate) fn decode_into(
        &self,
        py: Python<'_>,
        message: &mut Message<'static>,
        data: &[u8],
    ) -> Result<(), DecodeError> {
        match self.decoder(py, message.message_type(), data.len()) {
            Some(decoder) => message.decode_copied_with(&decoder, data),
            None => message.decode_copied(data),
        }
    }

    /// The native decoder for messages of a type, once it pays.
    #[inline]
    fn decoder(&self, py: Python<'_>, of: MessageId, bytes: usize) -> Option<Decoder<'_>> {
        if !self.of(py, of).pays(&self.of(py, of).read_bytes, bytes) {
            return None;
        }
        self.native().map(|native| Decoder::new(&self.schema).native(native))
    }

    fn native(&self) -> Option<&Native> {
        let native = self.decoders.get_or_init(|| {
            let tables = Tables::new(&self.schema);
            Native::for_messages(&self.schema, &tables, Strings::Copied, Listing::Dropped).ok()
        });
        native.as_ref()
    }

    /// Compiles a type now; false if no code can be generated.
    pub(crate) fn prepare(&self, py: Python<'_>, of: MessageId) -> bool {
        let known = self.of(py, of);
        known.read_bytes.set(u64::MAX);
        known.written_bytes.set(u64::MAX);
        let decodes = self.native().is_some_and(|native| native.prepare(of).is_ok());
        let Ok(mut encoders) = known.encoders.try_borrow_mut() else { return false };
        decodes && encoders.get(&self.schema, of, MapOrder::Stored).is_some()
    }

    /// Passes the encoded message to `take`.
    pub(crate) fn encode<T>(
        &self,
        py: Python<'_>,
        message: MessageRef<'_>,
        order: MapOrder,
        required: Required,
        take: impl FnOnce(&[u8]) -> T,
    ) -> PyResult<T> {
        if required == Required::Checked
            && self.may_lack(message.message_type())
            && let Some(path) = message.missing_required()
        {
            return Err(error::encode(EncodeError::MissingRequired { path }));
        }
        let of = self.of(py, message.message_type());
        if of.pays(&of.written_bytes, 0)
            && let Ok(mut encoders) = of.encoders.try_borrow_mut()
            && let Some(encoder) = encoders.get(&self.schema, message.message_type(), order)
        {
            let taken = take(encoder.encode(message).map_err(error::encode)?);
            let held_bytes = encoder.held_bytes();
            if held_bytes > BUFFER_BYTES {
                encoders.made = [None, None];
            }
            return Ok(taken);
        }
        let bytes = Encoder::new().map_order(order).encode(message).map_err(error::encode)?;
        of.written_bytes.set(of.written_bytes.get().saturating_add(bytes.len() as u64));
        Ok(take(&bytes))
    }

    /// Whether a message of that type, or one inside, may lack a required field.
    pub(crate) fn may_lack(&self, of: MessageId) -> bool {
        self.required.get_or_init(|| required(&self.schema))[of.index()]
    }

    /// The definitions as bytes, by which [`Shared::restored`] finds the schema again.
    pub(crate) fn descriptor_set(self: &Arc<Shared>, py: Python<'_>) -> Py<PyBytes> {
        let set = self.descriptor_set.get_or_init(|| {
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|one| one.strong_count() > 0);
            known.push(Arc::downgrade(self));
            PyBytes::new(py, &self.schema.descriptor_set()).unbind()
        });
        set.clone_ref(py)
    }

    /// The schema of those definitions: a live one, or a new one.
    pub(crate) fn restored(set: &Bound<'_, PyBytes>) -> PyResult<Arc<Shared>> {
        let py = set.py();
        let bytes = set.as_bytes();
        let is_it = |one: &Arc<Shared>| {
            one.descriptor_set.get().is_some_and(|of| of.bind(py).as_bytes() == bytes)
        };
        let all: Vec<Arc<Shared>> = {
            let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter_map(Weak::upgrade).collect()
        };
        if let Some(found) = all.into_iter().find(is_it) {
            return Ok(found);
        }
        let schema = Schema::from_descriptor_set(bytes);
        let schema = schema.map_err(|error| error::SchemaError::new_err(error.to_string()))?;
        let shared = Shared::new(schema);
        let _ = shared.descriptor_set.set(set.clone().unbind());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.push(Arc::downgrade(&shared));
        Ok(shared)
    }
}

/// The treatment of missing required fields by encoding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Required {
    /// They are an error.
    Checked,
    /// They are ignored.
    Ignored,
}

/// The native encoders of a type: the code is shared, buffers are not.
#[derive(Default)]
struct Encoders {
    /// The inner `None`: no code can be generated for this machine.
    code: Option<Option<EncoderCode>>,
    /// By order of maps: as stored, and by key.
    made: [Option<NativeEncoder>; 2],
}

impl Encoders {
    #[inline]
    fn get(
        &mut self,
        schema: &Schema,
        of: MessageId,
        order: MapOrder,
    ) -> Option<&mut NativeEncoder> {
        let slot = &mut self.made[usize::from(order == MapOrder::ByKey)];
        if slot.is_none() {
            let code = self.code.get_or_insert_with(|| EncoderCode::compile(schema, of).ok());
            *slot = code.clone().map(|code| NativeEncoder::new(code).map_order(order));
        }
        slot.as_mut()
    }
}

impl Type {
    fn new(py: Python<'_>, shared: &Shared, message: MessageId) -> Type {
        Type {
            names: Names::new(py, shared, message),
            name: PyString::intern(py, shared.schema.full_name(message)).unbind(),
            fields: fields_within(&shared.schema, message),
            read_bytes: Cell::new(0),
            written_bytes: Cell::new(0),
            encoders: RefCell::default(),
            spare: Cell::default(),
            spare_bytes: Cell::new(0),
        }
    }

    /// Counts a message of `bytes` bytes; true once code pays.
    #[inline]
    fn pays(&self, counter: &Cell<u64>, bytes: usize) -> bool {
        if counter.get() >= self.fields * BYTES_PER_FIELD {
            return true;
        }
        counter.set(counter.get().saturating_add(bytes as u64 + BYTES_PER_MESSAGE));
        false
    }
}

/// The number of fields of a message and all types inside, each type counted once.
fn fields_within(schema: &Schema, message: MessageId) -> u64 {
    let mut seen = vec![false; schema.messages().len()];
    let (mut open, mut count) = (vec![message], 0);
    seen[message.index()] = true;
    while let Some(at) = open.pop() {
        let fields = schema.message(at).field_defs();
        count += fields.len() as u64;
        for inner in fields.iter().filter_map(|field| field.field_type().message()) {
            if !std::mem::replace(&mut seen[inner.index()], true) {
                open.push(inner);
            }
        }
    }
    count.max(1)
}

/// By message: whether it or a message inside has a required field, including those in extensions.
fn required(schema: &Schema) -> Box<[bool]> {
    let all = || (0..schema.field_count()).filter_map(|at| schema.field_at(at));
    let mut lacks = vec![false; schema.messages().len()];
    // By message: the messages that have it as a field.
    let mut holders: Vec<Vec<MessageId>> = vec![Vec::new(); lacks.len()];
    let mut open = Vec::new();
    for field in all().map(|id| schema.field(id)) {
        if let Some(inner) = field.field_type().message() {
            holders[inner.index()].push(field.message());
        }
        if field.label() == Label::Required && !lacks[field.message().index()] {
            lacks[field.message().index()] = true;
            open.push(field.message());
        }
    }
    while let Some(inner) = open.pop() {
        for &outer in &holders[inner.index()] {
            if !std::mem::replace(&mut lacks[outer.index()], true) {
                open.push(outer);
            }
        }
    }
    lacks.into()
}
