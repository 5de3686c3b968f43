//! Responses to clients.

use tidemill_cl::system::Response;
use tidemill_event::Loop;
use tidemill_proc::{Communication, Refused, arm};

use crate::machine::Machine;

impl Machine {
    /// Responds to a client. An ended client needs no response.
    pub(super) fn answer(
        &mut self,
        lp: &mut Loop<Machine>,
        to: Communication,
        response: impl Response,
    ) {
        if self.node.systems.open.get(to).is_none() {
            return;
        }
        response.send(|number, values| {
            match self.node.runner.worker().answer(to, number, values) {
                Ok(()) | Err(Refused::Gone | Refused::OutOfMemory) => {}
                Err(Refused::Protocol) => {
                    debug_assert!(false, "message {number} is not allowed now");
                }
            }
        });
        if !self.node.systems.serving {
            arm(self, lp);
        }
    }
}
