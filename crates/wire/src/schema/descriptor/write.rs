//! Writes drafts as serialized descriptors, fields ascending by number, as `protoc` does.

use crate::schema::draft::{
    Draft, EnumDraft, EnumValueDraft, ImportKind, MaybeOptions, MethodDraft, OptionsDraft,
    RangeDraft, Visibility,
};
use crate::schema::features::Edition;
use crate::schema::raw::{put_length, put_tag, put_varint};
use crate::schema::{EnumId, FieldId, FileId, MessageId, ServiceId, WireType, push_json_name};
use crate::varint;

/// A serialized `FileDescriptorSet` of those files.
pub fn set_bytes<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for file in files {
        put_length(&mut out, 1, file);
    }
    out
}

/// Writes the serialized `FileDescriptorProto` of a linked file that did not come as one.
pub fn write_file(out: &mut Vec<u8>, draft: &Draft, id: FileId) {
    let file = draft.file(id);
    put_text(out, 1, &file.name);
    if let Some(package) = &file.package {
        put_text(out, 2, package);
    }
    let plain = || file.dependencies.iter().filter(|import| import.kind != ImportKind::Option);
    for import in plain() {
        put_text(out, 3, &import.name);
    }
    for &message in &file.messages {
        put_inner(out, 4, |out| message_into(out, draft, message));
    }
    for &id in &file.enums {
        put_inner(out, 5, |out| enum_into(out, draft, id));
    }
    for &service in &file.services {
        put_inner(out, 6, |out| service_into(out, draft, service));
    }
    for &extension in &file.extensions {
        put_inner(out, 7, |out| field_into(out, draft, extension, None));
    }
    put_options(out, 8, &file.options);
    for (number, kind) in [(10, ImportKind::Public), (11, ImportKind::Weak)] {
        for (index, _) in plain().enumerate().filter(|(_, import)| import.kind == kind) {
            put_varint(out, number, index as u64);
        }
    }
    match file.edition {
        Edition::Proto2 => {}
        Edition::Proto3 => put_text(out, 12, "proto3"),
        Edition::Edition2023 | Edition::Edition2024 => {
            put_text(out, 12, "editions");
            put_int(out, 14, file.edition.number());
        }
    }
    for import in file.dependencies.iter().filter(|import| import.kind == ImportKind::Option) {
        put_text(out, 15, &import.name);
    }
}

fn message_into(out: &mut Vec<u8>, draft: &Draft, id: MessageId) {
    let message = draft.message(id);
    put_text(out, 1, &message.name);
    for &id in &message.fields {
        // The ids of oneofs ascend in order of declaration.
        let oneof = draft.field(id).oneof.and_then(|one| message.oneofs.binary_search(&one).ok());
        put_inner(out, 2, |out| field_into(out, draft, id, oneof));
    }
    for &nested in &message.messages {
        put_inner(out, 3, |out| message_into(out, draft, nested));
    }
    for &id in &message.enums {
        put_inner(out, 4, |out| enum_into(out, draft, id));
    }
    for range in &message.extension_ranges {
        put_inner(out, 5, |out| range_into(out, range.range, &range.options));
    }
    for &extension in &message.extensions {
        put_inner(out, 6, |out| field_into(out, draft, extension, None));
    }
    put_options(out, 7, &message.options);
    for &oneof in &message.oneofs {
        let oneof = draft.oneof(oneof);
        put_inner(out, 8, |out| {
            put_text(out, 1, &oneof.name);
            put_options(out, 2, &oneof.options);
        });
    }
    for &range in &message.reserved_ranges {
        put_inner(out, 9, |out| range_into(out, range, &None));
    }
    for (name, _) in &message.reserved_names {
        put_text(out, 10, name);
    }
    put_visibility(out, 11, message.visibility);
}

