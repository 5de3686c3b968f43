//! The settings of a folder as options of verbs: checks each key and value by itself.

use std::error::Error;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, CommandFactory};
use tidemill::program::folder::{CODE, Folder, Section, Setting, SettingValue, VERBS};
use tidemill_diag::{Diagnostic, Span, meant};

use super::Cli;
use super::error::ValueError;

/// The key of what follows `--`, and the verb that takes it.
pub(super) const ARGUMENTS: &str = "arguments";
pub(super) const WITH_ARGUMENTS: &str = "run";

/// Options that name a file that is read.
const INPUTS: [&str; 5] = ["script", "key", "identity", "peers", "token-file"];

/// An option of a section as a word of a command line: `--nodes=3`, `--json`, `-D=X=1`.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// The word.
    pub(super) text: String,
    /// The long option, if it is one.
    pub(super) long: Option<String>,
    /// The place of its key.
    pub(super) key: Span,
}

/// The errors in the settings of a folder, for a command of this verb.
pub(super) fn check(folder: &Folder, verb: &str) -> Vec<Diagnostic> {
    let mut command = Cli::command();
    command.build();
    let mut found = Vec::new();
    for section in &folder.sections {
        let Some(of_verb) = command.find_subcommand(section.verb) else { continue };
        let checker =
            Checker { command: &command, of_verb, section, is_used: section.verb == verb };
        section.settings.iter().for_each(|setting| checker.check(setting, &mut found));
    }
    found
}

/// The words of a checked section.
pub(super) fn words(section: &Section) -> Vec<Word> {
    let options = section.settings.iter().filter(|setting| setting.name != ARGUMENTS);
    let words = options.flat_map(|setting| {
        let name = option(&setting.name);
        let texts = match &setting.value {
            SettingValue::Flag(true) => vec![name],
            SettingValue::Flag(false) => Vec::new(),
            SettingValue::Words(words) => {
                words.iter().map(|(word, _)| format!("{name}={word}")).collect()
            }
        };
        let long = (!is_short(&setting.name)).then(|| setting.name.clone());
        texts.into_iter().map(move |text| Word { text, long: long.clone(), key: setting.key })
    });
    words.collect()
}

/// An error about settings.
pub(super) fn error(at: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(CODE, at, message)
}

fn is_short(name: &str) -> bool {
    matches!(name, "D" | "I")
}

/// The option of a key.
fn option(name: &str) -> String {
    if is_short(name) { format!("-{name}") } else { format!("--{name}") }
}

/// The options of a command that settings may have.
fn options(command: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let is_action = |arg: &&Arg| {
        matches!(
            arg.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        )
    };
    let all = command.get_arguments().filter(move |arg| !is_action(arg));
    all.filter_map(|arg| {
        let short = match arg.get_short() {
            Some('D') => Some("D"),
            Some('I') => Some("I"),
            _ => None,
        };
        Some((arg.get_long().or(short)?, arg))
    })
}

/// Checks the settings of a section.
struct Checker<'c> {
    command: &'c Command,
    of_verb: &'c Command,
    section: &'c Section,
    /// The command is of the verb of the section.
    is_used: bool,
}

impl Checker<'_> {
    fn check(&self, setting: &Setting, found: &mut Vec<Diagnostic>) {
        if setting.name == ARGUMENTS && self.section.verb == WITH_ARGUMENTS {
            if let SettingValue::Flag(_) = setting.value {
                let wrong = error(setting.span, "`arguments` is a list of texts");
                found.push(wrong.help("write arguments = [\"FROM\", \"TO\"]"));
            }
            return;
        }
        let known = options(self.of_verb).find(|(name, _)| *name == setting.name);
        match known {
            Some((_, arg)) => self.value(setting, arg, found),
            None => found.push(self.unknown(setting)),
        }
    }

    /// A key that is no option of the verb.
    fn unknown(&self, setting: &Setting) -> Diagnostic {
        let (name, verb) = (&setting.name, self.section.verb);
        let is_option = |other: &&str| {
            let of_other = self.command.find_subcommand(other);
            of_other.is_some_and(|it| options(it).any(|(option, _)| option == name))
        };
        let others: Vec<&str> = VERBS.into_iter().filter(is_option).collect();
        let known = options(self.of_verb).map(|(option, _)| option);
        let help = match (name.as_str(), others.as_slice()) {
            (ARGUMENTS, _) => "they are for [run]".to_owned(),
            (_, []) => meant(name, known, || format!("`tidemill {verb} --help` lists the options")),
            (_, others) => format!("it is an option of {}", others.join(", ")),
        };
        error(setting.key, format!("`{verb}` has no option `{name}`")).help(help)
    }

    /// The value of an option.
    fn value(&self, setting: &Setting, arg: &Arg, found: &mut Vec<Diagnostic>) {
        let name = &setting.name;
        let takes_values = arg.get_action().takes_values();
        let may_lack_value = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
        match &setting.value {
            SettingValue::Flag(_) if !takes_values || may_lack_value => {}
            SettingValue::Flag(_) => {
                let value = arg.get_value_names().and_then(<[_]>::first);
                let value = value.map_or_else(|| "a value".to_owned(), ToString::to_string);
                let wrong = error(setting.span, format!("`{name}` needs a value, {value}"));
                found.push(wrong);
            }
            SettingValue::Words(_) if !takes_values => {
                found.push(error(setting.span, format!("`{name}` is true or false")));
            }
            SettingValue::Words(words) => {
                if words.len() > 1 && matches!(arg.get_action(), ArgAction::Set) {
                    found.push(error(setting.span, format!("`{name}` has one value")));
                }
                found.extend(words.iter().filter_map(|(word, at)| self.word(setting, word, *at)));
            }
        }
    }

    /// One value of an option, which the parser of the command line checks.
    fn word(&self, setting: &Setting, word: &str, at: Span) -> Option<Diagnostic> {
        let name = &setting.name;
        let words = ["tidemill".to_owned(), self.section.verb.to_owned()];
        let words = words.into_iter().chain([format!("{}={word}", option(name)), ".".to_owned()]);
        let wrong = Cli::command().try_get_matches_from(words.map(OsString::from)).err();
        match wrong {
            Some(wrong) if wrong.kind() == ErrorKind::ValueValidation => {
                let cause = wrong.source()?;
                let own = cause.downcast_ref::<ValueError>();
                // What depends on the machine concerns the verb that runs on it.
                if own.is_some_and(ValueError::is_of_machine) && !self.is_used {
                    return None;
                }
                Some(error(at, format!("`{name}`: {cause}")))
            }
            Some(wrong) if wrong.kind() == ErrorKind::InvalidValue => {
                let known = match wrong.get(ContextKind::ValidValue) {
                    Some(ContextValue::Strings(known)) => known.as_slice(),
                    _ => &[],
                };
                let known = || known.iter().map(String::as_str);
                let list = || format!("it can be {}", known().collect::<Vec<_>>().join(", "));
                let wrong = error(at, format!("`{word}` is no value of `{name}`"));
                Some(wrong.help(meant(word, known(), list)))
            }
            _ => self.missing(setting, word, at),
        }
    }

    /// A file that is read and is not there.
    fn missing(&self, setting: &Setting, word: &str, at: Span) -> Option<Diagnostic> {
        let is_input = INPUTS.contains(&setting.name.as_str());
        let is_missing = self.is_used && is_input && !Path::new(word).exists();
        let help = "paths of options start at the current folder";
        is_missing.then(|| error(at, format!("there is no file `{word}`")).help(help))
    }
}
