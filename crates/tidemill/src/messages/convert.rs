//! One message after the other, from form to form.

use std::io::{Read, Write};

use tidemill_stdx::region::Bump;
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, JsonSink, Mapping, PrintOptions, ReadError, ReadOptions};
use tidemill_wire::select::{Select, Selection};
use tidemill_wire::text::{self, TextPrintOptions, TextReadOptions, TextSink};
use tidemill_wire::{Decoder, MessageId, Schema, delimited};

use super::{ConvertError, Counts, Form, Frames};

/// Output that is gathered before it is written.
const OUTPUT_BYTES: usize = 64 << 10;
/// Memory that is kept from one message to the next.
const KEPT_BYTES: usize = 1 << 20;

/// Is told after each message what was done so far.
pub type Progress<'p> = &'p mut dyn FnMut(Counts);

/// Converts messages of one type.
#[derive(Debug)]
pub struct Converter<'s> {
    schema: &'s Schema,
    mapping: Mapping<'s>,
    message: MessageId,
    selection: Option<Selection>,
}

impl<'s> Converter<'s> {
    /// A converter of all of each message, or of what is selected.
    pub fn new(
        schema: &'s Schema,
        message: MessageId,
        selection: Option<Selection>,
    ) -> Converter<'s> {
        Converter { schema, mapping: Mapping::new(schema), message, selection }
    }

    /// Converts all messages of `input`.
    ///
    /// # Errors
    /// A message that is wrong, input or output that fails; what came before is written.
    pub fn convert(
        &self,
        input: impl Read,
        from: Form,
        output: &mut impl Write,
        to: Form,
        progress: Progress<'_>,
    ) -> Result<Counts, ConvertError> {
        let mut frames = Frames::new(input, from);
        let mut printer = self.printer(to);
        let mut arena = Bump::new();
        let mut counts = Counts::default();
        let mut done = Ok(());
        while let Some(frame) = frames.next()? {
            let length = frame.len();
            if let Err(problem) = self.one(frame, from, &arena, &mut printer) {
                let place = problem.place.map(|(line, column)| frames.place(line, column));
                let (number, message) = (frames.number(), problem.message);
                done = Err(ConvertError::Message { place, number, message });
                break;
            }
            if matches!(from, Form::Json | Form::Text) {
                frames.pass_lines(length);
            }
            arena.reset_and_shrink(KEPT_BYTES);
            counts.messages += 1;
            counts.input_bytes = frames.bytes();
            if printer.out.len() >= OUTPUT_BYTES {
                counts.output_bytes += printer.flush(output)?;
            }
            progress(counts);
        }
        counts.output_bytes += printer.flush(output)?;
        done.map(|()| counts)
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

    fn one(
        &self,
        frame: &[u8],
        from: Form,
        arena: &Bump,
        printer: &mut Printer<'_, 's>,
    ) -> Result<(), Problem> {
        let (mapping, message) = (&self.mapping, self.message);
        let mut parsed = BinarySink::new(self.schema);
        let bytes = match from {
            Form::Binary | Form::Delimited => frame,
            Form::Json => {
                let options = ReadOptions::default();
                json::read(mapping, message, frame, arena, options, &mut parsed)?;
                parsed.bytes()
            }
            Form::Text => {
                let options = TextReadOptions::default();
                text::read(mapping, message, frame, arena, options, &mut parsed)?;
                parsed.bytes()
            }
        };
        let decoder = Decoder::new(self.schema);
        match &self.selection {
            None => printer.print(decoder, message, bytes),
            Some(selection) => {
                let mut select = Select::new(selection, BinarySink::new(self.schema));
                decoder.decode(message, bytes, &mut select).map_err(Problem::from_display)?;
                printer.print(decoder, message, select.sink.bytes())
            }
        }
    }
}

/// What is wrong with a message, and where in its text.
struct Problem {
    place: Option<(usize, usize)>,
    message: String,
}

impl Problem {
    fn from_display(error: impl std::fmt::Display) -> Problem {
        Problem { place: None, message: error.to_string() }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Problem {
        let within = match error.path.is_empty() {
            true => String::new(),
            false => format!(" in {}", error.path),
        };
        let message = format!("{}{within}", error.message);
        Problem { place: Some((error.line, error.column)), message }
    }
}

/// Messages on their way out.
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
        decoder: Decoder<'_>,
        message: MessageId,
        bytes: &[u8],
    ) -> Result<(), Problem> {
        self.count += 1;
        match self.to {
            Form::Binary | Form::Delimited => {
                decoder.decode(message, bytes, &mut ()).map_err(Problem::from_display)?;
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
                json::print_to(&mut self.json, message, bytes).map_err(Problem::from_display)?;
                self.out.extend_from_slice(self.json.bytes());
                self.out.push(b'\n');
            }
            Form::Text => {
                self.text.clear();
                text::print_to(&mut self.text, message, bytes).map_err(Problem::from_display)?;
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
