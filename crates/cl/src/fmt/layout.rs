//! Lines of tokens to text.

use super::lines::{LineKind, TokenLine};
use super::spacing::{Gap, Spacing};
use super::{CONTINUATION, INDENT, INDENT_MAX, WIDTH, slice};
use crate::lex::{Token, TokenKind};

/// One word of a line being filled: tokens between which there is no break.
struct Word {
    text: String,
    /// Begins a line of its own: an alternative of a protocol that is too long for one.
    alternative: bool,
    /// Placed on the line of the token before it, however long that is.
    glued: bool,
    /// No blank before it.
    tight: bool,
    /// A comment on a line of its own, or one that ends the line before this.
    own_line: bool,
}

impl Word {
    /// Characters, were it on one line.
    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// The column after it, if it begins at this one.
    fn end(&self, column: usize) -> usize {
        match self.text.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => column + self.width(),
        }
    }
}

/// The text of all lines.
pub(super) fn print(text: &str, lines: &[TokenLine], end: u32) -> String {
    let mut printer = Printer { text, out: String::new(), before: 0, opened: true };
    for line in lines {
        printer.line(line);
    }
    debug_assert!(printer.before <= end as usize);
    printer.out
}

struct Printer<'a> {
    text: &'a str,
    out: String,
    /// Where in the source the token printed last ended.
    before: usize,
    /// Something has just begun: no empty line goes here.
    opened: bool,
}

impl Printer<'_> {
    /// The number of line ends between the token printed last and this one.
    fn lines_before(&self, token: &Token) -> usize {
        self.text[self.before..token.start as usize].matches('\n').count()
    }

    fn line(&mut self, line: &TokenLine) {
        let from = self.leading_comments(line);
        let Some(first) = line.tokens.get(from) else { return };
        if line.kind.closes() {
            self.opened = true;
        }
        self.empty_line(first);
        let words = self.words(&line.tokens[from..], line.kind);
        self.fill(&words, (line.level * INDENT).min(INDENT_MAX));
        self.opened = line.kind.opens();
    }

    /// Keeps the empty line before a token.
    fn empty_line(&mut self, token: &Token) {
        if self.lines_before(token) > 1 && !self.opened {
            self.out.push('\n');
        }
        self.opened = false;
    }

    /// Prints the comments before a line that have lines of their own, and returns how many. One
    /// that shares its line with what follows gets its own if both together are too long.
    fn leading_comments(&mut self, line: &TokenLine) -> usize {
        let is_comment = |token: &Token| token.kind == TokenKind::Comment;
        let count = line.tokens.iter().take_while(|token| is_comment(token)).count();
        let inside = line.level + usize::from(line.kind.closes());
        for (i, comment) in line.tokens[..count].iter().enumerate() {
            let trails = self.lines_before(comment) == 0 && self.out.ends_with('\n');
            if !trails
                && let Some(next) = line.tokens.get(i + 1..)
                && self.same_line(comment, next)
                && self.first_word_fits(line, i)
            {
                return i;
            }
            let text = self.verbatim(comment);
            if trails {
                self.out.pop();
                self.out.push(' ');
            } else {
                self.empty_line(comment);
                self.indent((inside * INDENT).min(INDENT_MAX));
            }
            self.out.push_str(&text);
            self.out.push('\n');
            self.before = comment.end as usize;
        }
        count
    }

    /// Whether `comment` and the first token of `rest` that is none are on one line, with nothing
    /// but comments between them.
    fn same_line(&self, comment: &Token, rest: &[Token]) -> bool {
        let next = rest.iter().find(|token| token.kind != TokenKind::Comment);
        next.is_some_and(|next| {
            !self.text[comment.end as usize..next.start as usize].contains('\n')
        })
    }

    /// Whether the first word of the line fits after the comments before it, from that one on.
    fn first_word_fits(&mut self, line: &TokenLine, comment: usize) -> bool {
        let before = self.before;
        let words = self.words(&line.tokens[comment..], line.kind);
        self.before = before;
        let indent = (line.level * INDENT).min(INDENT_MAX);
        let comments = words.iter().take_while(|word| word.glued);
        let column = comments.fold(indent, |column, word| word.end(column) + 1);
        let first = words.iter().find(|word| !word.glued);
        first.is_none_or(|word| column + word.width() <= WIDTH)
    }

    fn indent(&mut self, columns: usize) {
        self.out.extend(std::iter::repeat_n(' ', columns));
    }

    /// The text of a token without blanks at line ends.
    fn verbatim(&self, token: &Token) -> String {
        let lines: Vec<&str> = slice(self.text, token).split('\n').map(str::trim_end).collect();
        lines.join("\n")
    }

    fn words(&mut self, tokens: &[Token], kind: LineKind) -> Vec<Word> {
        let mut spacing = Spacing::new(kind);
        let mut words: Vec<Word> = Vec::new();
        let mut depth = 0usize;
        for (i, token) in tokens.iter().enumerate() {
            let text = self.verbatim(token);
            let comment = token.kind == TokenKind::Comment;
            let after_comment = words.last().is_some_and(|word| word.glued);
            let own_line = i > 0 && (comment || after_comment) && self.lines_before(token) > 0;
            self.before = token.end as usize;
            if comment {
                let tight = words.last().is_some_and(|word| word.text.ends_with(['(', '[']));
                words.push(Word { text, alternative: false, glued: true, tight, own_line });
                continue;
            }
            match token.kind {
                TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => depth += 1,
                TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => {
                    depth = depth.saturating_sub(1);
                }
                _ => {}
            }
            let next = tokens[i + 1..].iter().find(|it| it.kind != TokenKind::Comment);
            let gap = spacing.before(token.kind, next.map_or(TokenKind::End, |it| it.kind));
            let bar = token.kind == TokenKind::Bar && depth == 0;
            let alternative = bar && kind == LineKind::Protocol;
            match words.last_mut() {
                Some(word) if gap != Gap::Break && !after_comment => {
                    word.text.push_str(if gap == Gap::Tight { "" } else { " " });
                    word.text.push_str(&text);
                }
                _ => words.push(Word {
                    text,
                    alternative,
                    glued: false,
                    tight: closes(token.kind),
                    own_line,
                }),
            }
        }
        words
    }

    fn fill(&mut self, words: &[Word], indent: usize) {
        let width: usize = words.iter().map(|word| word.width() + 1).sum();
        let fits = indent + width <= WIDTH + 1
            && !words.iter().any(|word| word.own_line || word.text.contains('\n'));
        self.indent(indent);
        let mut column = indent;
        for (i, word) in words.iter().enumerate() {
            if i > 0 {
                let full = !word.glued && column + 1 + word.width() > WIDTH;
                let alternative = word.alternative && !fits;
                if full || alternative || word.own_line {
                    column = indent + if alternative { 0 } else { CONTINUATION };
                    self.out.push('\n');
                    self.indent(column);
                } else if !word.tight {
                    self.out.push(' ');
                    column += 1;
                }
            }
            self.out.push_str(&word.text);
            column = word.end(column);
        }
        self.out.push('\n');
    }
}

/// Whether no blank precedes a token even after a comment.
fn closes(kind: TokenKind) -> bool {
    use TokenKind::{Colon, Comma, RBracket, RParen, Semicolon};
    matches!(kind, Colon | Comma | RBracket | RParen | Semicolon)
}
