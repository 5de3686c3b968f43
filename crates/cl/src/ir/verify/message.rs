//! Messages and connections.

use super::function::Verifier;
use crate::ir::{FunctionKind, Instruction, InterfaceId, MessageId, Party, Payload, Type};

impl Verifier<'_> {
    pub(super) fn message(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Send { to: party, message, payload }
            | Instruction::Receive { from: party, message, into: payload } => {
                if let Some(types) = self.parameters(*party, *message) {
                    self.payloads(payload, &types);
                }
            }
            Instruction::Test { to, from, .. } | Instruction::Input { to, from, .. } => {
                self.is(*to, Type::Boolean);
                self.party(*from);
            }
            Instruction::Connect { .. } | Instruction::Disconnect { .. } => {}
            Instruction::Connected { to, .. } => self.is(*to, Type::Integer),
            _ => self.no_rule(),
        }
    }

    fn payloads(&mut self, payloads: &[Payload], types: &[Type]) {
        if payloads.len() != types.len() {
            self.fault(format!("{} parts for {} parameters", payloads.len(), types.len()));
        }
        payloads.iter().zip(types).for_each(|(payload, ty)| self.payload(*payload, *ty));
    }

    /// The interface that is spoken with the party.
    fn party(&mut self, party: Party) -> Option<InterfaceId> {
        let interface = match party {
            Party::Client => None,
            Party::Required { interface, .. }
            | Party::Sub { interface, .. }
            | Party::Own { interface } => Some(interface),
        };
        if let Some(interface) = interface {
            self.interface(interface);
        }
        match (interface, self.function.kind) {
            (None, FunctionKind::Implementation(interface)) => Some(interface),
            _ => interface,
        }
    }

    /// The parameters of the message; none where the interface is that of a caller.
    fn parameters(&mut self, party: Party, message: MessageId) -> Option<Vec<Type>> {
        let interface = self.program.interfaces.get(self.party(party)?)?;
        let types = interface.messages.get(message).map(|it| it.parameters.clone());
        if types.is_none() {
            self.fault(format!("{message} does not exist"));
        }
        types
    }

    pub(super) fn interface(&mut self, interface: InterfaceId) {
        if self.program.interfaces.get(interface).is_none() {
            self.fault(format!("{interface} does not exist"));
        }
    }
}
