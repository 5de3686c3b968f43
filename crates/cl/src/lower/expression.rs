//! Expressions: scalars go to registers, texts to places.

use crate::ir::{
    Access, Binary, BlockId, Constant, Instruction, Party, Place, Port, Register, Terminator, Type,
    Unary, Written,
};
use crate::lower::builder::Builder;
use crate::lower::place::{Prepared, PreparedParty};
use crate::lower::walk;
use crate::tree::{self, Expression, ExpressionKind, Lock};

impl Builder<'_, '_> {
    /// Evaluates a scalar.
    pub(super) fn value(&mut self, expression: &Expression) -> Register {
        self.at(expression.span, |builder| builder.now(|builder| builder.scalar(expression, None)))
    }

    /// Evaluates a scalar into the register.
    pub(super) fn value_into(&mut self, expression: &Expression, to: Register) {
        self.at(expression.span, |builder| {
            let from = builder.now(|builder| builder.scalar(expression, Some(to)));
            if from != to {
                builder.emit(Instruction::Copy { to, from });
            }
        });
    }

    fn scalar(&mut self, expression: &Expression, into: Option<Register>) -> Register {
        use ExpressionKind as Kind;
        let ty = expression.ty;
        match &expression.kind {
            Kind::Place(place) => {
                let place = self.prepare_for_now(place);
                self.load(&place, ty)
            }
            Kind::Binary(operator, a, b) if a.ty == Type::Text => {
                let order = self.compare_texts(a, b);
                let zero = self.constant(Constant::Integer(0));
                let to = self.target(into, ty);
                self.emit(Instruction::Binary { to, operator: *operator, a: order, b: zero });
                to
            }
            Kind::Binary(operator, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                let to = self.target(into, ty);
                self.emit(Instruction::Binary { to, operator: *operator, a, b });
                to
            }
            Kind::And(..) | Kind::Or(..) => self.choose(expression),
            Kind::Locked(lock, inner) => self.with_lock(*lock, |builder| {
                let value = builder.value(inner);
                let to = builder.target(into, ty);
                builder.emit(Instruction::Copy { to, from: value });
                to
            }),
            Kind::Call(call) => {
                let to = self.target(into, ty);
                self.call(call, Some(crate::ir::Payload::Register(to)));
                to
            }
            _ => {
                // The operands first: the target may be among them.
                let step = self.step(expression);
                let to = self.target(into, ty);
                self.emit(step(to));
                to
            }
        }
    }

    fn target(&mut self, into: Option<Register>, ty: Type) -> Register {
        into.unwrap_or_else(|| self.register(ty))
    }

    /// Evaluates the operands of an expression that is one instruction.
    fn step(&mut self, expression: &Expression) -> Box<dyn FnOnce(Register) -> Instruction> {
        use ExpressionKind as Kind;
        match &expression.kind {
            Kind::Constant(value) => {
                let value = *value;
                Box::new(move |to| Instruction::Constant { to, value })
            }
            Kind::Unary(operator, a) => {
                let (operator, a) = (*operator, self.value(a));
                Box::new(move |to| Instruction::Unary { to, operator, a })
            }
            Kind::Convert(conversion, a) => {
                let (conversion, a) = (*conversion, self.value(a));
                Box::new(move |to| Instruction::Convert { to, conversion, a })
            }
            Kind::Random(low, high) => {
                let (low, high) = (self.value(low), self.value(high));
                Box::new(move |to| Instruction::Random { to, low, high })
            }
            Kind::TextNumber(a) => {
                let from = self.text_now(a);
                Box::new(move |to| Instruction::TextNumber { to, from })
            }
            Kind::TextLength(a) => {
                let from = self.text_now(a);
                Box::new(move |to| Instruction::TextLength { to, from })
            }
            Kind::CharacterOf(a) => {
                let index = self.constant(Constant::Integer(0));
                let from = self.text_now(a);
                Box::new(move |to| Instruction::TextGet { to, from, index })
            }
            Kind::ArrayLength(array, dimension) => {
                let (array, dimension) = (self.fixed(array), *dimension);
                Box::new(move |to| Instruction::ArrayLength { to, array, dimension })
            }
            Kind::Terminated => Box::new(|to| Instruction::Terminated { to }),
            Kind::Time => Box::new(|to| Instruction::Time { to }),
            Kind::Test(party, pattern) => {
                let (from, pattern) = (self.party(party), *pattern);
                Box::new(move |to| Instruction::Test { to, from, pattern })
            }
            Kind::Input(party, pattern) => {
                let (from, pattern) = (self.party(party), *pattern);
                Box::new(move |to| Instruction::Input { to, from, pattern })
            }
            Kind::Connected(port) => {
                let port = self.port(port);
                Box::new(move |to| Instruction::Connected { to, port })
            }
            _ => self.component_step(expression),
        }
    }

