//! Expressions: from the tree to values of the kernel, with their types.

use super::ast::{Expr, ExprKind, Word};
use super::lower::Lower;
use super::names::{Base, Meaning, Type};
use crate::kernel::{Expr as Computed, Operator, Value, Width};

/// Functions of one number.
const FUNCTIONS: [&str; 1] = ["byte"];

impl Lower<'_> {
    pub(super) fn typed(&mut self, expr: &Expr, wanted: Type) -> Value {
        let (value, kind) = self.expr(expr);
        if kind != wanted && kind != Type::Error && wanted != Type::Error {
            let message = format!("expected {}, found {}", wanted.name(), kind.name());
            let help = if wanted == Type::Bool { "compare it: `x != 0`" } else { "use `if`" };
            self.error("bad-type", expr.span, message, help);
        }
        value
    }

    /// A value and its type.
    pub(super) fn expr(&mut self, expr: &Expr) -> (Value, Type) {
        match &expr.kind {
            ExprKind::Number(number) => (self.build.constant(*number), Type::Number),
            ExprKind::Bool(truth) => (self.build.constant(u64::from(*truth)), Type::Bool),
            ExprKind::Name(name) => self.named(&Word { text: name.clone(), span: expr.span }),
            ExprKind::Field(table, column) if self.table_of(&table.text).is_some() => {
                self.column(table, column)
            }
            ExprKind::Field(header, field) => match self.field_of(header, field) {
                Some((at, field)) => (self.field(at.base, &field), Type::Number),
                None => self.error_value(),
            },
            ExprKind::Error => self.error_value(),
            ExprKind::Call(name, argument) => {
                let argument = self.typed(argument, Type::Number);
                (self.call(name, argument), Type::Number)
            }
            ExprKind::Unary(operator, of) => match operator {
                '!' => {
                    let of = self.typed(of, Type::Bool);
                    (self.with(Operator::Xor, of, 1), Type::Bool)
                }
                '~' => {
                    let of = self.typed(of, Type::Number);
                    (self.with(Operator::Xor, of, u64::MAX), Type::Number)
                }
                _ => {
                    let (none, of) = (self.build.constant(0), self.typed(of, Type::Number));
                    (self.build.binary(Operator::Sub, none, of), Type::Number)
                }
            },
            ExprKind::Binary(operator, a, b) => self.binary(operator, a, b),
        }
    }

    /// The value of an invalid expression.
    pub(super) fn error_value(&mut self) -> (Value, Type) {
        (self.build.constant(0), Type::Error)
    }

    fn named(&mut self, name: &Word) -> (Value, Type) {
        let read = match name.text.as_str() {
            "length" => Some(Computed::Length),
            "wire_length" => Some(Computed::WireLength),
            "now" => Some(Computed::Now),
            "mark" => Some(Computed::Mark),
            _ => None,
        };
        if let Some(read) = read {
            if read != Computed::Now && !self.needs_packet(name.span) {
                return self.error_value();
            }
            return (self.build.value(read), Type::Number);
        }
        match self.meaning(name) {
            Some(Meaning::Value(value, kind)) => (value, kind),
            Some(Meaning::Word(word, kind, _)) => (self.build.word(word), kind),
            Some(Meaning::Counter(word)) => (self.build.word(word), Type::Number),
            Some(Meaning::Meter(_)) => {
                let message = format!("`{}` is a meter", name.text);
                let help = format!("ask it: `within {} {{ ... }}`", name.text);
                self.error("bad-type", name.span, message, &help);
                self.error_value()
            }
            Some(Meaning::Table(_)) => {
                let message = format!("`{}` is a table", name.text);
                let help = format!("look a key up: `find {}(key) {{ ... }}`", name.text);
                self.error("bad-type", name.span, message, &help);
                self.error_value()
            }
            None => self.error_value(),
        }
    }

    fn call(&mut self, name: &Word, argument: Value) -> Value {
        if !FUNCTIONS.contains(&name.text.as_str()) {
            let message = format!("there is no function `{}`", name.text);
            self.error("unknown-name", name.span, message, "there is byte(offset)");
            return argument;
        }
        if !self.needs_packet(name.span) {
            return argument;
        }
        let word = self.scratch("@byte");
        let none = self.build.constant(0);
        self.build.set_word(word, none);
        let mut missed = Vec::new();
        let at = Base::at_value(argument);
        self.has(at, 1, &mut missed);
        let byte = self.load_at(at, 0, Width::W8);
        self.build.set_word(word, byte);
        self.join(missed);
        self.build.word(word)
    }

    fn binary(&mut self, operator: &str, a: &Expr, b: &Expr) -> (Value, Type) {
        let is_turned = matches!(operator, ">" | ">=");
        let bits = |operator| (operator, Type::Number, Type::Number);
        let compares = |operator| (operator, Type::Number, Type::Bool);
        let (operator, of, result) = match operator {
            "&&" => (Operator::And, Type::Bool, Type::Bool),
            "||" => (Operator::Or, Type::Bool, Type::Bool),
            "==" => compares(Operator::Eq),
            "!=" => compares(Operator::Ne),
            "<" | ">" => compares(Operator::Lt),
            "<=" | ">=" => compares(Operator::Le),
            "+" => bits(Operator::Add),
            "-" => bits(Operator::Sub),
            "*" => bits(Operator::Mul),
            "/" => bits(Operator::Div),
            "%" => bits(Operator::Rem),
            "&" => bits(Operator::And),
            "|" => bits(Operator::Or),
            "^" => bits(Operator::Xor),
            "<<" => bits(Operator::Shl),
            _ => bits(Operator::Shr),
        };
        let (a, b) = (self.typed(a, of), self.typed(b, of));
        let (a, b) = if is_turned { (b, a) } else { (a, b) };
        (self.build.binary(operator, a, b), result)
    }
}
