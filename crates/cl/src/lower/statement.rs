//! Statements.

use tidemill_diag::Span;

use crate::ir::{
    Access, Binary, ComponentId, Constant, FunctionId, FunctionKind, Guard, Instruction, Key,
    MessageId, Payload, Place, Reason, Storage, Terminator, Type, Written,
};
use crate::lower::builder::{Builder, Home};
use crate::lower::place::{Prepared, PreparedParty, is_immediate};
use crate::lower::walk;
use crate::tree::{self, Expression, ExpressionKind, Lock, PlaceKind, Sequence, Statement};

impl Builder<'_, '_> {
    /// Lowers the statements, with the monitor held if they require it.
    pub(super) fn sequence(&mut self, sequence: &Sequence) {
        let all = sequence.statements.as_slice();
        self.at(sequence.span, |builder| match (sequence.lock, all) {
            (Some(Lock::Exclusive), [(Statement::Await(condition), span), rest @ ..]) => {
                let id = builder.at(*span, |builder| builder.condition(condition));
                if builder.context.program.functions[id].is_closed() {
                    let lock = Instruction::LockWhen { condition: id };
                    builder.within_lock(lock, |builder| builder.statements(rest));
                    return;
                }
                builder.with_lock(Lock::Exclusive, |builder| {
                    builder.at(*span, |builder| builder.wait(condition, id));
                    builder.statements(rest);
                });
            }
            (Some(lock), _) => builder.with_lock(lock, |builder| builder.statements(all)),
            (None, _) => builder.statements(all),
        });
    }

    fn statements(&mut self, statements: &[(Statement, Span)]) {
        for (statement, span) in statements {
            self.at(*span, |builder| builder.statement(statement));
            if self.is_ended() {
                // What follows RETURN or HALT is lowered, too, though nothing leads there.
                let unreachable = self.block();
                self.begin(unreachable);
            }
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Assign { target, value } => self.assign(target, value),
            Statement::NewComponent { target, component, synchronous } => {
                self.new_component(target, *component, *synchronous);
            }
            Statement::NewArray { target, extents } => self.new_array(target, extents),
            Statement::NewText { target, length } => {
                let target = self.prepare(target);
                let length = self.value(length);
                let to = self.address(&target, Access::Make);
                self.emit(Instruction::TextNew { to, length });
            }
            Statement::Connect { from, to } => {
                let calls = walk::calls(|visit| walk::port(to, visit));
                let a = self.before_calls(calls, |builder| builder.prepare_port(from));
                let b = self.prepare_port(to);
                let (from, to) = (self.finish_port(from, a), self.finish_port(to, b));
                self.emit(Instruction::Connect { from, to });
            }
            Statement::Disconnect(port) => {
                let port = self.port(port);
                self.emit(Instruction::Disconnect { port });
            }
            Statement::Delete(place) => self.delete(place),
            Statement::Move { from, to } => self.move_to(from, to),
            Statement::Send { .. } | Statement::Receive { .. } => self.message(statement),
            Statement::Await(condition) => {
                let id = self.condition(condition);
                self.wait(condition, id);
            }
            Statement::Call(call) => self.call(call, None),
            Statement::Write(value) => self.write(value, Written::Plain),
            Statement::WriteHex(value) => self.write(value, Written::Hexadecimal),
            Statement::WriteLine => self.emit(Instruction::WriteLine),
            Statement::Add { target, by, subtract } => self.add(target, by, *subtract),
            Statement::Halt(code) => self.halt(code),
            Statement::Assert { condition, code } => self.assert(condition, code.as_ref()),
            Statement::Guard { condition, place, component } => {
                self.guard(condition, place, *component);
            }
            Statement::Passivate(duration) => {
                let duration = self.value(duration);
                self.emit(Instruction::Passivate { duration });
            }
            Statement::Return(None) => self.return_with(None),
            Statement::Return(Some(value)) => self.return_value(value),
            Statement::If { branches, otherwise } => self.choice(branches, otherwise.as_ref()),
            Statement::While { condition, body } => self.while_loop(condition, body),
            Statement::Repeat { body, until } => self.repeat(body, until),
            Statement::For { variable, from, to, by, body } => {
                self.count(variable, (from, to), *by, body);
            }
            Statement::ForEach { variables, collection, body } => {
                self.for_each(variables, collection, body);
            }
            Statement::Block(body) => self.sequence(body),
        }
    }

    fn new_component(&mut self, target: &tree::Place, component: ComponentId, synchronous: bool) {
        let target = self.prepare(target);
        let place = self.address(&target, Access::Make);
        self.emit(Instruction::Delete { place });
        let place = self.address(&target, Access::Make);
        self.emit(Instruction::New { place, component, synchronous });
    }