    /// A test of a component, or a value of it.
    fn component_step(
        &mut self,
        expression: &Expression,
    ) -> Box<dyn FnOnce(Register) -> Instruction> {
        use ExpressionKind as Kind;
        match &expression.kind {
            Kind::Exists(place) => match self.prepare_for_now(place) {
                Prepared::Element(collection, shape, keys) => {
                    Box::new(move |to| Instruction::ElementExists { to, collection, shape, keys })
                }
                place => {
                    let place = self.address(&place, Access::Expect);
                    Box::new(move |to| Instruction::Exists { to, place })
                }
            },
            Kind::Failed(place) => {
                let place = self.component(place);
                Box::new(move |to| Instruction::Failed { to, place })
            }
            Kind::Is(place, component) => {
                let (place, component) = (self.component(place), *component);
                Box::new(move |to| Instruction::Is { to, place, component })
            }
            Kind::Has { place, offered, interfaces } => {
                let (place, offered) = (self.component(place), *offered);
                let interfaces = interfaces.clone();
                Box::new(move |to| Instruction::Has { to, place, offered, interfaces })
            }
            other => unreachable!("{other:?} is no scalar"),
        }
    }

    fn component(&mut self, place: &tree::Place) -> Place {
        let place = self.prepare(place);
        self.address(&place, Access::Expect)
    }

    /// AND and OR as a value.
    fn choose(&mut self, expression: &Expression) -> Register {
        let to = self.register(Type::Boolean);
        let (yes, no, after) = (self.block(), self.block(), self.block());
        self.branch(expression, yes, no);
        for (block, value) in [(yes, true), (no, false)] {
            self.begin(block);
            self.emit(Instruction::Constant { to, value: Constant::Boolean(value) });
            self.jump(after);
        }
        self.begin(after);
        to
    }

    /// Goes to one of two blocks.
    pub(super) fn branch(&mut self, condition: &Expression, then: BlockId, otherwise: BlockId) {
        match &condition.kind {
            ExpressionKind::And(a, b) => {
                let second = self.block();
                self.branch(a, second, otherwise);
                self.begin(second);
                self.branch(b, then, otherwise);
            }
            ExpressionKind::Or(a, b) => {
                let second = self.block();
                self.branch(a, then, second);
                self.begin(second);
                self.branch(b, then, otherwise);
            }
            ExpressionKind::Unary(Unary::Not, a) => self.branch(a, otherwise, then),
            _ => {
                let value = self.value(condition);
                self.end(Terminator::Branch { condition: value, then, otherwise });
            }
        }
    }

    /// The order of two texts as a number below, equal to or above 0.
    fn compare_texts(&mut self, a: &Expression, b: &Expression) -> Register {
        let a = if is_plain(b) {
            self.text_now(a)
        } else {
            let calls = walk::calls(|visit| walk::expression(b, visit));
            self.before_calls(calls, |builder| builder.text(a))
        };
        let b = self.text_now(b);
        let to = self.register(Type::Integer);
        self.emit(Instruction::TextCompare { to, a, b });
        to
    }

