//! The formatter behind `tidemill fmt`.
//!
//! It moves white space and nothing else: tokens, comments and preprocessor lines stay as they
//! are and in their order, so a formatted source means what it meant. It looks at tokens, not at
//! the tree, because macros and switched-off lines have to be kept, and because a source need not
//! be right to be formatted; only a lexical error stops it.
//!
//! The style:
//!
//! * A statement begins a line. It is filled to [`WIDTH`] columns, broken after `:-` and after
//!   the commas between terms; what follows is indented by [`CONTINUATION`]. A term that is too
//!   long for a line is broken after its own commas and `&&`, `||`.
//! * `p(@X, Y)`, `a_MIN<X>`, `V[i]`, `M{i, j}` are tight; operators have a blank on both sides.
//! * The inside of a namespace is indented by [`INDENT`].
//! * Preprocessor lines begin at the first column and are otherwise kept.
//! * Empty lines between statements are kept, several as one. Comments stay after what they
//!   stood after, those of neighbouring lines in one column, or on a line of their own.

mod align;
mod layout;
mod measures;
mod spacing;

use crate::lex::{Sym, Token, TokenKind, lex};
use layout::{Layout, Word};
use measures::slice;
pub use measures::{CONTINUATION, WIDTH};
use spacing::Spacing;
use tidemill_diag::{Diagnostic, FileId};

/// Columns that the inside of a namespace is indented by.
pub const INDENT: usize = 2;
/// Columns that nested namespaces are indented by at most.
const INDENT_MAX: usize = 40;

/// The source `text` in the one style. `file` is its id in diagnostics.
///
/// # Errors
/// Lexical errors, such as a string without an end.
pub fn format(file: FileId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let text = text.replace("\r\n", "\n");
    let mut tokens = lex(file, &text, 0);
    let found = tokens.iter_mut().filter_map(|token| token.error.take()).map(|found| *found);
    let wrong: Vec<Diagnostic> = found.filter(Diagnostic::is_error).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut printer = Printer {
        text: &text,
        tokens: &tokens,
        at: 0,
        out: String::new(),
        trailing: Vec::new(),
        indent: 0,
        opened: true,
    };
    printer.run();
    let out = align::align(&printer.out, &printer.trailing);
    // A mistake of the formatter must never reach a user's source.
    Ok(if same(&text, &tokens, &out, file) { out } else { text })
}

/// Whether both texts have the same tokens, the same comments and the same directive lines.
fn same(old: &str, tokens: &[Token], new: &str, file: FileId) -> bool {
    let shape = |text: &str, tokens: &[Token]| -> Vec<(String, bool)> {
        let is_hash = |token: &Token| token.first && token.kind == TokenKind::Sym(Sym::Hash);
        let mut directive = false;
        let see = |token: &Token| {
            directive = if token.first { is_hash(token) } else { directive };
            (trim_lines(slice(text, token)), directive)
        };
        tokens.iter().map(see).collect()
    };
    shape(old, tokens) == shape(new, &lex(file, new, 0))
}

/// The text without blanks at line ends.
fn trim_lines(text: &str) -> String {
    let mut lines = text.split('\n').map(str::trim_end);
    let first = lines.next().unwrap_or("").to_string();
    lines.fold(first, |all, line| all + "\n" + line)
}

struct Printer<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    out: String,
    /// The positions in `out` of the blanks before trailing comments.
    trailing: Vec<usize>,
    indent: usize,
    /// A namespace or the file has just begun: no empty line goes here.
    opened: bool,
}

