//! `protoc`, if available: the command in the variable `PROTOC`, with arguments.

use std::path::Path;
use std::process::Command;

fn command(folder: &Path, name: &str) -> Option<Command> {
    let program = std::env::var("PROTOC").ok()?;
    let mut words = program.split(' ');
    let mut command = Command::new(words.next()?);
    command.args(words).arg("-I").arg(folder).arg("--include_imports").arg(name);
    Some(command)
}

/// The descriptor set of `protoc` for a file; `None` if it is not available or refuses the file.
pub fn descriptor_set(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let process = std::process::id();
    let out = std::env::temp_dir().join(format!("tidemill-{process}-{name}.fds"));
    let mut command = command(folder, name)?;
    let output = command.arg("-o").arg(&out).output().ok()?;
    let set = std::fs::read(&out).ok();
    let _ = std::fs::remove_file(&out);
    set.filter(|_| output.status.success())
}

/// Whether `protoc` accepts a file; `None` if it is not available.
pub fn accepts(folder: &Path, name: &str) -> Option<bool> {
    let mut command = command(folder, name)?;
    Some(command.arg("-o").arg("/dev/null").output().ok()?.status.success())
}
