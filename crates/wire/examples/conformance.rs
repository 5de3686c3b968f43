//! A program for the public conformance suite to test: `cargo xtask conformance` runs it.
//!
//! Requests come on standard input, each preceded by its length (`u32`, little endian), and are
//! answered in the same form on standard output. Messages go through memory, or, with `--direct`,
//! from the one form into the other without; bytes into bytes are always written anew from memory,
//! as the suite asks for the canonical form. With `--fast` they go the ways that are measured:
//! `decode_with`, where strings are views into the request and whole messages need no walk, JSON
//! from records, and bytes from the native encoder.
//!
//! ```text
//! conformance FOLDER [--engine native|table] [--direct|--fast]   FOLDER has the suite's protos
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use tidemill_stdx::region::Bump;
use tidemill_wire::decode::{Listing, Native, Strings, Tables};
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, JsonSink, Mapping, PrintOptions, ReadOptions, Unknown};
use tidemill_wire::proto::{Folders, compile};
use tidemill_wire::sink::Wants;
use tidemill_wire::text::{self, PrintUnknown, TextPrintOptions, TextReadOptions, TextSink};
use tidemill_wire::{
    Decoder, Encoder, Message, MessageId, NativeEncoder, Schema, Value, delimited,
};

/// The files of the suite, below the folder.
const FILES: [&str; 6] = [
    "conformance/conformance.proto",
    "google/protobuf/test_messages_proto2.proto",
    "google/protobuf/test_messages_proto3.proto",
    "google/protobuf/test_messages_edition2023.proto",
    "google/protobuf/test_messages_proto2_editions.proto",
    "google/protobuf/test_messages_proto3_editions.proto",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((folder, options)) = arguments.split_first() else {
        eprintln!("usage: conformance FOLDER [--engine native|table] [--direct|--fast]");
        return ExitCode::from(2);
    };
    let has = |name: &str| options.iter().any(|option| option == name);
    let way = match (has("--direct"), has("--fast")) {
        (true, _) => Way::Direct,
        (false, true) => Way::Fast,
        (false, false) => Way::Memory,
    };
    let compiled = compile(&FILES, &Folders { roots: vec![folder.into()] });
    let Some(schema) = compiled.schema else {
        for diagnostic in &compiled.diagnostics {
            eprint!("{}", compiled.sources.render(diagnostic));
        }
        return ExitCode::FAILURE;
    };
    let mapping = Mapping::new(&schema);
    let native = options.windows(2).any(|pair| pair == ["--engine", "native"]);
    let tables = Tables::new(&schema);
    let native = native.then(|| match way {
        Way::Direct => Native::compile(&schema, &tables, Wants::ALL),
        Way::Memory => Native::for_messages(&schema, &tables, Strings::Copied, Listing::Dropped),
        Way::Fast => Native::for_messages(&schema, &tables, Strings::Viewed, Listing::Dropped),
    });
    let native = match native.transpose() {
        Ok(native) => native,
        Err(error) => {
            eprintln!("conformance: {error}");
            return ExitCode::FAILURE;
        }
    };
    let decoder = Decoder::with(&schema, &tables);
    let decoder = native.as_ref().map_or(decoder, |native| decoder.native(native));
    let encoders = RefCell::default();
    let encoders = native.as_ref().map(|_| &encoders);
    match serve(&Testee { schema: &schema, mapping: &mapping, decoder, encoders, way }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Through messages in memory, by what is measured or not, or without.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Memory,
    Direct,
    Fast,
}

/// Made when a message of their type is first written.
type Encoders = RefCell<BTreeMap<MessageId, NativeEncoder>>;

struct Testee<'s> {
    schema: &'s Schema,
    mapping: &'s Mapping<'s>,
    decoder: Decoder<'s>,
    /// With native code only.
    encoders: Option<&'s Encoders>,
    way: Way,
}

fn serve(testee: &Testee<'_>) -> Result<(), Box<dyn std::error::Error>> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    loop {
        let mut length = [0; 4];
        match input.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let mut request = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut request)?;
        let response = testee.respond(&request)?;
        let mut framed = Vec::new();
        delimited::write(&mut framed, &response)?;
        output.write_all(&framed)?;
        output.flush()?;
    }
}

/// A payload, by the number of its field in the request.
const BINARY: i32 = 1;
const JSON: i32 = 2;
const TEXT: i32 = 4;

