//! Converts messages one by one from form to form.

use std::cell::OnceCell;
use std::io::{Read, Write};

use tidemill_stdx::region::Bump;
use tidemill_wire::decode::{Native, SelectError, Tables};
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, JsonSink, Mapping, PrintOptions, ReadError, ReadOptions};
use tidemill_wire::sink::Wants;
use tidemill_wire::text::{self, TextPrintOptions, TextReadOptions, TextSink};
use tidemill_wire::{Decoder, MessageId, Schema, delimited};

use super::form::{ConvertError, Counts, Form};
use super::frames::Frames;

/// The size of the output buffer.
const OUTPUT_BYTES: usize = 64 << 10;
/// The capacity kept from one message to the next.
const KEPT_BYTES: usize = 1 << 20;

/// Called after each message with the counts so far.
pub type Progress<'p> = &'p mut dyn FnMut(Counts);

/// Converts messages of one type.
#[derive(Debug)]
pub struct Converter<'s> {
    pub(super) schema: &'s Schema,
    mapping: Mapping<'s>,
    pub(super) message: MessageId,
    tables: Tables,
    /// Compiled on first use: columns have a decoder of their own.
    native: OnceCell<Native>,
    #[cfg(feature = "arrow")]
    pub(super) columns: super::columns::Code,
    /// The selected paths; empty: all of each message.
    pub(super) paths: Vec<String>,
    pub(super) engine: Engine,
}

/// The decoder of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Code generated for the schema.
    Native,
    /// Tables.
    Table,
}

impl<'s> Converter<'s> {
    /// A converter of all of each message, or of the fields at the paths.
    ///
    /// # Errors
    /// An invalid path.
    pub fn new(
        schema: &'s Schema,
        message: MessageId,
        paths: Option<&[&str]>,
        engine: Engine,
    ) -> Result<Converter<'s>, SelectError> {
        let tables = match paths {
            None => Tables::checking_required(schema),
            Some(paths) => Tables::select(schema, message, paths)?,
        };
        let paths = paths.unwrap_or_default().iter().map(|&path| path.to_owned()).collect();
        let mapping = Mapping::new(schema);
        Ok(Converter {
            schema,
            mapping,
            message,
            tables,
            native: OnceCell::new(),
            #[cfg(feature = "arrow")]
            columns: super::columns::Code::default(),
            paths,
            engine,
        })
    }

    fn decoder(&self) -> Result<Decoder<'_>, ConvertError> {
        let decoder = Decoder::with(self.schema, &self.tables);
        if self.engine == Engine::Table {
            return Ok(decoder);
        }
        let native = match self.native.get() {
            Some(native) => native,
            None => {
                let compiled = Native::compile(self.schema, &self.tables, Wants::ALL);
                let compiled = compiled.map_err(|error| ConvertError::Engine(error.to_string()))?;
                self.native.get_or_init(|| compiled)
            }
        };
        Ok(decoder.native(native))
    }

    /// Converts all messages of `input`.
    ///
    /// # Errors
    /// An invalid message, or an error of the input or output; earlier messages are written. A
    /// processor that the code generator does not support.
    pub fn convert(
        &self,
        input: impl Read,
        from: Form,
        output: &mut impl Write,
        to: Form,
        progress: Progress<'_>,
    ) -> Result<Counts, ConvertError> {
        let decoder = self.decoder()?;
        let mut printer = self.printer(to);
        let walked = self.each(input, from, progress, |bytes, counts| {
            printer.print(&decoder, !self.paths.is_empty(), self.message, bytes)?;
            if printer.out.len() >= OUTPUT_BYTES {
                counts.output_bytes += printer.flush(output)?;
            }
            Ok(())
        });
        let (mut counts, done) = walked?;
        counts.output_bytes += printer.flush(output)?;
        done.map(|()| counts)
    }

    /// Passes the bytes of each message of `input` to `take`, and reports progress.
    ///
    /// The counts are valid even if a message is invalid or the input fails, which is the inner
    /// result.
    ///
    /// # Errors
    /// An error of the output.
    pub(super) fn each(
        &self,
        input: impl Read,
        from: Form,
        progress: Progress<'_>,
        mut take: impl FnMut(&[u8], &mut Counts) -> Result<(), Failed>,
    ) -> Result<(Counts, Result<(), ConvertError>), ConvertError> {
        let mut frames = Frames::new(input, from);
        let mut parsed = BinarySink::new(self.schema);
        let mut arena = Bump::new();
        let mut counts = Counts::default();
        loop {
            let frame = match frames.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok((counts, Ok(()))),
                Err(error) => return Ok((counts, Err(error))),
            };
            let length = frame.len();
            let bytes = self.bytes_of(frame, from, &arena, &mut parsed);
            match bytes.map_err(Failed::Message).and_then(|bytes| take(bytes, &mut counts)) {
                Ok(()) => {}
                Err(Failed::Message(problem)) => {
                    return Ok((counts, Err(problem.explain(&frames))));
                }
                Err(Failed::Output(error)) => return Err(error),
            }
            if matches!(from, Form::Json | Form::Text) {
                frames.pass_lines(length);
            }
            arena.reset_and_shrink(KEPT_BYTES);
            counts.messages += 1;
            counts.input_bytes = frames.bytes();
            progress(counts);
        }
    }

    fn printer(&self, to: Form) -> Printer<'_, 's> {
        Printer {
            to,
            out: Vec::new(),
            count: 0,
            json: JsonSink::new(&self.mapping, PrintOptions::default()),
            text: TextSink::new(&self.mapping, TextPrintOptions::default()),
        }
    }

    /// The bytes of a message, which `parsed` produces from text forms.
    fn bytes_of<'f>(
        &self,
        frame: &'f [u8],
        from: Form,
        arena: &Bump,
        parsed: &'f mut BinarySink<'_>,
    ) -> Result<&'f [u8], Problem> {
        let (mapping, message) = (&self.mapping, self.message);
        parsed.clear();
        match from {
            Form::Binary | Form::Delimited => return Ok(frame),
            Form::Json => {
                json::read(mapping, message, frame, arena, ReadOptions::default(), parsed)?;
            }
            Form::Text => {
                text::read(mapping, message, frame, arena, TextReadOptions::default(), parsed)?;
            }
        }
        Ok(parsed.bytes())
    }
}

