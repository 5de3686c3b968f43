//! Names of types, by the scoping rules.
//!
//! A name with a leading dot is absolute. For others the *first part* is looked up in the scope of
//! the element, then in the enclosing scopes; where it is found, the rest must be inside. So an
//! inner `a` hides an outer `a.B`. The lookup of a name of one part skips entities that are no
//! types.

use super::imports::{Imports, InOptions};
use super::names::{Entity, Names, Scope};
use crate::schema::draft::{Draft, Visibility};
use crate::schema::features::SymbolVisibility;
use crate::schema::problem::{ElementId, Part, Problem};
use crate::schema::{FieldId, FieldType, FileId, MessageId, Name};

/// The entities that a lookup accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// A message or an enum.
    Type,
    /// Any entity; the caller checks it.
    Any,
}

/// The reason why a name was not found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotFound {
    /// It is not declared.
    Unknown,
    /// The first part was found in an inner scope, which lacks the rest.
    Hidden(String),
    /// A file has it that is not imported.
    NotImported(FileId),
}

/// The lookup of names from one file.
#[derive(Debug)]
pub struct Lookup<'a> {
    /// All definitions.
    pub draft: &'a Draft,
    /// All names.
    pub names: &'a Names,
    /// The visibility between files.
    pub imports: &'a Imports,
    /// The file that uses the name.
    pub file: FileId,
    /// Whether it is the name of an option.
    pub in_options: InOptions,
}

impl Lookup<'_> {
    /// The entity of `name` in `scope`.
    pub fn find(&self, scope: Scope, name: &str, wanted: Wanted) -> Result<Entity, NotFound> {
        let mut not_imported = None;
        if let Some(whole) = name.strip_prefix('.') {
            let found = self.visible(Scope::Package(0), whole, &mut not_imported);
            return found.ok_or(not_found(not_imported));
        }
        let (first, rest) = match name.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (name, None),
        };
        let mut next = Some(scope);
        while let Some(scope) = next {
            next = self.names.parent(self.draft, scope);
            let Some(entity) = self.visible(scope, first, &mut not_imported) else { continue };
            match rest {
                None if wanted == Wanted::Type && !entity.is_type() && next.is_some() => {}
                None => return Ok(entity),
                Some(_) if !entity.is_aggregate() => {}
                Some(rest) => {
                    let inner = entity
                        .scope()
                        .and_then(|inner| self.visible(inner, rest, &mut not_imported));
                    return inner.ok_or_else(|| match not_imported {
                        Some(file) => NotFound::NotImported(file),
                        None => {
                            let found = self.names.full_name(self.draft, entity);
                            NotFound::Hidden(format!("{found}.{rest}"))
                        }
                    });
                }
            }
        }
        Err(not_found(not_imported))
    }

    fn visible(
        &self,
        scope: Scope,
        path: &str,
        not_imported: &mut Option<FileId>,
    ) -> Option<Entity> {
        let entity = self.names.get_path(self.draft, scope, path)?;
        if self.names.is_visible(self.draft, self.imports, self.file, entity, self.in_options) {
            return Some(entity);
        }
        *not_imported = entity.file(self.draft).or(*not_imported);
        None
    }

    /// The problem to report for a name that was not found.
    pub fn problem(
        &self,
        name: &str,
        what: &str,
        not_found: NotFound,
        (place, part): (ElementId, Part),
    ) -> Problem {
        let at = (self.file, place, part);
        match not_found {
            NotFound::Unknown => {
                let message = format!("there is no {what} `{name}`");
                Problem::error("unknown-name", at, message).about(name)
            }
            NotFound::Hidden(found) => {
                let message = format!("`{name}` means `{found}` here, which is not there");
                let help = format!(
                    "an inner scope hides the outer one; write `.{name}` to begin at the outermost"
                );
                Problem::error("hidden-name", at, message).help(help)
            }
            NotFound::NotImported(file) => {
                let file = &self.draft.file(file).name;
                let message = format!("`{name}` is declared in `{file}`, which is not imported");
                let help = format!("import \"{file}\";");
                Problem::error("not-imported", at, message).help(help)
            }
        }
    }
}

fn not_found(not_imported: Option<FileId>) -> NotFound {
    not_imported.map_or(NotFound::Unknown, NotFound::NotImported)
}

/// The resolved parts of a field.
struct Resolved {
    ty: FieldType,
    type_number: u8,
}

