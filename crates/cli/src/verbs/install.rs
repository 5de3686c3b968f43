//! `install` and `uninstall`.

use std::fs;
use std::time::Duration;

use super::common::{asker, failed};
use crate::args::{ControlArgs, InstallArgs, UninstallArgs};
use crate::report::Reporter;
use crate::status::Status;

/// Installs the rules of a file in a run.
pub fn install(args: &InstallArgs, report: Reporter) -> Status {
    let path = args.file.display();
    let Some(name) = args.file.file_name().and_then(|name| name.to_str()) else {
        report.error(&format!("{path}: the file has no name that is text"));
        return Status::Usage;
    };
    match fs::read_to_string(&args.file) {
        Ok(text) => change(&args.address, &args.control, (name, Some(&text)), report),
        Err(error) => failed(report, format!("{path}: cannot read the rules: {error}")),
    }
}

/// Removes rules from a run.
pub fn uninstall(args: &UninstallArgs, report: Reporter) -> Status {
    change(&args.address, &args.control, (&args.name, None), report)
}

fn change(
    address: &str,
    control: &ControlArgs,
    (name, text): (&str, Option<&str>),
    report: Reporter,
) -> Status {
    let asker = asker(address, control.token_file.as_ref());
    let timeout = Duration::from_nanos(control.timeout);
    let changed = asker.and_then(|mut asker| asker.install(name, text, timeout));
    match changed {
        Ok(()) => Status::Fine,
        Err(error) => failed(report, error),
    }
}
