//! The interfaces of the system, known without declaration.

use tidemill_diag::Diagnostic;

use crate::ast::{self, ProtocolFactor};
use crate::check::checker::Checker;
use crate::ir::InterfaceId;

/// What names of interfaces begin with by which a program reaches rules; it declares them itself.
pub const RULES: &str = "Rules";

impl<'a> Checker<'a> {
    /// The interface of the system with this name, declared now if it has not been.
    pub(super) fn system_interface(&mut self, name: &str) -> Option<InterfaceId> {
        let ast = self.system.get(name)?;
        let root = self.here_root();
        let id = self.add_interface(ast, root, true);
        self.scopes[root].interfaces.insert(&ast.name.text, (id, ast.name.span));
        self.resolve_interface(id);
        Some(id)
    }

    /// Whether the declaration repeats, rightly or not, one of the system.
    pub(super) fn repeats_system(&mut self, ast: &'a ast::Interface) -> bool {
        let Some(system) = self.system.get(&ast.name.text) else { return false };
        let same = match (&ast.protocol, &system.protocol) {
            (Some(a), Some(b)) => same_protocol(a, b),
            _ => false,
        };
        if !same {
            let name = &ast.name.text;
            let message = format!("`{name}` is another interface of the system");
            let error = Diagnostic::error("system-interface", ast.name.span, message);
            self.report(error.help("leave it out, declare it the same, or choose another name"));
        }
        true
    }
}

fn same_protocol(a: &ast::Protocol, b: &ast::Protocol) -> bool {
    let same_term = |(a, b): (&ast::ProtocolTerm, &ast::ProtocolTerm)| {
        a.factors.len() == b.factors.len() && a.factors.iter().zip(&b.factors).all(same_factor)
    };
    a.terms.len() == b.terms.len() && a.terms.iter().zip(&b.terms).all(same_term)
}

fn same_factor((a, b): (&ProtocolFactor, &ProtocolFactor)) -> bool {
    match (a, b) {
        (ProtocolFactor::Message(a), ProtocolFactor::Message(b)) => {
            let same = a.direction == b.direction && a.name.text == b.name.text;
            same && parameters(a).eq(parameters(b))
        }
        (ProtocolFactor::Optional(a, _), ProtocolFactor::Optional(b, _))
        | (ProtocolFactor::Repeated(a, _), ProtocolFactor::Repeated(b, _))
        | (ProtocolFactor::Group(a, _), ProtocolFactor::Group(b, _)) => same_protocol(a, b),
        _ => false,
    }
}

/// The types of the parameters; their names do not matter.
fn parameters(message: &ast::Message) -> impl Iterator<Item = &ast::TypeKind> {
    message.parameters.iter().flat_map(|it| it.names.iter().map(|_| &it.ty.kind))
}
