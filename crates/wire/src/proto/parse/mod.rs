//! Parses tokens to a draft.
//!
//! ```text
//! file      = [ syntax ] { import | package | option | message | enum | service | extend | ; }
//! message   = "message" name "{" { field | group | map | oneof | message | enum | extend
//!             | extensions | reserved | option | ; } "}"
//! ```
//! Parsing never fails: an invalid statement is reported and skipped, up to its `;` or the end of
//! its braces, and parsing continues with the next one.

mod enums;
mod field;
mod message;
mod option;
mod range;
mod service;

use super::lex::{Token, TokenKind, integer, lex_into};
use super::places::{Places, Ranges};
use crate::schema::draft::{Dependency, Draft, FileDraft, ImportKind, Visibility};
use crate::schema::features::Edition;
use crate::schema::problem::{ElementId, Part, Problem};
use crate::schema::uninterpreted::TextRange;
use crate::schema::{FieldId, FileId, MessageId, Name};

/// The maximal nesting of messages, groups and values of options.
const DEPTH_MAX: usize = 32;

/// The problem of a file in an unknown language: no other problem of the file is reported.
pub(super) const UNKNOWN_SYNTAX: &str = "unknown-syntax";

/// An error that is already reported.
struct Failed;

type Parsed<T = ()> = Result<T, Failed>;

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    file: FileId,
    edition: Edition,
    depth: usize,
    /// The fields of the messages that are being read, those of the innermost last.
    members: Vec<FieldId>,
    draft: &'a mut Draft,
    places: &'a mut Places,
    problems: &'a mut Vec<Problem>,
}

/// The parent of definitions: a file or a message.
#[derive(Clone, Copy)]
enum Around {
    File,
    Message(MessageId),
}

impl Around {
    fn message(self) -> Option<MessageId> {
        match self {
            Around::File => None,
            Around::Message(id) => Some(id),
        }
    }
}

/// Parses a text to a new file of the draft; `tokens` is room for its tokens.
pub(super) fn parse(
    name: &str,
    text: &str,
    tokens: &mut Vec<Token>,
    draft: &mut Draft,
    places: &mut Places,
    problems: &mut Vec<Problem>,
) -> FileId {
    let place = places.push(Ranges::default());
    let file = FileDraft { name: name.into(), place, ..FileDraft::default() };
    let file = draft.push_file(file);
    lex_into(tokens, text, file, problems);
    let edition = Edition::Proto2;
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        file,
        edition,
        depth: 0,
        members: Vec::new(),
        draft,
        places,
        problems,
    };
    parser.file();
    file
}

/// Appends to a list that mostly has one element.
fn push_few<T>(list: &mut Vec<T>, one: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(one);
}

impl<'a> Parser<'a> {
    #[inline]
    fn token(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    #[inline]
    fn slice(&self, token: Token) -> &'a str {
        self.slice_of(token.range())
    }

