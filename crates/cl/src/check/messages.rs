//! Messages: partner, direction, parameters.

use tidemill_diag::Span;

use crate::ast::{self, Designator, DesignatorKind};
use crate::check::any::limits_of;
use crate::check::checker::Checker;
use crate::check::designators::numbered;
use crate::check::names::{Found, Name};
use crate::check::types::{Limits, Shape, Type};
use crate::ir::{Direction, InterfaceId, MessageId, Pattern};
use crate::tree::{Expression, Party, Place, Statement};

/// The other side of a send or receive.
pub(super) struct Other {
    /// The partner.
    pub(super) party: Party,
    /// By which interface.
    pub(super) interface: InterfaceId,
}

impl<'a> Checker<'a> {
    /// `to!M(...)`.
    pub(super) fn send(
        &mut self,
        to: Option<&Designator>,
        name: &ast::Ident,
        arguments: &[ast::Expr],
        span: Span,
    ) -> Option<Statement> {
        let other = self.party(to, span);
        let Some(Other { party, interface }) = other else {
            // The values may have errors of their own.
            arguments.iter().for_each(|it| drop(self.expression(it)));
            return None;
        };
        let message = self.message(interface, name)?;
        self.direction(&party, interface, message, true, name)?;
        let types = self.parameters(interface, message, arguments.len(), span)?;
        let mut values = Vec::new();
        for (argument, ty) in arguments.iter().zip(types) {
            values.push(match ty {
                Some(ty) => self.argument(argument, &ty),
                None => {
                    self.spoil();
                    None
                }
            });
        }
        let arguments = values.into_iter().collect::<Option<_>>()?;
        Some(Statement::Send { to: party, message, arguments })
    }

    /// `from?M(...)`.
    pub(super) fn receive(
        &mut self,
        from: Option<&Designator>,
        name: &ast::Ident,
        targets: &[Designator],
        span: Span,
    ) -> Option<Statement> {
        let Other { party, interface } = self.party(from, span)?;
        let message = self.message(interface, name)?;
        self.direction(&party, interface, message, false, name)?;
        let types = self.parameters(interface, message, targets.len(), span)?;
        let mut places = Vec::new();
        for (target, ty) in targets.iter().zip(types) {
            places.push(self.target(target, ty.as_ref()));
        }
        let targets = places.into_iter().collect::<Option<_>>()?;
        Some(Statement::Receive { from: party, message, targets })
    }

    /// Where a value of a message goes.
    fn target(&mut self, target: &Designator, ty: Option<&Type>) -> Option<Place> {
        let placed = self.place(target)?;
        let (Shape::One(have), Some(ty)) = (&placed.shape, ty) else {
            self.read(placed)?;
            self.spoil();
            return None;
        };
        let fits = match have {
            Type::Any(any) if ty.is_component() => self.has(ty, any),
            have => have == ty,
        };
        if !fits {
            let (ty, have) = (self.an(ty), self.an(have));
            let message = format!("the message brings {ty}, the variable is {have}");
            let help = "the variable has exactly the type of the parameter";
            return self.fail("type", target.span, message, help);
        }
        self.forget(&placed.place);
        Some(placed.place)
    }

    fn parameters(
        &mut self,
        interface: InterfaceId,
        message: MessageId,
        count: usize,
        span: Span,
    ) -> Option<Vec<Option<Type>>> {
        let types = self.interfaces[interface].parameters[message].clone();
        if types.len() == count {
            return Some(types);
        }
        let name = &self.tree.interfaces[interface].messages[message].name;
        let has = numbered(types.len(), "parameter");
        let text = format!("{name} has {has}, {count} given");
        self.fail("argument-count", span, text, "")
    }

    /// A client sends what is IN and receives what is OUT; a server the other way round.
    fn direction(
        &mut self,
        party: &Party,
        interface: InterfaceId,
        message: MessageId,
        sends: bool,
        name: &ast::Ident,
    ) -> Option<()> {
        let direction = self.tree.interfaces[interface].messages[message].direction;
        let is_server = matches!(party, Party::Client);
        let wanted = if sends != is_server { Direction::In } else { Direction::Out };
        if direction == wanted {
            return Some(());
        }
        let (who, does) = match direction {
            Direction::In => ("client", if is_server { "receive it" } else { "send it" }),
            Direction::Out => ("server", if is_server { "send it" } else { "receive it" }),
        };
        let side = if is_server { "an implementation is the server" } else { "this is the client" };
        let text = format!("{} is sent by the {who}", name.text);
        let sign = if does == "send it" { '!' } else { '?' };
        let help = format!("{side}: {does} with `{sign}{}`", name.text);
        self.fail("direction", name.span, text, &help)
    }

