//! A program that is a folder: its files, and the options that `tidemill.toml` has for verbs.
//!
//! ```toml
//! [program]
//! files = ["ring.olg", "probes/ping.com"]
//!
//! [run]
//! nodes = 3
//! fact = ["landmark(NODE)"]
//! json = true
//!
//! [sim]
//! nodes = 100
//! loss = 0.05
//!
//! [sim.devices]
//! eth0 = "link:lan"
//! eth1 = "pcap:uplink.pcap"
//! ```
//! Without `[program] files` a folder's program consists of all sources in it, not below, by name.
//! Keys of the other sections are long options; `D` and `I` are `-D` and `-I`, and `arguments` is
//! what follows `--`. `[sim.devices]` names the simulated devices of packet apps.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tidemill_diag::{Diagnostic, FileId, Sources, Span, nearest};
use tidemill_stdx::sort;
use tidemill_stdx::sorted::SortedMap;
use toml_span::value::{Table, Value, ValueInner};

use super::FileKind;
use crate::devices::SimDevice;

/// The file of settings.
pub const SETTINGS: &str = "tidemill.toml";

/// Sections whose keys are options of a verb.
const VERBS: [&str; 4] = ["run", SIM, "test", "explore"];
const SIM: &str = "sim";

/// A folder that is a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Folder {
    /// Its files.
    pub files: Vec<PathBuf>,
    /// Simulated devices, by the name of the device that they replace.
    pub devices: SortedMap<String, SimDevice>,
    options: Vec<VerbOptions>,
}

/// The options of a verb.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VerbOptions {
    verb: &'static str,
    /// Each as a word of a command line: `--nodes=3`, `--json`, `-DX=1`.
    pub words: Vec<String>,
    /// The arguments after `--`.
    pub arguments: Vec<String>,
}

/// The errors of a folder, and the texts that they refer to.
#[derive(Debug, Default)]
pub struct FolderErrors {
    /// The texts.
    pub sources: Sources,
    /// Errors.
    pub diagnostics: Vec<Diagnostic>,
}

impl Folder {
    /// Reads the folder.
    ///
    /// # Errors
    /// It has no sources, or its settings are invalid: all errors.
    pub fn read(folder: &Path) -> Result<Folder, FolderErrors> {
        let mut wrong = FolderErrors::default();
        let settings = folder.join(SETTINGS);
        let text = match fs::read_to_string(&settings) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => {
                let file = wrong.sources.add(settings.display().to_string(), "");
                let message = format!("cannot read the file: {error}");
                wrong.add(file, toml_span::Span::default(), message, None);
                return Err(wrong);
            }
        };
        let file = wrong.sources.add(settings.display().to_string(), text.clone());
        let mut reader =
            SettingsReader { folder, file, wrong, read: Folder::default(), names_files: false };
        reader.settings(&text);
        if !reader.names_files {
            reader.all_sources();
        }
        match reader.wrong.diagnostics.is_empty() {
            true => Ok(reader.read),
            false => Err(reader.wrong),
        }
    }

    /// The options of a verb; none, if the settings have none.
    pub fn options(&self, verb: &str) -> VerbOptions {
        self.options.iter().find(|options| options.verb == verb).cloned().unwrap_or_default()
    }
}

impl FolderErrors {
    fn add(
        &mut self,
        file: FileId,
        at: toml_span::Span,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span { file, start: offset(at.start), end: offset(at.end) };
        let error = Diagnostic::error("settings", span, message);
        self.diagnostics.push(match help {
            Some(help) => error.help(help),
            None => error,
        });
    }
}

struct SettingsReader<'f> {
    folder: &'f Path,
    file: FileId,
    wrong: FolderErrors,
    read: Folder,
    names_files: bool,
}

