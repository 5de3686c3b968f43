//! Options as they are written, before their names are resolved.

use super::Name;

/// Bytes of the text, `start..end`.
pub type TextRange = (u32, u32);

/// `name = value` of an option.
#[derive(Clone, Debug)]
pub struct OptionText {
    /// The parts between dots.
    pub name: Vec<NamePart>,
    /// The value.
    pub value: OptionValue,
    /// The position of the value.
    pub value_range: TextRange,
}

/// `part` or `(part)`.
#[derive(Clone, Debug)]
pub struct NamePart {
    /// The name, of an extension perhaps with dots.
    pub name: Name,
    /// True if it is in parentheses.
    pub extension: bool,
    /// Its position.
    pub range: TextRange,
}

/// The value of an option.
#[derive(Clone, PartialEq, Debug)]
pub enum OptionValue {
    /// A word.
    Identifier(Name),
    /// A number without a minus.
    Positive(u64),
    /// A number with a minus.
    Negative(i64),
    /// A number with a point or an exponent, or too great for the others.
    Double(f64),
    /// Quoted bytes.
    String(Vec<u8>),
    /// `{ ... }` in the text format: the text between the braces.
    Aggregate(String),
}

impl OptionText {
    /// The range of the whole name.
    pub fn name_range(&self) -> TextRange {
        match (self.name.first(), self.name.last()) {
            (Some(first), Some(last)) => (first.range.0, last.range.1),
            _ => self.value_range,
        }
    }

    /// The name as written.
    pub fn name_text(&self) -> String {
        let part = |part: &NamePart| {
            if part.extension { format!("({})", part.name) } else { part.name.to_string() }
        };
        self.name.iter().map(part).collect::<Vec<_>>().join(".")
    }

    /// True if the name of the option is that single word.
    pub fn is(&self, name: &str) -> bool {
        matches!(self.name.as_slice(), [part] if !part.extension && part.name == name)
    }
}