/// Why a message was not accepted.
pub(super) enum Failed {
    /// It is invalid.
    Message(Problem),
    /// The output has failed.
    Output(ConvertError),
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Failed {
        Failed::Message(problem)
    }
}

impl From<ConvertError> for Failed {
    fn from(error: ConvertError) -> Failed {
        Failed::Output(error)
    }
}

/// What is wrong with a message, and the place in its text.
pub(super) struct Problem {
    place: Option<(usize, usize)>,
    message: String,
}

impl Problem {
    pub(super) fn from_display(error: impl std::fmt::Display) -> Problem {
        Problem { place: None, message: error.to_string() }
    }

    /// The error for the message that was read last.
    fn explain<R: Read>(self, frames: &Frames<R>) -> ConvertError {
        let place = self.place.map(|(line, column)| frames.place(line, column));
        ConvertError::Message { place, number: frames.number(), message: self.message }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Problem {
        let within =
            if error.path.is_empty() { String::new() } else { format!(" in {}", error.path) };
        let message = format!("{}{within}", error.message);
        Problem { place: Some((error.line, error.column)), message }
    }
}

/// Writes messages to the output.
struct Printer<'m, 's> {
    to: Form,
    out: Vec<u8>,
    count: u64,
    json: JsonSink<'m, 's>,
    text: TextSink<'m, 's>,
}

impl Printer<'_, '_> {
    fn print(
        &mut self,
        decoder: &Decoder<'_>,
        selects: bool,
        message: MessageId,
        bytes: &[u8],
    ) -> Result<(), Problem> {
        self.count += 1;
        match self.to {
            Form::Binary | Form::Delimited => {
                let mut selected = BinarySink::new(decoder.schema());
                let decoded = if selects {
                    decoder.decode(message, bytes, &mut selected)
                } else {
                    decoder.check(message, bytes)
                };
                decoded.map_err(Problem::from_display)?;
                let bytes = if selects { selected.bytes() } else { bytes };
                if self.to == Form::Delimited {
                    delimited::write_varint(&mut self.out, bytes);
                } else if self.count == 1 {
                    self.out.extend_from_slice(bytes);
                } else {
                    return Err(Problem::from_display(
                        "one message makes a binary file: several are written as delimited",
                    ));
                }
            }
            Form::Json => {
                self.json.clear();
                let printed = json::print_with(&mut self.json, decoder, message, bytes);
                printed.map_err(Problem::from_display)?;
                self.out.extend_from_slice(self.json.bytes());
                self.out.push(b'\n');
            }
            Form::Text => {
                self.text.clear();
                let printed = text::print_with(&mut self.text, decoder, message, bytes);
                printed.map_err(Problem::from_display)?;
                if self.count > 1 {
                    self.out.push(b'\n');
                }
                self.out.extend_from_slice(self.text.bytes());
            }
        }
        Ok(())
    }

    fn flush(&mut self, output: &mut impl Write) -> Result<u64, ConvertError> {
        output.write_all(&self.out).map_err(ConvertError::Write)?;
        let written = self.out.len() as u64;
        self.out.clear();
        Ok(written)
    }
}
