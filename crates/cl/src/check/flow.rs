//! What control never reaches, functions that may end without a value, variables without use.

use tidemill_diag::{Diagnostic, Span, has_errors};
use tidemill_stdx::hash::Set;

use crate::check::checker::Checker;
use crate::check::names::RoutineId;
use crate::check::walk::{Act, Walk, root};
use crate::ir::{ComponentId, Constant, VariableId};
use crate::tree::{
    Expression, ExpressionKind, LocalId, Party, PlaceKind, Port, Routine, Sequence, Statement,
};

/// Variables that are named somewhere.
#[derive(Default)]
struct Used {
    variables: Set<(ComponentId, VariableId)>,
    locals: Set<(Routine, LocalId)>,
}

impl<'a> Checker<'a> {
    /// Warns of what is not reached, not returned, not used.
    pub(super) fn flow(&mut self) {
        let mut used = Used::default();
        for id in self.routines.ids() {
            self.collect_used(id, &mut used);
            self.flow_of(id);
        }
        if !has_errors(&self.diagnostics) {
            self.unused(&used);
        }
    }

    fn flow_of(&mut self, id: RoutineId) {
        let Some(body) = self.body(id).filter(|_| !self.routines[id].broken) else { return };
        let mut unreachable = Vec::new();
        let ends = sequence(&body.code, &mut unreachable);
        for span in unreachable {
            let message = "this is never reached";
            self.report(Diagnostic::warning("unreachable", span, message));
        }
        let Routine::Procedure(procedure) = self.routines[id].id else { return };
        if ends && self.tree.procedures[procedure].result.is_some() {
            let name = &self.procedures[procedure].ast.name;
            let message = format!("{} can end without a value, which is a fault", name.text);
            let warning = Diagnostic::warning("return-missing", name.span, message);
            self.report(warning.help("every way through it should end with RETURN"));
        }
    }

    fn collect_used(&self, id: RoutineId, used: &mut Used) {
        let Some(body) = self.body(id) else { return };
        let component = self.routines[id].component;
        let mut visit = |act: Act<'_>| {
            let place = match act {
                Act::Read(place) | Act::Write(place, _) => place,
                Act::Speak(Party::Sub { place, .. }, ..) => place,
                Act::Port(Port::SubRequired { place, .. } | Port::SubOffered { place, .. }, ..) => {
                    place
                }
                _ => return,
            };
            match root(place).kind {
                PlaceKind::Variable(variable) => {
                    used.variables.insert((component, variable));
                }
                PlaceKind::Local(routine, local) => {
                    used.locals.insert((routine, local));
                }
                _ => {}
            }
        };
        Walk { program: &self.tree, visit: &mut visit }.sequence(&body.code);
    }

    /// Only in programs without errors: what is in error may be what used a variable.
    fn unused(&mut self, used: &Used) {
        let mut found: Vec<(&str, Span)> = Vec::new();
        for (component, info) in self.components.iter_enumerated() {
            let variables = info.variables.iter_enumerated();
            let unused = variables.filter(|(id, _)| !used.variables.contains(&(component, *id)));
            found.extend(unused.map(|(_, it)| (it.name.text.as_str(), it.name.span)));
        }
        for info in self.routines.iter() {
            let locals = info.locals.iter_enumerated();
            let unused = locals.filter(|(id, it)| {
                it.parameter.is_none() && !used.locals.contains(&(info.id, *id))
            });
            found.extend(unused.map(|(_, it)| (it.name.text.as_str(), it.name.span)));
        }
        for (name, span) in found {
            let message = format!("`{name}` is never used");
            self.diagnostics.push(Diagnostic::warning("unused-variable", span, message));
        }
    }
}

/// Whether the end is reachable; adds unreachable places to the list.
fn sequence(it: &Sequence, unreachable: &mut Vec<Span>) -> bool {
    let mut reached = true;
    for (statement, span) in &it.statements {
        if !reached {
            unreachable.push(*span);
            return false;
        }
        reached = self::statement(statement, unreachable);
    }
    reached
}

fn statement(it: &Statement, unreachable: &mut Vec<Span>) -> bool {
    match it {
        Statement::Return(_) | Statement::Halt(_) => false,
        Statement::Assert { condition, .. } => !is(condition, false),
        Statement::Block(body) => sequence(body, unreachable),
        Statement::If { branches, otherwise } => {
            let mut reached = false;
            for (_, body) in branches {
                reached |= sequence(body, unreachable);
            }
            match otherwise {
                Some(body) => sequence(body, unreachable) || reached,
                None => true,
            }
        }
        Statement::While { condition, body } => {
            sequence(body, unreachable);
            !is(condition, true)
        }
        Statement::Repeat { body, until } => {
            let reached = sequence(body, unreachable);
            reached && !is(until, false)
        }
        Statement::For { body, .. } | Statement::ForEach { body, .. } => {
            sequence(body, unreachable);
            true
        }
        _ => true,
    }
}

/// Whether the condition is this constant.
fn is(condition: &Expression, truth: bool) -> bool {
    matches!(condition.kind, ExpressionKind::Constant(Constant::Boolean(it)) if it == truth)
}
