//! Names in the style of edition 2024, where the features enforce it.

use super::Check;
use crate::schema::features::{Features, NamingStyle};
use crate::schema::problem::{ElementId, Part};
use crate::schema::{FieldType, FileId};

/// The style of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `lower_snake_case`.
    LowerSnake,
    /// `UPPER_SNAKE_CASE`.
    UpperSnake,
    /// `TitleCase`.
    Title,
}

impl Style {
    fn fits(self, name: &str) -> bool {
        let letter = |b: u8| match self {
            Style::LowerSnake => b.is_ascii_lowercase(),
            Style::UpperSnake => b.is_ascii_uppercase(),
            Style::Title => b.is_ascii_alphabetic(),
        };
        let starts = match self {
            Style::Title => name.starts_with(|c: char| c.is_ascii_uppercase()),
            _ => name.bytes().next().is_some_and(letter),
        };
        let bytes = name.as_bytes();
        let snake = self != Style::Title;
        // An underscore must precede a letter.
        let underscore = |at: usize| snake && bytes.get(at + 1).is_some_and(|&next| letter(next));
        starts
            && bytes
                .iter()
                .enumerate()
                .all(|(at, &b)| letter(b) || b.is_ascii_digit() || b == b'_' && underscore(at))
    }

    fn name(self) -> &'static str {
        match self {
            Style::LowerSnake => "lower_snake_case",
            Style::UpperSnake => "UPPER_SNAKE_CASE",
            Style::Title => "TitleCase",
        }
    }
}

impl Check<'_> {
    pub(super) fn styles(&mut self) {
        let draft = self.draft;
        for id in draft.file_ids() {
            let file = draft.file(id);
            for part in file.package.iter().flat_map(|package| package.split('.')) {
                let at = (id, file.place, Part::Type);
                self.style(file.features, part, Style::LowerSnake, at);
            }
        }
        for message in draft.messages.iter().filter(|message| !message.map_entry) {
            let at = (message.file, message.place, Part::Name);
            self.style(message.features, &message.name, Style::Title, at);
        }
        for field in &draft.fields {
            let at = (field.file, field.place, Part::Name);
            let group = matches!(field.ty, Some(FieldType::Group(_))) && field.type_number == 10;
            if !group {
                self.style(field.features, &field.name, Style::LowerSnake, at);
            }
        }
        for oneof in draft.oneofs.iter().filter(|oneof| !oneof.synthetic) {
            let at = (draft.message(oneof.message).file, oneof.place, Part::Name);
            self.style(oneof.features, &oneof.name, Style::LowerSnake, at);
        }
        for found in &draft.enums {
            let at = |place: ElementId| (found.file, place, Part::Name);
            self.style(found.features, &found.name, Style::Title, at(found.place));
            for value in &found.values {
                self.style(value.features, &value.name, Style::UpperSnake, at(value.place));
            }
        }
        for service in &draft.services {
            let at = |place: ElementId| (service.file, place, Part::Name);
            self.style(service.features, &service.name, Style::Title, at(service.place));
            for method in &service.methods {
                self.style(method.features, &method.name, Style::Title, at(method.place));
            }
        }
    }

    fn style(
        &mut self,
        features: Features,
        name: &str,
        style: Style,
        at: (FileId, ElementId, Part),
    ) {
        // Descriptors do not record the style that their source chose.
        let from_text = self.draft.file(at.0).descriptor.is_none();
        if features.naming_style == NamingStyle::Style2024 && from_text && !style.fits(name) {
            let text = format!("`{name}` is not in {}", style.name());
            self.error("naming-style", at, text);
            self.help("rename it, or set `features.enforce_naming_style = STYLE_LEGACY`");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_know_their_names() {
        for good in ["a", "foo_bar", "a1_b2"] {
            assert!(Style::LowerSnake.fits(good), "{good}");
        }
        for bad in ["A", "_a", "a_", "a__b", "foo_1", "fooBar", ""] {
            assert!(!Style::LowerSnake.fits(bad), "{bad}");
        }
        assert!(Style::UpperSnake.fits("FOO_BAR1") && !Style::UpperSnake.fits("Foo"));
        assert!(
            Style::Title.fits("FooBar1") && !Style::Title.fits("foo") && !Style::Title.fits("A_b")
        );
    }
}
