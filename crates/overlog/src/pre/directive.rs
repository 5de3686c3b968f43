//! Lines that begin with `#`.

use super::{Conditional, INCLUDE_DEPTH_MAX, INCLUDES_MAX, Preprocessor, files, is_active};
use crate::lex::{Sym, Token, TokenKind, lex};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tidemill_diag::{Diagnostic, FileId, Span};

impl Preprocessor<'_> {
    /// Executes the directive of `line`, which follows a `#` at `hash`.
    pub(super) fn directive(
        &mut self,
        hash: Span,
        line: Vec<Token>,
        conditionals: &mut Vec<Conditional>,
    ) {
        let active = is_active(conditionals);
        let is_word = |token: &Token| token.kind != TokenKind::Comment;
        let line: Vec<Token> = line.into_iter().filter(is_word).collect();
        let Some((first, rest)) = line.split_first() else { return };
        let span = hash.to(first.span);
        let name = rest.first();
        match first.kind.word().unwrap_or("") {
            "ifdef" | "ifndef" | "if" if !active => conditionals.push(Conditional {
                span,
                outer: false,
                active: false,
                taken: true,
                else_seen: false,
            }),
            word @ ("ifdef" | "ifndef") => {
                let name = self.macro_name(span, name);
                let defined = name.is_some_and(|(name, _)| self.current.contains_key(&name));
                conditionals.push(Conditional::opened(span, defined == (word == "ifdef")));
            }
            "if" => {
                let holds = self.holds(span, rest);
                conditionals.push(Conditional::opened(span, holds));
            }
            "elif" => self.otherwise(span, Some(rest), conditionals),
            "else" => self.otherwise(span, None, conditionals),
            "endif" => {
                if conditionals.pop().is_none() {
                    self.report(unbalanced(span, "`#endif` closes nothing"));
                }
            }
            _ if !active => {}
            "define" => self.define_line(span, rest),
            "undef" => {
                if let Some((name, _)) = self.macro_name(span, name) {
                    self.current.remove(&name);
                }
            }
            "include" => self.include(span, name),
            "error" => self.report(Diagnostic::error("error-directive", span, self.text_of(rest))),
            "warning" => {
                self.report(Diagnostic::warning("warning-directive", span, self.text_of(rest)));
            }
            "line" | "pragma" => {}
            _ if is_line_marker(first, rest) => {}
            other => self.unknown(span, other),
        }
    }

    /// The text of an `#error` or a `#warning`, as written.
    fn text_of(&self, line: &[Token]) -> &str {
        match (line.first(), line.last()) {
            (Some(first), Some(last)) => self.sources.slice(first.span.to(last.span)),
            _ => "no reason is given",
        }
    }

    fn unknown(&mut self, span: Span, word: &str) {
        let message = format!("`#{word}` is no directive");
        let known = "#define, #undef, #include, #ifdef, #ifndef, #if, #elif, #else, #endif, #error \
                     and #warning are";
        self.report(Diagnostic::error("unknown-directive", span, message).help(known));
    }

    fn macro_name(&mut self, span: Span, token: Option<&Token>) -> Option<(String, Span)> {
        let named = token.and_then(|it| Some((it.kind.word()?.to_string(), it.span)));
        if named.is_none() {
            let message = "this directive needs the name of a macro";
            self.report(Diagnostic::error("bad-directive", span, message));
        }
        named
    }

    /// The next part of a condition: `#elif` with its own condition, or `#else`.
    fn otherwise(
        &mut self,
        span: Span,
        condition: Option<&[Token]>,
        conditionals: &mut [Conditional],
    ) {
        let word = if condition.is_some() { "elif" } else { "else" };
        let Some(it) = conditionals.last_mut() else {
            return self.report(unbalanced(span, format!("`#{word}` belongs to no condition")));
        };
        if it.else_seen {
            let message = match word {
                "elif" => "`#elif` comes before `#else`",
                _ => "a condition has one `#else` at most",
            };
            let error = unbalanced(span, message).label(it.span, "the condition begins here");
            return self.report(error);
        }
        let is_due = it.outer && !it.taken;
        it.active = is_due && condition.is_none_or(|condition| self.holds(span, condition));
        it.taken |= it.active;
        it.else_seen = condition.is_none();
    }

    fn define_line(&mut self, span: Span, line: &[Token]) {
        let Some((name, defined)) = self.macro_name(span, line.first()) else { return };
        let mut value = &line[1..];
        let has_parameters = value.first().is_some_and(|next| {
            next.kind == TokenKind::Sym(Sym::LParen) && next.span.start == defined.end
        });
        let mut parameters = None;
        if has_parameters {
            let Some((names, rest)) = parameter_names(&value[1..]) else {
                let message = format!("the parameters of macro `{name}` are no list of names");
                let error = Diagnostic::error("bad-directive", defined, message);
                let help = "write `NAME(A, B) VALUE`, each name once; put a blank before `(` if \
                            it begins the value";
                return self.report(error.help(help));
            };
            let is_hash = |token: &&Token| token.kind == TokenKind::Sym(Sym::Hash);
            if let Some(hash) = rest.iter().find(is_hash) {
                let message = "`#` means nothing in the value of a macro";
                let error = Diagnostic::error("bad-directive", hash.span, message);
                let help =
                    "macros work on whole words: they neither quote nor join their arguments";
                return self.report(error.help(help));
            }
            (parameters, value) = (Some(names), rest);
        }
        self.define(&name, defined, parameters, value.iter().cloned());
    }

    fn include(&mut self, span: Span, name: Option<&Token>) {
        let Some((TokenKind::Str(name), at)) = name.map(|token| (&token.kind, token.span)) else {
            let error = Diagnostic::error("bad-directive", span, "which file is to be included?");
            return self.report(error.help("write `#include \"file\"`"));
        };
        self.includes += 1;
        if self.includes > INCLUDES_MAX || self.including.len() >= INCLUDE_DEPTH_MAX {
            let message = format!(
                "includes nest deeper than {INCLUDE_DEPTH_MAX}, or are more than {INCLUDES_MAX}"
            );
            return self.stop(Diagnostic::error("include-too-deep", at, message));
        }
        if let Some((file, path)) = self.find(name, at) {
            self.run(file, path);
        }
    }

    /// Whether a file begins with `#ifndef NAME` and NAME is defined.
    fn is_guarded(&self, file: FileId) -> bool {
        let tokens = lex(file, self.sources.text(file), 0);
        let mut words = tokens.iter().filter(|token| token.kind != TokenKind::Comment);
        let is_hash = |token: &Token| token.kind == TokenKind::Sym(Sym::Hash);
        words.next().is_some_and(is_hash)
            && words.next().is_some_and(|token| token.kind.word() == Some("ifndef"))
            && words
                .next()
                .and_then(|token| token.kind.word())
                .is_some_and(|name| self.current.contains_key(name))
    }

    /// The file that an include names: beside the including one, then in the `-I` directories.
    fn find(&mut self, name: &str, at: Span) -> Option<(FileId, PathBuf)> {
        let beside = self.including.last().and_then(|it| it.path.parent());
        let beside = beside.unwrap_or(Path::new("")).join(name);
        let others = self.options.include_dirs.iter().map(|dir| dir.join(name));
        for path in std::iter::once(beside).chain(others) {
            let path = files::normal(&path);
            if let Some(around) = self.including.iter().find(|it| it.path == path) {
                if self.is_guarded(around.file) {
                    return None;
                }
                let files = self.including.iter();
                let chain: Vec<_> = files.map(|it| it.path.display().to_string()).collect();
                let message = format!("`{}` includes itself", path.display());
                let error = Diagnostic::error("include-cycle", at, message);
                self.report(error.help(format!("it is reached by {}", chain.join(" -> "))));
                return None;
            }
            if let Some(&file) = self.known.get(&path) {
                return Some((file, path));
            }
            match self.files.read(&path) {
                Ok(text) => {
                    let file = self.sources.add(path.display().to_string(), text);
                    self.known.insert(path.clone(), file);
                    return Some((file, path));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("cannot read `{}`: {error}", path.display());
                    self.report(Diagnostic::error("file-unreadable", at, message));
                    return None;
                }
            }
        }
        let message = format!("there is no file `{name}`");
        self.report(
            Diagnostic::error("include-not-found", at, message)
                .help("it is looked for beside this file and in each -I directory"),
        );
        None
    }
}

