//! Peers that are programs: built when they are first wanted, run with a file and a count.

use std::path::PathBuf;
use std::process::Command;

use super::{Case, data};
use crate::report::Report;
use crate::tool;

/// A program, and as whom it is called.
pub struct Peer {
    name: &'static str,
    program: PathBuf,
}

/// Those that are here.
pub struct Peers(Vec<Peer>);

impl Peers {
    /// Builds all; those that cannot be built are absent, and it is said why.
    pub fn new(report: &mut Report) -> Peers {
        let mut peers = Vec::new();
        let mut add = |names: &[&'static str], program: Result<PathBuf, String>| match program {
            Ok(program) => {
                peers.extend(names.iter().map(|&name| Peer { name, program: program.clone() }));
            }
            Err(reason) => names.iter().for_each(|name| {
                report.note(&format!("{name}: absent: {reason}"));
            }),
        };
        add(&["c-walk"], walk());
        add(&["prost", "prost-reflect"], rust_proto());
        Peers(peers)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Peer> {
        self.0.iter()
    }
}

impl Peer {
    /// Who it is.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// CPU seconds for so many passes over a message.
    ///
    /// # Errors
    /// It fails, or has not found all of the message.
    pub fn run(&self, case: &Case, passes: usize) -> Result<f64, String> {
        let mut command = Command::new(&self.program);
        let floor = self.name == "c-walk";
        if !floor {
            command.arg(self.name).arg(data("google_messages.fds"));
            command.arg(format!("benchmarks.{}", case.name));
        }
        command.arg(&case.path).arg(passes.to_string());
        let text = tool::said(&mut command, self.name)?;
        let wrong = || format!("{} says `{text}`", self.name);
        let (seconds, found) = text.trim().split_once(' ').ok_or_else(wrong)?;
        let expected = if floor { tags(&case.bytes) } else { case.bytes.len() };
        match found.parse::<usize>() {
            Ok(found) if found == expected => seconds.parse().map_err(|_| wrong()),
            _ => Err(format!("{}: {found}, not {expected}", self.name)),
        }
    }
}

/// How many tags a message has, those in groups among them.
fn tags(bytes: &[u8]) -> usize {
    use tidemill_wire::schema::{RawFields, RawValue};
    let fields = RawFields::new(bytes).flatten();
    fields
        .map(|(_, value)| match value {
            RawValue::Group(inner) => 2 + tags(inner),
            _ => 1,
        })
        .sum()
}

fn walk() -> Result<PathBuf, String> {
    let program = tool::target("c")?.join("walk");
    tool::cc(&program, "c/walk.c", &["-march=native"]).map(|()| program)
}

fn rust_proto() -> Result<PathBuf, String> {
    tool::cargo("rust-proto").map(|release| release.join("tidemill-bench-rust-proto"))
}
