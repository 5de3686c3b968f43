//! Statements, rules and the terms of their bodies.

use super::expr::named_literal;
use super::functor::Position;
use super::{Failed, Parsed, Parser};
use crate::ast::{
    AggView, Arg, Assign, BinaryOp, Export, Expr, ExprKind, Fact, Functor, Ident, Index, Keys,
    Literal, Materialize, Name, Namespace, Predicate, Query, Rule, Sink, Stage, Statement, Term,
    Variable, Watch, WatchMod,
};
use crate::lex::{Sym, TokenKind};
use tidemill_diag::{Diagnostic, Span, nearest};

/// Words that begin a statement when `(` follows, and how it is written.
const FORMS: &[(&str, &str)] = &[
    ("materialize", "write `materialize(name, lifetime in seconds, rows, keys(column, ...)).`"),
    ("index", "write `index(name, \"hash\", keys(column, ...)).`"),
    ("watch", "write `watch(name).`"),
    ("watchmod", "write `watchmod(name, \"letters\").`"),
    ("trace", "write `trace(name).`"),
    ("traceTable", "write `traceTable(name).`"),
    ("export", "write `export(name).` or `export(name, delete).`"),
    ("stage", "write `stage(\"OPERATOR\", input, output).`, or `.., output, keys(column, ...)).`"),
    ("sink", "write `sink(\"FILE\", name).`"),
];
const KEYS: &str = "columns count from 1: `keys(1, 2)`; `keys()` is a bag";
const AGG_VIEW: &str = "write `a_COUNT((Group, ...), (Result), p(...))`";
const TERMS: &str = "terms are separated by `,`, and the last ends with `.`";
const NAMESPACE: &str = "write `namespace name { statements }`";

fn is_keyword(word: &str) -> bool {
    FORMS.iter().any(|(it, _)| *it == word)
}

impl Parser {
    /// Statements up to a `}` or the end.
    pub(super) fn statements(&mut self, into: &mut Vec<Statement>) {
        while !self.is_end() && !self.is(Sym::RBrace) {
            let from = self.at;
            match self.statement() {
                Ok(statement) => into.push(statement),
                Err(Failed) => self.skip_statement(from),
            }
        }
    }

    /// Whether the line probably begins a statement: where parsing resumes after an error, and
    /// where a `.` seems to be missing.
    pub(super) fn starts_statement(&self) -> bool {
        let word = match self.kind() {
            TokenKind::Name(word) | TokenKind::Var(word) => &**word,
            _ => return false,
        };
        let keyword = is_keyword(word) && self.ahead_is(1, Sym::LParen);
        let label = match self.ahead(1) {
            TokenKind::Name(next) => !matches!(word, "notin" | "in") && **next != *"in",
            _ => false,
        };
        self.token().first && (keyword || label)
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let start = self.span();
        match self.kind() {
            TokenKind::Name(word) => match &**word {
                "namespace" if self.ahead(1).word().is_some() => {
                    return self.nested(|it| it.namespace(start));
                }
                word if is_keyword(word) && self.is_declaration() => {
                    let word = word.to_string();
                    return self.declaration(&word, start);
                }
                _ => {}
            },
            TokenKind::Var(word)
                if **word == *"Query" && matches!(self.ahead(1), TokenKind::Name(_)) =>
            {
                return self.query(start);
            }
            _ => {}
        }
        self.rule_or_fact(start)
    }

    /// `watch(` and the like begin a declaration, unless it is the head of a rule.
    fn is_declaration(&self) -> bool {
        if !self.ahead_is(1, Sym::LParen) || self.ahead_is(2, Sym::At) {
            return false;
        }
        let mut depth = 0usize;
        for (index, token) in self.tokens[self.at..].iter().enumerate() {
            match token.kind {
                TokenKind::Sym(Sym::LParen) => depth += 1,
                TokenKind::Sym(Sym::RParen) if depth == 1 => {
                    return !self.ahead_is(index + 1, Sym::If);
                }
                TokenKind::Sym(Sym::RParen) => depth -= 1,
                TokenKind::Sym(Sym::Dot) => return true,
                _ => {}
            }
        }
        true
    }

