//! The messages that a program sends, anywhere in it.

use super::{
    Component, Declaration, Definition, Expr, Ident, Program, Sequence, Statement, StatementKind,
};

impl Program {
    /// Calls `see` with each message that is sent to an interface by its name alone, and what it
    /// carries.
    pub fn for_each_send(&self, interface: &str, see: &mut dyn FnMut(&Ident, &[Expr])) {
        for definition in self.definitions() {
            if let Definition::Component(component) = definition {
                of_component(component, interface, see);
            }
        }
    }
}

impl Component {
    /// The same of a component and those in it.
    pub fn for_each_send(&self, interface: &str, see: &mut dyn FnMut(&Ident, &[Expr])) {
        of_component(self, interface, see);
    }
}

type See<'s> = &'s mut dyn FnMut(&Ident, &[Expr]);

fn of_component(component: &Component, interface: &str, see: See<'_>) {
    let Component { declarations, begin, activity, finally, .. } = component;
    of_declarations(declarations, interface, see);
    for body in [begin, activity, finally].into_iter().flatten() {
        of_sequence(body, interface, see);
    }
}

fn of_declarations(declarations: &[Declaration], interface: &str, see: See<'_>) {
    for declaration in declarations {
        let (inner, begin) = match declaration {
            Declaration::Component(it) => {
                of_component(it, interface, see);
                continue;
            }
            Declaration::Procedure(it) => (&it.declarations, &it.begin),
            Declaration::Implementation(it) => (&it.declarations, &it.begin),
            Declaration::Interface(_) | Declaration::Constant(_) | Declaration::Variables(_) => {
                continue;
            }
        };
        of_declarations(inner, interface, see);
        begin.iter().for_each(|body| of_sequence(body, interface, see));
    }
}

fn of_sequence(sequence: &Sequence, interface: &str, see: See<'_>) {
    sequence.statements.iter().for_each(|statement| of_statement(statement, interface, see));
}

fn of_statement(statement: &Statement, interface: &str, see: See<'_>) {
    match &statement.kind {
        StatementKind::Send { to: Some(to), message, arguments }
            if to.as_name() == Some(interface) =>
        {
            see(message, arguments);
        }
        StatementKind::If { branches, otherwise } => {
            branches.iter().for_each(|branch| of_sequence(&branch.body, interface, see));
            otherwise.iter().for_each(|body| of_sequence(body, interface, see));
        }
        StatementKind::While { body, .. }
        | StatementKind::Repeat { body, .. }
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. }
        | StatementKind::Block(body) => of_sequence(body, interface, see),
        _ => {}
    }
}
