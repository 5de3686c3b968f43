//! What each verb does.

mod explain;
mod fmt;
mod outside;
mod packets;
mod query;
mod run;
mod sim;

use std::path::PathBuf;

use clap::CommandFactory;
use tidemill::load::{LoadOptions, Loaded};
use tidemill_stdx::diag::has_errors;

use crate::Status;
use crate::args::{Cli, Sources};
use crate::output::Out;
use crate::report::Reporter;

pub use explain::{explain, schema};
pub use fmt::fmt;
pub use packets::apps;
pub use query::query;
pub use run::run;
pub use sim::sim;

/// Loads a program and reports what was found.
fn load(sources: &Sources, report: Reporter) -> Loaded {
    let files: Vec<PathBuf> = sources.files.iter().map(PathBuf::from).collect();
    let defines = sources.defines.iter().map(|define| format!("{}={}", define.name, define.value));
    let options = LoadOptions {
        defines: defines.collect(),
        include_dirs: sources.includes.clone(),
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
    let loaded = load(sources, report);
    match has_errors(&loaded.diagnostics) {
        true => Status::Failed,
        false => Status::Fine,
    }
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
