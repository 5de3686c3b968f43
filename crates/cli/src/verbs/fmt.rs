//! `fmt`.

use std::fs;
use std::path::Path;

use tidemill::program::FileKind;
use tidemill_diag::{Diagnostic, Sources as Texts};

use crate::args::Sources;
use crate::report::Reporter;
use crate::status::Status;

/// Formats files, or lists those that would change.
pub fn fmt(check: bool, sources: &Sources, report: Reporter) -> Status {
    let mut status = Status::Fine;
    for file in &sources.files {
        match one(Path::new(file), check, report) {
            Ok(Changed::Not) => {}
            Ok(Changed::Rewritten) => report.note(&format!("{file} rewritten")),
            Ok(Changed::Would) => {
                report.error(&format!("{file} is not in the common layout"));
                status = Status::Failed;
            }
            Err(Reported) => status = Status::Failed,
        }
    }
    status
}

enum Changed {
    Not,
    Would,
    Rewritten,
}

/// A failure that has been reported.
struct Reported;

/// Formats one file.
fn one(path: &Path, check: bool, report: Reporter) -> Result<Changed, Reported> {
    let name = path.display();
    let fail = |message: String| {
        report.error(&message);
        Reported
    };
    let format = match FileKind::of(path) {
        Some(FileKind::Rules) => tidemill_overlog::fmt::format,
        Some(FileKind::Components) => tidemill_cl::fmt::format,
        Some(FileKind::Packets) => tidemill_packet::flow::format,
        // A set of descriptors is no text.
        Some(FileKind::Schemas) if is_descriptor_set(path) => return Ok(Changed::Not),
        Some(FileKind::Schemas) => tidemill_wire::proto::format,
        None => {
            let endings = "`.olg`, `.com`, `.cl`, `.flow` or `.proto`";
            return Err(fail(format!("{name}: the formatter knows files that end in {endings}")));
        }
    };
    let text = fs::read_to_string(path)
        .map_err(|error| fail(format!("{name}: cannot read the file: {error}")))?;
    let mut sources = Texts::new();
    let file = sources.add(name.to_string(), text.clone());
    let formatted = format(file, &text).map_err(|found: Vec<Diagnostic>| {
        report.diagnostics(&sources, &found);
        Reported
    })?;
    match (formatted == text, check) {
        (true, _) => Ok(Changed::Not),
        (false, true) => Ok(Changed::Would),
        (false, false) => replace(path, &formatted)
            .map(|()| Changed::Rewritten)
            .map_err(|error| fail(format!("{name}: cannot write the file: {error}"))),
    }
}

fn is_descriptor_set(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("fds"))
}

/// Writes a temporary file and renames it, so that a full disk leaves the old text.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // Follows a link, which stays in place: replaces its target.
    let path = fs::canonicalize(path)?;
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let beside = path.with_extension(format!("{ending}.{}.tmp", std::process::id()));
    let written = fs::write(&beside, text)
        .and_then(|()| fs::set_permissions(&beside, fs::metadata(&path)?.permissions()))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // Removes the incomplete file; an error is ignored.
        let _ = fs::remove_file(&beside);
    }
    written
}