    /// Evaluates a text to where the next instruction can read it: an element is not copied.
    fn text_now(&mut self, expression: &Expression) -> Place {
        match &expression.kind {
            ExpressionKind::Place(place) => self.at(expression.span, |builder| {
                let place = builder.now(|builder| builder.prepare_for_now(place));
                builder.address(&place, Access::Expect)
            }),
            _ => self.text(expression),
        }
    }

    /// Evaluates a text to where it can be read: a fixed place of its own, or a temporary.
    pub(super) fn text(&mut self, expression: &Expression) -> Place {
        if let ExpressionKind::Place(place) = &expression.kind
            && !self.calls_before_use
            && let Prepared::Place(place) = self.prepare_simple(place)
        {
            return place;
        }
        let to = self.temporary(Type::Text);
        self.text_into(expression, &Prepared::Place(to));
        to
    }

    /// Prepares a variable; anything with indices is left to a temporary.
    fn prepare_simple(&mut self, place: &tree::Place) -> Prepared {
        match place.kind {
            tree::PlaceKind::Local(..) | tree::PlaceKind::Variable(_) => self.prepare(place),
            _ => Prepared::Register(Register::new(0)),
        }
    }

    /// Evaluates a text into the place.
    pub(super) fn text_into(&mut self, expression: &Expression, to: &Prepared) {
        self.now(|builder| {
            builder.at(expression.span, |builder| builder.make_text(expression, to))
        });
    }

    fn make_text(&mut self, expression: &Expression, to: &Prepared) {
        let builder = self;
        match &expression.kind {
            ExpressionKind::Text(text) => {
                let text = builder.context.program.texts.push(text.to_vec());
                let to = builder.address(to, Access::Make);
                builder.emit(Instruction::TextConstant { to, text });
            }
            ExpressionKind::Place(place) => {
                let from = builder.prepare(place);
                let to = builder.address(to, Access::Make);
                let from = builder.address(&from, Access::Expect);
                builder.emit(Instruction::TextCopy { to, from });
            }
            ExpressionKind::TextOf(value) => {
                let from = builder.value(value);
                let to = builder.address(to, Access::Make);
                builder.emit(Instruction::TextOf { to, from, form: Written::Plain });
            }
            ExpressionKind::Call(call) => {
                let result = match to {
                    Prepared::Place(place @ Place::Local(_)) => *place,
                    _ => builder.temporary(Type::Text),
                };
                builder.call(call, Some(crate::ir::Payload::Move(result)));
                if !matches!(to, Prepared::Place(place) if *place == result) {
                    let to = builder.address(to, Access::Make);
                    builder.emit(Instruction::TextMove { to, from: result });
                }
            }
            ExpressionKind::Locked(lock, inner) => {
                builder.with_lock(*lock, |builder| builder.text_into(inner, to));
            }
            other => unreachable!("{other:?} is no text"),
        }
    }

    pub(super) fn with_lock<T>(&mut self, lock: Lock, work: impl FnOnce(&mut Self) -> T) -> T {
        self.within_lock(Instruction::Lock { exclusive: lock == Lock::Exclusive }, work)
    }

    /// The same with the instruction that takes the lock.
    pub(super) fn within_lock<T>(
        &mut self,
        lock: Instruction,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.emit(lock);
        let outer = std::mem::replace(&mut self.locked, true);
        let result = work(self);
        self.locked = outer;
        self.emit(Instruction::Unlock);
        result
    }

    pub(super) fn party(&mut self, party: &tree::Party) -> Party {
        let prepared = self.prepare_party(party);
        self.finish_party(party, prepared)
    }

