//! Literals, parameters and operators of the tree as the engine knows them.

use tidemill_relation::expr::Param;
use tidemill_relation::operator::{Binary, Unary};
use tidemill_relation::{Id, Type, TypeSet, Value};

use crate::ast::{BinaryOp, Literal, UnaryOp};

/// The value of a literal.
pub(crate) fn literal_value(literal: &Literal) -> Value<'_> {
    match literal {
        Literal::Int(value) => Value::Int(*value),
        Literal::Double(value) => Value::Double(*value),
        Literal::Str(text) => Value::Str(text),
        Literal::Id(bytes) => Value::Id(Id::from_be_bytes(*bytes)),
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Null => Value::Null,
        Literal::Infinity => Value::Double(f64::INFINITY),
        Literal::Bytes(bytes) => Value::Bytes(bytes),
        Literal::Time(ns) => Value::Time(*ns),
        Literal::Interval(ns) => Value::Interval(*ns),
    }
}

/// The type of a parameter.
pub(crate) fn param_type(param: Param) -> TypeSet {
    match param {
        Param::Node | Param::Landmark => TypeSet::TEXT,
        Param::NodeIndex | Param::NodeCount => TypeSet::INT,
        Param::NodeId => TypeSet::ID,
    }
}

/// The type of a literal.
pub(crate) fn literal_type(literal: &Literal) -> TypeSet {
    TypeSet::of(match literal {
        Literal::Int(_) => Type::Int,
        Literal::Double(_) | Literal::Infinity => Type::Double,
        Literal::Str(_) => Type::Str,
        Literal::Id(_) => Type::Id,
        Literal::Bool(_) => Type::Bool,
        Literal::Null => Type::Null,
        Literal::Bytes(_) => Type::Bytes,
        Literal::Time(_) => Type::Time,
        Literal::Interval(_) => Type::Interval,
    })
}

/// The operator of the engine.
pub(crate) fn unary(op: UnaryOp) -> Unary {
    match op {
        UnaryOp::Neg => Unary::Negate,
        UnaryOp::Not => Unary::Not,
        UnaryOp::BitNot => Unary::Complement,
    }
}

/// The operator of the engine; `None` for `&&` and `||`, which do not evaluate both operands.
pub(crate) fn binary(op: BinaryOp) -> Option<Binary> {
    Some(match op {
        BinaryOp::Or | BinaryOp::And => return None,
        BinaryOp::Eq => Binary::Equal,
        BinaryOp::Ne => Binary::NotEqual,
        BinaryOp::Lt => Binary::Less,
        BinaryOp::Gt => Binary::Greater,
        BinaryOp::Le => Binary::LessEqual,
        BinaryOp::Ge => Binary::GreaterEqual,
        BinaryOp::BitOr => Binary::BitOr,
        BinaryOp::Append => Binary::Append,
        BinaryOp::BitXor => Binary::BitXor,
        BinaryOp::BitAnd => Binary::BitAnd,
        BinaryOp::Shl => Binary::ShiftLeft,
        BinaryOp::Shr => Binary::ShiftRight,
        BinaryOp::Add => Binary::Add,
        BinaryOp::Sub => Binary::Subtract,
        BinaryOp::Mul => Binary::Multiply,
        BinaryOp::Div => Binary::Divide,
        BinaryOp::Rem => Binary::Remainder,
        BinaryOp::Pow => Binary::Power,
    })
}
