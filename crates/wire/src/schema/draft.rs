//! Mutable definitions.
//!
//! A [`Draft`] holds the definitions of all files in flat arrays; their ids stay those of the
//! [`Schema`](super::Schema) that it becomes. It mirrors `descriptor.proto`: texts and serialized
//! descriptors are both read into drafts, linking and checking work on them.
//!
//! ```text
//! .proto text --parse--.                          .--> Schema
//!                       +--> Draft --link, check--+
//! descriptors  --read--'                          '--> descriptors
//! ```

use std::sync::Arc;

use super::features::{Edition, Features};
use super::problem::ElementId;
use super::uninterpreted::OptionText;
use super::{EnumId, FieldId, FieldType, FileId, MessageId, Name, OneofId, ServiceId};

/// All definitions; see the module.
#[derive(Clone, Default, Debug)]
pub struct Draft {
    /// By [`FileId`].
    pub files: Vec<FileDraft>,
    /// By [`MessageId`].
    pub messages: Vec<MessageDraft>,
    /// By [`FieldId`]; extensions too.
    pub fields: Vec<FieldDraft>,
    /// By [`OneofId`].
    pub oneofs: Vec<OneofDraft>,
    /// By [`EnumId`].
    pub enums: Vec<EnumDraft>,
    /// By [`ServiceId`].
    pub services: Vec<ServiceDraft>,
}

/// The options of an element.
#[derive(Clone, Default, Debug)]
pub struct OptionsDraft {
    /// The serialized options message, as a program sees it at run time.
    pub bytes: Vec<u8>,
    /// Options with source retention, which [`Self::bytes`] lacks.
    pub source_bytes: Vec<u8>,
    /// No option is left at run time; descriptors omit such options.
    pub empty: bool,
    /// The options as written in the text; interpretation turns them into bytes.
    pub text: Vec<OptionText>,
}

/// Options, or none.
pub type MaybeOptions = Option<Box<OptionsDraft>>;

/// One file.
#[derive(Clone, Default, Debug)]
pub struct FileDraft {
    /// The name under which others import it.
    pub name: String,
    /// The package, if there is a statement.
    pub package: Option<String>,
    /// Names of imported files.
    pub dependencies: Vec<Dependency>,
    /// The language.
    pub edition: Edition,
    /// Outermost messages.
    pub messages: Vec<MessageId>,
    /// Outermost enums.
    pub enums: Vec<EnumId>,
    /// Services.
    pub services: Vec<ServiceId>,
    /// Outermost extensions.
    pub extensions: Vec<FieldId>,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// The serialized `FileDescriptorProto`, if the file came as one.
    pub descriptor: Option<Box<[u8]>>,
    /// Its position in the text.
    pub place: ElementId,
}

/// The kind of an import.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ImportKind {
    /// For the importing file itself.
    #[default]
    Plain,
    /// Also for files that import it.
    Public,
    /// May be missing at link time in some languages.
    Weak,
    /// Only for the names of options.
    Option,
}

/// An imported file.
#[derive(Clone, Default, Debug)]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// The kind of the import.
    pub kind: ImportKind,
    /// The file, once linked.
    pub file: Option<FileId>,
    /// The position of the statement.
    pub place: ElementId,
}

/// Whether other files may name a message or enum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Visibility {
    /// The default of the features.
    #[default]
    Unset,
    /// They may not.
    Local,
    /// They may.
    Export,
}

/// One message.
#[derive(Clone, Default, Debug)]
pub struct MessageDraft {
    /// The name without its scope.
    pub name: Name,
    /// The file.
    pub file: FileId,
    /// The enclosing message.
    pub parent: Option<MessageId>,
    /// In the order of declaration.
    pub fields: Vec<FieldId>,
    /// In the order of declaration, synthetic ones last.
    pub oneofs: Vec<OneofId>,
    /// Messages in it.
    pub messages: Vec<MessageId>,
    /// Enums in it.
    pub enums: Vec<EnumId>,
    /// Extensions declared in it.
    pub extensions: Vec<FieldId>,
    /// Numbers for extensions.
    pub extension_ranges: Vec<ExtensionRangeDraft>,
    /// Numbers that no field may have; ends are exclusive.
    pub reserved_ranges: Vec<RangeDraft>,
    /// Names that no field may have.
    pub reserved_names: Vec<(Name, ElementId)>,
    /// Whether other files may name it.
    pub visibility: Visibility,
    /// True for the entries of a map field.
    pub map_entry: bool,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// The name with package and scope, once linked.
    pub full_name: Arc<str>,
    /// Its position in the text.
    pub place: ElementId,
}

