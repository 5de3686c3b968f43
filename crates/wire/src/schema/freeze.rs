//! Turns drafts into schemas.

use std::sync::{Arc, OnceLock};

use tidemill_stdx::frozen::{self, NodeId};
use tidemill_stdx::hash::Map;
use tidemill_stdx::sort;

use super::default::default_value;
use super::definitions::{Definitions, Home, Named, SchemaMark, WireField};
use super::defs::DefaultValue;
use super::defs::{
    Def, Enum, EnumValue, ExtensionPart, ExtensionRange, Field, File, Message, MessageRare, Method,
    Oneof, Service,
};
use super::descriptor;
use super::draft::{
    Draft, EnumDraft, FieldDraft, FileDraft, MaybeOptions, MessageDraft, OneofDraft, RangeDraft,
    ServiceDraft,
};
use super::features::{Presence, RepeatedEncoding};
use super::raw;
use super::shared::Schema;
use super::{
    EnumId, FieldId, FieldType, FileId, Label, MessageId, NamedNumbers, Tag, WireType, json_name,
};

/// Turns a draft that was linked and checked without errors into a schema; `order` has imported
/// files before those that import them.
pub fn freeze(mut draft: Draft, order: &[FileId]) -> Schema {
    let mut text = Vec::new();
    let mut descriptors: Vec<Box<[u8]>> = Vec::with_capacity(draft.files.len());
    for id in draft.file_ids() {
        descriptors.push(draft.file_mut(id).descriptor.take().unwrap_or_else(|| {
            text.clear();
            descriptor::write_file(&mut text, &draft, id);
            text.as_slice().into()
        }));
    }
    let mut layout = Layout::new(&mut draft);
    let default = |&id: &FieldId| {
        let field = draft.field(id);
        Some((id, default_value(&draft, ty(field), field.default_text()?)?))
    };
    let defaults: Map<FieldId, DefaultValue> =
        layout.with_default.iter().filter_map(default).collect();
    let mut wire = std::mem::take(&mut layout.wire);
    let mut graph = Graph::new(&mut draft);
    let drafts = std::mem::take(&mut draft.fields);
    let mut fields = Fields { drafts, defaults, layout: &mut layout };
    fields.homes(&mut wire, &draft);
    for (file, descriptor) in std::mem::take(&mut draft.files).into_iter().zip(descriptors) {
        graph.file(file, descriptor);
    }
    for (index, message) in std::mem::take(&mut draft.messages).into_iter().enumerate() {
        graph.message(MessageId(index as u32), message, &mut fields);
    }
    for found in std::mem::take(&mut draft.enums) {
        graph.enum_(found);
    }
    for service in std::mem::take(&mut draft.services) {
        graph.service(service);
    }
    for id in std::mem::take(&mut fields.layout.extensions) {
        graph.extension(id, &mut fields);
    }
    let oneofs = layout.oneofs.into();
    graph.finish(wire.into(), oneofs, order)
}

/// The order of fields and oneofs within their messages.
struct Layout {
    /// By message: its fields ascending by number.
    fields: Vec<Vec<FieldId>>,
    /// By message: its oneofs that were not made for `optional`.
    oneofs_of: Vec<Vec<u32>>,
    oneofs: Vec<Option<(MessageId, u32)>>,
    extensions: Vec<FieldId>,
    with_default: Vec<FieldId>,
    /// By field.
    wire: Vec<WireField>,
    /// By oneof: its members ascending by number.
    members: Vec<Vec<FieldId>>,
}

impl Layout {
    /// Computes the layout; takes the lists of fields out of the messages.
    fn new(draft: &mut Draft) -> Layout {
        let fields: Vec<Vec<FieldId>> =
            draft.messages.iter_mut().map(|one| std::mem::take(&mut one.fields)).collect();
        Layout::of(draft, fields)
    }

    fn of(draft: &Draft, mut fields: Vec<Vec<FieldId>>) -> Layout {
        let number = |id: &FieldId| draft.field(*id).number;
        let oneof_of = |field: &FieldDraft| field.oneof.filter(|&one| !draft.oneof(one).synthetic);
        let (mut extensions, mut with_default) = (Vec::new(), Vec::new());
        let mut wire = Vec::with_capacity(draft.fields.len());
        let mut counts = vec![0; draft.oneofs.len()];
        // One pass over all fields, as there are many.
        for (id, field) in draft.field_ids().zip(&draft.fields) {
            wire.push(wire_field(field));
            if let Some(oneof) = oneof_of(field) {
                counts[oneof.index()] += 1;
            }
            if field.is_extension() {
                extensions.push(id);
            }
            if field.default_text().is_some() {
                with_default.push(id);
            }
        }
        let mut members: Vec<Vec<FieldId>> = counts.into_iter().map(Vec::with_capacity).collect();
        for fields in &mut fields {
            sort::by_key(fields, number);
            for &id in fields.iter() {
                if let Some(oneof) = oneof_of(draft.field(id)) {
                    members[oneof.index()].push(id);
                }
            }
        }
        let mut oneofs = vec![None; draft.oneofs.len()];
        let mut oneofs_of = vec![Vec::new(); draft.messages.len()];
        for (index, oneof) in draft.oneofs.iter().enumerate().filter(|(_, one)| !one.synthetic) {
            let inside: &mut Vec<u32> = &mut oneofs_of[oneof.message.index()];
            if inside.is_empty() {
                inside.reserve_exact(draft.message(oneof.message).oneofs.len());
            }
            oneofs[index] = Some((oneof.message, inside.len() as u32));
            inside.push(index as u32);
        }
        Layout { fields, oneofs_of, oneofs, extensions, with_default, wire, members }
    }
}

