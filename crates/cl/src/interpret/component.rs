//! Components, the monitor, time.

use tidemill_proc::entry::Operation;
use tidemill_proc::interpret::Status;
use tidemill_proc::program::{Facet, WordKind as Owned};

use crate::compile::describe::storage_kind;
use crate::interpret::frame::Layout;
use crate::interpret::step::{Done, Step};
use crate::ir::{Instruction, InterfaceId, Place};

/// What a component is required to offer or require.
pub(super) fn facet(offered: bool, interfaces: &[(InterfaceId, u32, Option<u32>)]) -> Facet {
    let all = interfaces.iter().map(|it| (it.0.raw(), it.1, it.2)).collect();
    if offered {
        Facet { offered: all, required: Vec::new() }
    } else {
        Facet { offered: Vec::new(), required: all }
    }
}

fn done(status: Status) -> Done {
    match status {
        Status::Done => Ok(()),
        other => Err(other),
    }
}

impl Step<'_, '_, '_> {
    pub(super) fn component(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::New { place, component, synchronous } => {
                let (word, kind) = (self.address(*place), u64::from(component.raw()));
                let words = [word, kind, u64::from(*synchronous), self.position()];
                self.status(Operation::component_new, &words)?;
            }
            Instruction::Delete { place } => self.delete(*place, Owned::Component)?,
            Instruction::EndScope { places } => self.end_scope(places)?,
            Instruction::Move { to, from } => {
                let words = [self.address(*from), self.address(*to), self.position()];
                self.status(Operation::component_move, &words)?;
            }
            Instruction::Exists { to, place } => {
                let holds = self.load(*place) != 0;
                self.set(*to, u64::from(holds));
            }
            Instruction::Failed { to, place } => {
                let word = self.load(*place);
                let value = self.value(Operation::failed, &[word]);
                self.set(*to, value);
            }
            Instruction::Is { to, place, component } => {
                let words = [self.load(*place), u64::from(component.raw())];
                let value = self.value(Operation::is_type, &words);
                self.set(*to, value);
            }
            Instruction::Has { to, place, offered, interfaces } => {
                let facet = self.machine.numbers.facet(&facet(*offered, interfaces));
                let words = [self.load(*place), u64::from(facet)];
                let operation = if *offered { Operation::offers } else { Operation::requires };
                let value = self.value(operation, &words);
                self.set(*to, value);
            }
            Instruction::Terminated { to } => {
                let value = self.value(Operation::terminated, &[]);
                self.set(*to, value);
            }
            _ => self.monitor(instruction)?,
        }
        Ok(())
    }

    /// Waits until what the place owns is released.
    fn delete(&mut self, place: Place, kind: Owned) -> Done {
        let word = self.address(place);
        self.status(Operation::delete, &[word, kind as u64])
    }

    /// Locals are terminated at once, then the other places one by one.
    fn end_scope(&mut self, places: &[Place]) -> Done {
        let locals = places.iter().filter_map(|place| match place {
            Place::Local(local) => Some(Layout::local(*local)),
            _ => None,
        });
        let locals: Vec<u32> = locals.collect();
        if !locals.is_empty() {
            done(self.activation.end_scope(&locals))?;
        }
        for place in places {
            match *place {
                Place::Local(_) => {}
                Place::Variable(variable) => {
                    let component = &self.machine.ir.components[self.function.component];
                    let kind = storage_kind(&component.variables[variable].storage);
                    self.delete(*place, kind)?;
                }
                Place::At(_) | Place::Outer(_) => self.delete(*place, Owned::Collection)?,
            }
        }
        Ok(())
    }

    fn monitor(&mut self, instruction: &Instruction) -> Done {
        match instruction {
            Instruction::Lock { exclusive: true } => self.status(Operation::lock_exclusive, &[]),
            Instruction::Lock { exclusive: false } => self.status(Operation::lock_shared, &[]),
            Instruction::Unlock => self.status(Operation::unlock, &[]),
            Instruction::LockWhen { condition } => done(self.activation.lock_when(condition.raw())),
            Instruction::Await { condition } => {
                done(self.activation.await_condition(condition.raw()))
            }
            Instruction::Passivate { duration } => {
                let words = [self.get(*duration), self.position()];
                self.status(Operation::passivate, &words)
            }
            Instruction::Time { to } => {
                let value = self.value(Operation::time, &[]);
                self.set(*to, value);
                Ok(())
            }
            other => unreachable!("{other:?} is executed elsewhere"),
        }
    }
}
