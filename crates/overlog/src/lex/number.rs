//! Numbers: integers, identifiers, doubles, times and intervals.

use super::{Lexer, TokenKind, is_word};
use tidemill_diag::Diagnostic;

/// Digits after the point of a time or interval, whose unit is the nanosecond.
const DECIMALS_MAX: usize = 9;

impl Lexer<'_> {
    pub(super) fn number(&mut self, start: usize) -> TokenKind {
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X') {
            return self.hexadecimal(start);
        }
        let whole = self.take_while(|b| b.is_ascii_digit());
        let mut fraction = None;
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
            fraction = Some(self.take_while(|b| b.is_ascii_digit()));
        }
        let exponent = self.exponent();
        let body_end = self.at;
        match (self.take_while(is_word), fraction) {
            ("", None) if !exponent => self.int(start, whole, 10),
            ("U" | "u", None) if !exponent => self.int(start, whole, 10),
            ("", _) => self.double(start, body_end),
            ("t", Some(fraction)) if !exponent => {
                TokenKind::Time(self.nanoseconds(start, whole, fraction))
            }
            ("s", Some(fraction)) if !exponent => {
                TokenKind::Interval(self.nanoseconds(start, whole, fraction))
            }
            (suffix, _) => self.bad_suffix(start, suffix),
        }
    }

    /// Consumes `e9`, `E+9`, `e-9`, and says whether there was one.
    fn exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        let found = matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit();
        if found {
            self.at += 1 + sign;
            self.take_while(|b| b.is_ascii_digit());
        }
        found
    }

    fn hexadecimal(&mut self, start: usize) -> TokenKind {
        self.at += 2;
        let digits = self.take_while(|b| b.is_ascii_hexdigit());
        let suffix = self.take_while(is_word);
        match suffix {
            _ if digits.is_empty() => self.bad_suffix(start, ""),
            "" | "U" | "u" => self.int(start, digits, 16),
            "I" => self.identifier(start, digits),
            suffix => self.bad_suffix(start, suffix),
        }
    }

    fn int(&mut self, start: usize, digits: &str, radix: u32) -> TokenKind {
        match u64::from_str_radix(digits, radix) {
            // 2^63 may stand behind a minus; the parser, which sees that, has the last word.
            Ok(value) if value <= 1 << 63 => TokenKind::Int(value),
            _ => {
                self.too_large(start, "an integer has at most 63 bits");
                TokenKind::Int(0)
            }
        }
    }

    fn identifier(&mut self, start: usize, digits: &str) -> TokenKind {
        let digits = digits.trim_start_matches('0');
        let mut bytes = Box::new([0u8; 20]);
        if digits.len() > 2 * bytes.len() {
            self.too_large(start, "an identifier has at most 160 bits");
            return TokenKind::Id(bytes);
        }
        for (place, digit) in digits.bytes().rev().enumerate() {
            let value = (digit as char).to_digit(16).unwrap_or(0) as u8;
            bytes[19 - place / 2] |= value << (4 * (place % 2));
        }
        TokenKind::Id(bytes)
    }

    fn double(&mut self, start: usize, end: usize) -> TokenKind {
        match self.text[start..end].parse::<f64>() {
            Ok(value) if value.is_finite() => TokenKind::Double(value),
            _ => {
                self.too_large(start, "a double is at most 1.7976931348623157e308");
                TokenKind::Double(0.0)
            }
        }
    }

    fn nanoseconds(&mut self, start: usize, whole: &str, fraction: &str) -> i64 {
        if fraction.len() > DECIMALS_MAX {
            let span = self.span(start, self.at);
            let message = "a time has at most 9 decimals";
            self.wrong(Diagnostic::error("bad-number", span, message));
            return 0;
        }
        let padded = format!("{whole}{fraction:0<DECIMALS_MAX$}");
        padded.parse().unwrap_or_else(|_| {
            self.too_large(start, "a time has at most 63 bits of nanoseconds");
            0
        })
    }

    fn bad_suffix(&mut self, start: usize, suffix: &str) -> TokenKind {
        let found = &self.text[start..self.at];
        let message = format!("`{found}` is no number");
        let mut wrong = Diagnostic::error("bad-number", self.span(start, self.at), message);
        if suffix.eq_ignore_ascii_case("i") {
            wrong = wrong.help("identifiers are hexadecimal: `0x2AI`");
        }
        self.wrong(wrong);
        TokenKind::Int(0)
    }

    fn too_large(&mut self, start: usize, help: &str) {
        let span = self.span(start, self.at);
        self.wrong(Diagnostic::error("literal-too-large", span, "literal is too large").help(help));
    }
}