/// An answer: a field of the response, and its value.
type Answer = (&'static str, Vec<u8>);

impl Testee<'_> {
    fn respond(&self, request: &[u8]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let request = Message::from_bytes(self.schema, "conformance.ConformanceRequest", request)?;
        let (field, value) = self.answer(&request)?;
        let mut response = Message::new(self.schema, "conformance.ConformanceResponse")?;
        match field {
            "protobuf_payload" => response.set(field, value.as_slice())?,
            _ => response.set(field, &*String::from_utf8_lossy(&value))?,
        }
        Ok(response.encode()?)
    }

    fn answer(&self, request: &Message<'_>) -> Result<Answer, Box<dyn std::error::Error>> {
        let Value::String(name) = request.get("message_type")? else { return Err("type".into()) };
        if name == "conformance.FailureSet" {
            return Ok(("protobuf_payload", Vec::new()));
        }
        let Some(message) = self.schema.message_by_name(name) else {
            return Ok(("runtime_error", format!("no message {name}").into_bytes()));
        };
        if self.way == Way::Fast {
            return self.answer_fast(message, request);
        }
        let parsed = match self.parse(message, request)? {
            Ok(bytes) => bytes,
            Err(error) => return Ok(("parse_error", error.into_bytes())),
        };
        Ok(match self.print(message, &parsed, request)? {
            Ok(answer) => answer,
            Err(error) => ("serialize_error", error.into_bytes()),
        })
    }

    /// By a message whose strings are in the request, which is printed as it is.
    fn answer_fast(
        &self,
        message: MessageId,
        request: &Message<'_>,
    ) -> Result<Answer, Box<dyn std::error::Error>> {
        let arena = Bump::new();
        let ignore = matches!(request.get("test_category")?, Value::Enum(3));
        let unknown = if ignore { Unknown::Ignore } else { Unknown::Refuse };
        let json_options = ReadOptions { unknown, ..ReadOptions::default() };
        let mut whole = Message::new(self.schema, message)?;
        let read = if let (true, Value::Bytes(payload)) = field(request, "protobuf_payload")? {
            whole.decode_with(&self.decoder, payload).map_err(|error| error.to_string())
        } else if let (true, Value::String(text)) = field(request, "json_payload")? {
            let (mapping, text) = (self.mapping, text.as_bytes());
            let mut sink = whole.copying_builder();
            let read = json::read(mapping, message, text, &arena, json_options, &mut sink);
            read.map_err(|error| error.to_string())
        } else if let (true, Value::String(text)) = field(request, "text_payload")? {
            let (mapping, text) = (self.mapping, text.as_bytes());
            let (options, mut sink) = (TextReadOptions::default(), whole.copying_builder());
            let read = text::read(mapping, message, text, &arena, options, &mut sink);
            read.map_err(|error| error.to_string())
        } else {
            return Err("a payload of no known kind".into());
        };
        if let Err(error) = read {
            return Ok(("parse_error", error.into_bytes()));
        }
        let printed = match request.get("requested_output_format")? {
            Value::Enum(BINARY) => Ok(("protobuf_payload", self.encode(&whole)?)),
            Value::Enum(JSON) => self.json_of(&whole),
            Value::Enum(TEXT) => self.text_of(&whole, text_options(request)?),
            _ => return Err("format".into()),
        };
        Ok(printed.unwrap_or_else(|error| ("serialize_error", error.into_bytes())))
    }

    fn encode(&self, whole: &Message<'_>) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let Some(encoders) = self.encoders else { return Ok(whole.encode()?) };
        let (mut encoders, message) = (encoders.borrow_mut(), whole.message_type());
        let encoder = match encoders.entry(message) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Encoder::new().compile(self.schema, message)?),
        };
        Ok(encoder.encode(whole.as_ref())?.to_vec())
    }

    fn json_of(&self, whole: &Message<'_>) -> Result<Answer, String> {
        let mut sink = JsonSink::new(self.mapping, PrintOptions::default());
        let printed = json::print_message(&mut sink, whole.as_ref());
        printed.map(|()| ("json_payload", sink.into_bytes())).map_err(|error| error.to_string())
    }

    fn text_of(&self, whole: &Message<'_>, options: TextPrintOptions) -> Result<Answer, String> {
        let mut sink = TextSink::new(self.mapping, options);
        let walked = whole.walk(&mut sink);
        let error = format!("{:?}", sink.problem());
        walked.map(|()| ("text_payload", sink.into_bytes())).map_err(|_| error)
    }

    /// The payload as the bytes of its message.
    fn parse(
        &self,
        message: MessageId,
        request: &Message<'_>,
    ) -> Result<Result<Vec<u8>, String>, Box<dyn std::error::Error>> {
        let arena = Bump::new();
        let ignore = matches!(request.get("test_category")?, Value::Enum(3));
        let unknown = if ignore { Unknown::Ignore } else { Unknown::Refuse };
        let json_options = ReadOptions { unknown, ..ReadOptions::default() };
        let text_options = TextReadOptions::default();
        let mut whole = Message::new(self.schema, message)?;
        let mut bytes = BinarySink::new(self.schema);
        let direct = self.way == Way::Direct;
        let read = if let (true, Value::Bytes(payload)) = field(request, "protobuf_payload")? {
            let decoded = self
                .decoder
                .decode(message, payload, &mut whole.copying_builder())
                .map_err(|error| error.to_string());
            let to_bytes = matches!(request.get("requested_output_format")?, Value::Enum(BINARY));
            if direct && !to_bytes {
                return Ok(decoded.map(|()| payload.to_vec()));
            }
            return Ok(match decoded {
                Ok(()) => Ok(whole.encode()?),
                Err(error) => Err(error),
            });
        } else if let (true, Value::String(text)) = field(request, "json_payload")? {
            let (mapping, text) = (self.mapping, text.as_bytes());
            if direct {
                json::read(mapping, message, text, &arena, json_options, &mut bytes)
            } else {
                let mut sink = whole.copying_builder();
                json::read(mapping, message, text, &arena, json_options, &mut sink)
            }
            .map_err(|error| error.to_string())
        } else if let (true, Value::String(text)) = field(request, "text_payload")? {
            let (mapping, text) = (self.mapping, text.as_bytes());
            if direct {
                text::read(mapping, message, text, &arena, text_options, &mut bytes)
            } else {
                let mut sink = whole.copying_builder();
                text::read(mapping, message, text, &arena, text_options, &mut sink)
            }
            .map_err(|error| error.to_string())
        } else {
            return Err("a payload of no known kind".into());
        };
        Ok(match read {
            Err(error) => Err(error),
            Ok(()) if direct => Ok(bytes.into_bytes()),
            Ok(()) => Ok(whole.encode()?),
        })
    }

    fn print(
        &self,
        message: MessageId,
        bytes: &[u8],
        request: &Message<'_>,
    ) -> Result<Result<Answer, String>, Box<dyn std::error::Error>> {
        let Value::Enum(format) = request.get("requested_output_format")? else {
            return Err("format".into());
        };
        let text_options = text_options(request)?;
        Ok(match (format, self.way) {
            (BINARY, _) => Ok(("protobuf_payload", bytes.to_vec())),
            (JSON, Way::Direct) => {
                let mut sink = JsonSink::new(self.mapping, PrintOptions::default());
                let printed = json::print_with(&mut sink, &self.decoder, message, bytes);
                printed.map(|()| ("json_payload", sink.into_bytes())).map_err(|e| e.to_string())
            }
            (JSON, _) => self.json_of(&Message::from_bytes(self.schema, message, bytes)?),
            (TEXT, Way::Direct) => {
                let mut sink = TextSink::new(self.mapping, text_options);
                let printed = text::print_with(&mut sink, &self.decoder, message, bytes);
                printed.map(|()| ("text_payload", sink.into_bytes())).map_err(|e| e.to_string())
            }
            (TEXT, _) => {
                self.text_of(&Message::from_bytes(self.schema, message, bytes)?, text_options)
            }
            _ => return Err(format!("output format {format}").into()),
        })
    }
}

fn text_options(request: &Message<'_>) -> Result<TextPrintOptions, Box<dyn std::error::Error>> {
    let print_unknown = matches!(request.get("print_unknown_fields")?, Value::Bool(true));
    let unknown = if print_unknown { PrintUnknown::Print } else { PrintUnknown::Ignore };
    Ok(TextPrintOptions { unknown, ..TextPrintOptions::default() })
}

/// Whether a field is present, and its value.
fn field<'m>(
    message: &'m Message<'_>,
    name: &str,
) -> Result<(bool, Value<'m>), Box<dyn std::error::Error>> {
    Ok((message.has(name)?, message.get(name)?))
}
