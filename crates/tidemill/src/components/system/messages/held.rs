//! The messages held by clients.

use tidemill_cl::system::messages::{NAME as MESSAGES, Response};
use tidemill_proc::{Communication, CommunicationMap};
use tidemill_relation::Value as Given;
use tidemill_relation::limits::VALUE_BYTES_MAX;
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::sorted::SortedMap;
use tidemill_wire::encode::table::Encoder;
use tidemill_wire::{FieldType, Message, MessageId, NativeEncoder, Scalar, Schema, Value};

use super::path::{Path, PathError, PathTarget};
use crate::borders::schemas::{Schemas, scalar};

const NO_MESSAGE: &str = "there is no message: send New or Decode";

/// The memory limit of one message.
const MESSAGE_BYTES_MAX: usize = 4 * VALUE_BYTES_MAX;

/// The messages held by clients.
#[derive(Default)]
pub(in crate::components::system) struct Messages {
    schemas: Schemas,
    held: CommunicationMap<Message<'static>>,
    /// The index that `[]` in paths means, if not 0.
    pub(super) indices: CommunicationMap<i64>,
    /// Encoders by type.
    encoders: SortedMap<MessageId, NativeEncoder>,
    /// `border/Messages/passed` and `failed`, once there was a request.
    counters: Option<[Counter; 2]>,
}

impl Messages {
    /// Sets the schemas. Messages that are already held keep theirs.
    pub(in crate::components::system) fn know(&mut self, schemas: &Schemas) {
        self.schemas = schemas.clone();
        self.encoders = SortedMap::new();
    }

    /// Counts a request by its result.
    pub(super) fn note_result(&mut self, registry: &Registry, is_passed: bool) {
        let new = || {
            ["failed", "passed"].map(|name| registry.counter(&format!("border/{MESSAGES}/{name}")))
        };
        self.counters.get_or_insert_with(new)[usize::from(is_passed)].add(1);
    }

    /// A client has ended.
    pub(in crate::components::system) fn finished(&mut self, from: Communication) {
        self.held.remove(from);
        self.indices.remove(from);
    }

    pub(super) fn make(
        &mut self,
        from: Communication,
        name: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), PathError> {
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
    pub(super) fn at<'p>(
        &mut self,
        of: Communication,
        path: &'p [u8],
    ) -> Result<(&mut Message<'static>, Schema, Path<'p>), PathError> {
        let index = self.indices.get(of).copied().unwrap_or(0);
        let message = self.held.get_mut(of).ok_or(NO_MESSAGE)?;
        let path = std::str::from_utf8(path).map_err(|_| "the path is no text")?;
        let schema = message.schema().clone();
        let path = Path::parse(&schema, message.message_type(), path, index)?;
        Ok((message, schema, path))
    }

    pub(super) fn encode(&mut self, from: Communication) -> Result<Vec<u8>, PathError> {
        let Messages { schemas, held, encoders, .. } = self;
        let message = held.get(from).ok_or(NO_MESSAGE)?;
        let (schema, id) = (message.schema(), message.message_type());
        let by_tables = || Encoder::new().check_required().encode(message.as_ref());
        let bytes = match encoders.get_mut(&id) {
            // Ids of an earlier schema are invalid in the current one.
            _ if !schemas.are_of(schema) => by_tables(),
            Some(native) => native.encode(message.as_ref()).map(<[u8]>::to_vec),
            None => {
                let code = schemas.encoder(schema, id);
                match code.map(|code| NativeEncoder::new(code).check_required()) {
                    Some(native) => {
                        let native = encoders.entry(id).or_insert(native);
                        native.encode(message.as_ref()).map(<[u8]>::to_vec)
                    }
                    None => by_tables(),
                }
            }
        };
        bytes.map_err(|error| error.to_string())
    }

    pub(super) fn set(
        &mut self,
        from: Communication,
        path: &[u8],
        value: Put<'_>,
    ) -> Result<(), PathError> {
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
        // The type is checked before messages on the path are created.
        let value = scalar(&schema, field, given).map_err(|failed| failed.text)?;
        path.set(message.as_mut(), value)
    }

    /// Responds with the value at a path, converted to the wanted kind.
    pub(super) fn get(
        &mut self,
        from: Communication,
        path: &[u8],
        wanted: ValueKind,
    ) -> Result<Response<'static>, PathError> {
        let (message, schema, path) = self.at(from, path)?;
        let field = path.value_field(&schema)?;
        let value = match path.follow(message.as_ref())? {
            PathTarget::Value(value) => value,
            PathTarget::Nothing(why) => return Err(why),
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
            (ValueKind::Integer, _, Some(number)) => Some(Response::Integer { value: number }),
            (ValueKind::Real, Value::F64(number), _) => Some(Response::Real { value: number }),
            (ValueKind::Real, Value::F32(number), _) => {
                Some(Response::Real { value: number.into() })
            }
            (ValueKind::Real, _, Some(number)) => Some(Response::Real { value: number as f64 }),
            (ValueKind::Boolean, Value::Bool(truth), _) => Some(Response::Boolean { value: truth }),
            (ValueKind::Text, Value::String(text), _) => {
                Some(Response::Text { value: text.as_bytes().to_vec().into() })
            }
            (ValueKind::Text, Value::Bytes(bytes), _) => {
                Some(Response::Text { value: bytes.to_vec().into() })
            }
            (ValueKind::Text, Value::Enum(number), _) => match field.field_type() {
                FieldType::Enum(of) => {
                    let named = schema.enum_def(of).value_by_number(number);
                    let name = named.map(|value| value.name().to_owned());
                    let name = name.unwrap_or_else(|| number.to_string());
                    Some(Response::Text { value: name.into_bytes().into() })
                }
                _ => None,
            },
            _ => None,
        };
        let kind = value.kind_name();
        answer.ok_or_else(|| format!("field {name} holds {kind}, which is no {wanted:?}"))
    }

    pub(super) fn count(
        &mut self,
        from: Communication,
        path: &[u8],
    ) -> Result<Response<'static>, PathError> {
        let (message, _, path) = self.at(from, path)?;
        match path.follow(message.as_ref())? {
            PathTarget::Value(Value::List(list)) => {
                Ok(Response::Integer { value: list.len() as i64 })
            }
            PathTarget::Value(Value::Map(map)) => Ok(Response::Integer { value: map.len() as i64 }),
            PathTarget::Value(other) => {
                Err(format!("{} is no list or map to be counted", other.kind_name()))
            }
            PathTarget::Nothing(why) => Err(why),
        }
    }
}

/// A value that a client sets.
pub(super) enum Put<'v> {
    Text(&'v [u8]),
    Other(Given<'v>),
}

/// The kind of value that a client requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueKind {
    Integer,
    Real,
    Boolean,
    Text,
}
