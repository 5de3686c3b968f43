//! What `run` and `sim` have in common: loading, the console, statistics.

use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use signal_hook::consts::SIGHUP;
use signal_hook::low_level::pipe;
use tidemill::ask::{AskError, Asker, RunAddress};
use tidemill::console::{Console, Form};
use tidemill::cost::peak_bytes;
use tidemill::history::{self, Model, ModelName};
use tidemill::keys::Token;
use tidemill::profile;
use tidemill::program::folder::CODE;
use tidemill::program::{FileKind, Kinds, Program};
use tidemill::run::Report;
use tidemill::service::{Manager, Service};
use tidemill::summary::{RuleTotals, Summary};
use tidemill_diag::{Diagnostic, Sources as Texts, has_errors};
use tidemill_event::{Os, User};
use tidemill_overlog::fleet::Seal;

use crate::args::{Define, Keys, Sources};
use crate::report::Reporter;
use crate::status::Status;
use crate::verbs::{components, packets};

/// Reports diagnostics, and fails if there are errors.
pub fn report_all(sources: &Texts, found: &[Diagnostic], report: Reporter) -> Result<(), Status> {
    report.diagnostics(sources, found);
    if has_errors(found) { Err(Status::Failed) } else { Ok(()) }
}

/// Refuses a program in which nothing runs.
pub fn refuse_idle(kinds: Kinds, report: Reporter) -> Result<(), Status> {
    let is_idle = kinds.has(FileKind::Schemas) && kinds.iter().count() == 1;
    if is_idle {
        return Err(failed(report, "the program has schemas only: nothing in it runs"));
    }
    Ok(())
}

/// Refuses options without effect. Each note begins with its option, which may be from the settings
/// of a folder.
pub fn refuse(unused: &[String], report: Reporter) -> Result<(), Status> {
    let of_settings = |note: &String| {
        let origin = report.origin()?;
        let at = origin.option(note.split(' ').next()?)?;
        Some((origin, Diagnostic::error(CODE, at, note)))
    };
    let mut status = Status::Failed;
    for note in unused {
        match of_settings(note) {
            Some((origin, wrong)) => report.diagnostics(&origin.sources, &[wrong]),
            None => {
                report.error(note);
                status = Status::Usage;
            }
        }
    }
    if unused.is_empty() { Ok(()) } else { Err(status) }
}

/// Refuses `--root` if the program uses no files.
pub fn refuse_root(root: Option<&Path>, program: &Program, report: Reporter) -> Result<(), Status> {
    if root.is_none() || program.uses_files() {
        return Ok(());
    }
    let line = "--root has no effect here: it concerns components and files that rules write, and \
                the program has neither";
    refuse(&[line.to_owned()], report)
}

/// Loads the model for histories, if there is one; refuses it if the program records none.
pub fn model(
    name: Option<&ModelName>,
    (sources, program): (&Sources, &Program),
    report: Reporter,
) -> Result<Option<Model>, Status> {
    let Some(name) = name else { return Ok(None) };
    if !program.rules.program.as_ref().is_some_and(history::is_recorded) {
        let line = "--linearizable has no effect here: the program has no relation history(@N, \
                    Client, Operation, Argument, Result, Invoked, Returned)";
        refuse(&[line.to_owned()], report)?;
    }
    let mut texts = Texts::default();
    let (model, found) = name.load(&sources.loading(), &mut texts);
    report_all(&texts, &found, report)?;
    Ok(model)
}

/// Becomes readable with each SIGHUP.
pub fn hang_ups() -> io::Result<UnixStream> {
    let (stream, write) = UnixStream::pair()?;
    pipe::register(SIGHUP, write)?;
    Ok(stream)
}

/// Reads the key files, if there are any.
pub fn seal(args: &Keys, report: Reporter) -> Result<Option<Seal>, Status> {
    let Some(key) = &args.key else { return Ok(None) };
    let read = tidemill::keys::seal(key, args.identity.as_ref(), args.peers.as_ref());
    read.map(Some).map_err(|error| failed(report, error))
}

