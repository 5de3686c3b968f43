//! Loading a schema of five thousand messages, from texts and from descriptors: parsed, linked,
//! checked, frozen.
//!
//! The texts are a hundred files, each of which imports two others. A message has nine fields of
//! most kinds, among them messages of its own and of other files, an enum, a map and a oneof.

use std::fmt::Write as _;
use std::hint::black_box;

use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{FieldType, MessageId, Schema};

use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};

const FILES: usize = 100;
/// Each contains an entry of a map.
const MESSAGES_OF_A_FILE: usize = 50;

/// Measures both.
///
/// # Errors
/// A schema differs from its texts.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let texts: Vec<(String, String)> = (0..FILES).map(|at| (name(at), text(at))).collect();
    let names: Vec<&str> = texts.iter().map(|(name, _)| &**name).collect();
    let files: Texts = texts.iter().map(|(name, text)| (&**name, &**text)).collect();
    let from_texts = || {
        let compiled = compile(&names, &files);
        compiled.schema.ok_or_else(|| format!("{:?}", compiled.diagnostics.first()))
    };
    let set = from_texts()?.descriptor_set();
    let from_set = || Schema::from_descriptor_set(&set).map_err(|error| error.to_string());
    report.case(&[measure("load-texts", extent, &set, from_texts)?], Better::Low);
    report.case(&[measure("load-descriptors", extent, &set, from_set)?], Better::Low);
    Ok(())
}

fn measure(
    case: &str,
    extent: Extent,
    set: &[u8],
    load: impl Fn() -> Result<Schema, String>,
) -> Result<Row, String> {
    let runs = if extent.small { 1 } else { 15 };
    let mut figures = Vec::new();
    for _ in 0..runs {
        let (seconds, schema) = cpu_seconds(|| black_box(load()));
        figures.push(seconds * 1e3);
        check(&schema?, set)?;
    }
    Ok(Row::median("proto", case, "tidemill", ("cpu_ms", "ms"), figures))
}

/// Checks that all messages are present and their fields refer to the right types, and that the
/// schema is written as the descriptors of the first one.
fn check(schema: &Schema, set: &[u8]) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("the schema of many messages: {what}"));
    if schema.messages().len() != FILES * MESSAGES_OF_A_FILE * 2 {
        return wrong("messages are missing");
    }
    let find = |file, message| schema.message_by_name(&format!("load{file}.Record{message}"));
    let target = |of: MessageId, number| {
        let field = schema.field(schema.field_by_number(of, number)?);
        match field.field_type() {
            FieldType::Message(message) => Some(message),
            _ => None,
        }
    };
    for file in 0..FILES {
        for message in 0..MESSAGES_OF_A_FILE {
            let Some(of) = find(file, message) else { return wrong("a name is missing") };
            let (near, far) = targets(file, message);
            if target(of, 7) != find(file, near) || target(of, 8) != find(before(file), far) {
                return wrong("a field leads elsewhere");
            }
        }
    }
    if schema.descriptor_set() == set { Ok(()) } else { wrong("its descriptors differ") }
}

fn name(file: usize) -> String {
    format!("load/file{file}.proto")
}

/// The file imported by another, which is the first one for itself.
fn before(file: usize) -> usize {
    file.saturating_sub(1)
}

/// The messages that one refers to, in its own file and in the previous one.
fn targets(file: usize, message: usize) -> (usize, usize) {
    ((message * 7 + file) % MESSAGES_OF_A_FILE, (message * 11 + 3) % MESSAGES_OF_A_FILE)
}

fn text(file: usize) -> String {
    let mut out = format!("syntax = \"proto3\";\npackage load{file};\n");
    let imports = [before(file), before(before(file))];
    for (at, import) in imports.iter().enumerate() {
        if *import != file && !imports[..at].contains(import) {
            let _ = writeln!(out, "import \"{}\";", name(*import));
        }
    }
    let _ = writeln!(out, "enum State {{ UNKNOWN = 0; OPEN = 1; CLOSED = 2; }}");
    for message in 0..MESSAGES_OF_A_FILE {
        let (near, far) = targets(file, message);
        let before = before(file);
        let _ = write!(
            out,
            "// What is known of one thing.\nmessage Record{message} {{\n  \
             int64 record_id = 1;\n  string display_name = 2;\n  \
             repeated double measured_values = 3 [packed = true];\n  State state = 4;\n  \
             map<string, int32> counts = 5;\n  optional bool is_hidden = 6;\n  \
             Record{near} parent = 7;\n  repeated .load{before}.Record{far} children = 8;\n  \
             oneof source {{ bytes content = 9; string link = 10 [deprecated = true]; }}\n}}\n"
        );
    }
    out
}
