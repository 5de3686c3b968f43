//! Which tokens share a line, and how far it is indented.
//!
//! The keywords of the language delimit everything, so a stack of open blocks is enough; the
//! source is known to be right.

use crate::lex::{Token, TokenKind};

/// Tokens that are placed on one line if they fit, comments among them.
pub(super) struct TokenLine {
    /// Levels of indentation.
    pub(super) level: usize,
    pub(super) tokens: Vec<Token>,
    pub(super) kind: LineKind,
}

/// How a line changes the nesting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Nothing.
    Plain,
    /// What follows is inside of it.
    Opens,
    /// It ends what is before it: `END`.
    Closes,
    /// Both: `ELSE`.
    Turns,
    /// The messages of an interface.
    Protocol,
}

impl LineKind {
    pub(super) fn opens(self) -> bool {
        matches!(self, LineKind::Opens | LineKind::Turns)
    }

    pub(super) fn closes(self) -> bool {
        matches!(self, LineKind::Closes | LineKind::Turns)
    }
}

/// An open block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// A component, procedure or implementation before its statements.
    Declarations,
    /// The same after BEGIN, ACTIVITY or FINALLY.
    Statements,
    Interface,
    /// CONSTANT or VARIABLE above several declarations.
    Section,
    /// IF, WHILE, REPEAT and the like.
    Block,
}

/// The lines of a source; comments belong to the line whose tokens surround or follow them.
pub(super) fn split(tokens: &[Token]) -> Vec<TokenLine> {
    let mut splitter = Splitter { tokens, at: 0, lines: Vec::new(), open: Vec::new() };
    while splitter.kind(0) != TokenKind::End {
        splitter.line();
    }
    splitter.finish()
}

struct Splitter<'a> {
    tokens: &'a [Token],
    at: usize,
    lines: Vec<TokenLine>,
    open: Vec<Frame>,
}

