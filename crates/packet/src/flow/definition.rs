//! Definitions of apps: from tokens to a tree. Behind an error parsing continues at the next
//! statement.

use super::code::address::address;
use super::code::ast::{
    AfterDef, Definition, Expr, ExprKind, HeaderDef, KeyDef, MeterDef, MeterUnit, On, PortDef,
    Statement, Word, WordDef,
};
use super::lex::TokenKind;
use super::literal::Literal;
use super::parse::Parser;
use crate::app::{Direction, Value};

/// Blocks within blocks.
const BLOCKS_MAX: u32 = 64;

/// Branches behind each other, as in `if ... else if ... else if ...`.
const CHAIN_MAX: u32 = 128;

/// Parts of an expression.
const PARTS_MAX: u32 = 200;

/// Binary operators, and how tightly they bind.
const OPERATORS: [(&str, u32); 18] = [
    ("||", 1),
    ("&&", 2),
    ("==", 3),
    ("!=", 3),
    ("<=", 3),
    (">=", 3),
    ("<", 3),
    (">", 3),
    ("|", 4),
    ("^", 5),
    ("&", 6),
    ("<<", 7),
    (">>", 7),
    ("+", 8),
    ("-", 8),
    ("*", 9),
    ("/", 9),
    ("%", 9),
];

