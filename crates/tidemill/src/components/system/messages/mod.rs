//! Messages: values of the types that the schemas of the program have.
//!
//! A communication holds one message. Paths lead into it, see [`path`]. What is wrong, be it a
//! path, a value or bytes that are no message, is answered as Failed and changes nothing, but that
//! messages on the way to what cannot be set may have been made.

mod path;

use tidemill_event::Loop;
use tidemill_proc::{Communication, CommunicationMap, Values};
use tidemill_relation::Value as Given;
use tidemill_relation::limits::VALUE_BYTES_MAX;
use tidemill_stdx::marks;
use tidemill_stdx::sorted::SortedMap;
use tidemill_wire::encode::table::Encoder;
use tidemill_wire::{FieldType, Message, MessageId, NativeEncoder, Scalar, Schema, Value};

use super::{Machine, integer, text};
use crate::borders::schemas::{Schemas, scalar};
use path::{Found, Path, Wrong};

const NO_MESSAGE: &str = "there is no message: send New or Decode";

/// Memory of one message.
const MESSAGE_BYTES_MAX: usize = 4 * VALUE_BYTES_MAX;

/// The messages that clients hold.
#[derive(Default)]
pub(super) struct Messages {
    schemas: Schemas,
    held: CommunicationMap<Message<'static>>,
    /// What `[]` in paths stands for, if not 0.
    indices: CommunicationMap<i64>,
    /// By type.
    encoders: SortedMap<MessageId, NativeEncoder>,
}

impl Messages {
    /// Of a program that has these.
    pub(super) fn know(&mut self, schemas: &Schemas) {
        self.schemas = schemas.clone();
    }

    /// A client has gone.
    pub(super) fn finished(&mut self, from: Communication) {
        self.held.remove(from);
        self.indices.remove(from);
    }

    fn make(&mut self, from: Communication, name: &str, bytes: Option<&[u8]>) -> Result<(), Wrong> {
        let (schema, id) = self.schemas.message(name).map_err(|(message, _)| message)?;
        let made = Message::with_limit(schema, id, MESSAGE_BYTES_MAX);
        let mut made: Message<'static> = made.map_err(|error| error.to_string())?;
        if let Some(bytes) = bytes {
            let decoder = self.schemas.decoder(schema);
            let decoded = made.decode_copied_with(&decoder, bytes);
            decoded.map_err(|error| error.to_string())?;
        }
        self.held.insert(from, made);
        Ok(())
    }