fn label(field: &FieldDraft) -> Label {
    let counts_absence = field.oneof.is_some()
        || field.is_extension()
        || field.ty.and_then(FieldType::message).is_some();
    match field.features.presence {
        _ if field.is_repeated() => Label::Repeated,
        Presence::Required => Label::Required,
        Presence::Explicit => Label::Optional,
        Presence::Implicit if counts_absence => Label::Optional,
        Presence::Implicit => Label::Implicit,
    }
}

fn is_packed(field: &FieldDraft) -> bool {
    field.is_repeated()
        && field.features.repeated_encoding == RepeatedEncoding::Packed
        && ty(field).is_packable()
}

/// The type of a field. Linked drafts have types; the fallback never occurs in a draft without
/// errors.
fn ty(field: &FieldDraft) -> FieldType {
    field.ty.unwrap_or(FieldType::Scalar(super::Scalar::Bytes))
}

/// The wire form of a field; its home is set later.
fn wire_field(field: &FieldDraft) -> WireField {
    let (ty, packed) = (ty(field), is_packed(field));
    let wire_type = if packed { WireType::Length } else { ty.wire_type() };
    let tag = Tag::new(field.number as u32, wire_type);
    WireField { ty, label: label(field), packed, tag, home: Home::Extension(0) }
}

/// Fields to be moved into messages.
struct Fields<'l> {
    drafts: Vec<FieldDraft>,
    defaults: Map<FieldId, DefaultValue>,
    layout: &'l mut Layout,
}

impl Fields<'_> {
    fn homes(&self, wire: &mut [WireField], draft: &Draft) {
        for (message, fields) in draft.message_ids().zip(&self.layout.fields) {
            for (index, id) in fields.iter().enumerate() {
                wire[id.index()].home = Home::Message(message, index as u32);
            }
        }
        for (index, id) in self.layout.extensions.iter().enumerate() {
            wire[id.index()].home = Home::Extension(index as u32);
        }
    }

    /// The definition of a field that is the `index`th of its message.
    fn take(&mut self, id: FieldId, index: u32) -> Field {
        // The rest is dropped with all drafts.
        let field = &mut self.drafts[id.index()];
        let (ty, label, packed) = (ty(field), label(field), is_packed(field));
        let default = field.default_text().and_then(|_| self.defaults.remove(&id));
        let json_name = match field.json_name_given() {
            Some(given) => (field.name != given).then(|| given.into()),
            None => field.name.contains('_').then(|| json_name(&field.name)),
        };
        Field {
            id,
            json_name,
            name: std::mem::take(&mut field.name),
            message: field.message.unwrap_or(MessageId(0)),
            number: field.number as u32,
            index,
            ty,
            label,
            oneof: field.oneof.filter(|oneof| self.layout.oneofs[oneof.index()].is_some()),
            packed,
            proto3_optional: field.proto3_optional,
            extension: None,
            edge: None,
            features: field.features,
            default: default.map(Box::new),
            options: options(field.options.take()),
        }
    }
}

/// The graph of definitions under construction.
struct Graph {
    builder: frozen::Builder<Def>,
    /// Nodes so far.
    count: u32,
    /// The first nodes of messages, enums and services.
    messages: u32,
    enums: u32,
    services: u32,
    names: Map<Arc<str>, Named>,
    file_names: Map<Arc<str>, FileId>,
    packages: Vec<Box<str>>,
    message_names: Vec<Arc<str>>,
    oneofs: Vec<OneofDraft>,
    edges: Vec<(u32, u32)>,
}