    fn new_array(&mut self, target: &tree::Place, extents: &[Expression]) {
        let array = self.fixed(target);
        let extents = extents.iter().map(|extent| self.value(extent)).collect();
        let shape = target.storage.clone();
        self.emit(Instruction::ArrayNew { array, shape, extents });
    }

    fn move_to(&mut self, from: &tree::Place, to: &tree::Place) {
        let source = from.span;
        let calls = walk::calls(|visit| walk::place(to, visit));
        let from = self.before_calls(calls, |builder| builder.prepare(from));
        let to = self.prepare(to);
        // The old value of `to` is dropped first; then neither address changes.
        let place = self.address(&to, Access::Make);
        self.emit(Instruction::Delete { place });
        let to = self.address(&to, Access::Make);
        let from = self.address(&from, Access::Expect);
        self.at(source, |builder| builder.expect_component(from));
        self.emit(Instruction::Move { to, from });
    }

    fn while_loop(&mut self, condition: &Expression, body: &Sequence) {
        let (head, inside, after) = (self.block(), self.block(), self.block());
        self.jump(head);
        self.begin(head);
        self.branch(condition, inside, after);
        self.begin(inside);
        self.sequence(body);
        self.repeat_from(head);
        self.begin(after);
    }

    fn repeat(&mut self, body: &Sequence, until: &Expression) {
        let (head, again, after) = (self.block(), self.block(), self.block());
        self.jump(head);
        self.begin(head);
        self.sequence(body);
        self.branch(until, after, again);
        self.begin(again);
        self.repeat_from(head);
        self.begin(after);
    }

    /// The end of a loop's body.
    pub(super) fn repeat_from(&mut self, head: crate::ir::BlockId) {
        self.emit(Instruction::Checkpoint);
        self.jump(head);
    }

    fn assign(&mut self, target: &tree::Place, value: &Expression) {
        let is_element = matches!(target.kind, PlaceKind::Element { .. });
        if is_element && value.ty != Type::Text && is_immediate(value) {
            let target = self.prepare_for_now(target);
            let from = self.value(value);
            return self.store(&target, from);
        }
        let target = self.prepare_before(target, value);
        match (&target, value.ty) {
            (_, Type::Text) if target.is_fixed() => self.text_into(value, &target),
            (_, Type::Text) => {
                // The value may change the collection, so it is computed before the address.
                let from = self.text(value);
                let to = self.address(&target, Access::Make);
                self.emit(match from {
                    Place::Local(local) if self.function.locals[local].name.is_empty() => {
                        Instruction::TextMove { to, from }
                    }
                    _ => Instruction::TextCopy { to, from },
                });
            }
            (Prepared::Register(to), _) => self.value_into(value, *to),
            _ => {
                let from = self.value(value);
                self.store(&target, from);
            }
        }
    }

    /// Prepares a place that is used when the value has been evaluated.
    fn prepare_before(&mut self, place: &tree::Place, value: &Expression) -> Prepared {
        let calls = walk::calls(|visit| walk::expression(value, visit));
        self.before_calls(calls, |builder| builder.prepare(place))
    }

    fn delete(&mut self, place: &tree::Place) {
        let storage = place.storage.clone();
        match self.prepare(place) {
            Prepared::Element(collection, _, keys) => {
                self.emit(Instruction::ElementDelete { collection, keys });
            }
            target => {
                let place = self.address(&target, Access::Make);
                let instruction = match storage {
                    Storage::One(Type::Component) => Instruction::Delete { place },
                    Storage::One(_) => {
                        let text = self.context.program.texts.push(Vec::new());
                        Instruction::TextConstant { to: place, text }
                    }
                    _ => Instruction::EndScope { places: vec![place] },
                };
                self.emit(instruction);
            }
        }
    }

    fn message(&mut self, statement: &Statement) {
        match statement {
            Statement::Send { to, message, arguments } => {
                let calls = walk::any_calls(arguments);
                let party = self.before_calls(calls, |builder| builder.prepare_party(to));
                let values: Vec<Payload> = arguments.iter().map(|it| self.sent(it)).collect();
                let to = self.finish_party(to, party);
                self.emit(Instruction::Send { to, message: *message, payload: values });
            }
            Statement::Receive { from, message, targets } => {
                let calls = walk::calls(|visit| {
                    targets.iter().for_each(|target| walk::place(target, visit));
                });
                let party = self.before_calls(calls, |builder| builder.prepare_party(from));
                self.receive((from, party), *message, targets);
            }
            _ => unreachable!("no message"),
        }
    }

