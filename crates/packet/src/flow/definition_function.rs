//! Functions in definitions of apps.

use super::code::ast::FunctionDef;
use super::lex::TokenKind;
use super::parse::Parser;

/// How a function is written.
const HELP: &str = "write `fn name(x: u16) -> u16 { return x + 1; }`";

impl Parser<'_> {
    /// Behind `fn`.
    pub(super) fn function_definition(&mut self) -> Option<FunctionDef> {
        let name = self.name("the name of the function", HELP)?;
        let parameters = self.columns(HELP)?;
        if !self.takes(&TokenKind::Arrow) {
            self.expected("`->`", HELP);
            return None;
        }
        let result = self.name("a type", super::definition_table::TYPES_HELP)?;
        let body = self.block(0)?;
        Some(FunctionDef { name, parameters, result, body })
    }
}