impl Graph {
    /// Nodes are in the order files, messages, enums, services, extensions, so that edges are known
    /// before their targets exist.
    fn new(draft: &mut Draft) -> Graph {
        let files = draft.files.len() as u32;
        let enums = files + draft.messages.len() as u32;
        let packages =
            draft.files.iter().map(|file| file.package.clone().unwrap_or_default().into());
        let mut names = Map::default();
        names.reserve(draft.messages.len() + draft.enums.len());
        let nodes = enums as usize + draft.enums.len() + draft.services.len();
        let edges = nodes + draft.fields.len();
        Graph {
            builder: frozen::Builder::with_capacity(nodes, edges),
            count: 0,
            messages: files,
            enums,
            services: enums + draft.enums.len() as u32,
            names,
            file_names: Map::default(),
            packages: packages.collect(),
            message_names: draft.messages.iter().map(|one| one.full_name.clone()).collect(),
            oneofs: std::mem::take(&mut draft.oneofs),
            edges: Vec::with_capacity(edges),
        }
    }

    fn message_node(&self, id: MessageId) -> u32 {
        self.messages + id.0
    }

    fn type_node(&self, ty: FieldType) -> Option<u32> {
        match ty {
            FieldType::Scalar(_) => None,
            FieldType::Message(id) | FieldType::Group(id) => Some(self.message_node(id)),
            FieldType::Enum(id) => Some(self.enums + id.0),
        }
    }

    /// Adds the next node, whose edges are already added.
    fn node(&mut self, def: Def) {
        self.builder.node(def);
        self.count += 1;
    }

    /// Adds an edge from the next node.
    fn edge(&mut self, to: u32) {
        self.edges.push((self.count, to));
    }

    fn file(&mut self, file: FileDraft, descriptor: Box<[u8]>) {
        let name: Arc<str> = file.name.into();
        let id = FileId(self.file_names.len() as u32);
        self.file_names.insert(name.clone(), id);
        let imports: Box<[_]> =
            file.dependencies.iter().filter_map(|one| Some((one.file?, one.kind))).collect();
        imports.iter().for_each(|&(file, _)| self.edge(file.0));
        let def = File {
            name,
            package: self.packages[id.index()].clone(),
            edition: file.edition,
            features: file.features,
            imports,
            messages: file.messages.into(),
            enums: file.enums.into(),
            services: file.services.into(),
            extensions: file.extensions.into(),
            options: options(file.options),
            descriptor,
        };
        self.node(Def::File(def));
    }

    fn message(&mut self, id: MessageId, mut message: MessageDraft, fields: &mut Fields<'_>) {
        let first = self.edges.len();
        self.edge(message.file.0);
        if let Some(parent) = message.parent {
            self.edge(self.message_node(parent));
        }
        let ids = std::mem::take(&mut fields.layout.fields[id.index()]);
        let take = |(index, &field): (usize, &FieldId)| {
            let mut def = fields.take(field, index as u32);
            def.edge = self.type_node(def.ty).map(|node| {
                self.edge(node);
                (self.edges.len() - first) as u32 - 1
            });
            def
        };
        let defs: Box<[Field]> = ids.iter().enumerate().map(take).collect();
        let oneof_indexes = std::mem::take(&mut fields.layout.oneofs_of[id.index()]);
        let oneof = |&index: &u32| Oneof {
            name: std::mem::take(&mut self.oneofs[index as usize].name),
            fields: std::mem::take(&mut fields.layout.members[index as usize]).into(),
            options: options(self.oneofs[index as usize].options.take()),
        };
        let bytes = options(message.options.take());
        let def = Message {
            name_start: name_start(&message.full_name, &message.name),
            full_name: message.full_name.clone(),
            file: message.file,
            parent: message.parent,
            by_name: OnceLock::new(),
            by_json_name: OnceLock::new(),
            fields: defs,
            ids: ids.into(),
            oneofs: oneof_indexes.iter().map(oneof).collect(),
            oneof_ids: oneof_indexes.iter().map(|&index| super::OneofId(index)).collect(),
            rare: rare(&mut message),
            messages: message.messages.into(),
            enums: message.enums.into(),
            extensions: message.extensions.into(),
            visibility: message.visibility,
            map_entry: message.map_entry,
            message_set: raw::last_varint(&bytes, 1) == Some(1),
            features: message.features,
            options: bytes,
        };
        self.names.insert(message.full_name, Named::Message(id));
        self.node(Def::Message(def));
    }

    fn enum_(&mut self, found: EnumDraft) {
        self.edge(found.file.0);
        if let Some(parent) = found.parent {
            self.edge(self.message_node(parent));
        }
        let value = |value: super::draft::EnumValueDraft| EnumValue {
            name: value.name,
            number: value.number,
            options: options(value.options),
        };
        let values: Box<[EnumValue]> = found.values.into_iter().map(value).collect();
        let mut by_number: Vec<u32> = (0..values.len() as u32).collect();
        sort::by_key(&mut by_number, |&at| (values[at as usize].number, at));
        by_number.dedup_by_key(|at| values[*at as usize].number);
        let numbers: Vec<i32> = by_number.iter().map(|&at| values[at as usize].number).collect();
        let id = EnumId(self.count - self.enums);
        let def = Enum {
            named: NamedNumbers::new(&numbers),
            name_start: name_start(&found.full_name, &found.name),
            full_name: found.full_name.clone(),
            file: found.file,
            parent: found.parent,
            by_number: by_number.into(),
            by_name: sorted(values.len(), |a, b| values[a].name.cmp(&values[b].name)),
            values,
            visibility: found.visibility,
            features: found.features,
            options: options(found.options),
        };
        self.names.insert(found.full_name, Named::Enum(id));
        self.node(Def::Enum(def));
    }

