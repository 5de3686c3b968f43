//! The messages that a program sends, anywhere in it.

use super::{
    Component, Declaration, Definition, Expr, Ident, Program, Sequence, Statement, StatementKind,
};

/// A message that is sent to an interface by its name alone.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The component that sends it, by its full name: `Outer.Inner`.
    pub component: &'a str,
    /// Its name.
    pub message: &'a Ident,
    /// Its values.
    pub arguments: &'a [Expr],
}

impl Program {
    /// Calls `see` with each message that is sent to an interface.
    pub fn for_each_send(&self, interface: &str, see: &mut dyn FnMut(Sent<'_>)) {
        for definition in self.definitions() {
            if let Definition::Component(component) = definition {
                component.for_each_send(interface, see);
            }
        }
    }
}

impl Component {
    /// The same of a component that no other contains, and those in it.
    pub fn for_each_send(&self, interface: &str, see: &mut dyn FnMut(Sent<'_>)) {
        of_component(self, &self.name.text, interface, see);
    }
}

type See<'s> = &'s mut dyn FnMut(Sent<'_>);

fn of_component(component: &Component, name: &str, interface: &str, see: See<'_>) {
    let Component { declarations, begin, activity, finally, .. } = component;
    of_declarations(declarations, name, interface, see);
    for body in [begin, activity, finally].into_iter().flatten() {
        of_sequence(body, name, interface, see);
    }
}

fn of_declarations(declarations: &[Declaration], name: &str, interface: &str, see: See<'_>) {
    for declaration in declarations {
        let (inner, begin) = match declaration {
            Declaration::Component(it) => {
                let inner = format!("{name}.{}", it.name.text);
                of_component(it, &inner, interface, see);
                continue;
            }
            Declaration::Procedure(it) => (&it.declarations, &it.begin),
            Declaration::Implementation(it) => (&it.declarations, &it.begin),
            Declaration::Interface(_) | Declaration::Constant(_) | Declaration::Variables(_) => {
                continue;
            }
        };
        of_declarations(inner, name, interface, see);
        begin.iter().for_each(|body| of_sequence(body, name, interface, see));
    }
}

fn of_sequence(sequence: &Sequence, name: &str, interface: &str, see: See<'_>) {
    sequence.statements.iter().for_each(|statement| of_statement(statement, name, interface, see));
}

fn of_statement(statement: &Statement, name: &str, interface: &str, see: See<'_>) {
    match &statement.kind {
        StatementKind::Send { to: Some(to), message, arguments }
            if to.as_name() == Some(interface) =>
        {
            see(Sent { component: name, message, arguments });
        }
        StatementKind::If { branches, otherwise } => {
            branches.iter().for_each(|branch| of_sequence(&branch.body, name, interface, see));
            otherwise.iter().for_each(|body| of_sequence(body, name, interface, see));
        }
        StatementKind::While { body, .. }
        | StatementKind::Repeat { body, .. }
        | StatementKind::For { body, .. }
        | StatementKind::ForEach { body, .. }
        | StatementKind::Block(body) => of_sequence(body, name, interface, see),
        _ => {}
    }
}
