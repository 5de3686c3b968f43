//! Reads a folder and its settings. An error leaves its key out, so that others are found too.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tidemill_diag::{Diagnostic, Sources, Span, meant};
use tidemill_stdx::sort;
use tidemill_stdx::sorted::SortedMap;
use toml_span::value::{Table, Value, ValueInner};

use super::settings::{Folder, SETTINGS, Section, Setting, SettingValue, VERBS};
use crate::devices::SimDevice;
use crate::program::FileKind;

/// The verb whose section may have devices.
const SIM: &str = "sim";
/// The section of the files.
const PROGRAM: &str = "program";
/// Its only key.
const FILES: &str = "files";
/// The part of [`SIM`] about devices.
const DEVICES: &str = "devices";

/// What files of a program are called.
const ENDINGS: &str = "rules are in files that end in `.olg`, components in `.com` and `.cl`, \
                       packet graphs in `.flow`, schemas in `.proto` and `.fds`";

impl Folder {
    /// Reads the folder. Errors are among its diagnostics.
    pub fn read(folder: &Path) -> Folder {
        let settings = folder.join(SETTINGS);
        let (text, unreadable) = match fs::read_to_string(&settings) {
            Ok(text) => (text, None),
            Err(error) if error.kind() == ErrorKind::NotFound => (String::new(), None),
            Err(error) => (String::new(), Some(error)),
        };
        let mut sources = Sources::new();
        let file = sources.add(settings.display().to_string(), text.clone());
        let (files, sections, diagnostics) = (Vec::new(), Vec::new(), Vec::new());
        let read =
            Folder { files, devices: SortedMap::new(), sections, sources, diagnostics, file };
        let mut reader = SettingsReader { folder, read, names_files: false };
        match unreadable {
            Some(error) => {
                let at = reader.whole_file();
                reader.read.error(at, format!("cannot read the file: {error}"));
            }
            None => reader.settings(&text),
        }
        if reader.read.diagnostics.is_empty() && !reader.names_files {
            reader.all_sources();
        }
        reader.read
    }
}

struct SettingsReader<'f> {
    folder: &'f Path,
    read: Folder,
    names_files: bool,
}