    fn receive(
        &mut self,
        (from, party): (&tree::Party, PreparedParty),
        message: MessageId,
        targets: &[tree::Place],
    ) {
        // No value that arrives changes the index of another target.
        let several = targets.len() > 1;
        let targets: Vec<(Prepared, Type)> = targets
            .iter()
            .map(|target| {
                let place = self.before_calls(several, |builder| builder.prepare(target));
                (place, type_of(target))
            })
            .collect();
        let indexed = several && targets.iter().any(|(target, _)| !target.is_fixed());
        let into: Vec<Payload> = targets.iter().map(|it| self.receiver(it, indexed)).collect();
        let from = self.finish_party(from, party);
        self.emit(Instruction::Receive { from, message, into: into.clone() });
        // Registers last: they may be indices.
        let (registers, others): (Vec<_>, Vec<_>) = targets
            .iter()
            .zip(into)
            .partition(|((target, _), _)| matches!(target, Prepared::Register(_)));
        for ((target, ty), payload) in others.into_iter().chain(registers) {
            self.deliver(target, *ty, payload);
        }
    }

    /// The argument of a message. Texts become temporaries first, as sending may be repeated.
    fn sent(&mut self, value: &Expression) -> Payload {
        match self.payload(value, value.ty) {
            Payload::Copy(from) if value.ty == Type::Text => {
                let to = self.temporary(Type::Text);
                self.emit(Instruction::TextCopy { to, from });
                Payload::Move(to)
            }
            payload => payload,
        }
    }

    /// The temporary for a received value: the value that it replaces stays until it has arrived.
    fn receiver(&mut self, (target, ty): &(Prepared, Type), apart: bool) -> Payload {
        match (target, ty) {
            (Prepared::Register(register), _) if !apart => Payload::Register(*register),
            (_, Type::Text | Type::Component) => Payload::Move(self.temporary(*ty)),
            _ => Payload::Register(self.register(*ty)),
        }
    }

    fn deliver(&mut self, target: &Prepared, ty: Type, payload: Payload) {
        match payload {
            Payload::Register(from) if matches!(target, Prepared::Register(to) if *to == from) => {}
            Payload::Register(from) => self.store(target, from),
            Payload::Move(from) | Payload::Copy(from) if ty == Type::Text => {
                let to = self.address(target, Access::Make);
                self.emit(Instruction::TextMove { to, from });
            }
            Payload::Move(from) | Payload::Copy(from) => self.move_component(from, target),
        }
    }

    fn write(&mut self, value: &Expression, form: Written) {
        if let ExpressionKind::Text(text) = &value.kind {
            let text = self.context.program.texts.push(text.to_vec());
            self.emit(Instruction::WriteConstant { text });
            return;
        }
        let from = match value.ty {
            Type::Text => Payload::Copy(self.text(value)),
            _ => Payload::Register(self.value(value)),
        };
        self.emit(Instruction::Write { from, form });
    }

    fn add(&mut self, target: &tree::Place, by: &Expression, subtract: bool) {
        let ty = by.ty;
        let target = if is_immediate(by) {
            self.prepare_for_now(target)
        } else {
            self.prepare_before(target, by)
        };
        let by = self.value(by);
        let operator = if subtract { Binary::Subtract } else { Binary::Add };
        match target {
            Prepared::Register(to) => {
                self.emit(Instruction::Binary { to, operator, a: to, b: by });
            }
            Prepared::Character(..) => {
                let (old, to) = (self.load(&target, ty), self.register(ty));
                self.emit(Instruction::Binary { to, operator, a: old, b: by });
                self.store(&target, to);
            }
            _ => {
                // Looked up once: nothing happens between reading and writing.
                let (at, old, to) =
                    (self.address(&target, Access::Expect), self.register(ty), self.register(ty));
                self.emit(Instruction::Load { to: old, from: at });
                self.emit(Instruction::Binary { to, operator, a: old, b: by });
                self.emit(Instruction::Store { to: at, from: to });
            }
        }
    }

    fn halt(&mut self, code: &Expression) {
        match code.kind {
            ExpressionKind::Constant(Constant::Integer(0)) => return self.end(Terminator::Exit),
            ExpressionKind::Constant(_) => {
                let code = self.value(code);
                return self.end(Terminator::Fault(Reason::Halt(code)));
            }
            _ => {}
        }
        let (code, zero) = (self.value(code), self.constant(Constant::Integer(0)));
        let condition = self.compare(Binary::Equal, code, zero);
        let (exit, fault) = (self.block(), self.block());
        self.end(Terminator::Branch { condition, then: exit, otherwise: fault });
        self.begin(exit);
        self.end(Terminator::Exit);
        self.begin(fault);
        self.end(Terminator::Fault(Reason::Halt(code)));
    }