/// A range of numbers; whether the end is inclusive depends on its owner.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RangeDraft {
    /// The first.
    pub start: i32,
    /// The last, or one past it.
    pub end: i32,
    /// Its position in the text.
    pub place: ElementId,
}

/// Numbers for extensions; the end is exclusive.
#[derive(Clone, Default, Debug)]
pub struct ExtensionRangeDraft {
    /// The numbers.
    pub range: RangeDraft,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
}

/// The label of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cardinality {
    /// At most once.
    #[default]
    Optional = 1,
    /// Exactly once.
    Required = 2,
    /// Any number of times.
    Repeated = 3,
}

/// One field or extension.
#[derive(Clone, Default, Debug)]
pub struct FieldDraft {
    /// The name without its scope.
    pub name: Name,
    /// The file.
    pub file: FileId,
    /// The message it is declared in.
    pub scope: Option<MessageId>,
    /// Its number.
    pub number: i32,
    /// Its label.
    pub cardinality: Cardinality,
    /// The number of its type; 0 for a named type not resolved yet.
    pub type_number: u8,
    /// The type as the source names it; empty for scalars.
    pub type_name: Name,
    /// The oneof that it is a member of.
    pub oneof: Option<OneofId>,
    /// True for `optional` in `proto3`.
    pub proto3_optional: bool,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// The type of its values, once linked.
    pub ty: Option<FieldType>,
    /// The message that has it or that it extends, once linked.
    pub message: Option<MessageId>,
    /// The parts that few fields have.
    pub rare: Option<Box<FieldRare>>,
    /// Its position in the text.
    pub place: ElementId,
}

/// The parts that few fields have.
#[derive(Clone, Default, Debug)]
pub struct FieldRare {
    /// The message that it extends; with a leading dot once linked. Empty for plain fields.
    pub extendee: Name,
    /// The default as descriptors have it.
    pub default: Option<String>,
    /// The name in JSON, if the source gives one other than the default.
    pub json_name: Option<Name>,
}

impl FieldDraft {
    /// True for extensions.
    #[inline]
    pub fn is_extension(&self) -> bool {
        !self.extendee().is_empty()
    }

    /// The message that it extends; with a leading dot once linked. Empty for plain fields.
    #[inline]
    pub fn extendee(&self) -> &str {
        self.rare.as_ref().map_or("", |rare| &rare.extendee)
    }

    /// The default as descriptors have it.
    #[inline]
    pub fn default_text(&self) -> Option<&str> {
        self.rare.as_ref()?.default.as_deref()
    }

    /// The name in JSON, if the source gives one other than the default.
    #[inline]
    pub fn json_name_given(&self) -> Option<&str> {
        self.rare.as_ref()?.json_name.as_deref()
    }

    /// The rare parts, created if absent.
    pub(crate) fn rare_mut(&mut self) -> &mut FieldRare {
        self.rare.get_or_insert_default()
    }

    /// True for repeated fields, maps included.
    #[inline]
    pub fn is_repeated(&self) -> bool {
        self.cardinality == Cardinality::Repeated
    }
}

/// A choice among fields.
#[derive(Clone, Default, Debug)]
pub struct OneofDraft {
    /// The name.
    pub name: Name,
    /// The message.
    pub message: MessageId,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// True if made for an `optional` field in `proto3`.
    pub synthetic: bool,
    /// Its position in the text.
    pub place: ElementId,
}

/// One enum.
#[derive(Clone, Default, Debug)]
pub struct EnumDraft {
    /// The name without its scope.
    pub name: Name,
    /// The file.
    pub file: FileId,
    /// The enclosing message.
    pub parent: Option<MessageId>,
    /// In the order of declaration.
    pub values: Vec<EnumValueDraft>,
    /// Numbers that no value may have; ends are inclusive.
    pub reserved_ranges: Vec<RangeDraft>,
    /// Names that no value may have.
    pub reserved_names: Vec<(Name, ElementId)>,
    /// Whether other files may name it.
    pub visibility: Visibility,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// The name with package and scope, once linked.
    pub full_name: Arc<str>,
    /// Its position in the text.
    pub place: ElementId,
}

/// One value of an enum.
#[derive(Clone, Default, Debug)]
pub struct EnumValueDraft {
    /// The name.
    pub name: Name,
    /// The number.
    pub number: i32,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// Its position in the text.
    pub place: ElementId,
}

