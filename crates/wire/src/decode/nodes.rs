//! The data of decoders for each field, compiled from a schema and a selection.
//!
//! ```text
//!  node 0  Person            entries ascending by number
//!          +-> tag 0x08  Int32    number        next: the one below
//!          +-> tag 0x12  Text     name
//!          +-> tag 0x1a  Message  phones  ----> node 1  Phone
//!          `-> tag 0x22  Skip     (not selected)
//! ```
//! A *node* is a message in the place where it stands: with the fields selected there, and, for a
//! group, with the tag that ends it. Without a selection there is one node for each message, and
//! one more for each number under which it is a group. Node and entry numbers index the arrays
//! here;
//! both decoders name their places by them.

use tidemill_stdx::hash::Map;
use tidemill_stdx::sort;

use super::select::Selection;
use crate::message::put_off::is_put_off;
use crate::schema::{
    Definitions, EnumId, Field, FieldId, FieldType, Label, MessageId, Scalar, WireType,
};

/// No entry, no node.
pub(crate) const NONE: u32 = u32::MAX;

/// The action on a field's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Action {
    Double,
    Float,
    Int64,
    Uint64,
    Int32,
    Fixed64,
    Fixed32,
    Bool,
    Uint32,
    Sfixed32,
    Sfixed64,
    Sint32,
    Sint64,
    /// An enum whose other numbers are unknown fields.
    ClosedEnum,
    /// A string that is not checked.
    RawString,
    /// A string that must be UTF-8.
    String,
    Bytes,
    Message,
    Group,
    /// Not selected.
    Skip,
}

impl Action {
    /// All of them by their numbers.
    #[cfg(feature = "native")]
    const ALL: [Action; 20] = [
        Action::Double,
        Action::Float,
        Action::Int64,
        Action::Uint64,
        Action::Int32,
        Action::Fixed64,
        Action::Fixed32,
        Action::Bool,
        Action::Uint32,
        Action::Sfixed32,
        Action::Sfixed64,
        Action::Sint32,
        Action::Sint64,
        Action::ClosedEnum,
        Action::RawString,
        Action::String,
        Action::Bytes,
        Action::Message,
        Action::Group,
        Action::Skip,
    ];

    #[cfg(feature = "native")]
    const NUMBERED: () = {
        let mut number = 0;
        while number < Action::ALL.len() {
            assert!(Action::ALL[number] as usize == number);
            number += 1;
        }
    };

    /// The action of this number, as in generated code.
    #[cfg(feature = "native")]
    pub(crate) fn from_number(number: u32) -> Action {
        let () = Action::NUMBERED;
        Action::ALL.get(number as usize).copied().unwrap_or(Action::Skip)
    }

    fn of(schema: &Definitions, field: &Field) -> Action {
        let scalar = match field.field_type() {
            FieldType::Message(_) => return Action::Message,
            FieldType::Group(_) => return Action::Group,
            FieldType::Enum(id) if schema.enum_def(id).is_closed() => return Action::ClosedEnum,
            FieldType::Enum(_) => return Action::Int32,
            FieldType::Scalar(scalar) => scalar,
        };
        match scalar {
            Scalar::Double => Action::Double,
            Scalar::Float => Action::Float,
            Scalar::Int64 => Action::Int64,
            Scalar::Uint64 => Action::Uint64,
            Scalar::Int32 => Action::Int32,
            Scalar::Fixed64 => Action::Fixed64,
            Scalar::Fixed32 => Action::Fixed32,
            Scalar::Bool => Action::Bool,
            Scalar::String if field.checks_utf8() => Action::String,
            Scalar::String => Action::RawString,
            Scalar::Bytes => Action::Bytes,
            Scalar::Uint32 => Action::Uint32,
            Scalar::Sfixed32 => Action::Sfixed32,
            Scalar::Sfixed64 => Action::Sfixed64,
            Scalar::Sint32 => Action::Sint32,
            Scalar::Sint64 => Action::Sint64,
        }
    }
}

/// One field in one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Number and wire type as the schema says.
    pub(crate) tag: u32,
    /// The tag of the other form of lists of numbers, packed or not; 0 for none.
    pub(crate) other: u32,
    pub(crate) field: FieldId,
    /// The node of its message, the id of its closed enum.
    pub(crate) sub: u32,
    /// The entry that probably comes next.
    pub(crate) next: u32,
    /// The node that it is in.
    pub(crate) owner: u32,
    pub(crate) action: Action,
    pub(crate) repeated: bool,
    /// Its place among the required fields that are checked, from 0.
    pub(crate) required: Option<u16>,
}

