//! `proto convert`, `decode`, `encode` and `bench`.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use tidemill::messages::{ColumnForm, ConvertError, Converter, Counts, Engine, Form};
use tidemill::schemas::load_schemas;
use tidemill_wire::Schema;

use crate::args::{DecoderKind, InputForm, MessagesArgs, OutputForm};
use crate::output::explain_failure;
use crate::report::Reporter;
use crate::status::Status;

/// The period of progress reports on a terminal.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// The minimum duration of a measurement.
const BENCH_TIME: Duration = Duration::from_millis(500);

/// Converts the input; `from` and `to` are defaults.
pub fn convert(args: &MessagesArgs, from: Form, to: OutputForm, report: Reporter) -> Status {
    let from = args.from.map_or(from, input_form);
    let to = match output_form(args.to.unwrap_or(to)) {
        Target::Messages(form) => form,
        Target::Columns(form) => return convert_to_columns(args, from, form, report),
    };
    with_converter(args, report, |converter| {
        let input = match open(args) {
            Ok(input) => input,
            Err(error) => return failed(args, &ConvertError::Read(error), report),
        };
        let mut progress = Progress::new();
        let mut output = io::stdout().lock();
        let done = converter.convert(input, from, &mut output, to, &mut |counts| {
            progress.show(counts);
        });
        progress.end();
        match done.and_then(|_| output.flush().map_err(ConvertError::Write)) {
            Ok(()) => Status::Fine,
            Err(ConvertError::Write(error)) => explain_failure(&error),
            Err(error) => failed(args, &error, report),
        }
    })
}

/// Converts the input repeatedly and prints the throughput.
pub fn bench(args: &MessagesArgs, report: Reporter) -> Status {
    let to = output_form(args.to.unwrap_or(OutputForm::Json));
    let from = args.from.map_or(Form::Binary, input_form);
    with_converter(args, report, |converter| {
        let mut input = Vec::new();
        if let Err(error) = open(args).and_then(|mut file| file.read_to_end(&mut input)) {
            return failed(args, &ConvertError::Read(error), report);
        }
        // The first round compiles the decoder, and is not measured.
        let (mut start, mut rounds) = (None, 0u32);
        let (counts, start) = loop {
            let done = match to {
                Target::Messages(to) => {
                    converter.convert(&*input, from, &mut io::sink(), to, &mut |_| ())
                }
                Target::Columns(to) => {
                    converter.convert_to_columns(&*input, from, io::sink(), to, &mut |_| ())
                }
            };
            match done {
                Ok(counts) => match start {
                    None => start = Some(Instant::now()),
                    Some(start) => {
                        rounds += 1;
                        if start.elapsed() >= BENCH_TIME {
                            break (counts, start);
                        }
                    }
                },
                Err(error) => return failed(args, &error, report),
            }
        };
        let seconds = start.elapsed().as_secs_f64() / f64::from(rounds);
        let rate = |amount: u64| amount as f64 / seconds / 1e6;
        let mut out = crate::output::Out::new();
        out.write(&format!(
            "{} messages, {} bytes in, {} bytes out, {rounds} rounds\n\
             input   {:.1} MB/s\noutput  {:.1} MB/s\nmessages {:.3} million/s\n",
            counts.messages,
            counts.input_bytes,
            counts.output_bytes,
            rate(counts.input_bytes),
            rate(counts.output_bytes),
            rate(counts.messages),
        ));
        out.finish()
    })
}

