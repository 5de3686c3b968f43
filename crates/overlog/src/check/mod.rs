//! Checking a program: does every name, column, variable and type make sense?
//!
//! [`check`] reads the tree once per concern and collects all findings that it can:
//!
//! * [`symbols`]: which relations there are, with how many columns, and where each is located;
//! * [`declarations`]: statements that are not rules;
//! * [`shape`]: events, tables, heads and negation in rules;
//! * [`safety`]: every variable is bound;
//! * [`types`]: what each column and variable can hold, and operators that can never apply.
//!
//! The result is a [`Checked`] program without the rules in which an error was found, so later
//! stages need not check again.

pub(crate) mod declarations;
pub(crate) mod expressions;
pub(crate) mod literals;
mod messages;
mod origins;
pub(crate) mod rule;
pub(crate) mod safety;
pub(crate) mod shape;
mod stages;
pub(crate) mod symbols;
pub(crate) mod system;
pub(crate) mod types;

use tidemill_diag::{Diagnostic, has_errors};

use crate::ast::{Program, Statement};
use crate::exports;
use crate::options::Options;
use rule::CheckedRule;
use symbols::Symbols;
use types::Types;

/// A program without the rules in which an error was found.
pub(crate) struct Checked<'a> {
    pub symbols: Symbols<'a>,
    pub rules: Vec<CheckedRule<'a>>,
    pub types: Types,
}

/// Checks a program.
pub(crate) fn check<'a>(
    program: &'a Program,
    options: &'a Options,
    diagnostics: &mut Vec<Diagnostic>,
) -> Checked<'a> {
    let symbols = symbols::collect(program, options, diagnostics);
    declarations::check(program, &symbols, options, diagnostics);
    messages::check(program, &options.operators, diagnostics);
    exports::check_options(program, &symbols, options, diagnostics);
    let mut rules = Vec::new();
    let all = program.flat().filter_map(|statement| match statement {
        Statement::Rule(rule) => Some(rule),
        _ => None,
    });
    for (position, ast) in all.enumerate() {
        let mut found = Vec::new();
        expressions::check_rule(ast, &mut found);
        shape::check(ast, &symbols, &mut found);
        safety::check(ast, &symbols, &mut found);
        if !has_errors(&found) {
            let name = rule::name_of(ast, position);
            rules.push(CheckedRule { ast, name, position });
        }
        diagnostics.append(&mut found);
    }
    let types = types::infer(program, &symbols, &rules, options, diagnostics);
    Checked { symbols, rules, types }
}
