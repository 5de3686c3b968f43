//! `why`.

use std::fmt::Display;
use std::time::Duration;

use tidemill::why::{self, WhyError};

use super::common::{asker, failed};
use crate::args::WhyArgs;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// Explains why a tuple is at a running node, or why it is absent.
pub fn why(args: WhyArgs, report: Reporter) -> Status {
    let (is_not, node, tuple) = match args.question() {
        Ok(question) => question,
        Err(error) => {
            report.error(&error.to_string());
            return Status::Usage;
        }
    };
    let timeout = Duration::from_nanos(args.timeout);
    let reach = |address: &str| asker(address, args.token_file.as_ref());
    let answered = if is_not {
        why::why_not(node, tuple, timeout, reach)
            .map(|found| answer(&found.why_not, found.silent, report))
    } else {
        why::why(node, tuple, timeout, reach).map(|found| answer(&found.why, found.silent, report))
    };
    answered.unwrap_or_else(|error| {
        let status = failed(report, &error);
        if matches!(error, WhyError::Text(_)) { Status::Usage } else { status }
    })
}

fn answer(why: &dyn Display, silent: Vec<(String, String)>, report: Reporter) -> Status {
    for (node, reason) in silent {
        report.warn(&format!("{node} is not asked: {reason}"));
    }
    let mut out = Out::new();
    out.write(&why.to_string());
    out.finish()
}