    /// The indices of a party, so that its address can be taken after what is sent to it.
    pub(super) fn prepare_party(&mut self, party: &tree::Party) -> PreparedParty {
        match party {
            tree::Party::Client | tree::Party::Own { .. } => (None, None),
            tree::Party::Required { index, .. } => (None, self.index(index.as_deref())),
            tree::Party::Sub { place, index, .. } => {
                let calls = any_in(index.as_deref());
                let place = self.before_calls(calls, |builder| builder.prepare(place));
                (Some(place), self.index(index.as_deref()))
            }
        }
    }

    pub(super) fn finish_party(
        &mut self,
        party: &tree::Party,
        (place, index): PreparedParty,
    ) -> Party {
        match party {
            tree::Party::Client => Party::Client,
            tree::Party::Own { interface } => Party::Own { interface: *interface },
            tree::Party::Required { interface, .. } => {
                Party::Required { interface: *interface, index }
            }
            tree::Party::Sub { interface, .. } => {
                let place = place.expect("prepared above");
                let place = self.address(&place, Access::Expect);
                Party::Sub { place, interface: *interface, index }
            }
        }
    }

    fn index(&mut self, index: Option<&Expression>) -> Option<Register> {
        index.map(|index| self.value(index))
    }

    pub(super) fn port(&mut self, port: &tree::Port) -> Port {
        let prepared = self.prepare_port(port);
        self.finish_port(port, prepared)
    }

    /// The indices of a port, so that its address can be taken after those of the other.
    pub(super) fn prepare_port(&mut self, port: &tree::Port) -> PreparedParty {
        match port {
            tree::Port::SubRequired { place, index, .. }
            | tree::Port::SubOffered { place, index, .. } => {
                let calls = any_in(index.as_deref());
                let place = self.before_calls(calls, |builder| builder.prepare(place));
                (Some(place), self.index(index.as_deref()))
            }
            tree::Port::OwnRequired { index, .. } | tree::Port::OwnOffered { index, .. } => {
                (None, self.index(index.as_deref()))
            }
        }
    }

    pub(super) fn finish_port(&mut self, port: &tree::Port, (place, index): PreparedParty) -> Port {
        let place = place.map(|place| self.address(&place, Access::Expect));
        match (port, place) {
            (tree::Port::SubRequired { interface, .. }, Some(place)) => {
                Port::SubRequired { place, interface: *interface, index }
            }
            (tree::Port::SubOffered { interface, .. }, Some(place)) => {
                Port::SubOffered { place, interface: *interface, index }
            }
            (tree::Port::OwnOffered { interface, .. }, _) => {
                Port::OwnOffered { interface: *interface, index }
            }
            (
                tree::Port::OwnRequired { interface, .. }
                | tree::Port::SubRequired { interface, .. }
                | tree::Port::SubOffered { interface, .. },
                _,
            ) => Port::OwnRequired { interface: *interface, index },
        }
    }

    /// A comparison that is not in the source.
    pub(super) fn compare(&mut self, operator: Binary, a: Register, b: Register) -> Register {
        let to = self.register(Type::Boolean);
        self.emit(Instruction::Binary { to, operator, a, b });
        to
    }
}

fn any_in(index: Option<&Expression>) -> bool {
    index.is_some_and(|index| walk::calls(|visit| walk::expression(index, visit)))
}

/// Whether a text is evaluated without calls, waiting and branches: what was read before it stays
/// where it is.
fn is_plain(expression: &Expression) -> bool {
    use ExpressionKind as Kind;
    match &expression.kind {
        Kind::Constant(_) | Kind::Text(_) => true,
        Kind::Place(place) => match &place.kind {
            tree::PlaceKind::Local(..) | tree::PlaceKind::Variable(_) => true,
            tree::PlaceKind::Element { indices, .. } => indices.iter().all(is_plain),
            tree::PlaceKind::Character { .. } => false,
        },
        Kind::Binary(_, a, b) => is_plain(a) && is_plain(b),
        Kind::Unary(_, a)
        | Kind::Convert(_, a)
        | Kind::TextOf(a)
        | Kind::TextNumber(a)
        | Kind::TextLength(a) => is_plain(a),
        _ => false,
    }
}
