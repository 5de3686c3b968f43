//! What apps that are given as code share.

use tidemill_packet::app::{Fault, Reconfigured};
use tidemill_packet::kernel::{Builder, Running};

/// A kernel that has been written, ready to run.
///
/// # Errors
/// It is invalid.
pub(crate) fn running(kernel: Builder) -> Result<Running, Fault> {
    Ok(Running::new(kernel.finish().map_err(|errors| Fault::new(errors.to_string()))?))
}

/// Makes an app continue as the kernel of its new config, with its counts.
pub(crate) fn follow(running: &mut Running, made: Result<Running, Fault>) -> Reconfigured {
    match made {
        Ok(made) => {
            running.become_another(made);
            Reconfigured::Kept
        }
        // Checked before: there is no such config.
        Err(_) => Reconfigured::Restart,
    }
}
