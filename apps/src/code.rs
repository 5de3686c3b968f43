//! What apps that are given as code share.

use tidemill_packet::app::Fault;
use tidemill_packet::kernel::{Builder, Running};

/// A kernel that has been written, ready to run.
///
/// # Errors
/// It is wrong.
pub(crate) fn running(kernel: Builder) -> Result<Running, Fault> {
    Ok(Running::new(kernel.finish().map_err(|wrong| Fault::new(wrong.join("; ")))?))
}
