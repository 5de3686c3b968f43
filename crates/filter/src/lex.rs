//! From text to tokens.
//!
//! At each place the longest token wins; of tokens that are as long, the first of this list:
//!
//! ```text
//!   number      80  0x1f  017            sign        ( ) [ ] : / + - * % & | ^ << >>
//!   dotted      10.1  10.1.2.3                       = == != < <= > >= ! && ||
//!   IPv6        2001:db8::1
//!   Ethernet    0:1:2:a:b:c  0001.020a.0b0c
//!   keyword     a word of the language, or the name of a constant
//!   name        letters, digits, . _ - (not at the end); or \ and what follows up to a blank
//! ```
//!
//! So `6000-6008` is a name, and `len-14` is one too.

use std::fmt;
use std::net::Ipv6Addr;

use tidemill_diag::text::Cursor;
use tidemill_diag::text::number::{BadNumber, radix_of_c, whole};
use tidemill_diag::{Diagnostic, FileId, Span};

use crate::{address, names};

/// A piece of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

/// The kind of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// A number, also the value of a named constant.
    Number(u32),
    /// Two to four numbers with dots between: what they make, and of how many bits.
    Dotted(u32, u32),
    /// An IPv6 address.
    Ip6(Ipv6Addr),
    /// An Ethernet address.
    Ethernet([u8; 6]),
    /// A word of the language, in one spelling.
    Word(&'static str),
    /// A sign, in one spelling.
    Sign(&'static str),
    /// Any other name, or one after a backslash.
    Name(String),
    /// After the last.
    End,
}

/// Words with their other spellings after them.
const WORDS: &[&[&str]] = &[
    &["ether"],
    &["link"],
    &["fddi"],
    &["tr"],
    &["wlan"],
    &["ppp"],
    &["slip"],
    &["radio"],
    &["ip"],
    &["ip6"],
    &["arp"],
    &["rarp"],
    &["tcp"],
    &["udp"],
    &["sctp"],
    &["icmp"],
    &["icmp6"],
    &["igmp"],
    &["igrp"],
    &["pim"],
    &["vrrp"],
    &["carp"],
    &["ah"],
    &["esp"],
    &["atalk"],
    &["aarp"],
    &["decnet"],
    &["lat"],
    &["sca"],
    &["moprc"],
    &["mopdl"],
    &["stp"],
    &["ipx"],
    &["netbeui"],
    &["iso"],
    &["clnp"],
    &["esis", "es-is"],
    &["isis", "is-is"],
    &["host"],
    &["net"],
    &["mask"],
    &["port"],
    &["portrange"],
    &["proto"],
    &["protochain"],
    &["gateway"],
    &["src"],
    &["dst"],
    &["broadcast"],
    &["multicast"],
    &["less"],
    &["greater"],
    &["byte"],
    &["and"],
    &["or"],
    &["not"],
    &["len", "length"],
    &["inbound"],
    &["outbound"],
    &["ifindex"],
    &["vlan"],
    &["mpls"],
    &["pppoed"],
    &["pppoes"],
    &["geneve"],
    &["llc"],
    &["type"],
    &["subtype"],
    &["dir", "direction"],
    &["l1"],
    &["l2"],
    &["iih"],
    &["lsp"],
    &["snp"],
    &["csnp"],
    &["psnp"],
    &["lane"],
    &["metac"],
];

/// Longer signs first.
const SIGNS: &[(&str, &str)] = &[
    ("&&", "and"),
    ("||", "or"),
    ("<<", "<<"),
    (">>", ">>"),
    ("<=", "<="),
    (">=", ">="),
    ("!=", "!="),
    ("==", "="),
    ("!", "not"),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    (":", ":"),
    ("/", "/"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("%", "%"),
    ("&", "&"),
    ("|", "|"),
];

/// Splits a text; the last token is the end. Texts longer than this are cut there, with a
/// diagnostic.
pub const TEXT_BYTES_MAX: usize = 1 << 20;

/// Splits a text into tokens, of which the last is [`TokenKind::End`].
pub fn lex(file: FileId, text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let cursor = Cursor::new(text);
    let mut lexer = Lexer { file, cursor, tokens: Vec::new(), diagnostics: Vec::new() };
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("a filter has at most {TEXT_BYTES_MAX} bytes");
        lexer.diagnostics.push(Diagnostic::error("too-long", lexer.span(0, 0), message));
    } else {
        while lexer.next() {}
    }
    let end = lexer.span(text.len(), text.len());
    lexer.tokens.push(Token { kind: TokenKind::End, span: end });
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'t> {
    file: FileId,
    cursor: Cursor<'t>,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

/// The number of bytes at the start of `text` that are of this kind.
fn run(text: &str, inside: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !inside(byte)).unwrap_or(text.len())
}

impl Lexer<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    /// One token; false at the end.
    fn next(&mut self) -> bool {
        self.cursor.skip_while(|byte| byte.is_ascii_whitespace());
        let (start, text) = (self.cursor.at(), self.cursor.rest());
        let Some(first) = text.chars().next() else { return false };
        let (length, kind) = if first == '\\' {
            escaped(text)
        } else if let Some(found) = spelled(text) {
            found
        } else if let Some((sign, kind)) = sign(text) {
            (sign.len(), Ok(kind))
        } else {
            self.stray(first);
            return true;
        };
        self.cursor.skip(length);
        let span = self.cursor.span_since(self.file, start);
        let kind = kind.unwrap_or_else(|error| {
            self.diagnostics.push(Diagnostic::error("bad-number", span, error.to_string()));
            TokenKind::Number(0)
        });
        self.tokens.push(Token { kind, span });
        true
    }

    fn stray(&mut self, first: char) {
        let start = self.cursor.at();
        self.cursor.skip(first.len_utf8());
        let span = self.cursor.span_since(self.file, start);
        let found = format!("`{}` is not part of the language", first.escape_debug());
        // One for a run of them is enough.
        let again = self
            .diagnostics
            .last()
            .is_some_and(|last| last.code == "stray-character" && last.span.end == span.start);
        match self.diagnostics.last_mut().filter(|_| again) {
            Some(last) => last.span.end = span.end,
            None => self.diagnostics.push(Diagnostic::error("stray-character", span, found)),
        }
    }
}

