//! Numbers: integers, identifiers, doubles, times and intervals.

use tidemill_diag::Diagnostic;
use tidemill_diag::text::is_word;
use tidemill_diag::text::number::{BadNumber, double, nanoseconds, whole};
use tidemill_relation::Id;

use super::{Lexer, TokenKind};

impl Lexer<'_> {
    pub(super) fn number(&mut self, start: usize) -> TokenKind {
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X') {
            return self.hexadecimal(start);
        }
        let whole = self.cursor.digits();
        let fraction = self.cursor.fraction();
        let exponent = self.cursor.exponent();
        let body = self.cursor.since(start);
        match (self.cursor.take_while(is_word), fraction) {
            ("" | "U" | "u", None) if !exponent => self.int(start, whole, 10),
            // As published: `K := 1I << I`.
            ("I", None) if !exponent => self.identifier(start, whole, 10),
            ("", _) => self.double(start, body),
            ("t", Some(fraction)) if !exponent => {
                TokenKind::Time(self.nanoseconds(start, whole, fraction))
            }
            ("s", Some(fraction)) if !exponent => {
                TokenKind::Interval(self.nanoseconds(start, whole, fraction))
            }
            (suffix, _) => self.bad_suffix(start, suffix),
        }
    }

    fn hexadecimal(&mut self, start: usize) -> TokenKind {
        self.cursor.skip(2);
        let digits = self.cursor.take_while(|b| b.is_ascii_hexdigit());
        match self.cursor.take_while(is_word) {
            _ if digits.is_empty() => self.bad_suffix(start, ""),
            "" | "U" | "u" => self.int(start, digits, 16),
            "I" => self.identifier(start, digits, 16),
            suffix => self.bad_suffix(start, suffix),
        }
    }

    fn int(&mut self, start: usize, digits: &str, radix: u32) -> TokenKind {
        match whole(digits, radix) {
            // 2^63 is valid after a minus, which the parser checks.
            Ok(value) if value <= 1 << 63 => TokenKind::Int(value),
            _ => {
                self.too_large(start, "an integer has at most 63 bits");
                TokenKind::Int(0)
            }
        }
    }

    fn identifier(&mut self, start: usize, digits: &str, radix: u32) -> TokenKind {
        let id = Id::from_digits(digits, radix).unwrap_or_else(|| {
            self.too_large(start, "an identifier has at most 160 bits");
            Id::ZERO
        });
        TokenKind::Id(Box::new(id.to_be_bytes()))
    }

    fn double(&mut self, start: usize, body: &str) -> TokenKind {
        double(body).map(TokenKind::Double).unwrap_or_else(|_| {
            self.too_large(start, "a double is at most 1.7976931348623157e308");
            TokenKind::Double(0.0)
        })
    }

    fn nanoseconds(&mut self, start: usize, whole: &str, fraction: &str) -> i64 {
        match nanoseconds(whole, fraction).map(i64::try_from) {
            Ok(Ok(ns)) => return ns,
            Err(BadNumber::Decimals) => {
                let message = "a time has at most 9 decimals";
                self.set_error(Diagnostic::error("bad-number", self.since(start), message));
            }
            _ => self.too_large(start, "a time has at most 63 bits of nanoseconds"),
        }
        0
    }

    fn bad_suffix(&mut self, start: usize, suffix: &str) -> TokenKind {
        let message = format!("`{}` is no number", self.cursor.since(start));
        let mut wrong = Diagnostic::error("bad-number", self.since(start), message);
        if suffix.eq_ignore_ascii_case("i") {
            wrong = wrong.help("an identifier has no point, and a capital `I`: `42I`, `0x2AI`");
        }
        if matches!(suffix, "s" | "t") {
            let kind = if suffix == "s" { "an interval" } else { "a time" };
            wrong = wrong.help(format!("{kind} has a point: `1.0{suffix}`"));
        }
        self.set_error(wrong);
        TokenKind::Int(0)
    }

    fn too_large(&mut self, start: usize, help: &str) {
        let message = "literal is too large";
        let error = Diagnostic::error("literal-too-large", self.since(start), message);
        self.set_error(error.help(help));
    }
}
