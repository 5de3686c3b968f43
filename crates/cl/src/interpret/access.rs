//! The way to the run-time: the only unsafe code of the interpreter.
//!
//! The run-time trusts an interpreter as it trusts compiled code. This one deserves it because it
//! runs verified programs only ([`interpret`](super::interpret) checks), whose registers and
//! places have the types that their instructions require, and because offsets come from the
//! layouts that the descriptors were made of.

#![allow(unsafe_code, reason = "the run-time trusts its interpreters")]

use std::ops::{Deref, DerefMut};

use tidemill_proc::entry::Operation;
use tidemill_proc::interpret::{Activation, Interpreter, Status};
use tidemill_proc::program::{Executable, Program};

use super::machine::Machine;
use super::step::Step;

/// An activation, accessed as the IR prescribes.
pub(super) struct Access<'f, 'a>(&'f mut Activation<'a>);

// SAFETY: see above.
unsafe impl Interpreter for Machine {
    fn resume(&self, activation: &mut Activation<'_>) -> Status {
        if let Some(before) = self.before.as_ref().filter(|_| activation.function() < self.first) {
            return before.resume(activation);
        }
        Step::new(self, Access(activation)).run()
    }

    fn condition(&self, activation: &mut Activation<'_>, number: u32) -> Option<bool> {
        if let Some(before) = self.before.as_ref().filter(|_| number < self.first) {
            return before.condition(activation, number);
        }
        self.evaluate(Access(activation), number)
    }
}

/// The program of a machine, with the machine as its interpreter.
pub(super) fn executable(program: Program, machine: Machine) -> Executable {
    // SAFETY: the descriptors were made of the program that the machine runs, with its layouts.
    unsafe { Executable::new(program, Some(std::sync::Arc::new(machine))) }
}

/// The next version of a program, with the machine as the interpreter of what it adds.
pub(super) fn executable_after(
    before: &Executable,
    program: Program,
    machine: Machine,
    successors: &[(u32, u32)],
) -> Executable {
    let machine = Machine { before: before.interpreter(), ..machine };
    // SAFETY: this machine runs the functions of a verified program, whose descriptors were made of
    // its layouts; functions of the version before are left to its machine.
    unsafe { Executable::after(before, program, Some(std::sync::Arc::new(machine)), successors) }
}

impl Access<'_, '_> {
    pub(super) fn set_result(&mut self, value: u64) {
        // SAFETY: the value of a Return has the type of the function.
        unsafe { self.0.set_result(value) }
    }

    pub(super) fn set_word(&mut self, offset: u32, value: u64) {
        // SAFETY: registers, rows and resume points own nothing.
        unsafe { self.0.set_word(offset, value) }
    }

    pub(super) fn load(&self, address: u64) -> u64 {
        // SAFETY: addresses are those of places, or come from operations.
        unsafe { self.0.load(address) }
    }

    pub(super) fn store(&mut self, address: u64, value: u64) {
        // SAFETY: addresses are those of places, or come from operations; the value is of the type
        // of the place.
        unsafe { self.0.store(address, value) }
    }

    pub(super) fn perform(&mut self, operation: Operation, arguments: &[u64]) -> u64 {
        // SAFETY: each instruction has its operation, with words of the types that it requires.
        unsafe { self.0.perform(operation, arguments) }
    }

    pub(super) fn call(&mut self, callee: u64) -> Status {
        // SAFETY: a frame made for this call, whose arguments are stored.
        unsafe { self.0.call(callee) }
    }

    pub(super) fn call_at_once(&mut self, callee: u64) -> Status {
        // SAFETY: the callee's frame has words of the types that its function requires.
        unsafe { self.0.call_at_once(callee) }
    }
}

impl<'a> Deref for Access<'_, 'a> {
    type Target = Activation<'a>;

    fn deref(&self) -> &Activation<'a> {
        self.0
    }
}

impl<'a> DerefMut for Access<'_, 'a> {
    fn deref_mut(&mut self) -> &mut Activation<'a> {
        self.0
    }
}