/// Why a token has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TokenError {
    NoName,
    NotOctal,
    TooLarge,
    NoAddress,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TokenError::NoName => "a backslash needs a name after it",
            TokenError::NotOctal => "a number that begins with 0 is octal: its digits are 0 to 7",
            TokenError::TooLarge => "the number does not fit 32 bits",
            TokenError::NoAddress => "the numbers of an IPv4 address are 0 to 255",
        })
    }
}

type Found = (usize, Result<TokenKind, TokenError>);

/// A name after a backslash.
fn escaped(text: &str) -> Found {
    let length = run(&text[1..], |byte| !byte.is_ascii_whitespace() && !b"!()".contains(&byte));
    let name = text[1..1 + length].to_owned();
    let kind = match length {
        0 => Err(TokenError::NoName),
        _ => Ok(TokenKind::Name(name)),
    };
    (1 + length, kind)
}

/// The longest of what begins with a letter, a digit or a colon.
fn spelled(text: &str) -> Option<Found> {
    let mut best: Option<Found> = None;
    let mut offer = |length: usize, kind: Result<TokenKind, TokenError>| {
        if best.as_ref().is_none_or(|(known, _)| length > *known) {
            best = Some((length, kind));
        }
    };
    // First, since `0200.0000.0001` and twelve digits are Ethernet addresses to libpcap too.
    let length = run(text, |byte| byte.is_ascii_hexdigit() || b":.-".contains(&byte));
    if let Some(bytes) = address::ethernet(&text[..length]) {
        offer(length, Ok(TokenKind::Ethernet(bytes)));
    }
    if let Some((length, value)) = number(text) {
        offer(length, value.map(TokenKind::Number));
    }
    if let Some((length, value)) = dotted(text) {
        offer(length, value.map(|(value, bits)| TokenKind::Dotted(value, bits)));
    }
    let length = run(text, |byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
    if text[..length].contains(':')
        && let Some(address) = address::ip6(&text[..length])
    {
        offer(length, Ok(TokenKind::Ip6(address)));
    }
    let length = name(text);
    if length > 0 {
        offer(length, Ok(word(&text[..length])));
    }
    best
}

fn number(text: &str) -> Option<(usize, Result<u32, TokenError>)> {
    let length = match text.get(..2) {
        Some("0x" | "0X") => 2 + run(&text[2..], |byte| byte.is_ascii_hexdigit()),
        _ => 0,
    };
    // Without digits after it, `0x` is a zero and a name.
    let length = if length > 2 { length } else { run(text, |byte| byte.is_ascii_digit()) };
    let (digits, radix) = radix_of_c(&text[..length]);
    let value = match whole(digits, radix).map(u32::try_from) {
        Ok(Ok(value)) => Ok(value),
        Err(BadNumber::Digit) => Err(TokenError::NotOctal),
        _ => Err(TokenError::TooLarge),
    };
    (length > 0).then_some((length, value))
}

/// An address and how many of its 32 bits were given, or its error.
type Dotted = Result<(u32, u32), TokenError>;

fn dotted(text: &str) -> Option<(usize, Dotted)> {
    let (mut length, mut parts) = (0, 0);
    while parts < 4 {
        let start = if parts == 0 { 0 } else { length + 1 };
        if parts > 0 && !text[length..].starts_with('.') {
            break;
        }
        let digits = run(&text[start..], |byte| byte.is_ascii_digit());
        if digits == 0 {
            break;
        }
        (length, parts) = (start + digits, parts + 1);
    }
    let value = address::dotted(&text[..length]).ok_or(TokenError::NoAddress);
    // `1.1023` is no part of an IPv4 address, but a name, for it is an address of DECnet.
    (parts > 1 && !(parts == 2 && value.is_err())).then_some((length, value))
}

/// A name ends with a letter, a digit or a dot.
fn name(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return 0;
    }
    let length = run(text, |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    text[..length].trim_end_matches(['-', '_']).len()
}

fn word(text: &str) -> TokenKind {
    if let Some(words) = WORDS.iter().find(|words| words.contains(&text)) {
        return TokenKind::Word(words[0]);
    }
    match names::constant(text) {
        Some(number) => TokenKind::Number(number),
        None => TokenKind::Name(text.to_owned()),
    }
}

fn sign(text: &str) -> Option<(&'static str, TokenKind)> {
    if text.starts_with('^') {
        return Some(("^", TokenKind::Sign("^")));
    }
    let (sign, meaning) = SIGNS.iter().find(|(sign, _)| text.starts_with(sign))?;
    let kind = match *meaning {
        word @ ("and" | "or" | "not") => TokenKind::Word(word),
        sign => TokenKind::Sign(sign),
    };
    Some((sign, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let (tokens, diagnostics) = lex(FileId(0), text);
        assert_eq!(diagnostics, []);
        tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn the_longest_token_wins() {
        let name = |text: &str| TokenKind::Name(text.to_owned());
        assert_eq!(kinds("6000-6008 len-14"), [name("6000-6008"), name("len-14"), TokenKind::End]);
        assert_eq!(
            kinds("tcp[0:2]"),
            [
                TokenKind::Word("tcp"),
                TokenKind::Sign("["),
                TokenKind::Number(0),
                TokenKind::Sign(":"),
                TokenKind::Number(2),
                TokenKind::Sign("]"),
                TokenKind::End
            ]
        );
        assert_eq!(kinds("10.1.2")[0], TokenKind::Dotted(0x0a_0102, 24));
        assert_eq!(kinds("1.2.3.4.5 0x"), [name("1.2.3.4.5"), name("0x"), TokenKind::End]);
        assert_eq!(kinds("a.b.c.d.e.f")[0], TokenKind::Ethernet([10, 11, 12, 13, 14, 15]));
        assert_eq!(kinds("::1")[0], TokenKind::Ip6(Ipv6Addr::LOCALHOST));
        assert_eq!(kinds("017 0x1F tcp-syn")[..3], [15, 31, 2].map(TokenKind::Number));
        assert_eq!(kinds("\\tcp)")[..2], [name("tcp"), TokenKind::Sign(")")]);
        assert_eq!(kinds("length! &&")[..3], ["len", "not", "and"].map(TokenKind::Word));
    }

    #[test]
    fn each_bad_piece_has_a_diagnostic() {
        let (tokens, diagnostics) = lex(FileId(0), "port 08 or {{ é 4294967296 1.2.3.256 \\");
        let codes: Vec<_> = diagnostics.iter().map(|one| one.code).collect();
        let expected =
            ["bad-number", "stray-character", "stray-character", "bad-number", "bad-number"];
        assert_eq!(codes[..5], expected);
        assert_eq!(diagnostics.len(), 6);
        assert_eq!(tokens.len(), 7);
        // One for a run of strays, none for two with a blank between.
        let strays = [&diagnostics[1], &diagnostics[2]].map(|one| one.span.start..one.span.end);
        assert_eq!(strays, [11..13, 14..16]);
    }

    #[test]
    fn a_text_has_a_longest_length() {
        let text = " ".repeat(TEXT_BYTES_MAX - 2) + "ip";
        let (tokens, diagnostics) = lex(FileId(0), &text);
        assert_eq!((tokens.len(), diagnostics.len()), (2, 0));
        let (tokens, diagnostics) = lex(FileId(0), &(text + " "));
        let codes: Vec<_> = diagnostics.iter().map(|one| one.code).collect();
        assert_eq!((tokens.len(), codes), (1, vec!["too-long"]));
    }
}
