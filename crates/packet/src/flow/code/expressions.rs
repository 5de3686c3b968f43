//! Expressions: from the tree to values of the kernel, with their types.

use tidemill_diag::{Span, meant};

use super::ast::{Constant, Expr, ExprKind, Word};
use super::functions::{ANY_NUMBER, BUILT_IN, BuiltIn};
use super::lower::Lower;
use super::names::{Base, Meaning, Operand, Type};
use crate::app::Direction;
use crate::kernel::{Expr as Computed, Operator, Value, Width};

/// A hash before its first word.
const HASH_START: u64 = 0x9E37_79B9_7F4A_7C15;

/// What a hash is multiplied by after each word, and at the end.
const HASH_FACTORS: [u64; 2] = [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53];

impl Lower<'_> {
    /// Reports an operand of another type than the wanted one.
    pub(super) fn expect(&mut self, found: Operand, span: Span, wanted: Type) {
        let kind = found.kind;
        if kind != wanted && kind != Type::Error && wanted != Type::Error {
            let message = format!("expected {}, found {}", wanted.name(), kind.name());
            let help = match (wanted, kind) {
                (Type::Bool, Type::Ipv6) => "compare it: `address == \"::\"`",
                (Type::Bool, _) => "compare it: `x != 0`",
                (Type::Ipv6, _) => "write \"2001:db8::1\", or `ipv6(high, low)` of two numbers",
                (_, Type::Ipv6) => "`high(address)` and `low(address)` are its halves as numbers",
                _ => "`bit(condition)` is 1 or 0",
            };
            self.error("bad-type", span, message, help);
        }
    }

    /// An expression of a type.
    pub(super) fn typed(&mut self, expr: &Expr, wanted: Type) -> Operand {
        let found = self.expr(expr);
        self.expect(found, expr.span, wanted);
        match (wanted, found.high) {
            (Type::Ipv6, None) => {
                let high = self.build.constant(0);
                Operand::ipv6([high, found.value])
            }
            _ => found,
        }
    }

    /// A number.
    pub(super) fn number(&mut self, expr: &Expr) -> Value {
        self.typed(expr, Type::Number).value
    }

    /// A truth value.
    pub(super) fn truth(&mut self, expr: &Expr) -> Value {
        self.typed(expr, Type::Bool).value
    }

    /// A value and its type.
    pub(super) fn expr(&mut self, expr: &Expr) -> Operand {
        match &expr.kind {
            ExprKind::Constant(constant) => self.constant(*constant),
            ExprKind::Name(name) => self.named(&Word { text: name.clone(), span: expr.span }),
            ExprKind::Field(table, column) if self.table_of(&table.text).is_some() => {
                self.column(table, column)
            }
            ExprKind::Field(header, field) => match self.field_of(header, field) {
                Some((at, field)) => self.read_field(at.base, &field),
                None => self.error_operand(),
            },
            ExprKind::Error => self.error_operand(),
            ExprKind::Call(name, arguments) => self.call(name, arguments),
            ExprKind::Unary(operator, of) => self.unary(*operator, of),
            ExprKind::Binary(operator, a, b) => self.binary(operator, expr.span, a, b),
            ExprKind::In(address, net) => self.is_in(address, *net),
        }
    }

    pub(super) fn constant(&mut self, constant: Constant) -> Operand {
        match constant {
            Constant::Number(number) => Operand::number(self.build.constant(number)),
            Constant::Bool(truth) => Operand::bool(self.build.constant(u64::from(truth))),
            Constant::Ipv6(address) => Operand::ipv6(self.wide_constant(address)),
        }
    }

    /// The value of an invalid expression.
    pub(super) fn error_operand(&mut self) -> Operand {
        Operand { kind: Type::Error, ..Operand::number(self.build.constant(0)) }
    }

    fn named(&mut self, name: &Word) -> Operand {
        let (what, help) = match self.meaning(name) {
            Some(Meaning::Value(operand)) => return operand,
            Some(Meaning::Constant(constant)) => return self.constant(constant),
            Some(Meaning::Computed(read)) => {
                if read != Computed::Now && !self.needs_packet(name.span) {
                    return self.error_operand();
                }
                return Operand::number(self.build.value(read));
            }
            Some(Meaning::Word(word, kind, _)) => {
                return Operand { kind, ..Operand::number(self.build.word(word)) };
            }
            Some(Meaning::Address(words, _)) => {
                return Operand::ipv6(words.map(|word| self.build.word(word)));
            }
            Some(Meaning::Counter(word)) => return Operand::number(self.build.word(word)),
            Some(Meaning::Meter(_)) => {
                ("meter", format!("ask it: `within {} {{ ... }}`", name.text))
            }
            Some(Meaning::Table(_)) => {
                ("table", format!("look a key up: `find {}(key) {{ ... }}`", name.text))
            }
            None => return self.error_operand(),
        };
        self.error("bad-type", name.span, format!("`{}` is a {what}", name.text), &help);
        self.error_operand()
    }

    fn call(&mut self, name: &Word, arguments: &[Expr]) -> Operand {
        let text = name.text.as_str();
        if let Some(function) = self.function(text) {
            return self.inline(name, function, arguments);
        }
        let Some(BuiltIn { takes, .. }) = BuiltIn::named(text) else {
            let message = format!("there is no function `{text}`");
            let functions = &self.definition.functions;
            let names = functions.iter().map(|function| function.name.text.as_str());
            let names = names.chain(BUILT_IN.iter().map(|function| function.name));
            let help = meant(text, names, BuiltIn::all);
            self.error("unknown-name", name.span, message, &help);
            return self.error_operand();
        };
        if *takes == ANY_NUMBER && !arguments.is_empty() {
            return self.hash(arguments);
        }
        if arguments.len() != *takes {
            return self.miscounted(name, *takes, arguments.len());
        }
        if let Some(operand) = self.wide_call(name, arguments) {
            return operand;
        }
        match (text, arguments) {
            ("min" | "max", [a, b]) => {
                let (a, b) = (self.number(a), self.number(b));
                let least = self.build.binary(Operator::Min, a, b);
                if text == "min" {
                    return Operand::number(least);
                }
                let sum = self.build.binary(Operator::Add, a, b);
                Operand::number(self.build.binary(Operator::Sub, sum, least))
            }
            ("from", [port]) => self.from(port),
            ("linked", [port]) => self.linked(port),
            ("bit", [condition]) => Operand::number(self.truth(condition)),
            ("share", [number]) => self.share(name, number),
            _ => {
                let offset = self.number(&arguments[0]);
                Operand::number(self.byte(name, offset))
            }
        }
    }

    /// `from(input)`
    fn from(&mut self, port: &Expr) -> Operand {
        if !self.needs_packet(port.span) {
            return self.error_operand();
        }
        let ExprKind::Name(input) = &port.kind else {
            let help = "write `from(input)`, with the name of an input";
            self.error("no-such-port", port.span, "this is no input".to_owned(), help);
            return self.error_operand();
        };
        Operand::bool(self.is_from(&Word { text: input.clone(), span: port.span }))
    }

    /// `linked(output)`
    fn linked(&mut self, port: &Expr) -> Operand {
        if !self.needs_packet(port.span) {
            return self.error_operand();
        }
        let ExprKind::Name(output) = &port.kind else {
            let help = "write `linked(output)`, with the name of an output";
            self.error("no-such-port", port.span, "this is no output".to_owned(), help);
            return self.error_operand();
        };
        let word = Word { text: output.clone(), span: port.span };
        let number = self.port(&word, Direction::Output);
        Operand::bool(self.build.value(Computed::Linked(number)))
    }

    /// `hash(argument, ...)`: multiplications that spread bits upwards, and shifts that spread them
    /// downwards (Appleby's finalizer of MurmurHash3).
    fn hash(&mut self, arguments: &[Expr]) -> Operand {
        let mut hash = self.build.constant(HASH_START);
        for argument in arguments {
            for word in self.expr(argument).words().collect::<Vec<_>>() {
                hash = self.build.binary(Operator::Xor, hash, word);
                hash = self.spread(hash, HASH_FACTORS[0]);
            }
        }
        Operand::number(self.spread(hash, HASH_FACTORS[1]))
    }

    fn spread(&mut self, hash: Value, factor: u64) -> Value {
        let product = self.with(Operator::Mul, hash, factor);
        let upper = self.with(Operator::Shr, product, 33);
        self.build.binary(Operator::Xor, product, upper)
    }

    fn byte(&mut self, name: &Word, argument: Value) -> Value {
        if !self.needs_packet(name.span) {
            return argument;
        }
        let at = self.resolved(Base::at_value(argument));
        if at.value.is_none() && at.offset < self.bytes {
            return self.load_at(at, 0, Width::W8);
        }
        let word = self.scratch("@byte");
        let none = self.build.constant(0);
        self.build.set_word(word, none);
        let mut missed = Vec::new();
        self.has(at, 1, &mut missed);
        let byte = self.load_at(at, 0, Width::W8);
        self.build.set_word(word, byte);
        self.join(missed);
        self.build.word(word)
    }

    fn unary(&mut self, operator: char, of: &Expr) -> Operand {
        if operator == '!' {
            let of = self.truth(of);
            return Operand::bool(self.with(Operator::Xor, of, 1));
        }
        let found = self.expr(of);
        if let (Type::Ipv6, '~') = (found.kind, operator) {
            let halves = self.halves(found);
            return Operand::ipv6(self.wide_not(halves));
        }
        self.expect(found, of.span, Type::Number);
        match operator {
            '~' => Operand::number(self.with(Operator::Xor, found.value, u64::MAX)),
            _ => {
                let none = self.build.constant(0);
                Operand::number(self.build.binary(Operator::Sub, none, found.value))
            }
        }
    }

    fn binary(&mut self, operator: &str, span: Span, left: &Expr, right: &Expr) -> Operand {
        let (a, b) = (self.expr(left), self.expr(right));
        if a.kind == Type::Ipv6 || b.kind == Type::Ipv6 {
            return self.wide_binary((operator, span), (a, left.span), (b, right.span));
        }
        let is_turned = matches!(operator, ">" | ">=");
        let bits = |operator| (operator, Type::Number, Type::Number);
        let compares = |operator| (operator, Type::Number, Type::Bool);
        // Truth values are equal or not; there is no order.
        let same = if a.kind == Type::Bool { Type::Bool } else { Type::Number };
        let (operator, of, result) = match operator {
            "&&" => (Operator::And, Type::Bool, Type::Bool),
            "||" => (Operator::Or, Type::Bool, Type::Bool),
            "==" => (Operator::Eq, same, Type::Bool),
            "!=" => (Operator::Ne, same, Type::Bool),
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
        self.expect(a, left.span, of);
        self.expect(b, right.span, of);
        let (a, b) = if is_turned { (b.value, a.value) } else { (a.value, b.value) };
        Operand { kind: result, ..Operand::number(self.build.binary(operator, a, b)) }
    }
}
