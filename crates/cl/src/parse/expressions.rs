//! Values, designators, and how they bind.
//!
//! From loose to tight: comparison (one at most), `+ - OR`, `* / DIV MOD AND`, a factor.

use super::recovery::Parsed;
use super::{HEIGHT_MAX, Parser};
use crate::ast::*;
use crate::lex::{TokenKind, value};
use tidemill_diag::{Diagnostic, Span};

const PATTERN: &str = "a pattern is the name of a message, ANY or FINISH";
const INPUT: &str = "INPUT(server, Message), INPUT(Message)";
const EXISTS: &str = "EXISTS(variable)";
const CALL: &str = "a `,` or an operator is missing before it";

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(Self::attributed)
    }

    fn attributed(&mut self) -> Parsed<Expr> {
        let start = self.span();
        match self.attributes()? {
            None => self.comparison(),
            Some(attributes) => {
                let inner = Box::new(self.comparison()?);
                self.grow(self.height)?;
                let kind = ExprKind::Attributed(attributes, inner);
                Ok(Expr { kind, span: self.since(start) })
            }
        }
    }

    /// Notes that what was read last is one higher than `height`, or fails if that is too high.
    fn grow(&mut self, height: usize) -> Parsed<()> {
        self.height = height + 1;
        if self.height > HEIGHT_MAX { self.too_deep() } else { Ok(()) }
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let left = self.simple_expr()?;
        let height = self.height;
        let kind = match self.kind() {
            TokenKind::Is => {
                self.next();
                ExprKind::Is(Box::new(left), self.ty()?)
            }
            TokenKind::Offers => {
                self.next();
                ExprKind::Offers(Box::new(left), self.interface_declarations()?)
            }
            TokenKind::Requires => {
                self.next();
                ExprKind::Requires(Box::new(left), self.interface_declarations()?)
            }
            _ => match self.comparison_operator() {
                None => return Ok(left),
                Some(operator) => {
                    let right = self.simple_expr()?;
                    ExprKind::Binary(operator, Box::new(left), Box::new(right))
                }
            },
        };
        self.grow(height.max(self.height))?;
        let span = self.since(start);
        if self.at_comparison() {
            let message = "comparisons do not chain";
            let help = match &kind {
                // `a = b OR c = d`: the operator took the operand of the second comparison.
                ExprKind::Binary(_, _, right)
                    if matches!(
                        right.kind,
                        ExprKind::Binary(BinaryOperator::And | BinaryOperator::Or, ..)
                    ) =>
                {
                    "AND and OR bind tighter than comparisons: write `(a = b) OR (c = d)`"
                }
                _ => "join them with AND, or put one in parentheses",
            };
            return self.fail(self.error("chained-comparison", message).help(help));
        }
        Ok(Expr { kind, span })
    }

    fn at_comparison(&self) -> bool {
        use TokenKind::{Equal, Greater, GreaterEqual, Is, Less, LessEqual, NotEqual};
        self.is_one_of(&[Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Is])
    }

    /// Consumes a comparison, or what other languages write for it.
    fn comparison_operator(&mut self) -> Option<BinaryOperator> {
        let slips = [
            (TokenKind::Equal, TokenKind::Equal, "==", BinaryOperator::Equal),
            (TokenKind::Exclamation, TokenKind::Equal, "!=", BinaryOperator::NotEqual),
            (TokenKind::Less, TokenKind::Greater, "<>", BinaryOperator::NotEqual),
        ];
        for (first, second, written, operator) in slips {
            if self.is_joined(first, second) {
                let error = self.error("unknown-operator", format!("`{written}` is no operator"));
                self.complain(error.help(format!("write `{}`", operator.symbol())));
                self.next();
                self.next();
                return Some(operator);
            }
        }
        let operator = match self.kind() {
            TokenKind::Equal => BinaryOperator::Equal,
            TokenKind::NotEqual => BinaryOperator::NotEqual,
            TokenKind::Less => BinaryOperator::Less,
            TokenKind::LessEqual => BinaryOperator::LessEqual,
            TokenKind::Greater => BinaryOperator::Greater,
            TokenKind::GreaterEqual => BinaryOperator::GreaterEqual,
            TokenKind::Assign => {
                let error = self.error("assign-for-equal", "`:=` assigns");
                self.complain(error.help("compare with `=`"));
                BinaryOperator::Equal
            }
            _ => return None,
        };
        self.next();
        Some(operator)
    }

    /// Sums of products, without recursion: what nests in parentheses takes the stack of few calls.
    fn simple_expr(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let mut sign = match self.kind() {
            TokenKind::Plus => Some(UnaryOperator::Plus),
            TokenKind::Minus if !self.at_least_integer() => Some(UnaryOperator::Minus),
            _ => None,
        };
        if sign.is_some() {
            self.next();
        }
        let mut sum: Option<(Expr, usize, BinaryOperator)> = None;
        loop {
            let first = self.span();
            let mut term = self.factor()?;
            while let Some(operator) = self.product_operator() {
                let height = self.height;
                self.next();
                let right = self.factor()?;
                self.grow(height.max(self.height))?;
                term = binary(operator, term, right, self.since(first));
            }
            if let Some(operator) = sign.take() {
                self.grow(self.height)?;
                term = unary(operator, term, self.since(start));
            }
            if let Some((left, height, operator)) = sum.take() {
                self.grow(height.max(self.height))?;
                term = binary(operator, left, term, self.since(start));
            }
            let Some(operator) = self.sum_operator() else { return Ok(term) };
            self.next();
            sum = Some((term, self.height, operator));
        }
    }

    fn sum_operator(&self) -> Option<BinaryOperator> {
        match self.kind() {
            TokenKind::Plus => Some(BinaryOperator::Add),
            TokenKind::Minus => Some(BinaryOperator::Subtract),
            TokenKind::Or => Some(BinaryOperator::Or),
            _ => None,
        }
    }

    fn product_operator(&self) -> Option<BinaryOperator> {
        match self.kind() {
            TokenKind::Star => Some(BinaryOperator::Multiply),
            TokenKind::Slash => Some(BinaryOperator::Divide),
            TokenKind::Div => Some(BinaryOperator::Div),
            TokenKind::Mod => Some(BinaryOperator::Mod),
            TokenKind::And => Some(BinaryOperator::And),
            _ => None,
        }
    }

    /// `-` and a number that is an INTEGER only with it.
    fn at_least_integer(&self) -> bool {
        self.is(TokenKind::Minus)
            && self.ahead(1) == TokenKind::Integer
            && value::integer(self.text_at(self.at + 1)) == value::MAGNITUDE_MAX
    }

    /// Only what may nest is read here: others need more stack, and not for long.
    fn factor(&mut self) -> Parsed<Expr> {
        self.height = 1;
        match self.kind() {
            TokenKind::LParen => self.parenthesised(),
            TokenKind::Ident if self.is_written_not() => self.written_not(),
            TokenKind::Ident => self.named(),
            TokenKind::Tilde => self.unary(UnaryOperator::Not),
            TokenKind::Minus if !self.at_least_integer() => self.unary(UnaryOperator::Minus),
            TokenKind::Input => self.input(),
            TokenKind::Exists => self.exists(),
            _ => self.value(),
        }
    }

    /// `NOT` before an operand, as other languages negate; before `(` it may be a function.
    fn is_written_not(&self) -> bool {
        use TokenKind::{Exists, False, Ident, Input, Tilde, True};
        self.slice() == "NOT" && [Exists, False, Ident, Input, Tilde, True].contains(&self.ahead(1))
    }

    #[cold]
    fn written_not(&mut self) -> Parsed<Expr> {
        let error = self.error("unknown-operator", "`NOT` is no operator");
        self.complain(error.help("negate with `~`"));
        self.unary(UnaryOperator::Not)
    }

    /// A value without others inside.
    #[inline(never)]
    fn value(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Minus => {
                self.next();
                self.literal(Literal::Integer(i64::MIN))
            }
            TokenKind::Integer => {
                let magnitude = value::integer(self.slice());
                if magnitude == value::MAGNITUDE_MAX {
                    let message = "this number does not fit into an INTEGER";
                    let error = self.error("literal-too-large", message);
                    self.complain(error.help("the greatest is 9223372036854775807"));
                }
                self.literal(Literal::Integer(i64::try_from(magnitude).unwrap_or(0)))
            }
            TokenKind::Real => self.literal(Literal::Real(value::real(self.slice()))),
            TokenKind::Character => {
                self.literal(Literal::Character(value::character(self.slice())))
            }
            TokenKind::Text => self.literal(Literal::Text(value::text(self.slice()).into())),
            TokenKind::True => self.literal(Literal::Boolean(true)),
            TokenKind::False => self.literal(Literal::Boolean(false)),
            TokenKind::Question => {
                self.next();
                ExprKind::Receive { from: None, pattern: self.pattern()? }
            }
            _ => return self.no_value(),
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn exists(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        self.expect(TokenKind::LParen, EXISTS)?;
        let designator = self.designator()?;
        self.expect(TokenKind::RParen, EXISTS)?;
        Ok(Expr { kind: ExprKind::Exists(designator), span: self.since(start) })
    }

    fn no_value<T>(&mut self) -> Parsed<T> {
        let help = match self.kind() {
            TokenKind::Exclamation => "negate with `~`",
            TokenKind::Any => "ANY is allowed after `?` and in types",
            _ => "",
        };
        self.expected("a value", help)
    }

    fn literal(&mut self, literal: Literal) -> ExprKind {
        self.next();
        ExprKind::Literal(literal)
    }

    fn unary(&mut self, operator: UnaryOperator) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        let operand = self.nested(Self::factor)?;
        self.grow(self.height)?;
        Ok(unary(operator, operand, self.since(start)))
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        let inner = self.expr()?;
        if !self.eat(TokenKind::RParen) {
            return self.unclosed(start);
        }
        Ok(Expr { kind: inner.kind, span: self.since(start) })
    }

    #[inline(never)]
    fn unclosed<T>(&mut self, start: Span) -> Parsed<T> {
        let found = self.kind().describe(self.slice());
        let error = self.error("unexpected-token", format!("expected `)`, found {found}"));
        self.fail(error.label(start, "to close this"))
    }

    /// A value that begins with a name.
    fn named(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let expr = self.call_or_designator()?;
        if !self.is(TokenKind::Question) {
            return Ok(expr);
        }
        let from = Some(self.as_designator(&expr)?);
        self.next();
        let pattern = self.pattern()?;
        let kind = ExprKind::Receive { from, pattern };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        let span = self.span();
        let pattern = match self.kind() {
            TokenKind::Any => Pattern::Any(span),
            TokenKind::Finish => Pattern::Finish(span),
            TokenKind::Ident => Pattern::Message(Ident { text: self.slice().to_string(), span }),
            _ => return self.expected("the name of a message", PATTERN),
        };
        self.next();
        Ok(pattern)
    }

    fn input(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.next();
        self.expect(TokenKind::LParen, INPUT)?;
        let lone = self.ahead(1) == TokenKind::RParen;
        let from = if lone { None } else { Some(self.designator()?) };
        if from.is_some() {
            self.expect(TokenKind::Comma, INPUT)?;
        }
        let pattern = self.pattern()?;
        self.expect(TokenKind::RParen, INPUT)?;
        Ok(Expr { kind: ExprKind::Input { from, pattern }, span: self.since(start) })
    }

    /// A name and all that belongs to it: a call if it is `name(...)`, else a designator.
    pub(super) fn call_or_designator(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let name = self.ident("a name")?;
        self.height = 1;
        let designator =
            |kind, span| Expr { kind: ExprKind::Designator(Designator { kind, span }), span };
        if !self.is(TokenKind::LParen) || self.ahead(1) == TokenKind::Any {
            let base = Designator { kind: DesignatorKind::Name(name.text), span: start };
            let whole = self.designator_rest(base)?;
            return Ok(designator(whole.kind, whole.span));
        }
        let (arguments, height) = self.arguments()?;
        self.grow(height)?;
        let span = self.since(start);
        let call = Call { name, arguments, span, parenthesised: true };
        let call = Expr { kind: ExprKind::Call(call), span };
        if !self.is_one_of(&[TokenKind::LParen, TokenKind::LBracket]) {
            return Ok(call);
        }
        let base = self.as_designator(&call)?;
        let whole = self.designator_rest(base)?;
        Ok(designator(whole.kind, whole.span))
    }

    /// The arguments of a call, and how high the highest is.
    fn arguments(&mut self) -> Parsed<(Vec<Expr>, usize)> {
        self.next();
        let (mut arguments, mut height) = (Vec::new(), 1);
        if self.eat(TokenKind::RParen) {
            return Ok((arguments, height));
        }
        loop {
            arguments.push(self.expr()?);
            height = height.max(self.height);
            if self.eat(TokenKind::RParen) {
                return Ok((arguments, height));
            }
            if !self.eat(TokenKind::Comma) {
                return self.expected("`,` or `)`", CALL);
            }
        }
    }

    /// Converts a value to a designator, where only that is allowed.
    pub(super) fn as_designator(&mut self, expr: &Expr) -> Parsed<Designator> {
        if let Some(designator) = expr.as_designator() {
            return Ok(designator);
        }
        let message = "this names no variable and no interface";
        let error = Diagnostic::error("no-designator", expr.span, message);
        self.fail(error.help("an interface of an instance looks like `Interface(instance)`"))
    }

    pub(super) fn designator(&mut self) -> Parsed<Designator> {
        self.nested(|it| {
            let span = it.span();
            let name = it.ident("a variable")?;
            it.height = 1;
            it.designator_rest(Designator { kind: DesignatorKind::Name(name.text), span })
        })
    }

    /// The indices and parentheses after a name.
    fn designator_rest(&mut self, mut base: Designator) -> Parsed<Designator> {
        loop {
            let height = self.height;
            let start = base.span;
            let kind = match self.kind() {
                TokenKind::LBracket => {
                    self.next();
                    let mut highest = height;
                    let indices = self.list(|it| {
                        let index = it.expr();
                        highest = highest.max(it.height);
                        index
                    })?;
                    self.height = highest;
                    self.expect(TokenKind::RBracket, "variable[index, ...]")?;
                    DesignatorKind::Index { base: Box::new(base), indices }
                }
                TokenKind::LParen => {
                    self.next();
                    let argument = if self.is(TokenKind::Any) {
                        Argument::Type(self.ty()?)
                    } else {
                        Argument::Designator(self.designator()?)
                    };
                    self.expect(TokenKind::RParen, "Interface(instance), variable(Component)")?;
                    DesignatorKind::Of { base: Box::new(base), argument: Box::new(argument) }
                }
                _ => return Ok(base),
            };
            self.grow(height.max(self.height))?;
            base = Designator { kind, span: self.since(start) };
        }
    }
}

#[inline(never)]
fn binary(operator: BinaryOperator, left: Expr, right: Expr, span: Span) -> Expr {
    Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
}

#[inline(never)]
fn unary(operator: UnaryOperator, operand: Expr, span: Span) -> Expr {
    Expr { kind: ExprKind::Unary(operator, Box::new(operand)), span }
}
