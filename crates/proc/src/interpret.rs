//! Functions that are interpreted instead of compiled.
//!
//! A function whose code is [`interpret`] runs on the same processes as compiled ones, and may
//! call and be called by them. Its interpreter keeps everything in words of the frame, as
//! compiled code does over a suspension, and executes the same [`Operation`]s: their arguments are
//! words, and a status, a value or an address as a word is the result. Loads, stores and addresses
//! passed to operations are checked to be in the worker's memory; beyond that the interpreter is
//! trusted like compiled code: with what words own, and with the text, array and collection words
//! it passes. Hence the trait is unsafe, and so is what takes words that mean more than a number.

use crate::entry::Operation;
use crate::fault::Reason;
use crate::handle::{FrameRef, Words};
pub use crate::interpreter::{Activation, Interpreter, Status};
use crate::layout::{DEPTH_MAX, DONE, FRAME_HEADER, Frame, Process, UNWINDING, WorkerHead};
use crate::machine::Context;
use crate::machine::Worker;
use crate::program::FunctionCode;
use crate::{component, process, text};

impl Activation<'_> {
    /// Which function, in the program.
    pub fn function(&self) -> u32 {
        self.0.frame.function()
    }

    /// Where execution resumes.
    pub fn resume_point(&self) -> u32 {
        self.0.frame.resume()
    }

    /// Sets where execution resumes.
    pub fn set_resume_point(&mut self, point: u32) {
        self.0.frame.set_resume(point);
    }

    /// The value that the last operation or call gave.
    pub fn result(&self) -> u64 {
        self.0.frame.result()
    }

    /// Sets the result of the frame, before it is done.
    ///
    /// # Safety
    /// It is a value that the callers of the function expect; what it owns becomes theirs.
    pub unsafe fn set_result(&mut self, value: u64) {
        self.0.frame.set_result(value);
    }

    /// The address of the frame: locals are at the offsets the compiler chose.
    pub fn frame(&self) -> u64 {
        self.0.frame.0.expose_provenance() as u64
    }

    /// The address of the frame that called this one, or awaits this condition; 0 if there is none.
    pub fn parent(&self) -> u64 {
        self.0.frame.parent().0.expose_provenance() as u64
    }

    /// The word at a byte offset in the frame.
    ///
    /// # Panics
    /// It is not in the frame: the program is wrong.
    pub fn word(&self, offset: u32) -> u64 {
        self.own(offset).get(0)
    }

    /// Sets the word at a byte offset in the frame.
    ///
    /// # Panics
    /// As [`Activation::word`].
    ///
    /// # Safety
    /// The word may have this value, as its descriptor says.
    pub unsafe fn set_word(&mut self, offset: u32, value: u64) {
        self.own(offset).set(0, value);
    }

    fn own(&self, offset: u32) -> Words {
        let known = &self.0.worker.program().functions[self.0.frame.function() as usize];
        let inside = offset >= FRAME_HEADER as u32 && offset + 8 <= known.frame_size;
        assert!(inside && offset.is_multiple_of(8), "{offset} is no word of a frame");
        self.0.frame.word(offset)
    }

    /// The address of the process's component.
    pub fn component(&self) -> u64 {
        self.0.component().to_word()
    }

    /// The word at an address.
    ///
    /// # Panics
    /// The address is not in the worker's memory: the program is wrong.
    ///
    /// # Safety
    /// At the address is a word of a live frame, component, array or collection.
    pub unsafe fn load(&self, address: u64) -> u64 {
        self.words(address).get(0)
    }

    /// Sets the word at an address.
    ///
    /// # Panics
    /// As [`Activation::load`].
    ///
    /// # Safety
    /// As [`Activation::load`] and [`Activation::set_word`].
    pub unsafe fn store(&mut self, address: u64, value: u64) {
        self.words(address).set(0, value);
    }

    fn words(&self, address: u64) -> Words {
        assert!(self.0.worker.memory.contains(address), "{address:#x} is no word of the program");
        Words(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// Executes an operation.
    ///
    /// # Panics
    /// Too few arguments, or an address that is none: the program is wrong.
    ///
    /// # Safety
    /// As of the [function](crate::entry::operations) of this name.
    pub unsafe fn perform(&mut self, operation: Operation, arguments: &[u64]) -> u64 {
        match operation.perform(&mut self.0, arguments) {
            Some(word) => word,
            None => panic!("{operation:?} with {arguments:x?}"),
        }
    }

    /// `text_literal`: a new text in the result.
    pub fn literal(&mut self, bytes: &[u8], position: u32) -> Status {
        Status::of(text::literal(&mut self.0, bytes.as_ptr(), bytes.len() as u64, position).into())
    }

    /// `write_bytes`.
    pub fn write(&mut self, bytes: &[u8]) {
        crate::console::write_bytes(&mut self.0, bytes.as_ptr(), bytes.len() as u64);
    }

    /// `await_condition`, of a condition that is interpreted.
    pub fn await_condition(&mut self, number: u32) -> Status {
        let code = interpret_condition as *const u8;
        Status::of(crate::monitor::await_condition(&mut self.0, code, number).into())
    }

    /// `lock_when`, of a condition that is interpreted.
    pub fn lock_when(&mut self, number: u32) -> Status {
        let code = interpret_condition as *const u8;
        Status::of(crate::monitor::lock_when(&mut self.0, code, number).into())
    }

    /// `end_scope`: words of the frame by offset.
    pub fn end_scope(&mut self, offsets: &[u32]) -> Status {
        let count = offsets.len() as u32;
        Status::of(component::end_scope(&mut self.0, offsets.as_ptr(), count).into())
    }

    /// A fault with its reason.
    pub fn fault(&mut self, reason: Reason, detail: i64, position: u32) -> Status {
        Status::of(self.0.fault(reason, detail, position).into())
    }

    /// A checkpoint: whether the slice is over. Then return what [`Operation::pause`] gives, with
    /// the resume point after the checkpoint.
    pub fn is_slice_over(&mut self) -> bool {
        self.0.worker.budget -= 1;
        self.0.worker.budget < 0 || self.0.worker.is_cut_off()
    }

    /// Runs a frame made by [`Operation::frame_new`] whose arguments are stored. When it is done
    /// it is freed and its result is this frame's; suspended, the resume point has to be after
    /// the call, where the result will be.
    ///
    /// # Panics
    /// As [`Activation::load`].
    ///
    /// # Safety
    /// It is such a frame, and not used by the caller afterwards.
    pub unsafe fn call(&mut self, callee: u64) -> Status {
        let frame = FrameRef(self.words(callee).0.cast());
        if self.0.worker.depth >= DEPTH_MAX {
            return Status::of(process::call_deferred(&mut self.0, frame.0).into());
        }
        self.0.worker.depth += 1;
        // SAFETY: promised by the caller.
        let status = unsafe { self.call_at_once(callee) };
        if status == Status::Done {
            self.0.worker.depth -= 1;
        }
        status
    }

    /// The same of a function that never suspends, however deep the native stack is: compiled
    /// code gives it no frame.
    ///
    /// # Panics
    /// As [`Activation::load`].
    ///
    /// # Safety
    /// As [`Activation::call`].
    pub unsafe fn call_at_once(&mut self, callee: u64) -> Status {
        let frame = FrameRef(self.words(callee).0.cast());
        // SAFETY: the frame is live, as are process and worker, of which nothing is borrowed.
        let status = unsafe { (frame.code())(frame.0, self.0.process.0, self.0.worker.address()) };
        if status == DONE {
            self.0.frame.set_result(frame.result());
            process::free_frame(self.0.worker, frame);
        }
        Status::of(status.into())
    }
}

impl FunctionCode {
    /// The interpreter of the [`Executable`](crate::program::Executable) runs it.
    pub fn interpreted() -> FunctionCode {
        FunctionCode::builtin(interpret)
    }
}

/// The code of functions that are interpreted.
///
/// # Safety
/// Called by the scheduler or by other code as any function's code.
pub unsafe extern "C" fn interpret(
    frame: *mut Frame,
    process: *mut Process,
    worker: *mut WorkerHead,
) -> u32 {
    // SAFETY: promised by the caller; a worker begins with its head.
    let cx = unsafe { Context::new(frame, process, worker.cast()) };
    let Some(interpreter) = cx.worker.machine.interpreter.clone() else { return UNWINDING };
    interpreter.resume(&mut Activation(cx)).number()
}

/// The code of conditions that are interpreted.
unsafe extern "C" fn interpret_condition(
    frame: *mut Frame,
    process: *mut Process,
    worker: *mut Worker,
) -> u32 {
    // SAFETY: called as a condition of a live frame.
    let cx = unsafe { Context::new(frame, process, worker) };
    let Some(interpreter) = cx.worker.machine.interpreter.clone() else { return UNWINDING };
    let number = cx.process.condition();
    match interpreter.condition(&mut Activation(cx), number) {
        Some(holds) => u32::from(holds),
        None => UNWINDING,
    }
}
