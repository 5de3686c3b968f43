//! Reads serialized descriptors to drafts.

use std::fmt;

use crate::schema::draft::{
    Cardinality, Dependency, Draft, EnumDraft, EnumValueDraft, ExtensionRangeDraft, FieldDraft,
    FileDraft, ImportKind, MaybeOptions, MessageDraft, MethodDraft, OneofDraft, OptionsDraft,
    RangeDraft, ServiceDraft, Visibility,
};
use crate::schema::features::Edition;
use crate::schema::problem::ElementId;
use crate::schema::raw::{self, RawFields, RawValue};
use crate::schema::{EnumId, FieldId, FileId, MessageId, Name, OneofId, ServiceId, is_json_name};

/// The maximal nesting of message declarations.
const DEPTH_MAX: usize = 100;

/// The error of bytes that are no descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptorError {
    /// The name of the file, if it has one.
    pub file: String,
    /// The error.
    pub what: &'static str,
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.as_str() {
            "" => f.write_str(self.what),
            file => write!(f, "{file}: {}", self.what),
        }
    }
}

impl std::error::Error for DescriptorError {}

type Read<T = ()> = Result<T, &'static str>;

/// Typical sizes of a field in a set of descriptors, and of a message with its fields.
const FIELD_BYTES: usize = 40;
const MESSAGE_BYTES: usize = 250;

const MALFORMED: &str = "the descriptor is malformed";
const NOT_UTF8: &str = "a name is not UTF-8";
const TOO_DEEP: &str = "messages are declared too deep in messages";

/// Reads the files of a serialized `FileDescriptorSet` into a draft.
pub fn read_set(draft: &mut Draft, bytes: &[u8]) -> Result<Vec<FileId>, DescriptorError> {
    let mut files = Vec::new();
    // An estimate of the counts, so that the arrays need not grow.
    draft.fields.reserve(bytes.len() / FIELD_BYTES);
    draft.messages.reserve(bytes.len() / MESSAGE_BYTES);
    for field in RawFields::new(bytes) {
        let what = "not a set of file descriptors";
        let field = field.map_err(|_| DescriptorError { file: String::new(), what })?;
        if let (1, RawValue::Length(file)) = field {
            files.push(read_file(draft, file)?);
        }
    }
    Ok(files)
}

/// Reads a serialized `FileDescriptorProto` into a draft.
pub fn read_file(draft: &mut Draft, bytes: &[u8]) -> Result<FileId, DescriptorError> {
    let id = draft.push_file(FileDraft { descriptor: Some(bytes.into()), ..FileDraft::default() });
    let result = DescriptorReader { draft, file: id, members: Vec::new() }.file(bytes);
    let file = draft.file(id).name.clone();
    result.map(|()| id).map_err(|what| DescriptorError { file, what })
}

struct DescriptorReader<'d> {
    draft: &'d mut Draft,
    file: FileId,
    /// The fields of the messages being read, the innermost last, with the indexes of their oneofs.
    members: Vec<(FieldId, Option<u32>)>,
}

fn fields<'b>(bytes: &'b [u8], mut each: impl FnMut(u32, RawValue<'b>) -> Read) -> Read {
    for field in RawFields::new(bytes) {
        let (number, value) = field.map_err(|_| MALFORMED)?;
        each(number, value)?;
    }
    Ok(())
}

fn text(value: RawValue<'_>) -> Read<String> {
    std::str::from_utf8(bytes(value)?).map(str::to_owned).map_err(|_| NOT_UTF8)
}

fn name(value: RawValue<'_>) -> Read<Name> {
    Name::from_utf8(bytes(value)?).ok_or(NOT_UTF8)
}

fn bytes(value: RawValue<'_>) -> Read<&[u8]> {
    match value {
        RawValue::Length(bytes) => Ok(bytes),
        _ => Err(MALFORMED),
    }
}

fn int(value: RawValue<'_>) -> Read<i32> {
    match value {
        RawValue::Varint(value) => Ok(value as i32),
        _ => Err(MALFORMED),
    }
}

/// A list of numbers, packed or not.
fn ints(value: RawValue<'_>, out: &mut Vec<i32>) -> Read {
    let RawValue::Length(mut packed) = value else {
        out.push(int(value)?);
        return Ok(());
    };
    while !packed.is_empty() {
        let (value, length) = crate::varint::read(packed).map_err(|_| MALFORMED)?;
        packed = &packed[length..];
        out.push(value as i32);
    }
    Ok(())
}

fn flag(value: RawValue<'_>) -> Read<bool> {
    match value {
        RawValue::Varint(value) => Ok(value != 0),
        _ => Err(MALFORMED),
    }
}

