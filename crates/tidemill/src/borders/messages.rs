//! Components that hold messages, checked when the program is loaded. The run-time part is the
//! interface `Messages` (`components/system/messages`).

use tidemill_cl::ast::{Component, Declaration, Definition, ExprKind, Literal, Sent};
use tidemill_cl::system::messages::NAME as MESSAGES;
use tidemill_diag::{Diagnostic, Span};

use crate::program::{FileKind, Program};

/// The messages whose first value is the name of a type.
pub(crate) const TYPED: [&str; 2] = ["New", DECODE];

/// The one of them that reads bytes.
pub(crate) const DECODE: &str = "Decode";

impl Program {
    /// Checks that the program has the types named by components.
    pub(crate) fn check_messages(&mut self) {
        let tree = &self.components.tree;
        // A component that offers the interface replaces that of the system.
        let offers =
            |component: &Component| component.offers.iter().any(|it| it.name.text == MESSAGES);
        let is_offered = tree.definitions().any(|definition| match definition {
            Definition::Component(component) => offers(component),
            Definition::Interface(_) => false,
        });
        if is_offered {
            return;
        }
        let requires = tree.definitions().find_map(|definition| match definition {
            Definition::Component(component) => requirement(component),
            Definition::Interface(_) => None,
        });
        let Some(requires) = requires else { return };
        if !self.kinds.has(FileKind::Schemas) {
            let message = format!("`{MESSAGES}` needs a schema, and none belongs to the program");
            let help = "give the file of the schema, .proto or .fds, beside the components";
            self.diagnostics.push(Diagnostic::error("border", requires, message).help(help));
            return;
        }
        if self.schema.is_none() {
            return;
        }
        let mut found = Vec::new();
        tree.for_each_send(MESSAGES, &mut |Sent { message, arguments, .. }| {
            let is_typed = TYPED.contains(&message.text.as_str());
            let Some(first) = arguments.first().filter(|_| is_typed) else { return };
            let ExprKind::Literal(Literal::Text(name)) = &first.kind else { return };
            if let Err((message, help)) = self.border.message(name) {
                found.push(Diagnostic::error("border", first.span, message).help(help));
            }
        });
        self.diagnostics.extend(found);
    }
}

/// Where a component, or one in it, requires the interface.
fn requirement(component: &Component) -> Option<Span> {
    let own = component.requires.iter().find(|it| it.name.text == MESSAGES);
    own.map(|it| it.span).or_else(|| {
        component.declarations.iter().find_map(|declaration| match declaration {
            Declaration::Component(inner) => requirement(inner),
            _ => None,
        })
    })
}
