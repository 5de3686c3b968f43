//! `key`.

use tidemill::keys::{self, Made};

use super::common;
use crate::args::KeyArgs;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Makes a key, and prints the parts that are not written to a file.
pub fn key(args: &KeyArgs, report: Reporter) -> Status {
    let made = if args.identity { keys::identity() } else { keys::fleet_key() };
    let made = match made {
        Ok(made) => made,
        Err(error) => return common::failed(report, error),
    };
    let mut out = Out::new();
    match &args.file {
        None => out.write(made.text()),
        Some(path) => {
            if let Err(error) = keys::write(path, made.text()) {
                return common::failed(report, error);
            }
            if let Made::Identity { public, .. } = made {
                out.write(&format!("{public}\n"));
            }
        }
    }
    out.finish()
}
