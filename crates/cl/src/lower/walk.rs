//! Walking over the checked tree: every place and call in a sequence, in order.

use crate::tree::{
    Call, Expression, ExpressionKind, Party, Place, PlaceKind, Port, Sequence, Statement,
};

/// An item that a walk visits.
pub(super) enum Met<'a> {
    /// A place, before the places and calls in its indices.
    Place(&'a Place),
    /// A call, before its arguments.
    Call(&'a Call),
    /// The condition of an AWAIT, before what is in it.
    Condition(&'a Expression),
}

type Visit<'v, 'a> = &'v mut dyn FnMut(Met<'a>);

/// Whether there is a call in what the function walks over.
pub(super) fn calls<'a>(walk: impl FnOnce(Visit<'_, 'a>)) -> bool {
    let mut found = false;
    walk(&mut |met| found |= matches!(met, Met::Call(_)));
    found
}

/// Whether one of the expressions calls a procedure.
pub(super) fn any_calls(expressions: &[Expression]) -> bool {
    calls(|visit| expressions.iter().for_each(|it| expression(it, visit)))
}

/// Visits the sequence.
pub(super) fn sequence<'a>(sequence: &'a Sequence, visit: Visit<'_, 'a>) {
    sequence.statements.iter().for_each(|(statement, _)| self::statement(statement, visit));
}

// One piece: a short arm for each kind of statement.
fn statement<'a>(it: &'a Statement, visit: Visit<'_, 'a>) {
    match it {
        Statement::Assign { target, value } | Statement::Add { target, by: value, .. } => {
            place(target, visit);
            expression(value, visit);
        }
        Statement::NewComponent { target, .. } | Statement::Delete(target) => place(target, visit),
        Statement::NewArray { target, extents } => {
            place(target, visit);
            extents.iter().for_each(|extent| expression(extent, visit));
        }
        Statement::NewText { target, length } => {
            place(target, visit);
            expression(length, visit);
        }
        Statement::Connect { from, to } => {
            port(from, visit);
            port(to, visit);
        }
        Statement::Disconnect(it) => port(it, visit),
        Statement::Move { from, to } => {
            place(from, visit);
            place(to, visit);
        }
        Statement::Send { to, arguments, .. } => {
            party(to, visit);
            arguments.iter().for_each(|argument| expression(argument, visit));
        }
        Statement::Receive { from, targets, .. } => {
            party(from, visit);
            targets.iter().for_each(|target| place(target, visit));
        }
        Statement::Await(condition) => {
            visit(Met::Condition(condition));
            expression(condition, visit);
        }
        Statement::Call(it) => call(it, visit),
        Statement::Write(it)
        | Statement::WriteHex(it)
        | Statement::Halt(it)
        | Statement::Passivate(it)
        | Statement::Return(Some(it)) => expression(it, visit),
        Statement::WriteLine | Statement::Return(None) => {}
        Statement::Assert { condition, code } => {
            expression(condition, visit);
            code.iter().for_each(|code| expression(code, visit));
        }
        Statement::Guard { condition, .. } => expression(condition, visit),
        Statement::If { branches, otherwise } => {
            for (condition, body) in branches {
                expression(condition, visit);
                sequence(body, visit);
            }
            otherwise.iter().for_each(|body| sequence(body, visit));
        }
        Statement::While { condition: it, body } | Statement::Repeat { body, until: it } => {
            expression(it, visit);
            sequence(body, visit);
        }
        Statement::For { variable, from, to, body, .. } => {
            place(variable, visit);
            expression(from, visit);
            expression(to, visit);
            sequence(body, visit);
        }
        Statement::ForEach { variables, collection, body } => {
            place(collection, visit);
            variables.iter().for_each(|variable| place(variable, visit));
            sequence(body, visit);
        }
        Statement::Block(body) => sequence(body, visit),
    }
}

/// Visits the place.
pub(super) fn place<'a>(it: &'a Place, visit: Visit<'_, 'a>) {
    visit(Met::Place(it));
    match &it.kind {
        PlaceKind::Local(..) | PlaceKind::Variable(_) => {}
        PlaceKind::Element { base, indices } => {
            place(base, visit);
            indices.iter().for_each(|index| expression(index, visit));
        }
        PlaceKind::Character { text, index } => {
            place(text, visit);
            expression(index, visit);
        }
    }
}

fn party<'a>(it: &'a Party, visit: Visit<'_, 'a>) {
    match it {
        Party::Client | Party::Own { .. } => {}
        Party::Required { index, .. } => index.iter().for_each(|index| expression(index, visit)),
        Party::Sub { place: it, index, .. } => {
            place(it, visit);
            index.iter().for_each(|index| expression(index, visit));
        }
    }
}

/// Visits the port.
pub(super) fn port<'a>(it: &'a Port, visit: Visit<'_, 'a>) {
    let (sub, index) = match it {
        Port::SubRequired { place, index, .. } | Port::SubOffered { place, index, .. } => {
            (Some(place), index)
        }
        Port::OwnRequired { index, .. } | Port::OwnOffered { index, .. } => (None, index),
    };
    sub.iter().for_each(|it| place(it, visit));
    index.iter().for_each(|index| expression(index, visit));
}

fn call<'a>(it: &'a Call, visit: Visit<'_, 'a>) {
    visit(Met::Call(it));
    it.arguments.iter().for_each(|argument| expression(argument, visit));
}

/// Visits the expression.
pub(super) fn expression<'a>(it: &'a Expression, visit: Visit<'_, 'a>) {
    use ExpressionKind as Kind;
    match &it.kind {
        Kind::Constant(_) | Kind::Text(_) | Kind::Terminated | Kind::Time => {}
        Kind::Place(it)
        | Kind::ArrayLength(it, _)
        | Kind::Exists(it)
        | Kind::Failed(it)
        | Kind::Is(it, _)
        | Kind::Has { place: it, .. } => place(it, visit),
        Kind::Call(it) => call(it, visit),
        Kind::Binary(_, a, b) | Kind::And(a, b) | Kind::Or(a, b) | Kind::Random(a, b) => {
            expression(a, visit);
            expression(b, visit);
        }
        Kind::Unary(_, a)
        | Kind::Convert(_, a)
        | Kind::TextOf(a)
        | Kind::TextNumber(a)
        | Kind::TextLength(a)
        | Kind::CharacterOf(a)
        | Kind::Locked(_, a) => expression(a, visit),
        Kind::Connected(it) => port(it, visit),
        Kind::Test(it, _) | Kind::Input(it, _) => party(it, visit),
    }
}
