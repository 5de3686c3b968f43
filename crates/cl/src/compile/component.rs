//! Components, the monitor, time.

use tidemill_jit::build::{InstBuilder, IntCC, types};
use tidemill_proc::layout::{
    COMPONENT_AWAIT_QUEUE, COMPONENT_LOCK, COMPONENT_LOCK_QUEUE, EXCLUSIVE, PROCESS_GRANTED,
    PROCESS_HOLDS, SHARED, UNLOCKED,
};
use tidemill_proc::program::{Facet, Kind as Owned};

use crate::compile::describe::storage_kind;
use crate::compile::translate::{Translator, sound};
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
                let at = self.place(*place);
                let word = self.load(at, Type::Component);
                // Most variables are empty when a component is made in them.
                let (some, next) = (self.body.create_block(), self.body.create_block());
                self.body.ins().brif(word, some, &[], next, &[]);
                self.body.switch_to_block(some);
                // Resumed, the operation is told that it is over, although the word is empty.
                let retry = self.retry();
                let at = self.place(*place);
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
            Instruction::Lock { exclusive } => self.lock(*exclusive),
            Instruction::Unlock => self.unlock(),
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

    /// Takes the monitor; without a call if it is free and nobody is before.
    fn lock(&mut self, exclusive: bool) {
        let retry = self.retry();
        let (slow, done) = (self.body.create_block(), self.body.create_block());
        let (free, nobody) = (self.body.create_block(), self.body.create_block());
        self.body.set_cold_block(slow);
        let component = self.component;
        // A process that comes back with the lock granted must ask the run-time: it takes the
        // grant back.
        let lock = self.body.ins().load(types::I32, sound(), component, COMPONENT_LOCK);
        let condition = if exclusive { IntCC::Equal } else { IntCC::SignedGreaterThanOrEqual };
        let is = self.body.ins().icmp_imm_s(condition, lock, 0);
        self.body.ins().brif(is, free, &[], slow, &[]);
        self.body.switch_to_block(free);
        let queue = self.body.ins().load(types::I64, sound(), component, COMPONENT_LOCK_QUEUE);
        let granted = self.body.ins().load(types::I8, sound(), self.process, PROCESS_GRANTED);
        let granted = self.body.ins().uextend(types::I64, granted);
        let others = self.body.ins().bor(queue, granted);
        self.body.ins().brif(others, slow, &[], nobody, &[]);
        self.body.switch_to_block(nobody);
        let (lock, holds) = match exclusive {
            true => (self.body.ins().iconst(types::I32, -1), EXCLUSIVE),
            false => (self.body.ins().iadd_imm_s(lock, 1), SHARED),
        };
        self.body.ins().store(sound(), lock, component, COMPONENT_LOCK);
        let holds = self.body.ins().iconst(types::I8, i64::from(holds));
        self.body.ins().store(sound(), holds, self.process, PROCESS_HOLDS);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(slow);
        self.blocks(if exclusive { "lock_exclusive" } else { "lock_shared" }, &[], retry);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    /// Gives the monitor back; without a call if nobody waits and no other reads.
    fn unlock(&mut self) {
        let (slow, done, alone) =
            (self.body.create_block(), self.body.create_block(), self.body.create_block());
        let component = self.component;
        let lock_queue = self.body.ins().load(types::I64, sound(), component, COMPONENT_LOCK_QUEUE);
        let awaiting = self.body.ins().load(types::I64, sound(), component, COMPONENT_AWAIT_QUEUE);
        let anybody = self.body.ins().bor(lock_queue, awaiting);
        let lock = self.body.ins().load(types::I32, sound(), component, COMPONENT_LOCK);
        // -1 and 1 become 0, with one reader of several the rest counts on.
        let shared = self.body.ins().icmp_imm_s(IntCC::SignedGreaterThan, lock, 1);
        let shared = self.body.ins().uextend(types::I64, shared);
        let others = self.body.ins().bor(anybody, shared);
        self.body.ins().brif(others, slow, &[], alone, &[]);
        self.body.switch_to_block(alone);
        let zero = self.body.ins().iconst(types::I32, 0);
        self.body.ins().store(sound(), zero, component, COMPONENT_LOCK);
        let zero = self.body.ins().iconst(types::I8, i64::from(UNLOCKED));
        self.body.ins().store(sound(), zero, self.process, PROCESS_HOLDS);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(slow);
        self.faults("unlock", &[]);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }
}