impl SettingsReader<'_> {
    fn error(&mut self, at: toml_span::Span, message: impl Into<String>, help: Option<String>) {
        self.wrong.add(self.file, at, message, help);
    }

    fn settings(&mut self, text: &str) {
        let value = match toml_span::parse(text) {
            Ok(value) => value,
            Err(error) => return self.error(error.span, error.to_string(), None),
        };
        let Some(sections) = value.as_table() else { return };
        for (key, value) in sections {
            let verb = VERBS.into_iter().find(|verb| *verb == key.name);
            match (verb, value.as_table()) {
                (Some(verb), Some(table)) => self.options(verb, table),
                (None, Some(table)) if key.name == "program" => self.program(table),
                _ => {
                    let known = VERBS.into_iter().chain(["program"]);
                    let help = nearest(&key.name, known).map(|name| format!("is [{name}] meant?"));
                    let message = format!("there is no section [{}]", key.name);
                    let known =
                        "there are [program], [run], [sim], [test] and [explore]".to_owned();
                    self.error(key.span, message, Some(help.unwrap_or(known)));
                }
            }
        }
    }

    fn program(&mut self, table: &Table<'_>) {
        for (key, value) in table {
            let files = value.as_array().filter(|_| key.name == "files");
            let Some(files) = files else {
                let help = "files = [\"a.olg\", ...]".to_owned();
                let message = format!("[program] has no `{}` of this kind", key.name);
                self.error(key.span, message, Some(help));
                continue;
            };
            self.names_files = true;
            for file in files {
                match file.as_str() {
                    Some(name) => self.read.files.push(self.folder.join(name)),
                    None => self.error(file.span, "a file is named by a text", None),
                }
            }
            if files.is_empty() {
                self.error(value.span, "the program has no files", None);
            }
        }
    }

    fn options(&mut self, verb: &'static str, table: &Table<'_>) {
        let mut options = VerbOptions { verb, ..VerbOptions::default() };
        for (key, value) in table {
            if key.name == "arguments" {
                options.arguments = self.words(value);
                continue;
            }
            if key.name == "devices"
                && verb == SIM
                && let Some(devices) = value.as_table()
            {
                self.devices(devices);
                continue;
            }
            let (option, joint) = match &*key.name {
                "D" | "I" => (format!("-{}", key.name), ""),
                name => (format!("--{name}"), "="),
            };
            match value.as_bool() {
                Some(true) => options.words.push(option),
                Some(false) => {}
                None => {
                    let values = self.words(value).into_iter();
                    options.words.extend(values.map(|value| format!("{option}{joint}{value}")));
                }
            }
        }
        self.read.options.push(options);
    }

    /// Simulated devices; paths of captures are relative to the folder.
    fn devices(&mut self, table: &Table<'_>) {
        for (key, value) in table {
            let device = match value.as_str().and_then(SimDevice::parse) {
                Some(SimDevice::Capture(file)) => SimDevice::Capture(self.folder.join(file)),
                Some(link) => link,
                None => {
                    let help = "write \"link:NAME\" or \"pcap:FILE\"".to_owned();
                    self.error(value.span, "not a stand-in for a device", Some(help));
                    continue;
                }
            };
            self.read.devices.insert(key.name.to_string(), device);
        }
    }

    /// The words of an option with one or several values.
    fn words(&mut self, value: &Value<'_>) -> Vec<String> {
        let word = |value: &Value<'_>| match value.as_ref() {
            ValueInner::String(text) => Some(text.to_string()),
            ValueInner::Integer(number) => Some(number.to_string()),
            ValueInner::Float(number) => Some(number.to_string()),
            _ => None,
        };
        let all: Vec<&Value<'_>> = match value.as_array() {
            Some(array) => array.iter().collect(),
            None => vec![value],
        };
        let mut words = Vec::new();
        for value in all {
            match word(value) {
                Some(word) => words.push(word),
                None => {
                    let help = "an option has a text, a number, true, or a list".to_owned();
                    self.error(value.span, "this is no value of an option", Some(help));
                }
            }
        }
        words
    }

    /// All sources in the folder, by name.
    fn all_sources(&mut self) {
        let entries = fs::read_dir(self.folder).map(|entries| entries.flatten().collect());
        let entries: Vec<fs::DirEntry> = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("cannot read the folder: {error}");
                return self.error(toml_span::Span::default(), message, None);
            }
        };
        let paths = entries.iter().map(fs::DirEntry::path);
        let mut sources: Vec<PathBuf> =
            paths.filter(|path| FileKind::of(path).is_some() && path.is_file()).collect();
        sort::by(&mut sources, Ord::cmp);
        if sources.is_empty() {
            let folder = self.folder.display();
            let message = format!("{folder} has no sources");
            let help = "rules are in files that end in `.olg`, components in `.com` and `.cl`, \
                        packet graphs in `.flow`, schemas in `.proto` and `.fds`";
            self.error(toml_span::Span::default(), message, Some(help.to_owned()));
        }
        self.read.files = sources;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str, settings: Option<&str>) -> TestFolder {
            let name = format!("tidemill-folder-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(folder.join("below.olg")).expect("a folder");
            for file in ["b.olg", "a.COM", "readme.md", "below.olg/c.olg"] {
                fs::write(folder.join(file), "").expect("written");
            }
            if let Some(text) = settings {
                fs::write(folder.join(SETTINGS), text).expect("written");
            }
            TestFolder(folder)
        }

        fn errors(&self) -> String {
            let wrong = Folder::read(&self.0).expect_err("wrong");
            let lines = wrong.diagnostics.iter().map(|one| wrong.sources.render(one));
            lines.collect::<String>().replace(&format!("{}/", self.0.display()), "")
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn without_settings_it_is_all_sources_by_name() {
        let place = TestFolder::new("plain", None);
        let folder = Folder::read(&place.0).expect("right");
        assert_eq!(folder.files, [place.0.join("a.COM"), place.0.join("b.olg")]);
        assert_eq!(folder.options("run"), VerbOptions::default());
    }

    #[test]
    fn settings_name_files_and_have_options_by_verb() {
        let text = "[program]\nfiles = [\"b.olg\", \"below.olg/c.olg\"]\n\
            [run]\nnodes = 3\njson = true\nstats = false\nfact = [\"p(1)\", \"p(2)\"]\n\
            D = \"A=1\"\narguments = [\"x\", 7]\n[sim]\nloss = 0.5\n\
            [sim.devices]\neth0 = \"link:lan\"\n\"eth1.7\" = \"pcap:in.pcap\"\n";
        let place = TestFolder::new("settings", Some(text));
        let folder = Folder::read(&place.0).expect("right");
        assert_eq!(folder.files, [place.0.join("b.olg"), place.0.join("below.olg/c.olg")]);
        let mut words = folder.options("run").words;
        sort::by(&mut words, Ord::cmp);
        let expected = ["--fact=p(1)", "--fact=p(2)", "--json", "--nodes=3", "-DA=1"];
        assert_eq!(words, expected);
        assert_eq!(folder.options("run").arguments, ["x", "7"]);
        assert_eq!(folder.options("sim").words, ["--loss=0.5"]);
        let capture = SimDevice::Capture(place.0.join("in.pcap"));
        let link = SimDevice::Link("lan".to_owned());
        let devices = [("eth0".to_owned(), link), ("eth1.7".to_owned(), capture)];
        assert_eq!(folder.devices, devices.into());
    }

    #[test]
    fn all_that_is_wrong_is_found_with_its_place() {
        let place = TestFolder::new("wrong", Some("[run]\nnodes = {}\n[simm]\nx = 1\n"));
        assert_eq!(
            place.errors(),
            "tidemill.toml:2:9: error[settings]: this is no value of an option\n  \
             help: an option has a text, a number, true, or a list\n\
             tidemill.toml:3:2: error[settings]: there is no section [simm]\n  \
             help: is [sim] meant?\n"
        );
        let place = TestFolder::new("devices", Some("[sim.devices]\neth0 = \"lan\"\n"));
        assert_eq!(
            place.errors(),
            "tidemill.toml:2:9: error[settings]: not a stand-in for a device\n  \
             help: write \"link:NAME\" or \"pcap:FILE\"\n"
        );
        let place = TestFolder::new("broken", Some("[run\n"));
        assert!(place.errors().starts_with("tidemill.toml:1:"), "{}", place.errors());
        let place = TestFolder::new("empty", Some("[program]\nfiles = []\n"));
        assert!(place.errors().contains("the program has no files"), "{}", place.errors());
    }
}
