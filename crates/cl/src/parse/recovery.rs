//! Messages of errors, and where parsing continues.
//!
//! An error is reported once per token. Where one slip is likely (a keyword in lower case, `=` for
//! `:=`, a missing `;` or END) the parser reports it and continues as if it were right; else the
//! part fails, and the caller that reads a list of parts skips to where the next one can begin.

use super::{DIAGNOSTICS_MAX, NESTING_MAX, Parser};
use crate::ast::Ident;
use crate::lex::{KEYWORD_LENGTH_MAX, TokenKind};
use tidemill_diag::{Diagnostic, Span};

/// Something was wrong, and has been reported.
#[derive(Debug)]
pub(super) struct Failed;

pub(super) type Parsed<T> = Result<T, Failed>;

/// What can only begin a declaration.
const DECLARATIONS: [TokenKind; 6] = [
    TokenKind::Component,
    TokenKind::Interface,
    TokenKind::Constant,
    TokenKind::Variable,
    TokenKind::Procedure,
    TokenKind::Implementation,
];

/// What ends a sequence of statements.
const SEQUENCE_ENDS: [TokenKind; 8] = [
    TokenKind::KeywordEnd,
    TokenKind::Else,
    TokenKind::Elsif,
    TokenKind::Elseif,
    TokenKind::Until,
    TokenKind::Activity,
    TokenKind::Finally,
    TokenKind::End,
];

/// Keywords that begin a statement.
const STATEMENTS: [TokenKind; 13] = [
    TokenKind::New,
    TokenKind::Connect,
    TokenKind::Disconnect,
    TokenKind::Delete,
    TokenKind::Move,
    TokenKind::Await,
    TokenKind::Return,
    TokenKind::If,
    TokenKind::While,
    TokenKind::Repeat,
    TokenKind::For,
    TokenKind::Foreach,
    TokenKind::Begin,
];

