//! The layout of definitions of apps: lines stay as they are and are indented by their braces.

use super::lex::{Token, TokenKind};

/// The state within a definition.
#[derive(Default)]
pub(super) struct Body {
    /// Braces that are open.
    open: usize,
    /// Parentheses that are open in this statement.
    lists: usize,
    /// The last token was a sign of a number, not an operator between two.
    is_sign: bool,
}

/// The space before a token.
pub(super) enum Space {
    None,
    Blanks(usize),
    /// Ends of lines, then an indent by this many levels.
    Lines(usize, usize),
}

impl Body {
    /// The space between two tokens with `lines` ends of lines between them.
    pub(super) fn space(
        &mut self,
        (before, was): (&Token, &str),
        token: &Token,
        lines: usize,
    ) -> Space {
        let closes = token.kind == TokenKind::Mark('}');
        let opened = before.kind == TokenKind::Mark('{');
        self.open += usize::from(opened);
        self.open -= usize::from(closes).min(self.open);
        if let TokenKind::Mark('{' | '}' | ';') = before.kind {
            self.lists = 0;
        }
        let ends_list = token.kind == TokenKind::Mark(')');
        self.lists += usize::from(before.kind == TokenKind::Mark('('));
        self.lists -= usize::from(ends_list).min(self.lists);
        let is_sign = std::mem::take(&mut self.is_sign);
        if let TokenKind::Mark('-' | '!' | '~') = token.kind {
            self.is_sign = match before.kind {
                TokenKind::Operator(_) => true,
                TokenKind::Mark(mark) => mark != ')',
                TokenKind::Name => matches!(was, "if" | "by" | "return"),
                _ => false,
            };
        }
        if lines > 0 {
            let begins =
                matches!(before.kind, TokenKind::Mark('{' | '}' | ';' | ',') | TokenKind::Comment)
                    || closes;
            let is_comment = token.kind == TokenKind::Comment;
            let in_keys = self.open == 0 && !closes && !opened;
            // A list or a condition continues; what ends it stands below its begin.
            let ends = ends_list && self.lists == 0 || token.kind == TokenKind::Mark('{');
            let continues = self.lists > 0 || !begins && !is_comment || in_keys;
            let lines = if opened || closes { 1 } else { lines };
            return Space::Lines(lines, self.open + usize::from(continues && !ends));
        }
        if token.kind == TokenKind::Comment {
            return Space::Blanks(2);
        }
        let calls = token.kind == TokenKind::Mark('(')
            && before.kind == TokenKind::Name
            && !matches!(was, "if" | "mask" | "return");
        let range = TokenKind::Operator("..");
        let is_tight = calls
            || is_sign && follows_sign(was, &token.kind)
            || matches!(before.kind, TokenKind::Mark('(' | '.'))
            || matches!(token.kind, TokenKind::Mark(')' | '.' | ',' | ';' | ':'))
            || token.kind == TokenKind::Mark('=') && is_compound(&before.kind)
            || before.kind == range
            || token.kind == range
            || opened && closes;
        if is_tight { Space::None } else { Space::Blanks(1) }
    }
}

/// Whether an operator before `=` is part of it.
fn is_compound(operator: &TokenKind) -> bool {
    matches!(
        operator,
        TokenKind::Mark('+' | '-' | '*' | '/' | '%' | '&' | '|' | '^')
            | TokenKind::Operator("<<" | ">>")
    )
}

/// Whether no blank separates a sign and its operand. `-` and a number would become one token.
fn follows_sign(sign: &str, token: &TokenKind) -> bool {
    match token {
        TokenKind::Name | TokenKind::Parameter | TokenKind::Text(_) | TokenKind::Mark('(') => true,
        TokenKind::Integer(_) => sign != "-",
        _ => false,
    }
}
