//! The `tidemill` command.
//!
//! Parses arguments, calls the library `tidemill`, and turns results into text and an exit status:
//! data on standard output, everything else on standard error. It holds no logic of its own beyond
//! that.
//!
//! | part | holds |
//! |---|---|
//! | `args` | verbs, options, help |
//! | `verbs` | implementations of verbs |
//! | `report` | diagnostics and notes on standard error |
//! | `output` | data on standard output, closed pipes and full disks |
//! | `status` | exit statuses |
#![forbid(unsafe_code)]

mod args;
mod output;
mod report;
mod status;
mod verbs;

use std::fmt;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use tidemill_stdx::log::{self, AlreadySet, FilterError, Filters};

use args::{Cli, Global, Origin, Verb};
use output::Out;
use report::Reporter;
use status::Status;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let status = match Cli::try_parse() {
        Ok(cli) => expand_and_run(cli),
        Err(error) => explain_usage(&error),
    };
    ExitCode::from(status as u8)
}

/// Runs a command line, in which a folder is expanded.
fn expand_and_run(cli: Cli) -> Status {
    let report = Reporter::new(cli.global.color, cli.global.quiet);
    match args::expand(cli) {
        Ok((cli, origin)) => {
            // What the settings of the folder say is reported at its place until the process ends.
            let origin = origin.map(|origin| &*Box::leak(Box::new(origin)));
            run(cli, origin)
        }
        Err(wrong) => {
            report.diagnostics(&wrong.sources, &wrong.diagnostics);
            Status::Failed
        }
    }
}

/// Help and version are data; anything else is a usage error.
fn explain_usage(error: &clap::Error) -> Status {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let mut out = Out::new();
            out.write(&error.render().to_string());
            out.finish()
        }
        _ => {
            // If standard error is closed, there is nowhere to report that.
            let _ = error.print();
            Status::Usage
        }
    }
}

fn run(cli: Cli, origin: Option<&'static Origin>) -> Status {
    let report = Reporter::new(cli.global.color, cli.global.quiet).with_origin(origin);
    let report = match start_log(&cli.global) {
        Ok(Lines::Text) => report,
        Ok(Lines::Json) => report.json(),
        Err(error) => {
            report.error(&error.to_string());
            return Status::Usage;
        }
    };
    match cli.verb {
        Verb::Run(args) => verbs::run(args, report),
        Verb::Sim(args) => verbs::sim(args, report),
        Verb::Test(args) => verbs::test(args, report),
        Verb::Explore(args) => verbs::explore(args, report),
        Verb::Check(sources) => verbs::check(&sources, report),
        Verb::Fmt { check, sources } => verbs::fmt(check, &sources, report),
        Verb::Explain(args) => verbs::explain(&args, report),
        Verb::Schema(args) => verbs::schema(args, report),
        Verb::Proto(args) => verbs::proto(&args, report),
        Verb::Query(args) => verbs::query(args, report),
        Verb::Why(args) => verbs::why(args, report),
        Verb::Install(args) => verbs::install(&args, report),
        Verb::Uninstall(args) => verbs::uninstall(&args, report),
        Verb::Functions { name } => verbs::functions(name.as_deref(), report),
        Verb::Apps { name } => verbs::apps(name.as_deref(), report),
        Verb::Top(args) => verbs::top(&args, report),
        Verb::Key(args) => verbs::key(&args, report),
        Verb::Completions { shell } => verbs::completions(shell),
    }
}

/// The format of lines on standard error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lines {
    /// Text.
    Text,
    /// A JSON object a line.
    Json,
}

/// Why there is no log.
#[derive(Debug)]
enum LogError {
    /// `--log` is malformed.
    Filters(FilterError),
    /// This process has one.
    AlreadySet(AlreadySet),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Filters(error) => write!(f, "--log: {error}"),
            LogError::AlreadySet(error) => error.fmt(f),
        }
    }
}

/// Starts the log as requested by `--log`, or else by `-v` and `-q`.
fn start_log(global: &Global) -> Result<Lines, LogError> {
    let spec = match (&global.log, global.quiet, global.verbose) {
        (Some(spec), ..) => spec.as_str(),
        (None, true, _) => "error",
        (None, false, 0) => "warn",
        (None, false, 1) => "info",
        (None, false, 2) => "debug",
        (None, false, _) => "trace,place",
    };
    let filters = Filters::parse(spec).map_err(LogError::Filters)?;
    let (form, output) = if filters.is_json() {
        (Lines::Json, log::json_lines(std::io::stderr(), report::now_ns))
    } else {
        (Lines::Text, log::lines(std::io::stderr()))
    };
    log::init(filters, output).map_err(LogError::AlreadySet)?;
    Ok(form)
}
