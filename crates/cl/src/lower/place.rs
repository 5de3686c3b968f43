//! Places: first their indices are evaluated, then, right before the instruction that needs it,
//! the address is taken.

use crate::ir::{Access, Instruction, Key, Place, Register, Storage, Type};
use crate::lower::builder::{Builder, Home};
use crate::lower::walk;
use crate::tree::{self, Expression, ExpressionKind, PlaceKind};

/// Whether an expression is a constant or a variable: nothing happens when it is evaluated.
pub(super) fn is_immediate(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Constant(_) => true,
        ExpressionKind::Place(place) => {
            matches!(place.kind, PlaceKind::Local(..) | PlaceKind::Variable(_))
        }
        _ => false,
    }
}

/// A place whose indices have been evaluated.
#[derive(Debug, Clone)]
pub(super) enum Prepared {
    /// A scalar in a register.
    Register(Register),
    /// In memory.
    Place(Place),
    /// An element of an array.
    ArrayElement(Place, Vec<Register>),
    /// An element of a collection.
    Element(Place, Storage, Vec<Key>),
    /// A character of a text.
    Character(Box<Prepared>, Register),
}

/// The place and the index of a party or port.
pub(super) type PreparedParty = (Option<Prepared>, Option<Register>);

impl Prepared {
    /// Whether it stays where it is whatever happens to collections.
    pub(super) fn is_fixed(&self) -> bool {
        matches!(self, Prepared::Register(_) | Prepared::Place(_))
    }
}

impl Builder<'_, '_> {
    /// Evaluates the indices of a place.
    pub(super) fn prepare(&mut self, place: &tree::Place) -> Prepared {
        match &place.kind {
            PlaceKind::Local(routine, local) => match self.home(*routine, *local) {
                Home::Register(register) => Prepared::Register(register),
                Home::Local(local) => Prepared::Place(Place::Local(local)),
                Home::Address(register, _) => Prepared::Place(Place::At(register)),
                Home::Outer(local) => Prepared::Place(Place::Outer(local)),
                Home::OuterAddress(local) => {
                    let to = self.register(Type::Address);
                    self.emit(Instruction::Load { to, from: Place::Outer(local) });
                    Prepared::Place(Place::At(to))
                }
            },
            PlaceKind::Variable(variable) => Prepared::Place(Place::Variable(*variable)),
            PlaceKind::Element { base, indices } => {
                let fixed = self.fixed(base);
                match &base.storage {
                    Storage::Collection { .. } => {
                        let keys = indices.iter().enumerate().map(|(number, index)| {
                            let calls = walk::any_calls(&indices[number + 1..]);
                            self.before_calls(calls, |builder| builder.key(index))
                        });
                        Prepared::Element(fixed, base.storage.clone(), keys.collect())
                    }
                    _ => {
                        let indices = indices.iter().map(|index| self.value(index)).collect();
                        Prepared::ArrayElement(fixed, indices)
                    }
                }
            }
            PlaceKind::Character { text, index } => {
                let calls = walk::calls(|visit| walk::expression(index, visit));
                let text = self.before_calls(calls, |builder| builder.prepare(text));
                Prepared::Character(Box::new(text), self.value(index))
            }
        }
    }

    /// As [`Builder::prepare`], for a place that is used before anything else happens: a text that
    /// is its only key need not be copied.
    pub(super) fn prepare_for_now(&mut self, place: &tree::Place) -> Prepared {
        if let PlaceKind::Element { base, indices } = &place.kind
            && let Storage::Collection { .. } = &base.storage
            && let [index] = indices.as_slice()
            && let ExpressionKind::Place(key) = &index.kind
            && index.ty == Type::Text
            && matches!(key.kind, PlaceKind::Element { .. })
        {
            let fixed = self.fixed(base);
            let key = self.prepare_for_now(key);
            let at = self.at(index.span, |builder| builder.address(&key, Access::Expect));
            return Prepared::Element(fixed, base.storage.clone(), vec![Key::Text(at)]);
        }
        self.prepare(place)
    }

    /// An array or collection: it is never an element.
    pub(super) fn fixed(&mut self, place: &tree::Place) -> Place {
        match self.prepare(place) {
            Prepared::Place(place) => place,
            other => unreachable!("{other:?} as an array or collection"),
        }
    }

    fn key(&mut self, index: &Expression) -> Key {
        match index.ty {
            Type::Text => Key::Text(self.text(index)),
            _ => Key::Register(self.value(index)),
        }
    }

    /// Takes the address; the next instruction must use it.
    pub(super) fn address(&mut self, place: &Prepared, access: Access) -> Place {
        match place {
            Prepared::Place(place) => *place,
            Prepared::ArrayElement(array, indices) => {
                let to = self.register(Type::Address);
                let (array, indices) = (*array, indices.clone());
                self.emit(Instruction::ArrayElement { to, array, indices });
                Place::At(to)
            }
            Prepared::Element(collection, shape, keys) => {
                let to = self.register(Type::Address);
                let (collection, shape, keys) = (*collection, shape.clone(), keys.clone());
                self.emit(Instruction::Element { to, collection, shape, keys, access });
                Place::At(to)
            }
            Prepared::Register(_) | Prepared::Character(..) => {
                unreachable!("{place:?} has no address")
            }
        }
    }

    /// Loads a scalar.
    pub(super) fn load(&mut self, place: &Prepared, ty: Type) -> Register {
        match place {
            Prepared::Register(register) => *register,
            Prepared::Character(text, index) => {
                let from = self.address(text, Access::Expect);
                let to = self.register(Type::Character);
                self.emit(Instruction::TextGet { to, from, index: *index });
                to
            }
            _ => {
                let from = self.address(place, Access::Expect);
                let to = self.register(ty);
                self.emit(Instruction::Load { to, from });
                to
            }
        }
    }

    /// Stores a scalar.
    pub(super) fn store(&mut self, place: &Prepared, from: Register) {
        match place {
            Prepared::Register(to) => self.emit(Instruction::Copy { to: *to, from }),
            Prepared::Character(text, index) => {
                let to = self.address(text, Access::Make);
                self.emit(Instruction::TextSet { to, index: *index, from });
            }
            _ => {
                let to = self.address(place, Access::Make);
                self.emit(Instruction::Store { to, from });
            }
        }
    }
}
