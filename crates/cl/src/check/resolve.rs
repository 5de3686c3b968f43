//! Resolves what the declarations name: types of variables and parameters, interfaces that are
//! offered, required and implemented, and which component runs.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::hash::Set;
use tidemill_stdx::id::IdVec;

use crate::ast;
use crate::check::checker::Checker;
use crate::check::declarations::empty_body;
use crate::check::info::{Declared, RoutineInfo};
use crate::check::names::{Here, RoutineId};
use crate::check::system::RULES;
use crate::check::types::{Shape, Type};
use crate::ir::{self, ComponentId, InterfaceId, VariableId};
use crate::tree::{self, LocalId, Routine};

impl<'a> Checker<'a> {
    /// Resolves all declarations.
    pub(super) fn resolve(&mut self) {
        for id in self.interfaces.ids().collect::<Vec<_>>() {
            if !self.tree.interfaces[id].system {
                self.resolve_interface(id);
            }
        }
        for id in self.components.ids() {
            self.resolve_component(id);
        }
        for id in self.routines.ids() {
            self.resolve_routine(id);
        }
        for id in self.components.ids() {
            self.allowed_attributes(self.components[id].ast.attributes.as_ref(), &["ENTRYPOINT"]);
        }
        for id in self.constants.ids() {
            self.constant(id);
        }
    }

    fn resolve_component(&mut self, id: ComponentId) {
        let (ast, outer, scope) =
            (self.components[id].ast, self.components[id].outer, self.components[id].scope);
        self.here = Here { scope: outer, component: None, routine: None, constant: false };
        let offers = self.declared_interfaces(&ast.offers, "offered");
        let offer = |(interface, low, high)| ir::Offer {
            interface,
            count: (low, high),
            implementation: None,
        };
        let requires = self.declared_interfaces(&ast.requires, "required");
        let require = |(interface, low, high)| ir::Require { interface, count: (low, high) };
        self.tree.components[id].offers = offers.into_iter().map(offer).collect();
        self.tree.components[id].requires = requires.into_iter().map(require).collect();
        self.here = Here { scope, component: Some(id), routine: None, constant: false };
        for variable in self.components[id].variables.ids() {
            self.resolve_variable(id, variable);
        }
    }

    fn declared_interfaces(
        &mut self,
        list: &'a [ast::InterfaceDeclaration],
        verb: &str,
    ) -> Vec<(InterfaceId, u32, Option<u32>)> {
        let mut all: Vec<(InterfaceId, u32, Option<u32>)> = Vec::new();
        for it in list {
            let Some(limits) = self.limit(it) else { continue };
            if all.iter().any(|other| other.0 == limits.0) {
                let message = format!("{} is {verb} twice", it.name.text);
                let help = format!("`{}[n]` is {verb} n times", it.name.text);
                self.fail::<()>("duplicate-name", it.span, message, &help);
                continue;
            }
            all.push(limits);
        }
        all
    }

    fn resolve_variable(&mut self, component: ComponentId, id: VariableId) {
        let declared = self.declared(&self.components[component].variables[id]);
        let shape = self.shape(&declared);
        let synchronous = declared.attributes.is_some_and(|it| it.find("SYNCHRONOUS").is_some());
        let variable = ir::Variable {
            name: declared.name.text.clone(),
            storage: shape.storage(),
            synchronous,
        };
        self.tree.components[component].variables.push(variable);
        self.components[component].variables[id].shape = shape;
    }