/// Resolves the types of fields and methods, and the extendees of extensions.
pub fn link_types(
    draft: &mut Draft,
    imports: &mut Imports,
    names: &Names,
    problems: &mut Vec<Problem>,
) {
    for id in draft.field_ids() {
        let field = draft.field(id);
        let extendee = field.is_extension().then(|| find_extendee(draft, imports, names, id));
        let ty = find_type(draft, imports, names, id);
        match extendee {
            None => {
                let field = draft.field_mut(id);
                field.message = field.scope;
            }
            Some(extendee) => match extendee {
                Ok(message) => {
                    let extended = &draft.messages[message.index()];
                    let field = &mut draft.fields[id.index()];
                    imports.note_use(field.file, extended.file);
                    field.message = Some(message);
                    field.rare_mut().extendee = dotted(&extended.full_name);
                }
                Err(problem) => problems.push(*problem),
            },
        }
        match ty {
            Ok(resolved) => {
                let Draft { fields, messages, enums, .. } = &mut *draft;
                let field = &mut fields[id.index()];
                field.ty = Some(resolved.ty);
                field.type_number = resolved.type_number;
                let file = match resolved.ty {
                    FieldType::Scalar(_) => continue,
                    FieldType::Message(of) | FieldType::Group(of) => messages[of.index()].file,
                    FieldType::Enum(of) => enums[of.index()].file,
                };
                imports.note_use(field.file, file);
            }
            Err(problem) => problems.push(*problem),
        }
    }
    link_methods(draft, imports, names, problems);
}

/// A full name with a leading dot.
fn dotted(full_name: &str) -> Name {
    format!(".{full_name}").into()
}

fn scope_of_field(draft: &Draft, names: &Names, id: FieldId) -> Scope {
    let field = draft.field(id);
    field.scope.map_or(names.package_scope(field.file), Scope::Message)
}

fn find_extendee(
    draft: &Draft,
    imports: &Imports,
    names: &Names,
    id: FieldId,
) -> Result<MessageId, Box<Problem>> {
    let field = draft.field(id);
    let lookup = Lookup { draft, names, imports, file: field.file, in_options: InOptions::No };
    let at = (field.place, Part::Other);
    let found = lookup.find(scope_of_field(draft, names, id), field.extendee(), Wanted::Any);
    match found {
        Ok(Entity::Message(message)) => {
            check_visible(draft, field.file, Entity::Message(message), at)?;
            Ok(message)
        }
        Ok(_) => {
            let message = format!("`{}` is no message, so nothing extends it", field.extendee());
            Err(Problem::error("not-a-message", (field.file, at.0, at.1), message).into())
        }
        Err(error) => Err(lookup.problem(field.extendee(), "message", error, at).into()),
    }
}

const GROUP: u8 = 10;
const MESSAGE: u8 = 11;
const ENUM: u8 = 14;

fn find_type(
    draft: &Draft,
    imports: &Imports,
    names: &Names,
    id: FieldId,
) -> Result<Resolved, Box<Problem>> {
    let field = draft.field(id);
    let at = (field.place, Part::Type);
    let wrong = |message: String| {
        Err(Problem::error("wrong-type", (field.file, field.place, Part::Type), message).into())
    };
    if let Some(scalar) = crate::schema::Scalar::from_type_number(field.type_number) {
        return if field.type_name.is_empty() {
            Ok(Resolved { ty: FieldType::Scalar(scalar), type_number: field.type_number })
        } else {
            wrong(format!("field `{}` has a scalar type and a type name", field.name))
        };
    }
    if field.type_name.is_empty() {
        return wrong(format!("field `{}` has no type", field.name));
    }
    let lookup = Lookup { draft, names, imports, file: field.file, in_options: InOptions::No };
    let found = lookup.find(scope_of_field(draft, names, id), &field.type_name, Wanted::Type);
    let entity =
        found.map_err(|error| Box::new(lookup.problem(&field.type_name, "type", error, at)))?;
    check_visible(draft, field.file, entity, at)?;
    match (entity, field.type_number) {
        (Entity::Message(id), GROUP) => {
            Ok(Resolved { ty: FieldType::Group(id), type_number: GROUP })
        }
        (Entity::Message(id), 0 | MESSAGE) => {
            Ok(Resolved { ty: FieldType::Message(id), type_number: MESSAGE })
        }
        (Entity::Enum(id), 0 | ENUM) => Ok(Resolved { ty: FieldType::Enum(id), type_number: ENUM }),
        _ => wrong(format!("`{}` is no type that fits here", field.type_name)),
    }
}

