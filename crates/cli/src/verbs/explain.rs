//! `explain` and `schema`.

use std::fmt::Display;

use tidemill::error::Error;
use tidemill::graph;
use tidemill::messages::{decoder_listing, layout_text};
use tidemill::program::{FileKind, Kinds, Program};
use tidemill_overlog::control;
use tidemill_overlog::node::listing;
use tidemill_wire::{MessageId, Schema};

use super::{Relations, common, components, packets, profile};
use crate::args::{ExplainArgs, Form, PrintedArgs, unused};
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Explains a program: tree, plan or code of each part, layouts of messages, then the whole graph;
/// or one drawing; or machine code.
pub fn explain(args: &ExplainArgs, report: Reporter) -> Status {
    let kinds = Kinds::of(&args.sources.files);
    if let Err(status) = common::refuse(&unused(args, kinds), report) {
        return status;
    }
    if args.profile {
        return profile::explain(args, report);
    }
    let program = super::load(&args.sources, Relations::default(), report);
    if program.has_errors() {
        return Status::Failed;
    }
    let mut out = Out::new();
    match explained(&program, args, &mut out) {
        Ok(()) => out.finish(),
        Err(error) => common::failed(report, error),
    }
}

/// No machine code can be listed.
fn no_code(error: impl Display) -> Error {
    Error::Program(format!("--asm: {error}"))
}

/// With `--type`, explains only that message type.
fn explained(program: &Program, args: &ExplainArgs, out: &mut Out) -> Result<(), Error> {
    let all = args.message.is_none();
    if args.form != Form::Text {
        draw(program, args.form, out);
        return Ok(());
    }
    if all && args.asm {
        if let Some(rules) = &program.rules.program {
            out.write(&listing(&rules.plan).map_err(no_code)?);
        }
        components::list(program, out)?;
        packets::list(program, out)?;
    } else if all {
        rules(program, out);
        components::explain(program, out);
        packets::explain(program, out);
    }
    if let Some(schema) = &program.schema {
        messages(schema, args, out)?;
    }
    let has_graph = program.kinds != Kinds::from_iter([FileKind::Schemas]);
    if all && !args.asm && has_graph {
        if program.schema.is_some() {
            out.write("\n");
        }
        out.write("graph\n\n");
        draw(program, args.form, out);
    }
    Ok(())
}

/// Prints tree and plan of rules.
fn rules(program: &Program, out: &mut Out) {
    let Some(rules) = &program.rules.program else { return };
    out.write(&format!("tree\n\n{}\n", program.rules.tree));
    out.write(&format!("plan\n\n{}\n", rules.plan));
    if let Some(global) = &rules.global {
        out.write(&format!("plan at SIM\n\n{}\n", global.compiled.plan));
    }
}

/// Draws a program.
fn draw(program: &Program, form: Form, out: &mut Out) {
    let graph = graph::drawing(program);
    out.write(&match form {
        Form::Text => graph::text(&graph),
        Form::Dot => graph::dot(&graph),
        Form::Mermaid => graph::mermaid(&graph),
        Form::Svg => graph::svg::draw(&graph),
    });
}

/// Prints the layouts of messages in memory, or the machine code of their decoders: of one type, or
/// of all.
fn messages(schema: &Schema, args: &ExplainArgs, out: &mut Out) -> Result<(), Error> {
    let chosen: Vec<MessageId> = match &args.message {
        None => schema.messages().collect(),
        Some(name) => match schema.message_by_name(name) {
            Some(message) => vec![message],
            None => return Err(Error::Options(super::messages::no_message(schema, name))),
        },
    };
    for message in chosen {
        if args.asm {
            out.write(&decoder_listing(schema, message).map_err(no_code)?);
        } else {
            out.write(&layout_text(schema, message));
        }
    }
    Ok(())
}

/// Prints the message types of a program, or those of the control protocol.
pub fn schema(args: PrintedArgs, report: Reporter) -> Status {
    if args.control {
        let mut out = Out::new();
        out.write(control::PROTO);
        return out.finish();
    }
    let Some(sources) = args.sources else { return Status::Usage };
    let loaded = super::load(&sources, Relations::default(), report);
    if loaded.has_errors() {
        return Status::Failed;
    }
    let Some(program) = &loaded.rules.program else {
        report.note("the program has no rules, so its nodes exchange no tuples");
        return Status::Fine;
    };
    match tidemill_overlog::net::mail::Post::new(program) {
        Ok(post) => {
            let mut out = Out::new();
            out.write(post.schema().text());
            out.finish()
        }
        Err(error) => {
            report.error(&error.to_string());
            Status::Failed
        }
    }
}
