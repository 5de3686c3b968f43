//! Lines that begin with `#`.

use super::{Conditional, INCLUDE_DEPTH_MAX, INCLUDES_MAX, Preprocessor, files, is_active};
use crate::lex::{Token, TokenKind};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tidemill_diag::{Diagnostic, FileId, Span};

impl Preprocessor<'_> {
    /// Obeys the directive of `line`, which follows a `#` at `hash`.
    pub(super) fn directive(
        &mut self,
        hash: Span,
        line: Vec<Token>,
        conditionals: &mut Vec<Conditional>,
    ) {
        let active = is_active(conditionals);
        let mut words = line.iter().filter(|token| token.kind != TokenKind::Comment);
        let Some(first) = words.next() else { return };
        let span = hash.to(first.span);
        let name = words.next();
        match first.kind.word().unwrap_or("") {
            "ifdef" | "ifndef" | "if" if !active => conditionals.push(Conditional {
                span,
                outer: false,
                active: false,
                else_seen: false,
            }),
            word @ ("ifdef" | "ifndef") => self.condition(word, span, name, conditionals),
            "else" => self.otherwise(span, conditionals),
            "endif" => {
                if conditionals.pop().is_none() {
                    self.wrong(unbalanced(span, "`#endif` closes nothing"));
                }
            }
            _ if !active => {}
            "define" => self.define_line(span, &line),
            "undef" => {
                if let Some((name, _)) = self.macro_name(span, name) {
                    self.current.remove(&name);
                }
            }
            "include" => self.include(span, name),
            "if" => {
                // Its `#endif` must not close something else.
                self.unknown(span, "if");
                let active = Conditional { span, outer: true, active: true, else_seen: false };
                conditionals.push(active);
            }
            other => self.unknown(span, other),
        }
    }

    fn unknown(&mut self, span: Span, word: &str) {
        let message = format!("`#{word}` is no directive");
        let known = "#define, #undef, #include, #ifdef, #ifndef, #else and #endif are";
        self.wrong(Diagnostic::error("unknown-directive", span, message).help(known));
    }

    fn macro_name(&mut self, span: Span, token: Option<&Token>) -> Option<(String, Span)> {
        let named = token.and_then(|it| Some((it.kind.word()?.to_string(), it.span)));
        if named.is_none() {
            let message = "this directive needs the name of a macro";
            self.wrong(Diagnostic::error("bad-directive", span, message));
        }
        named
    }

    fn condition(
        &mut self,
        word: &str,
        span: Span,
        name: Option<&Token>,
        conditionals: &mut Vec<Conditional>,
    ) {
        let name = self.macro_name(span, name);
        let defined = name.is_some_and(|(name, _)| self.current.contains_key(&name));
        let active = defined == (word == "ifdef");
        conditionals.push(Conditional { span, outer: true, active, else_seen: false });
    }

    fn otherwise(&mut self, span: Span, conditionals: &mut [Conditional]) {
        match conditionals.last_mut() {
            Some(it) if !it.else_seen => {
                it.else_seen = true;
                it.active = it.outer && !it.active;
            }
            Some(it) => {
                let error = unbalanced(span, "a condition has one `#else` at most");
                let error = error.label(it.span, "the condition begins here");
                self.wrong(error);
            }
            None => self.wrong(unbalanced(span, "`#else` belongs to no condition")),
        }
    }

    fn define_line(&mut self, span: Span, line: &[Token]) {
        let mut rest = line.iter().filter(|token| token.kind != TokenKind::Comment).skip(1);
        let Some((name, defined)) = self.macro_name(span, rest.next()) else { return };
        let mut rest = rest.peekable();
        let parameters = rest.peek().is_some_and(|next| {
            next.kind == TokenKind::Sym(crate::lex::Sym::LParen) && next.span.start == defined.end
        });
        if parameters {
            let message = format!("macro `{name}` has parameters");
            self.wrong(
                Diagnostic::error("bad-directive", defined, message)
                    .help("macros are plain names; put a blank before `(` if it begins the value"),
            );
            return;
        }
        self.define(&name, defined, rest.cloned());
    }

    fn include(&mut self, span: Span, name: Option<&Token>) {
        let Some((TokenKind::Str(name), at)) = name.map(|token| (&token.kind, token.span)) else {
            let error = Diagnostic::error("bad-directive", span, "which file is to be included?");
            return self.wrong(error.help("write `#include \"file\"`"));
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

    /// The file that an include names: beside the including one, then in the `-I` directories.
    fn find(&mut self, name: &str, at: Span) -> Option<(FileId, PathBuf)> {
        let beside = self.including.last().and_then(|path| path.parent());
        let beside = beside.unwrap_or(Path::new("")).join(name);
        let others = self.options.include_dirs.iter().map(|dir| dir.join(name));
        for path in std::iter::once(beside).chain(others) {
            let path = files::normal(&path);
            if self.including.contains(&path) {
                let chain: Vec<_> =
                    self.including.iter().map(|it| it.display().to_string()).collect();
                let message = format!("`{}` includes itself", path.display());
                let error = Diagnostic::error("include-cycle", at, message);
                self.wrong(error.help(format!("it is reached by {}", chain.join(" -> "))));
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
                    self.wrong(Diagnostic::error("file-unreadable", at, message));
                    return None;
                }
            }
        }
        let message = format!("there is no file `{name}`");
        self.wrong(
            Diagnostic::error("include-not-found", at, message)
                .help("it is looked for beside this file and in each -I directory"),
        );
        None
    }
}

fn unbalanced(span: Span, message: &str) -> Diagnostic {
    Diagnostic::error("unbalanced-conditional", span, message)
}
