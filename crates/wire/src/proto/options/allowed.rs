//! Checks whether an option may be set on an element, and in its edition.

use super::element::Element;
use super::tree::{Entry, Tree, Value};
use crate::schema::draft::{Draft, MaybeOptions};
use crate::schema::features::Edition;
use crate::schema::problem::{Part, Problem};
use crate::schema::raw::{self, RawFields, RawValue};
use crate::schema::{FieldId, FieldType};

/// Numbers of fields of `google.protobuf.FieldOptions`.
const TARGETS: u32 = 19;
const FEATURE_SUPPORT: u32 = 22;
/// Number of a field of `google.protobuf.EnumValueOptions`.
const VALUE_FEATURE_SUPPORT: u32 = 4;

/// Reports options that may not be set on the element.
pub(super) fn check(draft: &Draft, element: Element, tree: &Tree, problems: &mut Vec<Problem>) {
    let (file, _) = element.place(draft);
    let edition = draft.edition(file);
    for entry in &tree.fields {
        let field = draft.field(entry.field);
        if field.name == "features" && is_feature_set(draft, entry.field) && !edition.has_features()
        {
            let message = format!("{} has no features", edition.name());
            let help = "write `edition = \"2023\";` in place of the syntax";
            problems.push(at(draft, element, entry, "features", message).help(help));
            continue;
        }
        check_entry(draft, element, edition, entry, entry, problems);
    }
}

fn is_feature_set(draft: &Draft, field: FieldId) -> bool {
    let ty = draft.field(field).ty.and_then(FieldType::message);
    ty.is_some_and(|id| &*draft.message(id).full_name == "google.protobuf.FeatureSet")
}

/// `top` is the field of the options message that leads to `entry`.
fn check_entry(
    draft: &Draft,
    element: Element,
    edition: Edition,
    top: &Entry,
    entry: &Entry,
    problems: &mut Vec<Problem>,
) {
    let field = draft.field(entry.field);
    let (target, what) = element.target();
    let options = bytes(&field.options);
    let mut targets = numbers(options, TARGETS).peekable();
    if targets.peek().is_some() && !targets.any(|one| one == target) {
        let message = format!("option `{}` cannot be set on {what}", field.name);
        problems.push(at(draft, element, top, "option-target", message));
    }
    if let Some(message) = lifetime(options, FEATURE_SUPPORT, &field.name, edition) {
        problems.push(at(draft, element, top, "option-edition", message));
    }
    for value in &entry.values {
        match (value, field.ty) {
            (Value::Message(tree), _) => {
                for inner in &tree.fields {
                    check_entry(draft, element, edition, top, inner, problems);
                }
            }
            (Value::Varint(number), Some(FieldType::Enum(id))) => {
                let values = &draft.enum_(id).values;
                let Some(value) = values.iter().find(|one| one.number == *number as i32) else {
                    continue;
                };
                let options = bytes(&value.options);
                let found = lifetime(options, VALUE_FEATURE_SUPPORT, &value.name, edition);
                if let Some(message) = found {
                    problems.push(at(draft, element, top, "option-edition", message));
                }
            }
            _ => {}
        }
    }
}

fn bytes(options: &MaybeOptions) -> &[u8] {
    match options {
        None => &[],
        Some(options) if options.source_bytes.is_empty() => &options.bytes,
        Some(options) => &options.source_bytes,
    }
}

fn numbers(bytes: &[u8], number: u32) -> impl Iterator<Item = u64> {
    RawFields::new(bytes).flatten().filter_map(move |field| match field {
        (found, RawValue::Varint(value)) if found == number => Some(value),
        _ => None,
    })
}

/// The problem with using an option in an edition.
fn lifetime(options: &[u8], support: u32, name: &str, edition: Edition) -> Option<String> {
    let support = raw::lengths(options, support).last()?;
    let number = edition.number() as u64;
    let year = |number: u64| match Edition::from_number(number as i32) {
        Some(edition) => edition.name().to_owned(),
        None => format!("edition {number}"),
    };
    match (raw::last_varint(support, 1), raw::last_varint(support, 4)) {
        (Some(first), _) if number < first => {
            Some(format!("`{name}` came with {}, this is {}", year(first), edition.name()))
        }
        (_, Some(end)) if number >= end => {
            Some(format!("`{name}` went with {}, this is {}", year(end), edition.name()))
        }
        _ => None,
    }
}

/// A problem at the option in the text that sets the field.
fn at(
    draft: &Draft,
    element: Element,
    entry: &Entry,
    code: &'static str,
    message: String,
) -> Problem {
    let (file, place) = element.place(draft);
    let name = &draft.field(entry.field).name;
    let options = match element {
        Element::File(id) => &draft.file(id).options,
        Element::Message(id) => &draft.message(id).options,
        Element::Field(id) => &draft.field(id).options,
        Element::Enum(id) => &draft.enum_(id).options,
        _ => &None,
    };
    let texts = options.iter().flat_map(|options| &options.text);
    let part = texts
        .filter(|text| text.name.first().is_some_and(|part| part.name.ends_with(name.as_str())))
        .map(|text| text.name_range())
        .next()
        .map_or(Part::Name, |(start, end)| Part::Range(start, end));
    Problem::error(code, (file, place, part), message)
}
