//! Immutable definitions.
//!
//! Each file, message, enum, service and extension is a [`Def`], a node of an immutable graph:
//! messages refer to the types of their fields, in circles where need be. Nodes that reach each
//! other share one count (`stdx::frozen`), so a [`SharedDef`] keeps alive exactly what can be
//! reached from it, across threads, and everything goes when the last one does.
//!
//! ```text
//!   Schema ---> tables, names          by 32-bit ids, for those that decode and encode
//!     |
//!     '-------> Def: Message --field--> Def: Message, Enum      what tools ask: names, options
//!                    |                                          defaults, features
//!                    '-----------> Def: File --import--> Def: File
//! ```

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use tidemill_stdx::frozen::{Frozen, FrozenRef};

use super::draft::{ImportKind, Visibility};
use super::features::{Edition, EnumKind, Features, Utf8Validation};
use super::{
    EnumId, FieldId, FieldType, FileId, Label, MessageId, Name, NamedNumbers, OneofId, ServiceId,
};

/// A definition.
#[derive(Debug)]
pub enum Def {
    /// A file.
    File(File),
    /// A message with its fields and oneofs.
    Message(Message),
    /// An enum with its values.
    Enum(Enum),
    /// A service with its methods.
    Service(Service),
    /// An extension.
    Extension(Field),
}

/// A serialized options message; custom options are fields of it.
///
/// A [`Decoder`](crate::Decoder) reads it as what [`Options::of_message`] names, where the schema
/// has that; [`RawFields`](super::RawFields) reads it without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options<'a> {
    /// The bytes, none where there are no options.
    pub bytes: &'a [u8],
    /// The full name of the message that they are.
    pub of_message: &'static str,
}

/// One file.
#[derive(Debug)]
pub struct File {
    pub(super) name: Arc<str>,
    pub(super) package: Box<str>,
    pub(super) edition: Edition,
    pub(super) features: Features,
    pub(super) imports: Box<[(FileId, ImportKind)]>,
    pub(super) messages: Box<[MessageId]>,
    pub(super) enums: Box<[EnumId]>,
    pub(super) services: Box<[ServiceId]>,
    pub(super) extensions: Box<[FieldId]>,
    pub(super) options: Box<[u8]>,
    pub(super) descriptor: Box<[u8]>,
}

impl File {
    /// The name under which others import it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The package, empty for none.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// The language.
    pub fn edition(&self) -> Edition {
        self.edition
    }

    /// Resolved features.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Imported files and how they are imported.
    pub fn imports(&self) -> &[(FileId, ImportKind)] {
        &self.imports
    }

    /// Outermost messages.
    pub fn messages(&self) -> &[MessageId] {
        &self.messages
    }

    /// Outermost enums.
    pub fn enums(&self) -> &[EnumId] {
        &self.enums
    }

    /// Services.
    pub fn services(&self) -> &[ServiceId] {
        &self.services
    }

    /// Outermost extensions.
    pub fn extensions(&self) -> &[FieldId] {
        &self.extensions
    }

    /// `google.protobuf.FileOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.FileOptions" }
    }

    /// The serialized `google.protobuf.FileDescriptorProto`.
    pub fn descriptor(&self) -> &[u8] {
        &self.descriptor
    }
}

/// One message.
#[derive(Debug)]
pub struct Message {
    pub(super) full_name: Arc<str>,
    /// The start of the name in the full name.
    pub(super) name_start: u32,
    pub(super) file: FileId,
    pub(super) parent: Option<MessageId>,
    /// Ascending by number, like `ids`.
    pub(super) fields: Box<[Field]>,
    pub(super) ids: Box<[FieldId]>,
    /// Indexes of fields by name. Made on first use, as most messages never need it; two threads
    /// may race to make it.
    pub(super) by_name: OnceLock<Box<[u32]>>,
    /// Indexes of fields by JSON name; made like `by_name`.
    pub(super) by_json_name: OnceLock<Box<[u32]>>,
    pub(super) oneofs: Box<[Oneof]>,
    pub(super) oneof_ids: Box<[OneofId]>,
    pub(super) messages: Box<[MessageId]>,
    pub(super) enums: Box<[EnumId]>,
    pub(super) extensions: Box<[FieldId]>,
    pub(super) rare: Option<Box<MessageRare>>,
    pub(super) visibility: Visibility,
    pub(super) map_entry: bool,
    pub(super) message_set: bool,
    pub(super) features: Features,
    pub(super) options: Box<[u8]>,
}

/// The parts that few messages have.
#[derive(Debug, Default)]
pub(super) struct MessageRare {
    pub(super) extension_ranges: Box<[ExtensionRange]>,
    pub(super) reserved_ranges: Box<[Range<u32>]>,
    pub(super) reserved_names: Box<[Box<str>]>,
}

