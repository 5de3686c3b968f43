//! How a function that runs without a frame gets one.

use tidemill_jit::build::{InstBuilder, IntCC, Value, types};
use tidemill_proc::layout::{DEFERRED, FRAME_RESULT, WORKER_STACK_END};
use tidemill_stdx::id::Id;

use crate::compile::frame::Frame;
use crate::compile::translate::Translator;
use crate::compile::unit::machine;
use crate::ir::{Parameter, Type};

impl Translator<'_, '_, '_> {
    /// A frame of a function that has run without and is suspended with a status, and the status
    /// again; the frame has the locals.
    pub(super) fn lazy_frame(&mut self, status: Value) -> (Value, Value) {
        let (number, position) = (self.half(self.id.raw()), self.position());
        let frame = self.finds("frame_lazy", &[number, status, position]);
        self.move_locals(frame);
        (frame, self.body.load_aligned(types::I32, frame, FRAME_RESULT))
    }

    fn move_locals(&mut self, frame: Value) {
        let Some(slot) = self.locals else { return };
        for local in self.function.locals.ids() {
            let value = self.row_load(slot, local.index(), Type::Integer);
            self.body.store_aligned(value, frame, Frame::local(local));
        }
    }

    /// At the start of a function without a frame: where the native stack is deep it gets one, with
    /// its arguments, and is run by the run-time. If there is no memory for it the caller states
    /// that.
    pub(super) fn leave_if_deep(&mut self) {
        let (start, deep) = (self.body.create_block(), self.body.cold_block());
        let here = self.body.ins().get_stack_pointer(types::I64);
        let end = self.body.load_aligned(types::I64, self.worker, WORKER_STACK_END);
        let is = self.body.ins().icmp(IntCC::UnsignedLessThan, here, end);
        self.body.ins().brif(is, deep, &[], start, &[]);
        self.body.switch_to_block(deep);
        let number = self.half(self.id.raw());
        let (frame, _) = self.operate("frame_first", &[number]);
        let frame = frame.unwrap_or(self.frame);
        let status = self.half(DEFERRED);
        let all = self.without_result(status, self.function.result.map(machine));
        let left: Vec<_> = all.iter().copied().map(Into::into).collect();
        let made = self.body.cold_block();
        self.body.ins().brif(frame, made, &[], self.leave, &left);
        self.body.switch_to_block(made);
        self.move_locals(frame);
        let mut kept = 0;
        for parameter in &self.function.parameters {
            if let Parameter::Register(register) = *parameter {
                let value = self.get(register);
                let offset = self.unit.frames[self.id].word(kept);
                self.body.store_aligned(value, frame, offset);
                kept += 1;
            }
        }
        self.body.ins().return_(&all);
        self.body.switch_to_block(start);
    }
}