impl Entry {
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.tag >> 3
    }

    /// True if its value is a message, whose node is `sub`.
    #[cfg(feature = "native")]
    pub(crate) fn leads(&self) -> bool {
        matches!(self.action, Action::Message | Action::Group)
    }

    /// True for a field that is not selected.
    pub(crate) fn is_skipped(&self) -> bool {
        self.action == Action::Skip
    }

    /// The tag of one number, where both ways of writing are allowed or not.
    #[inline]
    pub(crate) fn single_tag(&self) -> u32 {
        let is_list = self.tag & 7 == WireType::Length as u32 && self.other != 0;
        if is_list { self.other } else { self.tag }
    }

    /// The tag of a packed list; 0 for fields that have none.
    #[inline]
    pub(crate) fn packed_tag(&self) -> u32 {
        if self.other == 0 { 0 } else { self.number() << 3 | WireType::Length as u32 }
    }
}

/// A message in one context.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) message: MessageId,
    /// Its entries: first and one past the last.
    pub(crate) entries: (u32, u32),
    /// Entries by number from 0, [`NONE`] where there is none.
    dense: Box<[u32]>,
    /// The tag that ends it, if it is a group; else 0, which no tag is.
    pub(crate) end_tag: u32,
    /// The number of required fields to check.
    pub(crate) required: u16,
    pub(crate) message_set: bool,
}

impl Node {
    /// The entry that a message of this type probably begins with; [`NONE`] if it has none, as that
    /// index belongs to the next node.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        if self.entries.0 < self.entries.1 { self.entries.0 } else { NONE }
    }

    /// The bits of its first 64 required fields.
    #[inline]
    pub(crate) fn required_mask(&self) -> u64 {
        match self.required {
            64.. => u64::MAX,
            count => (1 << count) - 1,
        }
    }
}

/// The nodes of some messages, with their entries; see the module.
#[derive(Debug)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    /// By message: its node as an outermost message.
    roots: Vec<u32>,
}

impl Nodes {
    /// Nodes for all messages with all of their fields.
    pub(super) fn all(schema: &Definitions, required: Required) -> Nodes {
        let mut builder = Builder::new(schema, required);
        schema.messages().for_each(|id| builder.root(id, &Selection::All));
        builder.finish()
    }

    /// Nodes for one outermost message with the fields that are selected.
    pub(super) fn of(schema: &Definitions, message: MessageId, selection: &Selection) -> Nodes {
        let mut builder = Builder::new(schema, Required::Ignored);
        builder.root(message, selection);
        builder.finish()
    }

    /// Nodes for all messages, each as an outermost one without the sub-messages that are put off.
    pub(super) fn shallow(schema: &Definitions) -> Nodes {
        let mut builder = Builder::new(schema, Required::Ignored);
        for message in schema.messages() {
            let mut fields = builder.fields_of(message);
            fields.retain(|&id| !is_put_off(schema, id));
            builder.root(message, &Selection::of_fields(fields));
        }
        builder.finish()
    }

    /// The node of an outermost message, if there is one.
    #[inline]
    pub(crate) fn root(&self, message: MessageId) -> Option<u32> {
        self.roots.get(message.index()).copied().filter(|&node| node != NONE)
    }

    #[inline]
    pub(crate) fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    #[inline]
    pub(crate) fn entry(&self, entry: u32) -> &Entry {
        &self.entries[entry as usize]
    }

    #[inline]
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    #[inline]
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Which entry of a node has that number, [`NONE`] for none.
    #[inline]
    pub(crate) fn find(&self, node: &Node, number: u32) -> u32 {
        if let Some(&entry) = node.dense.get(number as usize) {
            return entry;
        }
        let (first, end) = node.entries;
        let entries = &self.entries[first as usize..end as usize];
        match entries.binary_search_by_key(&number, Entry::number) {
            Ok(at) => first + at as u32,
            Err(_) => NONE,
        }
    }
}

/// Whether required fields are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Required {
    Ignored,
    Checked,
}

/// The key of a node: the message, its selection (numbered in order of appearance), and the group
/// that ends it.
type Key = (MessageId, u32, u32);

struct Builder<'s> {
    schema: &'s Definitions,
    required: Required,
    /// Extensions by message.
    extensions: Map<MessageId, Vec<FieldId>>,
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    roots: Vec<u32>,
    known: Map<Key, u32>,
    selections: u32,
    /// Nodes whose entries are not made yet.
    open: Vec<(u32, Selection)>,
}

