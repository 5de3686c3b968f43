//! A whole routine: parameters, where its variables live, its statements, its end.

use tidemill_diag::Span;

use crate::ir::{
    FunctionId, Instruction, Local, Parameter, Payload, Place, Reason, Storage, Terminator, Type,
};
use crate::lower::builder::{Builder, Home};
use crate::lower::context::Context;
use crate::lower::routines::key;
use crate::tree::{self, Body, ByReference, Expression, LocalId, Routine};

/// Lowers a routine into its reserved function.
pub(super) fn lower(context: &mut Context, id: FunctionId, routine: Routine, body: &Body) {
    let span = body.code.span;
    let mut builder = Builder::new(context, id, routine, span);
    builder.parameters();
    builder.variables(body);
    builder.enter();
    builder.sequence(&body.code);
    builder.leave(Span { start: span.end, ..span });
}

impl Builder<'_, '_> {
    /// Gives each parameter and capture its place.
    fn parameters(&mut self) {
        let Routine::Procedure(procedure) = self.routine else { return };
        let procedure = &self.context.tree.procedures[procedure];
        self.function.result = procedure.result;
        for (local, by) in &procedure.parameters {
            let variable = &procedure.body.locals[*local];
            match by {
                ByReference::Yes => self.address_parameter((self.routine, *local), &variable.name),
                ByReference::No => self.value_parameter(*local, variable),
            }
        }
        for owned in self.context.routines.captures(self.routine).to_vec() {
            self.address_parameter(owned, "captured");
        }
    }

    fn address_parameter(&mut self, (routine, local): (Routine, LocalId), name: &str) {
        let register = self.register(Type::Address);
        self.function.parameters.push(Parameter::Register(register));
        let kept = self.context.routines.waits(self.routine).then(|| {
            let storage = Storage::One(Type::Address);
            let kept = self.function.locals.push(Local { name: name.into(), storage });
            self.emit(Instruction::Store { to: Place::Local(kept), from: register });
            kept
        });
        self.homes.insert((key(routine), local), Home::Address(register, kept));
    }

    fn value_parameter(&mut self, local: LocalId, variable: &tree::Local) {
        let home = self.variable(local, variable);
        self.function.parameters.push(match home {
            Home::Register(register) => Parameter::Register(register),
            Home::Local(local) => Parameter::Local(local),
            other => unreachable!("{other:?} for a parameter by value"),
        });
    }

    /// Gives each variable that is no parameter its place; registers start as zero.
    fn variables(&mut self, body: &Body) {
        for (id, variable) in body.locals.iter_enumerated() {
            if self.homes.contains_key(&(key(self.routine), id)) {
                continue;
            }
            if let Home::Register(register) = self.variable(id, variable) {
                let value = self.zero(self.function.registers[register]);
                self.emit(Instruction::Constant { to: register, value });
            }
        }
    }

    fn zero(&self, ty: Type) -> crate::ir::Constant {
        use crate::ir::Constant;
        match ty {
            Type::Real => Constant::Real(0.0),
            Type::Boolean => Constant::Boolean(false),
            Type::Character => Constant::Character(0),
            _ => Constant::Integer(0),
        }
    }

    fn variable(&mut self, id: LocalId, variable: &tree::Local) -> Home {
        let home = match &variable.storage {
            Storage::One(ty)
                if ty.is_scalar() && !self.context.routines.in_memory(self.routine, id) =>
            {
                Home::Register(self.register(*ty))
            }
            storage => {
                let (name, storage) = (variable.name.clone(), storage.clone());
                Home::Local(self.function.locals.push(Local { name, storage }))
            }
        };
        self.homes.insert((key(self.routine), id), home);
        home
    }

    /// A recursive procedure passes a checkpoint in each of its calls.
    fn enter(&mut self) {
        if let Routine::Procedure(procedure) = self.routine
            && self.context.routines.is_recursive(procedure)
        {
            self.emit(Instruction::Checkpoint);
        }
    }

    /// The code after the last statement.
    fn leave(mut self, span: Span) {
        self.span = span;
        if !self.is_ended() {
            match self.function.result {
                Some(_) => self.end(Terminator::Fault(Reason::NoResult)),
                None => self.return_with(None),
            }
        }
        self.finish();
    }

    /// Gives the monitor back, ends the components of this routine, returns.
    pub(super) fn return_with(&mut self, result: Option<Payload>) {
        if self.locked {
            self.emit(Instruction::Unlock);
        }
        let moved = match result {
            Some(Payload::Move(place)) => Some(place),
            _ => None,
        };
        let holds_components = |storage: &Storage| match storage {
            Storage::One(ty) => *ty == Type::Component,
            Storage::Array { element, .. } | Storage::Collection { element, .. } => {
                *element == Type::Component
            }
        };
        let places: Vec<Place> = self
            .function
            .locals
            .iter_enumerated()
            .filter(|(_, local)| holds_components(&local.storage))
            .map(|(id, _)| Place::Local(id))
            .filter(|place| Some(*place) != moved)
            .collect();
        if !places.is_empty() {
            self.emit(Instruction::EndScope { places });
        }
        self.end(Terminator::Return(result));
    }

    /// Lowers RETURN of a value.
    pub(super) fn return_value(&mut self, value: &Expression) {
        let result = match value.ty {
            Type::Text => {
                let to = self.temporary(Type::Text);
                self.text_into(value, &crate::lower::place::Prepared::Place(to));
                Payload::Move(to)
            }
            Type::Component => {
                let to = self.temporary(Type::Component);
                self.component_into(value, to);
                Payload::Move(to)
            }
            ty => {
                // A register of its own: giving up a monitor must not change it.
                let to = self.register(ty);
                self.value_into(value, to);
                Payload::Register(to)
            }
        };
        self.return_with(Some(result));
    }
}
