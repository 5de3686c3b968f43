//! Replaces a folder by its files, and adds the options of its `tidemill.toml`.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches};
use tidemill::program::FileKind;
use tidemill::program::folder::{Folder, FolderErrors};

use super::{Cli, Sources, Verb};

/// Why the command line cannot be expanded.
pub enum ExpandError {
    /// The folder has errors.
    Folder(FolderErrors),
    /// The options of the settings do not fit the verb or the command line.
    Usage(clap::Error),
}

/// Expands a command line that names a folder; options of the command line override those of the
/// folder.
pub fn expand(mut cli: Cli) -> Result<Cli, ExpandError> {
    let Some((verb, sources)) = sources(&mut cli.verb) else { return Ok(cli) };
    let [name] = sources.files.as_slice() else { return Ok(cli) };
    if !Path::new(name).is_dir() {
        return Ok(cli);
    }
    let folder = Folder::read(Path::new(name)).map_err(ExpandError::Folder)?;
    let options = folder.options(verb);
    if !options.words.is_empty() {
        cli = again(verb, options.words).map_err(ExpandError::Usage)?;
    }
    if let Verb::Run(run) = &mut cli.verb
        && run.arguments.is_empty()
    {
        run.arguments = options.arguments;
    }
    match &mut cli.verb {
        Verb::Sim(sim) => sim.devices.settings = folder.devices,
        Verb::Test(test) => test.devices.settings = folder.devices,
        Verb::Explain(explain) => explain.simulated.devices = folder.devices,
        _ => {}
    }
    // Schemas have no formatter.
    let is_left_out = |file: &Path| verb == "fmt" && FileKind::of(file) == Some(FileKind::Schemas);
    let files = folder.files.iter().filter(|file| !is_left_out(file));
    if let Some((_, sources)) = self::sources(&mut cli.verb) {
        sources.files = files.map(|file| file.display().to_string()).collect();
    }
    Ok(cli)
}

/// Parses the command line again, with further options before those of its verb, except for those
/// that conflict with an option of the command line.
fn again(verb: &str, mut options: Vec<String>) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let given = Cli::command().try_get_matches_from(&words)?;
    if let (Some(given), Some(command)) =
        (given.subcommand_matches(verb), built().find_subcommand(verb))
    {
        options.retain(|option| !is_ruled_out(command, given, option));
    }
    let at = words.iter().skip(1).position(|word| word == verb).map_or(words.len(), |at| at + 2);
    words.splice(at..at, options.into_iter().map(OsString::from));
    let mut matches = Cli::command().args_override_self(true).try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// The command with the options of all its verbs.
fn built() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Whether an option, `--listen=localhost:0`, conflicts with a given one.
fn is_ruled_out(command: &clap::Command, given: &ArgMatches, option: &str) -> bool {
    let name = option.strip_prefix("--").map(|option| option.split('=').next().unwrap_or(option));
    let of_name = |arg: &&Arg| arg.get_long().is_some() && arg.get_long() == name;
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
        _ => return None,
    })
}
