//! Values and tuples in text: the form of `watch`, of answers to `query`, and of facts.
//!
//! ```text
//! tuple    = name "(" [ value { "," value } ] ")"         name: a, a::b, ::a::b
//! value    = "null" | "true" | "false" | integer | double | text | bytes | id | time | interval
//!          | list | matrix
//! integer  = ["-"] digits                                 also hexadecimal: 0x1f
//! double   = with a point or an exponent                  also infinity, -infinity, nan
//! text     = "..." with \" \\ \n \r \t \f, \xHH           H: hex digit, \xHH one character
//! bytes    = b"..." with \" \\ \xHH                       one byte each
//! id       = 0x, 40 hex digits, I                         fewer digits, and decimal ones, too
//! time     = seconds since the epoch with 9 decimals, t   fewer decimals are accepted
//! interval = seconds with 9 decimals, s                   likewise
//! list     = "[" [ value { "," value } ] "]"
//! matrix   = "{" [ list { "," list } ] "}"
//! ```
//! What is printed reads back as the same value of the same type, but for vectors, which print
//! like lists and read back as such (the rows of a matrix read back as vectors).

mod pattern;
mod print;
mod read;
#[cfg(test)]
mod tests;

pub use pattern::{Pattern, Term, parse_pattern, parse_pattern_of_variables};
pub use print::{DisplayTuple, push_plain, write_text};
pub use read::{LETTERS, TextError, TextReader, parse_tuple, parse_value};