    fn declaration(&mut self, word: &str, start: Span) -> Parsed<Statement> {
        let form = FORMS.iter().find(|(it, _)| *it == word).map_or("", |(_, form)| form);
        self.next();
        self.expect(Sym::LParen, form)?;
        Ok(match word {
            "materialize" => Statement::Materialize(self.materialize(start, form)?),
            "index" => Statement::Index(self.index(start, form)?),
            "watchmod" => {
                let name = self.relation_name()?;
                self.expect(Sym::Comma, form)?;
                let modes = self.string("the letters of what to watch, such as `\"id\"`", form)?;
                Statement::WatchMod(WatchMod {
                    name,
                    modes,
                    span: self.end_declaration(start, form)?,
                })
            }
            "export" => {
                let name = self.relation_name()?;
                let delete = self.eat(Sym::Comma);
                if delete && !self.eat_word("delete") {
                    return self.expected("`delete`", form);
                }
                let span = self.end_declaration(start, form)?;
                Statement::Export(Export { name, delete, span })
            }
            "stage" => Statement::Stage(self.stage(start, form)?),
            "sink" => {
                let file = self.string("the file, such as `\"alarms.jsonl\"`", form)?;
                self.expect(Sym::Comma, form)?;
                let name = self.relation_name()?;
                let span = self.end_declaration(start, form)?;
                Statement::Sink(Sink { file, name, span })
            }
            word => {
                let name = self.relation_name()?;
                let watch = Watch { name, span: self.end_declaration(start, form)? };
                match word {
                    "watch" => Statement::Watch(watch),
                    "trace" => Statement::Trace(watch),
                    _ => Statement::TraceTable(watch),
                }
            }
        })
    }

    fn index(&mut self, start: Span, form: &str) -> Parsed<Index> {
        let name = self.relation_name()?;
        self.expect(Sym::Comma, form)?;
        let hint = self.string("the kind of index, `\"hash\"` or `\"ordered\"`", form)?;
        self.expect(Sym::Comma, form)?;
        let keys = self.keys()?;
        let span = self.end_declaration(start, form)?;
        Ok(Index { name, hint, keys, span })
    }

    fn stage(&mut self, start: Span, form: &str) -> Parsed<Stage> {
        let operator = self.string("the operator, such as `\"TOKENIZER\"`", form)?;
        self.expect(Sym::Comma, form)?;
        let input = self.relation_name()?;
        self.expect(Sym::Comma, form)?;
        let output = self.relation_name()?;
        let keys = if self.eat(Sym::Comma) { Some(self.keys()?) } else { None };
        let span = self.end_declaration(start, form)?;
        Ok(Stage { operator, input, output, keys, span })
    }

    /// The end of a declaration: `).`
    fn end_declaration(&mut self, start: Span, form: &str) -> Parsed<Span> {
        self.expect(Sym::RParen, form)?;
        self.period()?;
        Ok(self.since(start))
    }

    /// The `.` of a statement. A missing one before the next statement is reported, and parsing
    /// continues.
    fn period(&mut self) -> Parsed<()> {
        if !self.eat(Sym::Dot) {
            if !self.starts_statement() && !self.is_end() && !self.is(Sym::RBrace) {
                return self.expected("`.`", "statements end with `.`");
            }
            self.missing_period();
        }
        Ok(())
    }

    fn missing_period(&mut self) {
        let error =
            Diagnostic::error("missing-period", self.previous(), "the statement does not end");
        let _ = self.fail::<()>(error.help("put a `.` after it"));
    }

    fn string(&mut self, what: &str, form: &str) -> Parsed<Ident> {
        let span = self.span();
        let TokenKind::Str(text) = self.kind() else { return self.expected(what, form) };
        let text = text.to_string();
        self.next();
        Ok(Ident { text, span })
    }

