//! One element's options, name by name.

use std::borrow::Cow;

use super::element::Element;
use super::text::TextReader;
use super::tree::{Tree, Value};
use crate::schema::draft::{Draft, FieldDraft};
use crate::schema::link::{Entity, InOptions, Linked, Lookup, Scope, Wanted};
use crate::schema::problem::{Part, Place, Problem};
use crate::schema::uninterpreted::{NamePart, OptionText, OptionValue, TextRange};
use crate::schema::{FieldId, FieldType, FileId, MessageId, Scalar};
use crate::varint;

/// It is reported already.
pub(super) struct Failed;

pub(super) struct Interpreter<'a> {
    pub(super) draft: &'a Draft,
    linked: &'a Linked,
    element: Element,
    file: FileId,
    place: Place,
    problems: &'a mut Vec<Problem>,
    used: Vec<FileId>,
    /// Options of the message itself that were named by their full names: those win.
    by_full_name: Vec<FieldId>,
}

/// Which options are interpreted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Texts {
    /// Features.
    Features,
    /// All but those.
    Others,
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

    /// Adds to the options message, of type `ty`, what the texts amount to; false if there are
    /// none of that sort.
    pub(super) fn run(&mut self, ty: MessageId, tree: &mut Tree, of: Texts) -> bool {
        let draft = self.draft;
        let mut any = false;
        for text in texts(draft, self.element).iter().filter(|text| sort(text) == of) {
            any = true;
            // What failed is reported; the others are still looked at.
            let _ = self.option(ty, tree, text);
        }
        // What stands in braces was checked there.
        let set_inside = |text: &&OptionText| sort(text) == of && text.name.len() > 1;
        if let Some(text) = texts(draft, self.element).iter().rfind(set_inside)
            && let Some(path) = tree.missing_required(draft, ty)
        {
            let message = format!("required field `{path}` is missing");
            self.error("option-value", text.name_range(), message);
        }
        any
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

    fn option(&mut self, ty: MessageId, tree: &mut Tree, text: &OptionText) -> Result<(), Failed> {
        let draft = self.draft;
        let Some((last, before)) = text.name.split_last() else { return Ok(()) };
        if text.name.first().is_some_and(|part| part.name == "uninterpreted_option") {
            let message = "`uninterpreted_option` is for tools only";
            return Err(self.error("unknown-option", text.name_range(), message));
        }
        let (mut ty, mut tree) = (ty, tree);
        for part in before {
            let id = self.field(ty, part)?;
            self.not_of_own_file(ty, id, text)?;
            let field = draft.field(id);
            let inner = field.ty.and_then(FieldType::message);
            let Some(inner) = inner.filter(|_| !field.is_repeated()) else {
                let message = match inner {
                    Some(_) => format!("`{}` is repeated: set it as a whole", field.name),
                    None => format!("`{}` is no message: nothing is inside", field.name),
                };
                return Err(self.error("option-path", part.range, message));
            };
            ty = inner;
            tree.clear_oneof(draft, id);
            let Some(sub) = tree.sub(draft, id) else { return Err(Failed) };
            tree = sub;
        }
        let id = self.field(ty, last)?;
        self.not_of_own_file(ty, id, text)?;
        let field = draft.field(id);
        let full_name = before.is_empty() && last.extension && !field.is_extension();
        let taken = !field.is_repeated() && tree.get(draft, id).is_some();
        if taken && full_name == self.by_full_name.contains(&id) {
            let message = format!("option `{}` is set twice", text.name_text());
            return Err(self.error("duplicate-option", text.name_range(), message));
        }
        let value = self.value(field, text)?;
        if taken && !full_name {
            return Ok(());
        }
        if full_name {
            self.by_full_name.push(id);
        }
        tree.clear_oneof(draft, id);
        let values = &mut tree.entry(draft, id).values;
        if taken {
            values.clear();
        }
        values.push(value);
        Ok(())
    }

    /// A feature is an extension that another file declares.
    fn not_of_own_file(
        &mut self,
        ty: MessageId,
        id: FieldId,
        text: &OptionText,
    ) -> Result<(), Failed> {
        let field = self.draft.field(id);
        let is_feature = &*self.draft.message(ty).full_name == "google.protobuf.FeatureSet";
        if !is_feature || !field.is_extension() || field.file != self.file {
            return Ok(());
        }
        let message = format!("feature `{}` is declared in this file itself", field.name);
        let failed = self.error("feature", text.name_range(), message);
        self.help("declare it in a file that this one imports".into());
        Err(failed)
    }

    /// At most one member of a oneof is set.
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

    fn field(&mut self, ty: MessageId, part: &NamePart) -> Result<FieldId, Failed> {
        if part.extension {
            let scope = self.element.scope(self.draft, &self.linked.names);
            return self.extension(ty, scope, &part.name, part.range);
        }
        match self.plain_field(ty, &part.name) {
            Some(id) => Ok(id),
            None => {
                let message = format!("there is no option `{}`", part.name);
                let failed = self.error("unknown-option", part.range, message);
                let own = self.extension_like(ty, &part.name);
                let help = match (self.similar(ty, &part.name), own) {
                    (_, true) => {
                        Some(format!("custom options stand in parentheses: `({})`", part.name))
                    }
                    (Some(name), _) => Some(format!("is `{name}` meant?")),
                    _ => None,
                };
                if let Some(problem) = self.problems.last_mut() {
                    problem.help = help;
                }
                Err(failed)
            }
        }
    }

    /// True if an extension of that name is near.
    fn extension_like(&self, ty: MessageId, name: &str) -> bool {
        let lookup = self.lookup();
        let scope = self.element.scope(self.draft, &self.linked.names);
        let found = lookup.find(scope, name, Wanted::Any);
        matches!(found, Ok(Entity::Field(id)) if self.draft.field(id).message == Some(ty)
            && self.draft.field(id).is_extension())
    }

    fn lookup(&self) -> Lookup<'a> {
        let Linked { imports, names } = self.linked;
        let (draft, file, in_options) = (self.draft, self.file, InOptions::Yes);
        Lookup { draft, names, imports, file, in_options }
    }

    pub(super) fn plain_field(&self, ty: MessageId, name: &str) -> Option<FieldId> {
        let mut fields = self.draft.message(ty).fields.iter().copied();
        fields.find(|&id| self.draft.field(id).name == name)
    }

    pub(super) fn similar(&self, ty: MessageId, name: &str) -> Option<&'a str> {
        let names = self.draft.message(ty).fields.iter().map(|&id| &*self.draft.field(id).name);
        tidemill_diag::nearest(name, names)
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
                let message = match field.is_extension() {
                    true => {
                        let extendee = field.extendee().trim_start_matches('.');
                        format!("`{name}` extends `{extendee}`, not `{full_name}`")
                    }
                    false => format!("`{name}` is no extension, and no field of `{full_name}`"),
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

    fn value(&mut self, field: &FieldDraft, text: &OptionText) -> Result<Value, Failed> {
        let range = text.value_range;
        match field.ty {
            Some(FieldType::Message(id) | FieldType::Group(id)) => match &text.value {
                OptionValue::Aggregate(inner) => {
                    TextReader::new(self, inner, range.0 + 1).whole(id).map(Value::Message)
                }
                _ => {
                    let message = format!("option `{}` is a message", field.name);
                    let failed = self.error("option-value", range, message);
                    self.help(format!("write `{} = {{ ... }}`", text.name_text()));
                    Err(failed)
                }
            },
            Some(FieldType::Scalar(scalar)) => {
                match scalar_value(scalar, &unsigned_nan(&text.value)) {
                    Some(value) => Ok(value),
                    None => {
                        let message = format!("option `{}` takes {}", field.name, wanted(scalar));
                        Err(self.error("option-value", range, message))
                    }
                }
            }
            Some(FieldType::Enum(id)) => {
                let OptionValue::Identifier(word) = &text.value else {
                    let message = format!("option `{}` takes a value of an enum", field.name);
                    return Err(self.error("option-value", range, message));
                };
                let found = self.draft.enum_(id);
                match found.values.iter().find(|value| value.name == *word) {
                    Some(value) => Ok(Value::Varint(i64::from(value.number) as u64)),
                    None => {
                        let message = format!("enum `{}` has no value `{word}`", found.full_name);
                        let failed = self.error("option-value", range, message);
                        let names = found.values.iter().map(|value| &*value.name);
                        if let Some(name) = tidemill_diag::nearest(word, names) {
                            self.help(format!("is `{name}` meant?"));
                        }
                        Err(failed)
                    }
                }
            }
            None => Err(Failed),
        }
    }

    pub(super) fn help(&mut self, help: String) {
        if let Some(problem) = self.problems.last_mut() {
            problem.help = Some(help);
        }
    }

    pub(super) fn problems(&mut self) -> (&mut Vec<Problem>, FileId) {
        (self.problems, self.file)
    }
}

