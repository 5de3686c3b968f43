//! Input in pieces of any size.

use super::Decoder;
use super::error::{DecodeError, ErrorKind, error};
use super::held::Held;
use super::load::SLACK;
use super::state::DecodeState;
use super::tally::Tally;
use super::walk::Walk;
use crate::schema::MessageId;
use crate::sink::Sink;

/// A message that comes in pieces; made by [`Decoder::stream`].
///
/// Each piece is read when it comes; between two of them at most 19 bytes are kept, and the bytes
/// so far of an unknown field if the sink needs those. Strings are passed on as they arrive.
///
/// ```
/// use tidemill_wire::sink::stream_events;
/// use tidemill_wire::{Decoder, Event, Label, Scalar, SchemaBuilder};
///
/// let mut builder = SchemaBuilder::new("demo");
/// let note = builder.message("Note");
/// let text = builder.field(note, "text", 1, Scalar::String, Label::Optional);
/// let schema = builder.build().unwrap();
///
/// let mut seen = String::new();
/// let mut sink = stream_events(|event| {
///     if let Event::String(_, piece) = event {
///         seen.push_str(piece);
///     }
///     Ok(())
/// });
/// let mut stream = Decoder::new(&schema).stream(note);
/// for piece in [&b"\x0a"[..], b"\x05gr\xc3", b"\xbcn"] {
///     stream.push(piece, &mut sink)?;
/// }
/// stream.finish(&mut sink)?;
/// assert_eq!(seen, "grün");
/// # Ok::<(), tidemill_wire::DecodeError>(())
/// ```
pub struct Stream<'s> {
    decoder: Decoder<'s>,
    message: MessageId,
    state: DecodeState,
    tally: Tally,
    residue: [u8; SLACK],
    residue_bytes: usize,
    /// The number of bytes received.
    total: usize,
    begun: bool,
    failed: Option<DecodeError>,
}

impl<'s> Decoder<'s> {
    /// Begins a message of type `message` that comes in pieces.
    ///
    /// # Panics
    /// If the decoder's tables are a selection for another message.
    pub fn stream(&self, message: MessageId) -> Stream<'s> {
        Stream::new(*self, message)
    }
}

impl<'s> Stream<'s> {
    pub(super) fn new(decoder: Decoder<'s>, message: MessageId) -> Stream<'s> {
        let node = decoder.root(message);
        Stream {
            decoder,
            message,
            state: DecodeState::new(decoder.tables, node, decoder.bytes_max),
            tally: Tally::new(node),
            residue: [0; SLACK],
            residue_bytes: 0,
            total: 0,
            begun: false,
            failed: None,
        }
    }

    /// Reads a piece.
    ///
    /// # Errors
    /// The bytes are malformed, or the sink stopped: then every further call returns the same
    /// error.
    pub fn push<S>(&mut self, piece: &[u8], sink: &mut S) -> Result<(), DecodeError>
    where
        S: for<'a> Sink<'a>,
    {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let before = self.residue;
        let before = &before[..self.residue_bytes];
        let result = self.read(before, piece, sink);
        // The piece is dropped after this call.
        let to = match result {
            Ok(()) => self.state.pos,
            Err(_) => self.state.counted_to(),
        };
        self.tally.walk(self.decoder.tables, before, piece, self.total - piece.len(), to);
        result.map_err(|kind| self.fail(kind))
    }

    /// The input ends.
    ///
    /// # Errors
    /// The message is not complete, or the sink stopped.
    pub fn finish<S>(mut self, sink: &mut S) -> Result<(), DecodeError>
    where
        S: for<'a> Sink<'a>,
    {
        // The first event may not have been sent yet.
        self.push(&[], sink)?;
        let total = self.total;
        let (message, held) = (self.message, Held::default());
        let result = self.walk(&[], 0, &[], &held, sink).end(message, total);
        result.map_err(|kind| self.fail(kind))
    }

    /// The number of bytes received.
    pub fn bytes(&self) -> usize {
        self.total
    }

    fn fail(&mut self, kind: ErrorKind) -> DecodeError {
        let Decoder { schema, tables, .. } = self.decoder;
        let error = error(kind, schema, tables, &self.state, &self.tally);
        self.failed = Some(error.clone());
        error
    }

    fn walk<'w, 'a, S: Sink<'a>>(
        &'w mut self,
        seam: &'a [u8],
        seam_start: usize,
        piece: &'a [u8],
        held: &'a Held,
        sink: &'w mut S,
    ) -> Walk<'w, 'a, S> {
        let engine = self.decoder.engine(self.message, sink);
        Walk {
            schema: self.decoder.schema,
            tables: self.decoder.tables,
            state: &mut self.state,
            sink,
            piece,
            piece_start: self.total - piece.len(),
            seam,
            seam_start,
            last: false,
            held: Some(held),
            depth_max: self.decoder.depth_max,
            root_end: DecodeState::root_end(self.decoder.bytes_max),
            engine,
        }
    }

    fn read<S>(&mut self, before: &[u8], piece: &[u8], sink: &mut S) -> Result<(), ErrorKind>
    where
        S: for<'a> Sink<'a>,
    {
        let start = self.total;
        self.total += piece.len();
        let (message, held) = (self.message, Held::default());
        let mut seam = [0; 2 * SLACK];
        let prefix = piece.len().min(SLACK);
        let seam_bytes = before.len() + prefix;
        seam[..before.len()].copy_from_slice(before);
        seam[before.len()..seam_bytes].copy_from_slice(&piece[..prefix]);
        if !std::mem::replace(&mut self.begun, true) {
            self.walk(&[], 0, piece, &held, sink).begin(message)?;
        }
        if self.total > self.decoder.bytes_max {
            (self.state.tag_start, self.state.number) = (self.state.pos, 0);
            return Err(ErrorKind::TooLarge);
        }
        let seam = &seam[..seam_bytes];
        let mut walk = self.walk(seam, start - before.len(), piece, &held, sink);
        let over = before.is_empty() || walk.over_seam()?;
        if over {
            walk.over_piece()?;
        }
        self.keep(seam, start - before.len(), piece, start);
        Ok(())
    }

    /// Keeps what is not read yet.
    fn keep(&mut self, seam: &[u8], seam_start: usize, piece: &[u8], start: usize) {
        let pos = self.state.pos;
        let rest = if pos < start { &seam[pos - seam_start..] } else { &piece[pos - start..] };
        self.residue_bytes = rest.len();
        self.residue[..rest.len()].copy_from_slice(rest);
    }
}

impl std::fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("message", &self.message)
            .field("bytes", &self.total)
            .finish_non_exhaustive()
    }
}