    fn declared(&self, it: &Declared<'a>) -> Declared<'a> {
        Declared { shape: Shape::Wrong, ..*it }
    }

    fn resolve_routine(&mut self, id: RoutineId) {
        let RoutineInfo { id: routine, component, scope, implements, .. } = self.routines[id];
        self.here = Here { scope, component: Some(component), routine: None, constant: false };
        if let Some(name) = implements {
            let interface = self.interface(name);
            self.routines[id].interface = interface;
            if let Some(interface) = interface {
                self.routines[id].id = Routine::Implementation(component, interface);
                self.add_implemented(id, interface);
            }
        }
        for local in self.routines[id].locals.ids() {
            let declared = self.declared(&self.routines[id].locals[local]);
            let shape = self.shape(&declared);
            self.routines[id].locals[local].shape = shape;
        }
        if let Routine::Procedure(procedure) = routine {
            let result = self.procedures[procedure].ast.result.as_ref();
            let ty = result.and_then(|ty| self.resolve_type(ty));
            // A wrong type still is a result: only its value is not known.
            let lowered = result.map(|_| ty.as_ref().map_or(ir::Type::Integer, Type::lowered));
            self.tree.procedures[procedure].result = lowered;
            self.routines[id].broken = result.is_some() && ty.is_none();
            self.routines[id].result = ty;
        }
    }

    /// What a variable holds.
    fn shape(&mut self, it: &Declared<'a>) -> Shape {
        let element = self.resolve_type(it.ty);
        let mut keys = Vec::new();
        for section in it.indices {
            let key = self.resolve_type(&section.ty);
            keys.extend(section.names.iter().map(|_| (key.clone(), section.ty.span)));
        }
        self.parameter_names(it.indices);
        let array = it.attributes.and_then(|it| it.find("ARRAY"));
        self.variable_attributes(it, element.as_ref());
        let mut wrong = element.is_none();
        for (key, span) in &keys {
            wrong |= key.is_none();
            let Some(key) = key else { continue };
            let message = match key {
                Type::Integer => continue,
                Type::Text | Type::Boolean | Type::Character if array.is_none() => continue,
                _ if array.is_some() => "the index of an array is an INTEGER",
                _ => "a key is an INTEGER, TEXT, BOOLEAN or CHARACTER",
            };
            self.fail::<()>("type", *span, message, "");
            wrong = true;
        }
        let Some(element) = element.filter(|_| !wrong) else { return Shape::Wrong };
        let dimensions = keys.len();
        match array {
            _ if keys.is_empty() => Shape::One(element),
            Some(span) if dimensions > usize::from(u8::MAX) => {
                self.fail::<()>("index", span, "an array has at most 255 dimensions", "");
                Shape::Wrong
            }
            Some(_) => Shape::Array(element, dimensions as u8),
            None => Shape::Collection(keys.into_iter().filter_map(|it| it.0).collect(), element),
        }
    }

    fn variable_attributes(&mut self, it: &Declared<'a>, element: Option<&Type>) {
        self.allowed_attributes(it.attributes, &["ARRAY", "SYNCHRONOUS"]);
        let Some(attributes) = it.attributes else { return };
        if let Some(span) = attributes.find("ARRAY").filter(|_| it.indices.is_empty()) {
            let help = format!("write `{}[i: INTEGER]`", it.name.text);
            self.fail::<()>("unknown-attribute", span, "an array needs indices", &help);
        }
        let is_component = element.is_none_or(Type::is_component);
        if let Some(span) = attributes.find("SYNCHRONOUS").filter(|_| !is_component) {
            let message = "only components can be SYNCHRONOUS";
            self.fail::<()>("unknown-attribute", span, message, "");
        }
    }

    /// Reports attributes that have no meaning in their place.
    pub(super) fn allowed_attributes(
        &mut self,
        attributes: Option<&ast::Attributes>,
        allowed: &[&str],
    ) {
        for name in attributes.iter().flat_map(|it| &it.names) {
            if !allowed.contains(&name.text.as_str()) {
                let message = format!("`{}` is no attribute here", name.text);
                let help = match allowed {
                    [one] => format!("the attribute here is {one}"),
                    all => format!("the attributes here are {}", all.join(" and ")),
                };
                self.fail::<()>("unknown-attribute", name.span, message, &help);
            }
        }
    }

    /// Chooses the component that runs.
    pub(super) fn choose_entry(&mut self, program: &ast::Program) {
        self.here.routine = None;
        let mut last: Option<(ComponentId, Span)> = None;
        let mut marked: Option<(ComponentId, Span)> = None;
        let mut outside = Vec::new();
        for id in self.components.ids() {
            let info = &self.components[id];
            let name = info.ast.name.span;
            let is_outermost = info.outer == self.here_root();
            let is_outside = is_outermost && self.outside.contains(&info.ast.name.text);
            if is_outside {
                outside.push((id, name));
            }
            // Where some are made from outside, these, what others make and what they would have to
            // speak with are no program.
            let offers = !info.ast.offers.is_empty();
            let is_used =
                !self.outside.is_empty() && (is_outside || offers || self.made.contains(&id));
            if is_outermost && !is_used {
                last = Some((id, name));
            }
            let Some(span) = info.ast.attributes.as_ref().and_then(|it| it.find("ENTRYPOINT"))
            else {
                continue;
            };
            if !is_outermost {
                let message = "a component inside another cannot be the program";
                self.fail::<()>("no-entry", span, message, "");
            } else if let Some((_, first)) = marked {
                let message = "two components are marked {ENTRYPOINT}";
                let error = Diagnostic::error("no-entry", span, message);
                self.report(error.label(first, "the other"));
            } else {
                marked = Some((id, span));
            }
        }
        let chosen = marked.or(last);
        for &(id, span) in &outside {
            if chosen.is_none_or(|(chosen, _)| chosen != id) {
                let name = &self.components[id].ast.name.text;
                let help =
                    format!("a stage or app makes {name}, and connects what the system offers");
                self.requires_of_system(id, span, &help);
            }
        }
        match chosen {
            Some((id, span)) => self.entry(id, span),
            None if self.outside.is_empty() => self.without_component(program),
            None => {}
        }
    }

    fn without_component(&mut self, program: &ast::Program) {
        let Some(file) = program.files.last() else { return };
        let place = match file.definitions.last() {
            Some(ast::Definition::Interface(it)) => it.span,
            Some(ast::Definition::Component(it)) => it.span,
            None => Span { file: file.file, start: 0, end: 0 },
        };
        let message = "there is no component to start";
        self.fail::<()>("no-entry", place, message, "write `COMPONENT Main; ... END Main;`");
    }

    /// The entry may require what the system offers, and nothing else.
    fn entry(&mut self, id: ComponentId, span: Span) {
        self.tree.entry = Some(id);
        let name = &self.components[id].ast.name.text;
        let help = format!("mark another component {{ENTRYPOINT}}; {name} is the program");
        self.requires_of_system(id, span, &help);
    }

    /// Checks that what only the system can connect is an interface of it, or one that leads to
    /// rules.
    fn requires_of_system(&mut self, id: ComponentId, span: Span, help: &str) {
        let ast = self.components[id].ast;
        for require in self.tree.components[id].requires.clone() {
            let name = self.interface_name(require.interface);
            if self.tree.interfaces[require.interface].system || name.starts_with(RULES) {
                continue;
            }
            let at = ast.requires.iter().find(|it| it.name.text == name);
            let message = format!(
                "{name} is no interface of the system, and nothing else offers it to the program"
            );
            self.fail::<()>("no-entry", at.map_or(span, |it| it.span), message, help);
        }
    }

    /// Checks the code of all routines.
    pub(super) fn bodies(&mut self) {
        for id in self.routines.ids() {
            let RoutineInfo { id: routine, component, scope, code, span, .. } = self.routines[id];
            self.here =
                Here { scope, component: Some(component), routine: Some(id), constant: false };
            self.known.clear();
            let code = match code {
                Some(code) => self.sequence(code),
                None => empty_body(span).code,
            };
            let locals = self.locals(id);
            self.put_body(routine, tree::Body { locals, code }, id);
        }
        self.here.routine = None;
        let broken: Set<ComponentId> =
            self.routines.iter().filter(|it| it.broken).map(|it| it.component).collect();
        for id in self.components.ids() {
            self.implementations(id, broken.contains(&id));
        }
    }

    fn locals(&self, id: RoutineId) -> IdVec<LocalId, tree::Local> {
        let local = |it: &Declared<'a>| tree::Local {
            name: it.name.text.clone(),
            storage: it.shape.storage(),
            span: it.name.span,
        };
        self.routines[id].locals.iter().map(local).collect()
    }

