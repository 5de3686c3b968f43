//! Messages and rows in the same text form, to compare them.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::schema::{DefaultValue, Field};
use tidemill_wire::{Event, FieldId, FieldType, Label, MessageId, Scalar, Schema};

pub const PROTO: &str = r#"
syntax = "proto3";
package t;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
enum Kind { NONE = 0; GOOD = 1; BAD = 5; }
message Point { double x = 1; optional float y = 2; repeated sint32 tags = 3; }
message Row {
  int64 a = 1;
  optional uint64 b = 2;
  string text = 3;
  optional bytes data = 4;
  bool flag = 5;
  Kind kind = 6;
  Point point = 7;
  repeated Point points = 8;
  repeated string names = 9;
  map<string, Point> by_name = 10;
  map<int32, bool> marks = 11;
  oneof one { int32 number = 12; string word = 13; Point place = 14; }
  google.protobuf.Timestamp at = 15;
  google.protobuf.Duration took = 16;
  google.protobuf.Int64Value maybe = 17;
  repeated google.protobuf.StringValue texts = 18;
  Row again = 19;
  repeated Kind kinds = 20;
  fixed32 last = 21;
}
"#;

pub fn schema() -> (Schema, MessageId) {
    let compiled = compile(&["t.proto"], &Texts::from_iter([("t.proto", PROTO)]));
    let schema = compiled.schema.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let row = schema.message_by_name("t.Row").expect("it is there");
    (schema, row)
}

/// A message built from its events, merged as the format demands.
#[derive(Default)]
pub struct Model {
    fields: BTreeMap<usize, Vec<Value>>,
}

enum Value {
    Text(String),
    Number(i32),
    Message(Model),
}

/// Builds models from events.
pub struct ModelBuilder<'s> {
    schema: &'s Schema,
    stack: Vec<(Option<FieldId>, Model)>,
}

impl<'s> ModelBuilder<'s> {
    pub fn new(schema: &'s Schema) -> ModelBuilder<'s> {
        ModelBuilder { schema, stack: vec![(None, Model::default())] }
    }

    pub fn finish(mut self) -> Model {
        self.stack.pop().expect("the outermost").1
    }

    pub fn event(&mut self, event: Event<'_>) {
        let (id, value) = match event {
            Event::I64(id, value) => (id, Value::Text(value.to_string())),
            Event::U64(id, value) => (id, Value::Text(value.to_string())),
            Event::I32(id, value) => (id, Value::Number(value)),
            Event::U32(id, value) => (id, Value::Text(value.to_string())),
            Event::F64(id, value) => (id, Value::Text(format!("{value:?}"))),
            Event::F32(id, value) => (id, Value::Text(format!("{value:?}"))),
            Event::Bool(id, value) => (id, Value::Text(value.to_string())),
            Event::String(id, value) => (id, Value::Text(format!("{value:?}"))),
            Event::Bytes(id, value) => (id, Value::Text(format!("{value:?}"))),
            Event::StartSub(id) => {
                self.clear_oneof(id);
                let top = &mut self.stack.last_mut().expect("open").1;
                let repeated = self.schema.field(id).label() == Label::Repeated;
                let before = match top.fields.get_mut(&id.index()) {
                    Some(values) if !repeated => values.pop(),
                    _ => None,
                };
                let inner = match before {
                    Some(Value::Message(model)) => model,
                    _ => Model::default(),
                };
                self.stack.push((Some(id), inner));
                return;
            }
            Event::EndSub(id) => {
                let (_, inner) = self.stack.pop().expect("begun");
                (id, Value::Message(inner))
            }
            _ => return,
        };
        self.put(id, value);
    }

    fn put(&mut self, id: FieldId, value: Value) {
        self.clear_oneof(id);
        let top = &mut self.stack.last_mut().expect("open").1;
        let values = top.fields.entry(id.index()).or_default();
        if self.schema.field(id).label() != Label::Repeated {
            values.clear();
        }
        values.push(value);
    }

    fn clear_oneof(&mut self, id: FieldId) {
        let Some(oneof) = self.schema.field(id).oneof() else { return };
        let top = &mut self.stack.last_mut().expect("open").1;
        for other in self.schema.oneof(oneof).fields() {
            if *other != id {
                top.fields.remove(&other.index());
            }
        }
    }
}

/// A message as text, field by field; `around` are the enclosing messages.
pub fn model_text(
    schema: &Schema,
    message: MessageId,
    model: &Model,
    around: &mut Vec<MessageId>,
) -> String {
    around.push(message);
    let def = schema.message(message);
    let mut parts = Vec::new();
    for field in def.field_defs() {
        if field.field_type().message().is_some_and(|inner| around.contains(&inner)) {
            continue;
        }
        let empty = Vec::new();
        let values = model.fields.get(&field.id().index()).unwrap_or(&empty);
        let texts: Vec<String> =
            values.iter().map(|value| value_text(schema, field, value, around)).collect();
        let key = def.is_map_entry() && field.number() == 1;
        let text = match field.label() {
            Label::Repeated => format!("[{}]", texts.join(", ")),
            _ => match texts.into_iter().next() {
                Some(text) => text,
                None if field.has_presence() && !key => "null".into(),
                None => default_text(schema, field),
            },
        };
        parts.push(format!("{}: {text}", field.name()));
    }
    around.pop();
    match (def.full_name().as_ref(), parts.as_slice()) {
        ("google.protobuf.Timestamp" | "google.protobuf.Duration", [seconds, nanos]) => {
            let number = |text: &str| text.split(": ").nth(1).expect("a number").parse::<i64>();
            let (seconds, nanos) = (number(seconds).expect("i64"), number(nanos).expect("i32"));
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos).to_string()
        }
        (name, [value]) if name.ends_with("Value") => {
            value.split_once(": ").expect("a value").1.to_owned()
        }
        _ => format!("{{{}}}", parts.join(", ")),
    }
}

