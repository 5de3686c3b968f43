//! Declaring names and finding them.
//!
//! Components, interfaces and constants are visible inward; variables and procedures only within
//! their own component. Interfaces are a world of their own: a procedure, variable or component may
//! bear the name of one.

use tidemill_diag::{Diagnostic, Span};

use crate::ast;
use crate::check::builtins::Builtin;
use crate::check::checker::Checker;
use crate::check::names::{Found, Name, Scope, ScopeId, similar};
use crate::check::types;
use crate::ir::InterfaceId;
use crate::parse::relatives::name_meant;
use crate::system::System;

impl<'a> Checker<'a> {
    /// A scope inside another.
    pub(super) fn scope(&mut self, outer: ScopeId, of_component: bool) -> ScopeId {
        self.scopes.push(Scope { outer: Some(outer), of_component, ..Scope::default() })
    }

    /// Declares a name that is no interface.
    pub(super) fn declare(&mut self, scope: ScopeId, ident: &'a ast::Ident, name: Name) {
        let text = ident.text.as_str();
        if Builtin::named(text).is_some() || types::simple(text).is_some() {
            let what = if types::simple(text).is_some() { "type" } else { "procedure" };
            let message = format!("`{text}` is a {what} of the language");
            self.fail::<()>("duplicate-name", ident.span, message, "choose another name");
            return;
        }
        if let Some((_, first)) = self.scopes[scope].names.get(text) {
            let first = *first;
            return self.twice(ident, first);
        }
        self.scopes[scope].names.insert(text, (name, ident.span));
    }

    /// Declares an interface.
    pub(super) fn declare_interface_name(
        &mut self,
        scope: ScopeId,
        ident: &'a ast::Ident,
        id: InterfaceId,
    ) {
        if let Some((_, first)) = self.scopes[scope].interfaces.get(ident.text.as_str()) {
            let first = *first;
            return self.twice(ident, first);
        }
        self.scopes[scope].interfaces.insert(&ident.text, (id, ident.span));
    }

    fn twice(&mut self, ident: &ast::Ident, first: Span) {
        let message = format!("`{}` is declared twice", ident.text);
        let error = Diagnostic::error("duplicate-name", ident.span, message);
        self.report(error.label(first, "first declared here"));
    }

    /// What a name that is no interface denotes here.
    pub(super) fn find(&self, text: &str) -> Found {
        let mut at = Some(self.here.scope);
        let mut outside = false;
        let mut hidden = Found::Nothing;
        while let Some(id) = at {
            let scope = &self.scopes[id];
            match scope.names.get(text) {
                Some((name @ (Name::Component(_) | Name::Constant(_)), _)) => {
                    return Found::Name(*name);
                }
                Some((name, _)) if !outside => return Found::Name(*name),
                Some((name, span)) if matches!(hidden, Found::Nothing) => {
                    hidden = Found::Outer(*name, *span);
                }
                _ => {}
            }
            outside |= scope.of_component;
            at = scope.outer;
        }
        hidden
    }

    /// The interface of this name, if there is one.
    pub(super) fn find_interface(&mut self, text: &str) -> Option<InterfaceId> {
        let mut at = Some(self.here.scope);
        while let Some(id) = at {
            if let Some((interface, _)) = self.scopes[id].interfaces.get(text) {
                return Some(*interface);
            }
            at = self.scopes[id].outer;
        }
        self.system_interface(text)
    }

    /// The interface of this name, or an error.
    pub(super) fn interface(&mut self, ident: &ast::Ident) -> Option<InterfaceId> {
        let found = self.find_interface(&ident.text);
        if found.is_none() {
            let message = format!("there is no interface `{}`", ident.text);
            let names = self.interfaces.iter().map(|it| it.ast.name.text.as_str());
            let help = similar(&ident.text, names.chain(System::ALL.map(System::name)));
            return self.fail("unknown-interface", ident.span, message, &help);
        }
        found
    }

    /// The value, variable, procedure or component of this name, or an error; `what` was wanted.
    pub(super) fn name(&mut self, text: &str, span: Span, what: &str) -> Option<Name> {
        match self.find(text) {
            Found::Name(name) => Some(name),
            Found::Outer(name, at) => {
                let (code, what) = match name {
                    Name::Procedure(_) => ("outer-procedure", "procedure"),
                    _ => ("outer-variable", "variable"),
                };
                let message = format!("`{text}` is a {what} of an outer component");
                let error = Diagnostic::error(code, span, message).label(at, "declared here");
                let help = "components share nothing: let them communicate through an interface";
                self.report(error.help(help));
                None
            }
            Found::Nothing => {
                let message = format!("there is no {what} `{text}`");
                let help = match name_meant(text) {
                    Some(help) => help.into(),
                    None => similar(text, self.visible().into_iter()),
                };
                self.fail("unknown-name", span, message, &help)
            }
        }
    }

    /// All names that are visible here, for hints.
    fn visible(&self) -> Vec<&'a str> {
        let mut all = Vec::new();
        let mut at = Some(self.here.scope);
        while let Some(id) = at {
            let scope = &self.scopes[id];
            let mut names: Vec<&'a str> = scope.names.keys().copied().collect();
            names.sort_unstable();
            all.append(&mut names);
            at = scope.outer;
        }
        for name in Builtin::names() {
            all.push(name);
        }
        all
    }
}
