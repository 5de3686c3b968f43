//! Blanks between tokens, and where a line may end.

use super::measures::slice;
use crate::lex::{Sym, Token, TokenKind};

/// The places where a token may begin a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineBreak {
    /// Nowhere but after the token before it.
    Tight,
    /// On a line of its own if its term is too long for one.
    Inner,
    /// On the next line if its term does not fit: it begins a term.
    Term,
}

/// Walks along the tokens of a statement.
pub(super) struct Spacing<'a> {
    text: &'a str,
    previous: Option<Token>,
    /// The token before was a prefix operator.
    prefix: bool,
    /// Open brackets.
    depth: usize,
    /// Tokens that still belong to an aggregate's `<X>`.
    aggregate: usize,
}

impl<'a> Spacing<'a> {
    pub(super) fn new(text: &'a str) -> Spacing<'a> {
        Spacing { text, previous: None, prefix: false, depth: 0, aggregate: 0 }
    }

    /// Whether a blank comes before the first of `tokens`, and where it may begin a line.
    pub(super) fn before(&mut self, tokens: &[Token]) -> (bool, LineBreak) {
        let token = &tokens[0];
        let was_prefix = self.prefix;
        self.prefix = self.is_prefix(token);
        let result = match self.previous.take() {
            None => (false, LineBreak::Tight),
            Some(previous) => {
                let tight = was_prefix || self.aggregate > 0 || self.is_tight(&previous, token);
                let comma = previous.kind == TokenKind::Sym(Sym::Comma);
                let space = comma || !tight || self.would_merge(&previous, token);
                (space, if space { self.place(&previous) } else { LineBreak::Tight })
            }
        };
        self.aggregate = self.aggregate.saturating_sub(1).max(aggregate_length(tokens));
        match token.kind {
            TokenKind::Sym(Sym::LParen | Sym::LBracket | Sym::LBrace) => self.depth += 1,
            TokenKind::Sym(Sym::RParen | Sym::RBracket | Sym::RBrace) => {
                self.depth = self.depth.saturating_sub(1);
            }
            _ => {}
        }
        self.previous = Some(token.clone());
        result
    }

    /// `@`, `!`, `~`, and `-` where no value stands before it.
    fn is_prefix(&self, token: &Token) -> bool {
        let TokenKind::Sym(sym) = token.kind else { return false };
        let behind_value = self.previous.as_ref().is_some_and(|it| match &it.kind {
            TokenKind::Sym(sym) => matches!(sym, Sym::RParen | Sym::RBracket | Sym::RBrace),
            TokenKind::Name(name) => **name != *"in",
            _ => true,
        });
        match sym {
            Sym::At | Sym::Not | Sym::Tilde => true,
            Sym::Minus => !behind_value,
            // In a conditional this is a `:` and a `-`.
            Sym::If => self.depth > 0,
            _ => false,
        }
    }

    fn is_tight(&self, previous: &Token, token: &Token) -> bool {
        use Sym::{At, Comma, Dot, LBrace, LBracket, LParen, RBrace, RBracket, RParen};
        let is_in = previous.kind == TokenKind::Name("in".into());
        let is_notin = previous.kind == TokenKind::Name("notin".into());
        match (&previous.kind, &token.kind) {
            (TokenKind::Sym(LParen | LBracket), _) => true,
            // The braces of a namespace are at depth 1 too, but nothing follows them here.
            (TokenKind::Sym(LBrace), _) => true,
            (_, TokenKind::Sym(RParen | RBracket | RBrace | Comma | Dot)) => true,
            (_, TokenKind::Sym(LParen | At)) if is_in || is_notin => false,
            (kind, TokenKind::Sym(LParen | At)) => kind.word().is_some(),
            (TokenKind::Var(_), TokenKind::Sym(LBracket | LBrace)) => true,
            (TokenKind::Sym(RBracket | RBrace), TokenKind::Sym(LBracket | LBrace)) => true,
            _ => false,
        }
    }

    /// Whether the two would lex differently without a blank between them.
    fn would_merge(&self, previous: &Token, token: &Token) -> bool {
        let (TokenKind::Sym(a), TokenKind::Sym(_)) = (&previous.kind, &token.kind) else {
            return previous.kind.word().is_some() && token.kind.word().is_some();
        };
        let both = format!("{}{}", slice(self.text, previous), slice(self.text, token));
        let first = Sym::ALL.iter().find(|sym| both.starts_with(sym.text()));
        first != Some(a) || ["/*", "//", "%%", "#!"].iter().any(|open| both.starts_with(open))
    }

    fn place(&self, previous: &Token) -> LineBreak {
        match previous.kind {
            TokenKind::Sym(Sym::Comma | Sym::If) if self.depth == 0 => LineBreak::Term,
            TokenKind::Sym(Sym::Comma | Sym::AndAnd | Sym::OrOr) => LineBreak::Inner,
            _ => LineBreak::Tight,
        }
    }
}

/// The number of tokens after the first of `tokens` in `a_MIN<X>`; 0 if it begins no aggregate.
fn aggregate_length(tokens: &[Token]) -> usize {
    let sym =
        |at: usize, sym: Sym| tokens.get(at).is_some_and(|token| token.kind == TokenKind::Sym(sym));
    let starts = tokens[0].kind.word().is_some() && sym(1, Sym::Less);
    let over = 2 + usize::from(sym(2, Sym::At));
    let is_over = sym(over, Sym::Star)
        || tokens.get(over).is_some_and(|token| matches!(token.kind, TokenKind::Var(_)));
    if !starts || !is_over {
        return 0;
    }
    let close = if sym(over + 1, Sym::Comma) { over + 3 } else { over + 1 };
    let ends = sym(close + 1, Sym::Comma) || sym(close + 1, Sym::RParen);
    if sym(close, Sym::Greater) && ends { close } else { 0 }
}