fn value_text(
    schema: &Schema,
    field: &Field,
    value: &Value,
    around: &mut Vec<MessageId>,
) -> String {
    match (value, field.field_type()) {
        (Value::Text(text), _) => text.clone(),
        (Value::Number(number), FieldType::Enum(id)) => {
            match schema.enum_def(id).value_by_number(*number) {
                Some(value) => format!("{:?}", value.name()),
                None => format!("\"{number}\""),
            }
        }
        (Value::Number(number), _) => number.to_string(),
        (Value::Message(model), ty) => {
            model_text(schema, ty.message().expect("a message"), model, around)
        }
    }
}

fn default_text(schema: &Schema, field: &Field) -> String {
    assert!(!matches!(field.default_value(), Some(DefaultValue::F64(_))), "none in this schema");
    match field.field_type() {
        FieldType::Scalar(Scalar::Double | Scalar::Float) => "0.0".into(),
        FieldType::Scalar(Scalar::String) => "\"\"".into(),
        FieldType::Scalar(Scalar::Bytes) => "[]".into(),
        FieldType::Scalar(Scalar::Bool) => "false".into(),
        FieldType::Scalar(_) => "0".into(),
        FieldType::Enum(id) => {
            format!("{:?}", schema.enum_def(id).value_by_number(0).expect("the first").name())
        }
        FieldType::Message(_) | FieldType::Group(_) => "null".into(),
    }
}

/// A row as text.
pub fn row_text(batch: &RecordBatch, row: usize) -> String {
    let schema = batch.schema();
    let parts: Vec<String> = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, array)| format!("{}: {}", field.name(), item_text(array.as_ref(), row)))
        .collect();
    format!("{{{}}}", parts.join(", "))
}

fn item_text(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "null".into();
    }
    let list = |items: &dyn Array| {
        let texts: Vec<String> = (0..items.len()).map(|at| item_text(items, at)).collect();
        format!("[{}]", texts.join(", "))
    };
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row)),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::Binary => format!("{:?}", array.as_binary::<i32>().value(row)),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().value(row).to_string()
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            array.as_primitive::<DurationNanosecondType>().value(row).to_string()
        }
        DataType::Dictionary(_, _) => {
            let array = array.as_dictionary::<Int32Type>();
            item_text(array.values().as_ref(), array.keys().value(row) as usize)
        }
        DataType::List(_) => list(array.as_list::<i32>().value(row).as_ref()),
        DataType::Map(_, _) => list(&array.as_map().value(row)),
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let parts: Vec<String> = fields
                .iter()
                .zip(array.columns())
                .map(|(field, column)| {
                    format!("{}: {}", field.name(), item_text(column.as_ref(), row))
                })
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        other => panic!("a type that no column has: {other}"),
    }
}
