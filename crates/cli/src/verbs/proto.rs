//! `proto`.

use std::path::PathBuf;

use tidemill::schemas::load_schemas;

use crate::Status;
use crate::args::{ProtoArgs, ProtoVerb};
use crate::report::Reporter;

/// `proto` and its verbs.
pub fn proto(args: &ProtoArgs, report: Reporter) -> Status {
    match &args.verb {
        ProtoVerb::Check(schema) => match check_schemas(&schema.files, &schema.includes, report) {
            true => Status::Fine,
            false => Status::Failed,
        },
    }
}

/// Reports what is wrong with a schema; true if nothing is.
pub fn check_schemas(files: &[PathBuf], includes: &[PathBuf], report: Reporter) -> bool {
    let compiled = load_schemas(files, includes);
    report.diagnostics(&compiled.sources, &compiled.diagnostics);
    compiled.schema.is_some()
}