    #[inline]
    fn slice_of(&self, (start, end): TextRange) -> &'a str {
        // A string that does not end may stop inside a character: then it is reported already.
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    /// The bytes of a token, to match words against: a `match` of bytes is faster.
    #[inline]
    fn bytes(&self, token: Token) -> &'a [u8] {
        self.text.as_bytes().get(token.start as usize..token.end as usize).unwrap_or(b"")
    }

    #[inline]
    fn advance(&mut self) -> Token {
        let token = self.token();
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        token
    }

    #[inline]
    fn previous(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }

    #[inline]
    fn at_end(&self) -> bool {
        self.token().kind == TokenKind::End
    }

    #[inline]
    fn at_sign(&self, sign: u8) -> bool {
        self.token().kind == TokenKind::Sign(sign)
    }

    #[inline]
    fn at_word(&self, word: &str) -> bool {
        let token = self.token();
        token.kind == TokenKind::Word && self.bytes(token) == word.as_bytes()
    }

    /// The token after the next.
    #[inline]
    fn second(&self) -> Token {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    #[inline]
    fn take_sign(&mut self, sign: u8) -> bool {
        let there = self.at_sign(sign);
        if there {
            self.advance();
        }
        there
    }

    #[inline]
    fn take_word(&mut self, word: &str) -> bool {
        let there = self.at_word(word);
        if there {
            self.advance();
        }
        there
    }

    fn error(
        &mut self,
        code: &'static str,
        range: TextRange,
        message: impl Into<String>,
    ) -> Failed {
        let at = (self.file, ElementId::NONE, Part::Range(range.0, range.1));
        self.problems.push(Problem::error(code, at, message));
        Failed
    }

    fn help(&mut self, help: impl Into<String>) -> Failed {
        if let Some(problem) = self.problems.last_mut() {
            problem.help = Some(help.into());
        }
        Failed
    }

    /// Reports that the next token is not the expected one.
    fn expected(&mut self, what: &str) -> Failed {
        let token = self.token();
        let message = match token.kind {
            TokenKind::End => format!("the text ends where {what} is expected"),
            _ => format!("{what} is expected, not `{}`", self.slice(token)),
        };
        self.error("syntax", token.range(), message)
    }

    fn expect_sign(&mut self, sign: u8) -> Parsed<Token> {
        if self.at_sign(sign) {
            Ok(self.advance())
        } else {
            Err(self.expected(&format!("`{}`", char::from(sign))))
        }
    }

    fn expect_word(&mut self, word: &str) -> Parsed {
        if self.take_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    fn name(&mut self, what: &str) -> Parsed<(Name, TextRange)> {
        let token = self.word(what)?;
        Ok((self.slice(token).into(), token.range()))
    }

    fn word(&mut self, what: &str) -> Parsed<Token> {
        let token = self.token();
        if token.kind != TokenKind::Word {
            return Err(self.expected(what));
        }
        self.advance();
        Ok(token)
    }

    /// `a.b.c`, possibly with a leading dot.
    fn path(&mut self, what: &str) -> Parsed<(Name, TextRange)> {
        let first = self.at;
        self.take_sign(b'.');
        self.word(what)?;
        while self.take_sign(b'.') {
            self.word(what)?;
        }
        let parts = &self.tokens[first..self.at];
        let range = (parts[0].start, self.previous().end);
        // There may be blanks between the parts, but mostly are not.
        let path = match parts.iter().map(|part| part.end - part.start).sum::<u32>() {
            length if length == range.1 - range.0 => self.slice_of(range).into(),
            _ => Name::from(parts.iter().map(|&part| self.slice(part)).collect::<String>()),
        };
        Ok((path, range))
    }

    fn integer(&mut self, what: &str) -> Parsed<(u64, TextRange)> {
        let token = self.token();
        if token.kind != TokenKind::Integer {
            return Err(self.expected(what));
        }
        self.advance();
        match integer(self.slice(token)) {
            Some(value) => Ok((value, token.range())),
            None if self.is_reported(token) => Err(Failed),
            None => Err(self.error("number-range", token.range(), "this number is too great")),
        }
    }

    /// True if the lexer reported an error there.
    fn is_reported(&self, token: Token) -> bool {
        let starts = |problem: &Problem| match problem.part {
            Part::Range(start, _) => (token.start..=token.end).contains(&start),
            _ => false,
        };
        self.problems.iter().any(|problem| problem.file == self.file && starts(problem))
    }

    /// An integer with or without a minus that fits 32 bits.
    fn signed(&mut self, what: &str) -> Parsed<(i32, TextRange)> {
        let start = self.token().start;
        let minus = self.take_sign(b'-');
        let (value, (_, end)) = self.integer(what)?;
        let value = i64::try_from(value).map(|value| if minus { -value } else { value });
        match value.ok().and_then(|value| i32::try_from(value).ok()) {
            Some(value) => Ok((value, (start, end))),
            None => {
                let message = "this number does not fit into 32 bits";
                Err(self.error("number-range", (start, end), message))
            }
        }
    }

    /// One or several adjacent strings.
    fn string(&mut self, what: &str) -> Parsed<(Vec<u8>, TextRange)> {
        if self.token().kind != TokenKind::String {
            return Err(self.expected(what));
        }
        let start = self.token().start;
        let mut out = Vec::new();
        while self.token().kind == TokenKind::String {
            let token = self.advance();
            let slice = self.slice(token);
            let inner = slice.get(1..slice.len().saturating_sub(1)).unwrap_or("");
            match crate::schema::default::unescape(inner) {
                Ok(bytes) => out.extend(bytes),
                Err(bad) => {
                    let first = token.start + 1;
                    let range = (first + bad.start as u32, first + bad.end as u32);
                    self.error("bad-escape", range, bad.what);
                }
            }
        }
        Ok((out, (start, self.previous().end)))
    }

    /// A string that must be UTF-8.
    fn text(&mut self, what: &str) -> Parsed<(String, TextRange)> {
        let (bytes, range) = self.string(what)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok((text, range)),
            Err(_) => Err(self.error("bad-utf8", range, "this string is not UTF-8")),
        }
    }

    fn end_statement(&mut self) -> Parsed {
        if self.take_sign(b';') {
            return Ok(());
        }
        let end = self.previous().end;
        let found = self.slice(self.token()).to_owned();
        let message = if self.at_end() {
            "`;` is expected where the text ends".to_owned()
        } else {
            format!("`;` is expected before `{found}`")
        };
        Err(self.error("syntax", (end, end), message))
    }

    fn place(&mut self, ranges: Ranges) -> ElementId {
        self.places.push(ranges)
    }

    /// Skips to the end of an invalid statement, but not past the brace that ends the block.
    fn skip_statement(&mut self) {
        while !self.at_end() {
            match self.token().kind {
                TokenKind::Sign(b';') => {
                    self.advance();
                    return;
                }
                TokenKind::Sign(b'{') => {
                    self.skip_block();
                    return;
                }
                TokenKind::Sign(b'}') => return,
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// Skips a block in braces.
    fn skip_block(&mut self) {
        let mut depth = 0usize;
        while !self.at_end() {
            match self.advance().kind {
                TokenKind::Sign(b'{') => depth += 1,
                TokenKind::Sign(b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// `{ statement* }`; an invalid statement is skipped.
    fn block(&mut self, mut statement: impl FnMut(&mut Self) -> Parsed) -> Parsed {
        let open = self.expect_sign(b'{')?;
        if self.depth >= DEPTH_MAX {
            self.at -= 1;
            self.skip_block();
            let message = format!("blocks nest more than {DEPTH_MAX} deep");
            self.error("too-deep", open.range(), message);
            return Ok(());
        }
        self.depth += 1;
        while !self.at_sign(b'}') {
            if self.at_end() {
                self.error("syntax", open.range(), "this brace is never closed");
                self.depth -= 1;
                return Ok(());
            }
            if self.take_sign(b';') {
                continue;
            }
            let before = self.at;
            if statement(self).is_err() {
                self.skip_statement();
                if self.at == before && !self.at_sign(b'}') {
                    self.advance();
                }
            }
        }
        self.advance();
        self.depth -= 1;
        Ok(())
    }

    fn file(&mut self) {
        if self.at_word("syntax") || self.at_word("edition") {
            if self.syntax().is_err() {
                self.skip_statement();
            }
        } else {
            let at = (self.file, ElementId::NONE, Part::Range(0, 0));
            let message = "no syntax is given, so it is proto2";
            let help = "begin with `syntax = \"proto2\";`, or with an edition";
            self.problems.push(Problem::warning("no-syntax", at, message).help(help));
        }
        let edition = self.edition;
        self.draft.file_mut(self.file).edition = edition;
        while !self.at_end() {
            if self.take_sign(b';') {
                continue;
            }
            if self.at_sign(b'}') {
                let token = self.advance();
                self.error("syntax", token.range(), "this brace closes nothing");
                continue;
            }
            let before = self.at;
            if self.statement().is_err() {
                self.skip_statement();
                if self.at == before {
                    self.advance();
                }
            }
        }
    }

    fn syntax(&mut self) -> Parsed {
        let is_edition = self.at_word("edition");
        self.advance();
        self.expect_sign(b'=')?;
        let (text, range) = self.text("a string")?;
        let known = match (is_edition, text.as_str()) {
            (false, "proto2") => Edition::Proto2,
            (false, "proto3") => Edition::Proto3,
            (true, "2023") => Edition::Edition2023,
            (true, "2024") => Edition::Edition2024,
            _ => {
                let what = if is_edition { "edition" } else { "syntax" };
                let message = format!("{what} \"{text}\" is not known");
                self.error(UNKNOWN_SYNTAX, range, message);
                self.help("there are syntaxes \"proto2\", \"proto3\", editions \"2023\", \"2024\"");
                if is_edition { Edition::Edition2024 } else { Edition::Proto3 }
            }
        };
        self.edition = known;
        self.end_statement()
    }

    fn statement(&mut self) -> Parsed {
        let token = self.token();
        if token.kind != TokenKind::Word {
            return Err(self.expected("a declaration"));
        }
        if let Some(visibility) = self.visibility() {
            return self.visible(visibility, Around::File);
        }
        match self.slice(token) {
            "message" => self.message(Around::File, Visibility::Unset),
            "enum" => self.enumeration(Around::File, Visibility::Unset),
            "service" => self.service(),
            "extend" => self.extend(Around::File),
            "import" => self.import(),
            "package" => self.package(),
            "option" => {
                let mut options = self.draft.file_mut(self.file).options.take();
                let result = self.option_statement(&mut options);
                self.draft.file_mut(self.file).options = options;
                result
            }
            _ => Err(self.expected("a declaration (message, enum, service, extend, import ...)")),
        }
    }

    /// `export` or `local`, if a declaration follows.
    fn visibility(&mut self) -> Option<Visibility> {
        let visibility = match self.bytes(self.token()) {
            b"export" => Visibility::Export,
            b"local" => Visibility::Local,
            _ => return None,
        };
        let second = self.second();
        let declares = second.kind == TokenKind::Word
            && matches!(self.slice(second), "message" | "enum" | "service" | "extend");
        declares.then_some(visibility)
    }

    fn visible(&mut self, visibility: Visibility, around: Around) -> Parsed {
        let range = self.advance().range();
        if self.edition < Edition::Edition2024 {
            let word = &self.text[range.0 as usize..range.1 as usize];
            let message = format!("`{word}` is for edition 2024 and later");
            self.error("visibility", range, message);
        }
        if self.at_word("message") {
            self.message(around, visibility)
        } else if self.at_word("enum") {
            self.enumeration(around, visibility)
        } else {
            let message = "only messages and enums are exported or local";
            Err(self.error("visibility", range, message))
        }
    }

    fn import(&mut self) -> Parsed {
        let start = self.advance().start;
        let word = self.token();
        let kind = match self.slice(word) {
            "public" => ImportKind::Public,
            "weak" => ImportKind::Weak,
            "option" => ImportKind::Option,
            _ => ImportKind::Plain,
        };
        if kind != ImportKind::Plain {
            self.advance();
        }
        if kind == ImportKind::Option && self.edition < Edition::Edition2024 {
            let message = "`import option` is for edition 2024 and later";
            self.error("import-option", word.range(), message);
        }
        if kind == ImportKind::Weak && self.edition >= Edition::Edition2024 {
            let message = "`import weak` ended with edition 2023";
            self.error("import-weak", word.range(), message);
            self.help("use `import option` for what only options need");
        }
        let (name, range) = self.text("the name of a file in quotes")?;
        let place =
            self.place(Ranges { name: range, other: (start, range.1), ..Ranges::default() });
        let after_options = self.draft.file(self.file).dependencies.iter();
        let late = after_options.clone().any(|one| one.kind == ImportKind::Option);
        if late && kind != ImportKind::Option {
            let message = "plain imports stand before those for options";
            self.error("import-order", range, message);
        }
        let import = Dependency { name, kind, file: None, place };
        self.draft.file_mut(self.file).dependencies.push(import);
        self.end_statement()
    }

    fn package(&mut self) -> Parsed {
        let start = self.advance().start;
        let (name, range) = self.path("the name of a package")?;
        let place = self.draft.file(self.file).place;
        if self.draft.file(self.file).package.is_some() {
            self.error("duplicate-package", (start, range.1), "the package is given twice");
        } else if name.starts_with('.') {
            self.error("syntax", range, "a package does not begin with a dot");
        } else {
            self.places.set_type(place, range);
            self.draft.file_mut(self.file).package = Some(name.to_string());
        }
        self.end_statement()
    }
}
