//! A folder in place of files: its program, and the options of its `tidemill.toml`.

use std::ffi::OsString;
use std::path::Path;

use clap::{CommandFactory, FromArgMatches};
use tidemill::program::FileKind;
use tidemill::program::folder::{Folder, Wrong};

use super::{Cli, Sources, Verb};

/// Why the folder is not the program that the command line means.
pub enum Refused {
    /// Something in it is wrong.
    Folder(Wrong),
    /// The options of its settings, with those of the command line.
    Usage(clap::Error),
}

/// The command line, with what a folder stands for if it names one; its own options win.
pub fn expand(mut cli: Cli) -> Result<Cli, Refused> {
    let Some((verb, sources)) = sources(&mut cli.verb) else { return Ok(cli) };
    let [name] = sources.files.as_slice() else { return Ok(cli) };
    if !Path::new(name).is_dir() {
        return Ok(cli);
    }
    let folder = Folder::read(Path::new(name)).map_err(Refused::Folder)?;
    let options = folder.options(verb);
    if !options.words.is_empty() {
        cli = again(verb, options.words).map_err(Refused::Usage)?;
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
    // There is no common layout of schemas.
    let is_left_out = |file: &Path| verb == "fmt" && FileKind::of(file) == Some(FileKind::Schemas);
    let files = folder.files.iter().filter(|file| !is_left_out(file));
    if let Some((_, sources)) = self::sources(&mut cli.verb) {
        sources.files = files.map(|file| file.display().to_string()).collect();
    }
    Ok(cli)
}

/// Parses the command line again, with more options before those that it has for its verb.
fn again(verb: &str, options: Vec<String>) -> Result<Cli, clap::Error> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let at = words.iter().skip(1).position(|word| word == verb).map_or(words.len(), |at| at + 2);
    words.splice(at..at, options.into_iter().map(OsString::from));
    let mut matches = Cli::command().args_override_self(true).try_get_matches_from(words)?;
    Cli::from_arg_matches_mut(&mut matches)
}

/// The name of a verb that takes sources, and these.
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