/// Outside of braces a NaN has no sign.
fn unsigned_nan(value: &OptionValue) -> Cow<'_, OptionValue> {
    match value {
        OptionValue::Double(value) if value.is_nan() => {
            Cow::Owned(OptionValue::Double(f64::NAN.copysign(1.0)))
        }
        value => Cow::Borrowed(value),
    }
}

fn sort(text: &OptionText) -> Texts {
    let first = text.name.first();
    let features = first.is_some_and(|part| match part.extension {
        true => part.name.ends_with(".features"),
        false => part.name == "features",
    });
    if features { Texts::Features } else { Texts::Others }
}

fn texts(draft: &Draft, element: Element) -> &[OptionText] {
    let options = match element {
        Element::File(id) => &draft.file(id).options,
        Element::Message(id) => &draft.message(id).options,
        Element::ExtensionRange(id, index) => {
            &draft.message(id).extension_ranges[index as usize].options
        }
        Element::Field(id) => &draft.field(id).options,
        Element::Oneof(id) => &draft.oneof(id).options,
        Element::Enum(id) => &draft.enum_(id).options,
        Element::EnumValue(id, index) => &draft.enum_(id).values[index as usize].options,
        Element::Service(id) => &draft.service(id).options,
        Element::Method(id, index) => &draft.service(id).methods[index as usize].options,
    };
    options.as_ref().map_or(&[], |options| &options.text)
}

