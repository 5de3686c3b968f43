//! The script of a simulation: read once, as it may be a pipe, and parsed once.

use std::fs;
use std::path::Path;

use tidemill::script::{self, Script};
use tidemill_diag::{Diagnostic, Sources};
use tidemill_relation::text::parse_pattern;
use tidemill_stdx::sorted::SortedSet;

use super::common;
use crate::args::Tuples;
use crate::report::Reporter;
use crate::status::Status;

/// The relations whose tuples the command line or a script inserts. Errors in either are reported
/// when they are read.
pub fn injected(given: &Tuples, script: Option<&ScriptFile>) -> SortedSet<String> {
    let texts = given.fact.iter().chain(&given.inject);
    let mut names: SortedSet<String> =
        texts.filter_map(|text| parse_pattern(text).ok()).map(|tuple| tuple.name).collect();
    names.extend(script.into_iter().flat_map(ScriptFile::relations));
    names
}

/// A script that has been read and parsed, once: whichever relations the rules lack may be its own,
/// so it comes before the program, and its errors follow those of the program.
pub struct ScriptFile {
    /// Its text alone.
    sources: Sources,
    script: Script,
    found: Vec<Diagnostic>,
}

impl ScriptFile {
    fn new(name: String, text: String) -> ScriptFile {
        let mut sources = Sources::new();
        let file = sources.add(name, text);
        let (script, found) = script::parse(file, sources.text(file));
        ScriptFile { sources, script, found }
    }

    /// The script of these lines, which is to be in a file.
    pub fn of(path: &Path, lines: &[String]) -> ScriptFile {
        ScriptFile::new(path.display().to_string(), lines.join("\n"))
    }

    /// Reads the script, if one is given; reports why it cannot be read.
    pub fn read(path: Option<&Path>, report: Reporter) -> Result<Option<ScriptFile>, Status> {
        let Some(path) = path else { return Ok(None) };
        let name = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(ScriptFile::new(name, text))),
            Err(error) => {
                let text = format!("{name}: cannot read the script: {error}");
                Err(common::failed(report, text))
            }
        }
    }

    /// The relations whose tuples it inserts.
    pub fn relations(&self) -> SortedSet<String> {
        self.script.relations()
    }
}

/// The actions and expectations of a script, if there is one, and its source; reports its errors.
pub fn checked(
    given: Option<ScriptFile>,
    report: Reporter,
) -> Result<(Option<Script>, Sources), Status> {
    let Some(ScriptFile { sources, script, found }) = given else {
        return Ok((None, Sources::new()));
    };
    common::report_all(&sources, &found, report)?;
    Ok((Some(script), sources))
}
