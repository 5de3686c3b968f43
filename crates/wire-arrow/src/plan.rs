//! The plan: the fields that become columns, and their types.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields, TimeUnit};
use tidemill_wire::schema::Field;
use tidemill_wire::{EnumId, FieldType, Label, MessageId, Scalar, Schema};

use crate::bits::Bits;
use crate::column::{Checked, Column, Form, Items, Rows, Texts};

/// The form of enum columns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum EnumForm {
    /// Names; numbers without a name in digits.
    #[default]
    Names,
    /// Numbers.
    Numbers,
}

/// The selection and the form of columns.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Options {
    /// Paths of wanted fields, as `name` or `position.latitude`; a message selects all its fields.
    /// Empty: all.
    pub select: Vec<String>,
    /// The form of enum columns.
    pub enums: EnumForm,
}

/// The error of an invalid selection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlanError {
    /// A selected path has no such field.
    UnknownField {
        /// The path as given.
        path: String,
    },
    /// A selected path leads through a field that is no message.
    NotAMessage {
        /// The path as given.
        path: String,
    },
    /// A selected path leads back to a message that encloses it.
    Recursive {
        /// The path as given.
        path: String,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::UnknownField { path } => write!(f, "`{path}` names no field"),
            PlanError::NotAMessage { path } => {
                write!(f, "`{path}` leads through a field that is no message")
            }
            PlanError::Recursive { path } => {
                write!(
                    f,
                    "`{path}` leads back into a message around it, which has no end as columns"
                )
            }
        }
    }
}

impl std::error::Error for PlanError {}

/// The column of a message: a struct, or a single value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Struct,
    Timestamp,
    Duration,
    Wrapper,
}

/// The columns of a message type at one position of the tree, and their fill state.
pub(crate) struct Record {
    pub(crate) shape: Shape,
    /// The least id of its fields, and the number of their entries in [`Plan::lookup`] from
    /// `lookup` on.
    pub(crate) first: usize,
    pub(crate) span: usize,
    pub(crate) lookup: usize,
    pub(crate) columns: Vec<usize>,
    pub(crate) fields: Fields,
    /// By oneof: the row plus 1, and the column that has its value.
    pub(crate) oneofs: Vec<(usize, usize)>,
    /// The number of rows begun.
    pub(crate) rows: usize,
    /// The row being filled.
    pub(crate) row: usize,
}

/// All columns of a message type.
pub(crate) struct Plan {
    pub(crate) records: Vec<Record>,
    pub(crate) columns: Vec<Column>,
    /// By record and field: its column plus 1, or 0 for none.
    pub(crate) lookup: Vec<u32>,
    pub(crate) left_out: Vec<String>,
    /// Paths of all fields with columns, for decoders that skip the rest.
    pub(crate) paths: Vec<String>,
}

pub(crate) fn plan(
    schema: &Schema,
    message: MessageId,
    options: &Options,
) -> Result<Plan, PlanError> {
    let plan = Plan {
        records: Vec::new(),
        columns: Vec::new(),
        lookup: Vec::new(),
        left_out: Vec::new(),
        paths: Vec::new(),
    };
    let mut planner = Planner { schema, options, plan, around: Vec::new(), path: Vec::new() };
    let paths: Vec<Path> = options.select.iter().map(|path| Path::new(path)).collect();
    planner.record(message, (!paths.is_empty()).then_some(&paths[..]))?;
    Ok(planner.plan)
}

/// A selected path and its remaining part.
#[derive(Clone)]
struct Path<'a> {
    whole: &'a str,
    rest: Vec<&'a str>,
}

impl Path<'_> {
    fn new(whole: &str) -> Path<'_> {
        Path { whole, rest: whole.split('.').map(str::trim).collect() }
    }
}

struct Planner<'a> {
    schema: &'a Schema,
    options: &'a Options,
    plan: Plan,
    /// The enclosing messages of the one being planned, and itself.
    around: Vec<MessageId>,
    path: Vec<String>,
}

