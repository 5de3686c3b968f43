//! Calls of procedures: of those that run without a frame as ordinary calls, of others with a frame
//! of their own that resumes with the process.

use tidemill_jit::FuncId;
use tidemill_jit::build::types;
use tidemill_jit::build::{InstBuilder, IntCC, Value};
use tidemill_proc::layout::{
    CLASS_MAX, DEPTH_MAX, FRAME_CODE, FRAME_FUNCTION, FRAME_HEADER, FRAME_PARENT, FRAME_RESULT,
    FRAME_RESUME, GRAIN, WORKER_BASE, WORKER_DEPTH, WORKER_FREE, WORKER_PEAK, WORKER_USED,
};

use crate::compile::frame::Frame;
use crate::compile::translate::{Address, Translator};
use crate::compile::unit::machine;
use crate::ir::{Argument, FunctionId, Parameter, Payload, Type};

/// Bytes of locals that are zeroed without a call.
const LOCALS_MAX: i32 = 128;

impl Translator<'_, '_, '_> {
    pub(super) fn call(
        &mut self,
        result: Option<Payload>,
        callee: FunctionId,
        arguments: &[Argument],
    ) {
        if let Some(lazy) = self.unit.functions.lazy(callee) {
            self.call_lazy(result, (callee, lazy), arguments);
        } else if self.unit.suspending.contains(callee) {
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

    /// Calls a function that is not given a frame; the status, and the result if it has one.
    fn call_without_frame(
        &mut self,
        target: FuncId,
        mut all: Vec<Value>,
        arguments: &[Argument],
    ) -> Vec<Value> {
        for argument in arguments {
            let value = self.argument(argument);
            all.push(value);
        }
        self.body.call(target, &all).to_vec()
    }

    /// Calls a function that gets a frame if it is suspended. Its caller has or gets one then, too.
    fn call_lazy(
        &mut self,
        result: Option<Payload>,
        (callee, target): (FunctionId, FuncId),
        arguments: &[Argument],
    ) {
        if self.is_framed() {
            let (frame, worker) = (self.frame, self.worker);
            self.body.store_aligned(frame, worker, WORKER_BASE);
        }
        let results = self.call_without_frame(target, vec![self.worker], arguments);
        let (after, left) = (self.body.create_block(), self.body.cold_block());
        let ty = self.unit.ir.functions[callee].result;
        let given = ty.map(|ty| self.body.append_block_param(after, machine(ty)));
        let values: Vec<_> = results[1..].iter().copied().map(Into::into).collect();
        self.body.ins().brif(results[0], left, &[], after, &values);

        self.body.switch_to_block(left);
        let resumed = self.body.create_block();
        if self.is_framed() {
            let position = self.position();
            let (status, _) = self.operate("call_left", &[results[0], position]);
            self.leave_call(status.unwrap_or(results[0]), resumed);
            self.body.switch_to_block(resumed);
            let value = ty.map(|ty| self.result(ty));
            let value: Vec<_> = value.into_iter().map(Into::into).collect();
            self.body.ins().jump(after, &value);
        } else {
            self.leave_call(results[0], resumed);
        }

        self.body.switch_to_block(after);
        if let (Some(to), Some(value)) = (result, given) {
            self.put_result(to, value);
        }
    }

    fn call_native(&mut self, result: Option<Payload>, callee: FunctionId, arguments: &[Argument]) {
        let target = self.unit.functions[callee];
        let fixed = vec![self.frame, self.process, self.worker];
        let results = self.call_without_frame(target, fixed, arguments);
        let next = self.body.create_block();
        let unwind = self.unwind();
        self.body.ins().brif(results[0], unwind, &[], next, &[]);
        self.body.switch_to_block(next);
        if let (Some(to), Some(value)) = (result, results.get(1)) {
            self.put_result(to, *value);
        }
    }

    fn call_framed(&mut self, result: Option<Payload>, callee: FunctionId, arguments: &[Argument]) {
        let frame = self.new_frame(callee);
        self.pass(frame, callee, arguments);
        let depth = self.body.load_aligned(types::I32, self.worker, WORKER_DEPTH);
        let deep = self.body.ins().icmp_imm_u(
            IntCC::UnsignedGreaterThanOrEqual,
            depth,
            i64::from(DEPTH_MAX),
        );
        let (direct, deferred) = (self.body.create_block(), self.body.cold_block());
        let (returned, after) = (self.body.create_block(), self.body.create_block());
        let waits = self.body.cold_block();
        let ty = self.unit.ir.functions[callee].result;
        let given = ty.map(|ty| self.body.append_block_param(after, machine(ty)));
        self.body.ins().brif(deep, deferred, &[], direct, &[]);

        self.body.switch_to_block(direct);
        let deeper = self.body.ins().iadd_imm_s(depth, 1);
        self.body.store_aligned(deeper, self.worker, WORKER_DEPTH);
        let target = self.unit.functions[callee];
        let arguments = [frame, self.process, self.worker];
        let status = self.body.call(target, &arguments)[0];
        self.body.ins().brif(status, waits, &[], returned, &[]);

        self.body.switch_to_block(returned);
        self.body.store_aligned(depth, self.worker, WORKER_DEPTH);
        let value = ty.map(|ty| self.body.load_aligned(machine(ty), frame, FRAME_RESULT));
        self.free_frame(frame, callee);
        let value: Vec<_> = value.into_iter().map(Into::into).collect();
        self.body.ins().jump(after, &value);

        // Resumed, the scheduler has run the callee to its end.
        self.body.switch_to_block(waits);
        let resumed = self.body.create_block();
        self.leave_call(status, resumed);
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

    /// The class of a frame that is taken from its free list and given back without a call; none
    /// if it is large.
    fn class(&self, callee: FunctionId) -> Option<(i32, i64)> {
        let size = (self.unit.frames[callee].size() as usize).next_multiple_of(GRAIN);
        let is_small = self.unit.frames[callee].locals() <= LOCALS_MAX;
        let class = WORKER_FREE + 8 * (size / GRAIN) as i32;
        (is_small && size <= CLASS_MAX).then_some((class, size as i64))
    }

    /// A frame for the callee: the first free block of its class, if there is one within what has
    /// been charged already; else the run-time has to find one.
    fn new_frame(&mut self, callee: FunctionId) -> Value {
        let (slow, done) = (self.body.create_block(), self.body.create_block());
        let found = self.body.append_block_param(done, types::I64);
        if let Some((class, size)) = self.class(callee) {
            self.body.set_cold_block(slow);
            let (there, fits) = (self.body.create_block(), self.body.create_block());
            let worker = self.worker;
            let block = self.body.load_aligned(types::I64, worker, class);
            self.body.ins().brif(block, there, &[], slow, &[]);
            self.body.switch_to_block(there);
            let used = self.body.load_aligned(types::I64, worker, WORKER_USED);
            let used = self.body.ins().iadd_imm_s(used, size);
            let peak = self.body.load_aligned(types::I64, worker, WORKER_PEAK);
            let is = self.body.ins().icmp(IntCC::UnsignedLessThanOrEqual, used, peak);
            self.body.ins().brif(is, fits, &[], slow, &[]);
            self.body.switch_to_block(fits);
            self.body.store_aligned(used, worker, WORKER_USED);
            let next = self.body.load_aligned(types::I64, block, 0);
            self.body.store_aligned(next, worker, class);
            let code = self.body.function_address(self.unit.functions[callee]);
            let (frame, zero) = (self.frame, self.word(0));
            let (start, number) = (self.half(0), self.half(callee.raw()));
            self.body.store_aligned(frame, block, FRAME_PARENT);
            self.body.store_aligned(code, block, FRAME_CODE);
            self.body.store_aligned(start, block, FRAME_RESUME);
            self.body.store_aligned(number, block, FRAME_FUNCTION);
            self.body.store_aligned(zero, block, FRAME_RESULT);
            for local in (0..self.unit.frames[callee].locals()).step_by(8) {
                self.body.store_aligned(zero, block, FRAME_HEADER + local);
            }
            self.body.ins().jump(done, &[block.into()]);
        } else {
            self.body.ins().jump(slow, &[]);
        }
        self.body.switch_to_block(slow);
        let (number, position) = (self.half(callee.raw()), self.position());
        let made = self.finds("frame_new", &[number, position]);
        self.body.ins().jump(done, &[made.into()]);
        self.body.switch_to_block(done);
        found
    }

    fn free_frame(&mut self, frame: Value, callee: FunctionId) {
        let Some((class, size)) = self.class(callee) else {
            self.plain("frame_free", &[frame]);
            return;
        };
        let worker = self.worker;
        let used = self.body.load_aligned(types::I64, worker, WORKER_USED);
        let used = self.body.ins().iadd_imm_s(used, -size);
        self.body.store_aligned(used, worker, WORKER_USED);
        let next = self.body.load_aligned(types::I64, worker, class);
        self.body.store_aligned(next, frame, 0);
        self.body.store_aligned(frame, worker, class);
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