/// Numbers for extensions.
#[derive(Debug)]
pub struct ExtensionRange {
    /// The numbers.
    pub numbers: Range<u32>,
    /// The serialized `google.protobuf.ExtensionRangeOptions`.
    pub options: Box<[u8]>,
}

impl Message {
    /// The name without its scope.
    pub fn name(&self) -> &str {
        &self.full_name[self.name_start as usize..]
    }

    /// The name with package and scope.
    pub fn full_name(&self) -> &Arc<str> {
        &self.full_name
    }

    /// The file.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// The enclosing message.
    pub fn parent(&self) -> Option<MessageId> {
        self.parent
    }

    /// The fields, ascending by number; a field's position is its [index](Field::index_in_message).
    pub fn fields(&self) -> &[FieldId] {
        &self.ids
    }

    /// The definitions of the fields, in the same order.
    pub fn field_defs(&self) -> &[Field] {
        &self.fields
    }

    /// The field of that name.
    pub fn field_by_name(&self, name: &str) -> Option<&Field> {
        self.find(&self.by_name, Field::name, name)
    }

    /// The field of that name in JSON.
    pub fn field_by_json_name(&self, name: &str) -> Option<&Field> {
        self.find(&self.by_json_name, Field::json_name, name)
    }

    /// The field whose `key` is that name, found through the index `sorted`, which is made on first
    /// use.
    fn find(
        &self,
        sorted: &OnceLock<Box<[u32]>>,
        key: fn(&Field) -> &str,
        name: &str,
    ) -> Option<&Field> {
        let fields = &self.fields;
        let by_key = |&a: &u32, &b: &u32| key(&fields[a as usize]).cmp(key(&fields[b as usize]));
        let sorted = sorted.get_or_init(|| {
            let mut indexes: Box<[u32]> = (0..fields.len() as u32).collect();
            indexes.sort_unstable_by(by_key);
            indexes
        });
        let at = sorted.binary_search_by(|&at| key(&fields[at as usize]).cmp(name)).ok()?;
        Some(&fields[sorted[at] as usize])
    }

    /// The oneofs in the order of their declaration, without those made for `optional`.
    pub fn oneofs(&self) -> &[OneofId] {
        &self.oneof_ids
    }

    /// The definitions of the oneofs, in the same order.
    pub fn oneof_defs(&self) -> &[Oneof] {
        &self.oneofs
    }

    /// Messages declared in it.
    pub fn messages(&self) -> &[MessageId] {
        &self.messages
    }

    /// Enums declared in it.
    pub fn enums(&self) -> &[EnumId] {
        &self.enums
    }

    /// Extensions declared in it, of whatever message.
    pub fn extensions(&self) -> &[FieldId] {
        &self.extensions
    }

    /// Numbers for extensions of it.
    pub fn extension_ranges(&self) -> &[ExtensionRange] {
        self.rare.as_ref().map_or(&[], |rare| &rare.extension_ranges)
    }

    /// Numbers that no field may have.
    pub fn reserved_ranges(&self) -> &[Range<u32>] {
        self.rare.as_ref().map_or(&[], |rare| &rare.reserved_ranges)
    }

    /// Names that no field may have.
    pub fn reserved_names(&self) -> &[Box<str>] {
        self.rare.as_ref().map_or(&[], |rare| &rare.reserved_names)
    }

    /// The visibility given in the source.
    pub fn visibility(&self) -> Visibility {
        self.visibility
    }

    /// True for the entries of a map.
    pub fn is_map_entry(&self) -> bool {
        self.map_entry
    }

    /// True for the old format of sets of messages.
    pub fn is_message_set(&self) -> bool {
        self.message_set
    }

    /// Resolved features.
    pub fn features(&self) -> Features {
        self.features
    }

    /// `google.protobuf.MessageOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.MessageOptions" }
    }
}

/// One field of a message, or an extension.
#[derive(Debug)]
pub struct Field {
    pub(super) id: FieldId,
    pub(super) name: Name,
    /// The name in JSON if it differs from the name.
    pub(super) json_name: Option<Name>,
    pub(super) message: MessageId,
    pub(super) number: u32,
    pub(super) index: u32,
    pub(super) ty: FieldType,
    pub(super) label: Label,
    pub(super) oneof: Option<OneofId>,
    pub(super) packed: bool,
    pub(super) proto3_optional: bool,
    pub(super) extension: Option<Box<ExtensionPart>>,
    /// The edge of its node that leads to its type.
    pub(super) edge: Option<u32>,
    pub(super) features: Features,
    pub(super) default: Option<Box<DefaultValue>>,
    pub(super) options: Box<[u8]>,
}

