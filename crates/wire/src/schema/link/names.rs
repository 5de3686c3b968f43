//! All names in their scopes.
//!
//! A scope is a package, a message, an enum or a service. The declarations of a scope share one
//! name space; the values of an enum belong to the scope that encloses it, as in C++.

use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use tidemill_stdx::hash::{combine, hash_bytes};

use super::imports::{Imports, InOptions};
use crate::schema::draft::Draft;
use crate::schema::problem::{ElementId, Part, Problem};
use crate::schema::{EnumId, FieldId, FileId, MessageId, OneofId, ServiceId};

/// A scope of names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// A package; 0 is the one without a name.
    Package(u32),
    /// A message.
    Message(MessageId),
    /// A service.
    Service(ServiceId),
}

/// A named element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entity {
    /// A package, with its number.
    Package(u32),
    /// A message.
    Message(MessageId),
    /// An enum.
    Enum(EnumId),
    /// A value of an enum and its index there.
    EnumValue(EnumId, u32),
    /// A field or an extension.
    Field(FieldId),
    /// A oneof.
    Oneof(OneofId),
    /// A service.
    Service(ServiceId),
    /// A method of a service and its index there.
    Method(ServiceId, u32),
}

/// A package: its name, its parent, the files that declare it.
#[derive(Debug)]
struct Package {
    name: Arc<str>,
    hash: u64,
    parent: Option<u32>,
    files: Vec<FileId>,
}

/// The table of names; see the module.
#[derive(Debug)]
pub struct Names {
    /// The entities with parts of their hashes. The names themselves stay in the draft.
    entities: HashTable<(u32, Entity)>,
    scopes: Scopes,
    /// True if no name is declared twice.
    distinct: bool,
}

/// The scopes.
#[derive(Debug)]
struct Scopes {
    packages: Vec<Package>,
    /// By file.
    package_of: Vec<u32>,
    /// By message and by service: their own hashes, from which those of the names in them follow.
    messages: Vec<u64>,
    services: Vec<u64>,
}

