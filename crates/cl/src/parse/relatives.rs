//! Words of related languages (Oberon, Modula, Pascal) that users bring along.

use super::recovery::Failed;
use super::{Parsed, Parser};
use crate::ast::StatementKind;
use crate::lex::TokenKind;
use tidemill_diag::Span;

/// Shorter forms of keywords.
const SHORT: &[(&str, TokenKind)] = &[("VAR", TokenKind::Variable), ("CONST", TokenKind::Constant)];

/// Statements that there are not, and what to write in their place.
const STATEMENTS: &[(&str, &str)] = &[
    ("LOOP", "write `WHILE TRUE DO ... END`, or with the condition under which it goes on"),
    ("EXIT", "end a loop by its condition, or leave the procedure with RETURN"),
    ("CASE", "write `IF a = 1 THEN ... ELSIF a = 2 THEN ... ELSE ... END`"),
    ("WITH", "ask with `IF x IS Type THEN ... END`"),
];

/// Types of other names, and what they are called here.
const TYPES: &[(&str, &[&str])] = &[
    ("INTEGER", &["INT", "INT64", "LONGINT", "SHORTINT", "HUGEINT", "CARDINAL"]),
    ("REAL", &["FLOAT", "DOUBLE", "LONGREAL"]),
    ("CHARACTER", &["CHAR", "BYTE"]),
    ("BOOLEAN", &["BOOL"]),
    ("TEXT", &["STRING"]),
];

/// The name of a type in this language.
pub(crate) fn type_meant(name: &str) -> Option<&'static str> {
    let is_meant = |(_, others): &&(&str, &[&str])| {
        others.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    TYPES.iter().find(is_meant).map(|(meant, _)| *meant)
}

impl Parser<'_> {
    /// Takes a shorter form of `VARIABLE` or `CONSTANT` before a name for it, and reports that.
    pub(super) fn correct_short_form(&mut self) {
        let short = |(word, _): &&(&str, TokenKind)| self.slice().eq_ignore_ascii_case(word);
        let before_name = self.is(TokenKind::Ident) && self.ahead(1) == TokenKind::Ident;
        let Some((_, keyword)) = SHORT.iter().find(short).filter(|_| before_name) else { return };
        let message = format!("`{}` is no keyword", self.slice());
        let error = self.error("foreign-keyword", message);
        self.complain(error.help(format!("write `{}`", keyword.text())));
        let at = self.at;
        self.tokens[at].kind = *keyword;
    }

    /// A statement that another language has; its parts are read where they are statements.
    pub(super) fn foreign_statement(&mut self, start: Span) -> Option<Parsed<StatementKind>> {
        use TokenKind::{Assign, Exclamation, LBracket, LParen, Question};
        let follows = self.ahead(1);
        if [Assign, Exclamation, LBracket, LParen, Question].contains(&follows) {
            return None;
        }
        let (word, help) = STATEMENTS.iter().find(|(word, _)| *word == self.slice())?;
        let error = self.error("foreign-keyword", format!("there is no statement {word}"));
        self.complain(error.help(*help));
        if *word != "LOOP" {
            self.skip_part(*word == "CASE");
            return Some(Err(Failed));
        }
        self.next();
        let body = self.sequence();
        self.statement_end(start, word);
        Some(Ok(StatementKind::Block(body)))
    }

    /// An array type as related languages have it.
    pub(super) fn foreign_type<T>(&mut self) -> Option<Parsed<T>> {
        let of = self.ahead(1) != TokenKind::Semicolon;
        let help = match self.slice() {
            "ARRAY" if of => "an array has indices: `a[i: INTEGER]: REAL {ARRAY}`, and `NEW(a, n)`",
            "RECORD" if of => "there are no records: use several variables, or a component",
            _ => return None,
        };
        let has_end = self.slice() == "RECORD";
        let error = self.error("foreign-keyword", format!("there is no type {}", self.slice()));
        self.complain(error.help(help));
        self.skip_part(has_end);
        Some(Err(Failed))
    }

    /// Skips a word, or all up to the END that belongs to it.
    fn skip_part(&mut self, has_end: bool) {
        self.next();
        while has_end && !self.at_sequence_end() {
            self.next();
        }
        if has_end && self.is(TokenKind::KeywordEnd) && self.ahead(1) != TokenKind::Ident {
            self.next();
        }
    }
}

/// How to write a value or procedure that other languages have.
pub(crate) fn name_meant(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_uppercase().as_str() {
        "WRITELN" | "PRINTLN" | "OUTLN" => "WRITE(x) writes a value, WRITELINE ends the line",
        "PRINT" | "PRINTF" | "WRITEINT" | "WRITEREAL" | "WRITECHAR" | "WRITESTRING"
        | "WRITETEXT" => "WRITE(x) writes a value of any simple type",
        "READ" | "READLN" | "READLINE" => "the system interface Input has the lines and bytes",
        "LEN" | "SIZE" => "it is called LENGTH here",
        "CHR" => "CHARACTER(code) is the character of a code",
        "ORD" => "INTEGER(character) is the code of a character",
        "FLOOR" | "ENTIER" | "INT" => "INTEGER(real) rounds down",
        "FLOAT" => "REAL(integer) converts",
        "STR" | "STRING" | "TOSTRING" => "TEXT(x) is what WRITE would write",
        "NOT" => "negate with `~`",
        "ODD" => "write `x MOD 2 = 1`",
        "ABS" => "write `IF x < 0 THEN x := -x END`",
        "SLEEP" | "DELAY" => "PASSIVATE(d) waits in virtual time, SystemTime!Wait(ms) in real time",
        "EXIT" | "QUIT" => "HALT(0) ends the program, RETURN the procedure",
        "NIL" | "NULL" | "NONE" => "EXISTS(x) tests for a component, DELETE(x) empties a variable",
        "MAXINT" => "write MAX(INTEGER)",
        "TRUE" => "write `TRUE`",
        "FALSE" => "write `FALSE`",
        _ => return None,
    })
}
