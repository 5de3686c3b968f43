//! What each verb does.

mod components;
mod explain;
mod fmt;
mod interrupt;
mod key;
mod messages;
mod outside;
mod packets;
mod proto;
mod query;
mod run;
mod sim;
mod top;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use tidemill::load::{FileKind, LoadOptions, Loaded};
use tidemill::schemas::is_schema;
use tidemill_stdx::diag::has_errors;

use crate::Status;
use crate::args::{Cli, Sources, unused_in_check};
use crate::output::Out;
use crate::report::Reporter;

pub use explain::{explain, schema};
pub use fmt::fmt;
pub use key::key;
pub use packets::apps;
pub use proto::proto;
pub use query::query;
pub use run::run;
pub use sim::sim;
pub use top::top;

/// What a run knows of relations beside the program.
#[derive(Default)]
struct Relations {
    /// Those that other nodes may send.
    exports: Vec<String>,
    /// Those into which the command line or a script inserts tuples, if nothing else will.
    injected: Option<BTreeSet<String>>,
}

impl Relations {
    /// A program by itself.
    fn nothing_injected() -> Relations {
        Relations { injected: Some(BTreeSet::new()), ..Relations::default() }
    }
}

/// Loads a program and reports what was found.
fn load(sources: &Sources, relations: Relations, report: Reporter) -> Loaded {
    let files: Vec<PathBuf> = sources.files.iter().map(PathBuf::from).collect();
    let defines = sources.defines.iter().map(|define| format!("{}={}", define.name, define.value));
    let options = LoadOptions {
        defines: defines.collect(),
        include_dirs: sources.includes.clone(),
        exports: relations.exports,
        injected: relations.injected,
        ..LoadOptions::default()
    };
    let loaded = tidemill::load::load(&files, &options);
    report.diagnostics(&loaded.sources, &loaded.diagnostics);
    loaded
}

/// `check`.
pub fn check(sources: &Sources, report: Reporter) -> Status {
    if packets::are_meant(sources) {
        return packets::check(sources, report);
    }
    let is_rules = |file: &String| FileKind::of(Path::new(file)) == Some(FileKind::Rules);
    // Beside rules, schemas are what they know: both are loaded together.
    let has_rules = sources.files.iter().any(is_rules);
    let is_schema = |file: &String| !has_rules && is_schema(Path::new(file));
    let (schemas, others): (Vec<String>, _) = sources.files.iter().cloned().partition(is_schema);
    let is_text = |file: &String| {
        let kind = FileKind::of(Path::new(file));
        kind != Some(FileKind::Components)
    };
    let unused = unused_in_check(sources, others.iter().any(is_text), !schemas.is_empty());
    if let Err(status) = outside::refuse(&unused, report) {
        return status;
    }
    let mut fine = true;
    if !schemas.is_empty() {
        let files: Vec<PathBuf> = schemas.into_iter().map(PathBuf::from).collect();
        fine = proto::check_schemas(&files, &sources.includes, report);
    }
    let (graphs, others) = packets::apart(&Sources { files: others, ..sources.clone() });
    if let Some(graphs) = graphs {
        fine &= matches!(packets::check(&graphs, report), Status::Fine);
    }
    if !others.files.is_empty() {
        fine &= match components::are_meant(&others) {
            true => components::load(&others, report).program.is_some(),
            false => !has_errors(&load(&others, Relations::nothing_injected(), report).diagnostics),
        };
    }
    if fine { Status::Fine } else { Status::Failed }
}

/// `functions`.
pub fn functions(name: Option<&str>, report: Reporter) -> Status {
    let mut out = Out::new();
    match name.map(tidemill::catalogue::describe) {
        None => out.write(&tidemill::catalogue::list()),
        Some(Ok(text)) => out.write(&text),
        Some(Err(similar)) => {
            let name = name.unwrap_or_default();
            let hint = match similar.as_slice() {
                [] => String::new(),
                similar => format!("; is {} meant?", similar.join(" or ")),
            };
            report.error(&format!("there is no function `{name}`{hint}"));
            return Status::Failed;
        }
    }
    out.finish()
}

/// `completions`.
pub fn completions(shell: clap_complete::Shell) -> Status {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tidemill", &mut script);
    let mut out = Out::new();
    out.write(&String::from_utf8_lossy(&script));
    out.finish()
}