fn link_methods(
    draft: &mut Draft,
    imports: &mut Imports,
    names: &Names,
    problems: &mut Vec<Problem>,
) {
    for id in draft.service_ids() {
        for index in 0..draft.service(id).methods.len() {
            let service = draft.service(id);
            let method = &service.methods[index];
            let (file, place) = (service.file, method.place);
            let lookup = Lookup { draft, names, imports, file, in_options: InOptions::No };
            let mut find = |name: &str, part| {
                let at = (place, part);
                let found = match lookup.find(Scope::Service(id), name, Wanted::Any) {
                    Ok(Entity::Message(message)) => {
                        check_visible(draft, file, Entity::Message(message), at).map(|()| message)
                    }
                    Ok(_) => {
                        let message = format!("`{name}` is no message, as methods need");
                        Err(Problem::error("not-a-message", (file, place, part), message).into())
                    }
                    Err(error) => Err(lookup.problem(name, "message", error, at).into()),
                };
                found.map_err(|problem| problems.push(*problem)).ok()
            };
            let input = find(&method.input_type, Part::Type);
            let output = find(&method.output_type, Part::Other);
            for message in [input, output].into_iter().flatten() {
                imports.note_use(file, draft.message(message).file);
            }
            let full = |id: Option<MessageId>| id.map(|id| dotted(&draft.message(id).full_name));
            let (input_name, output_name) = (full(input), full(output));
            let method = &mut draft.service_mut(id).methods[index];
            (method.input, method.output) = (input, output);
            if let (Some(input), Some(output)) = (input_name, output_name) {
                (method.input_type, method.output_type) = (input, output);
            }
        }
    }
}

/// Checks that a file names no local definition of another.
fn check_visible(
    draft: &Draft,
    from: FileId,
    entity: Entity,
    (place, part): (ElementId, Part),
) -> Result<(), Box<Problem>> {
    let (visibility, file, nested, full_name, own) = match entity {
        Entity::Message(id) => {
            let found = draft.message(id);
            let nested = found.parent.is_some();
            (found.visibility, found.file, nested, &found.full_name, found.place)
        }
        Entity::Enum(id) => {
            let found = draft.enum_(id);
            let nested = found.parent.is_some();
            (found.visibility, found.file, nested, &found.full_name, found.place)
        }
        _ => return Ok(()),
    };
    if file == from {
        return Ok(());
    }
    let exported = match visibility {
        Visibility::Export => true,
        Visibility::Local => false,
        Visibility::Unset => match default_visibility(draft, file) {
            SymbolVisibility::ExportAll => true,
            SymbolVisibility::ExportTopLevel => !nested,
            SymbolVisibility::LocalAll | SymbolVisibility::Strict => false,
        },
    };
    if exported {
        return Ok(());
    }
    let name = &draft.file(file).name;
    let message = format!("`{full_name}` is local to `{name}`");
    let help = "declare it with `export` there, or use another type here";
    Err(Problem::error("not-exported", (from, place, part), message)
        .label((file, own, Part::Name), "it is declared here")
        .help(help)
        .into())
}

/// The default visibility of a file, from its uninterpreted options: types are linked before
/// options are interpreted.
fn default_visibility(draft: &Draft, file: FileId) -> SymbolVisibility {
    use crate::schema::uninterpreted::OptionValue;
    let file = draft.file(file);
    let mut features = crate::schema::Features::of_edition(file.edition);
    let Some(options) = &file.options else { return features.visibility };
    features = features.merged(&super::feature_set(&file.options, 50));
    for option in &options.text {
        if option.name_text() != "features.default_symbol_visibility" {
            continue;
        }
        if let OptionValue::Identifier(word) = &option.value {
            features.visibility = match word.as_str() {
                "EXPORT_ALL" => SymbolVisibility::ExportAll,
                "EXPORT_TOP_LEVEL" => SymbolVisibility::ExportTopLevel,
                "LOCAL_ALL" => SymbolVisibility::LocalAll,
                "STRICT" => SymbolVisibility::Strict,
                _ => features.visibility,
            };
        }
    }
    features.visibility
}
