//! The script of a simulation: read once, as it may be a pipe.

use std::fs;
use std::path::Path;

use tidemill::script::{self, Script};
use tidemill_diag::{FileId, Sources};
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

/// The text of a script.
pub struct ScriptFile {
    name: String,
    text: String,
}

impl ScriptFile {
    /// The script of these lines, which is to be in a file.
    pub fn of(path: &Path, lines: &[String]) -> ScriptFile {
        ScriptFile { name: path.display().to_string(), text: lines.join("\n") }
    }

    /// Reads the script, if one is given; reports an error.
    pub fn read(path: Option<&Path>, report: Reporter) -> Result<Option<ScriptFile>, Status> {
        let Some(path) = path else { return Ok(None) };
        let name = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Ok(Some(ScriptFile { name, text })),
            Err(error) => {
                let text = format!("{name}: cannot read the script: {error}");
                Err(common::failed(report, text))
            }
        }
    }

    /// The relations whose tuples it inserts. Errors are reported when it is [parsed](Self::parse).
    pub fn relations(&self) -> SortedSet<String> {
        script::parse(FileId(0), &self.text).0.relations()
    }

    /// Its actions and expectations; reports its errors.
    pub fn parse(&self, sources: &mut Sources, report: Reporter) -> Result<Script, Status> {
        let file = sources.add(self.name.clone(), self.text.clone());
        let (script, found) = script::parse(file, &self.text);
        common::report_all(sources, &found, report)?;
        Ok(script)
    }
}
