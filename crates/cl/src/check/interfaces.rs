//! Interfaces: their messages and the automata of their protocols.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::hash::Map;
use tidemill_stdx::id::{Id, IdVec};

use crate::ast;
use crate::check::checker::Checker;
use crate::check::info::InterfaceInfo;
use crate::check::names::{ScopeId, similar};
use crate::check::protocols;
use crate::check::types::Type;
use crate::ir::protocol::{Protocol, ProtocolState};
use crate::ir::{Direction, Interface, InterfaceId, Message, MessageId};

impl<'a> Checker<'a> {
    /// The outermost scope.
    pub(super) fn here_root(&self) -> ScopeId {
        ScopeId::new(0)
    }

    /// Adds an interface; [`Checker::resolve_interface`] adds its messages.
    pub(super) fn add_interface(
        &mut self,
        ast: &'a ast::Interface,
        scope: ScopeId,
        system: bool,
    ) -> InterfaceId {
        let (parameters, names) = (IdVec::new(), Map::default());
        self.interfaces.push(InterfaceInfo { ast, scope, parameters, names });
        let name = ast.name.text.clone();
        let messages = IdVec::new();
        let protocol = Protocol { states: vec![ProtocolState { next: Vec::new(), may_end: true }] };
        self.tree.interfaces.push(Interface { name, messages, protocol, system })
    }

    /// Messages, their types, the automaton.
    pub(super) fn resolve_interface(&mut self, id: InterfaceId) {
        let InterfaceInfo { ast, scope, .. } = self.interfaces[id];
        let Some(protocol) = &ast.protocol else { return };
        let outer = self.here;
        self.here.scope = scope;
        self.here.routine = None;
        let all = protocol.messages();
        for message in &all {
            self.add_message(id, message);
        }
        self.here = outer;
        self.tree.interfaces[id].protocol = protocols::automaton(protocol, all.len());
    }

    fn add_message(&mut self, id: InterfaceId, message: &'a ast::Message) {
        let mut parameters = Vec::new();
        for section in &message.parameters {
            let ty = self.resolve_type(&section.ty);
            parameters.extend(section.names.iter().map(|_| ty.clone()));
        }
        self.parameter_names(&message.parameters);
        let lowered = parameters.iter().flatten().map(Type::lowered).collect();
        let direction = match message.direction {
            ast::Direction::In => Direction::In,
            ast::Direction::Out => Direction::Out,
        };
        let name = message.name.text.clone();
        let messages = &mut self.tree.interfaces[id].messages;
        let number = messages.push(Message { name, direction, parameters: lowered });
        self.interfaces[id].parameters.push(parameters);
        let names = &mut self.interfaces[id].names;
        if let Some(first) = names.insert(&message.name.text, number) {
            self.message_twice(id, message, first);
        }
    }

    fn message_twice(&mut self, id: InterfaceId, message: &ast::Message, first: MessageId) {
        let text = &message.name.text;
        let what = format!("`{text}` occurs twice in the protocol");
        let error = Diagnostic::error("duplicate-message", message.name.span, what);
        let protocol = self.interfaces[id].ast.protocol.as_ref();
        let all = protocol.map(ast::Protocol::messages).unwrap_or_default();
        let error = match all.get(first.index()) {
            Some(first) => error.label(first.name.span, "first here"),
            None => error,
        };
        let help = "the last message is the state of a communication: give each a name of its own";
        self.report(error.help(help));
    }

    /// Parameters must have different names.
    pub(super) fn parameter_names(&mut self, sections: &'a [ast::Parameters]) {
        let mut seen: Map<&str, Span> = Map::default();
        for name in sections.iter().flat_map(|it| &it.names) {
            if let Some(first) = seen.insert(&name.text, name.span) {
                let message = format!("`{}` is declared twice", name.text);
                let error = Diagnostic::error("duplicate-name", name.span, message);
                self.report(error.label(first, "first declared here"));
            }
        }
    }

    /// The message of this name, or an error.
    pub(super) fn message(&mut self, id: InterfaceId, name: &ast::Ident) -> Option<MessageId> {
        if let Some(message) = self.interfaces[id].names.get(name.text.as_str()) {
            return Some(*message);
        }
        let text = format!("{} has no message `{}`", self.interface_name(id), name.text);
        let names = self.tree.interfaces[id].messages.iter().map(|it| it.name.as_str());
        let mut help = similar(&name.text, names.clone());
        if help.is_empty() {
            let all: Vec<&str> = names.collect();
            help = match all.len() {
                0 => "it has no messages at all".into(),
                _ => format!("its messages are {}", all.join(", ")),
            };
        }
        self.fail("unknown-message", name.span, text, &help)
    }
}