    /// The message, and a path into it.
    fn at<'p>(
        &mut self,
        of: Communication,
        path: &'p [u8],
    ) -> Result<(&mut Message<'static>, Schema, Path<'p>), Wrong> {
        let index = self.indices.get(of).copied().unwrap_or(0);
        let message = self.held.get_mut(of).ok_or(NO_MESSAGE)?;
        let path = std::str::from_utf8(path).map_err(|_| "the path is no text")?;
        let schema = message.schema().clone();
        let path = Path::parse(&schema, message.message_type(), path, index)?;
        Ok((message, schema, path))
    }

    fn encode(&mut self, from: Communication) -> Result<Vec<u8>, Wrong> {
        let Messages { schemas, held, encoders, .. } = self;
        let message = held.get(from).ok_or(NO_MESSAGE)?;
        let (schema, id) = (message.schema(), message.message_type());
        let bytes = match encoders.get_mut(&id) {
            Some(native) => native.encode(message.as_ref()).map(<[u8]>::to_vec),
            None => {
                let code = schemas.encoder(schema, id);
                match code.map(|code| NativeEncoder::new(code).check_required()) {
                    Some(native) => {
                        let native = encoders.entry(id).or_insert(native);
                        native.encode(message.as_ref()).map(<[u8]>::to_vec)
                    }
                    None => Encoder::new().check_required().encode(message.as_ref()),
                }
            }
        };
        bytes.map_err(|error| error.to_string())
    }

    fn set(&mut self, from: Communication, path: &[u8], value: Put<'_>) -> Result<(), Wrong> {
        let (message, schema, path) = self.at(from, path)?;
        let field = path.value_field(&schema)?;
        let is_bytes = field.field_type() == FieldType::Scalar(Scalar::Bytes);
        let given = match value {
            Put::Other(given) => given,
            Put::Text(bytes) if is_bytes => Given::Bytes(bytes),
            Put::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Given::Str(text),
                Err(_) => return Err(format!("field {} takes text in UTF-8", field.name())),
            },
        };
        // Its type is known before anything is made on the way.
        let value = scalar(&schema, field, given).map_err(|failed| failed.text)?;
        path.set(message.as_mut(), value)
    }

    /// Answers what the value at a path is, as one of these.
    fn get(&mut self, from: Communication, path: &[u8], wanted: &str) -> Result<Answer, Wrong> {
        let (message, schema, path) = self.at(from, path)?;
        let field = path.value_field(&schema)?;
        let value = match path.follow(message.as_ref())? {
            Found::Value(value) => value,
            Found::Nothing(why) => return Err(why),
        };
        let name = field.name();
        let number = match value {
            Value::I64(number) => Some(number),
            Value::U64(number) => Some(
                i64::try_from(number)
                    .map_err(|_| format!("field {name} is {number}, above 9223372036854775807"))?,
            ),
            Value::I32(number) | Value::Enum(number) => Some(number.into()),
            Value::U32(number) => Some(number.into()),
            _ => None,
        };
        let answer = match (wanted, value, number) {
            ("GetInteger", _, Some(number)) => Some(Answer::Integer(number)),
            ("GetReal", Value::F64(number), _) => Some(Answer::Real(number)),
            ("GetReal", Value::F32(number), _) => Some(Answer::Real(number.into())),
            ("GetReal", _, Some(number)) => Some(Answer::Real(number as f64)),
            ("GetBoolean", Value::Bool(truth), _) => Some(Answer::Boolean(truth)),
            ("GetText", Value::String(text), _) => Some(Answer::Text(text.as_bytes().to_vec())),
            ("GetText", Value::Bytes(bytes), _) => Some(Answer::Text(bytes.to_vec())),
            ("GetText", Value::Enum(number), _) => match field.field_type() {
                FieldType::Enum(of) => {
                    let named = schema.enum_def(of).value_by_number(number);
                    let name = named.map(|value| value.name().to_owned());
                    let name = name.unwrap_or_else(|| number.to_string());
                    Some(Answer::Text(name.into_bytes()))
                }
                _ => None,
            },
            _ => None,
        };
        let wanted = wanted.trim_start_matches("Get");
        let kind = value.kind_name();
        answer.ok_or_else(|| format!("field {name} holds {kind}, which is no {wanted}"))
    }

    fn count(&mut self, from: Communication, path: &[u8]) -> Result<Answer, Wrong> {
        let (message, _, path) = self.at(from, path)?;
        match path.follow(message.as_ref())? {
            Found::Value(Value::List(list)) => Ok(Answer::Integer(list.len() as i64)),
            Found::Value(Value::Map(map)) => Ok(Answer::Integer(map.len() as i64)),
            Found::Value(other) => {
                Err(format!("{} is no list or map to be counted", other.kind_name()))
            }
            Found::Nothing(why) => Err(why),
        }
    }
}

/// A value that a client sets.
enum Put<'v> {
    Text(&'v [u8]),
    Other(Given<'v>),
}

enum Answer {
    Done,
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Text(Vec<u8>),
}

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    let messages = &mut world.node.systems.contents;
    marks::arrive("schemas/call");
    let first = if message == "Index" { &[][..] } else { values.text() };
    let done = match message {
        "New" => messages.make(from, &String::from_utf8_lossy(first), None),
        "Decode" => {
            let bytes = values.bytes();
            messages.make(from, &String::from_utf8_lossy(first), Some(bytes))
        }
        "SetInteger" => messages.set(from, first, Put::Other(Given::Int(values.integer()))),
        "SetReal" => {
            let real = f64::from_bits(values.word());
            messages.set(from, first, Put::Other(Given::Double(real)))
        }
        "SetBoolean" => messages.set(from, first, Put::Other(Given::Bool(values.word() != 0))),
        "SetText" => messages.set(from, first, Put::Text(values.bytes())),
        "Clear" => messages.at(from, first).and_then(|(held, _, path)| path.clear(held.as_mut())),
        "Index" => {
            messages.indices.insert(from, values.integer());
            Ok(())
        }
        _ => Ok(()),
    };
    let answer = done.and_then(|()| match message {
        "Encode" => messages.encode(from).map(Answer::Text),
        "Has" => messages
            .at(from, first)
            .and_then(|(held, _, path)| path.is_set(held.as_ref()).map(Answer::Boolean)),
        "Count" => messages.count(from, first),
        "GetInteger" | "GetReal" | "GetBoolean" | "GetText" => messages.get(from, first, message),
        _ => Ok(Answer::Done),
    });
    match answer {
        Ok(Answer::Done) => world.answer(lp, from, "Done", &[]),
        Ok(Answer::Integer(value)) => world.answer(lp, from, "Integer", &[integer(value)]),
        Ok(Answer::Real(value)) => {
            world.answer(lp, from, "Real", &[tidemill_proc::Value::Word(value.to_bits())]);
        }
        Ok(Answer::Boolean(value)) => {
            world.answer(lp, from, "Boolean", &[integer(value.into())]);
        }
        Ok(Answer::Text(bytes)) => world.answer(lp, from, "Text", &[text(bytes)]),
        Err(reason) => world.answer(lp, from, "Failed", &[text(reason)]),
    }
}
