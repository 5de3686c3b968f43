//! Calls of procedures: native ones as they are, others with a frame of their own that goes on
//! when the process is resumed.

use tidemill_jit::build::types;
use tidemill_jit::build::{InstBuilder, IntCC, Value};
use tidemill_proc::layout::{DEPTH_MAX, FRAME_RESULT, WORKER_DEPTH};

use crate::compile::frame::Frame;
use crate::compile::machine;
use crate::compile::translate::{Address, Translator, sound};
use crate::ir::{Argument, FunctionId, Parameter, Payload, Type};

impl Translator<'_, '_, '_> {
    pub(super) fn call(
        &mut self,
        result: Option<Payload>,
        callee: FunctionId,
        arguments: &[Argument],
    ) {
        if self.unit.suspending.contains(callee) {
            self.call_framed(result, callee, arguments);
        } else {
            self.call_native(result, callee, arguments);
        }
    }

    /// The word (or double) of an argument; texts are copied, so that the callee owns its own.
    fn argument(&mut self, argument: &Argument) -> Value {
        match *argument {
            Argument::Reference(register) | Argument::Value(Payload::Register(register)) => {
                self.get(register)
            }
            Argument::Value(Payload::Copy(place)) => {
                let from = self.place(place);
                let (word, position) = (self.load(from, Type::Text), self.position());
                self.faults("text_copy", &[word, position]);
                self.result(Type::Text)
            }
            Argument::Value(Payload::Move(place)) => {
                let from = self.place(place);
                let word = self.load(from, Type::Integer);
                let zero = self.word(0);
                self.store(from, zero);
                word
            }
        }
    }

    fn call_native(&mut self, result: Option<Payload>, callee: FunctionId, arguments: &[Argument]) {
        let mut all = vec![self.frame, self.process, self.worker];
        for argument in arguments {
            let value = self.argument(argument);
            all.push(value);
        }
        let target = self.unit.functions[callee];
        let results = self.body.call(target, &all).to_vec();
        let next = self.body.create_block();
        let unwind = self.unwind();
        self.body.ins().brif(results[0], unwind, &[], next, &[]);
        self.body.switch_to_block(next);
        if let (Some(to), Some(value)) = (result, results.get(1)) {
            self.put_result(to, *value);
        }
    }

    fn call_framed(&mut self, result: Option<Payload>, callee: FunctionId, arguments: &[Argument]) {
        let (number, position) = (self.half(callee.raw()), self.position());
        let frame = self.finds("frame_new", &[number, position]);
        self.pass(frame, callee, arguments);
        let depth = self.body.ins().load(types::I32, sound(), self.worker, WORKER_DEPTH);
        let deep = self.body.ins().icmp_imm_u(
            IntCC::UnsignedGreaterThanOrEqual,
            depth,
            i64::from(DEPTH_MAX),
        );
        let (direct, deferred) = (self.body.create_block(), self.body.create_block());
        let (returned, after) = (self.body.create_block(), self.body.create_block());
        let waits = self.body.create_block();
        self.body.set_cold_block(deferred);
        self.body.set_cold_block(waits);
        let ty = self.unit.ir.functions[callee].result;
        let given = ty.map(|ty| self.body.append_block_param(after, machine(ty)));
        self.body.ins().brif(deep, deferred, &[], direct, &[]);

        self.body.switch_to_block(direct);
        let deeper = self.body.ins().iadd_imm_s(depth, 1);
        self.body.ins().store(sound(), deeper, self.worker, WORKER_DEPTH);
        let target = self.unit.functions[callee];
        let arguments = [frame, self.process, self.worker];
        let status = self.body.call(target, &arguments)[0];
        self.body.ins().brif(status, waits, &[], returned, &[]);

        self.body.switch_to_block(returned);
        self.body.ins().store(sound(), depth, self.worker, WORKER_DEPTH);
        let value = ty.map(|ty| self.body.ins().load(machine(ty), sound(), frame, FRAME_RESULT));
        self.plain("frame_free", &[frame]);
        let value: Vec<_> = value.into_iter().map(Into::into).collect();
        self.body.ins().jump(after, &value);

        // Resumed, the scheduler has run the callee to its end.
        self.body.switch_to_block(waits);
        let resumed = self.body.create_block();
        self.suspend_or_unwind(status, resumed);
        self.body.switch_to_block(deferred);
        self.defer(frame, resumed);
        self.body.switch_to_block(resumed);
        let value = ty.map(|ty| self.result(ty));
        let value: Vec<_> = value.into_iter().map(Into::into).collect();
        self.body.ins().jump(after, &value);

        self.body.switch_to_block(after);
        if let (Some(to), Some(value)) = (result, given) {
            self.put_result(to, value);
        }
    }

    /// Arguments go to the callee's frame.
    fn pass(&mut self, frame: Value, callee: FunctionId, arguments: &[Argument]) {
        let function = &self.unit.ir.functions[callee];
        let mut kept = 0;
        for (argument, parameter) in arguments.iter().zip(&function.parameters) {
            let value = self.argument(argument);
            let offset = match *parameter {
                Parameter::Local(local) => Frame::local(local),
                Parameter::Register(_) => {
                    kept += 1;
                    self.unit.frames[callee].word(kept - 1)
                }
            };
            self.store(Address { base: frame, offset }, value);
        }
    }

    fn put_result(&mut self, to: Payload, value: Value) {
        match to {
            Payload::Register(register) => self.set(register, value),
            Payload::Copy(place) | Payload::Move(place) => {
                // A temporary: texts that it still has are freed, components it has none.
                let ty = match place {
                    crate::ir::Place::Local(local) => &self.function.locals[local].storage,
                    _ => &crate::ir::Storage::One(Type::Integer),
                };
                if *ty == crate::ir::Storage::One(Type::Text) {
                    self.put_text(place, value);
                } else {
                    let to = self.place(place);
                    self.store(to, value);
                }
            }
        }
    }
}
