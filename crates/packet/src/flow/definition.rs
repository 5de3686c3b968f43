//! Definitions of apps: from tokens to a tree. After an error parsing continues at the next
//! statement.

use super::code::address::address;
use super::code::ast::{
    AfterDef, Constant, Definition, HeaderDef, MeterDef, MeterUnit, On, PortDef, Word, WordDef,
};
use super::lex::TokenKind;
use super::literal::Literal;
use super::parse::Parser;
use crate::app::Direction;

impl Parser<'_> {
    /// Whether a definition begins here: `app Name`.
    pub(super) fn begins_definition(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map(|next| &next.kind);
        self.source() == "app" && next == Some(&TokenKind::Name)
    }

    pub(super) fn definition(&mut self) -> Option<Definition> {
        let (first, about) = (self.at, self.documentation());
        self.advance();
        let name = self.name("the name of the app type", "write `app Name { ... }`")?;
        let mut made = Definition {
            name,
            about,
            keys: Vec::new(),
            ports: Vec::new(),
            computed: Vec::new(),
            words: Vec::new(),
            headers: Vec::new(),
            tables: Vec::new(),
            meters: Vec::new(),
            functions: Vec::new(),
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
            let known = initial.unwrap_or(Constant::Number(0));
            made.words.push(WordDef { name, is_counter: false, initial: known });
            initial?;
            self.semicolon()?;
        } else if self.word("let") {
            let help = "write `let name = value;`, of keys";
            let name = self.name("a name", help)?;
            self.mark('=', help)?;
            made.computed.push((name, self.expr()?));
            self.semicolon()?;
        } else if self.word("counter") {
            let name = self.name("a name", "write `counter name;`")?;
            made.words.push(WordDef { name, is_counter: true, initial: Constant::Number(0) });
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
        } else if self.word("fn") {
            made.functions.push(self.function_definition()?);
        } else {
            let help = "an app has ports, values, state, counters, headers, meters, tables, \
                        functions and handlers";
            self.expected("a part of an app", help);
            return None;
        }
        Some(())
    }

    /// After the name of a state word.
    fn initial(&mut self) -> Option<Constant> {
        self.mark('=', "write `state name = 0;`")?;
        let constant = match self.literal() {
            Some(Literal::Integer(number)) if number >= 0 => Some(Constant::Number(number as u64)),
            Some(Literal::Bool(truth)) => Some(Constant::Bool(truth)),
            Some(Literal::Text(text)) => address(&text),
            _ => None,
        };
        match constant {
            Some(_) => self.advance(),
            None => {
                self.expected("a constant", "state begins with a number, an address or `true`");
            }
        }
        constant
    }

    /// After `header`.
    fn header_definition(&mut self) -> Option<HeaderDef> {
        let help = "write `header name after udp when destination == 9 { field: 16; }`";
        let name = self.name("the name of the header", help)?;
        let mut made =
            HeaderDef { name, at: None, after: Vec::new(), fields: Vec::new(), size: None };
        let span = self.span();
        if self.word("at") {
            let number = self.number("an offset", "write `header name at 14 { field: 16; }`")?;
            made.at = Some((number, span.to(self.before())));
        } else if self.word("in") {
            made.after.push(self.header_inside()?);
        } else if !self.word("after") {
            self.expected("`after`", help);
            return None;
        }
        while made.at.is_none() && made.after.iter().all(|after| after.at.is_none()) {
            let parent = self.name("a header", help)?;
            let when = if self.word("when") { Some(self.when_field(help)?) } else { None };
            made.after.push(AfterDef { parent, when, at: None });
            if !self.word("or") {
                break;
            }
        }
        self.mark('{', help)?;
        while !self.takes(&TokenKind::Mark('}')) {
            let field = self.name("a field", help)?;
            if self.takes(&TokenKind::Mark(':')) {
                made.fields.push((field, self.number("a number of bits", help)?));
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

    /// After `header name in`.
    fn header_inside(&mut self) -> Option<AfterDef> {
        let help = "write `header name in tcp at 20 { kind: 8; bytes: 8; }`";
        let parent = self.name("a header", help)?;
        if !self.word("at") {
            self.expected("`at`", help);
            return None;
        }
        let at = Some(self.expr()?);
        let when = if self.word("when") { Some(self.when_field(help)?) } else { None };
        Some(AfterDef { parent, when, at })
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

    /// After `meter`.
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
        let (what, help) = if is_expire {
            ("a table", "write `on expire(table) { ... }`")
        } else {
            ("an input", "write `on packet(in) { ... }`")
        };
        if !is_expire && !self.word("packet") {
            let help =
                "write `on packet(in) { ... }`, `on tick { ... }` or `on expire(table) { ... }`";
            self.expected("`packet`, `tick` or `expire`", help);
            return None;
        }
        self.mark('(', help)?;
        let name = self.name(what, help)?;
        if is_expire {
            self.mark(')', help)?;
            return Some(On::Expire(name));
        }
        let mut inputs = vec![name];
        while self.takes(&TokenKind::Mark(',')) {
            inputs.push(self.name(what, help)?);
        }
        self.mark(')', help)?;
        Some(On::Packet(inputs))
    }

    fn port_definition(&mut self) -> Option<PortDef> {
        let about = self.documentation();
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
        Some(PortDef { about, name, direction, is_optional })
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
}
