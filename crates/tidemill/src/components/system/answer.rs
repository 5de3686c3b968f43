//! Answers to clients.

use tidemill_event::Loop;
use tidemill_proc::{Communication, Refused, Value, arm};

use crate::machine::Machine;

impl Machine {
    /// Answers a client. One that has gone meanwhile needs no answer.
    pub(super) fn answer(
        &mut self,
        lp: &mut Loop<Machine>,
        to: Communication,
        message: &str,
        values: &[Value<'_>],
    ) {
        let Some(&system) = self.node.systems.open.get(to) else { return };
        let mut names = self.node.systems.messages[system as usize].iter();
        let Some(number) = names.position(|name| name == message) else { return };
        self.answer_by_number(lp, to, number as u32, values);
    }

    pub(super) fn answer_by_number(
        &mut self,
        lp: &mut Loop<Machine>,
        to: Communication,
        number: u32,
        values: &[Value<'_>],
    ) {
        match self.node.runner.worker().answer(to, number, values) {
            Ok(()) | Err(Refused::Gone | Refused::OutOfMemory) => {}
            Err(Refused::Protocol) => debug_assert!(false, "message {number} is not allowed now"),
        }
        if !self.node.systems.serving {
            arm(self, lp);
        }
    }
}
