//! Peers that are programs: built when they are first wanted, run with a file and a count.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Case, data};
use crate::report::Report;

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
            "rust-protobuf" => case.name == "SpeedMessage1",
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
        if !floor {
            command.arg(self.name).arg(data("google_messages.fds"));
            command.arg(format!("benchmarks.{}", case.name));
        }
        command.arg(&case.path).arg(passes.to_string());
        if !floor {
            command.arg(if what == What::Encode { "encode" } else { "decode" });
        }
        let text = said(&mut command, self.name)?;
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

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(name)
}

fn target(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = own.ancestors().nth(2).ok_or("no target folder")?.join("peers").join(name);
    std::fs::create_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    Ok(target)
}

fn walk() -> Result<PathBuf, String> {
    let program = target("c")?.join("walk");
    let mut build = Command::new("cc");
    build.args(["-O2", "-march=native", "-o"]).arg(&program).arg(folder("c").join("walk.c"));
    said(&mut build, "the C compiler")?;
    Ok(program)
}

fn rust_proto(features: &[&str], folder_name: &str) -> Result<PathBuf, String> {
    let target = target(folder_name)?;
    let mut build = Command::new("cargo");
    build.args(["build", "--release", "--quiet", "--manifest-path"]);
    build.arg(folder("rust-proto").join("Cargo.toml")).arg("--target-dir").arg(&target);
    said(build.args(features), "cargo")?;
    Ok(target.join("release/tidemill-bench-rust-proto"))
}

fn cpp_proto() -> Result<PathBuf, String> {
    let target = target("cpp-proto")?;
    let mut write = Command::new("protoc");
    write.arg(flag("--descriptor_set_in=", &data("google_messages.fds")));
    write.arg(flag("--cpp_out=", &target)).arg("google_messages.proto");
    said(&mut write, "protoc")?;
    let program = target.join("cpp-proto");
    let mut build = Command::new("g++");
    build.args(["-O2", "-DNDEBUG", "-march=native", "-I"]).arg(&target).arg("-o").arg(&program);
    build.arg(folder("cpp-proto").join("main.cc")).arg(target.join("google_messages.pb.cc"));
    build.args(["-lprotobuf", "-lpthread"]);
    said(&mut build, "the C++ compiler")?;
    Ok(program)
}

fn flag(name: &str, value: &Path) -> std::ffi::OsString {
    let mut flag = std::ffi::OsString::from(name);
    flag.push(value);
    flag
}

fn go_proto() -> Result<PathBuf, String> {
    let program = target("go-proto")?.join("go-proto");
    let mut build = Command::new("go");
    build.arg("build").arg("-o").arg(&program).arg(".").current_dir(folder("go-proto"));
    said(&mut build, "go")?;
    Ok(program)
}

fn said(command: &mut Command, name: &str) -> Result<String, String> {
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{name} is not installed"),
        _ => format!("{name}: {error}"),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = text(&output.stderr);
    Err(format!("{name} fails: {}", said.lines().next().unwrap_or("it says nothing")))
}
