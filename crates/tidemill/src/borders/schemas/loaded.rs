//! The schemas of a program as rules see them, with the code and counters that nodes share.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tidemill_diag::nearest;
use tidemill_overlog::stage::Missing;
use tidemill_stdx::sorted::SortedMap;
use tidemill_wire::decode::{Listing, Native, Strings, Tables};
use tidemill_wire::proto::Spans;
use tidemill_wire::{Decoder, EncoderCode, MessageId, Schema};

use super::counts::Counts;
use super::direction::{Direction, named};

/// The borders of the functions.
pub(super) const DECODE_FUNCTION: &str = "f_decode";
pub(super) const ENCODE_FUNCTION: &str = "f_encode";

/// The schemas of a program as rules see them. Clones share their state.
#[derive(Clone)]
pub struct Schemas(Arc<Inner>);

struct Inner {
    /// `None` in a program without schemas: then each name is an error that says so.
    schema: Option<Schema>,
    spans: Spans,
    /// The code that decodes messages, made on first use; only tables on machines that the code
    /// generator does not support.
    code: OnceLock<(Tables, Option<Native>)>,
    /// Encoders by type. Nodes on several threads share them; the lock is taken when a node is
    /// made.
    encoders: Mutex<SortedMap<MessageId, EncoderCode>>,
    /// Counters by the name of the border, shared likewise.
    counts: Mutex<SortedMap<String, Arc<Counts>>>,
}

/// None.
impl Default for Schemas {
    fn default() -> Schemas {
        Schemas::new(None, Spans::default())
    }
}

impl Schemas {
    /// The message types of a schema, whose declarations have these spans.
    pub fn new(schema: Option<Schema>, spans: Spans) -> Schemas {
        let schemas = Schemas(Arc::new(Inner {
            schema,
            spans,
            code: OnceLock::new(),
            encoders: Mutex::default(),
            counts: Mutex::default(),
        }));
        // Registers the counters of functions now, so that `top` always shows the same ones; stages
        // register theirs before a run.
        if schemas.is_some() {
            for border in [DECODE_FUNCTION, ENCODE_FUNCTION] {
                schemas.counts(border);
            }
        }
        schemas
    }

    /// Continues the counters of the schemas that these replace.
    pub(crate) fn count_on(&self, before: &Schemas) {
        for (border, counts) in before.counters() {
            self.counts(&border).add(&counts);
        }
    }

    /// Whether messages of `schema` are messages of these schemas.
    pub(crate) fn are_of(&self, schema: &Schema) -> bool {
        self.0.schema.as_ref().is_some_and(|own| own.is(schema))
    }

    /// Whether there are message types.
    pub fn is_some(&self) -> bool {
        self.0.schema.is_some()
    }

    /// The schema, and the type of the name.
    pub(super) fn find(&self, message: &str) -> Result<(&Schema, MessageId), Missing> {
        let Some(schema) = &self.0.schema else {
            let message = format!("`{message}` needs a schema, and none belongs to the program");
            let help = "give the file of the schema, .proto or .fds, beside the rules".to_owned();
            return Err(Missing { message, help });
        };
        if let Some(found) = schema.message_by_name(message) {
            return Ok((schema, found));
        }
        let messages = || {
            let all = schema.messages().map(|id| schema.message(id));
            all.filter(|one| !one.is_map_entry()).map(|one| &**one.full_name())
        };
        let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let of_that_name = || messages().find(|name| last(name) == last(message));
        let close = nearest(message, messages()).or_else(of_that_name);
        let help = match close {
            Some(close) => format!("there is `{close}`"),
            None => match messages().next() {
                Some(one) => format!("write the full name of a message, such as `{one}`"),
                None => "the schemas have no messages".to_owned(),
            },
        };
        let message = format!("the schemas of the program have no message `{message}`");
        Err(Missing { message, help })
    }

    /// The schema, and the type of the name; or an error with a hint.
    pub(crate) fn message(&self, name: &str) -> Result<(&Schema, MessageId), (String, String)> {
        self.find(name).map_err(|Missing { message, help }| (message, help))
    }

    /// The spans of the names of messages and fields.
    pub(crate) fn spans(&self) -> &Spans {
        &self.0.spans
    }

    /// The operation of a stage name.
    pub(super) fn understand(
        &self,
        name: &str,
    ) -> Result<(Direction, &Schema, MessageId), Missing> {
        let (direction, message) = named(name).unwrap_or((Direction::Decode, name));
        let (schema, message) = self.find(message)?;
        Ok((direction, schema, message))
    }

    pub(super) fn counts(&self, border: &str) -> Arc<Counts> {
        let mut counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(border.to_owned()).or_default().clone()
    }

    /// The counters of each border that a node has opened, by name.
    pub fn counters(&self) -> Vec<(String, Arc<Counts>)> {
        let counts = self.0.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(name, counts)| (name.clone(), counts.clone())).collect()
    }

    /// A decoder of messages of the schema.
    pub(crate) fn decoder<'s>(&'s self, schema: &'s Schema) -> Decoder<'s> {
        let (tables, native) = self.0.code.get_or_init(|| {
            let tables = Tables::new(schema);
            let native = Native::for_messages(schema, &tables, Strings::Viewed, Listing::Dropped);
            (tables, native.ok())
        });
        let decoder = Decoder::with(schema, tables);
        match native {
            Some(native) => decoder.native(native),
            None => decoder,
        }
    }

    /// The code that encodes messages of a type; `None` on machines that the code generator does
    /// not support.
    pub(crate) fn encoder(&self, schema: &Schema, message: MessageId) -> Option<EncoderCode> {
        let mut encoders = self.0.encoders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = encoders.get(&message) {
            return Some(code.clone());
        }
        let code = EncoderCode::compile(schema, message).ok()?;
        encoders.insert(message, code.clone());
        Some(code)
    }
}

impl fmt::Debug for Schemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages = self.0.schema.as_ref().map(|schema| schema.messages().len());
        f.debug_struct("Schemas").field("messages", &messages).finish_non_exhaustive()
    }
}