impl Planner<'_> {
    /// Plans the columns of a message, all or those that the paths select; returns its index among
    /// the records.
    fn record(&mut self, message: MessageId, paths: Option<&[Path]>) -> Result<usize, PlanError> {
        let def = self.schema.message(message);
        if let Some(wrong) = paths.and_then(|paths| {
            paths.iter().find(|path| find(def.field_defs(), path.rest[0]).is_none())
        }) {
            return Err(PlanError::UnknownField { path: wrong.whole.into() });
        }
        let number = self.plan.records.len();
        let ids = def.fields().iter().map(|id| id.index());
        let first = ids.clone().min().unwrap_or(0);
        let span = ids.max().map_or(0, |last| last - first + 1);
        let lookup = self.plan.lookup.len();
        self.plan.lookup.resize(lookup + span, 0);
        self.plan.records.push(Record {
            shape: shape(def.full_name()),
            first,
            span,
            lookup,
            columns: Vec::new(),
            fields: Fields::empty(),
            oneofs: vec![(0, 0); def.oneofs().len()],
            rows: 0,
            row: 0,
        });
        self.around.push(message);
        let mut fields = Vec::new();
        for field in def.field_defs() {
            let wanted: Option<Vec<Path>> = paths.map(|paths| {
                let here = |path: &&Path| path.rest[0] == field.name();
                paths.iter().filter(here).cloned().collect()
            });
            if wanted.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            if let Some(arrow) = self.column(number, field, wanted)? {
                fields.push(arrow);
            }
        }
        self.around.pop();
        if fields.is_empty() && !self.path.is_empty() {
            self.plan.paths.push(self.path.join("."));
        }
        self.plan.records[number].fields = fields.into();
        Ok(number)
    }

    fn column(
        &mut self,
        record: usize,
        field: &Field,
        wanted: Option<Vec<Path>>,
    ) -> Result<Option<FieldRef>, PlanError> {
        self.path.push(field.name().into());
        let (items, ty) = match field.field_type() {
            FieldType::Scalar(scalar) => scalar_items(field, scalar),
            FieldType::Enum(id) => self.enum_items(id),
            FieldType::Message(message) | FieldType::Group(message) => {
                if self.around.contains(&message) {
                    return self.leads_back(wanted);
                }
                let single = shape(self.schema.full_name(message)) != Shape::Struct;
                let paths = if single { None } else { inner_paths(wanted.as_deref()) };
                let inner = self.record(message, paths.as_deref())?;
                (Items::Record(inner), self.record_type(inner))
            }
        };
        if let Some(wrong) = wanted.iter().flatten().find(|path| path.rest.len() > 1)
            && !matches!(items, Items::Record(_))
        {
            return Err(PlanError::NotAMessage { path: wrong.whole.into() });
        }
        if !matches!(items, Items::Record(_)) {
            self.plan.paths.push(self.path.join("."));
        }
        self.path.pop();
        let form = match self.form(field) {
            Form::Map if !is_entry(&ty) => Form::List,
            form => form,
        };
        let (ty, nullable) = match form {
            Form::One { nullable } => (ty, nullable),
            Form::List => (DataType::List(Arc::new(ArrowField::new("item", ty, false))), false),
            Form::Map => {
                (DataType::Map(Arc::new(ArrowField::new("entries", ty, false)), false), false)
            }
        };
        let column = self.plan.columns.len();
        let oneof = field.oneof().filter(|_| !field.is_proto3_optional());
        let oneof = oneof.and_then(|id| {
            self.schema.message(field.message()).oneofs().iter().position(|&known| known == id)
        });
        self.plan.columns.push(Column { field: field.id(), rows: Rows::new(form), items, oneof });
        let record = &mut self.plan.records[record];
        record.columns.push(column);
        let place = record.lookup + field.id().index() - record.first;
        self.plan.lookup[place] = column as u32 + 1;
        Ok(Some(Arc::new(ArrowField::new(field.name(), ty, nullable))))
    }

    /// Handles a field whose message encloses it.
    fn leads_back(&mut self, wanted: Option<Vec<Path>>) -> Result<Option<FieldRef>, PlanError> {
        let path = self.path.join(".");
        self.path.pop();
        match wanted.iter().flatten().next() {
            Some(path) => Err(PlanError::Recursive { path: path.whole.into() }),
            None => {
                self.plan.left_out.push(path);
                Ok(None)
            }
        }
    }

    fn form(&self, field: &Field) -> Form {
        let entry = |message| self.schema.message(message).is_map_entry();
        match field.label() {
            Label::Repeated if field.field_type().message().is_some_and(entry) => Form::Map,
            Label::Repeated => Form::List,
            _ => {
                // The key of a map is present even if it was not on the wire.
                let key =
                    self.schema.message(field.message()).is_map_entry() && field.number() == 1;
                Form::One { nullable: field.has_presence() && !key }
            }
        }
    }

    fn enum_items(&self, id: EnumId) -> (Items, DataType) {
        match self.options.enums {
            EnumForm::Numbers => (Items::I32(Vec::new()), DataType::Int32),
            EnumForm::Names => (
                Items::Enum(id, Vec::new()),
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
            ),
        }
    }

    fn record_type(&self, record: usize) -> DataType {
        let record = &self.plan.records[record];
        match record.shape {
            // Parquet has no structure without fields.
            Shape::Struct if record.fields.is_empty() => DataType::Boolean,
            Shape::Struct => DataType::Struct(record.fields.clone()),
            Shape::Timestamp => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Shape::Duration => DataType::Duration(TimeUnit::Nanosecond),
            Shape::Wrapper => record.fields[0].data_type().clone(),
        }
    }
}

