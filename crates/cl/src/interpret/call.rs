//! Calls of procedures.

use tidemill_proc::entry::Operation;
use tidemill_proc::interpret::Status;

use crate::interpret::step::{Done, Step};
use crate::ir::{Argument, FunctionId, Payload, Place, Storage, Type};

impl Step<'_, '_, '_> {
    /// Runs a procedure; its result is the frame's then. Where the native stack is deep the
    /// scheduler runs the callee; one that never waits, and so has no frame in compiled code, does
    /// not count for that.
    pub(super) fn call(&mut self, callee: FunctionId, arguments: &[Argument]) -> Done {
        let (machine, position) = (self.machine, self.position());
        let mut words = Vec::with_capacity(arguments.len());
        for argument in arguments {
            words.push(match *argument {
                Argument::Reference(register) => self.get(register),
                Argument::Value(payload) => self.outgoing(payload)?,
            });
        }
        let frame = self.find(Operation::frame_new, &[u64::from(callee.raw()), position])?;
        let parameters = &machine.ir.functions[callee].parameters;
        for (word, parameter) in words.into_iter().zip(parameters) {
            let offset = machine.layouts[callee].parameter(*parameter);
            self.activation.store(frame + u64::from(offset), word);
        }
        let status = if machine.suspending.contains(callee) {
            self.activation.call(frame)
        } else {
            self.activation.call_at_once(frame)
        };
        match status {
            Status::Done => Ok(()),
            other => Err(other),
        }
    }

    pub(super) fn put_result(&mut self, to: Payload, value: u64) {
        match to {
            Payload::Register(register) => self.set(register, value),
            Payload::Copy(place) | Payload::Move(place) => {
                if self.is_text(place) {
                    self.put_text(place, value)
                } else {
                    self.store(place, value)
                }
            }
        }
    }

    fn is_text(&self, place: Place) -> bool {
        let Place::Local(local) = place else { return false };
        self.function.locals[local].storage == Storage::One(Type::Text)
    }
}
