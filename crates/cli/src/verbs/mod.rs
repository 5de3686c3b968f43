//! Implementations of verbs.

mod common;
mod compared;
mod components;
mod explain;
mod explore;
mod fmt;
mod install;
mod interrupt;
mod key;
mod messages;
mod mutants;
mod packets;
mod profile;
mod proto;
mod query;
mod run;
mod script_file;
mod sim;
mod test;
mod top;
mod tuples;
mod why;

use std::path::PathBuf;

use clap::CommandFactory;
use tidemill::program::{Kinds, LoadOptions, Parsed, Program};
use tidemill::test::Mutant;
use tidemill_stdx::sorted::SortedSet;

use crate::args::{Cli, Sources, unused};
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

pub use explain::{explain, schema};
pub use explore::explore;
pub use fmt::fmt;
pub use install::{install, uninstall};
pub use key::key;
pub use packets::apps;
pub use proto::proto;
pub use query::query;
pub use run::run;
pub use sim::sim;
pub use test::test;
pub use top::top;
pub use why::why;

/// What is known about a run beyond the program's files.
#[derive(Default)]
struct Relations {
    /// Relations that other nodes may send.
    exports: Vec<String>,
    /// Relations into which the command line or a script inserts tuples, if no other source will.
    injected: Option<SortedSet<String>>,
    /// A mutation of the rules.
    mutant: Option<Mutant>,
}

impl Relations {
    /// A program without further input.
    fn nothing_injected() -> Relations {
        Relations { injected: Some(SortedSet::new()), ..Relations::default() }
    }
}

/// Loads a program and reports its diagnostics.
fn load(sources: &Sources, relations: Relations, report: Reporter) -> Program {
    let program = read(sources, relations);
    report_on(&program, report);
    program
}

/// Reports the diagnostics of a program.
fn report_on(program: &Program, report: Reporter) {
    report.diagnostics(&program.sources, &program.diagnostics);
}

/// Loads a program.
fn read(sources: &Sources, relations: Relations) -> Program {
    parsed(sources, relations).into_program()
}

/// Reads the files of a program.
fn parsed(sources: &Sources, relations: Relations) -> Parsed {
    let files: Vec<PathBuf> = sources.files.iter().map(PathBuf::from).collect();
    let options = LoadOptions {
        exports: relations.exports,
        injected: relations.injected,
        mutant: relations.mutant,
        ..sources.loading()
    };
    Parsed::read(&files, &options)
}

/// `check`.
pub fn check(sources: &Sources, report: Reporter) -> Status {
    if let Err(status) = common::refuse(&unused(sources, Kinds::of(&sources.files)), report) {
        return status;
    }
    let program = load(sources, Relations::nothing_injected(), report);
    if program.has_errors() { Status::Failed } else { Status::Fine }
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