/// One service.
#[derive(Clone, Default, Debug)]
pub struct ServiceDraft {
    /// The name.
    pub name: Name,
    /// The file.
    pub file: FileId,
    /// In the order of declaration.
    pub methods: Vec<MethodDraft>,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// The name with package, once linked.
    pub full_name: Arc<str>,
    /// Its position in the text.
    pub place: ElementId,
}

/// One method of a service.
#[derive(Clone, Default, Debug)]
pub struct MethodDraft {
    /// The name.
    pub name: Name,
    /// The type of the request; with a leading dot once linked.
    pub input_type: Name,
    /// The type of the response; with a leading dot once linked.
    pub output_type: Name,
    /// The request is a stream.
    pub client_streaming: bool,
    /// The response is a stream.
    pub server_streaming: bool,
    /// The type of the request, once linked.
    pub input: Option<MessageId>,
    /// The type of the response, once linked.
    pub output: Option<MessageId>,
    /// Options.
    pub options: MaybeOptions,
    /// Resolved features.
    pub features: Features,
    /// Its position in the text.
    pub place: ElementId,
}

/// The length of each array, to truncate a draft to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark([usize; 6]);

macro_rules! arena {
    ($($push:ident, $get:ident, $get_mut:ident, $array:ident, $id:ident, $draft:ident;)+) => {
        impl Draft {
            $(
                #[inline]
                pub(crate) fn $push(&mut self, draft: $draft) -> $id {
                    self.$array.push(draft);
                    $id(self.$array.len() as u32 - 1)
                }

                #[inline]
                pub(crate) fn $get(&self, id: $id) -> &$draft {
                    &self.$array[id.index()]
                }

                #[allow(dead_code)]
                #[inline]
                pub(crate) fn $get_mut(&mut self, id: $id) -> &mut $draft {
                    &mut self.$array[id.index()]
                }
            )+
        }

        $(
            impl Default for $id {
                /// The id of no element.
                fn default() -> $id {
                    $id(u32::MAX)
                }
            }
        )+
    };
}

arena! {
    push_file, file, file_mut, files, FileId, FileDraft;
    push_message, message, message_mut, messages, MessageId, MessageDraft;
    push_field, field, field_mut, fields, FieldId, FieldDraft;
    push_oneof, oneof, oneof_mut, oneofs, OneofId, OneofDraft;
    push_enum, enum_, enum_mut, enums, EnumId, EnumDraft;
    push_service, service, service_mut, services, ServiceId, ServiceDraft;
}

impl Draft {
    /// A draft without definitions.
    pub fn new() -> Draft {
        Draft::default()
    }

    /// The file of that name.
    pub fn file_by_name(&self, name: &str) -> Option<FileId> {
        self.files.iter().position(|file| file.name == name).map(|at| FileId(at as u32))
    }

    pub(crate) fn file_ids(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId)
    }

    pub(crate) fn message_ids(&self) -> impl Iterator<Item = MessageId> + use<> {
        (0..self.messages.len() as u32).map(MessageId)
    }

    pub(crate) fn field_ids(&self) -> impl Iterator<Item = FieldId> + use<> {
        (0..self.fields.len() as u32).map(FieldId)
    }

    pub(crate) fn enum_ids(&self) -> impl Iterator<Item = EnumId> + use<> {
        (0..self.enums.len() as u32).map(EnumId)
    }

    pub(crate) fn service_ids(&self) -> impl Iterator<Item = ServiceId> + use<> {
        (0..self.services.len() as u32).map(ServiceId)
    }

    /// The full name of the message or enum type of a linked field.
    pub(crate) fn full_name_of_type(&self, field: &FieldDraft) -> Option<&Arc<str>> {
        match field.ty? {
            FieldType::Scalar(_) => None,
            FieldType::Message(id) | FieldType::Group(id) => Some(&self.message(id).full_name),
            FieldType::Enum(id) => Some(&self.enum_(id).full_name),
        }
    }

    /// The language of a file.
    #[inline]
    pub(crate) fn edition(&self, file: FileId) -> Edition {
        self.file(file).edition
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark([
            self.files.len(),
            self.messages.len(),
            self.fields.len(),
            self.oneofs.len(),
            self.enums.len(),
            self.services.len(),
        ])
    }

    /// Removes the definitions after `mark`.
    pub(crate) fn truncate(&mut self, mark: Mark) {
        let Mark([files, messages, fields, oneofs, enums, services]) = mark;
        self.files.truncate(files);
        self.messages.truncate(messages);
        self.fields.truncate(fields);
        self.oneofs.truncate(oneofs);
        self.enums.truncate(enums);
        self.services.truncate(services);
    }
}
