//! The elements that can have options.

use crate::schema::draft::{Draft, MaybeOptions};
use crate::schema::link::{Names, Scope};
use crate::schema::problem::ElementId;
use crate::schema::{EnumId, FieldId, FileId, MessageId, OneofId, ServiceId};

/// An element with options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    File(FileId),
    Message(MessageId),
    ExtensionRange(MessageId, u32),
    Field(FieldId),
    Oneof(OneofId),
    Enum(EnumId),
    EnumValue(EnumId, u32),
    Service(ServiceId),
    Method(ServiceId, u32),
}

impl Element {
    /// All elements that have options in the text.
    pub(super) fn all(draft: &Draft) -> Vec<Element> {
        let mut all = Vec::new();
        let mut push = |options: &MaybeOptions, element| {
            if options.as_ref().is_some_and(|options| !options.text.is_empty()) {
                all.push(element);
            }
        };
        for id in draft.file_ids() {
            push(&draft.file(id).options, Element::File(id));
        }
        for id in draft.message_ids() {
            let message = draft.message(id);
            push(&message.options, Element::Message(id));
            for (index, range) in message.extension_ranges.iter().enumerate() {
                push(&range.options, Element::ExtensionRange(id, index as u32));
            }
        }
        for id in draft.field_ids() {
            push(&draft.field(id).options, Element::Field(id));
        }
        for (index, oneof) in draft.oneofs.iter().enumerate() {
            push(&oneof.options, Element::Oneof(OneofId(index as u32)));
        }
        for id in draft.enum_ids() {
            let found = draft.enum_(id);
            push(&found.options, Element::Enum(id));
            for (index, value) in found.values.iter().enumerate() {
                push(&value.options, Element::EnumValue(id, index as u32));
            }
        }
        for id in draft.service_ids() {
            let service = draft.service(id);
            push(&service.options, Element::Service(id));
            for (index, method) in service.methods.iter().enumerate() {
                push(&method.options, Element::Method(id, index as u32));
            }
        }
        all
    }

    pub(super) fn options(self, draft: &mut Draft) -> &mut MaybeOptions {
        match self {
            Element::File(id) => &mut draft.file_mut(id).options,
            Element::Message(id) => &mut draft.message_mut(id).options,
            Element::ExtensionRange(id, index) => {
                &mut draft.message_mut(id).extension_ranges[index as usize].options
            }
            Element::Field(id) => &mut draft.field_mut(id).options,
            Element::Oneof(id) => &mut draft.oneof_mut(id).options,
            Element::Enum(id) => &mut draft.enum_mut(id).options,
            Element::EnumValue(id, index) => &mut draft.enum_mut(id).values[index as usize].options,
            Element::Service(id) => &mut draft.service_mut(id).options,
            Element::Method(id, index) => {
                &mut draft.service_mut(id).methods[index as usize].options
            }
        }
    }

    /// The file and the position in it.
    pub(super) fn place(self, draft: &Draft) -> (FileId, ElementId) {
        match self {
            Element::File(id) => (id, draft.file(id).place),
            Element::Message(id) => (draft.message(id).file, draft.message(id).place),
            Element::ExtensionRange(id, index) => {
                let message = draft.message(id);
                (message.file, message.extension_ranges[index as usize].range.place)
            }
            Element::Field(id) => (draft.field(id).file, draft.field(id).place),
            Element::Oneof(id) => {
                let oneof = draft.oneof(id);
                (draft.message(oneof.message).file, oneof.place)
            }
            Element::Enum(id) => (draft.enum_(id).file, draft.enum_(id).place),
            Element::EnumValue(id, index) => {
                (draft.enum_(id).file, draft.enum_(id).values[index as usize].place)
            }
            Element::Service(id) => (draft.service(id).file, draft.service(id).place),
            Element::Method(id, index) => {
                (draft.service(id).file, draft.service(id).methods[index as usize].place)
            }
        }
    }

    /// The innermost scope for the lookup of names in its options.
    pub(super) fn scope(self, draft: &Draft, names: &Names) -> Scope {
        match self {
            Element::File(id) => names.package_scope(id),
            Element::Message(id) | Element::ExtensionRange(id, _) => Scope::Message(id),
            Element::Field(id) => {
                let field = draft.field(id);
                field.scope.map_or(names.package_scope(field.file), Scope::Message)
            }
            Element::Oneof(id) => Scope::Message(draft.oneof(id).message),
            Element::Enum(id) | Element::EnumValue(id, _) => {
                let found = draft.enum_(id);
                found.parent.map_or(names.package_scope(found.file), Scope::Message)
            }
            Element::Service(id) | Element::Method(id, _) => Scope::Service(id),
        }
    }

    /// The full name of its options message.
    pub(super) fn options_type(self) -> &'static str {
        match self {
            Element::File(_) => "google.protobuf.FileOptions",
            Element::Message(_) => "google.protobuf.MessageOptions",
            Element::ExtensionRange(..) => "google.protobuf.ExtensionRangeOptions",
            Element::Field(_) => "google.protobuf.FieldOptions",
            Element::Oneof(_) => "google.protobuf.OneofOptions",
            Element::Enum(_) => "google.protobuf.EnumOptions",
            Element::EnumValue(..) => "google.protobuf.EnumValueOptions",
            Element::Service(_) => "google.protobuf.ServiceOptions",
            Element::Method(..) => "google.protobuf.MethodOptions",
        }
    }

    /// Its number among the targets of options, and its name in messages.
    pub(super) fn target(self) -> (u64, &'static str) {
        match self {
            Element::File(_) => (1, "a file"),
            Element::ExtensionRange(..) => (2, "a range of extensions"),
            Element::Message(_) => (3, "a message"),
            Element::Field(_) => (4, "a field"),
            Element::Oneof(_) => (5, "a oneof"),
            Element::Enum(_) => (6, "an enum"),
            Element::EnumValue(..) => (7, "a value of an enum"),
            Element::Service(_) => (8, "a service"),
            Element::Method(..) => (9, "a method"),
        }
    }
}