    fn assert(&mut self, condition: &Expression, code: Option<&Expression>) {
        let code = code.map(|code| self.value(code));
        let (holds, fails) = (self.block(), self.block());
        self.branch(condition, holds, fails);
        self.begin(fails);
        self.end(Terminator::Fault(Reason::Assertion(code)));
        self.begin(holds);
    }

    fn guard(
        &mut self,
        condition: &Expression,
        place: &tree::Place,
        component: Option<ComponentId>,
    ) {
        let (holds, fails) = (self.block(), self.block());
        self.branch(condition, holds, fails);
        self.begin(fails);
        let place = self.prepare(place);
        let place = self.address(&place, Access::Expect);
        self.end(Terminator::Fault(Reason::Type(Guard { place, component })));
        self.begin(holds);
    }

    /// A fault if the place holds no component.
    fn expect_component(&mut self, place: Place) {
        let is = self.register(Type::Boolean);
        self.emit(Instruction::Exists { to: is, place });
        let (holds, empty) = (self.block(), self.block());
        self.end(Terminator::Branch { condition: is, then: holds, otherwise: empty });
        self.begin(empty);
        self.end(Terminator::Fault(Reason::Empty));
        self.begin(holds);
    }

    fn choice(&mut self, branches: &[(Expression, Sequence)], otherwise: Option<&Sequence>) {
        let after = self.block();
        for (condition, body) in branches {
            let (then, next) = (self.block(), self.block());
            self.at(condition.span, |builder| builder.branch(condition, then, next));
            self.begin(then);
            self.sequence(body);
            self.jump(after);
            self.begin(next);
        }
        if let Some(body) = otherwise {
            self.sequence(body);
        }
        self.jump(after);
        self.begin(after);
    }

    fn for_each(&mut self, variables: &[tree::Place], collection: &tree::Place, body: &Sequence) {
        let Storage::Collection { keys: types, .. } = &collection.storage else {
            unreachable!("FOREACH of no collection");
        };
        let collection = self.fixed(collection);
        let keys: Vec<Key> = types
            .iter()
            .map(|ty| match ty {
                Type::Text => Key::Text(self.temporary(Type::Text)),
                ty => Key::Register(self.register(*ty)),
            })
            .collect();
        let found = self.register(Type::Boolean);
        let (head, inside, after) = (self.block(), self.block(), self.block());
        self.emit(Instruction::FirstKey { found, collection, keys: keys.clone() });
        self.jump(head);

        self.begin(head);
        self.end(Terminator::Branch { condition: found, then: inside, otherwise: after });

        self.begin(inside);
        for (variable, key) in variables.iter().zip(&keys) {
            let variable = self.prepare(variable);
            match *key {
                Key::Register(from) => self.store(&variable, from),
                Key::Text(from) => {
                    let to = self.address(&variable, Access::Make);
                    self.emit(Instruction::TextCopy { to, from });
                }
            }
        }
        self.sequence(body);
        self.emit(Instruction::NextKey { found, collection, keys });
        self.repeat_from(head);
        self.begin(after);
    }

    /// The condition of an AWAIT becomes a function that others can evaluate in this frame.
    fn condition(&mut self, condition: &Expression) -> FunctionId {
        let of = self.id;
        let name = format!("{}.AWAIT@{}", self.function.name, condition.span.start);
        let component = self.function.component;
        let id = self.context.reserve(name, component, FunctionKind::Condition { of });
        let homes = self.homes.clone();
        let mut inner = Builder::new(self.context, id, self.routine, condition.span);
        inner.function.result = Some(Type::Boolean);
        inner.homes =
            homes.into_iter().filter_map(|(key, home)| Some((key, seen(home)?))).collect();
        let value = inner.value(condition);
        inner.end(Terminator::Return(Some(Payload::Register(value))));
        inner.finish();
        id
    }

    /// AWAIT.
    fn wait(&mut self, condition: &Expression, id: FunctionId) {
        // Mostly it holds already.
        let (waits, after) = (self.block(), self.block());
        self.branch(condition, after, waits);
        self.begin(waits);
        self.emit(Instruction::Await { condition: id });
        self.jump(after);
        self.begin(after);
    }
}

/// Where a condition finds what the waiting routine has there.
fn seen(home: Home) -> Option<Home> {
    match home {
        Home::Local(local) | Home::Outer(local) => Some(Home::Outer(local)),
        Home::Address(_, Some(local)) | Home::OuterAddress(local) => {
            Some(Home::OuterAddress(local))
        }
        Home::Register(_) | Home::Address(_, None) => None,
    }
}

fn type_of(place: &tree::Place) -> Type {
    match place.storage {
        Storage::One(ty) => ty,
        _ => unreachable!("a message carries single values"),
    }
}
