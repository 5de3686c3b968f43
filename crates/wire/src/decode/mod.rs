//! Decoders: walk a message's bytes once and feed a [`Sink`].
//!
//! ```text
//!   Schema --> Tables --+---------------------> Decoder --decode, stream--> events
//!     fields wanted ----'--> Native --native()---'
//! ```
//! The *table decoder* takes any schema at once and is the reference; the *native decoder* is code
//! compiled for the same tables, and reads the middle of the input, while the table decoder reads
//! its seams. Both give the same events, the same errors, at the same places.
//!
//! | part | holds |
//! |---|---|
//! | `tables`, `select` | what is to be known of each field, and which are wanted |
//! | `state`, `held` | what is kept between two pieces of input |
//! | `walk`, `engine`, `load` | zones, frames, faults; the engine |
//! | `fields`, `text`, `lists`, `packed`, `skip`, `item` | the table decoder |
//! | `fill` | the table decoder for messages in memory |
//! | `stream` | input in pieces |
//! | `error`, `tally` | which field failed, by which path |
//! | `native` | the native decoder |

mod engine;
mod error;
mod fields;
mod fill;
mod held;
mod item;
mod limits;
mod lists;
mod load;
#[cfg(feature = "native")]
mod native;
mod nodes;
mod packed;
mod select;
mod skip;
mod state;
mod stream;
mod tables;
mod tally;
mod text;
mod walk;

pub use error::{DecodeError, ErrorKind};
pub use limits::{BYTES_MAX, DEPTH_MAX};
#[cfg(feature = "native")]
pub use native::{Compiling, Listing, Native, NativeError, Strings};
pub use select::SelectError;
pub use stream::Stream;
pub use tables::Tables;

use engine::Engine;
use state::DecodeState;
use tally::Tally;
use walk::Walk;

#[cfg(not(feature = "native"))]
use crate::message::{Arena, Storage, record::Record};
use crate::schema::{MessageId, Schema};
use crate::sink::Sink;

/// Decodes messages of one schema; see the module.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'s> {
    schema: &'s Schema,
    tables: &'s Tables,
    depth_max: usize,
    bytes_max: usize,
    #[cfg(feature = "native")]
    native: Option<&'s Native>,
}

impl<'s> Decoder<'s> {
    /// A decoder of all fields, with the usual limits.
    pub fn new(schema: &'s Schema) -> Decoder<'s> {
        Decoder::with(schema, schema.decoding())
    }

    /// A decoder that goes by tables, which were made from this schema.
    #[inline]
    pub fn with(schema: &'s Schema, tables: &'s Tables) -> Decoder<'s> {
        Decoder {
            schema,
            tables,
            depth_max: DEPTH_MAX,
            bytes_max: BYTES_MAX,
            #[cfg(feature = "native")]
            native: None,
        }
    }

    /// The schema.
    #[inline]
    pub fn schema(&self) -> &'s Schema {
        self.schema
    }

    /// Sets how deep sub-messages and unknown groups may nest.
    #[inline]
    pub fn depth_max(self, depth_max: usize) -> Decoder<'s> {
        Decoder { depth_max, ..self }
    }

    /// Sets the maximal length of a message in bytes.
    #[inline]
    pub fn bytes_max(self, bytes_max: usize) -> Decoder<'s> {
        Decoder { bytes_max: bytes_max.min(usize::MAX / 4), ..self }
    }

    /// Whether it has code.
    #[inline]
    pub(crate) fn is_native(&self) -> bool {
        #[cfg(feature = "native")]
        return self.native.is_some();
        #[cfg(not(feature = "native"))]
        false
    }

    /// The maximal depth of sub-messages, and the maximal length of a message.
    pub(crate) fn limits(&self) -> (usize, usize) {
        (self.depth_max, self.bytes_max)
    }

    /// Walks `input`, which is one whole message of type `message`, for its errors alone.
    ///
    /// # Errors
    /// The bytes are malformed.
    ///
    /// # Panics
    /// If the decoder's tables are a selection for another message.
    pub fn check(&self, message: MessageId, input: &[u8]) -> Result<(), DecodeError> {
        self.decode(message, input, &mut ())
    }

    /// Walks `input`, which is one whole message of type `message`.
    ///
    /// The sink has seen all events before the place of an error.
    ///
    /// # Errors
    /// The bytes are malformed, or the sink stopped.
    ///
    /// # Panics
    /// If the decoder's tables are a selection for another message.
    pub fn decode<'a, S: Sink<'a>>(
        &self,
        message: MessageId,
        input: &'a [u8],
        sink: &mut S,
    ) -> Result<(), DecodeError> {
        let node = self.root(message);
        let mut state = DecodeState::new(self.tables, node, self.bytes_max);
        let engine = self.engine(message, sink);
        let mut walk = Walk {
            schema: self.schema,
            tables: self.tables,
            state: &mut state,
            sink,
            piece: input,
            piece_start: 0,
            seam: &[],
            seam_start: 0,
            last: true,
            held: None,
            depth_max: self.depth_max,
            root_end: DecodeState::root_end(self.bytes_max),
            engine,
        };
        let result = if input.len() > self.bytes_max {
            Err(ErrorKind::TooLarge)
        } else {
            walk.begin(message)
                .and_then(|()| walk.over_piece())
                .and_then(|()| walk.end(message, input.len()))
        };
        result.map_err(|kind| self.explain(kind, node, input, &state))
    }

    /// Without the native decoder: does nothing.
    #[cfg(not(feature = "native"))]
    pub(crate) fn fill_whole(&self, _: MessageId, _: &[u8], _: &mut dyn Storage) -> bool {
        false
    }

    /// Without the native decoder: does nothing.
    #[cfg(not(feature = "native"))]
    pub(crate) fn fill_listed(
        &self,
        _: &Schema,
        _: MessageId,
        _: &[u8],
        _: &mut Arena,
        _: Record,
    ) -> bool {
        false
    }

    #[inline]
    fn root(&self, message: MessageId) -> u32 {
        self.tables.root(message).expect("the tables are made for this message")
    }

    /// Uses the tables of a native decoder, and its code for sinks that need no more events than it
    /// covers.
    #[inline]
    #[cfg(feature = "native")]
    pub fn native(self, native: &'s Native) -> Decoder<'s> {
        Decoder { tables: &native.tables, native: Some(native), ..self }
    }

    #[cold]
    fn explain(
        &self,
        kind: ErrorKind,
        node: u32,
        input: &[u8],
        state: &DecodeState,
    ) -> DecodeError {
        let mut tally = Tally::new(node);
        tally.walk(self.tables, &[], input, 0, state.counted_to());
        error::error(kind, self.schema, self.tables, state, &tally)
    }

    /// The engine for a sink.
    #[inline]
    fn engine<'a, S: Sink<'a>>(&self, message: MessageId, sink: &mut S) -> Engine<'s> {
        #[cfg(feature = "native")]
        if let Some(native) = self.native.filter(|native| native.serves(sink))
            && let Some(unit) = native.unit(message)
        {
            return Engine::Native(unit);
        }
        #[cfg(not(feature = "native"))]
        let _ = (message, sink);
        Engine::Table(std::marker::PhantomData)
    }
}
