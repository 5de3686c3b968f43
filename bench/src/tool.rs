//! Peers that are programs: their sources, their folders in the target folder, how they are built,
//! and their output.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::extent::Extent;
use crate::report::Report;

/// A source of ours: `bench/peers/PATH`.
pub fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(path)
}

/// A file of the benchmarks: `bench/PATH`.
pub fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The folder for the built files of a peer: `peers/NAME` in the target folder.
///
/// # Errors
/// It cannot be made.
pub fn target(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let target = own.ancestors().nth(2).ok_or("no target folder")?.join("peers").join(name);
    std::fs::create_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    Ok(target)
}

/// A file in the folder of a peer that is removed when it is no longer needed.
pub struct Temporary(PathBuf);

impl Temporary {
    /// The place for a file, `NAME-` and the number of this process: concurrent runs must not
    /// overwrite the files of each other.
    fn place(folder: &str, name: &str) -> Result<Temporary, String> {
        Ok(Temporary(target(folder)?.join(format!("{name}-{}", std::process::id()))))
    }

    /// A file with these bytes.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn file(folder: &str, name: &str, bytes: &[u8]) -> Result<Temporary, String> {
        let file = Temporary::place(folder, name)?;
        let written = std::fs::write(&file.0, bytes);
        written.map_err(|error| format!("{}: {error}", file.0.display()))?;
        Ok(file)
    }

    /// A program that is compiled from a source in C.
    ///
    /// # Errors
    /// As [`cc`].
    pub fn program(name: &str, source: &str, flags: &[&str]) -> Result<Temporary, String> {
        let program = Temporary::place("c", name)?;
        cc(&program.0, source, flags)?;
        Ok(program)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // At worst, it stays in the target folder.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A peer, if peers are measured and it is there; otherwise the reason is reported.
pub fn built<T>(
    extent: Extent,
    report: &mut Report,
    who: &str,
    build: impl FnOnce() -> Result<T, String>,
) -> Option<T> {
    match extent.peers.then(build)? {
        Ok(peer) => Some(peer),
        Err(reason) => {
            report.note(&format!("{who}: absent: {reason}"));
            None
        }
    }
}

/// Compiles a source in C.
///
/// # Errors
/// There is no compiler, or it fails.
pub fn cc(program: &Path, path: &str, flags: &[&str]) -> Result<(), String> {
    let mut build = Command::new("cc");
    build.args(["-O2", "-o"]).arg(program).arg(source(path)).args(flags);
    stdout_of(&mut build, "the C compiler").map(drop)
}

/// A program in C with upb, from the source package of Protocol Buffers for Python, which contains
/// all of upb.
///
/// # Errors
/// The package is missing, or the compiler fails.
pub fn upb(name: &str, path: &str) -> Result<PathBuf, String> {
    let sources = std::env::var_os("UPB").ok_or(
        "UPB names no folder: that of `pip download --no-binary :all: protobuf`, unpacked",
    )?;
    let sources = PathBuf::from(sources);
    let program = target("upb-c")?.join(name);
    let mut build = Command::new("cc");
    build.args(["-O2", "-DNDEBUG", "-march=native", "-o"]).arg(&program);
    build.arg("-I").arg(&sources).arg("-I").arg(sources.join("utf8_range"));
    build.arg(source(path));
    for folder in ["google", "upb", "utf8_range"] {
        c_sources(&sources.join(folder), &mut build)?;
    }
    stdout_of(build.arg("-lm"), "the C compiler")?;
    Ok(program)
}

/// Adds all sources in C of a folder and its subfolders.
fn c_sources(folder: &Path, build: &mut Command) -> Result<(), String> {
    let wrong = |error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() {
            c_sources(&path, build)?;
        } else if path.extension().is_some_and(|ending| ending == "c") {
            build.arg(path);
        }
    }
    Ok(())
}

/// Builds the package `bench/peers/NAME` for release; returns the folder with its program.
///
/// # Errors
/// There is no cargo, or the build fails.
pub fn cargo(name: &str) -> Result<PathBuf, String> {
    let target = target(name)?;
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    build.args(["build", "--release", "--locked", "--quiet", "--target-dir"]).arg(&target);
    stdout_of(build.current_dir(source(name)), "cargo")?;
    Ok(target.join("release"))
}

/// The standard output of a program.
///
/// # Errors
/// It is not installed, or fails.
pub fn stdout_of(command: &mut Command, name: &str) -> Result<String, String> {
    Ok(text(&output(command, name)?.stdout))
}

/// The standard output and standard error of a program.
///
/// # Errors
/// It is not installed, or fails.
pub fn all_output_of(command: &mut Command, name: &str) -> Result<String, String> {
    let output = output(command, name)?;
    Ok(text(&output.stdout) + &text(&output.stderr))
}

fn output(command: &mut Command, name: &str) -> Result<Output, String> {
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{name} is not installed"),
        _ => format!("{name}: {error}"),
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let reason = text(&output.stderr);
    let reason = reason.lines().next().unwrap_or("it says nothing");
    Err(format!("{name} fails ({}): {reason}", output.status))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_failing_tools_are_reported() {
        let missing = stdout_of(&mut Command::new("tidemill-no-such-tool"), "tool");
        assert_eq!(missing, Err("tool is not installed".to_owned()));
        let program = std::env::current_exe().expect("this test");
        let failed = stdout_of(Command::new(program).arg("--no-such-option"), "test");
        assert!(failed.is_err_and(|text| text.starts_with("test fails (")));
    }
}
