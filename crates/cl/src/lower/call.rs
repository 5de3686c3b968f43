//! Calls: arguments, captures, and elements that are passed as VARIABLE.

use crate::ir::{Access, Argument, Instruction, Payload, Place, Register, Storage, Type};
use crate::lower::builder::{Builder, Home};
use crate::lower::lent::Lent;
use crate::lower::place::Prepared;
use crate::lower::routines::Owned;
use crate::lower::walk;
use crate::tree::{ByReference, Call, Expression, ExpressionKind, LocalId, Procedure, Routine};

impl Builder<'_, '_> {
    /// Calls; a scalar result goes to the register, an owned one to the local.
    pub(super) fn call(&mut self, call: &Call, result: Option<Payload>) {
        let span = std::mem::replace(&mut self.span, call.span);
        let procedure = &self.context.tree.procedures[call.procedure];
        let mut lent = Vec::new();
        let mut arguments: Vec<Argument> = call
            .arguments
            .iter()
            .zip(&procedure.parameters)
            .enumerate()
            .map(|(number, (argument, (local, by)))| match by {
                ByReference::No => {
                    let ty = storage_of(procedure, *local);
                    let calls = walk::any_calls(&call.arguments[number + 1..]);
                    let value = self.now(|builder| {
                        builder.before_calls(calls, |builder| builder.payload(argument, ty))
                    });
                    Argument::Value(value)
                }
                ByReference::Yes => Argument::Reference(self.reference(argument, &mut lent)),
            })
            .collect();
        let callee = Routine::Procedure(call.procedure);
        let captures: Vec<Owned> = self.context.routines.captures(callee).to_vec();
        for owned in captures {
            arguments.push(Argument::Reference(self.address_of_local(owned)));
        }
        let function = self.context.procedures[&call.procedure];
        let unused = match (result, procedure.result) {
            (None, Some(ty @ (Type::Text | Type::Component))) => Some(self.temporary(ty)),
            _ => None,
        };
        let result = result.or(unused.map(Payload::Move));
        self.borrow_all(&mut lent);
        self.emit(Instruction::Call { result, function, arguments });
        self.give_back_all(&lent);
        if let (Some(place), Some(Type::Component)) = (unused, procedure.result) {
            self.emit(Instruction::Delete { place });
        }
        self.span = span;
    }

    /// A value on its way: texts are copied, components handed over.
    pub(super) fn payload(&mut self, value: &Expression, ty: Type) -> Payload {
        match ty {
            Type::Text => match self.text(value) {
                place if is_temporary(&self.function, place) => Payload::Move(place),
                place => Payload::Copy(place),
            },
            Type::Component => {
                let to = self.temporary(Type::Component);
                self.component_into(value, to);
                Payload::Move(to)
            }
            _ => Payload::Register(self.value(value)),
        }
    }

    /// Moves a component to an empty local.
    pub(super) fn component_into(&mut self, value: &Expression, to: Place) {
        match &value.kind {
            ExpressionKind::Place(place) => {
                let from = self.prepare(place);
                let from = self.address(&from, Access::Expect);
                self.emit(Instruction::Move { to, from });
            }
            ExpressionKind::Call(call) => self.call(call, Some(Payload::Move(to))),
            ExpressionKind::Locked(lock, inner) => {
                self.with_lock(*lock, |builder| builder.component_into(inner, to));
            }
            other => unreachable!("{other:?} is no component"),
        }
    }

    /// The address of a VARIABLE argument.
    fn reference(&mut self, argument: &Expression, lent: &mut Vec<Lent>) -> Register {
        let ExpressionKind::Place(place) = &argument.kind else {
            unreachable!("{argument:?} has no place");
        };
        // The value goes back after the call, to the element that it came from.
        match self.before_calls(true, |builder| builder.prepare(place)) {
            Prepared::Place(Place::At(register)) => register,
            Prepared::Place(place) => self.address_of(place),
            element => {
                let it = self.lent(element, argument.ty);
                let address = it.address;
                lent.push(it);
                address
            }
        }
    }

    fn address_of(&mut self, place: Place) -> Register {
        let to = self.register(Type::Address);
        self.emit(Instruction::AddressOf { to, place });
        to
    }

    /// Deletes what is at `to`, then moves there.
    pub(super) fn move_component(&mut self, from: Place, to: &Prepared) {
        let place = self.address(to, Access::Make);
        self.emit(Instruction::Delete { place });
        let to = self.address(to, Access::Make);
        self.emit(Instruction::Move { to, from });
    }

    /// The address of a local of this routine or one around it.
    fn address_of_local(&mut self, (routine, local): Owned) -> Register {
        match self.home(routine, local) {
            Home::Local(local) => self.address_of(Place::Local(local)),
            Home::Outer(local) => self.address_of(Place::Outer(local)),
            Home::Address(register, _) => register,
            Home::OuterAddress(local) => {
                let to = self.register(Type::Address);
                self.emit(Instruction::Load { to, from: Place::Outer(local) });
                to
            }
            Home::Register(_) => unreachable!("a captured local lives in memory"),
        }
    }
}

/// The type of a parameter.
fn storage_of(procedure: &Procedure, local: LocalId) -> Type {
    match procedure.body.locals[local].storage {
        Storage::One(ty) => ty,
        _ => unreachable!("a parameter is one value"),
    }
}

/// Whether the place is a local without a name: its value is needed once.
fn is_temporary(function: &crate::ir::Function, place: Place) -> bool {
    matches!(place, Place::Local(local) if function.locals[local].name.is_empty())
}
