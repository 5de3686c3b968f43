//! Components, the monitor, time.

use tidemill_jit::build::{InstBuilder, IntCC, types};
use tidemill_proc::program::{Facet, Kind as Owned};

use crate::compile::describe::storage_kind;
use crate::compile::translate::Translator;
use crate::ir::{Instruction, Place, Type};

impl Translator<'_, '_, '_> {
    pub(super) fn component(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::New { place, component, synchronous } => {
                let word = self.place(*place);
                let (word, kind) = (self.pointer(word), self.half(component.raw()));
                let (clock, position) = (self.half(u32::from(*synchronous)), self.position());
                self.faults("component_new", &[word, kind, clock, position]);
            }
            Instruction::Delete { place } => {
                let retry = self.retry();
                let at = self.place(*place);
                let word = self.load(at, Type::Component);
                // Most variables are empty when a component is made in them.
                let (some, next) = (self.body.create_block(), self.body.create_block());
                self.body.ins().brif(word, some, &[], next, &[]);
                self.body.switch_to_block(some);
                let (word, kind) = (self.pointer(at), self.half(Owned::Component as u32));
                self.blocks("delete", &[word, kind], retry);
                self.body.ins().jump(next, &[]);
                self.body.switch_to_block(next);
            }
            Instruction::EndScope { places } => self.end_scope(places),
            Instruction::Move { to, from } => {
                let (to, from) = (self.place(*to), self.place(*from));
                let (to, from) = (self.pointer(to), self.pointer(from));
                let position = self.position();
                self.faults("component_move", &[from, to, position]);
            }
            Instruction::Exists { to, place } => {
                let at = self.place(*place);
                let word = self.load(at, Type::Component);
                let is = self.body.ins().icmp_imm_u(IntCC::NotEqual, word, 0);
                let value = self.body.ins().uextend(types::I64, is);
                self.set(*to, value);
            }
            Instruction::Failed { to, place } => {
                let at = self.place(*place);
                let word = self.load(at, Type::Component);
                let value = self.truth("failed", &[word]);
                self.set(*to, value);
            }
            Instruction::Is { to, place, component } => {
                let at = self.place(*place);
                let (word, kind) = (self.load(at, Type::Component), self.half(component.raw()));
                let value = self.truth("is_type", &[word, kind]);
                self.set(*to, value);
            }
            Instruction::Has { to, place, offered, interfaces } => {
                let all: Vec<_> = interfaces.iter().map(|it| (it.0.raw(), it.1, it.2)).collect();
                let facet = match offered {
                    true => Facet { offered: all, required: Vec::new() },
                    false => Facet { offered: Vec::new(), required: all },
                };
                let facet = self.unit.descriptors.facet(facet);
                let at = self.place(*place);
                let (word, facet) = (self.load(at, Type::Component), self.half(facet));
                let name = if *offered { "offers" } else { "requires" };
                let value = self.truth(name, &[word, facet]);
                self.set(*to, value);
            }
            Instruction::Terminated { to } => {
                let value = self.truth("terminated", &[]);
                self.set(*to, value);
            }
            _ => self.monitor(instruction),
        }
    }

    fn end_scope(&mut self, places: &[Place]) {
        let retry = self.retry();
        let scope = self.unit.scopes[&(self.id, self.at.0, self.at.1)];
        let own = places.iter().filter(|place| matches!(place, Place::Local(_))).count();
        if own > 0 {
            let (words, count) = (self.body.data_address(scope), self.half(own as u32));
            self.blocks("end_scope", &[words, count], retry);
        }
        for place in places {
            let storage = match *place {
                Place::Local(_) => continue,
                Place::Variable(variable) => {
                    let component = &self.unit.ir.components[self.function.component];
                    storage_kind(&component.variables[variable].storage)
                }
                Place::At(_) | Place::Outer(_) => Owned::Collection,
            };
            let word = self.place(*place);
            let (word, kind) = (self.pointer(word), self.half(storage as u32));
            self.blocks("delete", &[word, kind], retry);
        }
    }

    fn monitor(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Lock { exclusive } => {
                let retry = self.retry();
                let name = if *exclusive { "lock_exclusive" } else { "lock_shared" };
                self.blocks(name, &[], retry);
            }
            Instruction::Unlock => self.faults("unlock", &[]),
            Instruction::Await { condition } => {
                let retry = self.retry();
                let code = self.body.function_address(self.unit.functions[*condition]);
                let number = self.half(condition.raw());
                self.blocks("await_condition", &[code, number], retry);
            }
            Instruction::Passivate { duration } => {
                let retry = self.retry();
                let (duration, position) = (self.get(*duration), self.position());
                self.blocks("passivate", &[duration, position], retry);
            }
            Instruction::Time { to } => {
                let value = self.value("time", &[]);
                self.set(*to, value);
            }
            other => unreachable!("{other:?} is translated elsewhere"),
        }
    }
}