    fn materialize(&mut self, start: Span, form: &str) -> Parsed<Materialize> {
        let name = self.relation_name()?;
        self.expect(Sym::Comma, form)?;
        let lifetime = self.not_keys("the lifetime in seconds, or `infinity`", form)?;
        self.expect(Sym::Comma, form)?;
        let size = self.not_keys("the number of rows, or `infinity`", form)?;
        let (lifetime_span, size_span) = (lifetime.span, size.span);
        if self.is(Sym::RParen) {
            let error = self.error("missing-keys", "the table has no primary key");
            return self.fail(error.help("add `, keys(1, 2)` with the columns that make the key"));
        }
        self.expect(Sym::Comma, form)?;
        let keys = self.keys()?;
        let lifetime = self.limit(&lifetime, "the lifetime", 0.0, form)?;
        let size = self.limit(&size, "the size", 1.0, form)?.map(|rows| rows as u64);
        let span = self.end_declaration(start, form)?;
        Ok(Materialize { name, lifetime, size, keys, lifetime_span, size_span, span })
    }

    /// An expression where `keys(...)` is too early.
    fn not_keys(&mut self, what: &str, form: &str) -> Parsed<Expr> {
        if self.is_word("keys") { self.expected(what, form) } else { self.expr() }
    }

    /// A constant limit of at least `least`; `None` is infinity.
    fn limit(&mut self, expr: &Expr, what: &str, least: f64, form: &str) -> Parsed<Option<f64>> {
        match fold(expr) {
            Some(value) if value == f64::INFINITY => Ok(None),
            Some(value) if value >= least => Ok(Some(value)),
            _ => {
                let message = format!("{what} is a number of at least {least}, or `infinity`");
                self.report(Diagnostic::error("bad-limit", expr.span, message).help(form));
                Err(Failed)
            }
        }
    }

    fn keys(&mut self) -> Parsed<Keys> {
        let start = self.span();
        if !self.eat_word("keys") {
            return self.expected("`keys(...)`", KEYS);
        }
        self.expect(Sym::LParen, KEYS)?;
        let columns = self.items(Sym::RParen, |it| match *it.kind() {
            TokenKind::Int(column) if (1..=u64::from(u16::MAX)).contains(&column) => {
                it.next();
                Ok(column as u32)
            }
            _ => {
                let error = it.error("bad-key", "a key is made of the numbers of columns");
                it.fail(error.help(KEYS))
            }
        })?;
        Ok(Keys { columns, span: self.since(start) })
    }

    fn namespace(&mut self, start: Span) -> Parsed<Statement> {
        self.next();
        let name = self.space_name()?;
        self.expect(Sym::LBrace, NAMESPACE)?;
        let mut statements = Vec::new();
        self.spaces += 1;
        self.statements(&mut statements);
        self.spaces -= 1;
        if !self.eat(Sym::RBrace) {
            let error = Diagnostic::error("unexpected-token", start, "namespace is not closed");
            return self.fail(error.help(NAMESPACE));
        }
        Ok(Statement::Namespace(Namespace { name, statements, span: self.since(start) }))
    }

    /// The name of a namespace. The contents are read under an invalid one, too.
    fn space_name(&mut self) -> Parsed<Name> {
        let span = self.span();
        let name = self.relation_name();
        if name.is_ok() || !self.ahead_is(1, Sym::LBrace) {
            return name;
        }
        let written = self.kind().word().unwrap_or("_").to_string();
        self.next();
        Ok(Name { written, resolved: String::new(), span })
    }

    fn query(&mut self, start: Span) -> Parsed<Statement> {
        self.next();
        let pattern = self.functor(Position::Pattern)?;
        self.period()?;
        Ok(Statement::Query(Query { pattern, span: self.since(start) }))
    }

    fn rule_or_fact(&mut self, start: Span) -> Parsed<Statement> {
        if let Some(meant) = self.misspelt() {
            let message = format!("{} is no statement", self.kind().describe());
            let error = self.error("unknown-statement", message);
            return self.fail(error.help(format!("did you mean `{meant}`?")));
        }
        let label = self.label();
        if label.is_some() && self.is(Sym::Colon) {
            let error = self.error("label-colon", "the label of a rule stands without `:`");
            let _ = self.fail::<()>(error.help("write `r1 head(...) :- body.`"));
            self.next();
        }
        let delete = self.is_word("delete")
            && matches!(self.ahead(1), TokenKind::Name(_) | TokenKind::Aggregate(_));
        if delete {
            self.next();
        }
        let head = self.functor(Position::Head);
        if self.eat(Sym::If) {
            // Also after a wrong head: the body may have errors of its own.
            let body = self.body()?;
            let head = head?;
            self.period()?;
            let span = self.since(start);
            return Ok(Statement::Rule(Rule { label, delete, head, body, span }));
        }
        let head = head?;
        if delete {
            return self.expected("`:-` and a body", "only rules can delete");
        }
        if !self.is(Sym::Dot) && !self.starts_statement() {
            return self.expected("`:-` or `.`", "a rule goes on with `:-`, a fact ends with `.`");
        }
        self.fact(label, head, start)
    }

