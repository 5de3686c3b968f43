//! Drafts into serialized descriptors, fields ascending by number, as `protoc` writes them.

use crate::schema::draft::{
    Draft, EnumDraft, EnumValueDraft, FieldDraft, ImportKind, MaybeOptions, MethodDraft,
    OptionsDraft, RangeDraft, Visibility,
};
use crate::schema::features::Edition;
use crate::schema::raw::{put_length, put_varint};
use crate::schema::{EnumId, FieldId, FileId, MessageId, ServiceId};

/// A serialized `FileDescriptorSet` of those files.
pub fn set_bytes<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for file in files {
        put_length(&mut out, 1, file);
    }
    out
}

/// The serialized `FileDescriptorProto` of a linked file.
pub fn file_bytes(draft: &Draft, id: FileId) -> Vec<u8> {
    let file = draft.file(id);
    if let Some(descriptor) = &file.descriptor {
        return descriptor.to_vec();
    }
    let mut out = Vec::new();
    put_text(&mut out, 1, &file.name);
    if let Some(package) = &file.package {
        put_text(&mut out, 2, package);
    }
    let plain = || file.dependencies.iter().filter(|import| import.kind != ImportKind::Option);
    for import in plain() {
        put_text(&mut out, 3, &import.name);
    }
    for &message in &file.messages {
        put_length(&mut out, 4, &message_bytes(draft, message));
    }
    for &id in &file.enums {
        put_length(&mut out, 5, &enum_bytes(draft, id));
    }
    for &service in &file.services {
        put_length(&mut out, 6, &service_bytes(draft, service));
    }
    for &extension in &file.extensions {
        put_length(&mut out, 7, &field_bytes(draft, extension));
    }
    put_options(&mut out, 8, &file.options);
    for (number, kind) in [(10, ImportKind::Public), (11, ImportKind::Weak)] {
        for (index, _) in plain().enumerate().filter(|(_, import)| import.kind == kind) {
            put_varint(&mut out, number, index as u64);
        }
    }
    match file.edition {
        Edition::Proto2 => {}
        Edition::Proto3 => put_text(&mut out, 12, "proto3"),
        Edition::Edition2023 | Edition::Edition2024 => {
            put_text(&mut out, 12, "editions");
            put_int(&mut out, 14, file.edition.number());
        }
    }
    for import in file.dependencies.iter().filter(|import| import.kind == ImportKind::Option) {
        put_text(&mut out, 15, &import.name);
    }
    out
}

fn message_bytes(draft: &Draft, id: MessageId) -> Vec<u8> {
    let message = draft.message(id);
    let mut out = Vec::new();
    put_text(&mut out, 1, &message.name);
    for &field in &message.fields {
        put_length(&mut out, 2, &field_bytes(draft, field));
    }
    for &nested in &message.messages {
        put_length(&mut out, 3, &message_bytes(draft, nested));
    }
    for &id in &message.enums {
        put_length(&mut out, 4, &enum_bytes(draft, id));
    }
    for range in &message.extension_ranges {
        put_length(&mut out, 5, &range_bytes(range.range, &range.options));
    }
    for &extension in &message.extensions {
        put_length(&mut out, 6, &field_bytes(draft, extension));
    }
    put_options(&mut out, 7, &message.options);
    for &oneof in &message.oneofs {
        let oneof = draft.oneof(oneof);
        let mut inner = Vec::new();
        put_text(&mut inner, 1, &oneof.name);
        put_options(&mut inner, 2, &oneof.options);
        put_length(&mut out, 8, &inner);
    }
    for &range in &message.reserved_ranges {
        put_length(&mut out, 9, &range_bytes(range, &None));
    }
    for (name, _) in &message.reserved_names {
        put_text(&mut out, 10, name);
    }
    put_visibility(&mut out, 11, message.visibility);
    out
}

fn field_bytes(draft: &Draft, id: FieldId) -> Vec<u8> {
    let field = draft.field(id);
    let mut out = Vec::with_capacity(32 + 2 * field.name.len() + field.type_name.len());
    put_text(&mut out, 1, &field.name);
    if field.is_extension() {
        put_text(&mut out, 2, &field.extendee);
    }
    put_int(&mut out, 3, field.number);
    put_varint(&mut out, 4, field.cardinality as u64);
    put_varint(&mut out, 5, u64::from(field.type_number));
    if !field.type_name.is_empty() {
        put_text(&mut out, 6, &field.type_name);
    }
    if let Some(default) = &field.default {
        put_text(&mut out, 7, default);
    }
    put_options(&mut out, 8, &field.options);
    if let Some(index) = oneof_index(draft, field) {
        put_varint(&mut out, 9, index as u64);
    }
    if let Some(json_name) = &field.json_name {
        put_text(&mut out, 10, json_name);
    }
    if field.proto3_optional {
        put_varint(&mut out, 17, 1);
    }
    out
}

fn oneof_index(draft: &Draft, field: &FieldDraft) -> Option<usize> {
    let oneof = field.oneof?;
    let message = draft.message(field.scope?);
    message.oneofs.iter().position(|&one| one == oneof)
}

fn range_bytes(range: RangeDraft, options: &MaybeOptions) -> Vec<u8> {
    let mut out = Vec::new();
    put_int(&mut out, 1, range.start);
    put_int(&mut out, 2, range.end);
    put_options(&mut out, 3, options);
    out
}

fn enum_bytes(draft: &Draft, id: EnumId) -> Vec<u8> {
    let EnumDraft { name, values, reserved_ranges, reserved_names, visibility, options, .. } =
        draft.enum_(id);
    let mut out = Vec::new();
    put_text(&mut out, 1, name);
    for EnumValueDraft { name, number, options, .. } in values {
        let mut inner = Vec::with_capacity(name.len() + 12);
        put_text(&mut inner, 1, name);
        put_int(&mut inner, 2, *number);
        put_options(&mut inner, 3, options);
        put_length(&mut out, 2, &inner);
    }
    put_options(&mut out, 3, options);
    for &range in reserved_ranges {
        put_length(&mut out, 4, &range_bytes(range, &None));
    }
    for (name, _) in reserved_names {
        put_text(&mut out, 5, name);
    }
    put_visibility(&mut out, 6, *visibility);
    out
}

fn service_bytes(draft: &Draft, id: ServiceId) -> Vec<u8> {
    let service = draft.service(id);
    let mut out = Vec::new();
    put_text(&mut out, 1, &service.name);
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
        let mut inner = Vec::new();
        put_text(&mut inner, 1, name);
        put_text(&mut inner, 2, input_type);
        put_text(&mut inner, 3, output_type);
        put_options(&mut inner, 4, options);
        for (number, streaming) in [(5, client_streaming), (6, server_streaming)] {
            if *streaming {
                put_varint(&mut inner, number, 1);
            }
        }
        put_length(&mut out, 2, &inner);
    }
    put_options(&mut out, 3, &service.options);
    out
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