impl Splitter<'_> {
    /// The kind of the `ahead`-th token from here that is no comment.
    fn kind(&self, ahead: usize) -> TokenKind {
        let rest = self.tokens[self.at..].iter().map(|token| token.kind);
        rest.filter(|kind| *kind != TokenKind::Comment).nth(ahead).unwrap_or(TokenKind::End)
    }

    /// The tokens up to the one after which `ends` holds, or before which `stops` does.
    fn take(
        &mut self,
        mut ends: impl FnMut(TokenKind) -> bool,
        stops: impl Fn(TokenKind) -> bool,
    ) -> Vec<Token> {
        let from = self.at;
        let mut seen = false;
        while let Some(token) = self.tokens.get(self.at) {
            let comment = token.kind == TokenKind::Comment;
            if seen && !comment && stops(token.kind) {
                break;
            }
            self.at += 1;
            seen |= !comment;
            if !comment && ends(token.kind) {
                break;
            }
        }
        // Comments before a token that ends a line stay with that token.
        while self.at > from + 1 && self.tokens[self.at - 1].kind == TokenKind::Comment {
            self.at -= 1;
        }
        self.tokens[from..self.at].to_vec()
    }

    fn push(&mut self, level: usize, tokens: Vec<Token>, kind: LineKind) {
        self.lines.push(TokenLine { level, tokens, kind });
    }

    fn line(&mut self) {
        use TokenKind::*;
        let first = self.kind(0);
        if !matches!(first, Ident | Semicolon) && self.open.last() == Some(&Frame::Section) {
            self.open.pop();
        }
        let level = self.open.len();
        let outer = level.saturating_sub(1);
        match first {
            Semicolon => {
                let tokens = self.take(|_| true, |_| false);
                match self.lines.last_mut() {
                    Some(line) => line.tokens.extend(tokens),
                    None => self.push(level, tokens, LineKind::Plain),
                }
            }
            Component | Procedure | Implementation | Interface => self.head(level, first),
            Constant | Variable => self.section(level),
            In | Out | LBracket | LBrace | LParen
                if self.open.last() == Some(&Frame::Interface) =>
            {
                let tokens = self.take(|_| false, |kind| kind == KeywordEnd);
                self.push(level, tokens, LineKind::Protocol);
            }
            Begin if self.open.last() != Some(&Frame::Declarations) => self.opener(level, Begin),
            Begin | Activity | Finally => {
                if let Some(frame) = self.open.last_mut() {
                    *frame = Frame::Statements;
                }
                let tokens = self.with_attributes(first);
                self.push(outer, tokens, LineKind::Turns);
            }
            If => self.opener(level, Then),
            While | For | Foreach => self.opener(level, Do),
            Repeat => self.opener(level, Repeat),
            Else => {
                let tokens = self.with_attributes(Else);
                self.push(outer, tokens, LineKind::Turns);
            }
            Elsif | Elseif => {
                let tokens = self.with_attributes(Then);
                self.push(outer, tokens, LineKind::Turns);
            }
            KeywordEnd => self.end(outer),
            Until => {
                self.open.pop();
                self.statement(outer, LineKind::Closes);
            }
            _ => self.statement(level, LineKind::Plain),
        }
    }

    fn head(&mut self, level: usize, first: TokenKind) {
        let mut depth = 0usize;
        let ends = move |kind| {
            match kind {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            kind == TokenKind::Semicolon && depth == 0
        };
        let tokens = self.take(ends, |_| false);
        self.push(level, tokens, LineKind::Opens);
        let interface = first == TokenKind::Interface;
        self.open.push(if interface { Frame::Interface } else { Frame::Declarations });
    }

    /// CONSTANT or VARIABLE, with its declaration if it is the only one.
    fn section(&mut self, level: usize) {
        if self.declarations() <= 1 {
            return self.statement(level, LineKind::Plain);
        }
        let tokens = self.take(|_| true, |_| false);
        self.push(level, tokens, LineKind::Opens);
        self.open.push(Frame::Section);
    }

    /// The number of declarations that follow CONSTANT or VARIABLE.
    fn declarations(&self) -> usize {
        let (mut depth, mut count, mut fresh) = (0usize, 0, false);
        for token in &self.tokens[self.at..] {
            match token.kind {
                TokenKind::Comment => continue,
                TokenKind::Constant | TokenKind::Variable if count == 0 && !fresh => {
                    fresh = true;
                    continue;
                }
                TokenKind::LBracket | TokenKind::LParen => depth += 1,
                TokenKind::RBracket | TokenKind::RParen => depth = depth.saturating_sub(1),
                TokenKind::Semicolon if depth == 0 => {
                    fresh = true;
                    continue;
                }
                TokenKind::Ident if fresh => count += 1,
                _ if fresh => return count,
                _ => {}
            }
            fresh = false;
        }
        count
    }

    /// Up to `last` and the attributes after it, which what follows is inside of.
    fn opener(&mut self, level: usize, last: TokenKind) {
        let tokens = self.with_attributes(last);
        self.push(level, tokens, LineKind::Opens);
        self.open.push(Frame::Block);
    }

    fn with_attributes(&mut self, last: TokenKind) -> Vec<Token> {
        let mut tokens = self.take(|kind| kind == last, |_| false);
        if self.kind(0) == TokenKind::LBrace {
            tokens.extend(self.take(|kind| kind == TokenKind::RBrace, |_| false));
        }
        tokens
    }

    fn end(&mut self, level: usize) {
        let block = self.open.pop() == Some(Frame::Block);
        let name = |kind: TokenKind| !matches!(kind, TokenKind::Ident | TokenKind::Semicolon);
        let tokens = if block {
            self.take(|kind| kind == TokenKind::Semicolon, |kind| kind != TokenKind::Semicolon)
        } else {
            self.take(|kind| kind == TokenKind::Semicolon, name)
        };
        self.push(level, tokens, LineKind::Closes);
    }

    /// Up to the `;`, or what ends the statements.
    fn statement(&mut self, level: usize, kind: LineKind) {
        use TokenKind::{Activity, Else, Elseif, Elsif, Finally, KeywordEnd, Until};
        let mut depth = 0usize;
        let ends = |kind| {
            match kind {
                TokenKind::LParen | TokenKind::LBracket => depth += 1,
                TokenKind::RParen | TokenKind::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            kind == TokenKind::Semicolon && depth == 0
        };
        let stops =
            |kind| matches!(kind, KeywordEnd | Else | Elsif | Elseif | Until | Activity | Finally);
        let tokens = self.take(ends, stops);
        self.push(level, tokens, kind);
    }

    /// The rest is comments.
    fn finish(mut self) -> Vec<TokenLine> {
        let rest = self.tokens[self.at..].to_vec();
        if !rest.is_empty() {
            self.push(0, rest, LineKind::Plain);
        }
        self.lines
    }
}
