//! Peers that are programs: built when they are first needed, run with a file and a count.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::case::{Case, data};
use crate::report::Report;
use crate::tool;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Bytes are walked: with those peers too that make messages of them.
    Decode,
    /// Bytes into messages.
    Message,
    /// Messages into bytes.
    Encode,
}

/// A program, and as whom it is called.
pub struct Peer {
    name: &'static str,
    program: PathBuf,
}

/// Those that are here.
pub struct Peers(Vec<Peer>);

impl Peers {
    /// No peer.
    pub fn none() -> Peers {
        Peers(Vec::new())
    }

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
        add(&["cpp", "cpp-arena", "cpp-dynamic"], cpp_proto());
        // Without the one that needs more, the others are still there.
        let with_upb = rust_proto(&["--features", "upb"], "rust-proto-upb");
        let rust = match &with_upb {
            Ok(program) => Ok(program.clone()),
            Err(_) => rust_proto(&[], "rust-proto"),
        };
        add(&["upb"], with_upb);
        add(&["prost", "buffa", "prost-reflect", "rust-protobuf"], rust);
        add(&["hyperpb", "protobuf-go"], go_proto());
        add(&["upb-c", "upb-c-alias"], tool::upb("upb", "c/upb.c"));
        add(&["upb-python"], upb_python());
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

    /// Whether it can do this with the message.
    pub fn does(&self, case: &Case, what: What) -> bool {
        match self.name {
            "c-walk" => what == What::Decode,
            // What it decodes cannot be encoded.
            "hyperpb" => what != What::Encode,
            // It loses groups and says nothing.
            "rust-protobuf" => case.name != "SpeedMessage2",
            // Their types were written by their compilers.
            "prost" | "buffa" | "cpp" | "cpp-arena" => case.name.starts_with("SpeedMessage"),
            // Nothing is copied where nothing is decoded.
            "upb-c-alias" => what != What::Encode,
            _ => true,
        }
    }

    /// By how much fewer passes do.
    pub fn slower(&self) -> usize {
        match self.name {
            "cpp-dynamic" | "prost-reflect" | "rust-protobuf" | "protobuf-go" => 10,
            _ => 1,
        }
    }

    /// CPU seconds for so many passes over a message.
    ///
    /// # Errors
    /// It fails, or has not found all of the message.
    pub fn run(&self, case: &Case, passes: usize, what: What) -> Result<f64, String> {
        let mut command = Command::new(&self.program);
        let floor = self.name == "c-walk";
        if self.name == "upb-python" {
            command.arg(tool::source("python/messages.py"));
        }
        if !floor {
            command.arg(self.name).arg(&case.set).arg(case.schema.full_name(case.message));
        }
        command.arg(&case.path).arg(passes.to_string());
        if !floor {
            command.arg(if what == What::Encode { "encode" } else { "decode" });
        }
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

/// With the crate that needs libclang, or without it.
fn rust_proto(features: &[&str], name: &str) -> Result<PathBuf, String> {
    let target = tool::target(name)?;
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    build.args(["build", "--release", "--locked", "--quiet", "--target-dir"]).arg(&target);
    tool::said(build.args(features).current_dir(tool::source("rust-proto")), "cargo")?;
    Ok(target.join("release/tidemill-bench-rust-proto"))
}

/// The Python that has the package.
fn upb_python() -> Result<PathBuf, String> {
    let python = PathBuf::from(std::env::var_os("PYTHON").unwrap_or("python3".into()));
    tool::said(Command::new(&python).args(["-c", "import google.protobuf"]), "python3")?;
    Ok(python)
}

fn cpp_proto() -> Result<PathBuf, String> {
    let target = tool::target("cpp-proto")?;
    let mut write = Command::new("protoc");
    write.arg(flag("--descriptor_set_in=", &data("google_messages.fds")));
    write.arg(flag("--cpp_out=", &target)).arg("google_messages.proto");
    tool::said(&mut write, "protoc")?;
    let program = target.join("cpp-proto");
    let mut build = Command::new("g++");
    build.args(["-O2", "-DNDEBUG", "-march=native", "-I"]).arg(&target).arg("-o").arg(&program);
    build.arg(tool::source("cpp-proto").join("main.cc")).arg(target.join("google_messages.pb.cc"));
    build.args(["-lprotobuf", "-lpthread"]);
    tool::said(&mut build, "the C++ compiler")?;
    Ok(program)
}

fn flag(name: &str, value: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from(name);
    flag.push(value);
    flag
}

fn go_proto() -> Result<PathBuf, String> {
    let program = tool::target("go-proto")?.join("go-proto");
    let mut build = Command::new("go");
    build.arg("build").arg("-o").arg(&program).arg(".").current_dir(tool::source("go-proto"));
    tool::said(&mut build, "go")?;
    Ok(program)
}
