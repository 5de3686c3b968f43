//! The definitions of some files, and their lookup by id, name and number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tidemill_stdx::frozen::Frozen;
use tidemill_stdx::hash::Map;
use tidemill_stdx::sort;

use super::defs::{Def, Enum, Field, File, Message, Oneof, Service, SharedDef};
use super::table::{FieldTable, Slot};
use super::{
    EnumId, FieldId, FieldType, FileId, Label, MessageId, OneofId, ServiceId, Tag, descriptor,
};

/// The definition of a full name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// A message.
    Message(MessageId),
    /// An enum.
    Enum(EnumId),
    /// A service.
    Service(ServiceId),
    /// An extension.
    Extension(FieldId),
}

/// The parts of a field that decoders and encoders of values need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireField {
    pub(crate) ty: FieldType,
    pub(crate) label: Label,
    pub(crate) packed: bool,
    /// The varint of number and wire type in its written form.
    pub(crate) tag: Tag,
    pub(super) home: Home,
}

/// The location of a field's definition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    Message(MessageId, u32),
    Extension(u32),
}

/// Identifies a schema within the process, for objects that the schema owns and so must not hold a
/// reference to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SchemaMark(u64);

impl SchemaMark {
    /// A new unique mark.
    pub(super) fn new() -> SchemaMark {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: marks only have to differ.
        SchemaMark(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// True for the schema of the mark, and its clones.
    #[inline]
    pub(crate) fn is_of(self, definitions: &Definitions) -> bool {
        self == definitions.mark
    }
}

/// All definitions of some files, found by id, name and number. A [`Schema`](super::Schema) is one
/// that is shared.
#[derive(Debug)]
pub struct Definitions {
    pub(super) files: Box<[Frozen<Def>]>,
    pub(super) messages: Box<[Frozen<Def>]>,
    pub(super) enums: Box<[Frozen<Def>]>,
    pub(super) services: Box<[Frozen<Def>]>,
    pub(super) extensions: Box<[Frozen<Def>]>,
    /// By field.
    pub(super) wire: Box<[WireField]>,
    /// By message. Made at the first lookup of a number; two threads may race to make it.
    pub(super) tables: OnceLock<Box<[FieldTable]>>,
    /// By oneof: its message and its index there; `None` for those made for `optional`.
    pub(super) oneofs: Box<[Option<(MessageId, u32)>]>,
    pub(super) names: Map<Arc<str>, Named>,
    pub(super) file_names: Map<Arc<str>, FileId>,
    /// Imported files before those that import them.
    pub(super) order: Box<[FileId]>,
    pub(super) mark: SchemaMark,
}

macro_rules! def {
    ($frozen:expr, $kind:ident) => {
        match &**$frozen {
            Def::$kind(def) => def,
            _ => unreachable!("each array has one kind of definitions"),
        }
    };
}

impl Definitions {
    /// All files.
    pub fn files(&self) -> impl ExactSizeIterator<Item = FileId> + use<> {
        (0..self.files.len() as u32).map(FileId)
    }

    /// All messages in the order of their declaration.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = MessageId> + use<> {
        (0..self.messages.len() as u32).map(MessageId)
    }

    /// All enums in the order of their declaration.
    pub fn enums(&self) -> impl ExactSizeIterator<Item = EnumId> + use<> {
        (0..self.enums.len() as u32).map(EnumId)
    }

    /// All services in the order of their declaration.
    pub fn services(&self) -> impl ExactSizeIterator<Item = ServiceId> + use<> {
        (0..self.services.len() as u32).map(ServiceId)
    }

    /// All extensions.
    pub fn extensions(&self) -> impl ExactSizeIterator<Item = FieldId> {
        self.extensions.iter().map(|def| def!(def, Extension).id)
    }

    /// The number of fields, extensions included; greater than the index of every field id.
    pub fn field_count(&self) -> usize {
        self.wire.len()
    }

    /// The message with that [`MessageId::index`].
    pub fn message_at(&self, index: usize) -> Option<MessageId> {
        (index < self.messages().len()).then_some(MessageId(index as u32))
    }

    /// The field with that [`FieldId::index`].
    pub fn field_at(&self, index: usize) -> Option<FieldId> {
        (index < self.field_count()).then_some(FieldId(index as u32))
    }

    /// A file.
    pub fn file(&self, id: FileId) -> &File {
        def!(&self.files[id.index()], File)
    }

    /// A message.
    #[inline]
    pub fn message(&self, id: MessageId) -> &Message {
        def!(&self.messages[id.index()], Message)
    }

    /// A field or extension.
    #[inline]
    pub fn field(&self, id: FieldId) -> &Field {
        match self.wire[id.index()].home {
            Home::Message(message, index) => &self.message(message).fields[index as usize],
            Home::Extension(index) => def!(&self.extensions[index as usize], Extension),
        }
    }

    /// A oneof. Panics on one that was made for `optional`: no getter returns those.
    pub fn oneof(&self, id: OneofId) -> &Oneof {
        let (message, index) = self.oneofs[id.index()].expect("not made for `optional`");
        &self.message(message).oneofs[index as usize]
    }

    /// An enum.
    pub fn enum_def(&self, id: EnumId) -> &Enum {
        def!(&self.enums[id.index()], Enum)
    }

    /// A service.
    pub fn service(&self, id: ServiceId) -> &Service {
        def!(&self.services[id.index()], Service)
    }

    /// The definition of a full name, without a leading dot.
    pub fn get(&self, full_name: &str) -> Option<Named> {
        self.names.get(full_name).copied()
    }

    /// The file of that name.
    pub fn file_by_name(&self, name: &str) -> Option<FileId> {
        self.file_names.get(name).copied()
    }

    /// The message of that full name.
    pub fn message_by_name(&self, full_name: &str) -> Option<MessageId> {
        match self.get(full_name)? {
            Named::Message(id) => Some(id),
            _ => None,
        }
    }

    /// The enum of that full name.
    pub fn enum_by_name(&self, full_name: &str) -> Option<EnumId> {
        match self.get(full_name)? {
            Named::Enum(id) => Some(id),
            _ => None,
        }
    }

    /// The service of that full name.
    pub fn service_by_name(&self, full_name: &str) -> Option<ServiceId> {
        match self.get(full_name)? {
            Named::Service(id) => Some(id),
            _ => None,
        }
    }

    /// The extension of that full name.
    pub fn extension_by_name(&self, full_name: &str) -> Option<FieldId> {
        match self.get(full_name)? {
            Named::Extension(id) => Some(id),
            _ => None,
        }
    }

    /// The field or extension of that number.
    #[inline]
    pub fn field_by_number(&self, message: MessageId, number: u32) -> Option<FieldId> {
        self.slot(message, number).map(|slot| slot.field)
    }

    /// The field of that name.
    pub fn field_by_name(&self, message: MessageId, name: &str) -> Option<FieldId> {
        self.message(message).field_by_name(name).map(Field::id)
    }

    /// The field of that name in JSON.
    pub fn field_by_json_name(&self, message: MessageId, name: &str) -> Option<FieldId> {
        self.message(message).field_by_json_name(name).map(Field::id)
    }

    /// The name of a message with its package.
    pub fn full_name(&self, message: MessageId) -> &str {
        self.message(message).full_name()
    }

    /// Imported files before those that import them.
    pub fn files_in_order(&self) -> &[FileId] {
        &self.order
    }

    /// All files as a serialized `google.protobuf.FileDescriptorSet`, imported ones first.
    pub fn descriptor_set(&self) -> Vec<u8> {
        descriptor::set_bytes(self.order.iter().map(|&id| self.file(id).descriptor()))
    }

    /// A message that outlives the schema.
    pub fn share_message(&self, id: MessageId) -> SharedDef {
        SharedDef(self.messages[id.index()].clone())
    }

    /// An enum that outlives the schema.
    pub fn share_enum(&self, id: EnumId) -> SharedDef {
        SharedDef(self.enums[id.index()].clone())
    }

    /// A file that outlives the schema, with the files that it imports, without their definitions.
    pub fn share_file(&self, id: FileId) -> SharedDef {
        SharedDef(self.files[id.index()].clone())
    }

    /// A service that outlives the schema.
    pub fn share_service(&self, id: ServiceId) -> SharedDef {
        SharedDef(self.services[id.index()].clone())
    }

    /// The mark that identifies the schema.
    pub(crate) fn mark(&self) -> SchemaMark {
        self.mark
    }

    #[inline]
    pub(crate) fn slot(&self, message: MessageId, number: u32) -> Option<Slot> {
        self.tables.get_or_init(|| tables(self))[message.index()].find(number)
    }

    #[inline]
    pub(crate) fn wire_field(&self, id: FieldId) -> &WireField {
        &self.wire[id.index()]
    }
}

/// The map from number to field for each message, extensions included.
fn tables(schema: &Definitions) -> Box<[FieldTable]> {
    let mut extensions_of: Map<MessageId, Vec<&Field>> = Map::default();
    for field in schema.extensions().map(|id| schema.field(id)) {
        extensions_of.entry(field.message()).or_default().push(field);
    }
    let slot = |field: &Field| {
        let packable = field.label() == Label::Repeated && field.field_type().is_packable();
        let slot = Slot { field: field.id(), kind: field.field_type(), packable };
        (field.number(), slot)
    };
    let table = |message: MessageId| {
        let fields = schema.message(message).field_defs().iter();
        let Some(extensions) = extensions_of.get(&message) else {
            return FieldTable::new(fields.map(slot));
        };
        let mut all: Vec<_> = fields.chain(extensions.iter().copied()).map(slot).collect();
        sort::by_key(&mut all, |&(number, _)| number);
        FieldTable::new(all.into_iter())
    };
    schema.messages().map(table).collect()
}
