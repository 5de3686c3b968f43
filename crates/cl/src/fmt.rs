//! The formatter behind `tidemill fmt`.
//!
//! It moves white space and nothing else: tokens and comments stay as they are and in their order,
//! so a formatted source means what it meant. Only a source that parses is formatted.
//!
//! The style:
//!
//! * Nested lines are indented by [`INDENT`]; BEGIN, ACTIVITY, FINALLY, ELSE, UNTIL and END are
//!   aligned with the line that they belong to.
//! * One statement or declaration to a line. CONSTANT and VARIABLE are placed before a single
//!   declaration, and on a line of their own above several.
//! * A line that is longer than [`WIDTH`] columns is broken after `,`, `;` and `:=` and before
//!   AND, OR, OFFERS, REQUIRES, IN, OUT and `|`; what follows is indented by [`CONTINUATION`]. The
//!   alternatives of a protocol that does not fit on a line begin one each.
//! * `x!M(a)`, `x?M(a)`, `a[i]`, `f(x)` are tight; operators have a blank on both sides.
//! * Empty lines are kept, several as one, except at the start and end of a block. Comments stay
//!   after the token they follow, or on a line of their own.

mod layout;
mod lines;
mod spacing;

use crate::lex::{Token, lex};
use crate::parse::parse_file;
use tidemill_diag::{Diagnostic, FileId, has_errors};
use tidemill_stdx::sort;

/// Columns of a line.
pub const WIDTH: usize = 100;
/// Columns that the lines of a statement after its first are indented by.
pub const CONTINUATION: usize = 4;
/// Columns that the inside of something is indented by.
pub const INDENT: usize = 2;
/// Columns that something is indented by at most.
const INDENT_MAX: usize = 60;

/// The source `text` in the one style. `file` is what diagnostics call it.
///
/// # Errors
/// The errors of the parser.
pub fn format(file: FileId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let (_, diagnostics) = parse_file(file, text);
    if has_errors(&diagnostics) {
        return Err(diagnostics);
    }
    let text = text.replace("\r\n", "\n");
    let (tokens, end) = all_tokens(file, &text);
    let out = layout::print(&text, &lines::split(&tokens), end);
    // Never let a defect of the formatter change a source.
    let same = shape(&text, &tokens) == shape(&out, &all_tokens(file, &out).0);
    Ok(if same { out } else { text })
}

/// Tokens and comments by place without the end, and where that is.
fn all_tokens(file: FileId, text: &str) -> (Vec<Token>, u32) {
    let mut lexed = lex(file, text);
    let end = lexed.tokens.pop().map_or(0, |end| end.start);
    let mut all = lexed.tokens;
    all.append(&mut lexed.comments);
    sort::by_key(&mut all, |token| token.start);
    (all, end)
}

/// What must stay as it is: every token's text, without blanks at line ends.
fn shape<'a>(text: &'a str, tokens: &[Token]) -> Vec<Vec<&'a str>> {
    let lines = |token: &Token| slice(text, token).split('\n').map(str::trim_end).collect();
    tokens.iter().map(lines).collect()
}

fn slice<'a>(text: &'a str, token: &Token) -> &'a str {
    &text[token.start as usize..token.end as usize]
}
