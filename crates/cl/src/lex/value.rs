//! The values of tokens, from their text.

use super::TokenKind;
use tidemill_diag::{Diagnostic, Span};

/// The magnitude of the smallest INTEGER, one more than the greatest.
pub const MAGNITUDE_MAX: u64 = 1 << 63;

/// The kind of number that `text` is, and its error.
pub(super) fn classify(text: &str, span: Span) -> (TokenKind, Option<Diagnostic>) {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let hexadecimal = |text: &str| text.bytes().all(is_hexadecimal);
    if digits(text) {
        return (TokenKind::Integer, too_large(decimal(text), span));
    }
    if let Some(number) = text.strip_suffix('H').filter(|it| hexadecimal(it)) {
        let value = u64::from_str_radix(number, 16).ok().filter(|it| *it < MAGNITUDE_MAX);
        return (TokenKind::Integer, too_large(value, span));
    }
    if let Some(number) = text.strip_suffix('X').filter(|it| hexadecimal(it)) {
        let error = u8::from_str_radix(number, 16).is_err().then(|| {
            let error = Diagnostic::error("literal-too-large", span, "no CHARACTER is that large");
            error.help("the greatest is `0FFX`")
        });
        return (TokenKind::Character, error);
    }
    let error =
        |help: &str| Some(Diagnostic::error("bad-number", span, "invalid number").help(help));
    let Some((whole, fraction)) = text.split_once('.') else {
        let help = "hexadecimal numbers end with `H`, characters with `X`, reals have a point";
        return (TokenKind::Integer, error(help));
    };
    let (fraction, exponent) = fraction.split_once('E').unwrap_or((fraction, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if ![whole, exponent].into_iter().all(digits) || !(fraction.is_empty() || digits(fraction)) {
        return (TokenKind::Real, error("a real looks like `1.5`, `1.` or `1.5E-3`"));
    }
    let finite = text.parse::<f64>().is_ok_and(f64::is_finite);
    let error =
        || Diagnostic::error("literal-too-large", span, "this number does not fit into a REAL");
    (TokenKind::Real, (!finite).then(error))
}

fn is_hexadecimal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'A'..=b'F')
}

fn too_large(value: Option<u64>, span: Span) -> Option<Diagnostic> {
    value.is_none().then(|| {
        let message = "this number does not fit into an INTEGER";
        Diagnostic::error("literal-too-large", span, message)
            .help("the greatest is 9223372036854775807, or 7FFFFFFFFFFFFFFFH")
    })
}

fn decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|it| *it <= MAGNITUDE_MAX)
}

/// The magnitude of an integer, at most [`MAGNITUDE_MAX`]; 0 for a wrong one.
pub fn integer(text: &str) -> u64 {
    let value = match text.strip_suffix('H') {
        None => decimal(text),
        Some(digits) => u64::from_str_radix(digits, 16).ok().filter(|it| *it < MAGNITUDE_MAX),
    };
    value.unwrap_or(0)
}

/// The value of a real; 0 for a wrong one.
pub fn real(text: &str) -> f64 {
    // Rust reads more than this language has, such as `1e5`.
    let right = text.bytes().next_back().is_some_and(|b| b.is_ascii_digit() || b == b'.');
    let value = text.parse().ok().filter(|it: &f64| right && it.is_finite());
    value.unwrap_or(0.0)
}

/// The value of a character; 0 for a wrong one.
pub fn character(text: &str) -> u8 {
    let digits = text.strip_suffix('X').unwrap_or("");
    u8::from_str_radix(digits, 16).unwrap_or(0)
}

/// The text between the quotes.
pub fn text(text: &str) -> &str {
    let inner = text.strip_prefix('"').unwrap_or(text);
    inner.strip_suffix('"').unwrap_or(inner)
}
