//! The interpreter of the options of one element: lookup of names, and reporting of errors.

use super::element::Element;
use super::tree::Tree;
use crate::schema::draft::Draft;
use crate::schema::link::{Entity, InOptions, Linked, Lookup, Scope, Wanted};
use crate::schema::problem::{ElementId, Part, Problem};
use crate::schema::uninterpreted::TextRange;
use crate::schema::{FieldId, FileId, MessageId};

/// An error that is already reported.
pub(super) struct Failed;

pub(super) struct Interpreter<'a> {
    pub(super) draft: &'a Draft,
    pub(super) linked: &'a Linked,
    pub(super) element: Element,
    pub(super) file: FileId,
    place: ElementId,
    pub(super) problems: &'a mut Vec<Problem>,
    used: Vec<FileId>,
    /// Options of the message itself that were named by their full names: these take precedence.
    pub(super) by_full_name: Vec<FieldId>,
}

impl<'a> Interpreter<'a> {
    pub(super) fn new(
        draft: &'a Draft,
        linked: &'a Linked,
        element: Element,
        problems: &'a mut Vec<Problem>,
    ) -> Interpreter<'a> {
        let (file, place) = element.place(draft);
        let (used, by_full_name) = (Vec::new(), Vec::new());
        Interpreter { draft, linked, element, file, place, problems, used, by_full_name }
    }

    /// Files whose definitions were named.
    pub(super) fn used(self) -> Vec<FileId> {
        self.used
    }

    pub(super) fn error(
        &mut self,
        code: &'static str,
        range: TextRange,
        message: impl Into<String>,
    ) -> Failed {
        let at = (self.file, self.place, Part::Range(range.0, range.1));
        self.problems.push(Problem::error(code, at, message));
        Failed
    }

    pub(super) fn help(&mut self, help: String) {
        if let Some(problem) = self.problems.last_mut() {
            problem.help = Some(help);
        }
    }

    pub(super) fn problems(&mut self) -> (&mut Vec<Problem>, FileId) {
        (self.problems, self.file)
    }

    pub(super) fn plain_field(&self, ty: MessageId, name: &str) -> Option<FieldId> {
        let mut fields = self.draft.message(ty).fields.iter().copied();
        fields.find(|&id| self.draft.field(id).name == name)
    }

    pub(super) fn similar(&self, ty: MessageId, name: &str) -> Option<&'a str> {
        let names = self.draft.message(ty).fields.iter().map(|&id| &*self.draft.field(id).name);
        tidemill_diag::nearest(name, names)
    }

    fn lookup(&self) -> Lookup<'a> {
        let Linked { imports, names } = self.linked;
        let (draft, file, in_options) = (self.draft, self.file, InOptions::Yes);
        Lookup { draft, names, imports, file, in_options }
    }

    /// True if an extension of that name is in an enclosing scope.
    pub(super) fn extension_like(&self, ty: MessageId, name: &str) -> bool {
        let lookup = self.lookup();
        let scope = self.element.scope(self.draft, &self.linked.names);
        let found = lookup.find(scope, name, Wanted::Any);
        matches!(found, Ok(Entity::Field(id)) if self.draft.field(id).message == Some(ty)
            && self.draft.field(id).is_extension())
    }

    /// An extension of `ty` by its name in `scope`.
    pub(super) fn extension(
        &mut self,
        ty: MessageId,
        scope: Scope,
        name: &str,
        range: TextRange,
    ) -> Result<FieldId, Failed> {
        let lookup = self.lookup();
        match lookup.find(scope, name, Wanted::Any) {
            Ok(Entity::Field(id)) => {
                let field = self.draft.field(id);
                self.used.push(field.file);
                if field.message == Some(ty) {
                    return Ok(id);
                }
                let full_name = &self.draft.message(ty).full_name;
                let message = if field.is_extension() {
                    let extendee = field.extendee().trim_start_matches('.');
                    format!("`{name}` extends `{extendee}`, not `{full_name}`")
                } else {
                    format!("`{name}` is no extension, and no field of `{full_name}`")
                };
                Err(self.error("unknown-option", range, message))
            }
            Ok(_) => {
                let message = format!("`{name}` is no extension");
                Err(self.error("unknown-option", range, message))
            }
            Err(error) => {
                let at = (self.place, Part::Range(range.0, range.1));
                let mut problem = lookup.problem(name, "extension", error, at);
                if problem.code == "unknown-name" {
                    problem.code = "unknown-option";
                }
                self.problems.push(problem);
                Err(Failed)
            }
        }
    }

    /// A message by its full name, for a value of type `Any`.
    pub(super) fn message_by_name(&self, full_name: &str) -> Option<MessageId> {
        match self.linked.names.get_path(self.draft, Scope::Package(0), full_name)? {
            Entity::Message(id) => Some(id),
            _ => None,
        }
    }

    /// Checks that at most one member of a oneof is set.
    pub(super) fn check_oneof(
        &mut self,
        tree: &Tree,
        id: FieldId,
        range: TextRange,
    ) -> Result<(), Failed> {
        let Some(oneof) = self.draft.field(id).oneof else { return Ok(()) };
        let other = tree.fields.iter().map(|entry| self.draft.field(entry.field)).find(|field| {
            field.oneof == Some(oneof) && field.number != self.draft.field(id).number
        });
        match other {
            None => Ok(()),
            Some(other) => {
                let oneof = &self.draft.oneof(oneof).name;
                let message = format!("`{}` of oneof `{oneof}` is set already", other.name);
                Err(self.error("duplicate-option", range, message))
            }
        }
    }
}
