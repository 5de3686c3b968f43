//! Which type the source names, and what fits what.

use std::rc::Rc;

use tidemill_diag::Span;

use crate::ast::{self, TypeKind};
use crate::check::checker::Checker;
use crate::check::names::{Found, Name, similar};
use crate::check::types::{Any, Limits, Type, Typed, simple, to_real};
use crate::ir::{Binary, Constant};
use crate::parse::relatives::type_meant;
use crate::tree::ExpressionKind;

impl<'a> Checker<'a> {
    /// The type as the source names it, with an article.
    pub(super) fn an(&self, ty: &Type) -> String {
        match ty {
            Type::Integer => "an INTEGER".into(),
            Type::Real => "a REAL".into(),
            Type::Boolean => "a BOOLEAN".into(),
            Type::Character => "a CHARACTER".into(),
            Type::Text => "a TEXT".into(),
            Type::Component(id) => format!("a component {}", self.component_name(*id)),
            Type::Any(any) => format!("a component {}", self.any(any)),
        }
    }

    fn any(&self, any: &Any) -> String {
        let list = |limits: &[Limits]| {
            let names: Vec<&str> = limits.iter().map(|it| self.interface_name(it.0)).collect();
            names.join(", ")
        };
        match (list(&any.offers), list(&any.requires)) {
            (offers, requires) if offers.is_empty() && requires.is_empty() => "ANY".into(),
            (offers, requires) if requires.is_empty() => format!("ANY({offers})"),
            (offers, requires) => format!("ANY({offers} | {requires})"),
        }
    }

    /// The type that the source names, or an error.
    pub(super) fn resolve_type(&mut self, ty: &ast::Type) -> Option<Type> {
        match &ty.kind {
            TypeKind::Name(name) => self.named_type(name, ty.span),
            TypeKind::Any { offers, requires } => {
                let offers = self.limits(offers);
                let requires = self.limits(requires);
                Some(Type::Any(Rc::new(Any { offers: offers?, requires: requires? })))
            }
            TypeKind::Error => None,
        }
    }

    fn named_type(&mut self, name: &str, span: Span) -> Option<Type> {
        if let Some(ty) = simple(name) {
            return Some(ty);
        }
        if name == "ANY" {
            return Some(Type::Any(Rc::default()));
        }
        if let Found::Name(Name::Component(id)) = self.find(name) {
            return Some(Type::Component(id));
        }
        let message = format!("there is no type `{name}`");
        let elsewhere = self.components.iter().any(|it| it.ast.name.text == name);
        let help = match elsewhere {
            true => "a component declared inside another is not visible outside".into(),
            false if self.find_interface(name).is_some() => {
                format!("`{name}` is an interface; a component that offers it is ANY({name})")
            }
            false => match type_meant(name) {
                Some(meant) => format!("it is called {meant} here"),
                None => {
                    let components = self.components.iter().map(|it| it.ast.name.text.as_str());
                    let simple = ["INTEGER", "REAL", "BOOLEAN", "CHARACTER", "TEXT", "ANY"];
                    similar(name, components.chain(simple))
                }
            },
        };
        self.fail("unknown-type", span, message, &help)
    }

    /// The type that an argument names, if it names one; no error otherwise.
    pub(super) fn argument_type(&mut self, argument: &ast::Argument) -> Option<Type> {
        match argument {
            ast::Argument::Type(ty) => self.resolve_type(ty),
            ast::Argument::Designator(it) => {
                let name = it.as_name()?;
                match self.find(name) {
                    Found::Name(Name::Component(id)) => Some(Type::Component(id)),
                    _ if name == "ANY" => Some(Type::Any(Rc::default())),
                    _ => None,
                }
            }
        }
    }

    /// The value as one of type `want`: INTEGER becomes REAL, a constant text of one character a
    /// CHARACTER. `None` without a diagnostic if it does not fit.
    pub(super) fn fit(&self, value: Typed, want: &Type) -> Option<Typed> {
        let span = value.expr.span;
        match (&value.ty, want) {
            (a, b) if a == b => Some(value),
            (Type::Integer, Type::Real) => Some(to_real(value)),
            (Type::Text, Type::Character) => {
                let character = value.as_character()?;
                Some(Typed::constant(Constant::Character(character), span))
            }
            (a, Type::Any(any)) if a.is_component() && self.has(a, any) => {
                Some(Typed { ty: want.clone(), ..value })
            }
            _ => None,
        }
    }

    /// The value as one of type `want`, or an error; `what` describes its use.
    pub(super) fn fitted(&mut self, value: Typed, want: &Type, what: &str) -> Option<Typed> {
        let (ty, span) = (value.ty.clone(), value.expr.span);
        let divides = matches!(value.expr.kind, ExpressionKind::Binary(Binary::Divide, ..));
        let fitted = self.fit(value, want);
        if fitted.is_none() {
            let message = format!("{what} is {}, not {}", self.an(want), self.an(&ty));
            let help = match want {
                Type::Integer if divides => "`/` divides REAL: DIV divides INTEGER".into(),
                _ => self.conversion_help(&ty, want),
            };
            return self.fail("type", span, message, &help);
        }
        fitted
    }

    /// How to make one type of another.
    pub(super) fn conversion_help(&self, from: &Type, to: &Type) -> String {
        let help = match (from, to) {
            (Type::Real, Type::Integer) => "INTEGER(...) rounds down",
            (Type::Text | Type::Character, Type::Integer) => "INTEGER(...) converts",
            (Type::Text, Type::Real) => "REAL(...) converts",
            (Type::Integer, Type::Character) => "CHARACTER(...) converts",
            (Type::Text, Type::Character) => {
                "only a constant text of one character is a CHARACTER; `t[0]` is the first of `t`"
            }
            (Type::Integer | Type::Real | Type::Boolean | Type::Character, Type::Text) => {
                "TEXT(...) converts"
            }
            (Type::Any(_), Type::Component(id)) => {
                return format!("`x({})` treats it as that type", self.component_name(*id));
            }
            (Type::Component(_), Type::Any(any)) => {
                return self.lacks(from, any).unwrap_or_default();
            }
            _ => "",
        };
        help.into()
    }
}
