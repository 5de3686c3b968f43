//! Sending, receiving, asking for messages, and connections.

use tidemill_jit::build::{Block, InstBuilder, StackSlot, Value, types};
use tidemill_proc::layout::{
    ANY, FINISH, NEXT_FREE, PORT_IMPLEMENTATION, PORT_OFFERED, PORT_REQUIRED, port,
};
use tidemill_stdx::id::Id;

use crate::compile::translate::Translator;
use crate::ir::{
    Instruction, InterfaceId, MessageId, Party, Pattern, Payload, Port, Register, Type,
};

impl Translator<'_, '_, '_> {
    pub(super) fn message(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Send { to, message, payload } => self.send(*to, *message, payload),
            Instruction::Receive { from, message, into } => self.receive(*from, *message, into),
            Instruction::Test { to, from, pattern } => {
                let retry = self.retry();
                let slot = self.slot(*from);
                let (pattern, position) = (self.pattern(*pattern), self.position());
                match slot {
                    Some(slot) => self.blocks("client_peek", &[slot, pattern, position], retry),
                    None => self.blocks("server_peek", &[pattern, position], retry),
                }
                let value = self.result(Type::Boolean);
                self.set(*to, value);
            }
            Instruction::Input { to, from, pattern } => {
                let slot = self.slot(*from);
                let (pattern, position) = (self.pattern(*pattern), self.position());
                match slot {
                    Some(slot) => self.faults("client_input", &[slot, pattern, position]),
                    None => self.faults("server_input", &[pattern, position]),
                }
                let value = self.result(Type::Boolean);
                self.set(*to, value);
            }
            Instruction::Connect { from, to } => {
                let ((from, from_port), (to, to_port)) =
                    (self.port(*from, true), self.port(*to, false));
                let position = self.position();
                self.faults("connect", &[from, from_port, to, to_port, position]);
            }
            Instruction::Disconnect { port } => {
                let ((component, port), position) = (self.port(*port, true), self.position());
                self.faults("disconnect", &[component, port, position]);
            }
            Instruction::Connected { to, port } => {
                let (component, port) = self.port(*port, true);
                let value = self.value("count", &[component, port]);
                self.set(*to, value);
            }
            other => unreachable!("{other:?} is translated elsewhere"),
        }
    }

    fn pattern(&mut self, pattern: Pattern) -> Value {
        let number = match pattern {
            Pattern::Message(message) => message.raw(),
            Pattern::Any => ANY,
            Pattern::Finish => FINISH,
        };
        self.half(number)
    }

    /// The slot of a communication that this side has opened; none on the server's side.
    fn slot(&mut self, party: Party) -> Option<Value> {
        match party {
            Party::Client => None,
            Party::Required { interface, index } => {
                let ports = &self.unit.ports[self.function.component].required;
                let number = ports.iter().position(|port| port.interface == interface.raw());
                let number = number.unwrap_or(0);
                let known = &ports[number];
                if !known.is_set() {
                    let offset = i64::from(known.slot);
                    return Some(self.body.ins().iadd_imm_s(self.component, offset));
                }
                let index = self.index(index);
                let (number, position) = (self.half(number as u32), self.position());
                Some(self.finds("slot_required", &[number, index, position]))
            }
            Party::Sub { place, interface, index } => {
                let from = self.place(place);
                let component = self.load(from, Type::Component);
                Some(self.offered(component, interface, index))
            }
            Party::Own { interface } => Some(self.offered(self.component, interface, None)),
        }
    }

    fn offered(
        &mut self,
        component: Value,
        interface: InterfaceId,
        index: Option<Register>,
    ) -> Value {
        let index = self.index(index);
        let (interface, position) = (self.half(interface.raw()), self.position());
        self.finds("slot_offered", &[component, interface, index, position])
    }

    fn index(&mut self, index: Option<Register>) -> Value {
        match index {
            Some(index) => self.get(index),
            None => self.word(1),
        }
    }

    fn send(&mut self, to: Party, message: MessageId, payload: &[Payload]) {
        let retry = self.retry();
        let slot = self.slot(to);
        let row = self.row(payload.len());
        for (index, part) in payload.iter().enumerate() {
            let word = match *part {
                Payload::Register(register) => self.get(register),
                Payload::Copy(place) | Payload::Move(place) => {
                    let from = self.place(place);
                    self.load(from, Type::Integer)
                }
            };
            self.row_store(row, index, word);
        }
        self.transfer(slot, ("client_send", "server_send"), message, row, retry);
        for part in payload {
            if let Payload::Copy(place) | Payload::Move(place) = *part {
                let (from, zero) = (self.place(place), self.word(0));
                self.store(from, zero);
            }
        }
    }

    fn receive(&mut self, from: Party, message: MessageId, into: &[Payload]) {
        let retry = self.retry();
        let slot = self.slot(from);
        let row = self.row(into.len());
        self.transfer(slot, ("client_receive", "server_receive"), message, row, retry);
        for (index, part) in into.iter().enumerate() {
            match *part {
                Payload::Register(register) => {
                    let ty = self.function.registers[register];
                    let value = self.row_load(row, index, ty);
                    self.set(register, value);
                }
                Payload::Copy(place) | Payload::Move(place) => {
                    // Temporaries are empty.
                    let value = self.row_load(row, index, Type::Integer);
                    let to = self.place(place);
                    self.store(to, value);
                }
            }
        }
    }

    fn transfer(
        &mut self,
        slot: Option<Value>,
        (client, server): (&'static str, &'static str),
        message: MessageId,
        row: StackSlot,
        retry: Block,
    ) {
        let message = self.half(message.raw());
        let (words, position) = (self.row_address(row), self.position());
        match slot {
            Some(slot) => self.blocks(client, &[slot, message, words, position], retry),
            None => self.blocks(server, &[message, words, position], retry),
        }
    }

    /// A component and the number of one of its interfaces.
    fn port(&mut self, port: Port, from: bool) -> (Value, Value) {
        let (component, kind, interface, index) = match port {
            Port::SubRequired { place, interface, index } => {
                (Some(place), PORT_REQUIRED, interface, index)
            }
            Port::SubOffered { place, interface, index } => {
                (Some(place), PORT_OFFERED, interface, index)
            }
            Port::OwnRequired { interface, index } => (None, PORT_REQUIRED, interface, index),
            Port::OwnOffered { interface, index } => {
                (None, if from { PORT_OFFERED } else { PORT_IMPLEMENTATION }, interface, index)
            }
        };
        let component = match component {
            Some(place) => {
                let from = self.place(place);
                self.load(from, Type::Component)
            }
            None => self.component,
        };
        let known = match index {
            Some(_) => 0,
            None => NEXT_FREE,
        };
        let base = self_port(kind, interface, known);
        let mut number = self.word(base);
        if let Some(index) = index {
            let index = self.get(index);
            let low = self.body.ins().ireduce(types::I32, index);
            let low = self.body.ins().uextend(types::I64, low);
            number = self.body.ins().bor(number, low);
        }
        (component, number)
    }
}

fn self_port(kind: u64, interface: InterfaceId, index: u32) -> i64 {
    port(kind, interface.index() as u32, index) as i64
}
