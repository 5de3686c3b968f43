//! What checking knows so far, and what it has found wrong.
//!
//! The other files of the folder add to [`Checker`], each what its part of the work needs.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::hash::Set;
use tidemill_stdx::id::IdVec;
use tidemill_stdx::sort;
use tidemill_stdx::sorted::SortedSet;

use crate::ast;
use crate::check::info::{
    ComponentInfo, ConstantInfo, InterfaceInfo, Known, ProcedureInfo, RoutineInfo,
};
use crate::check::limit::errors_first;
use crate::check::names::{ConstantId, Here, RoutineId, Scope, ScopeId};
use crate::ir::{ComponentId, InterfaceId};
use crate::system::Interfaces;
use crate::tree::{self, ProcedureId, Routine};

/// Diagnostics of a program that are shown.
const DIAGNOSTICS_MAX: usize = 200;

/// A program being checked.
pub(super) struct Checker<'a> {
    pub(super) tree: tree::Program,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) scopes: IdVec<ScopeId, Scope<'a>>,
    pub(super) components: IdVec<ComponentId, ComponentInfo<'a>>,
    pub(super) interfaces: IdVec<InterfaceId, InterfaceInfo<'a>>,
    pub(super) procedures: IdVec<ProcedureId, ProcedureInfo<'a>>,
    pub(super) routines: IdVec<RoutineId, RoutineInfo<'a>>,
    pub(super) constants: IdVec<ConstantId, ConstantInfo<'a>>,
    /// Those of the system, declared when they are first named.
    pub(super) system: &'a Interfaces,
    /// The names of components that are made from outside.
    pub(super) outside: &'a SortedSet<String>,
    /// Components that others make.
    pub(super) made: Set<ComponentId>,
    pub(super) here: Here,
    /// Interfaces of ANY variables established by the enclosing conditions.
    pub(super) known: Vec<Known>,
    /// Tests to be made before the statement that is being checked.
    pub(super) guards: Vec<(tree::Statement, Span)>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(system: &'a Interfaces, outside: &'a SortedSet<String>) -> Checker<'a> {
        let mut scopes = IdVec::new();
        let scope = scopes.push(Scope::default());
        Checker {
            tree: tree::Program::default(),
            diagnostics: Vec::new(),
            scopes,
            components: IdVec::new(),
            interfaces: IdVec::new(),
            procedures: IdVec::new(),
            routines: IdVec::new(),
            constants: IdVec::new(),
            system,
            outside,
            made: Set::default(),
            here: Here { scope, component: None, routine: None, constant: false },
            known: Vec::new(),
            guards: Vec::new(),
        }
    }

    /// Adds a diagnostic; after an error the current routine is left out of further rules.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if diagnostic.is_error()
            && let Some(routine) = self.here.routine
        {
            self.routines[routine].broken = true;
        }
        self.diagnostics.push(diagnostic);
    }

    /// Reports an error; for `return self.fail(...)` where there is no value to return.
    pub(super) fn fail<T>(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: &str,
    ) -> Option<T> {
        let mut error = Diagnostic::error(code, span, message);
        if !help.is_empty() {
            error = error.help(help);
        }
        self.report(error);
        None
    }

    /// The name of a component, as its own declaration has it.
    pub(super) fn component_name(&self, id: ComponentId) -> &'a str {
        &self.components[id].ast.name.text
    }

    /// The name of an interface.
    pub(super) fn interface_name(&self, id: InterfaceId) -> &'a str {
        &self.interfaces[id].ast.name.text
    }

    /// The checked code of a routine.
    pub(super) fn body(&self, id: RoutineId) -> Option<&tree::Body> {
        let routine = self.routines[id].id;
        match routine {
            Routine::Begin(component) => self.tree.components[component].begin.as_ref(),
            Routine::Activity(component) => self.tree.components[component].activity.as_ref(),
            Routine::Finally(component) => self.tree.components[component].finally.as_ref(),
            Routine::Implementation(component, interface) => {
                let all = &self.tree.components[component].implementations;
                all.iter().find(|it| it.interface == interface).map(|it| &it.body)
            }
            Routine::Procedure(procedure) => Some(&self.tree.procedures[procedure].body),
            Routine::Component(_) => None,
        }
    }

    pub(super) fn finish(mut self, program: &ast::Program) -> (tree::Program, Vec<Diagnostic>) {
        self.choose_entry(program);
        let position = |span: Span| (span.file, span.start, span.end);
        sort::by_key(&mut self.diagnostics, |it| position(it.span));
        self.diagnostics.dedup();
        (self.tree, errors_first(self.diagnostics, DIAGNOSTICS_MAX))
    }
}
