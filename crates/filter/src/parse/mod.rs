//! From tokens to a tree.
//!
//! ```text
//!   expression  = [ operand { ( and | or ) operand } ]         one level, from the left
//!   operand     = not operand | "(" expression ")" | primitive | id
//!   primitive   = [ protocol ] [ direction ] [ kind ] ids      one of the three at least
//!               | protocol | [ protocol ] ( broadcast | multicast )
//!               | geneve [ N ] | inbound | outbound | llc [ name ] | byte N ( = | < | > ) N
//!               | l1 | l2 | iih | lsp | snp | csnp | psnp
//!               | less N | greater N | vlan [ N ] | mpls [ N ] | pppoed | pppoes [ N ]
//!               | number relation number
//!   ids         = id | not id | "(" ids { ( and | or ) ( ids | primitive ) } ")"
//! ```
//!
//! An id without qualifiers has those of the operand before it, and needs such an operand. Whether
//! `(` begins a number, ids or an expression shows after its `)` and in the first token in it.
//!
//! What cannot be parsed is reported, skipped up to the next `and`, `or` or `)` that fits, and is
//! [`PrimitiveKind::Wrong`] in the tree; so one run finds several errors.

mod arithmetic;
mod id;
mod primitive;

use tidemill_diag::{Diagnostic, FileId, Span, given_up};

use crate::ast::{Expr, Join, Primitive, PrimitiveKind, Qualifiers};
use crate::lex::{Token, TokenKind, lex};

/// Parentheses, `not` and signs nest no deeper.
pub const DEPTH_MAX: u32 = 100;
/// After this many findings the rest is not parsed.
const DIAGNOSTICS_MAX: usize = 50;

/// Reads an expression. The tree is whole where no diagnostic is an error.
pub fn parse(file: FileId, text: &str) -> (Expr, Vec<Diagnostic>) {
    let (tokens, diagnostics) = lex(file, text);
    let closing = closing(&tokens);
    let mut parser = Parser {
        text,
        tokens,
        closing,
        at: 0,
        depth: 0,
        operators: 0,
        given_up: false,
        implied: None,
        diagnostics,
    };
    let expr = parser.whole();
    let mut diagnostics = parser.diagnostics;
    let left_out = diagnostics.get(DIAGNOSTICS_MAX).map(|first| first.span);
    diagnostics.truncate(DIAGNOSTICS_MAX);
    diagnostics.extend(left_out.map(|span| given_up(DIAGNOSTICS_MAX, span)));
    (expr, diagnostics)
}

/// For each `(` the place of its `)`; of no interest for others.
fn closing(tokens: &[Token]) -> Vec<usize> {
    let mut closing = vec![usize::MAX; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Sign("(") => open.push(at),
            TokenKind::Sign(")") => {
                if let Some(start) = open.pop() {
                    closing[start] = at;
                }
            }
            _ => {}
        }
    }
    closing
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    closing: Vec<usize>,
    at: usize,
    depth: u32,
    /// It goes too deep, so the rest was skipped.
    given_up: bool,
    /// Seen so far in this relation.
    operators: u32,
    /// The qualifiers of the operand before this one; `None` if it has none.
    implied: Option<Qualifiers>,
    diagnostics: Vec<Diagnostic>,
}

/// The place was noted already.
struct Noted;

type Parsed<T> = Result<T, Noted>;

