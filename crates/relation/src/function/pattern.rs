//! Regular expressions, compiled once and kept for a while.

use std::cell::RefCell;
use std::fmt;

use regex::{Regex, RegexBuilder};

/// The number of compiled patterns that each thread keeps.
const KEPT_MAX: usize = 32;
/// The most bytes of one compiled pattern.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Why a text is no pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PatternError {
    /// It takes too much memory when compiled.
    TooLarge,
    /// The error in its syntax.
    Syntax(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::TooLarge => f.write_str("the pattern is too large"),
            PatternError::Syntax(reason) => write!(f, "bad pattern: {reason}"),
        }
    }
}

/// Compiled patterns, the one used last at the end.
#[derive(Default)]
struct Cache {
    kept: Vec<(String, Regex)>,
}

thread_local! {
    // Compiling takes longer than a whole turn, and results do not depend on the cache. One cache
    // for each loop's thread: nothing is shared.
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Whether `pattern` matches anywhere in `text`, in time linear in the text; or what is wrong
/// with the pattern.
pub(super) fn is_match(pattern: &str, text: &str) -> Result<bool, PatternError> {
    CACHE.with_borrow_mut(|cache| Ok(cache.get(pattern)?.is_match(text)))
}

impl Cache {
    fn get(&mut self, pattern: &str) -> Result<&Regex, PatternError> {
        let used = match self.kept.iter().rposition(|(known, _)| known == pattern) {
            Some(at) => self.kept.remove(at),
            None => {
                let compiled = compile(pattern)?;
                if self.kept.len() == KEPT_MAX {
                    self.kept.remove(0);
                }
                (pattern.to_owned(), compiled)
            }
        };
        let last = self.kept.len();
        self.kept.push(used);
        Ok(&self.kept[last].1)
    }
}

fn compile(pattern: &str) -> Result<Regex, PatternError> {
    (RegexBuilder::new(pattern).size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX))
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => PatternError::TooLarge,
            // The parser draws its errors over several lines, the reason in the last one.
            other => {
                let text = other.to_string();
                let reason = text.lines().last().unwrap_or_default().trim();
                PatternError::Syntax(reason.trim_start_matches("error: ").to_owned())
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let mut cache = Cache::default();
        for i in 0..3 * KEPT_MAX {
            assert!(cache.get("^a").unwrap().is_match("ab"));
            assert!(cache.get(&format!("^{i}$")).unwrap().is_match(&i.to_string()));
        }
        assert_eq!(cache.kept.len(), KEPT_MAX);
        assert!(cache.kept.iter().any(|(pattern, _)| pattern == "^a"));
    }

    #[test]
    fn all_classes_of_unicode_are_known() {
        for (class, member) in [
            (r"\p{Greek}", "ω"),
            (r"\p{scx=Deva}", "\u{964}"),
            (r"\p{Alphabetic}", "ß"),
            (r"\p{Emoji}", "🦀"),
            (r"\p{Lu}", "É"),
            (r"\p{age:3.0}", "a"),
            (r"(?i)É", "é"),
            (r"\w\b", "ü"),
            (r"\p{gcb=CR}", "\r"),
            (r"\p{wb=ALetter}", "a"),
            (r"\p{sb=Lower}", "a"),
        ] {
            assert_eq!(is_match(class, member), Ok(true), "{class}");
            assert_eq!(is_match(class, "\u{3000}"), Ok(class.contains("age")), "{class}");
        }
    }

    #[test]
    fn hostile_patterns_are_refused() {
        let refused = |pattern| is_match(pattern, "").map_err(|error| error.to_string());
        assert_eq!(refused("("), Err("bad pattern: unclosed group".to_owned()));
        assert_eq!(refused("(((a{100}){100}){100})"), Err("the pattern is too large".to_owned()));
    }
}