    /// `x?M` and INPUT as values.
    pub(super) fn pattern(
        &mut self,
        from: Option<&Designator>,
        pattern: &ast::Pattern,
        span: Span,
    ) -> Option<(Party, Pattern)> {
        let Other { party, interface } = self.party(from, span)?;
        let pattern = match pattern {
            ast::Pattern::Any(_) => Pattern::Any,
            ast::Pattern::Finish(_) => Pattern::Finish,
            ast::Pattern::Message(name) => {
                let message = self.message(interface, name)?;
                self.direction(&party, interface, message, false, name)?;
                Pattern::Message(message)
            }
        };
        Some((party, pattern))
    }

    /// The partner that the designator names, and the interface.
    pub(super) fn party(&mut self, it: Option<&Designator>, span: Span) -> Option<Other> {
        let Some(it) = it else { return self.client(span) };
        match &it.kind {
            DesignatorKind::Of { base, argument } if self.is_interface_of(base, argument) => {
                let ast::Argument::Designator(instance) = &**argument else { return None };
                let (name, at, index) = self.indexed_name(base)?;
                let interface = self.interface(&ast::Ident { text: name.into(), span: at })?;
                let (place, ty) = self.component_place(instance, "an interface belongs to")?;
                let limits = self.offered(&place, &ty, interface, it.span)?;
                let index = self.offered_index(index, limits, it.span)?;
                let party = Party::Sub { place, interface, index };
                Some(Other { party, interface })
            }
            _ if self.is_instance(it) => {
                let (place, ty) = self.component_place(it, "messages go to")?;
                let (interface, ..) = self.only_offered(&place, &ty, it.span)?;
                Some(Other { party: Party::Sub { place, interface, index: None }, interface })
            }
            _ => self.own_party(it),
        }
    }

    /// The client of the implementation around.
    fn client(&mut self, span: Span) -> Option<Other> {
        let mut at = self.here.routine;
        while let Some(routine) = at {
            let info = &self.routines[routine];
            if info.implements.is_some() {
                let interface = info.interface;
                if interface.is_none() {
                    self.spoil();
                }
                return Some(Other { party: Party::Client, interface: interface? });
            }
            at = info.outer;
        }
        let message = "only an IMPLEMENTATION has a client";
        self.fail("no-client", span, message, "name whom to speak with: `x!Message`, `x?Message`")
    }

    /// `Interface(instance)`, not a variable seen as a type.
    pub(super) fn is_interface_of(&mut self, base: &Designator, argument: &ast::Argument) -> bool {
        let (name, _) = base.root();
        let ast::Argument::Designator(argument) = argument else { return false };
        let is_variable =
            matches!(self.find(name), Found::Name(Name::Variable(..) | Name::Local(..)));
        if !is_variable {
            return true;
        }
        let seen = argument.as_name().is_some_and(|it| {
            it == "ANY" || matches!(self.find(it), Found::Name(Name::Component(_)))
        });
        !seen && self.find_interface(name).is_some()
    }

    /// A variable that holds a component, even if an interface bears its name.
    pub(super) fn is_instance(&mut self, it: &Designator) -> bool {
        let name = it.root().0;
        let shape = match self.find(name) {
            Found::Name(Name::Variable(component, id)) => {
                self.components[component].variables[id].shape.clone()
            }
            Found::Name(Name::Local(routine, id)) => {
                self.routines[routine].locals[id].shape.clone()
            }
            Found::Name(Name::Constant(_) | Name::Component(_) | Name::Procedure(_)) => {
                return self.find_interface(name).is_none();
            }
            _ => return self.find_interface(name).is_none(),
        };
        let is_component = match &shape {
            Shape::One(ty) | Shape::Array(ty, _) | Shape::Collection(_, ty) => ty.is_component(),
            Shape::Wrong => true,
        };
        is_component || self.find_interface(name).is_none()
    }

    /// An own interface: required, or offered.
    fn own_party(&mut self, it: &Designator) -> Option<Other> {
        let (name, at, index) = self.indexed_name(it)?;
        let interface = self.interface(&ast::Ident { text: name.into(), span: at })?;
        let component = self.here.component?;
        let own = Type::Component(component);
        if let Some(limits) = limits_of(&self.requires(&own), interface) {
            let index = self.required_index(index, limits, it.span)?;
            return Some(Other { party: Party::Required { interface, index }, interface });
        }
        if limits_of(&self.offers(&own), interface).is_some() {
            if index.is_some() {
                let message = format!("{name} is the component's own, and it is one");
                return self.fail("cardinality", it.span, message, "");
            }
            return Some(Other { party: Party::Own { interface }, interface });
        }
        let message = format!("{} does not require {name}", self.component_name(component));
        let help = format!("write `COMPONENT {} REQUIRES {name}`", self.component_name(component));
        self.fail("not-required", it.span, message, &help)
    }

