//! `explain` and `schema`.

use std::path::{Path, PathBuf};

use tidemill::graph::{self, Graph};
use tidemill::messages::{decoder_listing, layout_text};
use tidemill::schemas::{is_schema, load_schemas};
use tidemill_overlog::control;
use tidemill_wire::MessageId;

use super::Relations;
use super::outside;
use super::packets;
use crate::Status;
use crate::args::{ExplainArgs, Form, PrintedArgs, Sources, unused, unused_explaining_schemas};
use crate::output::Out;
use crate::report::Reporter;

/// Prints tree, plan and graph, or draws the graph.
pub fn explain(args: &ExplainArgs, report: Reporter) -> Status {
    if packets::are_meant(&args.sources) {
        return packets::explain(args, report);
    }
    if super::components::are_meant(&args.sources) {
        return super::components::explain(args, report);
    }
    if args.sources.files.iter().all(|file| is_schema(Path::new(file))) {
        return messages(args, report);
    }
    if let Err(status) = outside::refuse(&unused(args), report) {
        return status;
    }
    let loaded = super::load(&args.sources, Relations::default(), report);
    let Some(program) = &loaded.program else { return Status::Failed };
    let graph = Graph::new(program);
    let mut out = Out::new();
    match args.form {
        Form::Text => {
            out.write(&format!("tree\n\n{}", loaded.tree));
            out.write(&format!("\nplan\n\n{}", program.plan));
            out.write(&format!("\ngraph\n\n{}", graph::text(&graph)));
        }
        Form::Dot => out.write(&graph::dot(&graph)),
        Form::Mermaid => out.write(&graph::mermaid(&graph)),
        Form::Svg => out.write(&graph::svg::draw(&graph)),
    }
    out.finish()
}

/// Prints how messages of a schema lie in memory, or the machine code that decodes them: of one
/// type, or of all.
fn messages(args: &ExplainArgs, report: Reporter) -> Status {
    if let Err(status) = outside::refuse(&unused_explaining_schemas(args), report) {
        return status;
    }
    let files: Vec<PathBuf> = args.sources.files.iter().map(PathBuf::from).collect();
    let compiled = load_schemas(&files, &args.sources.includes);
    report.diagnostics(&compiled.sources, &compiled.diagnostics);
    let Some(schema) = compiled.schema else { return Status::Failed };
    let chosen: Vec<MessageId> = match &args.message {
        None => schema.messages().collect(),
        Some(name) => match schema.message_by_name(name) {
            Some(message) => vec![message],
            None => {
                report.error(&super::messages::no_message(&schema, name));
                return Status::Failed;
            }
        },
    };
    let mut out = Out::new();
    for message in chosen {
        if !args.asm {
            out.write(&layout_text(&schema, message));
            continue;
        }
        match decoder_listing(&schema, message) {
            Ok(listing) => out.write(&listing),
            Err(error) => {
                report.error(&format!("--asm: {error}"));
                return Status::Failed;
            }
        }
    }
    out.finish()
}

/// Prints the messages of a program, or those of tools.
pub fn schema(args: PrintedArgs, report: Reporter) -> Status {
    if args.control {
        let mut out = Out::new();
        out.write(control::PROTO);
        return out.finish();
    }
    let PrintedArgs { files, defines, includes, .. } = args;
    let sources = Sources { files, defines, includes };
    let loaded = super::load(&sources, Relations::default(), report);
    let Some(program) = &loaded.program else { return Status::Failed };
    match tidemill_overlog::net::mail::Post::new(program) {
        Ok(post) => {
            let mut out = Out::new();
            out.write(post.schema().text());
            out.finish()
        }
        Err(message) => {
            report.error(&message);
            Status::Failed
        }
    }
}
