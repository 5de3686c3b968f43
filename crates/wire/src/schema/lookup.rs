//! A schema: all definitions of some files, found by id, name and number.

use std::sync::{Arc, OnceLock, Weak};

use tidemill_stdx::frozen::Frozen;
use tidemill_stdx::hash::Map;

use super::defs::{Def, Enum, Field, File, Message, Oneof, Service, SharedDef};
use super::table::{self, FieldTable, Slot};
use super::{
    EnumId, FieldId, FieldType, FileId, Label, MessageId, OneofId, ServiceId, Tag, descriptor,
};
use crate::decode::Tables;
use crate::encode::Steps;
use crate::json::JsonNames;
use crate::message::Layouts;
use crate::message::layout::Maps;

/// What a full name means.
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

/// A field as those see it that read and write values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireField {
    pub(crate) ty: FieldType,
    pub(crate) label: Label,
    pub(crate) packed: bool,
    /// The varint of number and wire type as it is written.
    pub(crate) tag: Tag,
    pub(super) home: Home,
}

/// Where a field's definition is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    Message(MessageId, u32),
    Extension(u32),
}

/// All definitions of some files, immutable; clones share them.
///
/// Ids are unique in the whole schema: an event that carries a [`FieldId`] says which message it
/// belongs to. An id means nothing to another schema: getters panic on ids too great for theirs.
/// Printing one gives `.proto` text (of schemas made by a builder).
#[derive(Clone, Debug)]
pub struct Schema {
    pub(super) pool: Arc<Pool>,
}

/// Which schema something was made from, for what a schema keeps itself: it holds none of it.
#[derive(Debug)]
pub(crate) struct SchemaMark(Weak<Pool>);

impl SchemaMark {
    /// True of the schema that gave it, and its clones.
    #[inline]
    pub(crate) fn is_of(&self, schema: &Schema) -> bool {
        // The address belongs to no other schema while the mark is there.
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&schema.pool))
    }
}

#[derive(Debug)]
pub(super) struct Pool {
    pub(super) files: Box<[Frozen<Def>]>,
    pub(super) messages: Box<[Frozen<Def>]>,
    pub(super) enums: Box<[Frozen<Def>]>,
    pub(super) services: Box<[Frozen<Def>]>,
    pub(super) extensions: Box<[Frozen<Def>]>,
    /// By field.
    pub(super) wire: Box<[WireField]>,
    /// By message. Made by the first who looks for a number; two threads may come at once.
    pub(super) tables: OnceLock<Box<[FieldTable]>>,
    /// By oneof: its message and its place there; nothing for those made for `optional`.
    pub(super) oneofs: Box<[Option<(MessageId, u32)>]>,
    pub(super) names: Map<Arc<str>, Named>,
    pub(super) file_names: Map<Arc<str>, FileId>,
    /// Imported files before those that import them.
    pub(super) order: Box<[FileId]>,
    /// Made by whoever first makes a message; two threads may come at once.
    pub(super) layouts: OnceLock<Layouts>,
    pub(super) batch_layouts: OnceLock<Layouts>,
    /// Made by the first decoder, because most schemas never meet one; two threads may come at
    /// once.
    pub(super) decoding: OnceLock<Tables>,
    /// Made by the first encoder by tables; as above.
    pub(super) encoding: OnceLock<Steps>,
    /// Made by whoever first reads a message whose sub-messages are put off; as above.
    pub(super) shallow: OnceLock<Tables>,
    /// Made by whoever first needs JSON or text; two threads may come at once.
    pub(super) json_names: OnceLock<JsonNames>,
}

macro_rules! def {
    ($frozen:expr, $kind:ident) => {
        match &**$frozen {
            Def::$kind(def) => def,
            _ => unreachable!("each array has one kind of definitions"),
        }
    };
}

impl Schema {
    /// All files.
    pub fn files(&self) -> impl ExactSizeIterator<Item = FileId> + use<> {
        (0..self.pool.files.len() as u32).map(FileId)
    }

