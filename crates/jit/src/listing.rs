//! Machine code as text.
//!
//! ```text
//! rules::path_1: 48 bytes
//! block0:
//!   pushq %rbp
//!   ...
//! source:
//!   +0x4..+0x11 at 3
//! ```

use std::fmt::Write;

use crate::compile::Span;
use crate::symbol::{Symbols, Target};

/// How the compiler writes the name of what is not in the function, before a number.
const NAME: &str = "userextname";

/// Puts the names of people where the compiler wrote its own.
pub(crate) fn name_symbols(text: &str, targets: &[Target], symbols: &Symbols) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(NAME) {
        let number = &rest[at + NAME.len()..];
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let index = number[..digits].parse::<usize>();
        let target = index.ok().and_then(|index| targets.get(index));
        let (before, after) = (&rest[..at], &number[digits..]);
        // Direct calls have the name in a wrapping.
        let bare = before.strip_suffix("User(").zip(after.strip_prefix(')'));
        let (before, after) = bare.unwrap_or((before, after));
        result.push_str(before);
        match target {
            Some(&target) => result.push_str(&symbols.name(target)),
            None => result.push_str(&rest[at..at + NAME.len() + digits]),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// The listing of one function. No addresses: it is the same on every run.
pub(crate) fn print(name: &str, bytes: usize, text: &str, spans: &[Span]) -> String {
    let mut result = format!("{name}: {bytes} bytes\n{text}");
    if !spans.is_empty() {
        result.push_str("source:\n");
    }
    for span in spans {
        // Writing to a string cannot fail.
        let _ = writeln!(result, "  +{:#x}..+{:#x} at {}", span.start, span.end, span.source);
    }
    result
}
