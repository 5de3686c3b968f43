//! The builder of schemas, and its errors.

use std::fmt;

use super::draft::{Cardinality, Draft, FieldDraft, FileDraft, MessageDraft, OneofDraft};
use super::features::Edition;
use super::link::inherit_features;
use super::{
    FIELD_NUMBER_MAX, FieldId, FieldType, FileId, Label, MessageId, OneofId, Schema, freeze,
};
use tidemill_stdx::sorted::SortedSet;

/// Numbers that belong to the implementations of the format.
const NUMBERS_RESERVED: std::ops::RangeInclusive<u32> = 19_000..=19_999;

/// An error in a schema; names are as given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchemaError {
    /// Not an identifier (a package: identifiers with dots between).
    BadName(String),
    /// Two messages, or two members of one message, of that name.
    DuplicateName(String),
    /// Field `name` has a number that is 0, reserved or too high.
    BadNumber {
        /// The field.
        name: String,
        /// Its number.
        number: u32,
    },
    /// Two fields of one message have the same number.
    DuplicateNumber {
        /// The second field.
        name: String,
        /// The number.
        number: u32,
    },
    /// A oneof without members.
    EmptyOneof(String),
    /// An id of another builder.
    ForeignId,
    /// A field that `proto3` cannot have: required, or a group.
    NotInProto3(String),
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaError::BadName(name) => write!(f, "`{name}` is no identifier"),
            SchemaError::DuplicateName(name) => write!(f, "`{name}` is defined twice"),
            SchemaError::BadNumber { name, number } => {
                write!(f, "field `{name}` cannot have number {number}")
            }
            SchemaError::DuplicateNumber { name, number } => {
                write!(f, "field `{name}`: number {number} is taken")
            }
            SchemaError::EmptyOneof(name) => write!(f, "oneof `{name}` has no fields"),
            SchemaError::ForeignId => f.write_str("an id of another schema"),
            SchemaError::NotInProto3(name) => write!(f, "field `{name}` is not for proto3"),
        }
    }
}

impl std::error::Error for SchemaError {}

struct FieldPart {
    name: String,
    message: MessageId,
    number: u32,
    ty: FieldType,
    label: Label,
    oneof: Option<OneofId>,
}

/// Collects definitions; [`SchemaBuilder::build`] checks them.
///
/// The ids that it returns are those of the built schema, so that fields may refer to messages
/// whose fields are added later.
#[derive(Default)]
pub struct SchemaBuilder {
    package: String,
    messages: Vec<String>,
    oneofs: Vec<(String, MessageId)>,
    fields: Vec<FieldPart>,
}

impl SchemaBuilder {
    /// A builder for a schema of that package; empty for none.
    pub fn new(package: impl Into<String>) -> SchemaBuilder {
        SchemaBuilder { package: package.into(), ..SchemaBuilder::default() }
    }

    /// Adds a message.
    pub fn message(&mut self, name: impl Into<String>) -> MessageId {
        self.messages.push(name.into());
        MessageId(self.messages.len() as u32 - 1)
    }

    /// Adds a oneof to a message.
    pub fn oneof(&mut self, message: MessageId, name: impl Into<String>) -> OneofId {
        self.oneofs.push((name.into(), message));
        OneofId(self.oneofs.len() as u32 - 1)
    }

    /// Adds a field to a message.
    pub fn field(
        &mut self,
        message: MessageId,
        name: impl Into<String>,
        number: u32,
        ty: impl Into<FieldType>,
        label: Label,
    ) -> FieldId {
        let (name, ty) = (name.into(), ty.into());
        self.push(FieldPart { name, message, number, ty, label, oneof: None })
    }

    /// Adds a field to the message of a oneof, as a member of it.
    pub fn oneof_field(
        &mut self,
        oneof: OneofId,
        name: impl Into<String>,
        number: u32,
        ty: impl Into<FieldType>,
    ) -> FieldId {
        // A foreign oneof gives a message that `build` refuses.
        let message = self.oneofs.get(oneof.index()).map_or(MessageId(u32::MAX), |&(_, id)| id);
        let (name, ty) = (name.into(), ty.into());
        let label = Label::Optional;
        self.push(FieldPart { name, message, number, ty, label, oneof: Some(oneof) })
    }

