//! Features, from the edition through files and messages down to fields and values.

use crate::schema::draft::{Cardinality, Draft, MaybeOptions};
use crate::schema::features::{Edition, Features, MessageEncoding, Presence, RepeatedEncoding};
use crate::schema::raw;
use crate::schema::{FieldId, FieldType};

/// The serialized feature sets in an options message, in its field of that number.
pub fn feature_set(options: &MaybeOptions, number: u32) -> Vec<u8> {
    feature_sets(options, number).collect::<Vec<_>>().concat()
}

/// The feature sets one by one; their concatenation is the merged set.
fn feature_sets(options: &MaybeOptions, number: u32) -> impl Iterator<Item = &[u8]> {
    let bytes = options.as_ref().map_or(&[][..], |options| match &options.source_bytes[..] {
        [] => &options.bytes,
        source => source,
    });
    raw::lengths(bytes, number)
}

#[inline]
fn merged(parent: Features, options: &MaybeOptions, number: u32) -> Features {
    if options.is_none() {
        return parent;
    }
    feature_sets(options, number).fold(parent, Features::merged)
}

/// Resolves the features of everything, and distinguishes groups from messages. Options are
/// interpreted.
pub fn inherit_features(draft: &mut Draft) {
    for file in &mut draft.files {
        file.features = merged(Features::of_edition(file.edition), &file.options, 50);
    }
    let files: Vec<Features> = draft.files.iter().map(|file| file.features).collect();
    for id in draft.message_ids() {
        let message = draft.message(id);
        let parent = match message.parent {
            Some(parent) => draft.message(parent).features,
            None => files[message.file.index()],
        };
        let message = draft.message_mut(id);
        message.features = merged(parent, &message.options, 12);
        for range in &mut message.extension_ranges {
            range.features = merged(message.features, &range.options, 50);
        }
    }
    for index in 0..draft.oneofs.len() {
        let parent = draft.message(draft.oneofs[index].message).features;
        let oneof = &mut draft.oneofs[index];
        oneof.features = merged(parent, &oneof.options, 1);
    }
    for id in draft.field_ids() {
        inherit_field(draft, id);
    }
    for id in draft.enum_ids() {
        let found = draft.enum_(id);
        let parent = match found.parent {
            Some(parent) => draft.message(parent).features,
            None => files[found.file.index()],
        };
        let found = draft.enum_mut(id);
        found.features = merged(parent, &found.options, 7);
        for value in &mut found.values {
            value.features = merged(found.features, &value.options, 2);
        }
    }
    for service in &mut draft.services {
        service.features = merged(files[service.file.index()], &service.options, 34);
        for method in &mut service.methods {
            method.features = merged(service.features, &method.options, 35);
        }
    }
}

fn inherit_field(draft: &mut Draft, id: FieldId) {
    let field = draft.field(id);
    let edition = draft.edition(field.file);
    let parent = match (field.oneof, field.scope) {
        (Some(oneof), _) => draft.oneof(oneof).features,
        (None, Some(message)) => draft.message(message).features,
        (None, None) => draft.file(field.file).features,
    };
    let mut features = merged(parent, &field.options, 21);
    if edition.has_features() {
        // The parts of a map's entry have the features of the map, but are never groups.
        let in_map = field.scope.is_some_and(|message| draft.message(message).map_entry);
        let is_map =
            matches!(field.ty, Some(FieldType::Message(id)) if draft.message(id).map_entry);
        if let Some(FieldType::Message(message)) = field.ty
            && features.message_encoding == MessageEncoding::Delimited
            && !in_map
            && !is_map
        {
            draft.field_mut(id).ty = Some(FieldType::Group(message));
        }
    } else {
        features = legacy(draft, id, edition, features);
    }
    draft.field_mut(id).features = features;
}

/// The features that files without features set by other keywords.
fn legacy(draft: &Draft, id: FieldId, edition: Edition, mut features: Features) -> Features {
    let field = draft.field(id);
    if field.cardinality == Cardinality::Required {
        features.presence = Presence::Required;
    } else if field.proto3_optional {
        features.presence = Presence::Explicit;
    }
    if matches!(field.ty, Some(FieldType::Group(_))) {
        features.message_encoding = MessageEncoding::Delimited;
    }
    let options = field.options.as_ref().map_or(&[][..], |options| &options.bytes);
    match raw::last_varint(options, 2) {
        Some(0) if edition == Edition::Proto3 => {
            features.repeated_encoding = RepeatedEncoding::Expanded;
        }
        Some(value) if value != 0 => features.repeated_encoding = RepeatedEncoding::Packed,
        _ => {}
    }
    features
}