/// Appends options: concatenation merges those that occur twice.
fn options(value: RawValue<'_>, options: &mut MaybeOptions) -> Read {
    let value = bytes(value)?;
    let options = options.get_or_insert_with(|| Box::new(OptionsDraft::default()));
    if options.bytes.is_empty() {
        options.bytes = value.to_vec()
    } else {
        options.bytes.extend_from_slice(value)
    }
    Ok(())
}

fn visibility(value: RawValue<'_>) -> Read<Visibility> {
    Ok(match int(value)? {
        1 => Visibility::Local,
        2 => Visibility::Export,
        _ => Visibility::Unset,
    })
}

fn range(bytes: &[u8]) -> Read<(RangeDraft, MaybeOptions)> {
    let (mut range, mut found) = (RangeDraft::default(), None);
    fields(bytes, |number, value| {
        match number {
            1 => range.start = int(value)?,
            2 => range.end = int(value)?,
            3 => options(value, &mut found)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((range, found))
}

impl DescriptorReader<'_> {
    fn file(&mut self, descriptor: &[u8]) -> Read {
        let mut file = std::mem::take(self.draft.file_mut(self.file));
        let (mut public, mut weak, mut option) = (Vec::new(), Vec::new(), Vec::new());
        let (mut syntax, mut edition) = (String::new(), None);
        let result = fields(descriptor, |number, value| {
            match number {
                1 => file.name = text(value)?,
                2 => file.package = Some(text(value)?),
                3 => {
                    let name = text(value)?;
                    file.dependencies.push(Dependency { name, ..Dependency::default() });
                }
                4 => file.messages.push(self.message(bytes(value)?, None, 0)?),
                5 => file.enums.push(self.enum_(bytes(value)?, None)?),
                6 => file.services.push(self.service(bytes(value)?)?),
                7 => {
                    let field = self.extension(bytes(value)?, None)?;
                    file.extensions.push(field);
                }
                8 => options(value, &mut file.options)?,
                10 => ints(value, &mut public)?,
                11 => ints(value, &mut weak)?,
                12 => syntax = text(value)?,
                14 => edition = Some(int(value)?),
                15 => option.push(text(value)?),
                _ => {}
            }
            Ok(())
        });
        for (indexes, kind) in [(public, ImportKind::Public), (weak, ImportKind::Weak)] {
            for index in indexes {
                if let Some(import) = file.dependencies.get_mut(index as usize) {
                    import.kind = kind;
                }
            }
        }
        let kind = ImportKind::Option;
        file.dependencies.extend(option.into_iter().map(|name| Dependency {
            name,
            kind,
            ..Dependency::default()
        }));
        let known = match (syntax.as_str(), edition) {
            ("" | "proto2", None) => Some(Edition::Proto2),
            ("proto3", None) => Some(Edition::Proto3),
            ("editions", Some(number)) => Edition::from_number(number),
            _ => None,
        };
        file.edition = known.unwrap_or_default();
        *self.draft.file_mut(self.file) = file;
        result?;
        known.map(drop).ok_or("the syntax or edition is not known")
    }

    fn message(
        &mut self,
        descriptor: &[u8],
        parent: Option<MessageId>,
        depth: usize,
    ) -> Read<MessageId> {
        if depth >= DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        let id = self.draft.push_message(MessageDraft::default());
        let mut message = MessageDraft { file: self.file, parent, ..MessageDraft::default() };
        let first = self.members.len();
        fields(descriptor, |number, value| {
            match number {
                1 => message.name = name(value)?,
                2 => {
                    let member = self.field(bytes(value)?, Some(id))?;
                    if self.draft.field(member.0).is_extension() {
                        return Err("a field that is no extension extends a message");
                    }
                    self.members.push(member);
                }
                3 => message.messages.push(self.message(bytes(value)?, Some(id), depth + 1)?),
                4 => message.enums.push(self.enum_(bytes(value)?, Some(id))?),
                5 => {
                    let (range, options) = range(bytes(value)?)?;
                    let features = Default::default();
                    let range = ExtensionRangeDraft { range, options, features };
                    message.extension_ranges.push(range);
                }
                6 => {
                    let field = self.extension(bytes(value)?, Some(id))?;
                    message.extensions.push(field);
                }
                7 => options(value, &mut message.options)?,
                8 => message.oneofs.push(self.oneof(bytes(value)?, id)?),
                9 => message.reserved_ranges.push(range(bytes(value)?)?.0),
                10 => message.reserved_names.push((name(value)?, ElementId::NONE)),
                11 => message.visibility = visibility(value)?,
                _ => {}
            }
            Ok(())
        })?;
        message.fields.reserve_exact(self.members.len() - first);
        for (field, oneof) in self.members.drain(first..) {
            message.fields.push(field);
            if let Some(oneof) = oneof {
                let oneof = message.oneofs.get(oneof as usize);
                let oneof = *oneof.ok_or("a field is in a oneof that is not there")?;
                self.draft.field_mut(field).oneof = Some(oneof);
                if self.draft.field(field).proto3_optional {
                    self.draft.oneof_mut(oneof).synthetic = true;
                }
            }
        }
        let options = message.options.as_ref().map_or(&[][..], |options| &options.bytes);
        message.map_entry = raw::last_varint(options, 7) == Some(1);
        *self.draft.message_mut(id) = message;
        Ok(id)
    }

    fn extension(&mut self, descriptor: &[u8], scope: Option<MessageId>) -> Read<FieldId> {
        let (field, _) = self.field(descriptor, scope)?;
        let extends = self.draft.field(field).is_extension();
        if extends { Ok(field) } else { Err("an extension extends no message") }
    }

    /// Reads a field and the index of its oneof.
    fn field(
        &mut self,
        descriptor: &[u8],
        scope: Option<MessageId>,
    ) -> Read<(FieldId, Option<u32>)> {
        let mut field = FieldDraft { file: self.file, scope, ..FieldDraft::default() };
        let (mut oneof, mut json) = (None, None);
        fields(descriptor, |number, value| {
            match number {
                1 => field.name = name(value)?,
                2 => field.rare_mut().extendee = name(value)?,
                3 => field.number = int(value)?,
                4 => {
                    field.cardinality = match int(value)? {
                        2 => Cardinality::Required,
                        3 => Cardinality::Repeated,
                        _ => Cardinality::Optional,
                    }
                }
                5 => {
                    let type_number = u8::try_from(int(value)?).ok();
                    let known = type_number.filter(|number| (1..=18).contains(number));
                    field.type_number = known.ok_or("a field has a type that is not known")?;
                }
                6 => field.type_name = name(value)?,
                7 => field.rare_mut().default = Some(text(value)?),
                8 => options(value, &mut field.options)?,
                9 => oneof = Some(int(value)? as u32),
                10 => json = Some(bytes(value)?),
                17 => field.proto3_optional = flag(value)?,
                _ => {}
            }
            Ok(())
        })?;
        // Most are the default name, which is not stored.
        if let Some(json) = json.filter(|json| !is_json_name(json, &field.name)) {
            field.rare_mut().json_name = Some(Name::from_utf8(json).ok_or(NOT_UTF8)?);
        }
        Ok((self.draft.push_field(field), oneof))
    }

    fn oneof(&mut self, descriptor: &[u8], message: MessageId) -> Read<OneofId> {
        let mut oneof = OneofDraft { message, ..OneofDraft::default() };
        fields(descriptor, |number, value| {
            match number {
                1 => oneof.name = name(value)?,
                2 => options(value, &mut oneof.options)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(self.draft.push_oneof(oneof))
    }

    fn enum_(&mut self, descriptor: &[u8], parent: Option<MessageId>) -> Read<EnumId> {
        let mut found = EnumDraft { file: self.file, parent, ..EnumDraft::default() };
        fields(descriptor, |number, value| {
            match number {
                1 => found.name = name(value)?,
                2 => found.values.push(enum_value(bytes(value)?)?),
                3 => options(value, &mut found.options)?,
                4 => found.reserved_ranges.push(range(bytes(value)?)?.0),
                5 => found.reserved_names.push((name(value)?, ElementId::NONE)),
                6 => found.visibility = visibility(value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(self.draft.push_enum(found))
    }

    fn service(&mut self, descriptor: &[u8]) -> Read<ServiceId> {
        let mut service = ServiceDraft { file: self.file, ..ServiceDraft::default() };
        fields(descriptor, |number, value| {
            match number {
                1 => service.name = name(value)?,
                2 => service.methods.push(method(bytes(value)?)?),
                3 => options(value, &mut service.options)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(self.draft.push_service(service))
    }
}

fn enum_value(descriptor: &[u8]) -> Read<EnumValueDraft> {
    let mut found = EnumValueDraft::default();
    fields(descriptor, |number, value| {
        match number {
            1 => found.name = name(value)?,
            2 => found.number = int(value)?,
            3 => options(value, &mut found.options)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}

fn method(descriptor: &[u8]) -> Read<MethodDraft> {
    let mut found = MethodDraft::default();
    fields(descriptor, |number, value| {
        match number {
            1 => found.name = name(value)?,
            2 => found.input_type = name(value)?,
            3 => found.output_type = name(value)?,
            4 => options(value, &mut found.options)?,
            5 => found.client_streaming = flag(value)?,
            6 => found.server_streaming = flag(value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}