impl SettingsReader<'_> {
    fn span(&self, at: toml_span::Span) -> Span {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { file: self.read.file, start: offset(at.start), end: offset(at.end) }
    }

    /// The place of errors about the file as a whole.
    fn whole_file(&self) -> Span {
        Span { file: self.read.file, start: 0, end: 0 }
    }

    fn error(&mut self, at: toml_span::Span, message: impl Into<String>, help: impl Into<String>) {
        let at = self.span(at);
        self.read.error(at, message).help = Some(help.into());
    }

    fn settings(&mut self, text: &str) {
        let value = match toml_span::parse(text) {
            Ok(value) => value,
            Err(error) => return self.malformed(&error),
        };
        let Some(sections) = value.as_table() else { return };
        for (key, value) in in_order(sections) {
            let Some(table) = value.as_table() else {
                let message = format!("`{}` is outside of a section", key.name);
                let help = "options are in the section of their verb: [run], [sim], [test] or \
                            [explore]";
                self.error(key.span, message, help);
                continue;
            };
            match VERBS.into_iter().find(|verb| *verb == key.name) {
                Some(verb) => self.section(verb, key.span, table),
                None if key.name == PROGRAM => self.program(table),
                None => {
                    let known = VERBS.into_iter().chain([PROGRAM]);
                    let near = tidemill_diag::nearest(&key.name, known);
                    let help = near.map(|name| format!("is [{name}] meant?"));
                    let known =
                        || "there are [program], [run], [sim], [test] and [explore]".to_owned();
                    let message = format!("there is no section [{}]", key.name);
                    self.error(key.span, message, help.unwrap_or_else(known));
                }
            }
        }
    }

    /// The text is no TOML; or it has a key or a section twice.
    fn malformed(&mut self, error: &toml_span::Error) {
        use toml_span::ErrorKind::{DottedKeyInvalidType, DuplicateKey, DuplicateTable};
        let (message, first) = match &error.kind {
            DuplicateKey { key, first } => (format!("the key `{key}` is here twice"), Some(*first)),
            DuplicateTable { name, first } => {
                (format!("the section [{name}] is here twice"), Some(*first))
            }
            DottedKeyInvalidType { first } => (error.to_string(), Some(*first)),
            _ => (error.to_string(), None),
        };
        let first = first.map(|first| self.span(first));
        let at = self.span(error.span);
        let error: &mut Diagnostic = self.read.error(at, message);
        error.labels.extend(first.map(|first| (first, "it is also here".to_owned())));
    }

    fn program(&mut self, table: &Table<'_>) {
        for (key, value) in in_order(table) {
            if key.name != FILES {
                let message = format!("[program] has no key `{}`", key.name);
                let help = meant(&key.name, [FILES], || "its only key is `files`".to_owned());
                self.error(key.span, message, help);
                continue;
            }
            self.names_files = true;
            let Some(files) = value.as_array() else {
                let message = format!("`files` is a list of texts, not {}", type_of(value));
                self.error(value.span, message, "write files = [\"a.olg\", ...]");
                continue;
            };
            files.iter().for_each(|file| self.file(file));
            if files.is_empty() {
                let help = "without `files` it has all sources in the folder";
                self.error(value.span, "the program has no files", help);
            }
        }
    }

    /// A file of the program.
    fn file(&mut self, value: &Value<'_>) {
        let Some(name) = value.as_str() else {
            let message = format!("a file is named by a text, not by {}", type_of(value));
            return self.error(value.span, message, "write \"a.olg\"");
        };
        let path = self.folder.join(name);
        if FileKind::of(&path).is_none() {
            let message = format!("the ending of `{name}` names no kind of source");
            return self.error(value.span, message, ENDINGS);
        }
        if !path.exists() || path.is_dir() {
            return self.missing(value.span, name, &path);
        }
        self.read.files.push(path);
    }

    /// Reports a file that is not there, with one of a similar name in the same folder.
    fn missing(&mut self, at: toml_span::Span, name: &str, path: &Path) {
        let folder = path.parent().unwrap_or(self.folder);
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.path().is_file());
        let mut names: Vec<String> =
            files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        sort::by(&mut names, Ord::cmp);
        let wrong = path.file_name().unwrap_or_default().to_string_lossy();
        let help = meant(&wrong, names.iter().map(String::as_str), || {
            format!("files are named from {}", self.folder.display())
        });
        self.error(at, format!("there is no file `{name}`"), help);
    }

    fn section(&mut self, verb: &'static str, at: toml_span::Span, table: &Table<'_>) {
        let mut settings = Vec::new();
        for (key, value) in in_order(table) {
            if key.name == DEVICES && verb == SIM {
                match value.as_table() {
                    Some(devices) => self.devices(devices),
                    None => {
                        let message = format!("`devices` is a section, not {}", type_of(value));
                        self.error(value.span, message, "write [sim.devices]");
                    }
                }
                continue;
            }
            let value_of = match value.as_bool() {
                Some(flag) => Some(SettingValue::Flag(flag)),
                None => self.words(value).map(SettingValue::Words),
            };
            settings.extend(value_of.map(|value_of| Setting {
                name: key.name.to_string(),
                key: self.span(key.span),
                span: self.span(value.span),
                value: value_of,
            }));
        }
        self.read.sections.push(Section { verb, span: self.span(at), settings });
    }

    /// Simulated devices; paths of captures are relative to the folder.
    fn devices(&mut self, table: &Table<'_>) {
        for (key, value) in in_order(table) {
            let device = match value.as_str().and_then(SimDevice::parse) {
                Some(SimDevice::Capture(file)) => {
                    let path = self.folder.join(&file);
                    if !path.exists() || path.is_dir() {
                        self.missing(value.span, &file.display().to_string(), &path);
                    }
                    SimDevice::Capture(path)
                }
                Some(link) => link,
                None => {
                    let help = "write \"link:NAME\" or \"pcap:FILE\"";
                    self.error(value.span, "not a stand-in for a device", help);
                    continue;
                }
            };
            self.read.devices.insert(key.name.to_string(), device);
        }
    }

    /// The words of an option with one or several values; `None` if one is no word.
    fn words(&mut self, value: &Value<'_>) -> Option<Vec<(String, Span)>> {
        let all: Vec<&Value<'_>> = match value.as_array() {
            Some(array) => array.iter().collect(),
            None => vec![value],
        };
        let mut words = Some(Vec::new());
        for value in all {
            let word = match value.as_ref() {
                ValueInner::String(text) => Some(text.to_string()),
                ValueInner::Integer(number) => Some(number.to_string()),
                ValueInner::Float(number) => Some(number.to_string()),
                _ => None,
            };
            match word {
                Some(word) => {
                    let at = self.span(value.span);
                    words.iter_mut().for_each(|words| words.push((word.clone(), at)));
                }
                None => {
                    let message = format!("{} is no value of an option", type_of(value));
                    let help = "an option has a text, a number, true, or a list";
                    self.error(value.span, message, help);
                    words = None;
                }
            }
        }
        words
    }

    /// All sources in the folder, by name.
    fn all_sources(&mut self) {
        let at = self.whole_file();
        let entries = fs::read_dir(self.folder).map(|entries| entries.flatten().collect());
        let entries: Vec<fs::DirEntry> = match entries {
            Ok(entries) => entries,
            Err(error) => {
                self.read.error(at, format!("cannot read the folder: {error}"));
                return;
            }
        };
        let paths = entries.iter().map(fs::DirEntry::path);
        let mut sources: Vec<PathBuf> =
            paths.filter(|path| FileKind::of(path).is_some() && path.is_file()).collect();
        sort::by(&mut sources, Ord::cmp);
        if sources.is_empty() {
            let message = format!("{} has no sources", self.folder.display());
            self.read.error(at, message).help = Some(ENDINGS.to_owned());
        }
        self.read.files = sources;
    }
}

/// The keys of a table in the order of the text.
fn in_order<'t, 'v>(table: &'t Table<'v>) -> Vec<(&'t toml_span::value::Key<'v>, &'t Value<'v>)> {
    let mut keys: Vec<_> = table.iter().collect();
    sort::by(&mut keys, |(a, _), (b, _)| a.span.start.cmp(&b.span.start));
    keys
}

/// What a value is, with its article.
fn type_of(value: &Value<'_>) -> &'static str {
    match value.as_ref() {
        ValueInner::String(_) => "a text",
        ValueInner::Integer(_) | ValueInner::Float(_) => "a number",
        ValueInner::Boolean(_) => "a truth value",
        ValueInner::Array(_) => "a list",
        ValueInner::Table(_) => "a table",
    }
}
