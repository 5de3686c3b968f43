//! Relations with arguments, and aggregates.

use super::expr::{VALUE, named_literal};
use super::{Failed, Parsed, Parser};
use crate::ast::Literal;
use crate::ast::{Aggregate, AggregateOver, Arg, Expr, ExprKind, Functor, Ident, Name, Variable};
use crate::lex::{Sym, TokenKind};
use tidemill_diag::{Diagnostic, Span};

const AGGREGATE: &str = "write `a_MIN<X>` or `a_COUNT<*>`; compute values before, `X := ...`";

/// The position of a relation with arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// A rule's head, or a fact: which of them shows only after it. May aggregate.
    Head,
    /// A tuple by itself.
    Tuple,
    /// A predicate or a query: lists may be patterns.
    Pattern,
}

impl Parser {
    /// `name(args)` or `name@X(args)`.
    pub(super) fn functor(&mut self, place: Position) -> Parsed<Functor> {
        let start = self.span();
        let name = self.relation_name()?;
        let located = if self.eat(Sym::At) { Some(self.older_location()?) } else { None };
        if !self.eat(Sym::LParen) {
            let what = format!("`(` after relation `{}`", name.written);
            return self.expected(&what, "a relation has its columns in parentheses");
        }
        let args = self.items(Sym::RParen, |it| it.arg(place))?;
        let span = self.since(start);
        let mut location = None;
        for (index, (_, at)) in args.iter().enumerate() {
            let Some(at) = at else { continue };
            if location.is_some() || located.is_some() {
                return self.two_locations(*at);
            }
            location = Some(index);
        }
        let mut args: Vec<Arg> = args.into_iter().map(|(arg, _)| arg).collect();
        let written = args.len();
        let is_older = located.is_some();
        if let Some(located) = located {
            location = Some(place_location(&mut args, located));
        }
        let repeats_location = is_older && args.len() == written;
        Ok(Functor { repeats_location, ..Functor::new(name, location, args, span) })
    }

    fn two_locations<T>(&mut self, at: Span) -> Parsed<T> {
        let message = "a tuple has one location";
        let error = Diagnostic::error("two-locations", at, message);
        self.report(error.help("leave one `@`"));
        Err(Failed)
    }

    /// The name of a relation; still to be resolved.
    pub(super) fn relation_name(&mut self) -> Parsed<Name> {
        let span = self.span();
        match self.kind() {
            TokenKind::Name(text) | TokenKind::Aggregate(text) => {
                let written = text.to_string();
                self.next();
                Ok(Name { written, resolved: String::new(), span })
            }
            TokenKind::Var(text) => {
                let message = format!("`{text}` is a variable, not a relation");
                let error = self.error("unexpected-variable", message);
                self.fail(error.help("names of relations begin with a small letter"))
            }
            TokenKind::Function(text) => {
                let message = format!("`{text}` is a function, not a relation");
                let error = self.error("unexpected-function", message);
                self.fail(error.help("names of relations do not begin with `f_`"))
            }
            _ => self.expected("the name of a relation", "it begins with a small letter"),
        }
    }

    /// The location between `@` and the arguments.
    fn older_location(&mut self) -> Parsed<Expr> {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::Var(name) if **name == *"_" => ExprKind::Fresh,
            TokenKind::Var(name) => ExprKind::Var(name.to_string()),
            TokenKind::Str(text) => ExprKind::Literal(Literal::Str(text.to_string())),
            _ => return self.expected("a variable after `@`", "write `p(@X, Y)` or `p@X(Y)`"),
        };
        self.next();
        Ok(Expr { kind, span })
    }

    /// One argument, and where it is marked with `@`.
    fn arg(&mut self, place: Position) -> Parsed<(Arg, Option<Span>)> {
        let at = self.span();
        let mut marked = self.eat(Sym::At).then_some(at);
        if !self.aggregate_is_next() {
            let expr = match place {
                Position::Pattern => self.pattern_expr()?,
                Position::Head | Position::Tuple => self.expr()?,
            };
            return Ok((Arg::Expr(expr), marked));
        }
        if place != Position::Head {
            let error = self.error("aggregate-outside-head", "only a rule's head aggregates");
            let help = "in a body write `a_COUNT((Group), (Result), p(...))`";
            return self.fail(error.help(help));
        }
        let mut aggregate = self.aggregate()?;
        if aggregate.located {
            marked = marked.or(Some(aggregate.span));
        }
        aggregate.located = marked.is_some();
        Ok((Arg::Aggregate(aggregate), marked))
    }

    /// Whether `min<`, `a_MIN<` or `MIN<X>` follows; the last only if it can be nothing else.
    fn aggregate_is_next(&self) -> bool {
        if !self.ahead_is(1, Sym::Less) {
            return false;
        }
        match self.kind() {
            TokenKind::Name(name) => named_literal(name).is_none(),
            TokenKind::Aggregate(_) => true,
            TokenKind::Var(_) => {
                let over = 2 + usize::from(self.ahead_is(2, Sym::At));
                let is_over =
                    matches!(self.ahead(over), TokenKind::Var(_)) || self.ahead_is(over, Sym::Star);
                let closed = self.ahead_is(over + 1, Sym::Greater);
                let last =
                    self.ahead_is(over + 2, Sym::Comma) || self.ahead_is(over + 2, Sym::RParen);
                is_over && closed && last
            }
            _ => false,
        }
    }

    fn aggregate(&mut self) -> Parsed<Aggregate> {
        let start = self.span();
        let func = self.aggregate_name();
        self.expect(Sym::Less, AGGREGATE)?;
        let located = self.eat(Sym::At);
        let over = match self.kind() {
            TokenKind::Sym(Sym::Star) => AggregateOver::Star,
            TokenKind::Var(name) if **name != *"_" => {
                AggregateOver::Var(Variable { name: name.to_string(), span: self.span() })
            }
            _ => {
                let found = self.kind().describe();
                let message = format!("an aggregate ranges over a variable or `*`, not {found}");
                let error = self.error("unexpected-token", message);
                return self.fail(error.help(AGGREGATE));
            }
        };
        self.next();
        let limit = if self.eat(Sym::Comma) { Some(self.value(VALUE)?) } else { None };
        self.expect(Sym::Greater, AGGREGATE)?;
        Ok(Aggregate { func, over, located, limit, span: self.since(start) })
    }

    /// The aggregate's name in its one spelling.
    pub(super) fn aggregate_name(&mut self) -> Ident {
        let text = self.kind().word().unwrap_or("").to_ascii_uppercase();
        let span = self.span();
        self.next();
        Ident { text: text.strip_prefix("A_").unwrap_or(&text).into(), span }
    }
}

/// The column of the location of `name@X(args)`: that of `X` or an aggregate of it, else a new
/// first one. So `lookup@B(min<B>, K)` goes to the least `B`.
fn place_location(args: &mut Vec<Arg>, located: Expr) -> usize {
    for (index, arg) in args.iter_mut().enumerate() {
        let same = match arg {
            Arg::Expr(expr) => located.kind != ExprKind::Fresh && expr.kind == located.kind,
            Arg::Aggregate(aggregate) => {
                aggregate.located = matches!((&aggregate.over, located.as_var()),
                    (AggregateOver::Var(over), Some(name)) if over.name == name);
                aggregate.located
            }
        };
        if same {
            return index;
        }
    }
    args.insert(0, Arg::Expr(located));
    0
}
