//! From the parsed tree to the checked one: everything that can be known before a program runs.
//!
//! The work has three parts:
//!
//! 1. *Declarations*. All names are collected first, so that the order of declarations does not
//!    matter; then types, interfaces and limits are resolved, and constants folded on demand.
//! 2. *Bodies*. Every routine is checked and written out as a [`tree`]: each name is resolved, each
//!    value has its type, what the source leaves implicit is there.
//! 3. *Rules over whole routines*, read off the checked tree: who must hold the monitor, what a
//!    condition of AWAIT may do, which messages can follow which, what is never reached or used.
//!
//! | file | holds |
//! |---|---|
//! | `names.rs` | scopes: what a name means where |
//! | `declarations.rs` | collects components, interfaces, variables, procedures |
//! | `resolve.rs` | their types and limits; the entry component |
//! | `types.rs`, `any.rs` | types, what fits what |
//! | `interfaces.rs`, `protocols.rs`, `system.rs` | messages, their automata, those of the system |
//! | `constants.rs` | folding |
//! | `designators.rs`, `expressions.rs`, `builtins.rs` | values |
//! | `statements.rs`, `messages.rs`, `connect.rs` | statements |
//! | `walk.rs` | what a checked routine does, in order |
//! | `locks.rs`, `effects.rs`, `order.rs`, `flow.rs` | the rules over whole routines |
//!
//! An expression in error has no value here (`None`), and whatever contains it has none either, so
//! one mistake gives one diagnostic. The rules over whole routines leave out those with errors.

mod any;
mod builtins;
mod connect;
mod constants;
mod declarations;
mod designators;
mod effects;
mod expressions;
mod flow;
mod interfaces;
mod locks;
mod messages;
mod names;
mod order;
mod protocols;
mod resolve;
mod statements;
mod system;
mod types;
mod walk;

use std::collections::BTreeSet;

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::hash::Set;
use tidemill_stdx::id::IdVec;

use crate::ast;
use crate::ir::{ComponentId, InterfaceId};
use crate::tree::{self, ProcedureId, Routine};
use declarations::{ComponentInfo, ProcedureInfo, RoutineInfo};
use interfaces::InterfaceInfo;
use names::{ConstantId, RoutineId, Scope, ScopeId};
pub use system::RULES;

/// Findings after which no more are reported.
const DIAGNOSTICS_MAX: usize = 200;

/// Checks a program. The tree is complete only if no diagnostic is an error.
pub fn check(program: &ast::Program) -> (tree::Program, Vec<Diagnostic>) {
    check_with(program, &BTreeSet::new())
}

/// Checks a program some of whose outermost components are also made from outside, by these names.
/// Its entry component is then none that offers anything or that others make, unless it is marked;
/// there may be none.
pub fn check_with(
    program: &ast::Program,
    outside: &BTreeSet<String>,
) -> (tree::Program, Vec<Diagnostic>) {
    let system = system::interfaces();
    let mut checker = Checker::new(&system, outside);
    checker.collect(program);
    checker.resolve();
    checker.bodies();
    checker.locks();
    checker.conditions();
    checker.order();
    checker.flow();
    checker.finish(program)
}

/// Where checking is.
#[derive(Clone, Copy)]
struct Here {
    scope: ScopeId,
    component: Option<ComponentId>,
    routine: Option<RoutineId>,
    /// In the value of a constant: what cannot be folded is an error.
    constant: bool,
}

struct Checker<'a> {
    tree: tree::Program,
    diagnostics: Vec<Diagnostic>,
    scopes: IdVec<ScopeId, Scope<'a>>,
    components: IdVec<ComponentId, ComponentInfo<'a>>,
    interfaces: IdVec<InterfaceId, InterfaceInfo<'a>>,
    procedures: IdVec<ProcedureId, ProcedureInfo<'a>>,
    routines: IdVec<RoutineId, RoutineInfo<'a>>,
    constants: IdVec<ConstantId, constants::ConstantInfo<'a>>,
    /// Those of the system, declared when they are first named.
    system: &'a ast::Program,
    /// The names of components that are made from outside.
    outside: &'a BTreeSet<String>,
    /// Components that others make.
    made: Set<ComponentId>,
    here: Here,
    /// What is known of ANY variables by the conditions around.
    known: Vec<any::Known>,
    /// Tests to be made before the statement that is being checked.
    guards: Vec<(tree::Statement, Span)>,
}

impl<'a> Checker<'a> {
    fn new(system: &'a ast::Program, outside: &'a BTreeSet<String>) -> Checker<'a> {
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

    /// Adds a diagnostic; after an error the routine at hand is left out of further rules.
    fn report(&mut self, diagnostic: Diagnostic) {
        if diagnostic.is_error()
            && let Some(routine) = self.here.routine
        {
            self.routines[routine].broken = true;
        }
        self.diagnostics.push(diagnostic);
    }

    /// Reports an error; for `return self.fail(...)` where no value comes out of it.
    fn fail<T>(
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
    fn component_name(&self, id: ComponentId) -> &'a str {
        &self.components[id].ast.name.text
    }

    /// The name of an interface.
    fn interface_name(&self, id: InterfaceId) -> &'a str {
        &self.interfaces[id].ast.name.text
    }

    /// The checked code of a routine.
    fn body(&self, id: RoutineId) -> Option<&tree::Body> {
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

    fn finish(mut self, program: &ast::Program) -> (tree::Program, Vec<Diagnostic>) {
        self.choose_entry(program);
        let position = |span: Span| (span.file, span.start, span.end);
        self.diagnostics.sort_by_key(|it| position(it.span));
        self.diagnostics.dedup();
        self.diagnostics.truncate(DIAGNOSTICS_MAX);
        (self.tree, self.diagnostics)
    }
}