fn wanted(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Double | Scalar::Float => "a number",
        Scalar::Bool => "`true` or `false`",
        Scalar::String | Scalar::Bytes => "a string in quotes",
        Scalar::Uint32 | Scalar::Fixed32 => "an integer from 0 to 4294967295",
        Scalar::Uint64 | Scalar::Fixed64 => "an integer that is not negative",
        Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => "an integer of 32 bits",
        Scalar::Int64 | Scalar::Sint64 | Scalar::Sfixed64 => "an integer of 64 bits",
    }
}

/// A value of the text as a scalar; `None` if it is none of that type.
pub(super) fn scalar_value(scalar: Scalar, value: &OptionValue) -> Option<Value> {
    let signed = || match *value {
        OptionValue::Positive(value) => i64::try_from(value).ok(),
        OptionValue::Negative(value) => Some(value),
        _ => None,
    };
    let signed32 = || signed().and_then(|value| i32::try_from(value).ok());
    let unsigned = || match *value {
        OptionValue::Positive(value) => Some(value),
        _ => None,
    };
    let unsigned32 = || unsigned().and_then(|value| u32::try_from(value).ok());
    let float = || match value {
        OptionValue::Double(value) => Some(*value),
        OptionValue::Positive(value) => Some(*value as f64),
        OptionValue::Negative(value) => Some(*value as f64),
        OptionValue::Identifier(word) if word == "inf" => Some(f64::INFINITY),
        OptionValue::Identifier(word) if word == "nan" => Some(f64::NAN),
        _ => None,
    };
    Some(match scalar {
        Scalar::Int32 => Value::Varint(i64::from(signed32()?) as u64),
        Scalar::Int64 => Value::Varint(signed()? as u64),
        Scalar::Uint32 => Value::Varint(u64::from(unsigned32()?)),
        Scalar::Uint64 => Value::Varint(unsigned()?),
        Scalar::Sint32 => {
            let value = varint::zigzag(i64::from(signed32()?));
            Value::Varint(value & u64::from(u32::MAX))
        }
        Scalar::Sint64 => Value::Varint(varint::zigzag(signed()?)),
        Scalar::Fixed32 => Value::Fixed32(unsigned32()?),
        Scalar::Sfixed32 => Value::Fixed32(signed32()? as u32),
        Scalar::Fixed64 => Value::Fixed64(unsigned()?),
        Scalar::Sfixed64 => Value::Fixed64(signed()? as u64),
        Scalar::Double => Value::Fixed64(float()?.to_bits()),
        Scalar::Float => Value::Fixed32((float()? as f32).to_bits()),
        Scalar::Bool => match value {
            OptionValue::Identifier(word) if word == "true" => Value::Varint(1),
            OptionValue::Identifier(word) if word == "false" => Value::Varint(0),
            _ => return None,
        },
        Scalar::String | Scalar::Bytes => match value {
            OptionValue::String(bytes) => Value::Bytes(bytes.clone()),
            _ => return None,
        },
    })
}
