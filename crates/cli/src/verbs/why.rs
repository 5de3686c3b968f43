//! `why`.

use std::time::Duration;

use tidemill::why::{self, Asked, WhyError};

use super::common::{asker, failed};
use crate::args::WhyArgs;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Says why a tuple is at a running node.
pub fn why(args: WhyArgs, report: Reporter) -> Status {
    let timeout = Duration::from_nanos(args.timeout);
    let reach = |address: &str| asker(address, args.token_file.as_ref());
    match why::why(&args.address, &args.tuple, timeout, reach) {
        Ok(Asked { why, silent }) => {
            for (node, reason) in silent {
                report.warn(&format!("{node} is not asked: {reason}"));
            }
            let mut out = Out::new();
            out.write(&why.to_string());
            out.finish()
        }
        Err(error) => {
            let status = failed(report, &error.to_string());
            if matches!(error, WhyError::Text(_)) { Status::Usage } else { status }
        }
    }
}
