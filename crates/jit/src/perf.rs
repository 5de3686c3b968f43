//! The file in which `perf` looks for the names of code that no file on disk holds: a line
//! `START SIZE NAME` in hexadecimal for each function (tools/perf/Documentation/jit-interface.txt).
//!
//! Lines are only ever added; where memory is used again, `perf` takes the later line.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, open};

use crate::code::Code;

/// Every module is named, whatever its options are.
static NAMES_ALL: AtomicBool = AtomicBool::new(false);

/// Done before the first line is written.
static STARTED: Once = Once::new();

/// Names the functions of every module that is finished from now on, as if all had
/// [`Options::perf_map`](crate::Options::perf_map): there is one map file to a process, so a
/// profiler need not know which parts of a process make code.
pub fn name_all_for_perf() {
    NAMES_ALL.store(true, Ordering::Relaxed);
}

pub(crate) fn are_all_named() -> bool {
    NAMES_ALL.load(Ordering::Relaxed)
}

/// The map file of this process.
pub fn perf_map_path() -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()))
}

pub(crate) fn write(code: &Code) -> io::Result<()> {
    let mut lines = String::new();
    for place in code.own() {
        let name: String = place.name.chars().map(visible).collect();
        let module = code.name().chars().map(visible).collect::<String>();
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{:x} {:x} {module}::{name}", place.address, place.bytes);
    }
    // A map that is there already was left by an earlier process of the same number. What cannot be
    // removed cannot be opened either.
    STARTED.call_once(|| drop(fs::remove_file(perf_map_path())));
    // Others may write to that folder: a link they left is not followed. One write, appended as a
    // whole, does not mix with those of other threads.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(perf_map_path(), flags, Mode::RUSR | Mode::WUSR)?;
    File::from(file).write_all(lines.as_bytes())
}

/// A line stays a line.
fn visible(c: char) -> char {
    if c.is_control() { '_' } else { c }
}
