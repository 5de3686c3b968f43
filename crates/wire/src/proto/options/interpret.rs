//! Interprets the options of one element, name by name.

use super::element::Element;
use super::interpreter::{Failed, Interpreter};
use super::scalar::{expected, scalar_value, unsigned_nan};
use super::text::TextReader;
use super::tree::{Tree, Value};
use crate::schema::draft::{Draft, FieldDraft};
use crate::schema::uninterpreted::{NamePart, OptionText, OptionValue};
use crate::schema::{FieldId, FieldType, MessageId};

/// The options to interpret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Texts {
    /// Features.
    Features,
    /// All others.
    Others,
}

impl<'a> Interpreter<'a> {
    /// Adds the values of the texts to the options message, of type `ty`; false if there are none
    /// of that sort.
    pub(super) fn run(&mut self, ty: MessageId, tree: &mut Tree, of: Texts) -> bool {
        let draft = self.draft;
        let mut any = false;
        for text in texts(draft, self.element).iter().filter(|text| sort(text) == of) {
            any = true;
            // A failure is reported; the other options are still interpreted.
            let _ = self.option(ty, tree, text);
        }
        // Values in braces were checked when they were read.
        let set_inside = |text: &&OptionText| sort(text) == of && text.name.len() > 1;
        if let Some(text) = texts(draft, self.element).iter().rfind(set_inside)
            && let Some(path) = tree.missing_required(draft, ty)
        {
            let message = format!("required field `{path}` is missing");
            self.error("option-value", text.name_range(), message);
        }
        any
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
                        let message = format!("option `{}` takes {}", field.name, expected(scalar));
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
}

fn sort(text: &OptionText) -> Texts {
    let first = text.name.first();
    let features = first.is_some_and(|part| {
        if part.extension { part.name.ends_with(".features") } else { part.name == "features" }
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
