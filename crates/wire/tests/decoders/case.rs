//! Cases as texts: a schema, bytes, and the events of decoders.
//!
//! ```text
//! # what the case is about
//! --- schema
//! syntax = "proto2"; message M { optional string s = 1; }
//! --- schema scalars      instead of a text: that of `schemas/scalars.proto`
//! --- message M
//! --- required            if required fields are checked
//! --- select a.b c        if only some fields are wanted
//! --- depth 3             if the limit of depth is another
//! --- bytes
//! 0a 02 "hi"              numbers in hexadecimal, text in quotes with \xHH \" \\
//! --- events
//! M { ...
//! ```

use std::fmt;

use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{MessageId, Schema, Tables};

/// The schemas that cases share.
const SCHEMAS: [(&str, &str); 3] = [
    ("groups", include_str!("schemas/groups.proto")),
    ("person", include_str!("schemas/person.proto")),
    ("scalars", include_str!("schemas/scalars.proto")),
];

/// The schema, message and selection that decoders are made for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Head {
    pub schema: String,
    pub message: String,
    pub required: bool,
    pub select: Option<String>,
    pub depth_max: Option<usize>,
}

pub struct Case {
    pub head: Head,
    pub bytes: Vec<u8>,
    /// Everything up to the line that begins the events, inclusive.
    pub top: String,
}

/// Parses a case.
pub fn read(text: &str) -> Result<Case, String> {
    let (mut head, mut bytes) = (Head::default(), Vec::new());
    let (mut top, mut section) = (String::new(), "");
    for line in text.lines() {
        if section != "events" {
            top.push_str(line);
            top.push('\n');
        }
        if let Some(rest) = line.strip_prefix("--- ") {
            let (name, argument) = rest.split_once(' ').unwrap_or((rest, ""));
            section = name;
            match name {
                "message" => head.message = argument.to_owned(),
                "required" => head.required = true,
                "select" => head.select = Some(argument.to_owned()),
                "depth" => head.depth_max = argument.parse().ok().filter(|&depth| depth < 200),
                "schema" if !argument.is_empty() => head.schema = shared(argument)?.to_owned(),
                "schema" | "bytes" | "events" => {}
                _ => return Err(format!("no section `{name}`")),
            }
            continue;
        }
        match section {
            "schema" => {
                head.schema.push_str(line);
                head.schema.push('\n');
            }
            "bytes" => read_bytes(line, &mut bytes)?,
            _ => {}
        }
    }
    Ok(Case { head, bytes, top })
}

/// The text of a shared schema.
fn shared(name: &str) -> Result<&'static str, String> {
    let found = SCHEMAS.iter().find(|(it, _)| *it == name);
    found.map(|(_, text)| *text).ok_or_else(|| format!("no schema `{name}`"))
}

impl Head {
    /// Compiles the schema, and finds the message and its selection.
    pub fn build(&self) -> Result<(Schema, MessageId, Tables), String> {
        let compiled = compile(&["case.proto"], &Texts::from_iter([("case.proto", &*self.schema)]));
        let schema = compiled.schema.ok_or_else(|| {
            let all = compiled.diagnostics.iter().map(|one| compiled.sources.render(one));
            all.collect::<String>()
        })?;
        let message = schema.message_by_name(&self.message).ok_or("no such message")?;
        let tables = match (self.required, &self.select) {
            (true, _) => Tables::checking_required(&schema),
            (_, Some(paths)) => {
                let paths: Vec<&str> = paths.split_whitespace().collect();
                Tables::select(&schema, message, &paths).map_err(|error| error.to_string())?
            }
            _ => Tables::new(&schema),
        };
        Ok((schema, message, tables))
    }
}

/// The form in files.
impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--- schema\n{}--- message {}\n", self.schema, self.message)?;
        if self.required {
            f.write_str("--- required\n")?;
        }
        if let Some(paths) = &self.select {
            writeln!(f, "--- select {paths}")?;
        }
        self.depth_max.map_or(Ok(()), |depth| writeln!(f, "--- depth {depth}"))
    }
}

fn read_bytes(line: &str, bytes: &mut Vec<u8>) -> Result<(), String> {
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        if let Some(text) = rest.strip_prefix('"') {
            rest = read_text(text, bytes)?.trim_start();
            continue;
        }
        let (word, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        let (word, times) = word.split_once('*').unwrap_or((word, "1"));
        let byte = u8::from_str_radix(word, 16).map_err(|_| format!("`{word}` is no byte"))?;
        let times = times.parse::<u16>().map_err(|_| format!("`{times}` is no number"))?;
        bytes.extend(std::iter::repeat_n(byte, usize::from(times)));
        rest = tail.trim_start();
    }
    Ok(())
}

/// Reads up to the closing quote; returns the rest.
fn read_text<'t>(text: &'t str, bytes: &mut Vec<u8>) -> Result<&'t str, String> {
    let mut rest = text;
    loop {
        let at = rest.find(['"', '\\']).ok_or("a quote that does not end")?;
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let Some(escape) = rest.strip_prefix('\\') else { return Ok(&rest[1..]) };
        match escape.as_bytes() {
            [b'x', ..] => {
                let digits = escape.get(1..3).ok_or("an escape that does not end")?;
                bytes.push(u8::from_str_radix(digits, 16).map_err(|_| "no digits")?);
                rest = &escape[3..];
            }
            [other @ (b'"' | b'\\'), ..] => {
                bytes.push(*other);
                rest = &escape[1..];
            }
            _ => return Err("an escape of no meaning".to_owned()),
        }
    }
}