/// The parts that only extensions have.
#[derive(Debug)]
pub(super) struct ExtensionPart {
    pub(super) full_name: Arc<str>,
    pub(super) file: FileId,
    pub(super) scope: Option<MessageId>,
}

/// The value of an absent field.
#[derive(Clone, PartialEq, Debug)]
pub enum DefaultValue {
    /// Of `int64`, `sint64`, `sfixed64`.
    I64(i64),
    /// Of `uint64`, `fixed64`.
    U64(u64),
    /// Of `int32`, `sint32`, `sfixed32`.
    I32(i32),
    /// Of `uint32`, `fixed32`.
    U32(u32),
    /// Of `double`.
    F64(f64),
    /// Of `float`.
    F32(f32),
    /// Of `bool`.
    Bool(bool),
    /// Of `string`.
    String(Box<str>),
    /// Of `bytes`.
    Bytes(Box<[u8]>),
    /// Of an enum: the number.
    Enum(i32),
}

impl Field {
    /// Its id.
    pub fn id(&self) -> FieldId {
        self.id
    }

    /// The name without its scope.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name in JSON.
    pub fn json_name(&self) -> &str {
        self.json_name.as_deref().unwrap_or(&self.name)
    }

    /// The full name of an extension, which JSON and text write in brackets.
    pub fn extension_name(&self) -> Option<&Arc<str>> {
        self.extension.as_ref().map(|extension| &extension.full_name)
    }

    /// The file of an extension.
    pub fn extension_file(&self) -> Option<FileId> {
        self.extension.as_ref().map(|extension| extension.file)
    }

    /// The message that an extension is declared in.
    pub fn extension_scope(&self) -> Option<MessageId> {
        self.extension.as_ref().and_then(|extension| extension.scope)
    }

    /// The message that has this field, or that it extends.
    pub fn message(&self) -> MessageId {
        self.message
    }

    /// 1 to [`FIELD_NUMBER_MAX`](super::FIELD_NUMBER_MAX).
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The position among the message's fields by number, without gaps; 0 for extensions.
    pub fn index_in_message(&self) -> u32 {
        self.index
    }

    /// The type of its values.
    pub fn field_type(&self) -> FieldType {
        self.ty
    }

    /// The label: how often it may occur, and whether it has presence.
    pub fn label(&self) -> Label {
        self.label
    }

    /// True if it has presence: whether it is set does not depend on its value.
    pub fn has_presence(&self) -> bool {
        matches!(self.label, Label::Optional | Label::Required)
    }

    /// The oneof that it is a member of; none for one made for `optional`.
    pub fn oneof(&self) -> Option<OneofId> {
        self.oneof
    }

    /// True if its values are written as one packed list.
    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// True if it is `optional` in `proto3`.
    pub fn is_proto3_optional(&self) -> bool {
        self.proto3_optional
    }

    /// True if a string must be UTF-8.
    pub fn checks_utf8(&self) -> bool {
        self.features.utf8_validation == Utf8Validation::Verify
    }

    /// Resolved features.
    pub fn features(&self) -> Features {
        self.features
    }

    /// The default that the source gives.
    pub fn default_value(&self) -> Option<&DefaultValue> {
        self.default.as_deref()
    }

    /// `google.protobuf.FieldOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.FieldOptions" }
    }
}

/// A choice among fields: at most one of them is set.
#[derive(Debug)]
pub struct Oneof {
    pub(super) name: Name,
    pub(super) fields: Box<[FieldId]>,
    pub(super) options: Box<[u8]>,
}

impl Oneof {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The members, ascending by number.
    pub fn fields(&self) -> &[FieldId] {
        &self.fields
    }

    /// `google.protobuf.OneofOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.OneofOptions" }
    }
}

/// One enum.
#[derive(Debug)]
pub struct Enum {
    pub(super) full_name: Arc<str>,
    pub(super) name_start: u32,
    pub(super) file: FileId,
    pub(super) parent: Option<MessageId>,
    /// In the order of declaration.
    pub(super) values: Box<[EnumValue]>,
    /// Indexes of values by number; of aliases the first declared.
    pub(super) by_number: Box<[u32]>,
    /// Indexes of values by name.
    pub(super) by_name: Box<[u32]>,
    pub(super) named: NamedNumbers,
    pub(super) visibility: Visibility,
    pub(super) features: Features,
    pub(super) options: Box<[u8]>,
}

impl Enum {
    /// The name without its scope.
    pub fn name(&self) -> &str {
        &self.full_name[self.name_start as usize..]
    }