    fn service(&mut self, service: ServiceDraft) {
        self.edge(service.file.0);
        let method = |method: super::draft::MethodDraft| {
            let (input, output) = (method.input?, method.output?);
            self.edge(self.message_node(input));
            self.edge(self.message_node(output));
            Some(Method {
                name: method.name,
                input,
                output,
                client_streaming: method.client_streaming,
                server_streaming: method.server_streaming,
                options: options(method.options),
            })
        };
        let methods = service.methods.into_iter().filter_map(method).collect();
        let id = super::ServiceId(self.count - self.services);
        let def = Service {
            name_start: name_start(&service.full_name, &service.name),
            full_name: service.full_name.clone(),
            file: service.file,
            methods,
            options: options(service.options),
        };
        self.names.insert(service.full_name, Named::Service(id));
        self.node(Def::Service(def));
    }

    fn extension(&mut self, id: FieldId, fields: &mut Fields<'_>) {
        let field = &fields.drafts[id.index()];
        let extendee = field.message.unwrap_or(MessageId(0));
        self.edge(field.file.0);
        self.edge(self.message_node(extendee));
        let around: &str = match field.scope {
            Some(message) => &self.message_names[message.index()],
            None => &self.packages[field.file.index()],
        };
        let full_name: Arc<str> = match around {
            "" => field.name.as_str().into(),
            around => format!("{around}.{}", field.name).into(),
        };
        self.names.insert(full_name.clone(), Named::Extension(id));
        let part = ExtensionPart { full_name, file: field.file, scope: field.scope };
        let mut def = fields.take(id, 0);
        def.extension = Some(Box::new(part));
        def.edge = self.type_node(def.ty).map(|node| {
            self.edge(node);
            2
        });
        self.node(Def::Extension(def));
    }

    fn finish(
        mut self,
        wire: Box<[WireField]>,
        oneofs: Box<[Option<(MessageId, u32)>]>,
        order: &[FileId],
    ) -> Schema {
        for (from, to) in self.edges {
            self.builder.edge(NodeId::new(from), NodeId::new(to));
        }
        let mut nodes = self.builder.freeze();
        let extensions = self.services as usize
            + self.names.values().filter(|one| matches!(one, Named::Service(_))).count();
        let extensions = nodes.split_off(extensions).into();
        let services = nodes.split_off(self.services as usize).into();
        let enums = nodes.split_off(self.enums as usize).into();
        let messages = nodes.split_off(self.messages as usize).into();
        Schema::new(Definitions {
            files: nodes.into(),
            messages,
            enums,
            services,
            extensions,
            wire,
            tables: OnceLock::new(),
            oneofs,
            names: self.names,
            file_names: self.file_names,
            order: order.into(),
            mark: SchemaMark::new(),
        })
    }
}

fn options(options: MaybeOptions) -> Box<[u8]> {
    options.map_or_else(Box::default, |options| options.bytes.into())
}

fn name_start(full_name: &str, name: &str) -> u32 {
    (full_name.len() - name.len()) as u32
}

fn sorted(count: usize, compare: impl Fn(usize, usize) -> std::cmp::Ordering) -> Box<[u32]> {
    let mut indexes: Box<[u32]> = (0..count as u32).collect();
    indexes.sort_unstable_by(|&a, &b| compare(a as usize, b as usize));
    indexes
}

fn rare(message: &mut MessageDraft) -> Option<Box<MessageRare>> {
    let MessageDraft { extension_ranges, reserved_ranges, reserved_names, .. } = message;
    if extension_ranges.is_empty() && reserved_ranges.is_empty() && reserved_names.is_empty() {
        return None;
    }
    let numbers = |range: &RangeDraft| range.start as u32..range.end as u32;
    let extension_range = |one: &mut super::draft::ExtensionRangeDraft| ExtensionRange {
        numbers: numbers(&one.range),
        options: options(one.options.take()),
    };
    Some(Box::new(MessageRare {
        extension_ranges: extension_ranges.iter_mut().map(extension_range).collect(),
        reserved_ranges: reserved_ranges.iter().map(numbers).collect(),
        reserved_names: reserved_names.iter().map(|(name, _)| name.as_str().into()).collect(),
    }))
}
