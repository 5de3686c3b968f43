//! What a folder and its settings say, each with its place.

use std::path::PathBuf;

use tidemill_diag::{Diagnostic, FileId, Sources, Span};
use tidemill_stdx::sorted::SortedMap;

use crate::devices::SimDevice;

/// The file of settings.
pub const SETTINGS: &str = "tidemill.toml";

/// The code of errors in it.
pub const CODE: &str = "settings";

/// Sections whose keys are options of a verb.
pub const VERBS: [&str; 4] = ["run", "sim", "test", "explore"];

/// A folder that is a program.
#[derive(Debug)]
pub struct Folder {
    /// Its files.
    pub files: Vec<PathBuf>,
    /// Simulated devices, by the name of the device that they replace.
    pub devices: SortedMap<String, SimDevice>,
    /// The options of verbs, in the order of the text.
    pub sections: Vec<Section>,
    /// The text that spans refer to: that of the settings, empty if there are none.
    pub sources: Sources,
    /// Errors.
    pub diagnostics: Vec<Diagnostic>,
    pub(super) file: FileId,
}

/// The options of a verb.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The verb.
    pub verb: &'static str,
    /// Its name in the text.
    pub span: Span,
    /// Its keys, in the order of the text.
    pub settings: Vec<Setting>,
}

/// A key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The key: a long option, `D`, `I` or `arguments`.
    pub name: String,
    /// The place of the key.
    pub key: Span,
    /// The place of the value.
    pub span: Span,
    /// The value.
    pub value: SettingValue,
}

/// The value of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingValue {
    /// `true` or `false`.
    Flag(bool),
    /// A text or number, or a list of them, each with its place.
    Words(Vec<(String, Span)>),
}

impl Folder {
    pub(super) fn error(&mut self, at: Span, message: impl Into<String>) -> &mut Diagnostic {
        let index = self.diagnostics.len();
        self.diagnostics.push(Diagnostic::error(CODE, at, message));
        &mut self.diagnostics[index]
    }

    /// The section of a verb, if the settings have one.
    pub fn section(&self, verb: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.verb == verb)
    }
}
