//! Sequences and statements.

use super::Parser;
use super::recovery::{Failed, Parsed};
use crate::ast::*;
use crate::lex::TokenKind;
use tidemill_diag::{Diagnostic, Span};

const NEW: &str = "NEW(variable), NEW(array, length), NEW(variable, Component)";
const CONNECT: &str = "CONNECT(Required(client), Offered(server))";
const DISCONNECT: &str = "DISCONNECT(Required(client))";
const DELETE: &str = "DELETE(variable)";
const MOVE: &str = "MOVE(source, target)";
const AWAIT: &str = "AWAIT(condition)";
const SEND: &str = "server!Message(value, ...)";
const RECEIVE: &str = "server?Message(variable, ...)";
const IF: &str = "IF condition THEN ... ELSIF condition THEN ... ELSE ... END";
const WHILE: &str = "WHILE condition DO ... END";
const REPEAT: &str = "REPEAT ... UNTIL condition";
const FOR: &str = "FOR i := 1 TO 10 BY 2 DO ... END";
const FOREACH: &str = "FOREACH key OF collection DO ... END";
const STATEMENT: &str = "a statement assigns, sends, receives, calls, or begins with a keyword";

impl Parser<'_> {
    /// Attributes and statements, up to what ends a sequence.
    pub(super) fn sequence(&mut self) -> Sequence {
        let before = self.previous();
        let start = self.span();
        let attributes = match self.attributes() {
            Ok(attributes) => attributes,
            Err(Failed) => {
                self.skip_statement(self.at);
                None
            }
        };
        let mut statements: Vec<Statement> = Vec::new();
        loop {
            self.correct_statement();
            if self.eat(TokenKind::Semicolon) {
                continue;
            }
            if self.at_sequence_end() {
                break;
            }
            let from = self.at;
            match self.nested(Self::statement) {
                Ok(statement) => {
                    statements.push(statement);
                    self.separator();
                }
                Err(Failed) => self.skip_statement(from),
            }
            if self.at == from {
                // Nothing can be made of it; it has been reported.
                self.next();
            }
        }
        let first = attributes.as_ref().map(|it| it.span);
        let first = first.or(statements.first().map(|it| it.span));
        let last = statements.last().map(|it| it.span);
        let span = match (first, last) {
            (Some(first), last) => first.to(last.unwrap_or(first)),
            (None, _) => Span { start: before.end, end: before.end, ..start },
        };
        Sequence { attributes, statements, span }
    }

    /// What follows a statement: `;`, an end, or the next statement, before which one is missing.
    fn separator(&mut self) {
        if self.is(TokenKind::Semicolon) || self.at_sequence_end() {
            return;
        }
        use TokenKind::{Exclamation, Ident, Question};
        if self.is(Ident) && self.closes_something(0) {
            return;
        }
        if self.at_statement_keyword() || self.is_one_of(&[Ident, Exclamation, Question]) {
            let message = "`;` is missing between this statement and the next";
            let error = Diagnostic::error("missing-semicolon", self.previous(), message);
            self.complain(error.help("put a `;` after it"));
            return;
        }
        let _ = self.expected::<()>("`;` or the end of the statements", "");
        self.skip_statement(self.at);
    }

    /// The token `ahead` is an END in lower case, or another word that ends a sequence.
    fn closes_something(&self, ahead: usize) -> bool {
        let word = self.text_at(self.at + ahead);
        ["end", "else", "elsif", "elseif", "until", "activity", "finally"]
            .iter()
            .any(|it| word.eq_ignore_ascii_case(it))
            && !self.may_be_name(ahead)
    }

    /// The token `ahead` is followed by what can follow a name where a statement begins.
    fn may_be_name(&self, ahead: usize) -> bool {
        use TokenKind::{Assign, Equal, Exclamation, LBracket, LParen, Question};
        let follows = self.ahead(ahead + 1);
        let name = [Assign, Equal, Exclamation, Question, LBracket, LParen].contains(&follows);
        name || follows == TokenKind::Semicolon && self.text_at(self.at + ahead) != "end"
    }

    /// A keyword of a statement in lower case where nothing else can be meant.
    fn correct_statement(&mut self) {
        let Some(keyword) = self.lower_case_keyword() else { return };
        use TokenKind::{Begin, For, Foreach, If, Repeat, Return, While};
        let condition = matches!(keyword, If | While)
            && self.ahead(1) == TokenKind::LParen
            && self.slice().bytes().all(|byte| byte.is_ascii_lowercase());
        let statement = [Begin, For, Foreach, If, Repeat, Return, While].contains(&keyword);
        let end = self.closes_something(0);
        let lone_return = keyword == Return && self.ahead(1) == TokenKind::Semicolon;
        if end || statement && (condition || lone_return || !self.may_be_name(0) && self.goes_on())
        {
            self.correct_case(keyword);
        }
    }

    /// Another word or number follows, as it cannot after a call or the target of a statement.
    fn goes_on(&self) -> bool {
        use TokenKind::{False, Ident, Integer, Real, Tilde, True};
        let follows = self.ahead(1);
        [False, Ident, Integer, Real, Tilde, True].contains(&follows)
            || TokenKind::KEYWORDS.contains(&follows) && follows != TokenKind::KeywordEnd
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::New => self.new_statement()?,
            TokenKind::Connect => {
                let (required, offered) = self.two_designators(CONNECT)?;
                StatementKind::Connect { required, offered }
            }
            TokenKind::Disconnect => StatementKind::Disconnect(self.one_designator(DISCONNECT)?),
            TokenKind::Delete => StatementKind::Delete(self.one_designator(DELETE)?),
            TokenKind::Move => {
                let (source, target) = self.two_designators(MOVE)?;
                StatementKind::Move { source, target }
            }
            TokenKind::Await => {
                self.next();
                self.expect(TokenKind::LParen, AWAIT)?;
                let condition = self.expr()?;
                self.expect(TokenKind::RParen, AWAIT)?;
                StatementKind::Await(condition)
            }
            TokenKind::Return => {
                self.next();
                let done = self.is(TokenKind::Semicolon)
                    || self.at_sequence_end()
                    || self.closes_something(0) && self.is(TokenKind::Ident);
                StatementKind::Return(if done { None } else { Some(self.expr()?) })
            }
            TokenKind::If => self.if_statement(),
            TokenKind::While => self.while_statement(start),
            TokenKind::Repeat => self.repeat_statement(start),
            TokenKind::For => self.for_statement(start)?,
            TokenKind::Foreach => self.foreach_statement(start)?,
            TokenKind::Begin => {
                self.next();
                let body = self.sequence();
                self.statement_end(start, "BEGIN");
                StatementKind::Block(body)
            }
            TokenKind::Ident | TokenKind::Exclamation | TokenKind::Question => {
                match self.foreign_statement(start) {
                    Some(foreign) => foreign?,
                    None => self.simple()?,
                }
            }
            TokenKind::LBrace => {
                let error = self.error("misplaced-attributes", "a statement has no attributes");
                let exclusive = self.text_at(self.at + 1) == "EXCLUSIVE";
                let lock = if exclusive { "EXCLUSIVE" } else { "SHARED" };
                return self.fail(error.help(format!("write `BEGIN {{{lock}}} ... END`")));
            }
            _ => {
                let found = self.kind().describe(self.slice());
                let message = format!("expected a statement, found {found}");
                return self.fail(self.error("unknown-statement", message).help(STATEMENT));
            }
        };
        Ok(Statement { kind, span: self.since(start) })
    }

    /// `(designator)` after a keyword.
    fn one_designator(&mut self, form: &str) -> Parsed<Designator> {
        self.next();
        self.expect(TokenKind::LParen, form)?;
        let one = self.designator()?;
        self.expect(TokenKind::RParen, form)?;
        Ok(one)
    }

    /// `(designator, designator)` after a keyword.
    fn two_designators(&mut self, form: &str) -> Parsed<(Designator, Designator)> {
        self.next();
        self.expect(TokenKind::LParen, form)?;
        let one = self.designator()?;
        self.expect(TokenKind::Comma, form)?;
        let two = self.designator()?;
        self.expect(TokenKind::RParen, form)?;
        Ok((one, two))
    }

    fn new_statement(&mut self) -> Parsed<StatementKind> {
        self.next();
        self.expect(TokenKind::LParen, NEW)?;
        let target = self.designator()?;
        let mut arguments = Vec::new();
        while self.eat(TokenKind::Comma) {
            arguments.push(self.expr()?);
        }
        self.expect(TokenKind::RParen, NEW)?;
        Ok(StatementKind::New { target, arguments })
    }

    /// What begins with a name, `!` or `?`.
    fn simple(&mut self) -> Parsed<StatementKind> {
        if self.eat(TokenKind::Exclamation) {
            return self.send(None);
        }
        if self.eat(TokenKind::Question) {
            return self.receive(None);
        }
        if self.ahead(1) == TokenKind::LParen {
            let call = self.call_or_designator()?;
            let call = match call.kind {
                ExprKind::Call(call) if !self.at_designator_use() => {
                    return Ok(StatementKind::Call(call));
                }
                _ => self.as_designator(&call)?,
            };
            return self.with(call);
        }
        if self.ahead(1) == TokenKind::LBracket {
            let designator = self.designator()?;
            return self.with(designator);
        }
        let name = self.ident("a name")?;
        if self.at_designator_use() {
            let designator = Designator { kind: DesignatorKind::Name(name.text), span: name.span };
            return self.with(designator);
        }
        if self.is(TokenKind::Colon) {
            let error = self.error("unexpected-token", "expected a statement after the name");
            return self.fail(error.help("assign with `:=`"));
        }
        let (arguments, span, parenthesised) = (Vec::new(), name.span, false);
        Ok(StatementKind::Call(Call { name, arguments, span, parenthesised }))
    }

    /// The next token makes something of the designator before it.
    fn at_designator_use(&self) -> bool {
        use TokenKind::{Assign, Equal, Exclamation, Question};
        self.is_one_of(&[Assign, Equal, Exclamation, Question])
    }

    /// The statement that begins with `designator`.
    fn with(&mut self, designator: Designator) -> Parsed<StatementKind> {
        match self.kind() {
            TokenKind::Exclamation => {
                self.next();
                self.send(Some(designator))
            }
            TokenKind::Question => {
                self.next();
                self.receive(Some(designator))
            }
            TokenKind::Assign | TokenKind::Equal => {
                self.assign_sign();
                let value = self.expr()?;
                Ok(StatementKind::Assign { target: designator, value })
            }
            _ => self.expected("`:=`, `!` or `?`", STATEMENT),
        }
    }

    /// Consumes `:=`, or `=` in its place.
    fn assign_sign(&mut self) {
        if self.is(TokenKind::Equal) {
            let error = self.error("equal-for-assign", "`=` compares");
            self.complain(error.help("assign with `:=`"));
        }
        self.next();
    }

    fn message_name(&mut self, form: &str) -> Parsed<Ident> {
        if self.is_one_of(&[TokenKind::Any, TokenKind::Finish]) {
            let message = format!("`{}` is no message", self.slice());
            let help = "ask for it in an expression, such as `IF server?FINISH THEN`";
            return self.fail(self.error("bad-pattern", message).help(help));
        }
        if !self.is(TokenKind::Ident) {
            return self.expected("the name of a message", form);
        }
        self.ident("")
    }

    fn send(&mut self, to: Option<Designator>) -> Parsed<StatementKind> {
        let message = self.message_name(SEND)?;
        let mut arguments = Vec::new();
        if self.eat(TokenKind::LParen) && !self.eat(TokenKind::RParen) {
            arguments = self.list(Self::expr)?;
            self.expect(TokenKind::RParen, SEND)?;
        }
        Ok(StatementKind::Send { to, message, arguments })
    }

    fn receive(&mut self, from: Option<Designator>) -> Parsed<StatementKind> {
        let message = self.message_name(RECEIVE)?;
        let mut targets = Vec::new();
        if self.eat(TokenKind::LParen) && !self.eat(TokenKind::RParen) {
            targets = self.list(Self::designator)?;
            self.expect(TokenKind::RParen, RECEIVE)?;
        }
        Ok(StatementKind::Receive { from, message, targets })
    }

    /// A condition and the keyword after it; a wrong one does not hide what it governs.
    fn condition(&mut self, keyword: TokenKind, form: &str) -> Expr {
        let start = self.span();
        let condition = self.expr().unwrap_or_else(|_| {
            self.skip_to_keyword(keyword);
            Expr { kind: ExprKind::Error, span: start }
        });
        self.keyword_or_go_on(keyword, form);
        condition
    }

    /// Consumes `keyword`, or reports that it is missing and continues where statements can begin.
    fn keyword_or_go_on(&mut self, keyword: TokenKind, form: &str) {
        let from = self.at;
        if self.expect(keyword, form).is_err() {
            self.skip_to_keyword(keyword);
            if !self.eat(keyword) && !self.is(TokenKind::End) {
                // It is missing altogether: what was skipped are statements.
                self.at = from;
            }
        }
    }

    fn if_statement(&mut self) -> StatementKind {
        let start = self.span();
        let mut branches = Vec::new();
        loop {
            let first = self.span();
            self.next();
            let condition = self.condition(TokenKind::Then, IF);
            let body = self.sequence();
            branches.push(Branch { condition, body, span: self.since(first) });
            if !self.is_one_of(&[TokenKind::Elsif, TokenKind::Elseif]) {
                break;
            }
        }
        let mut otherwise = None;
        while self.is_one_of(&[TokenKind::Else, TokenKind::Elsif, TokenKind::Elseif]) {
            if otherwise.is_some() {
                let message = format!("`{}` comes after ELSE", self.slice());
                self.complain(self.error("misplaced-else", message).help(IF));
            }
            let is_else = self.is(TokenKind::Else);
            self.next();
            if !is_else {
                self.condition(TokenKind::Then, IF);
            }
            let body = self.sequence();
            otherwise.get_or_insert(body);
        }
        self.statement_end(start, "IF");
        StatementKind::If { branches, otherwise }
    }

    fn while_statement(&mut self, start: Span) -> StatementKind {
        self.next();
        let condition = self.condition(TokenKind::Do, WHILE);
        let body = self.sequence();
        self.statement_end(start, "WHILE");
        StatementKind::While { condition, body }
    }

    fn repeat_statement(&mut self, start: Span) -> StatementKind {
        self.next();
        let body = self.sequence();
        if !self.eat(TokenKind::Until) {
            let found = self.kind().describe(self.slice());
            let message = format!("REPEAT has no UNTIL before {found}");
            let error = self.error("missing-until", message).help(REPEAT);
            self.complain(error.label(start, "it begins here"));
            // An END that was meant to be it.
            if self.is(TokenKind::KeywordEnd) && self.ahead(1) != TokenKind::Ident {
                self.next();
            }
            let until = Expr { kind: ExprKind::Error, span: self.span() };
            return StatementKind::Repeat { body, until };
        }
        let (first, from) = (self.span(), self.at);
        let until = self.expr().unwrap_or_else(|_| {
            self.skip_statement(from);
            Expr { kind: ExprKind::Error, span: first }
        });
        StatementKind::Repeat { body, until }
    }

    fn for_statement(&mut self, start: Span) -> Parsed<StatementKind> {
        self.next();
        let head = self.for_head();
        if head.is_err() {
            self.skip_to_keyword(TokenKind::Do);
        }
        self.keyword_or_go_on(TokenKind::Do, FOR);
        let body = self.sequence();
        self.statement_end(start, "FOR");
        let (variable, [from, to], by) = head?;
        Ok(StatementKind::For { variable, from, to, by, body })
    }

    fn for_head(&mut self) -> Parsed<(Designator, [Expr; 2], Option<Expr>)> {
        let variable = self.designator()?;
        if self.is(TokenKind::Assign) || self.is(TokenKind::Equal) {
            self.assign_sign();
        } else {
            self.expect(TokenKind::Assign, FOR)?;
        }
        let from = self.expr()?;
        self.expect(TokenKind::To, FOR)?;
        let to = self.expr()?;
        let by = self.eat(TokenKind::By) || self.eat_lower_case(TokenKind::By);
        let by = if by { Some(self.expr()?) } else { None };
        Ok((variable, [from, to], by))
    }

    fn foreach_statement(&mut self, start: Span) -> Parsed<StatementKind> {
        self.next();
        let head = self.foreach_head();
        if head.is_err() {
            self.skip_to_keyword(TokenKind::Do);
        }
        self.keyword_or_go_on(TokenKind::Do, FOREACH);
        let body = self.sequence();
        self.statement_end(start, "FOREACH");
        let (variables, of) = head?;
        Ok(StatementKind::ForEach { variables, of, body })
    }

    fn foreach_head(&mut self) -> Parsed<(Vec<Designator>, Designator)> {
        let variables = self.list(Self::designator)?;
        self.expect(TokenKind::Of, FOREACH)?;
        Ok((variables, self.designator()?))
    }
}