impl Printer<'_> {
    fn run(&mut self) {
        loop {
            let token = &self.tokens[self.at];
            match token.kind {
                TokenKind::End => return,
                _ if self.is_directive(self.at) => self.directive_line(),
                TokenKind::Comment => self.comment(),
                TokenKind::Sym(Sym::RBrace) if self.indent >= INDENT => self.close_namespace(),
                _ => self.statement(),
            }
        }
    }

    fn is_directive(&self, at: usize) -> bool {
        self.tokens[at].first && self.tokens[at].kind == TokenKind::Sym(Sym::Hash)
    }

    /// The number of line ends between a token and the one before it.
    fn lines_before(&self, at: usize) -> usize {
        let from = at.checked_sub(1).map_or(0, |before| self.tokens[before].span.end as usize);
        let between = &self.text[from..self.tokens[at].span.start as usize];
        between.matches('\n').count()
    }

    /// Keeps the empty line before what comes next.
    fn gap(&mut self) {
        if self.lines_before(self.at) > 1 && !self.opened {
            self.out.push('\n');
        }
        self.opened = false;
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.out.extend(std::iter::repeat_n(' ', indent.min(INDENT_MAX)));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// The end of the directive that begins at `at`, as an index of tokens.
    fn directive_end(&self, at: usize) -> usize {
        let more = |token: &Token| !token.first && token.kind != TokenKind::End;
        at + 1 + self.tokens[at + 1..].iter().take_while(|token| more(token)).count()
    }

    /// The unchanged text of tokens `from..to`.
    fn verbatim(&self, from: usize, to: usize) -> String {
        let (first, last) = (&self.tokens[from], &self.tokens[to - 1]);
        trim_lines(&self.text[first.span.start as usize..last.span.end as usize])
    }

    fn directive_line(&mut self) {
        self.gap();
        let end = self.directive_end(self.at);
        let text = self.verbatim(self.at, end);
        self.line(0, &text);
        self.at = end;
    }

    /// A comment between statements: after the one before it, or on a line of its own.
    fn comment(&mut self) {
        let text = self.verbatim(self.at, self.at + 1);
        if self.lines_before(self.at) == 0 && self.out.ends_with('\n') {
            self.out.pop();
            self.trailing.push(self.out.len());
            self.line(1, &text);
        } else {
            self.gap();
            self.line(self.indent, &text);
        }
        self.at += 1;
    }

    fn close_namespace(&mut self) {
        self.indent -= INDENT;
        self.line(self.indent, "}");
        self.opened = false;
        self.at += 1;
    }

    /// Everything up to the `.`, or up to the `{` of a namespace.
    fn statement(&mut self) {
        self.gap();
        let from = self.at;
        let (to, opens) = self.statement_end(from);
        let mut layout = Layout::new(self.indent.min(INDENT_MAX));
        let mut spacing = Spacing::new(self.text);
        let mut at = from;
        while at < to {
            if self.is_directive(at) {
                let end = self.directive_end(at);
                layout.add(Word::directive(self.verbatim(at, end)));
                at = end;
                continue;
            }
            let token = &self.tokens[at];
            let text = self.verbatim(at, at + 1);
            if token.kind == TokenKind::Comment {
                let own_line = at > from && self.lines_before(at) > 0;
                // The output ends with a line end, even if the text does not.
                let ends = self.tokens[at + 1].kind == TokenKind::End;
                let last = ends || self.lines_before(at + 1) > 0;
                layout.add(Word::comment(text, own_line, last || text_ends_line(token, self.text)));
            } else {
                let (space, place) = spacing.before(&self.tokens[at..to]);
                layout.add(Word::plain(text, space, place));
            }
            at += 1;
        }
        layout.print(&mut self.out, &mut self.trailing);
        self.at = to;
        if opens {
            self.indent += INDENT;
            self.opened = true;
        }
    }

    /// The token after the statement at `from`, and whether it opens a namespace.
    fn statement_end(&self, from: usize) -> (usize, bool) {
        let is_name = |token: &Token| token.kind == TokenKind::Name("namespace".into());
        let mut words =
            (from..self.tokens.len()).filter(|&at| self.tokens[at].kind != TokenKind::Comment);
        let head = [words.next(), words.next(), words.next()];
        if let [Some(keyword), Some(_), Some(brace)] = head
            && is_name(&self.tokens[keyword])
            && self.tokens[brace].kind == TokenKind::Sym(Sym::LBrace)
        {
            return (brace + 1, true);
        }
        let mut braces = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(from) {
            match token.kind {
                TokenKind::End => return (at, false),
                TokenKind::Sym(Sym::Dot) => return (at + 1, false),
                TokenKind::Sym(Sym::LBrace) => braces += 1,
                TokenKind::Sym(Sym::RBrace) if braces > 0 => braces -= 1,
                TokenKind::Sym(Sym::RBrace) if self.indent > 0 => return (at, false),
                _ => {}
            }
        }
        (self.tokens.len() - 1, false)
    }
}

/// A comment that reaches to the end of its line.
fn text_ends_line(comment: &Token, text: &str) -> bool {
    !slice(text, comment).starts_with("/*")
}
