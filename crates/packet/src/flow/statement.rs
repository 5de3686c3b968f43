//! Statements of kernels: from tokens to a tree. After an error parsing continues at the next
//! statement.

use super::code::ast::{Expr, ExprKind, Statement, Word};
use super::lex::TokenKind;
use super::parse::Parser;

/// Blocks within blocks.
const BLOCKS_MAX: u32 = 64;

/// Branches after each other, as in `if ... else if ... else if ...`.
const CHAIN_MAX: u32 = 128;

impl Parser<'_> {
    pub(super) fn block(&mut self, depth: u32) -> Option<Vec<Statement>> {
        self.mark('{', "statements stand in braces")?;
        if depth > BLOCKS_MAX {
            self.expected("a simpler program", "blocks are nested too deeply");
            return None;
        }
        let mut statements = Vec::new();
        while !self.takes(&TokenKind::Mark('}')) {
            if self.kind() == &TokenKind::End || self.is_full() {
                self.expected("`}`", "close the block");
                return None;
            }
            let before = self.at;
            match self.statement(depth) {
                Some(statement) => statements.push(statement),
                None => {
                    statements.extend(self.declared_at(before));
                    self.recover_statement(before);
                }
            }
        }
        Some(statements)
    }

    /// The declaration of an invalid statement: its name is known, its value is not.
    fn declared_at(&self, at: usize) -> Option<Statement> {
        let word = |at: usize| {
            let token = self.tokens.get(at).filter(|token| token.kind == TokenKind::Name)?;
            Some(Word { text: self.source_of(token).to_owned(), span: self.span_of(token) })
        };
        let (keyword, name) = (word(at)?, word(at + 1)?);
        let value = Expr { kind: ExprKind::Error, span: name.span };
        match keyword.text.as_str() {
            "let" => Some(Statement::Let(name, value)),
            "var" => Some(Statement::Var(name, value)),
            _ => None,
        }
    }

    /// Whether `else` follows the `}` at the current position.
    fn is_before_else(&self) -> bool {
        let next = self.tokens.get(self.at + 1).filter(|next| next.kind == TokenKind::Name);
        next.is_some_and(|next| self.source_of(next) == "else")
    }

    /// Continues after the next `;`, or before the `}` that ends the block. What began at `before`
    /// may have opened blocks of its own.
    pub(super) fn recover_statement(&mut self, before: usize) {
        let mut open = 0_u32;
        for token in &self.tokens[before..self.at] {
            match token.kind {
                TokenKind::Mark('{') => open += 1,
                TokenKind::Mark('}') => open = open.saturating_sub(1),
                _ => {}
            }
        }
        while self.kind() != &TokenKind::End {
            match self.kind() {
                TokenKind::Mark('{') => open += 1,
                TokenKind::Mark('}') if open == 0 && self.at > before => return,
                TokenKind::Mark('}') => {
                    open = open.saturating_sub(1);
                    if open == 0 && !self.is_before_else() {
                        return self.advance();
                    }
                }
                TokenKind::Mark(';') if open == 0 => return self.advance(),
                _ => {}
            }
            self.advance();
        }
    }

    fn statement(&mut self, depth: u32) -> Option<Statement> {
        let is_set =
            self.tokens.get(self.at + 1).map(|next| &next.kind) == Some(&TokenKind::Mark('='));
        let keyword = if is_set { String::new() } else { self.source().to_owned() };
        let made = match keyword.as_str() {
            "if" => return self.branch(depth),
            "when" => return self.when(depth),
            "for" => return self.repeat(depth),
            "let" | "var" => self.name_value(&keyword)?,
            "count" => self.count()?,
            "strip" => {
                self.advance();
                Statement::Strip(self.name("a header", "write `strip header;`")?)
            }
            "prepend" => self.prepend()?,
            "shorten" | "truncate" => {
                self.advance();
                let length = self.expr()?;
                match keyword.as_str() {
                    "shorten" => Statement::Shorten(length),
                    _ => Statement::Truncate(length),
                }
            }
            "clone" => {
                self.advance();
                Statement::Clone(self.name("an output", "write `clone port;`")?)
            }
            "within" => return self.within(depth),
            "find" => return self.find(depth),
            "insert" => return self.insert(depth),
            "delete" => {
                self.advance();
                Statement::Delete(self.name("a table", "write `delete table;`")?)
            }
            "refresh" => {
                self.advance();
                Statement::Refresh(self.name("a table", "write `refresh table;`")?)
            }
            "send" => {
                self.advance();
                Statement::Send(self.name("an output", "write `send port;`")?)
            }
            "return" => {
                let word = self.name("`return`", "")?;
                Statement::Return(word, self.expr()?)
            }
            "drop" => {
                self.advance();
                Statement::Drop(self.name("a reason", "write `drop reason;`")?)
            }
            _ => self.assignment()?,
        };
        self.semicolon()?;
        Some(made)
    }

    fn name_value(&mut self, keyword: &str) -> Option<Statement> {
        self.advance();
        let name = self.name("a name", "write `let name = value;`")?;
        self.mark('=', "write `let name = value;`")?;
        let value = self.expr()?;
        Some(match keyword {
            "let" => Statement::Let(name, value),
            _ => Statement::Var(name, value),
        })
    }

    fn when(&mut self, depth: u32) -> Option<Statement> {
        self.advance();
        let header = self.name("a header", "write `when ipv4 { ... }`")?;
        let yes = self.block(depth + 1)?;
        let no = self.otherwise(depth)?;
        Some(Statement::When(header, yes, no))
    }

    fn repeat(&mut self, depth: u32) -> Option<Statement> {
        self.advance();
        let name = self.name("a name", "write `for i in 0..4 { ... }`")?;
        if !self.word("in") {
            self.expected("`in`", "write `for i in 0..4 { ... }`");
            return None;
        }
        let help = "bounds of loops are numbers: `for i in 0..4 { ... }`";
        let first = self.number("a number", help)?;
        if !self.takes(&TokenKind::Operator("..")) {
            self.expected("`..`", help);
            return None;
        }
        let end = self.number("a number", help)?;
        Some(Statement::For(name, first, end, self.block(depth + 1)?))
    }

    fn count(&mut self) -> Option<Statement> {
        self.advance();
        let name = self.name("a counter", "write `count name;`")?;
        let column = if self.takes(&TokenKind::Mark('.')) {
            Some(self.name("a column", "write `count table.column;`")?)
        } else {
            None
        };
        let by = if self.word("by") { Some(self.expr()?) } else { None };
        Some(Statement::Count(name, column, by))
    }

    fn prepend(&mut self) -> Option<Statement> {
        self.advance();
        let help = "write `prepend ethernet, ipv4, udp;`";
        let mut headers = vec![self.name("a header", help)?];
        while self.takes(&TokenKind::Mark(',')) {
            headers.push(self.name("a header", help)?);
        }
        let reason = if self.word("else") {
            Some(self.name("a reason", "write `prepend header else reason;`")?)
        } else {
            None
        };
        Some(Statement::Prepend(headers, reason))
    }

    fn within(&mut self, depth: u32) -> Option<Statement> {
        self.advance();
        let meter = self.name("a meter", "write `within meter { ... } else { ... }`")?;
        let by = if self.word("by") { Some(self.expr()?) } else { None };
        let yes = self.block(depth + 1)?;
        let no = self.otherwise(depth)?;
        Some(Statement::Within(meter, by, yes, no))
    }

    fn branch(&mut self, depth: u32) -> Option<Statement> {
        self.advance();
        let condition = self.expr()?;
        let yes = self.block(depth + 1)?;
        let no = self.otherwise(depth)?;
        Some(Statement::If(condition, yes, no))
    }

    pub(super) fn otherwise(&mut self, depth: u32) -> Option<Vec<Statement>> {
        if !self.word("else") {
            return Some(Vec::new());
        }
        let again = self.kind() == &TokenKind::Name && matches!(self.source(), "if" | "when");
        if !again {
            return self.block(depth + 1);
        }
        if self.chained >= CHAIN_MAX {
            self.expected("a simpler program", "the chain is too long: a table finds faster");
            return None;
        }
        self.chained += 1;
        let next = self.statement(depth);
        self.chained -= 1;
        Some(vec![next?])
    }

    /// The operator of `+=` and the like, up to its `=`.
    fn compound(&mut self) -> Option<&'static str> {
        const OPERATORS: [&str; 10] = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"];
        let (this, next) = (self.token(), self.tokens.get(self.at + 1)?);
        let is_joined = next.kind == TokenKind::Mark('=') && this.end == next.start;
        let operator = OPERATORS.into_iter().find(|operator| *operator == self.source())?;
        if !is_joined {
            return None;
        }
        self.advance();
        Some(operator)
    }

    fn assignment(&mut self) -> Option<Statement> {
        let help = "statements are let, var, if, when, for, find, insert, delete, refresh, within, \
                    count, strip, prepend, shorten, truncate, clone, send, drop, return and \
                    assignments";
        let mut first = self.name("a statement", help)?;
        let is_raw = first.text == "raw" && self.kind() == &TokenKind::Name;
        if is_raw {
            first = self.name("a header", "write `raw header.field = value;`")?;
        }
        if first.text == "byte" && self.takes(&TokenKind::Mark('(')) {
            return self.byte_assignment(first);
        }
        let field = if self.takes(&TokenKind::Mark('.')) {
            Some(self.name("a field", "write `header.field = value;`")?)
        } else {
            None
        };
        let operator = self.compound();
        if !self.takes(&TokenKind::Mark('=')) {
            self.expected("`=`", self.help_for(&first.text).unwrap_or(help));
            return None;
        }
        let value = self.expr()?;
        let kind = match &field {
            Some(field) => ExprKind::Field(first.clone(), field.clone()),
            None => ExprKind::Name(first.text.clone()),
        };
        let end = field.as_ref().map_or(first.span, |field| field.span);
        let value = compounded(operator, Expr { kind, span: first.span.to(end) }, value);
        match field {
            Some(field) => Some(Statement::Assign { is_raw, header: first, field, value }),
            None if is_raw => {
                self.expected("a field", "write `raw header.field = value;`");
                None
            }
            None => Some(Statement::Set(first, value)),
        }
    }
    /// What a statement of another language is called here: it begins with a word, behind which
    /// this token is.
    fn help_for(&self, word: &str) -> Option<&'static str> {
        let next = self.tokens.get(self.at + 1).map(|next| &next.kind);
        let is_double = |text| self.source() == text && next == Some(self.kind());
        match word {
            "while" | "loop" => Some("loops have constant bounds: `for i in 0..4 { ... }`"),
            _ if is_double("+") => Some("write `+= 1`"),
            _ if is_double("-") => Some("write `-= 1`"),
            _ if self.kind() == &TokenKind::Operator("==") => {
                Some("`=` assigns; `==` compares, in `if a == b { ... }`")
            }
            _ => None,
        }
    }

    /// Behind `byte(`.
    fn byte_assignment(&mut self, word: Word) -> Option<Statement> {
        let help = "write `byte(offset) = value;`";
        let offset = self.expr()?;
        self.mark(')', help)?;
        let span = word.span.to(self.before());
        let operator = self.compound();
        self.mark('=', help)?;
        let value = self.expr()?;
        let kind = ExprKind::Call(word.clone(), vec![offset.clone()]);
        let value = compounded(operator, Expr { kind, span }, value);
        Some(Statement::SetByte(word, offset, value))
    }
}

/// The value of `old += value` and the like.
fn compounded(operator: Option<&'static str>, old: Expr, value: Expr) -> Expr {
    let Some(operator) = operator else { return value };
    let span = old.span.to(value.span);
    Expr { kind: ExprKind::Binary(operator, Box::new(old), Box::new(value)), span }
}