impl Conditional {
    /// A condition that begins in active lines.
    fn opened(span: Span, active: bool) -> Conditional {
        Conditional { span, outer: true, active, taken: active, else_seen: false }
    }
}

/// Whether the line is `# NUMBER`, with `"FILE"` and flags after it: the output of a C preprocessor
/// says so where its input came from.
fn is_line_marker(first: &Token, rest: &[Token]) -> bool {
    let is_number = |token: &Token| matches!(token.kind, TokenKind::Int(_));
    is_number(first)
        && match rest {
            [] => true,
            [file, flags @ ..] => {
                matches!(file.kind, TokenKind::Str(_)) && flags.iter().all(is_number)
            }
        }
}

fn unbalanced(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("unbalanced-conditional", span, message)
}

/// The names up to `)`, and what follows it.
fn parameter_names(line: &[Token]) -> Option<(Vec<Box<str>>, &[Token])> {
    let close = line.iter().position(|token| token.kind == TokenKind::Sym(Sym::RParen))?;
    let (inside, rest) = (&line[..close], &line[close + 1..]);
    let mut names: Vec<Box<str>> = Vec::new();
    for (place, token) in inside.iter().enumerate() {
        match token.kind.word() {
            Some(word) if place % 2 == 0 && !names.iter().any(|name| **name == *word) => {
                names.push(word.into());
            }
            None if place % 2 == 1 && token.kind == TokenKind::Sym(Sym::Comma) => {}
            _ => return None,
        }
    }
    let is_complete = inside.is_empty() || inside.len() % 2 == 1;
    is_complete.then_some((names, rest))
}
