//! Components, the monitor, time.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value, types};
use tidemill_proc::layout::{
    CALM, CLOSED, COMPONENT_AWAIT_QUEUE, COMPONENT_FLAGS, COMPONENT_LOCK, COMPONENT_LOCK_QUEUE,
    EXCLUSIVE, GRANTED, HANDED, PROCESS_GRANTED, PROCESS_HOLDS, SHARED, UNLOCKED, busy,
};
use tidemill_proc::program::{Facet, WordKind as Owned};

use crate::compile::describe::storage_kind;
use crate::compile::translate::Translator;
use crate::ir::{FunctionId, Instruction, Place, Type};

impl Translator<'_, '_, '_> {
    pub(super) fn component(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::New { place, component, synchronous } => {
                let word = self.place(*place);
                let (word, kind) = (self.pointer(word), self.half(component.raw()));
                let (clock, position) = (self.half(u32::from(*synchronous)), self.position());
                self.faults("component_new", &[word, kind, clock, position]);
            }
            Instruction::Delete { place } => self.delete(*place),
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
                let (name, facet) = match offered {
                    true => ("offers", Facet { offered: all, required: Vec::new() }),
                    false => ("requires", Facet { offered: Vec::new(), required: all }),
                };
                let facet = self.unit.descriptors.facet(facet);
                let at = self.place(*place);
                let (word, facet) = (self.load(at, Type::Component), self.half(facet));
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

    fn delete(&mut self, place: Place) {
        let at = self.place(place);
        let word = self.load(at, Type::Component);
        // Most variables are empty when a component is made in them.
        let (some, next) = (self.body.create_block(), self.body.create_block());
        self.body.ins().brif(word, some, &[], next, &[]);
        self.body.switch_to_block(some);
        // Resumed, the operation is granted, although the word is empty.
        let retry = self.retry();
        let at = self.place(place);
        let (word, kind) = (self.pointer(at), self.half(Owned::Component as u32));
        self.blocks("delete", &[word, kind], retry);
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(next);
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
            Instruction::LockWhen { condition } => self.lock_when(*condition),
            Instruction::Unlock => self.unlock(),
            Instruction::Await { condition } => self.await_condition(*condition),
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

    /// Takes the monitor; without a call if it is free and its queue is empty.
    fn lock(&mut self, exclusive: bool) {
        let retry = self.retry();
        let (slow, done) = (self.body.cold_block(), self.body.create_block());
        let lock = self.open(exclusive, slow);
        if !self.sections.is_edge(self.at) {
            self.enter(lock);
        }
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(slow);
        let granted = self.granted();
        self.blocks(if exclusive { "lock_exclusive" } else { "lock_shared" }, &[], retry);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(granted);
        self.take_grant();
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    /// The same where what is locked begins with a condition, which has to hold, too.
    fn lock_when(&mut self, condition: FunctionId) {
        let retry = self.retry();
        let (slow, done) = (self.body.cold_block(), self.body.create_block());
        let holds = self.body.create_block();
        self.open(true, slow);
        self.inline_condition(condition, holds, slow);
        self.body.switch_to_block(slow);
        let (address, number) = self.condition(condition);
        self.blocks("lock_when", &[address, number], retry);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(holds);
        if !self.sections.is_edge(self.at) {
            self.enter(None);
        }
        let flags = self.body.load_aligned(types::I16, self.component, COMPONENT_FLAGS);
        let flags = self.body.ins().bor_imm_u(flags, i64::from(busy(condition.raw())));
        self.body.store_aligned(flags, self.component, COMPONENT_FLAGS);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    /// Takes the monitor of a sequence that has only tested it, before others may run.
    pub(super) fn hold(&mut self) {
        if self.sections.is_inside(self.at) {
            self.enter(None);
        }
    }

    /// Continues where the monitor can be had at once; with the count of those that read.
    fn open(&mut self, exclusive: bool, slow: Block) -> Option<Value> {
        let (free, nobody) = (self.body.create_block(), self.body.create_block());
        let component = self.component;
        // A process that resumes with the lock granted must call the run-time, which takes the
        // grant back.
        let lock = self.body.load_aligned(types::I32, component, COMPONENT_LOCK);
        let condition = if exclusive { IntCC::Equal } else { IntCC::SignedGreaterThanOrEqual };
        let is = self.body.ins().icmp_imm_s(condition, lock, 0);
        self.body.ins().brif(is, free, &[], slow, &[]);
        self.body.switch_to_block(free);
        let queue = self.body.load_aligned(types::I64, component, COMPONENT_LOCK_QUEUE);
        let granted = self.body.load_aligned(types::I8, self.process, PROCESS_GRANTED);
        let granted = self.body.ins().uextend(types::I64, granted);
        let others = self.body.ins().bor(queue, granted);
        self.body.ins().brif(others, slow, &[], nobody, &[]);
        self.body.switch_to_block(nobody);
        (!exclusive).then_some(lock)
    }

    /// Enters the monitor: as one more that reads, or exclusively.
    fn enter(&mut self, readers: Option<Value>) {
        let (lock, holds) = match readers {
            None => (self.body.ins().iconst(types::I32, -1), EXCLUSIVE),
            Some(lock) => (self.body.ins().iadd_imm_s(lock, 1), SHARED),
        };
        self.body.store_aligned(lock, self.component, COMPONENT_LOCK);
        let holds = self.body.ins().iconst(types::I8, i64::from(holds));
        self.body.store_aligned(holds, self.process, PROCESS_HOLDS);
    }

    /// The arguments that describe a condition to the run-time.
    fn condition(&mut self, condition: FunctionId) -> (Value, Value) {
        let address = self.body.function_address(self.unit.functions[condition]);
        let closed = self.unit.ir.functions[condition].is_closed();
        (address, self.half(condition.raw() | if closed { CLOSED } else { 0 }))
    }

    /// Continues where nothing has been granted; the block for when it has.
    fn granted(&mut self) -> Block {
        let (granted, not) = (self.body.create_block(), self.body.create_block());
        let is = self.body.load_aligned(types::I8, self.process, PROCESS_GRANTED);
        let is = self.body.ins().icmp_imm_u(IntCC::Equal, is, i64::from(GRANTED));
        self.body.ins().brif(is, granted, &[], not, &[]);
        self.body.switch_to_block(not);
        granted
    }

    /// The process evaluates its condition itself; the run-time blocks it.
    fn await_condition(&mut self, condition: FunctionId) {
        let retry = self.retry();
        let (next, waits) = (self.body.create_block(), self.body.create_block());
        let granted = self.granted();
        if self.unit.ir.functions[condition].is_closed() {
            self.inline_condition(condition, next, waits);
        } else {
            let code = self.unit.functions[condition];
            let status = self.body.call(code, &[self.frame, self.process, self.worker])[0];
            let fails = self.body.create_block();
            let is = self.body.ins().icmp_imm_u(IntCC::Equal, status, 1);
            self.body.ins().brif(is, next, &[], fails, &[]);
            self.body.switch_to_block(fails);
            let unwind = self.unwind();
            self.body.ins().brif(status, unwind, &[], waits, &[]);
        }
        self.body.switch_to_block(waits);
        let (address, number) = self.condition(condition);
        self.blocks("await_change", &[address, number], retry);
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(granted);
        self.take_grant();
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(next);
    }

    /// The lock that the process was handed while it waited is its own now.
    fn take_grant(&mut self) {
        let nothing = self.body.ins().iconst(types::I8, 0);
        self.body.store_aligned(nothing, self.process, PROCESS_GRANTED);
        let flags = self.body.load_aligned(types::I16, self.component, COMPONENT_FLAGS);
        let flags = self.body.ins().band_imm_u(flags, i64::from(!HANDED));
        self.body.store_aligned(flags, self.component, COMPONENT_FLAGS);
    }

    /// Releases the monitor; without a call if its queue is empty and no other process reads.
    /// Processes that await a condition may need no notification.
    fn unlock(&mut self) {
        let (slow, done) = (self.body.cold_block(), self.body.create_block());
        let (has_waiters, calm) = (self.body.create_block(), self.body.create_block());
        let alone = self.body.create_block();
        let component = self.component;
        let is_edge = self.sections.is_edge(self.at);
        let stops = if is_edge {
            // No other process has run, unless this one has waited and holds the monitor.
            let holds = self.body.load_aligned(types::I8, self.process, PROCESS_HOLDS);
            self.body.ins().uextend(types::I64, holds)
        } else {
            let queue = self.body.load_aligned(types::I64, component, COMPONENT_LOCK_QUEUE);
            let lock = self.body.load_aligned(types::I32, component, COMPONENT_LOCK);
            // -1 and 1 become 0, with one reader of several the rest counts on.
            let shared = self.body.ins().icmp_imm_s(IntCC::SignedGreaterThan, lock, 1);
            let shared = self.body.ins().uextend(types::I64, shared);
            self.body.ins().bor(queue, shared)
        };
        let awaiting = self.body.load_aligned(types::I64, component, COMPONENT_AWAIT_QUEUE);
        let waiters = self.body.ins().bor(stops, awaiting);
        self.body.ins().brif(waiters, has_waiters, &[], alone, &[]);
        self.body.switch_to_block(has_waiters);
        self.body.ins().brif(stops, slow, &[], calm, &[]);
        self.body.switch_to_block(calm);
        let flags = self.body.load_aligned(types::I16, component, COMPONENT_FLAGS);
        let flag = self.body.ins().band_imm_u(flags, i64::from(CALM));
        self.body.ins().brif(flag, alone, &[], slow, &[]);
        self.body.switch_to_block(alone);
        if !is_edge {
            let zero = self.body.ins().iconst(types::I32, 0);
            self.body.store_aligned(zero, component, COMPONENT_LOCK);
            let zero = self.body.ins().iconst(types::I8, i64::from(UNLOCKED));
            self.body.store_aligned(zero, self.process, PROCESS_HOLDS);
        }
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(slow);
        self.faults("unlock", &[]);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }
}
