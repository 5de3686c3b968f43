//! Collects all names before anything is resolved: components and interfaces may be used before
//! their declaration, and procedures may call each other.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::id::{Id, IdVec};

use crate::ast::{self, Declaration, Definition, Passing};
use crate::check::checker::Checker;
use crate::check::info::{ComponentInfo, ConstantInfo, Declared, ProcedureInfo, RoutineInfo};
use crate::check::names::{Here, Name, RoutineId, ScopeId};
use crate::check::types::Shape;
use crate::ir::{ComponentId, InterfaceId};
use crate::tree::{self, ByReference, ProcedureId, Routine};

impl<'a> Checker<'a> {
    /// Collects the names of all files.
    pub(super) fn collect(&mut self, program: &'a ast::Program) {
        let root = self.here_root();
        for definition in program.definitions() {
            match definition {
                Definition::Component(it) => self.add_component(it, root, ""),
                Definition::Interface(it) => self.declare_interface(it, root),
            }
        }
    }

    fn declare_interface(&mut self, ast: &'a ast::Interface, scope: ScopeId) {
        if !self.repeats_system(ast) {
            let id = self.add_interface(ast, scope, false);
            self.declare_interface_name(scope, &ast.name, id);
        }
    }

    fn add_component(&mut self, ast: &'a ast::Component, outer: ScopeId, around: &str) {
        let scope = self.scope(outer, true);
        let id = self.components.push(ComponentInfo {
            ast,
            outer,
            scope,
            variables: IdVec::new(),
            implementations: Vec::new(),
            delegated: Vec::new(),
            served: Vec::new(),
        });
        let name = format!("{around}{}", ast.name.text);
        let inside = format!("{name}.");
        self.tree.components.push(tree::Component {
            name,
            offers: Vec::new(),
            requires: Vec::new(),
            variables: IdVec::new(),
            begin: None,
            activity: None,
            finally: None,
            implementations: Vec::new(),
            span: ast.span,
        });
        self.declare(outer, &ast.name, Name::Component(id));
        self.declarations(
            &ast.declarations,
            Inside { component: id, routine: None, scope },
            &inside,
        );
        let parts = [
            (&ast.begin, Routine::Begin(id)),
            (&ast.activity, Routine::Activity(id)),
            (&ast.finally, Routine::Finally(id)),
        ];
        for (code, routine) in parts {
            if let Some(code) = code {
                let info = RoutineInfo { code: Some(code), ..plain(routine, id, scope, code.span) };
                self.routines.push(info);
            }
        }
    }

    fn declarations(&mut self, all: &'a [Declaration], inside: Inside, path: &str) {
        for declaration in all {
            match declaration {
                Declaration::Component(it) => self.add_component(it, inside.scope, path),
                Declaration::Interface(it) => self.declare_interface(it, inside.scope),
                Declaration::Constant(it) => {
                    let here = Here {
                        scope: inside.scope,
                        component: Some(inside.component),
                        routine: None,
                        constant: true,
                    };
                    let id = self.constants.push(ConstantInfo::new(it, here));
                    self.declare(inside.scope, &it.name, Name::Constant(id));
                }
                Declaration::Variables(it) => self.declare_variables(it, inside),
                Declaration::Procedure(it) => self.add_procedure(it, inside, path),
                Declaration::Implementation(it) => self.add_implementation(it, inside, path),
            }
        }
    }

    fn declare_variables(&mut self, it: &'a ast::Variables, inside: Inside) {
        for variable in &it.names {
            let declared = Declared {
                name: &variable.name,
                indices: &variable.indices,
                ty: &it.ty,
                attributes: it.attributes.as_ref(),
                parameter: None,
                shape: Shape::Wrong,
            };
            let name = match inside.routine {
                Some(routine) => Name::Local(routine, self.routines[routine].locals.push(declared)),
                None => {
                    let variables = &mut self.components[inside.component].variables;
                    Name::Variable(inside.component, variables.push(declared))
                }
            };
            self.declare(inside.scope, &variable.name, name);
        }
    }

    fn add_procedure(&mut self, ast: &'a ast::Procedure, inside: Inside, path: &str) {
        let scope = self.scope(inside.scope, false);
        let id = ProcedureId::from_index(self.procedures.len());
        let plain = plain(Routine::Procedure(id), inside.component, scope, ast.span);
        let info = RoutineInfo { outer: inside.routine, code: ast.begin.as_ref(), ..plain };
        let routine = self.routines.push(info);
        self.procedures.push(ProcedureInfo { ast, routine });
        self.declare(inside.scope, &ast.name, Name::Procedure(id));
        let mut parameters = Vec::new();
        for section in &ast.parameters {
            let by = match section.passing {
                Passing::Value => ByReference::No,
                Passing::Variable => ByReference::Yes,
            };
            for name in &section.names {
                let local = self.routines[routine].locals.push(Declared {
                    name,
                    indices: &[],
                    ty: &section.ty,
                    attributes: None,
                    parameter: Some(by),
                    shape: Shape::Wrong,
                });
                parameters.push((local, by));
                self.declare(scope, name, Name::Local(routine, local));
            }
        }
        let name = format!("{path}{}", ast.name.text);
        let inner = format!("{name}.");
        self.tree.procedures.push(tree::Procedure {
            name,
            component: inside.component,
            outer: Routine::Component(inside.component),
            parameters,
            result: None,
            body: empty_body(ast.span),
            span: ast.span,
        });
        let inside = Inside { routine: Some(routine), scope, ..inside };
        self.declarations(&ast.declarations, inside, &inner);
    }

    fn add_implementation(&mut self, ast: &'a ast::Implementation, inside: Inside, path: &str) {
        let scope = self.scope(inside.scope, false);
        let component = inside.component;
        let plain = plain(Routine::Component(component), component, scope, ast.span);
        let (code, implements) = (ast.begin.as_ref(), Some(&ast.name));
        let routine = self.routines.push(RoutineInfo { code, implements, ..plain });
        let inside = Inside { routine: Some(routine), scope, ..inside };
        self.declarations(&ast.declarations, inside, &format!("{path}{}.", ast.name.text));
    }

    /// Each component may implement an interface once.
    pub(super) fn add_implemented(&mut self, routine: RoutineId, interface: InterfaceId) {
        let RoutineInfo { component, implements, span, .. } = self.routines[routine];
        let all = &mut self.components[component].implementations;
        let first = all.iter().find(|it| it.0 == interface).map(|it| it.2);
        all.push((interface, routine, implements.map_or(span, |it| it.span)));
        if let (Some(first), Some(name)) = (first, implements) {
            let message = format!("{} is implemented twice", name.text);
            let error = Diagnostic::error("duplicate-name", name.span, message);
            self.report(error.label(first, "first here"));
        }
    }
}

/// What contains declarations.
#[derive(Clone, Copy)]
struct Inside {
    component: ComponentId,
    routine: Option<RoutineId>,
    scope: ScopeId,
}

fn plain<'a>(id: Routine, component: ComponentId, scope: ScopeId, span: Span) -> RoutineInfo<'a> {
    RoutineInfo {
        id,
        component,
        scope,
        outer: None,
        implements: None,
        interface: None,
        result: None,
        locals: IdVec::new(),
        code: None,
        span,
        broken: false,
    }
}

/// A routine that does nothing.
pub(super) fn empty_body(span: Span) -> tree::Body {
    let code = tree::Sequence { lock: None, statements: Vec::new(), span };
    tree::Body { locals: IdVec::new(), code }
}