/// The shape of a message. A selection inside a well-known message that is one value has no effect.
fn shape(full_name: &str) -> Shape {
    let Some(name) = full_name.strip_prefix("google.protobuf.") else { return Shape::Struct };
    match name {
        "Timestamp" => Shape::Timestamp,
        "Duration" => Shape::Duration,
        "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value"
        | "UInt32Value" | "BoolValue" | "StringValue" | "BytesValue" => Shape::Wrapper,
        _ => Shape::Struct,
    }
}

/// True if entries of a map have both columns. Otherwise, when only keys are selected or values
/// lead back to an enclosing message, the map is a list of the column that exists.
fn is_entry(ty: &DataType) -> bool {
    matches!(ty, DataType::Struct(fields) if fields.len() == 2)
}

/// The remaining paths inside the field; `None` if one of them selects all of it.
fn inner_paths<'a>(wanted: Option<&[Path<'a>]>) -> Option<Vec<Path<'a>>> {
    let inner = |path: &Path<'a>| Path { whole: path.whole, rest: path.rest[1..].to_vec() };
    let paths: Vec<Path> = wanted?.iter().map(inner).collect();
    paths.iter().all(|path| !path.rest.is_empty()).then_some(paths)
}

fn find<'a>(fields: &'a [Field], name: &str) -> Option<&'a Field> {
    fields.iter().find(|field| field.name() == name)
}

fn scalar_items(field: &Field, scalar: Scalar) -> (Items, DataType) {
    match scalar {
        Scalar::Double => (Items::F64(Vec::new()), DataType::Float64),
        Scalar::Float => (Items::F32(Vec::new()), DataType::Float32),
        Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => {
            (Items::I64(Vec::new()), DataType::Int64)
        }
        Scalar::Uint64 | Scalar::Fixed64 => (Items::U64(Vec::new()), DataType::UInt64),
        Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => {
            (Items::I32(Vec::new()), DataType::Int32)
        }
        Scalar::Uint32 | Scalar::Fixed32 => (Items::U32(Vec::new()), DataType::UInt32),
        Scalar::Bool => (Items::Bool(Bits::default()), DataType::Boolean),
        Scalar::String => {
            let checked = if field.checks_utf8() { Checked::ByDecoder } else { Checked::No };
            (Items::Text(Texts::default(), checked), DataType::Utf8)
        }
        Scalar::Bytes => (Items::Bytes(Texts::default()), DataType::Binary),
    }
}