    /// Whether the token `ahead` tokens on looks like a relation, however its name is written.
    fn is_relation(&self, ahead: usize) -> bool {
        matches!(self.ahead(ahead), TokenKind::Name(_) | TokenKind::Var(_))
            && (self.ahead_is(ahead + 1, Sym::LParen) || self.ahead_is(ahead + 1, Sym::At))
    }

    /// A word that is probably a misspelt declaration, as a name follows, with which no fact
    /// begins.
    fn misspelt(&self) -> Option<&'static str> {
        let TokenKind::Name(word) = self.kind() else { return None };
        let TokenKind::Name(first) = self.ahead(2) else { return None };
        let is_value = named_literal(first).is_some();
        let is_near = self.ahead_is(1, Sym::LParen) && !is_value && self.is_declaration();
        nearest(word, FORMS.iter().map(|(it, _)| *it)).filter(|_| is_near)
    }

    /// The name before a rule.
    fn label(&mut self) -> Option<Name> {
        // A variable there is a relation with a wrong name.
        let named = matches!(
            self.ahead(1),
            TokenKind::Name(_) | TokenKind::Aggregate(_) | TokenKind::Function(_)
        ) || self.is_relation(1)
            || self.ahead_is(1, Sym::Colon) && self.is_relation(2);
        let is_delete =
            self.is_word("delete") && (self.ahead_is(2, Sym::LParen) || self.ahead_is(2, Sym::At));
        let written = self.kind().word().filter(|_| named && !is_delete)?.to_string();
        let span = self.span();
        self.next();
        Some(Name { written, resolved: String::new(), span })
    }

    fn fact(&mut self, label: Option<Name>, mut tuple: Functor, start: Span) -> Parsed<Statement> {
        for arg in &tuple.args {
            if let Arg::Aggregate(aggregate) = arg {
                let message = "a fact has no rows to aggregate";
                self.report(Diagnostic::error("aggregate-outside-head", aggregate.span, message));
                return Err(Failed);
            }
        }
        if tuple.args.is_empty() {
            let message = "a fact needs its location at least";
            self.report(Diagnostic::error("empty-fact", tuple.span, message));
            return Err(Failed);
        }
        self.period()?;
        tuple.location = tuple.location.or(Some(0));
        Ok(Statement::Fact(Fact { label, tuple, span: self.since(start) }))
    }

    /// The terms after `:-`, up to the `.` or where one is missing.
    fn body(&mut self) -> Parsed<Vec<Term>> {
        let (mut terms, mut failed) = (Vec::new(), false);
        if self.is(Sym::Dot) {
            let error = self.error("empty-body", "a rule needs a body");
            return self.fail(error.help("leave out `:-` for a fact"));
        }
        loop {
            let term = self.term();
            let right = term.is_ok();
            terms.extend(term);
            if right && !self.is(Sym::Comma) && !self.is_body_end() {
                let _ = self.expected::<()>("`,` or `.`", self.after_term());
                failed = true;
            }
            if !right || failed {
                failed = true;
                self.skip_term();
            }
            if !self.eat(Sym::Comma) {
                return if failed { Err(Failed) } else { Ok(terms) };
            }
        }
    }

    /// The help for what follows a term and does not belong there.
    fn after_term(&self) -> &'static str {
        match self.kind() {
            TokenKind::Name(word) => match &**word {
                "and" => "write `,` between terms that must all hold",
                "or" => "write `||` between conditions; other alternatives are rules of their own",
                "mod" => "the remainder is `%`",
                "div" => "the quotient is `/`",
                "is" => "`X := 1` gives X a value, `X == 1` compares",
                _ => TERMS,
            },
            TokenKind::Sym(Sym::And) => "write `,` between terms that must all hold",
            TokenKind::Sym(Sym::Bar | Sym::OrOr) => "alternatives are rules of their own",
            _ => TERMS,
        }
    }

    /// The body ends here, with or without its `.`.
    fn is_body_end(&self) -> bool {
        self.is(Sym::Dot) || self.is(Sym::RBrace) || self.is_end() || self.starts_statement()
    }

    fn skip_term(&mut self) {
        self.skip_item();
        while self.is(Sym::RParen) || self.is(Sym::RBracket) {
            self.next();
            self.skip_item();
        }
    }

    fn term(&mut self) -> Parsed<Term> {
        let start = self.span();
        match self.kind() {
            TokenKind::Name(word) if **word == *"notin" => {
                self.next();
                self.predicate(true, start)
            }
            TokenKind::Name(word) if **word == *"not" && self.is_relation(1) => {
                let error = self.error("negation", "`not` does not negate a relation");
                self.fail(error.help("write `notin`"))
            }
            TokenKind::Aggregate(_)
                if self.ahead_is(1, Sym::LParen) && self.ahead_is(2, Sym::LParen) =>
            {
                self.agg_view(start)
            }
            TokenKind::Name(_) | TokenKind::Aggregate(_)
                if self.ahead_is(1, Sym::LParen) || self.ahead_is(1, Sym::At) =>
            {
                self.predicate(false, start)
            }
            TokenKind::Var(_) if self.ahead_is(1, Sym::LParen) => self.predicate(false, start),
            TokenKind::Var(name) if self.ahead_is(1, Sym::Assign) => {
                let name = name.to_string();
                self.assign(name, start)
            }
            _ => Ok(Term::Condition(self.expr()?)),
        }
    }

    fn predicate(&mut self, negated: bool, start: Span) -> Parsed<Term> {
        let functor = self.functor(Position::Pattern)?;
        Ok(Term::Predicate(Predicate { negated, functor, span: self.since(start) }))
    }

    fn assign(&mut self, name: String, start: Span) -> Parsed<Term> {
        if name == "_" {
            let error = self.error("assign-to-fresh", "`_` cannot be assigned");
            return self.fail(error.help("give the variable a name"));
        }
        self.next();
        self.next();
        let expr = self.expr()?;
        let var = Variable { name, span: start };
        Ok(Term::Assign(Assign { var, expr, span: self.since(start) }))
    }

    fn agg_view(&mut self, start: Span) -> Parsed<Term> {
        let func = self.aggregate_name();
        self.expect(Sym::LParen, AGG_VIEW)?;
        let group = self.group()?;
        self.expect(Sym::Comma, AGG_VIEW)?;
        let result = self.group()?;
        self.expect(Sym::Comma, AGG_VIEW)?;
        let of = self.functor(Position::Pattern)?;
        self.expect(Sym::RParen, AGG_VIEW)?;
        Ok(Term::AggView(AggView { func, group, result, of, span: self.since(start) }))
    }

    /// Arguments in parentheses of their own; a location mark there has no meaning.
    fn group(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Sym::LParen, AGG_VIEW)?;
        self.items(Sym::RParen, |it| {
            it.eat(Sym::At);
            it.expr()
        })
    }
}

/// The value of a constant expression.
fn fold(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(value)) => Some(*value as f64),
        ExprKind::Literal(Literal::Double(value)) => Some(*value),
        ExprKind::Literal(Literal::Infinity) => Some(f64::INFINITY),
        ExprKind::Literal(Literal::Interval(ns)) => Some(*ns as f64 / 1e9),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (fold(a)?, fold(b)?);
            match op {
                BinaryOp::Add => Some(a + b),
                BinaryOp::Sub => Some(a - b),
                BinaryOp::Mul => Some(a * b),
                BinaryOp::Div => Some(a / b),
                _ => None,
            }
        }
        _ => None,
    }
}
