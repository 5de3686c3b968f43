//! Problems of definitions, with the element and its part at fault.
//!
//! Linking and checking do not know whether definitions came as text. They name an element by its
//! [`ElementId`] and the [`Part`] at fault; the owner of the text turns that into a span.

use super::FileId;

/// An element in a text; definitions that did not come as text have none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ElementId(pub(crate) u32);

impl ElementId {
    /// The id of elements that did not come as text.
    pub const NONE: ElementId = ElementId(u32::MAX);
}

impl Default for ElementId {
    fn default() -> ElementId {
        ElementId::NONE
    }
}

/// A part of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Its name.
    Name,
    /// Its number.
    Number,
    /// Its type, or the request of a method.
    Type,
    /// Its extendee, or the response of a method.
    Other,
    /// Bytes of the text.
    Range(u32, u32),
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Stable kebab-case name of the class.
    pub code: &'static str,
    /// True for a warning.
    pub warning: bool,
    /// The file at fault.
    pub file: FileId,
    /// The element at fault.
    pub place: ElementId,
    /// The part at fault.
    pub part: Part,
    /// One sentence without a final period, with full names.
    pub message: String,
    /// Another element that explains it, with the explanation.
    pub label: Option<(FileId, ElementId, Part, String)>,
    /// What to write instead.
    pub help: Option<String>,
    /// The undeclared name, for hints to its file.
    pub subject: Option<String>,
}

impl Problem {
    /// An error.
    pub fn error(
        code: &'static str,
        (file, place, part): (FileId, ElementId, Part),
        message: impl Into<String>,
    ) -> Problem {
        let message = message.into();
        Problem {
            code,
            warning: false,
            file,
            place,
            part,
            message,
            label: None,
            help: None,
            subject: None,
        }
    }

    /// A warning.
    pub fn warning(
        code: &'static str,
        at: (FileId, ElementId, Part),
        message: impl Into<String>,
    ) -> Problem {
        Problem { warning: true, ..Problem::error(code, at, message) }
    }

    /// Adds the undeclared name.
    pub fn about(mut self, subject: impl Into<String>) -> Problem {
        self.subject = Some(subject.into());
        self
    }

    /// Adds the proposal what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// Adds another element.
    pub fn label(
        mut self,
        (file, place, part): (FileId, ElementId, Part),
        message: impl Into<String>,
    ) -> Problem {
        self.label = Some((file, place, part, message.into()));
        self
    }
}