    /// All messages in the order of their declaration.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = MessageId> + use<> {
        (0..self.pool.messages.len() as u32).map(MessageId)
    }

    /// All enums in the order of their declaration.
    pub fn enums(&self) -> impl ExactSizeIterator<Item = EnumId> + use<> {
        (0..self.pool.enums.len() as u32).map(EnumId)
    }

    /// All services in the order of their declaration.
    pub fn services(&self) -> impl ExactSizeIterator<Item = ServiceId> + use<> {
        (0..self.pool.services.len() as u32).map(ServiceId)
    }

    /// All extensions.
    pub fn extensions(&self) -> impl ExactSizeIterator<Item = FieldId> {
        self.pool.extensions.iter().map(|def| def!(def, Extension).id)
    }

    /// Number of fields, extensions among them: their ids are smaller.
    pub fn field_count(&self) -> usize {
        self.pool.wire.len()
    }

    /// The message type whose [`MessageId::index`] that is.
    pub fn message_at(&self, index: usize) -> Option<MessageId> {
        (index < self.messages().len()).then_some(MessageId(index as u32))
    }

    /// The field whose [`FieldId::index`] that is.
    pub fn field_at(&self, index: usize) -> Option<FieldId> {
        (index < self.field_count()).then_some(FieldId(index as u32))
    }

    /// A file.
    pub fn file(&self, id: FileId) -> &File {
        def!(&self.pool.files[id.index()], File)
    }

    /// A message.
    #[inline]
    pub fn message(&self, id: MessageId) -> &Message {
        def!(&self.pool.messages[id.index()], Message)
    }

    /// A field or extension.
    #[inline]
    pub fn field(&self, id: FieldId) -> &Field {
        match self.pool.wire[id.index()].home {
            Home::Message(message, index) => &self.message(message).fields[index as usize],
            Home::Extension(index) => def!(&self.pool.extensions[index as usize], Extension),
        }
    }

    /// A oneof. Panics on one that was made for `optional`: no getter gives those.
    pub fn oneof(&self, id: OneofId) -> &Oneof {
        let (message, index) = self.pool.oneofs[id.index()].expect("not made for `optional`");
        &self.message(message).oneofs[index as usize]
    }

    /// An enum.
    pub fn enum_def(&self, id: EnumId) -> &Enum {
        def!(&self.pool.enums[id.index()], Enum)
    }

    /// A service.
    pub fn service(&self, id: ServiceId) -> &Service {
        def!(&self.pool.services[id.index()], Service)
    }

    /// What a full name, without a dot in front, means.
    pub fn get(&self, full_name: &str) -> Option<Named> {
        self.pool.names.get(full_name).copied()
    }

    /// The file of that name.
    pub fn file_by_name(&self, name: &str) -> Option<FileId> {
        self.pool.file_names.get(name).copied()
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

    /// The field of that number, or the extension.
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
        &self.pool.order
    }

    /// All files as a serialized `google.protobuf.FileDescriptorSet`, imported ones first.
    pub fn descriptor_set(&self) -> Vec<u8> {
        descriptor::set_bytes(self.pool.order.iter().map(|&id| self.file(id).descriptor()))
    }

    /// A message that lives by itself.
    pub fn share_message(&self, id: MessageId) -> SharedDef {
        SharedDef(self.pool.messages[id.index()].clone())
    }

    /// An enum that lives by itself.
    pub fn share_enum(&self, id: EnumId) -> SharedDef {
        SharedDef(self.pool.enums[id.index()].clone())
    }

    /// A file that lives by itself: itself and what it imports, without what they declare.
    pub fn share_file(&self, id: FileId) -> SharedDef {
        SharedDef(self.pool.files[id.index()].clone())
    }

    /// A service that lives by itself.
    pub fn share_service(&self, id: ServiceId) -> SharedDef {
        SharedDef(self.pool.services[id.index()].clone())
    }

    /// How messages of this schema lie in memory.
    #[inline]
    pub fn layouts(&self) -> &Layouts {
        self.pool.layouts.get_or_init(|| Layouts::new(self))
    }

    /// How those of a [`Batch`](crate::message::Batch) do.
    #[inline]
    pub(crate) fn batch_layouts(&self) -> &Layouts {
        self.pool.batch_layouts.get_or_init(|| Layouts::with(self, Maps::Listed))
    }

    /// True if both are clones of one schema, so that ids of one mean the same in the other.
    pub fn is_same(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.pool, &other.pool)
    }

    /// A mark by which the schema is known again.
    pub(crate) fn mark(&self) -> SchemaMark {
        SchemaMark(Arc::downgrade(&self.pool))
    }

    /// What decoders of whole messages go by.
    #[inline]
    pub(crate) fn decoding(&self) -> &Tables {
        self.pool.decoding.get_or_init(|| Tables::new(self))
    }

    /// What the table encoder goes by.
    #[inline]
    pub(crate) fn encoding(&self) -> &Steps {
        self.pool.encoding.get_or_init(|| Steps::new(self))
    }

    /// What those go by that put sub-messages off.
    pub(crate) fn shallow(&self) -> &Tables {
        self.pool.shallow.get_or_init(|| Tables::shallow(self))
    }

    /// What JSON and text call things.
    pub(crate) fn json_names(&self) -> &JsonNames {
        self.pool.json_names.get_or_init(|| JsonNames::new(self))
    }

    #[inline]
    pub(crate) fn slot(&self, message: MessageId, number: u32) -> Option<Slot> {
        self.pool.tables.get_or_init(|| table::tables(self))[message.index()].find(number)
    }

    #[inline]
    pub(crate) fn wire_field(&self, id: FieldId) -> &WireField {
        &self.pool.wire[id.index()]
    }
}