    fn push(&mut self, draft: FieldPart) -> FieldId {
        self.fields.push(draft);
        FieldId(self.fields.len() as u32 - 1)
    }

    /// Checks everything and freezes it; returns the first error.
    pub fn build(self) -> Result<Schema, SchemaError> {
        self.check()?;
        let mut draft = Draft::new();
        draft.push_file(FileDraft {
            name: format!("{}.proto", self.package.replace('.', "/")),
            package: Some(self.package).filter(|package| !package.is_empty()),
            edition: Edition::Proto3,
            messages: (0..self.messages.len() as u32).map(MessageId).collect(),
            ..FileDraft::default()
        });
        let package = draft.files[0].package.clone();
        for name in self.messages {
            let full_name = match &package {
                Some(package) => format!("{package}.{name}").into(),
                None => name.as_str().into(),
            };
            draft.push_message(MessageDraft {
                name: name.into(),
                file: FileId(0),
                full_name,
                ..MessageDraft::default()
            });
        }
        for (name, message) in self.oneofs {
            let oneof = OneofDraft { name: name.into(), message, ..OneofDraft::default() };
            let oneof = draft.push_oneof(oneof);
            draft.message_mut(message).oneofs.push(oneof);
        }
        for part in self.fields {
            add_field(&mut draft, part);
        }
        inherit_features(&mut draft);
        Ok(freeze(draft, &[FileId(0)]))
    }

    fn check(&self) -> Result<(), SchemaError> {
        if !self.package.is_empty() {
            for part in self.package.split('.') {
                check_name(part).map_err(|_| SchemaError::BadName(self.package.clone()))?;
            }
        }
        let mut names = SortedSet::new();
        for name in &self.messages {
            check_name(name)?;
            if !names.insert(name) {
                return Err(SchemaError::DuplicateName(name.clone()));
            }
        }
        self.check_members()
    }

    /// Fields and oneofs of one message share their names.
    fn check_members(&self) -> Result<(), SchemaError> {
        let known = |message: MessageId| message.index() < self.messages.len();
        let (mut names, mut numbers) = (SortedSet::new(), SortedSet::new());
        for (i, (name, message)) in self.oneofs.iter().enumerate() {
            check_member(&mut names, *message, name)?;
            let is_member = |field: &FieldPart| field.oneof == Some(OneofId(i as u32));
            if !self.fields.iter().any(is_member) {
                return Err(SchemaError::EmptyOneof(name.clone()));
            }
        }
        for &FieldPart { ref name, message, number, ty, label, .. } in &self.fields {
            check_member(&mut names, message, name)?;
            let name = || name.clone();
            if !(1..=FIELD_NUMBER_MAX).contains(&number) || NUMBERS_RESERVED.contains(&number) {
                return Err(SchemaError::BadNumber { name: name(), number });
            }
            if !numbers.insert((message, number)) {
                return Err(SchemaError::DuplicateNumber { name: name(), number });
            }
            let known_type = match ty {
                FieldType::Scalar(_) => true,
                FieldType::Message(id) | FieldType::Group(id) => known(id),
                FieldType::Enum(_) => false,
            };
            if !known(message) || !known_type {
                return Err(SchemaError::ForeignId);
            }
            if label == Label::Required || matches!(ty, FieldType::Group(_)) {
                return Err(SchemaError::NotInProto3(name()));
            }
        }
        if self.oneofs.iter().all(|&(_, message)| known(message)) {
            Ok(())
        } else {
            Err(SchemaError::ForeignId)
        }
    }
}

fn add_field(draft: &mut Draft, part: FieldPart) {
    let FieldPart { name, message, number, ty, label, oneof } = part;
    let type_name = ty.message().map(|id| format!(".{}", draft.message(id).full_name));
    let proto3_optional = label == Label::Optional && oneof.is_none();
    let id = draft.push_field(FieldDraft {
        file: FileId(0),
        scope: Some(message),
        number: number as i32,
        cardinality: match label {
            Label::Repeated => Cardinality::Repeated,
            _ => Cardinality::Optional,
        },
        type_number: match ty {
            FieldType::Scalar(scalar) => scalar.type_number(),
            _ => 11,
        },
        type_name: type_name.unwrap_or_default().into(),
        oneof,
        proto3_optional,
        ty: Some(ty),
        message: Some(message),
        name: name.into(),
        ..FieldDraft::default()
    });
    draft.message_mut(message).fields.push(id);
    if proto3_optional {
        let name = format!("_{}", draft.field(id).name).into();
        let oneof = OneofDraft { name, message, synthetic: true, ..OneofDraft::default() };
        let oneof = draft.push_oneof(oneof);
        draft.message_mut(message).oneofs.push(oneof);
        draft.field_mut(id).oneof = Some(oneof);
    }
}