    /// The name with package and scope.
    pub fn full_name(&self) -> &Arc<str> {
        &self.full_name
    }

    /// The file.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// The enclosing message.
    pub fn parent(&self) -> Option<MessageId> {
        self.parent
    }

    /// The values in the order of declaration; the first is the default.
    pub fn values(&self) -> &[EnumValue] {
        &self.values
    }

    /// The value of that number; of aliases the first declared.
    pub fn value_by_number(&self, number: i32) -> Option<&EnumValue> {
        let find = |&at: &u32| self.values[at as usize].number.cmp(&number);
        let at = self.by_number.binary_search_by(find).ok()?;
        Some(&self.values[self.by_number[at] as usize])
    }

    /// The value of that name.
    pub fn value_by_name(&self, name: &str) -> Option<&EnumValue> {
        let find = |&at: &u32| (*self.values[at as usize].name).cmp(name);
        let at = self.by_name.binary_search_by(find).ok()?;
        Some(&self.values[self.by_name[at] as usize])
    }

    /// The numbers of its values.
    pub(crate) fn named(&self) -> &NamedNumbers {
        &self.named
    }

    /// True if numbers without a name are unknown fields.
    pub fn is_closed(&self) -> bool {
        self.features.enum_kind == EnumKind::Closed
    }

    /// The visibility given in the source.
    pub fn visibility(&self) -> Visibility {
        self.visibility
    }

    /// Resolved features.
    pub fn features(&self) -> Features {
        self.features
    }

    /// `google.protobuf.EnumOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.EnumOptions" }
    }
}

/// One value of an enum.
#[derive(Debug)]
pub struct EnumValue {
    pub(super) name: Name,
    pub(super) number: i32,
    pub(super) options: Box<[u8]>,
}

impl EnumValue {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// `google.protobuf.EnumValueOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.EnumValueOptions" }
    }
}

/// One service.
#[derive(Debug)]
pub struct Service {
    pub(super) full_name: Arc<str>,
    pub(super) name_start: u32,
    pub(super) file: FileId,
    pub(super) methods: Box<[Method]>,
    pub(super) options: Box<[u8]>,
}

impl Service {
    /// The name without the package.
    pub fn name(&self) -> &str {
        &self.full_name[self.name_start as usize..]
    }

    /// The name with the package.
    pub fn full_name(&self) -> &Arc<str> {
        &self.full_name
    }

    /// The file.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// The methods in the order of declaration.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// `google.protobuf.ServiceOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.ServiceOptions" }
    }
}

/// One method of a service.
#[derive(Debug)]
pub struct Method {
    pub(super) name: Name,
    pub(super) input: MessageId,
    pub(super) output: MessageId,
    pub(super) client_streaming: bool,
    pub(super) server_streaming: bool,
    pub(super) options: Box<[u8]>,
}

impl Method {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the request.
    pub fn input(&self) -> MessageId {
        self.input
    }

    /// The type of the response.
    pub fn output(&self) -> MessageId {
        self.output
    }

    /// True if the request is a stream.
    pub fn takes_stream(&self) -> bool {
        self.client_streaming
    }

    /// True if the response is a stream.
    pub fn gives_stream(&self) -> bool {
        self.server_streaming
    }

    /// `google.protobuf.MethodOptions`.
    pub fn options(&self) -> Options<'_> {
        Options { bytes: &self.options, of_message: "google.protobuf.MethodOptions" }
    }
}

/// A definition that outlives its schema, with all that it refers to and nothing else. It is cheap
/// to clone, `Send` and `Sync`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedDef(pub(super) Frozen<Def>);

impl SharedDef {
    /// The definition; ids in it are those of the schema that it comes from.
    pub fn def(&self) -> &Def {
        &self.0
    }

    /// The message, if it is one.
    pub fn as_message(&self) -> Option<&Message> {
        match self.def() {
            Def::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The enum, if it is one.
    pub fn as_enum(&self) -> Option<&Enum> {
        match self.def() {
            Def::Enum(found) => Some(found),
            _ => None,
        }
    }

    /// The message or enum type of one of its fields.
    pub fn type_of(&self, field: &Field) -> Option<SharedDef> {
        Some(SharedDef(self.0.target(field.edge? as usize)?.to_frozen()))
    }

    /// All definitions that it refers to, its file first.
    pub fn targets(&self) -> impl ExactSizeIterator<Item = SharedDef> {
        self.0.targets().map(FrozenRef::to_frozen).map(SharedDef)
    }

    /// True if each keeps the other alive.
    pub fn shares_count(&self, other: &SharedDef) -> bool {
        self.0.borrow().shares_count(other.0.borrow())
    }
}
