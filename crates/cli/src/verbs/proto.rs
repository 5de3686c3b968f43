//! `proto`.

use std::path::PathBuf;

use tidemill::messages::Form;
use tidemill::schemas::load_schemas;

use crate::args::{OutputForm, ProtoArgs, ProtoVerb};
use crate::report::Reporter;
use crate::status::Status;
use crate::verbs::messages;

/// `proto` and its verbs.
pub fn proto(args: &ProtoArgs, report: Reporter) -> Status {
    match &args.verb {
        ProtoVerb::Check(schema) => {
            let is_right = check_schemas(&schema.files, &schema.includes, report);
            if is_right { Status::Fine } else { Status::Failed }
        }
        ProtoVerb::Convert(args) | ProtoVerb::Decode(args) => {
            messages::convert(args, Form::Binary, OutputForm::Json, report)
        }
        ProtoVerb::Encode(args) => messages::convert(args, Form::Json, OutputForm::Binary, report),
        ProtoVerb::Bench(args) => messages::bench(args, report),
    }
}

/// Reports the errors of a schema; returns whether there are none.
pub fn check_schemas(files: &[PathBuf], includes: &[PathBuf], report: Reporter) -> bool {
    let compiled = load_schemas(files, includes);
    report.diagnostics(&compiled.sources, &compiled.diagnostics);
    compiled.schema.is_some()
}