fn check_name(name: &str) -> Result<(), SchemaError> {
    let mut bytes = name.bytes();
    let starts = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if starts && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        Ok(())
    } else {
        Err(SchemaError::BadName(name.into()))
    }
}

fn check_member<'a>(
    names: &mut SortedSet<(MessageId, &'a str)>,
    message: MessageId,
    name: &'a str,
) -> Result<(), SchemaError> {
    check_name(name)?;
    if names.insert((message, name)) {
        Ok(())
    } else {
        Err(SchemaError::DuplicateName(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;

    fn refused(define: impl FnOnce(&mut SchemaBuilder)) -> SchemaError {
        let mut builder = SchemaBuilder::new("p");
        define(&mut builder);
        builder.build().map(|schema| schema.to_string()).unwrap_err()
    }

    #[test]
    fn what_protoc_refuses_is_refused() {
        let bool_field = |name: &'static str, number| {
            move |b: &mut SchemaBuilder| {
                let message = b.message("M");
                b.field(message, "x", 7, Scalar::Bool, Label::Optional);
                b.field(message, name, number, Scalar::Bool, Label::Optional);
            }
        };
        let bad = |number| SchemaError::BadNumber { name: "y".into(), number };
        for number in [0, FIELD_NUMBER_MAX + 1, 19_000, 19_999] {
            assert_eq!(refused(bool_field("y", number)), bad(number));
        }
        assert_eq!(refused(bool_field("x", 8)), SchemaError::DuplicateName("x".into()));
        assert_eq!(refused(bool_field("1", 8)), SchemaError::BadName("1".into()));
        assert_eq!(
            refused(bool_field("y", 7)),
            SchemaError::DuplicateNumber { name: "y".into(), number: 7 }
        );
        let twice = refused(|b| {
            b.message("M");
            b.message("M");
        });
        assert_eq!(twice, SchemaError::DuplicateName("M".into()));
        let empty = refused(|b| {
            let message = b.message("M");
            b.oneof(message, "o");
        });
        assert_eq!(empty, SchemaError::EmptyOneof("o".into()));
    }

    #[test]
    fn ids_of_another_schema_are_refused() {
        let foreign = refused(|b| {
            let message = b.message("M");
            b.field(message, "x", 1, MessageId(1), Label::Optional);
        });
        assert_eq!(foreign, SchemaError::ForeignId);
        let foreign = refused(|b| {
            b.oneof_field(OneofId(3), "x", 1, Scalar::Bool);
        });
        assert_eq!(foreign, SchemaError::ForeignId);
    }

    #[test]
    fn fields_are_found_by_any_number() {
        let mut builder = SchemaBuilder::new("");
        let message = builder.message("M");
        let numbers = [FIELD_NUMBER_MAX, 3, 1, 500, 2, 30_000];
        let ids = numbers.map(|number| {
            builder.field(message, format!("f{number}"), number, Scalar::Bool, Label::Optional)
        });
        let schema = builder.build().unwrap();
        for (number, id) in numbers.into_iter().zip(ids) {
            assert_eq!(schema.field_by_number(message, number), Some(id));
            assert_eq!(schema.field_by_name(message, &format!("f{number}")), Some(id));
        }
        for absent in [0, 4, 16, 499, 501, u32::MAX] {
            assert_eq!(schema.field_by_number(message, absent), None);
        }
        let order: Vec<u32> =
            schema.message(message).fields().iter().map(|&id| schema.field(id).number()).collect();
        assert_eq!(order, [1, 2, 3, 500, 30_000, FIELD_NUMBER_MAX]);
    }
}