    fn put_body(&mut self, routine: Routine, body: tree::Body, id: RoutineId) {
        let span = self.routines[id].span;
        let outer = self.routines[id].outer.map(|it| self.routines[it].id);
        let components = &mut self.tree.components;
        match routine {
            Routine::Begin(component) => components[component].begin = Some(body),
            Routine::Activity(component) => components[component].activity = Some(body),
            Routine::Finally(component) => components[component].finally = Some(body),
            Routine::Implementation(component, interface) => {
                let one = tree::Implementation { interface, body, span };
                components[component].implementations.push(one);
            }
            Routine::Procedure(procedure) => {
                let procedure = &mut self.tree.procedures[procedure];
                procedure.outer = outer.unwrap_or(procedure.outer);
                procedure.body = body;
            }
            Routine::Component(_) => {}
        }
    }

    /// Checks that what is offered is implemented or connected, and the reverse.
    fn implementations(&mut self, id: ComponentId, broken: bool) {
        let info = &self.components[id];
        let ast = info.ast;
        let implemented: Vec<(InterfaceId, RoutineId, Span)> = info.implementations.clone();
        let (delegated, served) = (info.delegated.clone(), info.served.clone());
        let offers = self.tree.components[id].offers.clone();
        for offer in &offers {
            let interface = offer.interface;
            let is_there = implemented.iter().any(|it| it.0 == interface);
            if is_there || delegated.contains(&interface) || broken {
                continue;
            }
            let name = self.interface_name(interface);
            let at = ast.offers.iter().find(|it| it.name.text == name);
            let message = format!("{name} is offered, but neither implemented nor connected");
            let help = format!("write `IMPLEMENTATION {name}; ... END {name};`");
            let span = at.map_or(ast.name.span, |it| it.span);
            self.fail::<()>("implementation-missing", span, message, &help);
        }
        for (interface, _, span) in implemented {
            if offers.iter().any(|it| it.interface == interface) {
                continue;
            }
            let name = self.interface_name(interface);
            // For its own sub-components only.
            if served.contains(&interface) || broken {
                continue;
            }
            let message = format!("{name} is implemented, but neither offered nor connected");
            let help = format!("write `COMPONENT {} OFFERS {name}`", ast.name.text);
            self.fail::<()>("not-offered", span, message, &help);
        }
    }
}
