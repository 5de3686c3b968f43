//! Suggestions for undeclared names and missing imports.

use tidemill_diag::{self as diag, nearest};

use super::lex::{TokenKind, lex};
use super::{Files, wellknown};
use crate::schema::FileId;

/// The maximal number of files searched for a name.
const FILES_MAX: usize = 2000;

/// A file that declares a message or enum of that name, or of its last part.
pub(super) fn file_with(name: &str, files: &dyn Files) -> Option<String> {
    let last = name.rsplit('.').next()?;
    let declares = |text: &str| declares(text, name.trim_start_matches('.'), last);
    let known = wellknown::names().find(|file| wellknown::text(file).is_some_and(declares));
    known.map(str::to_owned).or_else(|| {
        files
            .names()
            .into_iter()
            .take(FILES_MAX)
            .find(|file| matches!(files.read(file), Some((_, Ok(text))) if declares(&text)))
    })
}

/// True if the text has `message last` or `enum last`, in a package that fits the name.
fn declares(text: &str, name: &str, last: &str) -> bool {
    if !text.contains(last) {
        return false;
    }
    let tokens = lex(text, FileId::default(), &mut Vec::new());
    let word = |at: usize| {
        let token = tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
        text.get(token.start as usize..token.end as usize)
    };
    let mut package = String::new();
    for at in 0..tokens.len() {
        match word(at) {
            Some("package") if package.is_empty() => {
                let rest =
                    tokens[at + 1..].iter().take_while(|token| token.kind != TokenKind::Sign(b';'));
                package = rest
                    .filter_map(|token| text.get(token.start as usize..token.end as usize))
                    .collect();
            }
            Some("message" | "enum") if word(at + 1) == Some(last) => {
                let before = name.strip_suffix(last).unwrap_or("").trim_end_matches('.');
                let fits = before.is_empty()
                    || package == before
                    || package.ends_with(&format!(".{before}"))
                    || before.ends_with(&package);
                if fits {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The hint for a missing import.
pub(super) fn for_import(name: &str, files: &dyn Files) -> String {
    let names = files.names();
    let known: Vec<&str> = wellknown::names().collect();
    let base = name.rsplit('/').next().unwrap_or(name);
    let all = || names.iter().map(String::as_str).chain(known.iter().copied());
    let same_base = all().find(|other| other.rsplit('/').next() == Some(base));
    match same_base.or_else(|| nearest(name, all())) {
        Some(other) => format!("is \"{other}\" meant?"),
        None => format!("names of files begin at a folder given with -I ({})", files.roots()),
    }
}

/// The span of a finding without a position: the start of the file.
pub(super) fn whole(file: diag::FileId) -> diag::Span {
    diag::Span { file, start: 0, end: 0 }
}
