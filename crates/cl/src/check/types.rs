//! Types, and what fits what.

use std::rc::Rc;

use tidemill_diag::Span;

use crate::ast::{self, TypeKind};
use crate::check::Checker;
use crate::check::names::{Found, Name};
use crate::ir::{self, ComponentId, Constant, Conversion, InterfaceId, Storage};
use crate::tree::{self, ExpressionKind};

/// An interface with how many of it.
pub(super) type Limits = (InterfaceId, u32, Option<u32>);

/// The type of one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Type {
    /// INTEGER.
    Integer,
    /// REAL.
    Real,
    /// BOOLEAN.
    Boolean,
    /// CHARACTER.
    Character,
    /// TEXT.
    Text,
    /// A component of this type.
    Component(ComponentId),
    /// A component of any type with these interfaces.
    Any(Rc<Any>),
}

/// What is known of the components in an ANY variable; each list in the order of interfaces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Any {
    /// It offers these at least.
    pub(super) offers: Vec<Limits>,
    /// It requires these at least.
    pub(super) requires: Vec<Limits>,
}

/// What a variable holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// One value.
    One(Type),
    /// `{ARRAY}` with so many dimensions.
    Array(Type, u8),
    /// A map from keys.
    Collection(Vec<Type>, Type),
    /// Its declaration is in error.
    Wrong,
}

/// A value with its type.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    /// What it is.
    pub(super) expr: tree::Expression,
    /// Its type.
    pub(super) ty: Type,
}

/// A place with what it holds.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// Where it is.
    pub(super) place: tree::Place,
    /// What it holds.
    pub(super) shape: Shape,
}

/// The type of this name that is no component.
pub(super) fn simple(name: &str) -> Option<Type> {
    Some(match name {
        "INTEGER" => Type::Integer,
        "REAL" => Type::Real,
        "BOOLEAN" => Type::Boolean,
        "CHARACTER" => Type::Character,
        "TEXT" => Type::Text,
        _ => return None,
    })
}

impl Type {
    /// As the IR has it.
    pub(super) fn lowered(&self) -> ir::Type {
        match self {
            Type::Integer => ir::Type::Integer,
            Type::Real => ir::Type::Real,
            Type::Boolean => ir::Type::Boolean,
            Type::Character => ir::Type::Character,
            Type::Text => ir::Type::Text,
            Type::Component(_) | Type::Any(_) => ir::Type::Component,
        }
    }

    /// INTEGER or REAL.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Type::Integer | Type::Real)
    }

    /// A component, of known type or not.
    pub(super) fn is_component(&self) -> bool {
        matches!(self, Type::Component(_) | Type::Any(_))
    }
}

impl Shape {
    /// As the IR has it.
    pub(super) fn storage(&self) -> Storage {
        match self {
            Shape::One(ty) => Storage::One(ty.lowered()),
            Shape::Array(ty, dimensions) => {
                Storage::Array { element: ty.lowered(), dimensions: *dimensions }
            }
            Shape::Collection(keys, ty) => {
                let keys = keys.iter().map(Type::lowered).collect();
                Storage::Collection { keys, element: ty.lowered() }
            }
            Shape::Wrong => Storage::One(ir::Type::Integer),
        }
    }
}

impl Typed {
    /// A value that is no place.
    pub(super) fn new(kind: ExpressionKind, ty: Type, span: Span) -> Typed {
        Typed { expr: tree::Expression { kind, ty: ty.lowered(), span }, ty }
    }

    /// A constant scalar.
    pub(super) fn constant(value: Constant, span: Span) -> Typed {
        let ty = match value {
            Constant::Integer(_) => Type::Integer,
            Constant::Real(_) => Type::Real,
            Constant::Boolean(_) => Type::Boolean,
            Constant::Character(_) => Type::Character,
        };
        Typed::new(ExpressionKind::Constant(value), ty, span)
    }

    /// The scalar, if it is constant.
    pub(super) fn as_constant(&self) -> Option<Constant> {
        match self.expr.kind {
            ExpressionKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The INTEGER, if it is constant.
    pub(super) fn as_integer(&self) -> Option<i64> {
        match self.as_constant() {
            Some(Constant::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// The CHARACTER that a constant text of one character is, too.
    pub(super) fn as_character(&self) -> Option<u8> {
        match &self.expr.kind {
            ExpressionKind::Text(text) if text.len() == 1 => Some(text[0]),
            _ => None,
        }
    }
}

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
            false => {
                let components = self.components.iter().map(|it| it.ast.name.text.as_str());
                let simple = ["INTEGER", "REAL", "BOOLEAN", "CHARACTER", "TEXT", "ANY"];
                crate::check::names::similar(name, components.chain(simple))
            }
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

    /// The value as one of type `want`, or an error; `what` says what it is for.
    pub(super) fn fitted(&mut self, value: Typed, want: &Type, what: &str) -> Option<Typed> {
        let (ty, span) = (value.ty.clone(), value.expr.span);
        let fitted = self.fit(value, want);
        if fitted.is_none() {
            let message = format!("{what} is {}, not {}", self.an(want), self.an(&ty));
            let help = self.conversion_help(&ty, want);
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

/// An INTEGER as REAL.
pub(super) fn to_real(value: Typed) -> Typed {
    let span = value.expr.span;
    match value.as_integer() {
        Some(integer) => Typed::constant(Constant::Real(integer as f64), span),
        None => {
            let convert = ExpressionKind::Convert(Conversion::IntegerToReal, Box::new(value.expr));
            Typed::new(convert, Type::Real, span)
        }
    }
}