impl Parser<'_> {
    /// Whether a definition begins here: `app Name`.
    pub(super) fn begins_definition(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|next| &next.kind);
        self.source() == "app" && next == Some(&TokenKind::Name)
    }

    pub(super) fn definition(&mut self) -> Option<Definition> {
        let first = self.at;
        self.advance();
        let name = self.name("the name of the app type", "write `app Name { ... }`")?;
        let mut made = Definition {
            name,
            keys: Vec::new(),
            ports: Vec::new(),
            words: Vec::new(),
            headers: Vec::new(),
            tables: Vec::new(),
            meters: Vec::new(),
            handlers: Vec::new(),
            source: String::new(),
            parameters: Vec::new(),
        };
        if self.takes(&TokenKind::Mark('(')) {
            self.key_definitions(&mut made.keys);
        }
        self.mark('{', "an app has a body: `app Name { ... }`")?;
        while !self.takes(&TokenKind::Mark('}')) {
            if self.kind() == &TokenKind::End {
                self.expected("`}`", "close the body of the app");
                return None;
            }
            let before = self.at;
            if self.part(&mut made).is_none() {
                self.recover_statement(before);
            }
        }
        self.finish_definition(first, &mut made);
        Some(made)
    }

    /// Its source and parameters: those of the tokens from `first` on.
    fn finish_definition(&mut self, first: usize, made: &mut Definition) {
        let tokens = &self.tokens[first..self.at];
        let mut written = tokens.first().map_or(0, |token| token.start as usize);
        let end = tokens.last().map_or(written, |token| token.end as usize);
        for token in tokens.iter().filter(|token| token.kind == TokenKind::Parameter) {
            let name = &self.source_of(token)[1..];
            match self.values.and_then(|values| values.get(name)) {
                Some(value) => {
                    made.source += &self.text[written..token.start as usize];
                    // `by$N` is two words.
                    let joins = made.source.ends_with(|c: char| c == '_' || c.is_alphanumeric());
                    made.source += if joins { " " } else { "" };
                    made.source += &value.to_string();
                    written = token.end as usize;
                }
                None => {
                    let span = self.span_of(token);
                    made.parameters.push(Word { text: name.to_owned(), span });
                }
            }
        }
        made.source += &self.text[written..end];
    }

    /// Behind an error parsing continues behind the keys.
    fn key_definitions(&mut self, keys: &mut Vec<KeyDef>) {
        while !self.takes(&TokenKind::Mark(')')) {
            let key = self.key_definition();
            let is_right = key.is_some();
            keys.extend(key);
            if is_right
                && (self.takes(&TokenKind::Mark(',')) || self.kind() == &TokenKind::Mark(')'))
            {
                continue;
            }
            if is_right {
                self.expected("`,` or `)`", "keys are separated by commas");
            }
            while !matches!(self.kind(), TokenKind::Mark(')' | '{') | TokenKind::End) {
                self.advance();
            }
            self.takes(&TokenKind::Mark(')'));
            return;
        }
    }

    fn key_definition(&mut self) -> Option<KeyDef> {
        let name = self.name("a key", "write `key: type` or `key: type = default`")?;
        self.mark(':', "write `key: type`")?;
        let kind = self.name("a type", "there are u8, u16, u32, u64, bool, ipv4 and mac")?;
        let mut default = None;
        if self.takes(&TokenKind::Mark('=')) {
            default = self.key_default();
        }
        Some(KeyDef { name, kind, default })
    }

    /// The default of a key. Behind an error parsing continues at the next key.
    fn key_default(&mut self) -> Option<Value> {
        let literal = self.literal();
        let is_literal = literal.is_some();
        let value = literal.and_then(Literal::value);
        match value {
            Some(_) => self.advance(),
            None => {
                match is_literal {
                    true => {
                        let help = format!("a default is {} at most", i64::MAX);
                        self.expected("a smaller number", &help);
                    }
                    false => {
                        let help = "a default is a number, a text, true or false";
                        self.expected("a default", help);
                    }
                }
                while !matches!(self.kind(), TokenKind::Mark(',' | ')' | '{') | TokenKind::End) {
                    self.advance();
                }
            }
        }
        value
    }

    pub(super) fn mark(&mut self, mark: char, help: &str) -> Option<()> {
        if !self.takes(&TokenKind::Mark(mark)) {
            self.expected(&format!("`{mark}`"), help);
            return None;
        }
        Some(())
    }

    pub(super) fn word(&mut self, word: &str) -> bool {
        let is = self.kind() == &TokenKind::Name && self.source() == word;
        if is {
            self.advance();
        }
        is
    }

    /// A missing one before the next line or the end of a block is reported, and parsing continues
    /// as if it was there.
    pub(super) fn semicolon(&mut self) -> Option<()> {
        let before_end = self.token().begins_line || self.kind() == &TokenKind::Mark('}');
        let found = self.mark(';', "end it with `;`");
        if before_end { Some(()) } else { found }
    }

    /// A part of the body.
    fn part(&mut self, made: &mut Definition) -> Option<()> {
        if self.word("ports") {
            self.mark('{', "write `ports { input in; output out; }`")?;
            while !self.takes(&TokenKind::Mark('}')) {
                made.ports.push(self.port_definition()?);
            }
        } else if self.word("state") {
            let name = self.name("a name", "write `state name = 0;`")?;
            let initial = self.initial();
            // The name is declared, whether its value is valid or not.
            let known = initial.unwrap_or(0);
            made.words.push(WordDef { name, is_counter: false, initial: known });
            initial?;
            self.semicolon()?;
        } else if self.word("counter") {
            let name = self.name("a name", "write `counter name;`")?;
            made.words.push(WordDef { name, is_counter: true, initial: 0 });
            self.semicolon()?;
        } else if self.word("on") {
            let on = self.on()?;
            let body = self.block(0)?;
            made.handlers.push((on, body));
        } else if self.word("header") {
            made.headers.push(self.header_definition()?);
        } else if self.word("meter") {
            made.meters.push(self.meter_definition()?);
        } else if self.word("table") {
            made.tables.push(self.table_definition()?);
        } else {
            let help = "an app has ports, state, counters, headers, meters, tables and handlers";
            self.expected("a part of an app", help);
            return None;
        }
        Some(())
    }

    /// Behind the name of a state word.
    fn initial(&mut self) -> Option<u64> {
        self.mark('=', "write `state name = 0;`")?;
        self.number("a number", "state begins with a number")
    }

    /// Behind `header`.
    fn header_definition(&mut self) -> Option<HeaderDef> {
        let help = "write `header name after udp when destination == 9 { field: 16; }`";
        let name = self.name("the name of the header", help)?;
        let mut made = HeaderDef { name, after: Vec::new(), fields: Vec::new(), size: None };
        if !self.word("after") {
            self.expected("`after`", help);
            return None;
        }
        loop {
            let parent = self.name("a header", help)?;
            let when = if self.word("when") { Some(self.when_field(help)?) } else { None };
            made.after.push(AfterDef { parent, when });
            if !self.word("or") {
                break;
            }
        }
        self.mark('{', help)?;
        while !self.takes(&TokenKind::Mark('}')) {
            let field = self.name("a field", help)?;
            if self.takes(&TokenKind::Mark(':')) {
                made.fields.push((field, self.number("how many bits", help)?));
            } else if field.text == "size" {
                made.size = Some(self.expr()?);
            } else {
                self.expected("`:`", help);
                return None;
            }
            self.semicolon()?;
        }
        Some(made)
    }

    /// `field == number, ...`
    fn when_field(&mut self, help: &str) -> Option<(Word, Vec<u64>)> {
        let field = self.name("a field", help)?;
        if !self.takes(&TokenKind::Operator("==")) {
            self.expected("`==`", help);
            return None;
        }
        let mut numbers = vec![self.number("a number", help)?];
        while self.takes(&TokenKind::Mark(',')) {
            numbers.push(self.number("a number", help)?);
        }
        Some((field, numbers))
    }

    /// Behind `meter`.
    fn meter_definition(&mut self) -> Option<MeterDef> {
        let help = "write `meter name bytes { rate 1000; burst 1500; }`";
        let name = self.name("the name of the meter", help)?;
        let unit = self.one_of("packets or bytes", &MeterUnit::NAMES, help)?;
        let mut made = MeterDef { name, unit, rate: None, burst: None };
        self.mark('{', help)?;
        while !self.takes(&TokenKind::Mark('}')) {
            let amount = match self.source() {
                "rate" => &mut made.rate,
                "burst" => &mut made.burst,
                _ => {
                    self.expected("`rate` or `burst`", help);
                    return None;
                }
            };
            self.advance();
            *amount = Some(self.expr()?);
            self.semicolon()?;
        }
        Some(made)
    }

    /// The contents between `on` and the block.
    fn on(&mut self) -> Option<On> {
        let span = self.span();
        if self.word("tick") {
            let mut every_ns = 1_000_000_000;
            if self.takes(&TokenKind::Mark('(')) {
                every_ns = self.seconds("write `on tick { ... }` or `on tick(0.5) { ... }`")?;
                self.mark(')', "write `on tick(0.5) { ... }`")?;
            }
            return Some(On::Tick(Word { text: "tick".to_owned(), span }, every_ns));
        }
        let is_expire = self.word("expire");
        let (what, help) = match is_expire {
            true => ("a table", "write `on expire(table) { ... }`"),
            false => ("an input", "write `on packet(in) { ... }`"),
        };
        if !is_expire && !self.word("packet") {
            let help =
                "write `on packet(in) { ... }`, `on tick { ... }` or `on expire(table) { ... }`";
            self.expected("`packet`, `tick` or `expire`", help);
            return None;
        }
        self.mark('(', help)?;
        let name = self.name(what, help)?;
        self.mark(')', help)?;
        Some(if is_expire { On::Expire(name) } else { On::Packet(name) })
    }

    fn port_definition(&mut self) -> Option<PortDef> {
        let direction = if self.word("input") {
            Direction::Input
        } else if self.word("output") {
            Direction::Output
        } else {
            self.expected("`input` or `output`", "write `input in;` or `output out;`");
            return None;
        };
        let name = self.name("the name of a port", "write `input in;` or `output out;`")?;
        let is_optional = self.word("optional");
        self.semicolon()?;
        Some(PortDef { name, direction, is_optional })
    }

    pub(super) fn number(&mut self, what: &str, help: &str) -> Option<u64> {
        match self.literal() {
            Some(Literal::Integer(number)) if number >= 0 => {
                self.advance();
                Some(number as u64)
            }
            _ => {
                self.expected(what, help);
                None
            }
        }
    }

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

    /// Continues behind the next `;`, or before the `}` that ends the block. What began at `before`
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
            "when" => {
                self.advance();
                let header = self.name("a header", "write `when ipv4 { ... }`")?;
                let yes = self.block(depth + 1)?;
                let no = self.otherwise(depth)?;
                return Some(Statement::When(header, yes, no));
            }
            "for" => {
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
                return Some(Statement::For(name, first, end, self.block(depth + 1)?));
            }
            "let" | "var" => {
                self.advance();
                let name = self.name("a name", "write `let name = value;`")?;
                self.mark('=', "write `let name = value;`")?;
                let value = self.expr()?;
                match keyword.as_str() {
                    "let" => Statement::Let(name, value),
                    _ => Statement::Var(name, value),
                }
            }
            "count" => {
                self.advance();
                let name = self.name("a counter", "write `count name;`")?;
                let column = match self.takes(&TokenKind::Mark('.')) {
                    true => Some(self.name("a column", "write `count table.column;`")?),
                    false => None,
                };
                let by = if self.word("by") { Some(self.expr()?) } else { None };
                Statement::Count(name, column, by)
            }
            "strip" => {
                self.advance();
                Statement::Strip(self.name("a header", "write `strip header;`")?)
            }
            "prepend" => {
                self.advance();
                let help = "write `prepend ethernet, ipv4, udp;`";
                let mut headers = vec![self.name("a header", help)?];
                while self.takes(&TokenKind::Mark(',')) {
                    headers.push(self.name("a header", help)?);
                }
                Statement::Prepend(headers)
            }
            "clone" => {
                self.advance();
                Statement::Clone(self.name("an output", "write `clone port;`")?)
            }
            "within" => {
                self.advance();
                let meter = self.name("a meter", "write `within meter { ... } else { ... }`")?;
                let by = if self.word("by") { Some(self.expr()?) } else { None };
                let yes = self.block(depth + 1)?;
                let no = self.otherwise(depth)?;
                return Some(Statement::Within(meter, by, yes, no));
            }
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
            "drop" => {
                self.advance();
                Statement::Drop(self.name("a reason", "write `drop reason;`")?)
            }
            _ => self.assignment()?,
        };
        self.semicolon()?;
        Some(made)
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

    fn assignment(&mut self) -> Option<Statement> {
        let help = "statements are let, var, if, when, for, find, insert, delete, refresh, within, \
                    count, strip, prepend, clone, send, drop and assignments";
        let mut first = self.name("a statement", help)?;
        let is_raw = first.text == "raw" && self.kind() == &TokenKind::Name;
        if is_raw {
            first = self.name("a header", "write `raw header.field = value;`")?;
        }
        let field = match self.takes(&TokenKind::Mark('.')) {
            true => Some(self.name("a field", "write `header.field = value;`")?),
            false => None,
        };
        if !self.takes(&TokenKind::Mark('=')) {
            self.expected("`=`", help);
            return None;
        }
        let value = self.expr()?;
        match field {
            Some(field) => Some(Statement::Assign { is_raw, header: first, field, value }),
            None if is_raw => {
                self.expected("a field", "write `raw header.field = value;`");
                None
            }
            None => Some(Statement::Set(first, value)),
        }
    }

    pub(super) fn expr(&mut self) -> Option<Expr> {
        let mut parts = PARTS_MAX;
        self.operators(0, &mut parts)
    }

    fn spend(&mut self, parts: &mut u32) -> Option<()> {
        if *parts == 0 {
            self.expected("a shorter expression", "name a part of it with `let`");
            return None;
        }
        *parts -= 1;
        Some(())
    }

    fn operator(&self) -> Option<(&'static str, u32)> {
        let text = match *self.kind() {
            TokenKind::Operator(text) => text,
            TokenKind::Mark(_) => self.source(),
            // `a -1` is a difference.
            TokenKind::Integer(_) | TokenKind::Double(_) if self.source().starts_with('-') => "-",
            _ => return None,
        };
        OPERATORS.iter().find(|(operator, _)| *operator == text).copied()
    }

    fn operators(&mut self, least: u32, parts: &mut u32) -> Option<Expr> {
        let mut left = self.operand(parts)?;
        while let Some((operator, binds)) = self.operator().filter(|(_, binds)| *binds > least) {
            self.spend(parts)?;
            let at = self.at;
            match self.tokens[at].kind {
                TokenKind::Integer(number) => {
                    self.tokens[at].kind = TokenKind::Integer(-number);
                    self.tokens[at].start += 1;
                }
                _ => self.advance(),
            }
            let right = self.operators(binds, parts)?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary(operator, Box::new(left), Box::new(right));
            left = Expr { kind, span };
        }
        Some(left)
    }

    fn literal_kind(&mut self, literal: &Literal) -> Option<ExprKind> {
        match literal {
            // A negative one is taken modulo 2^64.
            Literal::Integer(number) => return Some(ExprKind::Number(*number as u64)),
            Literal::Bool(truth) => return Some(ExprKind::Bool(*truth)),
            Literal::Text(text) => {
                if let Some(number) = address(text) {
                    return Some(ExprKind::Number(number));
                }
                self.expected("an address", "texts are \"10.0.0.1\" or \"02:00:00:00:00:01\"");
            }
            Literal::Double(_) => {
                self.expected("an expression", "numbers of programs are whole");
            }
        }
        None
    }

    fn operand(&mut self, parts: &mut u32) -> Option<Expr> {
        self.spend(parts)?;
        let start = self.span();
        if let Some(literal) = self.literal() {
            let kind = self.literal_kind(&literal)?;
            self.advance();
            return Some(Expr { kind, span: start });
        }
        let kind = match self.kind().clone() {
            TokenKind::Mark(mark @ ('!' | '-' | '~')) => {
                self.advance();
                ExprKind::Unary(mark, Box::new(self.operand(parts)?))
            }
            TokenKind::Mark('(') => {
                self.advance();
                let inner = self.operators(0, parts)?;
                self.mark(')', "close the parenthesis")?;
                return Some(inner);
            }
            TokenKind::Name => {
                let name = self.name("a name", "")?;
                if self.takes(&TokenKind::Mark('.')) {
                    ExprKind::Field(name, self.name("a field", "write `header.field`")?)
                } else if self.takes(&TokenKind::Mark('(')) {
                    let argument = self.operators(0, parts)?;
                    self.mark(')', "close the parenthesis")?;
                    ExprKind::Call(name, Box::new(argument))
                } else {
                    ExprKind::Name(name.text)
                }
            }
            _ => {
                self.expected("an expression", "a number, a name, header.field, byte(offset)");
                return None;
            }
        };
        let span = start.to(self.before());
        Some(Expr { kind, span })
    }
}