/// Reads the file of a token, if there is one.
pub fn token(file: Option<&PathBuf>, report: Reporter) -> Result<Option<Token>, Status> {
    let token = file.map(|path| tidemill::keys::token(path)).transpose();
    token.map_err(|error| failed(report, error))
}

/// A client for the node of an address, over the network if a token is given.
pub fn asker(address: &str, token: Option<&PathBuf>) -> Result<Asker, AskError> {
    let token = token.map(|path| tidemill::keys::token(path)).transpose()?;
    let whom = RunAddress::node(address, token)?;
    let host = Os::new().map_err(AskError::NoQueue)?;
    Ok(Asker::new(Box::new(host), whom))
}

/// The service role of the run, from its options and environment.
pub fn service(user: Option<User>, report: Reporter) -> Result<Service, Status> {
    let manager = Manager::of_environment().map_err(|message| failed(report, &message))?;
    Ok(Service { user, manager })
}

/// Reports an error that ends the command.
pub fn failed(report: Reporter, message: impl Display) -> Status {
    report.error(&message.to_string());
    Status::Failed
}

/// The landmark set by `-D LANDMARK="host:port"`, which also applies to tuples of the command line.
pub fn landmark(defines: &[Define]) -> Option<String> {
    let define = defines.iter().rfind(|define| define.name == "LANDMARK")?;
    let text = define.value.strip_prefix('"')?.strip_suffix('"')?;
    Some(text.to_owned())
}

/// Data on standard output, notes on standard error.
pub fn console(form: Form, report: Reporter) -> Console {
    // Locks once: the console writes large blocks, and is the only writer.
    let stdout = io::stdout().lock();
    let is_watched = stdout.is_terminal();
    let console = Console::new(form, Box::new(stdout), report.notes());
    if is_watched { console.eager() } else { console }
}

/// Writes the cost of rules: as a flame graph to a `.svg` file, else as folded stacks.
pub fn write_profile(path: Option<&Path>, ended: &Report, report: Reporter) -> Result<(), Status> {
    let (Some(path), Some(profile)) = (path, &ended.profile) else { return Ok(()) };
    let text = if path.extension().is_some_and(|extension| extension == "svg") {
        profile::flame_graph(profile)
    } else {
        profile::folded(profile)
    };
    let name = path.display();
    fs::write(path, text)
        .map_err(|error| failed(report, format!("{name}: cannot write the profile: {error}")))
}

/// Prints the counters for `--stats`.
pub fn print_stats(ended: &Report, report: Reporter) {
    let nodes = ended.nodes.as_ref();
    let mut text = nodes.map_or(String::new(), node_stats);
    text.push_str(&ended.components.as_ref().map_or(String::new(), components::stats));
    text.push_str(&ended.packets.as_ref().map_or(String::new(), packets::stats));
    text.push_str(&border_stats(&ended.borders));
    // Components alone count their own resources.
    let has_rules = nodes.is_some_and(|nodes| nodes.rules.rules > 0);
    let own = ended.components.as_ref().filter(|_| !has_rules);
    if let Some(bytes) = own.map(|own| own.peak_bytes).or_else(peak_bytes) {
        text.push_str(&format!("peak memory: {bytes} bytes\n"));
    }
    // If standard error is closed, there is nowhere to report that.
    let _ = report.notes().write_all(text.as_bytes());
}

/// Nodes, rules, turns and tables, a line each.
fn node_stats(summary: &Summary) -> String {
    let RuleTotals { rules, fired, derived, failed } = summary.rules;
    let mut text = format!("nodes: {} created, {} alive\n", summary.nodes, summary.alive);
    text.push_str(&format!("rules: {rules}, {fired} fired, {derived} tuples derived"));
    text.push_str(&format!(", {failed} failed\nturns: {}\n", summary.turns));
    for (table, rows) in &summary.tables {
        text.push_str(&format!("{table}: {rows} rows\n"));
    }
    text
}

/// The counters of borders, a line each.
fn border_stats(borders: &[(String, u64)]) -> String {
    let mut text = String::new();
    for (name, count) in borders.iter().filter(|(_, count)| *count > 0) {
        let (border, counter) = name.rsplit_once('/').unwrap_or(("", name));
        text.push_str(&format!("border {border}: {counter} {count}\n"));
    }
    text
}