impl<'s> Builder<'s> {
    fn new(schema: &'s Definitions, required: Required) -> Builder<'s> {
        let mut extensions: Map<MessageId, Vec<FieldId>> = Map::default();
        for id in schema.extensions() {
            extensions.entry(schema.field(id).message()).or_default().push(id);
        }
        let roots = vec![NONE; schema.messages().len()];
        let (nodes, entries, open) = (Vec::new(), Vec::new(), Vec::new());
        let known = Map::default();
        Builder { schema, required, extensions, nodes, entries, roots, known, selections: 0, open }
    }

    fn root(&mut self, message: MessageId, selection: &Selection) {
        self.roots[message.index()] = self.node(message, selection, 0);
        while let Some((node, selection)) = self.open.pop() {
            self.fill(node, &selection);
        }
    }

    fn node(&mut self, message: MessageId, selection: &Selection, end_tag: u32) -> u32 {
        let number = match selection {
            Selection::All => 0,
            // Each partial selection occurs in one place.
            Selection::Some(_) => {
                self.selections += 1;
                self.selections
            }
        };
        let next = self.nodes.len() as u32;
        let node = *self.known.entry((message, number, end_tag)).or_insert(next);
        if node == next {
            let message_set = self.schema.message(message).is_message_set();
            self.nodes.push(Node {
                message,
                entries: (0, 0),
                dense: Box::default(),
                end_tag,
                required: 0,
                message_set,
            });
            self.open.push((node, selection.clone()));
        }
        node
    }

    fn fill(&mut self, node: u32, selection: &Selection) {
        let message = self.nodes[node as usize].message;
        let fields = self.fields_of(message);
        let first = self.entries.len() as u32;
        let end = first + fields.len() as u32;
        let mut required = 0;
        for id in fields {
            let mut entry = self.entry(id, selection.of_field(id), node);
            let label = self.schema.field(id).label();
            if label == Label::Required && self.required == Required::Checked {
                entry.required = Some(required);
                required += 1;
            }
            let place = self.entries.len() as u32;
            let again = entry.repeated && entry.tag == entry.single_tag();
            entry.next = if again || place + 1 == end { place } else { place + 1 };
            self.entries.push(entry);
        }
        let dense = dense(&self.entries[first as usize..], first);
        let built = &mut self.nodes[node as usize];
        (built.entries, built.dense, built.required) = ((first, end), dense, required);
    }

    /// Fields and extensions of a message, ascending by number.
    fn fields_of(&self, message: MessageId) -> Vec<FieldId> {
        let mut fields = self.schema.message(message).fields().to_vec();
        fields.extend(self.extensions.get(&message).into_iter().flatten());
        sort::by_key(&mut fields, |&id| self.schema.field(id).number());
        fields
    }

    fn entry(&mut self, id: FieldId, selection: Option<&Selection>, owner: u32) -> Entry {
        let field = self.schema.field(id);
        let (ty, number) = (field.field_type(), field.number());
        let repeated = field.label() == Label::Repeated;
        let own = number << 3 | ty.wire_type() as u32;
        let list = number << 3 | WireType::Length as u32;
        let (tag, other) = match (repeated && ty.is_packable(), field.is_packed()) {
            (false, _) => (own, 0),
            (true, true) => (list, own),
            (true, false) => (own, list),
        };
        let action = match selection {
            Some(_) => Action::of(self.schema, field),
            None => Action::Skip,
        };
        let sub = match (ty, selection) {
            (FieldType::Message(message), Some(selection)) => self.node(message, selection, 0),
            (FieldType::Group(message), Some(selection)) => {
                self.node(message, selection, number << 3 | WireType::EndGroup as u32)
            }
            (FieldType::Enum(EnumId(id)), _) => id,
            _ => NONE,
        };
        let (next, required) = (NONE, None);
        Entry { tag, other, field: id, sub, next, owner, action, repeated, required }
    }

    fn finish(self) -> Nodes {
        let Builder { nodes, entries, roots, .. } = self;
        Nodes { nodes, entries, roots }
    }
}

/// Dense as long as about every fourth number or more is used.
fn dense(entries: &[Entry], first: u32) -> Box<[u32]> {
    let mut dense = Vec::new();
    for (count, entry) in entries.iter().enumerate() {
        let number = entry.number() as usize;
        if number > 4 * count + 16 {
            break;
        }
        dense.resize(number, NONE);
        dense.push(first + count as u32);
    }
    dense.into()
}
