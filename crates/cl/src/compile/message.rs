//! Sending, receiving, asking for messages, and connections.

use tidemill_jit::build::{Block, InstBuilder, IntCC, StackSlot, Value, types};
use tidemill_proc::ProcessState;
use tidemill_proc::layout::{
    ANY, FINISH, NEXT_FREE, PORT_SESSION, PROCESS_SESSIONS, SESSION_COMPONENT, SLOT_CHANNEL,
    SLOT_PORT, port,
};
use tidemill_stdx::id::Id;

use crate::compile::channel::ChannelSide;
use crate::compile::describe::port_parts;
use crate::compile::translate::Translator;
use crate::compile::unit::machine;
use crate::ir::{
    FunctionKind, Instruction, InterfaceId, MessageId, Party, Pattern, Payload, Port, Register,
    Type,
};

impl Translator<'_, '_, '_> {
    pub(super) fn message(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Send { to, message, payload } => self.send(*to, *message, payload),
            Instruction::Receive { from, message, into } => self.receive(*from, *message, into),
            Instruction::Test { to, from, pattern } => self.test(*to, *from, *pattern),
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
        let (slow, done) = (self.body.create_block(), self.body.create_block());
        let slot = self.body.append_block_param(done, types::I64);
        match index {
            None => {
                self.body.set_cold_block(slow);
                let session = self.first_session(component, interface, slow);
                self.body.ins().jump(done, &[session.into()]);
            }
            Some(_) => _ = self.body.ins().jump(slow, &[]),
        }
        self.body.switch_to_block(slow);
        let index = self.index(index);
        let (interface, position) = (self.half(interface.raw()), self.position());
        let found = self.finds("slot_offered", &[component, interface, index, position]);
        self.body.ins().jump(done, &[found.into()]);
        self.body.switch_to_block(done);
        slot
    }

    /// The process's first session, if it is to this interface of the component.
    fn first_session(&mut self, component: Value, interface: InterfaceId, slow: Block) -> Value {
        let exists = self.body.create_block();
        let (same, found) = (self.body.create_block(), self.body.create_block());
        let session = self.body.load_aligned(types::I64, self.process, PROCESS_SESSIONS);
        self.body.ins().brif(session, exists, &[], slow, &[]);
        self.body.switch_to_block(exists);
        self.body.ins().brif(component, same, &[], slow, &[]);
        self.body.switch_to_block(same);
        let target = self.body.load_aligned(types::I64, session, SESSION_COMPONENT);
        let channel = self.body.load_aligned(types::I64, session, SLOT_CHANNEL);
        let port = self.body.load_aligned(types::I64, session, SLOT_PORT);
        let wanted = self.word(interface_port(PORT_SESSION, interface, 1));
        let target = self.body.ins().icmp(IntCC::Equal, target, component);
        let port = self.body.ins().icmp(IntCC::Equal, port, wanted);
        // Only while a channel is open is the component at this address still the same.
        let open = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, channel, 1);
        let both = self.body.ins().band(target, port);
        let all = self.body.ins().band(both, open);
        self.body.ins().brif(all, found, &[], slow, &[]);
        self.body.switch_to_block(found);
        session
    }

    fn index(&mut self, index: Option<Register>) -> Value {
        match index {
            Some(index) => self.get(index),
            None => self.word(1),
        }
    }

    /// The interface that is spoken with the party; none in a procedure of an implementation.
    fn interface(&self, party: Party) -> Option<InterfaceId> {
        match (party, self.function.kind) {
            (Party::Client, FunctionKind::Implementation(interface)) => Some(interface),
            (Party::Client, _) => None,
            (Party::Required { interface, .. }, _)
            | (Party::Sub { interface, .. }, _)
            | (Party::Own { interface }, _) => Some(interface),
        }
    }

    /// One side of a communication, with the code for when it has to wait.
    fn side(
        &mut self,
        slot: Option<Value>,
        interface: InterfaceId,
        slow: Block,
        (state, suspended): (ProcessState, Block),
    ) -> ChannelSide {
        self.body.set_cold_block(slow);
        let (stuck, start) = (self.body.create_block(), self.body.create_block());
        let side = ChannelSide { slot, interface, stuck, slow, several: self.unit.several };
        self.body.ins().jump(start, &[]);
        self.body.switch_to_block(stuck);
        self.wait(side, state, suspended);
        self.body.switch_to_block(start);
        side
    }

    fn send(&mut self, to: Party, message: MessageId, payload: &[Payload]) {
        let retry = self.retry();
        let slot = self.slot(to);
        let words: Vec<Value> = payload.iter().map(|part| self.sent(*part)).collect();
        let (slow, done) = (self.body.create_block(), self.body.create_block());
        let suspended = self.body.create_block();
        match self.interface(to).filter(|interface| self.is_plain(*interface, message, slot)) {
            Some(interface) => {
                let side = self.side(slot, interface, slow, (ProcessState::Send, suspended));
                let entry = self.room(side, message);
                for (index, word) in words.iter().enumerate() {
                    self.entry_store(entry, index, *word);
                }
                self.notify(entry, side);
                self.body.ins().jump(done, &[]);
            }
            None => _ = self.body.ins().jump(slow, &[]),
        }
        self.body.switch_to_block(slow);
        let row = self.row(payload.len());
        for (index, word) in words.into_iter().enumerate() {
            self.row_store(row, index, word);
        }
        let names = ("client_send", "server_send");
        self.transfer(slot, names, message, row, (retry, suspended));
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
        for part in payload {
            if let Payload::Copy(place) | Payload::Move(place) = *part {
                let (from, zero) = (self.place(place), self.word(0));
                self.store(from, zero);
            }
        }
    }

    fn sent(&mut self, part: Payload) -> Value {
        match part {
            Payload::Register(register) => self.get(register),
            Payload::Copy(place) | Payload::Move(place) => {
                let from = self.place(place);
                self.load(from, Type::Integer)
            }
        }
    }

    fn receive(&mut self, from: Party, message: MessageId, into: &[Payload]) {
        let retry = self.retry();
        let slot = self.slot(from);
        let types: Vec<Type> = into.iter().map(|part| self.received_type(*part)).collect();
        let (slow, done) = (self.body.create_block(), self.body.create_block());
        let suspended = self.body.create_block();
        let values: Vec<Value> =
            types.iter().map(|ty| self.body.append_block_param(done, machine(*ty))).collect();
        match self.interface(from).filter(|it| self.is_plainly_received(*it, message, slot)) {
            Some(interface) => {
                let side = self.side(slot, interface, slow, (ProcessState::Receive, suspended));
                let entry = if self.heads.contains(self.at.0) && self.at.1 == 0 {
                    self.known_head(side)
                } else {
                    self.head(side, message)
                };
                let places = types.iter().enumerate();
                let words: Vec<_> =
                    places.map(|(index, ty)| self.entry_load(entry, index, *ty).into()).collect();
                self.notify(entry, side);
                self.body.ins().jump(done, &words);
            }
            None => _ = self.body.ins().jump(slow, &[]),
        }
        self.body.switch_to_block(slow);
        let row = self.row(into.len());
        let names = ("client_receive", "server_receive");
        self.transfer(slot, names, message, row, (retry, suspended));
        let places = types.iter().enumerate();
        let words: Vec<_> =
            places.map(|(index, ty)| self.row_load(row, index, *ty).into()).collect();
        self.body.ins().jump(done, &words);
        self.body.switch_to_block(done);
        for (part, value) in into.iter().zip(values) {
            match *part {
                Payload::Register(register) => self.set(register, value),
                Payload::Copy(place) | Payload::Move(place) => {
                    // Temporaries are empty.
                    let to = self.place(place);
                    self.store(to, value);
                }
            }
        }
    }

    fn received_type(&self, part: Payload) -> Type {
        match part {
            Payload::Register(register) => self.function.registers[register],
            Payload::Copy(_) | Payload::Move(_) => Type::Integer,
        }
    }

    /// `?M` as an expression. Where a block ends with it, code that knows branches at once.
    fn test(&mut self, to: Register, from: Party, pattern: Pattern) {
        let retry = self.retry();
        let slot = self.slot(from);
        let (slow, done) = (self.body.create_block(), self.body.create_block());
        let suspended = self.body.create_block();
        match self.interface(from).filter(|interface| self.is_own(*interface, slot)) {
            Some(interface) => {
                let side = self.side(slot, interface, slow, (ProcessState::Receive, suspended));
                let is = self.peek(side, pattern);
                self.set(to, is);
                match self.branch_on(to) {
                    Some((then, otherwise)) => {
                        self.body.ins().brif(is, then, &[], otherwise, &[]);
                    }
                    None => _ = self.body.ins().jump(done, &[]),
                }
            }
            None => _ = self.body.ins().jump(slow, &[]),
        }
        self.body.switch_to_block(slow);
        let (pattern, position) = (self.pattern(pattern), self.position());
        match slot {
            Some(slot) => {
                self.blocks_at("client_peek", &[slot, pattern, position], retry, suspended);
            }
            None => self.blocks_at("server_peek", &[pattern, position], retry, suspended),
        }
        let is = self.result(Type::Boolean);
        self.set(to, is);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    fn transfer(
        &mut self,
        slot: Option<Value>,
        (client, server): (&'static str, &'static str),
        message: MessageId,
        row: StackSlot,
        (retry, suspended): (Block, Block),
    ) {
        let message = self.half(message.raw());
        let (words, position) = (self.row_address(row), self.position());
        match slot {
            Some(slot) => {
                self.blocks_at(client, &[slot, message, words, position], retry, suspended);
            }
            None => self.blocks_at(server, &[message, words, position], retry, suspended),
        }
    }

    /// A component and the number of one of its interfaces.
    fn port(&mut self, port: Port, from: bool) -> (Value, Value) {
        let (component, kind, interface, index) = port_parts(port, from);
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
        let base = interface_port(kind, interface, known);
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

fn interface_port(kind: u64, interface: InterfaceId, index: u32) -> i64 {
    port(kind, interface.index() as u32, index) as i64
}
