//! `protoc`, where there is one: the program that the variable `PROTOC` names, with arguments.

use std::path::Path;
use std::process::Command;

fn command(folder: &Path, name: &str) -> Option<Command> {
    let program = std::env::var("PROTOC").ok()?;
    let mut words = program.split(' ');
    let mut command = Command::new(words.next()?);
    command.args(words).arg("-I").arg(folder).arg("--include_imports").arg(name);
    Some(command)
}

/// What `protoc` makes of a file; `None` where it is not there or refuses.
pub fn descriptor_set(folder: &Path, name: &str) -> Option<Vec<u8>> {
    let process = std::process::id();
    let out = std::env::temp_dir().join(format!("tidemill-{process}-{name}.fds"));
    let mut command = command(folder, name)?;
    let output = command.arg("-o").arg(&out).output().ok()?;
    let set = std::fs::read(&out).ok();
    let _ = std::fs::remove_file(&out);
    set.filter(|_| output.status.success())
}

/// Whether `protoc` accepts a file; `None` where it is not there.
pub fn accepts(folder: &Path, name: &str) -> Option<bool> {
    let mut command = command(folder, name)?;
    Some(command.arg("-o").arg("/dev/null").output().ok()?.status.success())
}
