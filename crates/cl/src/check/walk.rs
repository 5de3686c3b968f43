//! What a checked routine does to places, other components and the monitor, in order.

use tidemill_diag::Span;

use crate::ir::{self, Pattern};
use crate::tree::{
    ByReference, Call, Expression, ExpressionKind, Lock, Party, Place, PlaceKind, Port, Program,
    Sequence, Statement,
};

/// One thing that a routine does.
#[derive(Clone, Copy)]
pub(super) enum Act<'t> {
    /// Reads a place, or tests the component in it.
    Read(&'t Place),
    /// Changes a place; how, with `@` for its name.
    Write(&'t Place, &'static str),
    /// Takes the monitor, up to the next `Leave` of the same depth.
    Enter(Lock, Span),
    /// Gives it back.
    Leave,
    /// Calls, after its arguments.
    Call(&'t Call),
    /// The condition of an AWAIT begins; it ends with `Awaited`.
    Await(Span),
    /// The condition has ended.
    Awaited,
    /// Speaks with another component.
    Speak(&'t Party, Speech, Span),
    /// Connects, disconnects or counts.
    Port(&'t Port, &'static str, Span),
    /// Passes a checkpoint.
    Loop(Span),
    /// Does what can be seen from outside, or what gives the loop to others.
    Other(&'static str, Span),
}

/// How a routine speaks with another component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    /// `!M`.
    Send(ir::MessageId),
    /// `?M` as a statement.
    Receive(ir::MessageId),
    /// `?M` as a value: waits.
    Test(Pattern),
    /// INPUT: does not wait.
    Input(Pattern),
}

/// Walks over routines of a program.
pub(super) struct Walk<'t, 'v> {
    /// The program.
    pub(super) program: &'t Program,
    /// Gets each act.
    pub(super) visit: &'v mut dyn FnMut(Act<'t>),
}

impl<'t> Walk<'t, '_> {
    /// A sequence with its lock.
    pub(super) fn sequence(&mut self, it: &'t Sequence) {
        if let Some(lock) = it.lock {
            (self.visit)(Act::Enter(lock, it.span));
        }
        for (statement, span) in &it.statements {
            self.statement(statement, *span);
        }
        if it.lock.is_some() {
            (self.visit)(Act::Leave);
        }
    }

    /// A statement with all in it.
    pub(super) fn statement(&mut self, it: &'t Statement, span: Span) {
        match it {
            Statement::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expression(condition);
                    self.sequence(body);
                }
                otherwise.iter().for_each(|body| self.sequence(body));
            }
            Statement::While { condition, body } => {
                self.expression(condition);
                self.sequence(body);
                (self.visit)(Act::Loop(span));
            }
            Statement::Repeat { body, until } => {
                self.sequence(body);
                self.expression(until);
                (self.visit)(Act::Loop(span));
            }
            Statement::For { body, .. } | Statement::ForEach { body, .. } => {
                self.head(it, span);
                self.sequence(body);
                (self.visit)(Act::Loop(span));
            }
            Statement::Block(body) => self.sequence(body),
            _ => self.head(it, span),
        }
    }

    /// A statement without the sequences in it.
    // One piece: a short arm for each kind of statement.
    pub(super) fn head(&mut self, it: &'t Statement, span: Span) {
        match it {
            Statement::Assign { target, value } => {
                self.expression(value);
                self.write(target, "writing @");
            }
            Statement::Add { target, by, .. } => {
                self.expression(by);
                self.write(target, "writing @");
            }
            Statement::NewComponent { target, .. } => {
                self.write(target, "NEW of @");
                (self.visit)(Act::Other("NEW", span));
            }
            Statement::NewArray { target, extents } => {
                extents.iter().for_each(|extent| self.expression(extent));
                self.write(target, "NEW of @");
                (self.visit)(Act::Other("NEW", span));
            }
            Statement::NewText { target, length } => {
                self.expression(length);
                self.write(target, "NEW of @");
            }
            Statement::Connect { from, to } => {
                self.port(from, "CONNECT", span);
                self.port(to, "CONNECT", span);
            }
            Statement::Disconnect(port) => self.port(port, "DISCONNECT", span),
            Statement::Delete(place) => {
                self.write(place, "DELETE of @");
                (self.visit)(Act::Other("DELETE", span));
            }
            Statement::Move { from, to } => {
                self.write(from, "MOVE of @");
                self.write(to, "MOVE to @");
            }
            Statement::Send { to, message, arguments } => {
                arguments.iter().for_each(|argument| self.expression(argument));
                self.speak(to, Speech::Send(*message), span);
            }
            Statement::Receive { from, message, targets } => {
                self.speak(from, Speech::Receive(*message), span);
                targets.iter().for_each(|target| self.write(target, "receiving into @"));
            }
            Statement::Await(condition) => {
                (self.visit)(Act::Await(span));
                self.expression(condition);
                (self.visit)(Act::Awaited);
            }
            Statement::Call(call) => self.call(call),
            Statement::Write(value) | Statement::WriteHex(value) => {
                self.expression(value);
                (self.visit)(Act::Other("WRITE", span));
            }
            Statement::WriteLine => (self.visit)(Act::Other("WRITELINE", span)),
            Statement::Halt(value) => {
                self.expression(value);
                (self.visit)(Act::Other("HALT", span));
            }
            Statement::Passivate(value) => {
                self.expression(value);
                (self.visit)(Act::Other("PASSIVATE", span));
            }
            Statement::Return(value) => value.iter().for_each(|value| self.expression(value)),
            Statement::Assert { condition, code } => {
                self.expression(condition);
                code.iter().for_each(|code| self.expression(code));
            }
            Statement::Guard { condition, .. } => self.expression(condition),
            Statement::For { variable, from, to, .. } => {
                self.expression(from);
                self.expression(to);
                self.write(variable, "writing @");
            }
            Statement::ForEach { variables, collection, .. } => {
                self.read(collection);
                variables.iter().for_each(|variable| self.write(variable, "writing @"));
            }
            Statement::If { .. }
            | Statement::While { .. }
            | Statement::Repeat { .. }
            | Statement::Block(_) => {}
        }
    }

    fn indices(&mut self, it: &'t Place) {
        match &it.kind {
            PlaceKind::Local(..) | PlaceKind::Variable(_) => {}
            PlaceKind::Element { base, indices } => {
                self.indices(base);
                indices.iter().for_each(|index| self.expression(index));
            }
            PlaceKind::Character { text, index } => {
                self.indices(text);
                self.expression(index);
            }
        }
    }

    fn read(&mut self, it: &'t Place) {
        self.indices(it);
        (self.visit)(Act::Read(it));
    }

    fn write(&mut self, it: &'t Place, verb: &'static str) {
        self.indices(it);
        (self.visit)(Act::Write(it, verb));
    }

    fn speak(&mut self, it: &'t Party, speech: Speech, span: Span) {
        match it {
            Party::Client | Party::Own { .. } => {}
            Party::Required { index, .. } => {
                index.iter().for_each(|index| self.expression(index));
            }
            Party::Sub { place, index, .. } => {
                self.read(place);
                index.iter().for_each(|index| self.expression(index));
            }
        }
        (self.visit)(Act::Speak(it, speech, span));
    }

    fn port(&mut self, it: &'t Port, verb: &'static str, span: Span) {
        let (place, index) = match it {
            Port::SubRequired { place, index, .. } | Port::SubOffered { place, index, .. } => {
                (Some(place), index)
            }
            Port::OwnRequired { index, .. } | Port::OwnOffered { index, .. } => (None, index),
        };
        place.iter().for_each(|place| self.indices(place));
        index.iter().for_each(|index| self.expression(index));
        (self.visit)(Act::Port(it, verb, span));
    }

    fn call(&mut self, it: &'t Call) {
        let program = self.program;
        let parameters = &program.procedures[it.procedure].parameters;
        for (argument, (_, by)) in it.arguments.iter().zip(parameters) {
            match (&argument.kind, by) {
                (ExpressionKind::Place(place), ByReference::Yes) => {
                    self.write(place, "passing @ as VARIABLE");
                }
                _ => self.expression(argument),
            }
        }
        (self.visit)(Act::Call(it));
    }

    /// An expression with all in it.
    pub(super) fn expression(&mut self, it: &'t Expression) {
        use ExpressionKind as Kind;
        match &it.kind {
            Kind::Constant(_) | Kind::Text(_) | Kind::Terminated | Kind::Time => {}
            // A component as a value is handed over.
            Kind::Place(place) if it.ty == ir::Type::Component => {
                self.write(place, "handing over @");
            }
            Kind::Place(place)
            | Kind::ArrayLength(place, _)
            | Kind::Exists(place)
            | Kind::Failed(place)
            | Kind::Is(place, _)
            | Kind::Has { place, .. } => self.read(place),
            Kind::Call(call) => self.call(call),
            Kind::Binary(_, a, b) | Kind::And(a, b) | Kind::Or(a, b) => {
                self.expression(a);
                self.expression(b);
            }
            Kind::Random(a, b) => {
                self.expression(a);
                self.expression(b);
                (self.visit)(Act::Other("RANDOM", it.span));
            }
            Kind::Unary(_, a)
            | Kind::Convert(_, a)
            | Kind::TextOf(a)
            | Kind::TextNumber(a)
            | Kind::TextLength(a)
            | Kind::CharacterOf(a) => self.expression(a),
            Kind::Locked(lock, a) => {
                (self.visit)(Act::Enter(*lock, it.span));
                self.expression(a);
                (self.visit)(Act::Leave);
            }
            Kind::Connected(port) => self.port(port, "COUNT", it.span),
            Kind::Test(party, pattern) => self.speak(party, Speech::Test(*pattern), it.span),
            Kind::Input(party, pattern) => self.speak(party, Speech::Input(*pattern), it.span),
        }
    }
}

/// The variable or local that the place belongs to.
pub(super) fn root(place: &Place) -> &Place {
    match &place.kind {
        PlaceKind::Element { base, .. } => root(base),
        PlaceKind::Character { text, .. } => root(text),
        PlaceKind::Local(..) | PlaceKind::Variable(_) => place,
    }
}