/// The part of a hash that is kept.
fn kept(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The hash of a table from the kept part: the lower bits select the bucket, the upper ones are the
/// tag.
fn spread(kept: u32) -> u64 {
    u64::from(kept) << 32 | u64::from(kept)
}

/// The hash of a name in the scope with the hash `around`; so a path is hashed part by part.
fn hash(around: u64, name: &str) -> u64 {
    combine(around, hash_bytes(name.as_bytes()))
}

/// The first part of a path and what is behind its dot.
fn split(path: &str) -> (&str, Option<&str>) {
    // Most parts are too short for a search by words.
    match path.bytes().position(|byte| byte == b'.') {
        Some(dot) => (&path[..dot], Some(&path[dot + 1..])),
        None => (path, None),
    }
}

impl Scopes {
    fn hash(&self, scope: Scope, name: &str) -> u64 {
        let around = match scope {
            Scope::Package(id) => self.packages[id as usize].hash,
            Scope::Message(id) => self.messages[id.index()],
            Scope::Service(id) => self.services[id.index()],
        };
        hash(around, name)
    }

    /// The scope of elements declared in a message, or at the top of a file.
    fn around(&self, file: FileId, message: Option<MessageId>) -> Scope {
        message.map_or(Scope::Package(self.package_of[file.index()]), Scope::Message)
    }

    /// True if the scope declares the entity under that name.
    fn has(&self, draft: &Draft, scope: Scope, name: &str, entity: Entity) -> bool {
        let around = |file, message| self.around(file, message);
        let (its_scope, its_name): (Scope, &str) = match entity {
            Entity::Package(id) => {
                let package = &self.packages[id as usize];
                let around = package.parent.map_or(0, |one| self.packages[one as usize].name.len());
                let start = if around == 0 { 0 } else { around + 1 };
                (Scope::Package(package.parent.unwrap_or(0)), &package.name[start..])
            }
            Entity::Message(id) => {
                let message = draft.message(id);
                (around(message.file, message.parent), &message.name)
            }
            Entity::Enum(id) => {
                let found = draft.enum_(id);
                (around(found.file, found.parent), &found.name)
            }
            Entity::EnumValue(id, index) => {
                let found = draft.enum_(id);
                (around(found.file, found.parent), &found.values[index as usize].name)
            }
            Entity::Field(id) => {
                let field = draft.field(id);
                (around(field.file, field.scope), &field.name)
            }
            Entity::Oneof(id) => {
                let oneof = draft.oneof(id);
                (Scope::Message(oneof.message), &oneof.name)
            }
            Entity::Service(id) => {
                let service = draft.service(id);
                (around(service.file, None), &service.name)
            }
            Entity::Method(id, index) => {
                let method = &draft.service(id).methods[index as usize];
                (Scope::Service(id), &method.name)
            }
        };
        its_scope == scope && its_name == name
    }
}

impl Names {
    /// Enters all names, sets the full names, and reports duplicates.
    pub fn declare(draft: &mut Draft, problems: &mut Vec<Problem>) -> Names {
        let root = Package { name: "".into(), hash: 0, parent: None, files: Vec::new() };
        let before = problems.len();
        let values: usize = draft.enums.iter().map(|one| 1 + one.values.len()).sum();
        let count = draft.fields.len() + draft.oneofs.len() + draft.messages.len() + values;
        let mut names = Names {
            entities: HashTable::with_capacity(count + draft.files.len()),
            scopes: Scopes {
                packages: vec![root],
                package_of: Vec::new(),
                messages: Vec::with_capacity(draft.messages.len()),
                services: Vec::new(),
            },
            distinct: false,
        };
        for file in draft.file_ids() {
            names.declare_package(draft, file, problems);
        }
        names.full_names(draft);
        names.declare_all(draft, problems);
        names.distinct = problems.len() == before;
        names
    }

    fn declare_package(&mut self, draft: &Draft, id: FileId, problems: &mut Vec<Problem>) {
        let file = draft.file(id);
        let mut package = 0;
        self.scopes.packages[0].files.push(id);
        for part in file.package.iter().flat_map(|name| name.split('.')) {
            let scope = Scope::Package(package);
            package = match self.get(draft, scope, part) {
                Some(Entity::Package(inner)) => inner,
                Some(other) => {
                    self.report_duplicate(
                        draft,
                        part,
                        (id, file.place, Part::Type),
                        other,
                        problems,
                    );
                    break;
                }
                None => {
                    let name = join(&self.scopes.packages[package as usize].name, part);
                    let inner = self.scopes.packages.len() as u32;
                    let (hash, files) = (self.scopes.hash(scope, part), Vec::new());
                    let parent = Some(package);
                    self.scopes.packages.push(Package { name, hash, parent, files });
                    let entry = (kept(hash), Entity::Package(inner));
                    self.entities.insert_unique(spread(entry.0), entry, |one| spread(one.0));
                    inner
                }
            };
            self.scopes.packages[package as usize].files.push(id);
        }
        self.scopes.package_of.push(package);
    }

    /// Outer messages come before inner ones in a draft.
    fn full_names(&self, draft: &mut Draft) {
        let mut text = String::new();
        let mut join = |around: &str, name: &str| join_in(&mut text, around, name);
        for id in draft.message_ids() {
            let message = draft.message(id);
            let around = match message.parent {
                Some(parent) => &draft.message(parent).full_name,
                None => self.package_name(message.file),
            };
            draft.message_mut(id).full_name = join(around, &message.name);
        }
        for id in draft.enum_ids() {
            let found = draft.enum_(id);
            let around = match found.parent {
                Some(parent) => &draft.message(parent).full_name,
                None => self.package_name(found.file),
            };
            draft.enum_mut(id).full_name = join(around, &found.name);
        }
        for id in draft.service_ids() {
            let service = draft.service(id);
            let full_name = join(self.package_name(service.file), &service.name);
            draft.service_mut(id).full_name = full_name;
        }
    }

    fn declare_all(&mut self, draft: &Draft, problems: &mut Vec<Problem>) {
        for id in draft.message_ids() {
            let message = draft.message(id);
            let scope = self.scope_around(message.file, message.parent);
            let at = (message.file, message.place, Part::Name);
            self.scopes.messages.push(self.scopes.hash(scope, &message.name));
            self.enter(draft, scope, &message.name, Entity::Message(id), at, problems);
        }
        for id in draft.enum_ids() {
            let found = draft.enum_(id);
            let scope = self.scope_around(found.file, found.parent);
            let at = (found.file, found.place, Part::Name);
            self.enter(draft, scope, &found.name, Entity::Enum(id), at, problems);
        }
        for id in draft.field_ids() {
            let field = draft.field(id);
            let scope = self.scope_around(field.file, field.scope);
            let at = (field.file, field.place, Part::Name);
            self.enter(draft, scope, &field.name, Entity::Field(id), at, problems);
        }
        for (index, oneof) in draft.oneofs.iter().enumerate() {
            let (id, scope) = (OneofId(index as u32), Scope::Message(oneof.message));
            let at = (draft.message(oneof.message).file, oneof.place, Part::Name);
            self.enter(draft, scope, &oneof.name, Entity::Oneof(id), at, problems);
        }
        for id in draft.enum_ids() {
            let found = draft.enum_(id);
            let scope = self.scope_around(found.file, found.parent);
            for (index, value) in found.values.iter().enumerate() {
                let at = (found.file, value.place, Part::Name);
                let entity = Entity::EnumValue(id, index as u32);
                self.enter(draft, scope, &value.name, entity, at, problems);
            }
        }
        for id in draft.service_ids() {
            let service = draft.service(id);
            let scope = self.scope_around(service.file, None);
            let at = (service.file, service.place, Part::Name);
            self.scopes.services.push(self.scopes.hash(scope, &service.name));
            self.enter(draft, scope, &service.name, Entity::Service(id), at, problems);
            for (index, method) in service.methods.iter().enumerate() {
                let at = (service.file, method.place, Part::Name);
                let entity = Entity::Method(id, index as u32);
                self.enter(draft, Scope::Service(id), &method.name, entity, at, problems);
            }
        }
    }

    fn enter(
        &mut self,
        draft: &Draft,
        scope: Scope,
        name: &str,
        entity: Entity,
        at: (FileId, ElementId, Part),
        problems: &mut Vec<Problem>,
    ) {
        let hash = kept(self.scopes.hash(scope, name));
        let is = |&(other, entity): &(u32, Entity)| {
            other == hash && self.scopes.has(draft, scope, name, entity)
        };
        match self.entities.entry(spread(hash), is, |&(hash, _)| spread(hash)) {
            Entry::Vacant(place) => {
                place.insert((hash, entity));
            }
            Entry::Occupied(place) => {
                let (_, other) = *place.get();
                self.report_duplicate(draft, name, at, other, problems);
            }
        }
    }

    fn report_duplicate(
        &self,
        draft: &Draft,
        name: &str,
        at: (FileId, ElementId, Part),
        other: Entity,
        problems: &mut Vec<Problem>,
    ) {
        let message = format!("the name `{name}` is taken by {}", self.describe(draft, other));
        let mut problem = Problem::error("duplicate-name", at, message);
        if let Some((file, place)) = place_of(draft, other) {
            problem = problem.label((file, place, Part::Name), "it is declared here");
        }
        if let Entity::EnumValue(id, _) = other {
            let found = &draft.enum_(id).name;
            problem = problem.help(format!(
                "the values of an enum are names of the scope around it: one like \
                 `{}_{name}` says whose it is",
                found.to_ascii_uppercase()
            ));
        }
        problems.push(problem);
    }

    fn describe(&self, draft: &Draft, entity: Entity) -> String {
        match entity {
            Entity::Package(id) => format!("package `{}`", self.scopes.packages[id as usize].name),
            Entity::Message(id) => format!("message `{}`", draft.message(id).full_name),
            Entity::Enum(id) => format!("enum `{}`", draft.enum_(id).full_name),
            Entity::EnumValue(id, _) => format!("a value of enum `{}`", draft.enum_(id).full_name),
            Entity::Field(id) if draft.field(id).is_extension() => "an extension".into(),
            Entity::Field(_) => "a field".into(),
            Entity::Oneof(_) => "a oneof".into(),
            Entity::Service(id) => format!("service `{}`", draft.service(id).full_name),
            Entity::Method(..) => "a method".into(),
        }
    }

    fn scope_around(&self, file: FileId, message: Option<MessageId>) -> Scope {
        self.scopes.around(file, message)
    }

    /// The package of a file.
    pub fn package_scope(&self, file: FileId) -> Scope {
        Scope::Package(self.scopes.package_of[file.index()])
    }

    fn package_name(&self, file: FileId) -> &Arc<str> {
        &self.scopes.packages[self.scopes.package_of[file.index()] as usize].name
    }

    /// The enclosing scope.
    pub fn parent(&self, draft: &Draft, scope: Scope) -> Option<Scope> {
        match scope {
            Scope::Package(id) => self.scopes.packages[id as usize].parent.map(Scope::Package),
            Scope::Message(id) => {
                let message = draft.message(id);
                Some(self.scope_around(message.file, message.parent))
            }
            Scope::Service(id) => Some(self.package_scope(draft.service(id).file)),
        }
    }

    /// The entity that a scope declares under a name.
    pub fn get(&self, draft: &Draft, scope: Scope, name: &str) -> Option<Entity> {
        let hash = kept(self.scopes.hash(scope, name));
        let is = |&(other, entity): &(u32, Entity)| {
            other == hash && self.scopes.has(draft, scope, name, entity)
        };
        self.entities.find(spread(hash), is).map(|&(_, entity)| entity)
    }

    /// The entity of a dotted path, starting in a scope.
    pub fn get_path(&self, draft: &Draft, scope: Scope, path: &str) -> Option<Entity> {
        if scope == Scope::Package(0)
            && let Some(found) = self.get_type(draft, path)
        {
            return Some(found);
        }
        let (mut scope, mut rest) = (scope, path);
        loop {
            let (first, inner) = split(rest);
            let entity = self.get(draft, scope, first)?;
            rest = match inner {
                None => return Some(entity),
                Some(inner) => inner,
            };
            scope = entity.scope()?;
        }
    }

    /// Finds a message or enum by its full name, without a lookup of the scopes on the way. Most
    /// absolute paths are such names.
    fn get_type(&self, draft: &Draft, full_name: &str) -> Option<Entity> {
        let (mut hashed, mut rest) = (self.scopes.packages[0].hash, Some(full_name));
        while let Some(path) = rest {
            let (first, inner) = split(path);
            (hashed, rest) = (hash(hashed, first), inner);
        }
        let hash = kept(hashed);
        let is = |&(other, entity): &(u32, Entity)| {
            other == hash
                && match entity {
                    Entity::Message(id) => &*draft.message(id).full_name == full_name,
                    Entity::Enum(id) => &*draft.enum_(id).full_name == full_name,
                    _ => false,
                }
        };
        let found = self.entities.find(spread(hash), is).filter(|_| self.distinct);
        found.map(|&(_, entity)| entity)
    }

    /// True if `from` sees the entity; of packages it is enough to see one file of it.
    pub fn is_visible(
        &self,
        draft: &Draft,
        imports: &Imports,
        from: FileId,
        entity: Entity,
        in_options: InOptions,
    ) -> bool {
        match entity {
            Entity::Package(id) => {
                let files = &self.scopes.packages[id as usize].files;
                files.iter().any(|&file| imports.sees(from, file, in_options))
            }
            _ => entity.file(draft).is_some_and(|file| imports.sees(from, file, in_options)),
        }
    }

    /// The full name of an entity.
    pub fn full_name(&self, draft: &Draft, entity: Entity) -> String {
        match entity {
            Entity::Package(id) => self.scopes.packages[id as usize].name.to_string(),
            Entity::Message(id) => draft.message(id).full_name.to_string(),
            Entity::Enum(id) => draft.enum_(id).full_name.to_string(),
            Entity::Service(id) => draft.service(id).full_name.to_string(),
            Entity::Field(id) => {
                let field = draft.field(id);
                let around = match field.scope {
                    Some(message) => &draft.message(message).full_name,
                    None => self.package_name(field.file),
                };
                join(around, &field.name).to_string()
            }
            Entity::EnumValue(..) | Entity::Oneof(_) | Entity::Method(..) => String::new(),
        }
    }

    /// The scope of an entity that names can go through.
    pub fn scope_of(entity: Entity) -> Option<Scope> {
        entity.scope()
    }
}

impl Entity {
    /// The scope of an entity that is one.
    pub fn scope(self) -> Option<Scope> {
        match self {
            Entity::Package(id) => Some(Scope::Package(id)),
            Entity::Message(id) => Some(Scope::Message(id)),
            Entity::Service(id) => Some(Scope::Service(id)),
            _ => None,
        }
    }

    /// True for entities that a path can pass through; also for enums, which no path resolves in.
    pub fn is_aggregate(self) -> bool {
        matches!(self, Entity::Enum(_)) || self.scope().is_some()
    }

    /// True for messages and enums.
    pub fn is_type(self) -> bool {
        matches!(self, Entity::Message(_) | Entity::Enum(_))
    }

    /// The file that declares it; packages have many.
    pub fn file(self, draft: &Draft) -> Option<FileId> {
        place_of(draft, self).map(|(file, _)| file)
    }
}

fn place_of(draft: &Draft, entity: Entity) -> Option<(FileId, ElementId)> {
    Some(match entity {
        Entity::Package(_) => return None,
        Entity::Message(id) => (draft.message(id).file, draft.message(id).place),
        Entity::Enum(id) => (draft.enum_(id).file, draft.enum_(id).place),
        Entity::EnumValue(id, index) => {
            let found = draft.enum_(id);
            (found.file, found.values[index as usize].place)
        }
        Entity::Field(id) => (draft.field(id).file, draft.field(id).place),
        Entity::Oneof(id) => {
            let oneof = draft.oneof(id);
            (draft.message(oneof.message).file, oneof.place)
        }
        Entity::Service(id) => (draft.service(id).file, draft.service(id).place),
        Entity::Method(id, index) => {
            let service = draft.service(id);
            (service.file, service.methods[index as usize].place)
        }
    })
}

fn join(around: &str, name: &str) -> Arc<str> {
    join_in(&mut String::new(), around, name)
}

/// As `join`, with a reused buffer.
fn join_in(text: &mut String, around: &str, name: &str) -> Arc<str> {
    text.clear();
    if !around.is_empty() {
        text.push_str(around);
        text.push('.');
    }
    text.push_str(name);
    text.as_str().into()
}