    /// `Name` or `Name[k]`.
    pub(super) fn indexed_name<'d>(
        &mut self,
        it: &'d Designator,
    ) -> Option<(&'d str, Span, Option<&'d ast::Expr>)> {
        match &it.kind {
            DesignatorKind::Name(name) => Some((name, it.span, None)),
            DesignatorKind::Index { base, indices } => match (&base.kind, &**indices) {
                (DesignatorKind::Name(name), [index]) => Some((name, base.span, Some(index))),
                _ => {
                    let message = "an interface has one index";
                    self.fail("cardinality", it.span, message, "write `Interface[k]`")
                }
            },
            DesignatorKind::Of { .. } => {
                let message = "an interface is expected here";
                self.fail("unknown-interface", it.span, message, "write `Interface(instance)`")
            }
        }
    }

    /// The number of a required interface: one of a set needs it, a single one has none.
    pub(super) fn required_index(
        &mut self,
        index: Option<&ast::Expr>,
        (interface, low, high): Limits,
        span: Span,
    ) -> Option<Option<Box<Expression>>> {
        let name = self.interface_name(interface);
        match index {
            None if high == Some(1) => Some(None),
            None => {
                let message = format!("{name} is required several times: which one?");
                self.fail("cardinality", span, message, &format!("write `{name}[k]`"))
            }
            Some(_) if high == Some(1) && low <= 1 => {
                let message = format!("{name} is required once");
                self.fail("cardinality", span, message, "leave the index out")
            }
            Some(index) => self.counted(index, interface, high, "required").map(Some),
        }
    }

    /// The number of an offered interface, which may be left out.
    pub(super) fn offered_index(
        &mut self,
        index: Option<&ast::Expr>,
        (interface, _, high): Limits,
        span: Span,
    ) -> Option<Option<Box<Expression>>> {
        match index {
            None => Some(None),
            Some(_) if high == Some(1) => {
                let message = format!("{} is offered once", self.interface_name(interface));
                self.fail("cardinality", span, message, "leave the index out")
            }
            Some(index) => self.counted(index, interface, high, "offered").map(Some),
        }
    }

    fn counted(
        &mut self,
        index: &ast::Expr,
        interface: InterfaceId,
        high: Option<u32>,
        verb: &str,
    ) -> Option<Box<Expression>> {
        let value = self.expression(index)?;
        let value = self.fitted(value, &Type::Integer, "the number of an interface")?;
        let name = self.interface_name(interface);
        match (value.as_integer(), high) {
            (Some(number), _) if number < 1 => {
                let message = "interfaces are counted from 1";
                self.fail("cardinality", index.span, message, "")
            }
            (Some(number), Some(high)) if number > i64::from(high) => {
                let message =
                    format!("{name} is {verb} {high} times, so there is no number {number}");
                self.fail("cardinality", index.span, message, "")
            }
            _ => Some(Box::new(value.expr)),
        }
    }

    /// The limits of an interface that the component in the place offers, or an error.
    pub(super) fn offered(
        &mut self,
        place: &Place,
        ty: &Type,
        interface: InterfaceId,
        span: Span,
    ) -> Option<Limits> {
        let found = limits_of(&self.interfaces_at(place, ty, true), interface);
        if found.is_none() {
            let name = self.interface_name(interface);
            let help = match ty {
                Type::Component(_) => String::new(),
                _ => format!("declare the variable ANY({name}), or ask `IF x OFFERS {name} THEN`"),
            };
            let message = self.not_offering(ty, interface);
            return self.fail("not-offered", span, message, &help);
        }
        found
    }

    /// That a component of this type does not offer the interface, as far as is known.
    pub(super) fn not_offering(&self, ty: &Type, interface: InterfaceId) -> String {
        let name = self.interface_name(interface);
        match ty {
            Type::Component(id) => format!("{} does not offer {name}", self.component_name(*id)),
            _ => format!("it is not known that {} offers {name}", self.an(ty)),
        }
    }

    /// The only interface that the component in the place offers, or an error.
    pub(super) fn only_offered(&mut self, place: &Place, ty: &Type, span: Span) -> Option<Limits> {
        let all = self.interfaces_at(place, ty, true);
        match *all {
            [one] => Some(one),
            [] => {
                let message = format!("{} offers nothing to speak with", self.an(ty));
                self.fail("not-offered", span, message, "")
            }
            _ => {
                let names: Vec<&str> = all.iter().map(|it| self.interface_name(it.0)).collect();
                let message = format!("{} offers {}", self.an(ty), names.join(" and "));
                let help = format!("name one: `{}(...)`", names[0]);
                self.fail("ambiguous-interface", span, message, &help)
            }
        }
    }
}
