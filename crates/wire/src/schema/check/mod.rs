//! The checks of `protoc`.
//!
//! Each part checks one kind of definition in a linked draft whose options are interpreted and
//! whose features are resolved. A problem has its class, its position, and mostly a proposal what
//! to write instead.

mod enums;
mod extensions;
mod features;
mod fields;
mod files;
mod json;
mod messages;
mod style;
mod visibility;

pub use fields::entry_name;

use super::draft::{Draft, MaybeOptions};
use super::features::Edition;
use super::problem::{ElementId, Part, Problem};
use super::raw;
use super::{FileId, link};

/// Checks a draft and appends its errors to `problems`.
pub fn check(draft: &Draft, problems: &mut Vec<Problem>) {
    let mut has_members = vec![false; draft.oneofs.len()];
    for oneof in draft.fields.iter().filter_map(|field| field.oneof) {
        has_members[oneof.index()] = true;
    }
    let mut check = Check { draft, problems, has_members, hashes: Vec::new() };
    for id in draft.file_ids() {
        check.file(id);
    }
    check.names();
    check.full_names();
    for id in draft.message_ids() {
        check.message(id);
        check.json_names(id);
    }
    for id in draft.enum_ids() {
        check.enumeration(id);
    }
    for id in draft.field_ids() {
        check.field(id);
    }
    check.extensions();
    check.styles();
    check.visibilities();
}

struct Check<'a> {
    draft: &'a Draft,
    problems: &'a mut Vec<Problem>,
    /// By oneof: true if it has a field.
    has_members: Vec<bool>,
    /// A buffer for hashes, reused for each message.
    hashes: Vec<u64>,
}

impl Check<'_> {
    fn error(&mut self, code: &'static str, at: (FileId, ElementId, Part), message: String) {
        self.problems.push(Problem::error(code, at, message));
    }

    fn warn(&mut self, code: &'static str, at: (FileId, ElementId, Part), message: String) {
        self.problems.push(Problem::warning(code, at, message));
    }

    fn help(&mut self, help: impl Into<String>) {
        if let Some(problem) = self.problems.last_mut() {
            problem.help = Some(help.into());
        }
    }

    fn label(&mut self, at: (FileId, ElementId, Part), message: &str) {
        if let Some(problem) = self.problems.last_mut() {
            problem.label = Some((at.0, at.1, at.2, message.into()));
        }
    }

    fn edition(&self, file: FileId) -> Edition {
        self.draft.edition(file)
    }
}

/// The number that an option is set to, including options with source retention.
fn option(options: &MaybeOptions, number: u32) -> Option<u64> {
    raw::last_varint(option_bytes(options), number)
}

/// As `option`, for all options with numbers below `N`.
fn options_below<const N: usize>(options: &MaybeOptions) -> [Option<u64>; N] {
    let mut set = [None; N];
    for (number, value) in raw::RawFields::new(option_bytes(options)).flatten() {
        if let (Some(place), raw::RawValue::Varint(value)) = (set.get_mut(number as usize), value) {
            *place = Some(value);
        }
    }
    set
}

fn option_bytes(options: &MaybeOptions) -> &[u8] {
    match options {
        None => &[],
        Some(options) if options.source_bytes.is_empty() => &options.bytes,
        Some(options) => &options.source_bytes,
    }
}

/// The feature that an element sets itself; its options have the feature set at `number`.
fn own_feature(options: &MaybeOptions, number: u32, feature: u32) -> Option<u64> {
    options.as_ref()?;
    raw::last_varint(&link::feature_set(options, number), feature)
}

/// The position of an option, or else the name of its element.
fn option_part(options: &MaybeOptions, name: &str) -> Part {
    let mut texts = options.iter().flat_map(|options| &options.text);
    let found = texts.rfind(|text| text.is(name) || text.name_text() == name);
    found.map_or(Part::Name, |text| {
        let (start, end) = text.name_range();
        Part::Range(start, end)
    })
}

/// True for a letter or underscore and then letters, digits, underscores.
fn is_identifier(name: &str) -> bool {
    for byte in name.bytes() {
        if !byte.is_ascii_alphanumeric() && byte != b'_' {
            return false;
        }
    }
    name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
