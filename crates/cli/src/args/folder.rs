//! Replaces a folder by its files, and adds the options of its `tidemill.toml`.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches};
use tidemill::program::folder::{Folder, Section, SettingValue};
use tidemill_diag::{Diagnostic, Sources as Texts};
use tidemill_stdx::sort;

use super::error::message;
use super::settings::{self, ARGUMENTS, Word};
use super::{Cli, Origin, Sources, Verb};

/// The errors of a folder, and the text that they refer to.
#[derive(Debug)]
pub struct FolderErrors {
    /// The text of the settings.
    pub sources: Texts,
    /// Errors.
    pub diagnostics: Vec<Diagnostic>,
}

/// Expands a command line that names a folder; options of the command line override those of the
/// folder, which are returned with their places.
pub fn expand(mut cli: Cli) -> Result<(Cli, Option<Origin>), Box<FolderErrors>> {
    let Some((verb, sources)) = sources(&mut cli.verb) else { return Ok((cli, None)) };
    let [name] = sources.files.as_slice() else { return Ok((cli, None)) };
    if !Path::new(name).is_dir() {
        return Ok((cli, None));
    }
    let mut folder = Folder::read(Path::new(name));
    let wrong = settings::check(&folder, verb);
    folder.diagnostics.extend(wrong);
    if folder.diagnostics.is_empty()
        && let Some(section) = folder.section(verb)
    {
        match again(verb, section) {
            Ok(whole) => cli = whole,
            Err(wrong) => folder.diagnostics.push(wrong),
        }
    }
    if !folder.diagnostics.is_empty() {
        let Folder { sources, mut diagnostics, .. } = folder;
        sort::by_key(&mut diagnostics, |wrong| wrong.span.start);
        return Err(Box::new(FolderErrors { sources, diagnostics }));
    }
    let section = take(&mut cli, verb, &mut folder);
    let origin = section.map(|section| Origin { sources: folder.sources, section });
    Ok((cli, origin))
}

/// Gives the command line the parts of a folder that are not options; returns the section of the
/// verb.
fn take(cli: &mut Cli, verb: &str, folder: &mut Folder) -> Option<Section> {
    let at = folder.sections.iter().position(|section| section.verb == verb);
    let section = at.map(|at| folder.sections.swap_remove(at));
    if let Verb::Run(run) = &mut cli.verb
        && run.arguments.is_empty()
    {
        run.arguments = section.as_ref().map(arguments).unwrap_or_default();
    }
    if let Some((_, sources)) = sources(&mut cli.verb) {
        sources.files = folder.files.iter().map(|file| file.display().to_string()).collect();
    }
    let devices = std::mem::take(&mut folder.devices);
    match &mut cli.verb {
        Verb::Sim(sim) => sim.devices.settings = devices,
        Verb::Test(test) => test.devices.settings = devices,
        Verb::Explain(explain) => explain.simulated.devices = devices,
        _ => {}
    }
    section
}

/// What follows `--`.
fn arguments(section: &Section) -> Vec<String> {
    let settings = section.settings.iter().filter(|setting| setting.name == ARGUMENTS);
    let words = settings.flat_map(|setting| match &setting.value {
        SettingValue::Words(words) => words.as_slice(),
        SettingValue::Flag(_) => &[],
    });
    words.map(|(word, _)| word.clone()).collect()
}

/// Parses the command line again, with the options of a section before those of its verb, except
/// for those that conflict with an option of the command line.
fn again(verb: &str, section: &Section) -> Result<Cli, Diagnostic> {
    let given: Vec<OsString> = std::env::args_os().collect();
    let mut words = settings::words(section);
    let matches = Cli::command().try_get_matches_from(&given);
    if let (Ok(matches), Some(command)) = (&matches, built().find_subcommand(verb))
        && let Some(matches) = matches.subcommand_matches(verb)
    {
        words.retain(|word| !is_ruled_out(command, matches, word));
    }
    let parse = |words: &[&Word]| {
        let mut all = given.clone();
        let at = all.iter().skip(1).position(|word| word == verb).map_or(all.len(), |at| at + 2);
        all.splice(at..at, words.iter().map(|word| OsString::from(&word.text)));
        let mut matches = Cli::command().args_override_self(true).try_get_matches_from(all)?;
        Cli::from_arg_matches_mut(&mut matches)
    };
    let all: Vec<&Word> = words.iter().collect();
    parse(&all).map_err(|error| {
        // The command line alone is right, so an option of the section causes this: one without
        // which the rest is right.
        let is_cause = |word: &&Word| {
            let others: Vec<&Word> = words.iter().filter(|other| other.key != word.key).collect();
            parse(&others).is_ok()
        };
        let at = words.iter().find(is_cause).map_or(section.span, |word| word.key);
        settings::error(at, message(&error))
    })
}

/// The command with the options of all its verbs.
fn built() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Whether an option conflicts with a given one.
fn is_ruled_out(command: &clap::Command, given: &ArgMatches, word: &Word) -> bool {
    let of_name = |arg: &&Arg| arg.get_long().is_some() && arg.get_long() == word.long.as_deref();
    let Some(own) = command.get_arguments().find(of_name) else { return false };
    let is_given =
        |arg: &&Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let conflict = |a: &Arg, b: &Arg| {
        command.get_arg_conflicts_with(a).iter().any(|other| other.get_id() == b.get_id())
    };
    command.get_arguments().filter(is_given).any(|arg| conflict(own, arg) || conflict(arg, own))
}

/// The name of a verb with sources, and its sources.
fn sources(verb: &mut Verb) -> Option<(&'static str, &mut Sources)> {
    Some(match verb {
        Verb::Run(args) => ("run", &mut args.sources),
        Verb::Sim(args) => ("sim", &mut args.sources),
        Verb::Test(args) => ("test", &mut args.sources),
        Verb::Explore(args) => ("explore", &mut args.sources),
        Verb::Check(sources) => ("check", sources),
        Verb::Fmt { sources, .. } => ("fmt", sources),
        Verb::Explain(args) => ("explain", &mut args.sources),
        Verb::Schema(args) => ("schema", args.sources.as_mut()?),
        _ => return None,
    })
}