/// Writes a field, with the index of its oneof in the message.
fn field_into(out: &mut Vec<u8>, draft: &Draft, id: FieldId, oneof: Option<usize>) {
    let field = draft.field(id);
    put_text(out, 1, &field.name);
    if field.is_extension() {
        put_text(out, 2, field.extendee());
    }
    put_int(out, 3, field.number);
    put_varint(out, 4, field.cardinality as u64);
    put_varint(out, 5, u64::from(field.type_number));
    if let Some(full_name) = draft.full_name_of_type(field) {
        put_tag(out, 6, WireType::Length);
        varint::write(out, 1 + full_name.len() as u64);
        out.push(b'.');
        out.extend_from_slice(full_name.as_bytes());
    }
    if let Some(default) = field.default_text() {
        put_text(out, 7, default);
    }
    put_options(out, 8, &field.options);
    if let Some(index) = oneof {
        put_varint(out, 9, index as u64);
    }
    match field.json_name_given() {
        Some(json_name) => put_text(out, 10, json_name),
        None => put_inner(out, 10, |out| push_json_name(out, &field.name)),
    }
    if field.proto3_optional {
        put_varint(out, 17, 1);
    }
}

fn range_into(out: &mut Vec<u8>, range: RangeDraft, options: &MaybeOptions) {
    put_int(out, 1, range.start);
    put_int(out, 2, range.end);
    put_options(out, 3, options);
}

fn enum_into(out: &mut Vec<u8>, draft: &Draft, id: EnumId) {
    let EnumDraft { name, values, reserved_ranges, reserved_names, visibility, options, .. } =
        draft.enum_(id);
    put_text(out, 1, name);
    for EnumValueDraft { name, number, options, .. } in values {
        put_inner(out, 2, |out| {
            put_text(out, 1, name);
            put_int(out, 2, *number);
            put_options(out, 3, options);
        });
    }
    put_options(out, 3, options);
    for &range in reserved_ranges {
        put_inner(out, 4, |out| range_into(out, range, &None));
    }
    for (name, _) in reserved_names {
        put_text(out, 5, name);
    }
    put_visibility(out, 6, *visibility);
}

fn service_into(out: &mut Vec<u8>, draft: &Draft, id: ServiceId) {
    let service = draft.service(id);
    put_text(out, 1, &service.name);
    for MethodDraft {
        name,
        input_type,
        output_type,
        client_streaming,
        server_streaming,
        options,
        ..
    } in &service.methods
    {
        put_inner(out, 2, |out| {
            put_text(out, 1, name);
            put_text(out, 2, input_type);
            put_text(out, 3, output_type);
            put_options(out, 4, options);
            for (number, streaming) in [(5, client_streaming), (6, server_streaming)] {
                if *streaming {
                    put_varint(out, number, 1);
                }
            }
        });
    }
    put_options(out, 3, &service.options);
}

/// Writes the message that `write` appends, prefixed by its length.
fn put_inner(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    put_tag(out, number, WireType::Length);
    // Most lengths have one byte, which is reserved: then nothing has to be moved.
    let length_at = out.len();
    out.push(0);
    write(out);
    let length = out.len() - length_at - 1;
    match u8::try_from(length) {
        Ok(length @ ..128) => out[length_at] = length,
        _ => {
            let more = varint::len(length as u64) - 1;
            out.extend_from_slice(&[0; varint::BYTES_MAX][..more]);
            out.copy_within(length_at + 1..length_at + 1 + length, length_at + 1 + more);
            let mut rest = length;
            for place in &mut out[length_at..length_at + more] {
                *place = rest as u8 | 0x80;
                rest >>= 7;
            }
            out[length_at + more] = rest as u8;
        }
    }
}

fn put_text(out: &mut Vec<u8>, number: u32, text: &str) {
    put_length(out, number, text.as_bytes());
}

fn put_int(out: &mut Vec<u8>, number: u32, value: i32) {
    put_varint(out, number, i64::from(value) as u64);
}

fn put_visibility(out: &mut Vec<u8>, number: u32, visibility: Visibility) {
    match visibility {
        Visibility::Unset => {}
        Visibility::Local => put_varint(out, number, 1),
        Visibility::Export => put_varint(out, number, 2),
    }
}

fn put_options(out: &mut Vec<u8>, number: u32, options: &Option<Box<OptionsDraft>>) {
    if let Some(options) = options
        && !options.empty
    {
        put_length(out, number, &options.bytes);
    }
}