impl Parser<'_> {
    fn kind(&self) -> &TokenKind {
        self.kind_at(self.at)
    }

    fn kind_at(&self, at: usize) -> &TokenKind {
        self.tokens.get(at).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn span(&self) -> Span {
        self.tokens[self.at.min(self.tokens.len() - 1)].span
    }

    /// From the token at `start` to the one before this.
    fn since(&self, start: usize) -> Span {
        let last = self.at.saturating_sub(1).max(start);
        self.tokens[start].span.to(self.tokens[last].span)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Word(known) if *known == word)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.kind(), TokenKind::Sign(known) if *known == sign)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let is = self.is_sign(sign);
        self.at += usize::from(is);
        is
    }

    fn note(&mut self, diagnostic: Diagnostic) -> Noted {
        self.diagnostics.push(diagnostic);
        Noted
    }

    /// The token here is not what the language has at this place.
    fn unexpected(&mut self, wanted: &str) -> Noted {
        let span = self.span();
        let found = match self.kind() {
            TokenKind::End => "the end".to_owned(),
            _ => format!("`{}`", &self.text[span.start as usize..span.end as usize]),
        };
        let message = format!("{wanted} should be here, not {found}");
        self.note(Diagnostic::error("unexpected-token", span, message))
    }

    /// Runs `inner` one level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEPTH_MAX {
            let span = self.span();
            let message = format!("more than {DEPTH_MAX} levels");
            // The contents are skipped, and would be reported again at each level.
            self.at = self.tokens.len() - 1;
            self.given_up = true;
            return Err(self.note(Diagnostic::error("nesting-too-deep", span, message)));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn whole(&mut self) -> Expr {
        if *self.kind() == TokenKind::End {
            return Expr::All;
        }
        let mut expr = self.chain(Self::operand);
        while *self.kind() != TokenKind::End {
            // Only a `)` without its `(` ends a chain before the end.
            self.unexpected("`and`, `or` or the end");
            self.at += 1;
            if matches!(self.kind(), TokenKind::Word("and" | "or")) {
                self.at += 1;
            }
            if *self.kind() != TokenKind::End {
                let more = self.chain(Self::operand);
                expr = Expr::Chain(Box::new(expr), vec![(Join::And, more)]);
                if self.diagnostics.len() > DIAGNOSTICS_MAX {
                    break;
                }
            }
        }
        expr
    }

    /// Operands with `and` and `or` between them; the first is read by `first`.
    fn chain(&mut self, first: impl FnOnce(&mut Self) -> Parsed<Expr>) -> Expr {
        let start = self.at;
        let first = first(self).unwrap_or_else(|Noted| self.recover(start));
        let mut rest = Vec::new();
        loop {
            let join = match self.kind() {
                TokenKind::Word("and") => Join::And,
                TokenKind::Word("or") => Join::Or,
                TokenKind::End | TokenKind::Sign(")") => break,
                _ if self.diagnostics.len() > DIAGNOSTICS_MAX => {
                    self.at = self.tokens.len() - 1;
                    break;
                }
                _ => {
                    let help = "tests are joined by `and` and `or`";
                    self.unexpected("`and` or `or`");
                    if let Some(last) = self.diagnostics.last_mut() {
                        last.help = Some(help.to_owned());
                    }
                    let start = self.at;
                    self.recover(start);
                    continue;
                }
            };
            self.at += 1;
            let start = self.at;
            let next = self.operand_or_id().unwrap_or_else(|Noted| self.recover(start));
            rest.push((join, next));
        }
        if rest.is_empty() { first } else { Expr::Chain(Box::new(first), rest) }
    }

    /// Continues after a mistake: to the next joint of this level.
    fn recover(&mut self, start: usize) -> Expr {
        let mut open = 0usize;
        loop {
            match self.kind() {
                TokenKind::End => break,
                TokenKind::Word("and" | "or") if open == 0 && self.at > start => break,
                TokenKind::Sign(")") if open == 0 => break,
                TokenKind::Sign("(") => open += 1,
                TokenKind::Sign(")") => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.implied = None;
        let span = self.since(start.min(self.tokens.len() - 1));
        Expr::Primitive(Primitive { kind: PrimitiveKind::Wrong, span })
    }

    fn operand(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| {
            if parser.take_word("not") {
                return Ok(Expr::Not(Box::new(parser.operand()?)));
            }
            if parser.is_sign("(") && !parser.number_begins() {
                return parser.parentheses(Self::operand);
            }
            parser.primitive()
        })
    }

    /// An operand that may be an id with the qualifiers of the one before.
    fn operand_or_id(&mut self) -> Parsed<Expr> {
        match self.id_begins() {
            true => self.ids(),
            false if self.is_word("not") && self.id_begins_after_not() => self.ids(),
            false => self.operand(),
        }
    }

    fn parentheses(&mut self, first: impl FnOnce(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let open = self.span();
        self.at += 1;
        let inner = self.chain(first);
        if !self.take_sign(")") {
            if self.given_up {
                return Err(Noted);
            }
            let message = "this parenthesis is not closed";
            return Err(self.note(Diagnostic::error("unclosed-parenthesis", open, message)));
        }
        Ok(inner)
    }
}
