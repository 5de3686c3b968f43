//! Operations of the run-time: calls, and what the code does with their outcome.
//!
//! ```text
//! method               result of the operation, see Outcome    code after it
//! plain, value, truth  nothing, or a value                     continues
//! faults               a status: done or fault                 continues or unwinds
//! finds                an address, null after a fault          continues with it or unwinds
//! states_fault         a fault                                 unwinds
//! blocks, pauses       a status: done, suspended or fault      continues, returns or unwinds
//! ```
//! Those that may suspend are in [`super::suspend`].

use tidemill_jit::build::{InstBuilder, Value, types};
use tidemill_proc::entry::Outcome;
use tidemill_proc::program::WordKind as Owned;

use crate::compile::translate::{Address, Translator};
use crate::ir::Type;

impl Translator<'_, '_, '_> {
    /// Calls an operation with the frame, the process and the worker before its arguments.
    pub(super) fn operate(
        &mut self,
        name: &'static str,
        arguments: &[Value],
    ) -> (Option<Value>, Outcome) {
        let (function, outcome) = match self.unit.entries.get(name) {
            Some((function, entry)) => (*function, entry.outcome),
            None => panic!("the run-time has no operation {name}"),
        };
        let mut all = vec![self.frame, self.process, self.worker];
        all.extend_from_slice(arguments);
        (self.body.call(function, &all).first().copied(), outcome)
    }

    /// An operation without failure.
    pub(super) fn plain(&mut self, name: &'static str, arguments: &[Value]) -> Option<Value> {
        let (value, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Value, "{name}");
        value
    }

    /// An operation that gives a value and cannot fail.
    pub(super) fn value(&mut self, name: &'static str, arguments: &[Value]) -> Value {
        match self.plain(name, arguments) {
            Some(value) => value,
            None => panic!("{name} gives nothing"),
        }
    }

    /// A truth value of 32 bits, as a word.
    pub(super) fn truth(&mut self, name: &'static str, arguments: &[Value]) -> Value {
        let value = self.value(name, arguments);
        self.body.ins().uextend(types::I64, value)
    }

    /// An operation that may fault.
    pub(super) fn faults(&mut self, name: &'static str, arguments: &[Value]) {
        let (status, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Faults, "{name}");
        if let Some(status) = status {
            self.unwind_if(status);
        }
    }

    /// An operation that is called only where it faults, which the code has tested. It does not
    /// return to the code that follows, so no value has to outlive it: what a loop has in
    /// registers, reals above all, stays there.
    pub(super) fn states_fault(&mut self, name: &'static str, arguments: &[Value]) {
        self.operate(name, arguments);
        let unwind = self.unwind();
        self.body.ins().jump(unwind, &[]);
    }

    /// An operation that gives an address, or null after a fault.
    pub(super) fn finds(&mut self, name: &'static str, arguments: &[Value]) -> Value {
        let (address, outcome) = self.operate(name, arguments);
        debug_assert_eq!(outcome, Outcome::Finds, "{name}");
        let address = address.unwrap_or(self.frame);
        let next = self.body.create_block();
        let unwind = self.unwind();
        self.body.ins().brif(address, next, &[], unwind, &[]);
        self.body.switch_to_block(next);
        address
    }

    fn unwind_if(&mut self, status: Value) {
        let next = self.body.create_block();
        let unwind = self.unwind();
        self.body.ins().brif(status, unwind, &[], next, &[]);
        self.body.switch_to_block(next);
    }

    /// A fault that the code itself finds, if `condition` is not 0.
    pub(super) fn fault_if(&mut self, condition: Value, reason: u32, detail: Option<Value>) {
        let (next, cold) = (self.body.create_block(), self.body.cold_block());
        self.body.ins().brif(condition, cold, &[], next, &[]);
        self.body.switch_to_block(cold);
        self.fault(reason, detail);
        self.body.switch_to_block(next);
    }

    /// Ends the block with a fault.
    pub(super) fn fault(&mut self, reason: u32, detail: Option<Value>) {
        let detail = detail.unwrap_or_else(|| self.body.ins().iconst(types::I64, 0));
        let (reason, position) = (self.half(reason), self.position());
        self.operate("fault", &[reason, detail, position]);
        let unwind = self.unwind();
        self.body.ins().jump(unwind, &[]);
    }

    /// Frees what the word owns, if it owns something.
    pub(super) fn drop_if_any(&mut self, at: Address, kind: Owned) {
        let word = self.load(at, Type::Integer);
        let (some, next) = (self.body.create_block(), self.body.create_block());
        self.body.ins().brif(word, some, &[], next, &[]);
        self.body.switch_to_block(some);
        let (pointer, kind) = (self.pointer(at), self.half(kind as u32));
        self.plain("drop_word", &[pointer, kind]);
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(next);
    }
}
