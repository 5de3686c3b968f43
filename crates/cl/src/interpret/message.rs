//! Sending, receiving, asking for messages, and connections.

use tidemill_proc::entry::Operation;
use tidemill_proc::layout::{ANY, FINISH, NEXT_FREE, port};
use tidemill_stdx::id::Id;

use crate::compile::describe::port_parts;
use crate::interpret::step::{Done, Step};
use crate::ir::{Instruction, MessageId, Party, Pattern, Payload, Port, Register};

impl Step<'_, '_, '_> {
    pub(super) fn message(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::Send { to, message, payload } => self.send(*to, *message, payload)?,
            Instruction::Receive { from, message, into } => {
                self.receive(*from, *message, into)?;
            }
            Instruction::Test { to, from, pattern } => {
                let operations = (Operation::client_peek, Operation::server_peek);
                let is = self.ask(*from, operations, *pattern)?;
                self.set(*to, is);
            }
            Instruction::Input { to, from, pattern } => {
                let operations = (Operation::client_input, Operation::server_input);
                let is = self.ask(*from, operations, *pattern)?;
                self.set(*to, is);
            }
            Instruction::Connect { from, to } => {
                let ((from, from_port), (to, to_port)) =
                    (self.port(*from, true), self.port(*to, false));
                let words = [from, from_port, to, to_port, self.position()];
                self.status(Operation::connect, &words)?;
            }
            Instruction::Disconnect { port } => {
                let (component, port) = self.port(*port, true);
                let words = [component, port, self.position()];
                self.status(Operation::disconnect, &words)?;
            }
            Instruction::Connected { to, port } => {
                let (component, port) = self.port(*port, true);
                let value = self.value(Operation::count, &[component, port]);
                self.set(*to, value);
            }
            other => unreachable!("{other:?} is executed elsewhere"),
        }
        Ok(())
    }

    /// The words of the payload move: what the places owned is the channel's then.
    fn send(&mut self, to: Party, message: MessageId, payload: &[Payload]) -> Done {
        let slot = self.slot(to)?;
        let word = |part: &Payload| match *part {
            Payload::Register(register) => self.get(register),
            Payload::Copy(place) | Payload::Move(place) => self.load(place),
        };
        let words: Vec<u64> = payload.iter().map(word).collect();
        let row = self.row(&words);
        self.transfer(slot, (Operation::client_send, Operation::server_send), message, row)?;
        for part in payload {
            if let Payload::Copy(place) | Payload::Move(place) = *part {
                self.store(place, 0);
            }
        }
        Ok(())
    }

    /// The places are empty temporaries.
    fn receive(&mut self, from: Party, message: MessageId, into: &[Payload]) -> Done {
        let slot = self.slot(from)?;
        let row = self.row_address(into.len());
        let operations = (Operation::client_receive, Operation::server_receive);
        self.transfer(slot, operations, message, row)?;
        for (index, part) in into.iter().enumerate() {
            let word = self.row_word(index);
            match *part {
                Payload::Register(register) => self.set(register, word),
                Payload::Copy(place) | Payload::Move(place) => self.store(place, word),
            }
        }
        Ok(())
    }

    fn transfer(
        &mut self,
        slot: Option<u64>,
        (client, server): (Operation, Operation),
        message: MessageId,
        row: u64,
    ) -> Done {
        let (message, position) = (u64::from(message.raw()), self.position());
        match slot {
            Some(slot) => self.status(client, &[slot, message, row, position]),
            None => self.status(server, &[message, row, position]),
        }
    }

    /// Whether the next message is of this kind.
    fn ask(
        &mut self,
        party: Party,
        (client, server): (Operation, Operation),
        pattern: Pattern,
    ) -> Done<u64> {
        let slot = self.slot(party)?;
        let number = u64::from(match pattern {
            Pattern::Message(message) => message.raw(),
            Pattern::Any => ANY,
            Pattern::Finish => FINISH,
        });
        let position = self.position();
        match slot {
            Some(slot) => self.result(client, &[slot, number, position]),
            None => self.result(server, &[number, position]),
        }
    }

    /// The slot of a communication that this side has opened; none on the server's side.
    fn slot(&mut self, party: Party) -> Done<Option<u64>> {
        match party {
            Party::Client => Ok(None),
            Party::Required { interface, index } => {
                let ports = &self.machine.ports[self.function.component].required;
                let number = ports.iter().position(|port| port.interface == interface.raw());
                let number = number.unwrap_or(0);
                if !ports[number].is_set() {
                    return Ok(Some(self.activation.component() + u64::from(ports[number].slot)));
                }
                let words = [number as u64, self.index(index), self.position()];
                self.find(Operation::slot_required, &words).map(Some)
            }
            Party::Sub { place, interface, index } => {
                let component = self.load(place);
                let index = self.index(index);
                let words = [component, u64::from(interface.raw()), index, self.position()];
                self.find(Operation::slot_offered, &words).map(Some)
            }
            Party::Own { interface } => {
                let component = self.activation.component();
                let words = [component, u64::from(interface.raw()), 1, self.position()];
                self.find(Operation::slot_offered, &words).map(Some)
            }
        }
    }

    fn index(&self, index: Option<Register>) -> u64 {
        index.map_or(1, |index| self.get(index))
    }

    /// A component and the number of one of its interfaces.
    fn port(&self, of: Port, is_from: bool) -> (u64, u64) {
        let (place, kind, interface, index) = port_parts(of, is_from);
        let component = match place {
            Some(place) => self.load(place),
            None => self.activation.component(),
        };
        let index = index.map_or(NEXT_FREE, |index| self.get(index) as u32);
        (component, port(kind, interface.index() as u32, index))
    }
}
