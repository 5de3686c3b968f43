//! Elements that are passed as VARIABLE: each is in a temporary for the time of the call, as the
//! procedure may insert into its collection or free its array.
//!
//! They are borrowed when all arguments have been evaluated, which may use them. Two arguments that
//! are the same element share the temporary of the first.

use crate::ir::{Access, Binary, Constant, Instruction, Key, Place, Register, Terminator, Type};
use crate::lower::builder::Builder;
use crate::lower::place::Prepared;

/// An element that is in a temporary for the time of the call.
pub(super) struct Lent {
    pub(super) element: Prepared,
    pub(super) ty: Type,
    /// Of the temporary that the procedure uses: the argument.
    pub(super) address: Register,
    temporary: Place,
    /// Whether the temporary is used, if another one may be instead.
    used: Option<Register>,
}

impl Builder<'_, '_> {
    /// An element that will be borrowed.
    pub(super) fn lent(&mut self, element: Prepared, ty: Type) -> Lent {
        let (address, temporary) = (self.register(Type::Address), self.temporary(ty));
        Lent { element, ty, address, temporary, used: None }
    }

    /// Moves the values of all elements to their temporaries.
    pub(super) fn borrow_all(&mut self, lent: &mut [Lent]) {
        for index in 0..lent.len() {
            let (before, rest) = lent.split_at_mut(index);
            let it = &mut rest[0];
            let others: Vec<(Register, Vec<(Key, Key)>)> = before
                .iter()
                .filter_map(|other| Some((other.address, indices(&other.element, &it.element)?)))
                .collect();
            if others.is_empty() {
                self.borrow(it);
                self.emit(Instruction::AddressOf { to: it.address, place: it.temporary });
                continue;
            }
            let used = self.register(Type::Boolean);
            it.used = Some(used);
            let after = self.block();
            for (address, indices) in others {
                let differs = self.block();
                self.unless_equal(&indices, differs);
                self.emit(Instruction::Copy { to: it.address, from: address });
                self.emit(Instruction::Constant { to: used, value: Constant::Boolean(false) });
                self.jump(after);
                self.begin(differs);
            }
            self.borrow(it);
            self.emit(Instruction::AddressOf { to: it.address, place: it.temporary });
            self.emit(Instruction::Constant { to: used, value: Constant::Boolean(true) });
            self.jump(after);
            self.begin(after);
        }
    }

    /// Moves the values back.
    pub(super) fn give_back_all(&mut self, lent: &[Lent]) {
        for it in lent {
            match it.used {
                None => self.give_back(it),
                Some(condition) => self.when(condition, |builder| builder.give_back(it)),
            }
        }
    }

    /// Goes on if the indices are equal.
    fn unless_equal(&mut self, indices: &[(Key, Key)], differs: crate::ir::BlockId) {
        for (a, b) in indices {
            let (a, b) = match (*a, *b) {
                (Key::Register(a), Key::Register(b)) => (a, b),
                (Key::Text(a), Key::Text(b)) => {
                    let to = self.register(Type::Integer);
                    self.emit(Instruction::TextCompare { to, a, b });
                    (to, self.constant(Constant::Integer(0)))
                }
                mixed => unreachable!("{mixed:?} are keys of one collection"),
            };
            let condition = self.compare(Binary::Equal, a, b);
            let then = self.block();
            self.end(Terminator::Branch { condition, then, otherwise: differs });
            self.begin(then);
        }
    }

    /// Does the work if the condition holds.
    fn when(&mut self, condition: Register, work: impl FnOnce(&mut Self)) {
        let (then, after) = (self.block(), self.block());
        self.end(Terminator::Branch { condition, then, otherwise: after });
        self.begin(then);
        work(self);
        self.jump(after);
        self.begin(after);
    }

    fn borrow(&mut self, it: &Lent) {
        let to = it.temporary;
        match it.ty {
            Type::Text => {
                let from = self.address(&it.element, Access::Make);
                self.emit(Instruction::TextMove { to, from });
            }
            Type::Component => {
                let place = self.address(&it.element, Access::Make);
                let held = self.register(Type::Boolean);
                self.emit(Instruction::Exists { to: held, place });
                self.when(held, |builder| {
                    let from = builder.address(&it.element, Access::Make);
                    builder.emit(Instruction::Move { to, from });
                });
            }
            ty => {
                let value = match &it.element {
                    place @ Prepared::Element(..) => {
                        let from = self.address(place, Access::Make);
                        let to = self.register(ty);
                        self.emit(Instruction::Load { to, from });
                        to
                    }
                    place => self.load(place, ty),
                };
                self.emit(Instruction::Store { to, from: value });
            }
        }
    }

    fn give_back(&mut self, it: &Lent) {
        let from = it.temporary;
        match it.ty {
            Type::Text => {
                let to = self.address(&it.element, Access::Make);
                self.emit(Instruction::TextMove { to, from });
            }
            Type::Component => {
                let held = self.register(Type::Boolean);
                self.emit(Instruction::Exists { to: held, place: from });
                self.when(held, |builder| builder.move_component(from, &it.element));
            }
            ty => {
                let value = self.register(ty);
                self.emit(Instruction::Load { to: value, from });
                self.store(&it.element, value);
            }
        }
    }
}

/// The indices of two elements of one array, collection or text: they are one if these are equal.
fn indices(a: &Prepared, b: &Prepared) -> Option<Vec<(Key, Key)>> {
    match (a, b) {
        (Prepared::Place(a), Prepared::Place(b)) => (a == b).then(Vec::new),
        (Prepared::ArrayElement(a, i), Prepared::ArrayElement(b, j)) if a == b => {
            let keys = i.iter().zip(j);
            Some(keys.map(|(i, j)| (Key::Register(*i), Key::Register(*j))).collect())
        }
        (Prepared::Element(a, _, i), Prepared::Element(b, _, j)) if a == b => {
            Some(i.iter().copied().zip(j.iter().copied()).collect())
        }
        (Prepared::Character(a, i), Prepared::Character(b, j)) => {
            let mut all = indices(a, b)?;
            all.push((Key::Register(*i), Key::Register(*j)));
            Some(all)
        }
        _ => None,
    }
}
