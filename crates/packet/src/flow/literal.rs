//! Literals in definitions of apps, and parameters in place of them.

use super::lex::TokenKind;
use super::parse::Parser;
use crate::app::Value;

/// A literal.
pub(super) enum Literal {
    /// Of 64 bits, with a sign or without.
    Integer(i128),
    Double(f64),
    Text(String),
    Bool(bool),
}

impl Literal {
    /// As a value of a config.
    pub fn value(self) -> Value {
        match self {
            Literal::Integer(integer) => Value::Integer(integer),
            Literal::Double(double) => Value::Double(double),
            Literal::Text(text) => Value::Text(text),
            Literal::Bool(truth) => Value::Bool(truth),
        }
    }
}

impl Parser<'_> {
    /// The literal at the current position, or the value of a parameter; a number while that value
    /// is unknown.
    pub(super) fn literal(&self) -> Option<Literal> {
        Some(match self.kind() {
            TokenKind::Integer(integer) => Literal::Integer(*integer),
            TokenKind::Double(double) => Literal::Double(*double),
            TokenKind::Text(text) => Literal::Text(text.clone()),
            TokenKind::Name if self.source() == "true" => Literal::Bool(true),
            TokenKind::Name if self.source() == "false" => Literal::Bool(false),
            TokenKind::Parameter => {
                let known = self.values.and_then(|values| values.get(&self.source()[1..]));
                match known {
                    None => Literal::Integer(1),
                    Some(Value::Integer(integer)) => Literal::Integer(*integer),
                    Some(Value::Double(double)) => Literal::Double(*double),
                    Some(Value::Text(text)) => Literal::Text(text.clone()),
                    Some(Value::Bool(truth)) => Literal::Bool(*truth),
                    Some(Value::List(_)) => return None,
                }
            }
            _ => return None,
        })
    }
}
