//! CONNECT, DISCONNECT and COUNT: ports.
//!
//! CONNECT joins a side that needs an interface with one that serves it:
//!
//! | first | second |
//! |---|---|
//! | `I(sub)`: what a sub-component requires | `I(sub)`: what a sub-component offers |
//! | `I`: what the component itself offers | `I`: what it requires itself, or its implementation |
//!
//! A bare instance denotes the interface that the other side names.

use tidemill_diag::Span;

use crate::ast::{self, Designator, DesignatorKind};
use crate::check::any::limits_of;
use crate::check::checker::Checker;
use crate::check::types::{Limits, Type, Typed};
use crate::ir::InterfaceId;
use crate::tree::{ExpressionKind, Place, Port, Statement};

/// A port as it is written.
enum Written<'d> {
    /// An instance alone.
    Bare(&'d Designator),
    /// An interface of an instance.
    Of(&'d ast::Argument, InterfaceId, Option<&'d ast::Expr>),
    /// An own interface.
    Own(InterfaceId, Option<&'d ast::Expr>),
}

impl<'a> Checker<'a> {
    /// `CONNECT(from, to)`.
    pub(super) fn connect(&mut self, from: &Designator, to: &Designator) -> Option<Statement> {
        let first = self.written(from);
        let second = self.written(to);
        let (first, second) = (first?, second?);
        let interface = match (self.named(&first), self.named(&second)) {
            (Some(a), Some(b)) if a == b => a,
            (Some(a), Some(b)) => {
                let (a, b) = (self.interface_name(a), self.interface_name(b));
                let message = format!("{a} and {b} are different interfaces");
                let help = "both sides of CONNECT have the same interface";
                return self.fail("connect", from.span.to(to.span), message, help);
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => self.between(from, to)?,
        };
        let from = self.needing(&first, interface, from.span);
        let to = self.serving(&second, interface, to.span);
        Some(Statement::Connect { from: from?, to: to? })
    }

    fn written<'d>(&mut self, it: &'d Designator) -> Option<Written<'d>> {
        match &it.kind {
            DesignatorKind::Of { base, argument } if self.is_interface_of(base, argument) => {
                let (name, at, index) = self.indexed_name(base)?;
                let interface = self.interface(&ast::Ident { text: name.into(), span: at })?;
                Some(Written::Of(argument, interface, index))
            }
            _ if self.is_instance(it) => Some(Written::Bare(it)),
            _ => {
                let (name, at, index) = self.indexed_name(it)?;
                let interface = self.interface(&ast::Ident { text: name.into(), span: at })?;
                Some(Written::Own(interface, index))
            }
        }
    }

    fn named(&self, it: &Written) -> Option<InterfaceId> {
        match it {
            Written::Bare(_) => None,
            Written::Of(_, interface, _) | Written::Own(interface, _) => Some(*interface),
        }
    }

    /// The interface that two bare instances have in common.
    fn between(&mut self, from: &Designator, to: &Designator) -> Option<InterfaceId> {
        let first = self.port_place(from);
        let second = self.port_place(to);
        let ((a, from_type), (b, to_type)) = (first?, second?);
        let requires = self.interfaces_at(&a, &from_type, false);
        let offers = self.interfaces_at(&b, &to_type, true);
        let both: Vec<InterfaceId> =
            requires.iter().filter_map(|it| limits_of(&offers, it.0)).map(|it| it.0).collect();
        let span = from.span.to(to.span);
        match *both {
            [one] => Some(one),
            [] => {
                let (a, b) = (self.an(&from_type), self.an(&to_type));
                let message = format!("{a} requires nothing that {b} offers");
                self.fail("connect", span, message, "")
            }
            _ => {
                let names: Vec<&str> = both.iter().map(|it| self.interface_name(*it)).collect();
                let message = format!("both have {}", names.join(" and "));
                let help = format!("name one: `{}(...)`", names[0]);
                self.fail("ambiguous-interface", span, message, &help)
            }
        }
    }

    fn port_place(&mut self, it: &Designator) -> Option<(Place, Type)> {
        let placed = self.place(it)?;
        match &placed.shape {
            crate::check::types::Shape::One(ty) if ty.is_component() => {
                let ty = ty.clone();
                Some((placed.place, ty))
            }
            crate::check::types::Shape::One(ty) => {
                let message = format!("{} has no interfaces", self.an(ty));
                self.fail("connect", it.span, message, "only components are connected")
            }
            _ => {
                let message = "one component is connected at a time";
                self.fail("connect", it.span, message, "name an element with its index")
            }
        }
    }

    fn instance(&mut self, it: &ast::Argument, span: Span) -> Option<(Place, Type)> {
        match it {
            ast::Argument::Designator(it) => self.port_place(it),
            ast::Argument::Type(_) => {
                let message = "a component is expected in the parentheses, not a type";
                self.fail("connect", span, message, "")
            }
        }
    }

    /// The instance of a side that is a sub-component's, with the index if one is written.
    fn sub<'d>(
        &mut self,
        it: &Written<'d>,
        span: Span,
    ) -> Option<(Place, Type, Option<&'d ast::Expr>)> {
        let (of, index) = match *it {
            Written::Bare(it) => (self.port_place(it), None),
            Written::Of(instance, _, index) => (self.instance(instance, span), index),
            Written::Own(..) => return None,
        };
        let (place, ty) = of?;
        Some((place, ty, index))
    }

    /// The side of a CONNECT that needs the interface.
    fn needing(&mut self, it: &Written, interface: InterfaceId, span: Span) -> Option<Port> {
        let (place, ty, index) = match *it {
            Written::Own(_, index) => return self.own_offered(interface, index, span),
            ref sub => self.sub(sub, span)?,
        };
        let limits = self.required_of(&place, &ty, interface, span)?;
        let index = self.required_index(index, limits, span)?;
        Some(Port::SubRequired { place, interface, index })
    }

    fn required_of(
        &mut self,
        place: &Place,
        ty: &Type,
        interface: InterfaceId,
        span: Span,
    ) -> Option<Limits> {
        let found = limits_of(&self.interfaces_at(place, ty, false), interface);
        if found.is_none() {
            let name = self.interface_name(interface);
            let message = match ty {
                Type::Component(id) => {
                    format!("{} does not require {name}", self.component_name(*id))
                }
                _ => format!("it is not known that {} requires {name}", self.an(ty)),
            };
            let help = match ty {
                Type::Component(_) => {
                    "the first argument of CONNECT is the side that needs the interface".into()
                }
                _ => format!(
                    "declare the variable ANY(| {name}), or ask `IF x REQUIRES {name} THEN`"
                ),
            };
            return self.fail("connect", span, message, &help);
        }
        found
    }

    /// As the first argument: an own offered interface that another is to serve.
    fn own_offered(
        &mut self,
        interface: InterfaceId,
        index: Option<&ast::Expr>,
        span: Span,
    ) -> Option<Port> {
        let component = self.here.component?;
        let own = Type::Component(component);
        let Some(limits) = limits_of(&self.offers(&own), interface) else {
            let (name, own) = (self.interface_name(interface), self.component_name(component));
            let message = format!("{own} does not offer {name}");
            let help =
                format!("CONNECT({name}(instance), {name}) connects an instance that requires it");
            return self.fail("connect", span, message, &help);
        };
        let index = self.offered_index(index, limits, span)?;
        self.components[component].delegated.push(interface);
        Some(Port::OwnOffered { interface, index })
    }

    /// The side of a CONNECT that serves the interface.
    fn serving(&mut self, it: &Written, interface: InterfaceId, span: Span) -> Option<Port> {
        let (place, ty, index) = match *it {
            Written::Own(_, index) => return self.own_serving(interface, index, span),
            ref sub => self.sub(sub, span)?,
        };
        let Some(limits) = limits_of(&self.interfaces_at(&place, &ty, true), interface) else {
            let message = self.not_offering(&ty, interface);
            return self.fail("connect", span, message, "");
        };
        let index = self.offered_index(index, limits, span)?;
        Some(Port::SubOffered { place, interface, index })
    }

    /// As the second argument: an own required interface, or else the own implementation.
    fn own_serving(
        &mut self,
        interface: InterfaceId,
        index: Option<&ast::Expr>,
        span: Span,
    ) -> Option<Port> {
        let component = self.here.component?;
        let own = Type::Component(component);
        if let Some(limits) = limits_of(&self.requires(&own), interface) {
            let index = self.required_index(index, limits, span)?;
            return Some(Port::OwnRequired { interface, index });
        }
        let info = &mut self.components[component];
        if info.implementations.iter().any(|it| it.0 == interface) {
            info.served.push(interface);
            let index = match index {
                Some(index) => Some(Box::new(self.expression(index)?.expr)),
                None => None,
            };
            return Some(Port::OwnOffered { interface, index });
        }
        let (name, own) = (self.interface_name(interface), self.component_name(component));
        let message = format!("{own} neither requires nor implements {name}");
        self.fail("connect", span, message, "")
    }

    /// `DISCONNECT(port)`: what CONNECT takes first.
    pub(super) fn disconnect(&mut self, it: &Designator) -> Option<Statement> {
        let written = self.written(it)?;
        let interface = match self.named(&written) {
            Some(interface) => interface,
            None => {
                let (place, ty) = self.port_place(it)?;
                let all = self.interfaces_at(&place, &ty, false);
                let [(interface, ..)] = *all else {
                    let message = format!("{} requires {} interfaces", self.an(&ty), all.len());
                    let help = "name one: `Interface(instance)`";
                    return self.fail("connect", it.span, message, help);
                };
                interface
            }
        };
        let Written::Own(_, index) = written else {
            return Some(Statement::Disconnect(self.needing(&written, interface, it.span)?));
        };
        let component = self.here.component?;
        let Some(limits) = limits_of(&self.offers(&Type::Component(component)), interface) else {
            let message = "DISCONNECT takes what CONNECT takes first";
            return self.fail("connect", it.span, message, "");
        };
        let index = self.offered_index(index, limits, it.span)?;
        Some(Statement::Disconnect(Port::OwnOffered { interface, index }))
    }

    /// `COUNT(interface)`: how many of it are connected.
    pub(super) fn count(&mut self, argument: &ast::Expr, span: Span) -> Option<Typed> {
        let Some(designator) = argument.as_designator() else {
            let message = "COUNT counts the connections of an interface";
            return self.fail("type", argument.span, message, "write COUNT(Interface)");
        };
        let port = match self.written(&designator)? {
            Written::Bare(it) => {
                let message = "COUNT counts the connections of an interface";
                return self.fail("type", it.span, message, "write COUNT(Interface)");
            }
            Written::Own(_, Some(index)) | Written::Of(_, _, Some(index)) => {
                let message = "COUNT counts a whole set of interfaces";
                return self.fail("cardinality", index.span, message, "leave the index out");
            }
            Written::Own(interface, None) => self.counted_own(interface, designator.span)?,
            Written::Of(instance, interface, None) => {
                let (place, ty) = self.instance(instance, designator.span)?;
                let index = None;
                match limits_of(&self.interfaces_at(&place, &ty, false), interface) {
                    Some(_) => Port::SubRequired { place, interface, index },
                    None => {
                        self.offered(&place, &ty, interface, designator.span)?;
                        Port::SubOffered { place, interface, index }
                    }
                }
            }
        };
        Some(Typed::new(ExpressionKind::Connected(port), Type::Integer, span))
    }

    fn counted_own(&mut self, interface: InterfaceId, span: Span) -> Option<Port> {
        let component = self.here.component?;
        let own = Type::Component(component);
        if limits_of(&self.requires(&own), interface).is_some() {
            return Some(Port::OwnRequired { interface, index: None });
        }
        if limits_of(&self.offers(&own), interface).is_some() {
            return Some(Port::OwnOffered { interface, index: None });
        }
        let (name, own) = (self.interface_name(interface), self.component_name(component));
        let message = format!("{own} neither requires nor offers {name}");
        self.fail("not-required", span, message, "")
    }
}
