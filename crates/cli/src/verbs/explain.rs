//! `explain` and `schema`.

use tidemill::graph::{self, Graph};
use tidemill::messages::{decoder_listing, layout_text};
use tidemill::program::{Kinds, Program};
use tidemill_overlog::control;
use tidemill_wire::{MessageId, Schema};

use super::{Relations, components, outside, packets};
use crate::Status;
use crate::args::{ExplainArgs, Form, PrintedArgs, Sources, unused};
use crate::output::Out;
use crate::report::Reporter;

/// Explains each part of a program: tree, plan or code, and graph, or one drawing.
pub fn explain(args: &ExplainArgs, report: Reporter) -> Status {
    let kinds = Kinds::of(&args.sources.files);
    if let Err(status) = outside::refuse(&unused(args, kinds), report) {
        return status;
    }
    let program = super::load(&args.sources, Relations::default(), report);
    if program.has_errors() {
        return Status::Failed;
    }
    let mut out = Out::new();
    match parts(&program, args, &mut out) {
        Ok(()) => out.finish(),
        Err(message) => outside::failed(report, &message),
    }
}

/// The parts of a program in the order of their kinds. A drawing, or code, has those that there
/// are; where one type of message is asked for, the rest of the program is not.
fn parts(program: &Program, args: &ExplainArgs, out: &mut Out) -> Result<(), String> {
    if args.message.is_none() {
        if !args.asm {
            rules(program, args.form, out);
        }
        components::explain(program, args, out)?;
        packets::explain(program, args, out)?;
    }
    match (&program.schema, args.form) {
        (Some(schema), Form::Text) => messages(schema, args, out),
        _ => Ok(()),
    }
}

/// Prints tree, plan and graph of rules, or draws the graph.
fn rules(program: &Program, form: Form, out: &mut Out) {
    let Some(rules) = &program.rules.program else { return };
    let graph = Graph::new(rules);
    match form {
        Form::Text => {
            out.write(&format!("tree\n\n{}", program.rules.tree));
            out.write(&format!("\nplan\n\n{}", rules.plan));
            out.write(&format!("\ngraph\n\n{}", graph::text(&graph)));
        }
        form => draw(&graph, form, out),
    }
}

/// Draws a graph.
pub fn draw(graph: &Graph, form: Form, out: &mut Out) {
    out.write(&match form {
        Form::Text => graph::text(graph),
        Form::Dot => graph::dot(graph),
        Form::Mermaid => graph::mermaid(graph),
        Form::Svg => graph::svg::draw(graph),
    });
}

/// Prints how messages of a schema lie in memory, or the machine code that decodes them: of one
/// type, or of all.
fn messages(schema: &Schema, args: &ExplainArgs, out: &mut Out) -> Result<(), String> {
    let chosen: Vec<MessageId> = match &args.message {
        None => schema.messages().collect(),
        Some(name) => match schema.message_by_name(name) {
            Some(message) => vec![message],
            None => return Err(super::messages::no_message(schema, name)),
        },
    };
    for message in chosen {
        match args.asm {
            false => out.write(&layout_text(schema, message)),
            true => {
                let listing = decoder_listing(schema, message);
                out.write(&listing.map_err(|error| format!("--asm: {error}"))?);
            }
        }
    }
    Ok(())
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
    let Some(program) = &loaded.rules.program else { return Status::Failed };
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