impl Parser<'_> {
    pub(super) fn at_declaration(&self) -> bool {
        self.is_one_of(&DECLARATIONS)
    }

    pub(super) fn at_sequence_end(&self) -> bool {
        self.is_one_of(&SEQUENCE_ENDS) || self.at_declaration()
    }

    /// The next token is a keyword that begins a statement.
    pub(super) fn at_statement_keyword(&self) -> bool {
        self.is_one_of(&STATEMENTS)
    }

    // Reporting.

    /// An error at the next token, still to be reported.
    pub(super) fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.span(), message)
    }

    /// Reports an error, unless one was reported at this very token.
    pub(super) fn fail<T>(&mut self, error: Diagnostic) -> Parsed<T> {
        self.complain(error);
        Err(Failed)
    }

    /// As [`Parser::fail`], where parsing continues as if there were no error.
    pub(super) fn complain(&mut self, error: Diagnostic) {
        if self.last_error != Some(self.at) {
            self.last_error = Some(self.at);
            self.report(error);
        }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < DIAGNOSTICS_MAX {
            self.diagnostics.push(diagnostic);
        } else {
            self.given_up.get_or_insert(diagnostic.span);
            self.give_up();
        }
    }

    /// Parsing cannot continue: everything open is closed, without further errors.
    fn give_up(&mut self) {
        self.at = self.tokens.len() - 1;
        self.last_error = Some(self.at);
    }

    /// Fails because something else was expected here; `help` describes its use.
    pub(super) fn expected<T>(&mut self, what: &str, help: &str) -> Parsed<T> {
        let found = self.kind().describe(self.slice());
        let error = self.error("unexpected-token", format!("expected {what}, found {found}"));
        self.fail(if help.is_empty() { error } else { error.help(help) })
    }

    /// Why the next token is no name.
    pub(super) fn name_help(&self) -> &'static str {
        if TokenKind::KEYWORDS.contains(&self.kind()) && !self.at_sequence_end() {
            "words in upper case may be keywords, which are no names"
        } else {
            ""
        }
    }

    /// Runs `part` one level deeper, or fails where that is too deep.
    pub(super) fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= NESTING_MAX {
            return self.too_deep();
        }
        self.nesting += 1;
        let done = part(self);
        self.nesting -= 1;
        done
    }

    pub(super) fn too_deep<T>(&mut self) -> Parsed<T> {
        let error = self.error("nesting-too-deep", "this is nested too deep");
        self.complain(error.help("put a part of it into a procedure or a variable"));
        self.give_up();
        Err(Failed)
    }

    // Slips.

    /// Consumes a name that is `keyword` but for its case, and reports that.
    pub(super) fn eat_lower_case(&mut self, keyword: TokenKind) -> bool {
        let slip = self.is(TokenKind::Ident)
            && !keyword.text().is_empty()
            && self.slice().eq_ignore_ascii_case(keyword.text());
        if slip {
            self.correct_case(keyword);
            self.next();
        }
        slip
    }

    /// The keyword that the next token is but for its case.
    pub(super) fn lower_case_keyword(&self) -> Option<TokenKind> {
        if !self.is(TokenKind::Ident) {
            return None;
        }
        let word = self.slice().as_bytes();
        let mut upper = [0; KEYWORD_LENGTH_MAX];
        let upper = upper.get_mut(..word.len())?;
        upper.copy_from_slice(word);
        upper.make_ascii_uppercase();
        TokenKind::keyword(str::from_utf8(upper).ok()?)
    }

    /// From now on the next token is `keyword`.
    pub(super) fn correct_case(&mut self, keyword: TokenKind) {
        let message = format!("`{}` is no keyword", self.slice());
        let help = format!("keywords are in upper case: write `{}`", keyword.text());
        let at = self.at;
        self.tokens[at].kind = keyword;
        self.complain(self.error("lowercase-keyword", message).help(help));
    }

    /// Consumes the `;` after a `what`, or reports that it is missing.
    pub(super) fn semicolon(&mut self, what: &str) {
        if self.eat(TokenKind::Semicolon) {
            return;
        }
        if self.is(TokenKind::Dot) {
            let error = self.error("missing-semicolon", format!("{what} ends with `;`"));
            self.complain(error.help("write `;` instead of `.`"));
            return self.next();
        }
        let message = format!("`;` is missing after the {what}");
        let error = Diagnostic::error("missing-semicolon", self.previous(), message);
        self.complain(error.help("put a `;` after it"));
    }

    /// Two symbols side by side without a blank.
    pub(super) fn is_joined(&self, first: TokenKind, second: TokenKind) -> bool {
        self.is(first)
            && self.ahead(1) == second
            && self.span().end == self.span_at(self.at + 1).start
    }

    // END.

    /// The name of what is being declared; nothing where a head continues without it.
    pub(super) fn declared_name(&mut self, what: &str) -> Parsed<Ident> {
        let name = self.ident(what);
        let goes_on = self.is(TokenKind::LParen) || self.is(TokenKind::Semicolon);
        if name.is_err() && goes_on {
            return Ok(Ident { text: String::new(), span: self.span() });
        }
        name
    }

    /// Keeps a name for its END; `span` is where it was given.
    pub(super) fn opened(&mut self, name: &str, span: Span) {
        self.open.push(super::Open { name: name.into(), span });
    }

    /// Reads `END name ;` of what was opened last.
    pub(super) fn close(&mut self, what: &str) {
        let open = self.open.pop().expect("closed once for each time it was opened");
        if !(self.eat(TokenKind::KeywordEnd) || self.eat_lower_case(TokenKind::KeywordEnd)) {
            return self.missing_end(&format!("{what} `{}`", open.name), &open.name, open.span);
        }
        let help = format!("write `END {};`", open.name);
        if self.is(TokenKind::Ident) {
            let name = self.slice();
            if name != open.name && !open.name.is_empty() {
                if self.open.iter().any(|outer| outer.name == name) {
                    // This END is that of something around it.
                    self.at -= 1;
                    return self.missing_end(
                        &format!("{what} `{}`", open.name),
                        &open.name,
                        open.span,
                    );
                }
                let message = format!("this ends `{}`, not `{name}`", open.name);
                let error = self.error("wrong-end-name", message).help(help);
                self.complain(error.label(open.span, "which begins here"));
            }
            self.next();
        } else {
            let message = format!("END does not say that it ends `{}`", open.name);
            let error = Diagnostic::error("missing-end-name", self.previous(), message);
            self.complain(error.help(help).label(open.span, "which begins here"));
        }
        self.semicolon(what);
    }

    /// Consumes the END of a statement that began with the keyword at `start`.
    pub(super) fn statement_end(&mut self, start: Span, keyword: &str) {
        if !self.is(TokenKind::KeywordEnd) && !self.eat_lower_case_end() {
            return self.missing_end(keyword, "", start);
        }
        let named = self.ahead(1) == TokenKind::Ident
            && self.open.iter().any(|it| it.name == self.text_at(self.at + 1));
        if self.is(TokenKind::KeywordEnd) && named {
            return self.missing_end(keyword, "", start);
        }
        self.eat(TokenKind::KeywordEnd);
    }

    /// As [`Parser::eat_lower_case`], but leaves the corrected token.
    fn eat_lower_case_end(&mut self) -> bool {
        let slip = self.lower_case_keyword() == Some(TokenKind::KeywordEnd);
        if slip {
            self.correct_case(TokenKind::KeywordEnd);
        }
        slip
    }

    fn missing_end(&mut self, what: &str, name: &str, start: Span) {
        let mut found = self.kind().describe(self.slice());
        if self.is(TokenKind::KeywordEnd) && self.ahead(1) == TokenKind::Ident {
            found = format!("`END {}`", self.text_at(self.at + 1));
        }
        let message = format!("{what} has no END before {found}");
        let help = match name {
            "" if what == "IF" && self.has_else_if(start) => {
                "`ELSE IF` begins an IF that has an END of its own: write `ELSIF`".into()
            }
            "" => "write `END`".into(),
            name => format!("write `END {name};`"),
        };
        let error = self.error("missing-end", message).help(help);
        self.complain(error.label(start, "it begins here"));
    }

    /// Whether an IF follows an ELSE between the start and here.
    fn has_else_if(&self, start: Span) -> bool {
        let read = self.tokens[..self.at].iter();
        let inside: Vec<TokenKind> =
            read.rev().take_while(|it| it.start >= start.start).map(|it| it.kind).collect();
        inside.windows(2).any(|pair| pair == [TokenKind::If, TokenKind::Else])
    }

    // Going on after an error.

    /// Skips to the `;` of the statement being read, or to what ends its sequence or begins
    /// another statement.
    pub(super) fn skip_statement(&mut self, from: usize) {
        self.skip_to(from, |it| {
            it.is(TokenKind::Semicolon) || it.at_sequence_end() || it.at_statement_keyword()
        });
    }

    /// Skips to `keyword`, or to where the statement must have ended.
    pub(super) fn skip_to_keyword(&mut self, keyword: TokenKind) {
        self.skip_to(usize::MAX, |it| {
            it.is(keyword)
                || it.lower_case_keyword() == Some(keyword)
                || it.is(TokenKind::Semicolon)
                || it.at_sequence_end()
                || it.at_statement_keyword()
        });
    }

    /// Skips to the `;` of a declaration, or to what begins another or the statements.
    pub(super) fn skip_declaration(&mut self, from: usize) {
        self.skip_to(from, |it| {
            it.is(TokenKind::Semicolon) || it.is(TokenKind::Begin) || it.at_sequence_end()
        });
    }

    /// Skips to where `stop` holds, and at least one token if none was read since `from`.
    fn skip_to(&mut self, from: usize, stop: impl Fn(&Self) -> bool) {
        while !self.is(TokenKind::End) && (self.at == from && !self.is_hard_stop() || !stop(self)) {
            self.next();
        }
    }

    /// What must not be skipped, even if nothing was read: a caller can use it.
    fn is_hard_stop(&self) -> bool {
        self.is(TokenKind::Semicolon) || self.at_sequence_end() || self.is(TokenKind::Begin)
    }
}
