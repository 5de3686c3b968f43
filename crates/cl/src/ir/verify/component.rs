//! Components, the monitor, and time.

use super::function::Verifier;
use crate::ir::{ComponentId, Instruction, Type};

impl Verifier<'_> {
    pub(super) fn component(&mut self, instruction: &Instruction) {
        use Type::{Boolean, Component, Integer};
        match instruction {
            Instruction::New { place, component, .. } => {
                self.holds(*place, Component);
                self.known_component(*component);
            }
            Instruction::Delete { place } => self.holds(*place, Component),
            Instruction::EndScope { .. } => {}
            Instruction::Move { to, from } => {
                self.holds(*to, Component);
                self.holds(*from, Component);
            }
            Instruction::Exists { to, place } | Instruction::Failed { to, place } => {
                self.is(*to, Boolean);
                self.holds(*place, Component);
            }
            Instruction::Is { to, place, component } => {
                self.is(*to, Boolean);
                self.holds(*place, Component);
                self.known_component(*component);
            }
            Instruction::Has { to, place, interfaces, .. } => {
                self.is(*to, Boolean);
                self.holds(*place, Component);
                interfaces.iter().for_each(|it| self.interface(it.0));
            }
            Instruction::Terminated { to } => self.is(*to, Boolean),
            Instruction::Lock { .. } | Instruction::Unlock | Instruction::Checkpoint => {}
            Instruction::Await { condition } => self.condition(*condition),
            Instruction::LockWhen { condition } => {
                self.condition(*condition);
                if self.program.functions.get(*condition).is_some_and(|it| !it.is_closed()) {
                    self.fault(format!("{condition} needs more than the component"));
                }
            }
            Instruction::Passivate { duration: register } | Instruction::Time { to: register } => {
                self.is(*register, Integer);
            }
            _ => self.no_rule(),
        }
    }

    fn known_component(&mut self, component: ComponentId) {
        if self.program.components.get(component).is_none() {
            self.fault(format!("{component} does not exist"));
        }
    }
}
