//! Types, and values that have them.

use std::rc::Rc;

use tidemill_diag::Span;

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

/// What the components in an ANY variable offer and require; each list in the order of interfaces.
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
    /// `{ARRAY}` with this number of dimensions.
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

/// A number as REAL.
pub(super) fn as_real(value: Typed) -> Typed {
    match value.ty {
        Type::Integer => to_real(value),
        _ => value,
    }
}