fn with_converter(
    args: &MessagesArgs,
    report: Reporter,
    work: impl FnOnce(&Converter<'_>) -> Status,
) -> Status {
    let compiled = load_schemas(&args.schema.files, &args.schema.includes);
    report.diagnostics(&compiled.sources, &compiled.diagnostics);
    let Some(schema) = compiled.schema else { return Status::Failed };
    let Some(message) = schema.message_by_name(&args.message) else {
        report.error(&no_message(&schema, &args.message));
        return Status::Failed;
    };
    let paths: Option<Vec<&str>> = args.select.as_deref().map(|paths| paths.split(',').collect());
    let engine = match args.engine {
        Some(DecoderKind::Native) => Engine::Native,
        Some(DecoderKind::Table) | None => Engine::Table,
    };
    match Converter::new(&schema, message, paths.as_deref(), engine) {
        Ok(converter) => work(&converter),
        Err(error) => {
            report.error(&format!("--select: {error}"));
            Status::Failed
        }
    }
}

/// The error for an unknown message name.
pub fn no_message(schema: &Schema, name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    let similar = schema.messages().map(|id| schema.message(id));
    let mut similar = similar.filter(|one| one.name().eq_ignore_ascii_case(last));
    match similar.next() {
        None => format!("the schema has no message `{name}`"),
        Some(one) => format!("the schema has no message `{name}`; is {} meant?", one.full_name()),
    }
}

fn input_form(form: InputForm) -> Form {
    match form {
        InputForm::Binary => Form::Binary,
        InputForm::Delimited => Form::Delimited,
        InputForm::Json => Form::Json,
        InputForm::Text => Form::Text,
    }
}

/// The form of the output.
#[derive(Clone, Copy)]
enum Target {
    Messages(Form),
    Columns(ColumnForm),
}

fn output_form(form: OutputForm) -> Target {
    Target::Messages(match form {
        OutputForm::Binary => Form::Binary,
        OutputForm::Delimited => Form::Delimited,
        OutputForm::Json => Form::Json,
        OutputForm::Text => Form::Text,
        OutputForm::Arrow => return Target::Columns(ColumnForm::Arrow),
        OutputForm::Parquet => return Target::Columns(ColumnForm::Parquet),
    })
}

fn convert_to_columns(args: &MessagesArgs, from: Form, to: ColumnForm, report: Reporter) -> Status {
    with_converter(args, report, |converter| {
        match converter.without_column() {
            Ok(paths) => paths.iter().for_each(|path| {
                report.warn(&format!("{path} leads back to a message around it: it has no column"));
            }),
            Err(error) => return failed(args, &error, report),
        }
        let input = match open(args) {
            Ok(input) => input,
            Err(error) => return failed(args, &ConvertError::Read(error), report),
        };
        let mut progress = Progress::new();
        let done = converter.convert_to_columns(input, from, io::stdout(), to, &mut |counts| {
            progress.show(counts);
        });
        progress.end();
        match done {
            Ok(_) => Status::Fine,
            Err(ConvertError::Write(error)) => explain_failure(&error),
            Err(error) => failed(args, &error, report),
        }
    })
}

fn input_name(args: &MessagesArgs) -> &str {
    match args.input.as_deref() {
        None | Some("-") => "standard input",
        Some(name) => name,
    }
}

fn open(args: &MessagesArgs) -> io::Result<Box<dyn Read>> {
    Ok(match args.input.as_deref() {
        None | Some("-") => Box::new(io::stdin().lock()),
        Some(name) => Box::new(File::open(name)?),
    })
}

fn failed(args: &MessagesArgs, error: &ConvertError, report: Reporter) -> Status {
    let name = input_name(args);
    match error {
        ConvertError::Message { place: Some((line, column)), message, .. } => {
            report.plain(&format!("{name}:{line}:{column}: error[message]: {message}"));
        }
        _ => report.error(&format!("{name}: {error}")),
    }
    Status::Failed
}

/// Reports messages and bytes so far, on a terminal only.
struct Progress {
    shown: Option<Instant>,
    terminal: bool,
}

impl Progress {
    fn new() -> Progress {
        let terminal = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Progress { shown: None, terminal }
    }

    fn show(&mut self, counts: Counts) {
        if !self.terminal || self.shown.is_some_and(|at| at.elapsed() < PROGRESS_EVERY) {
            return;
        }
        // The first report is delayed until the second: short work shows nothing.
        if self.shown.replace(Instant::now()).is_some() {
            let megabytes = counts.input_bytes as f64 / 1e6;
            let text = format!("\r{} messages, {megabytes:.1} MB ", counts.messages);
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    fn end(&self) {
        if self.terminal && self.shown.is_some() {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
