//! Functions of a program: computations with arguments and keys, inlined where they are called.
//!
//! A function sees neither the packet nor what the app remembers, so a call has no effects. Each
//! `return` sets the words of the result and continues behind the call.

use super::ast::{Expr, FunctionDef, Statement, Word};
use super::lower::Lower;
use super::names::{Inlined, Meaning, Operand, Type};
use crate::kernel::table::spec::low_bits;
use crate::kernel::{BlockId, Builder, Operator};

/// Functions that are inlined in each other at most.
const DEPTH_MAX: usize = 32;

/// The number of arguments of a function that takes one at least.
pub(super) const ANY_NUMBER: usize = usize::MAX;

/// A function of the language.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    /// The names of its arguments, as in help.
    arguments: &'static str,
    /// How many it takes.
    pub(super) takes: usize,
}

/// Functions of the language.
pub(super) const BUILT_IN: [BuiltIn; 11] = [
    BuiltIn::new("byte", "offset", 1),
    BuiltIn::new("hash", "x, ...", ANY_NUMBER),
    BuiltIn::new("min", "a, b", 2),
    BuiltIn::new("max", "a, b", 2),
    BuiltIn::new("from", "input", 1),
    BuiltIn::new("linked", "output", 1),
    BuiltIn::new("bit", "condition", 1),
    BuiltIn::new("share", "number", 1),
    BuiltIn::new("high", "address", 1),
    BuiltIn::new("low", "address", 1),
    BuiltIn::new("ipv6", "high, low", 2),
];

impl BuiltIn {
    const fn new(name: &'static str, arguments: &'static str, takes: usize) -> BuiltIn {
        BuiltIn { name, arguments, takes }
    }

    /// The function of this name.
    pub(super) fn named(name: &str) -> Option<&'static BuiltIn> {
        BUILT_IN.iter().find(|function| function.name == name)
    }

    /// What there is, as help.
    pub(super) fn all() -> String {
        let form = |it: &BuiltIn| format!("{}({})", it.name, it.arguments);
        let [most @ .., last] = &BUILT_IN;
        let most: Vec<String> = most.iter().map(form).collect();
        format!("there are {} and {}", most.join(", "), form(last))
    }
}

impl Lower<'_> {
    /// Reports names that functions cannot have.
    pub(super) fn declare_functions(&mut self) {
        let functions = &self.definition.functions;
        for (at, FunctionDef { name, .. }) in functions.iter().enumerate() {
            let is_built_in = BuiltIn::named(&name.text).is_some();
            let before = functions[..at].iter().any(|other| other.name.text == name.text);
            if is_built_in || before {
                let message = format!("there is another function `{}`", name.text);
                self.error("duplicate-name", name.span, message, "choose another name");
            }
        }
    }

    /// A function of the program.
    pub(super) fn function(&self, name: &str) -> Option<usize> {
        self.definition.functions.iter().position(|function| function.name.text == name)
    }

    /// A call of a function, by number.
    pub(super) fn inline(&mut self, name: &Word, function: usize, given: &[Expr]) -> Operand {
        let called = &self.definition.functions[function];
        if !self.checked_functions.contains(&function) {
            self.checked_functions.push(function);
        }
        if self.inlined.iter().any(|one| one.name == name.text) {
            let message = format!("`{}` calls itself", name.text);
            self.error("bad-function", name.span, message, "a function is inlined: write a loop");
            return self.error_operand();
        }
        if self.inlined.len() == DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} functions call each other here");
            self.error("bad-function", name.span, message, "make one of several");
            return self.error_operand();
        }
        if given.len() != called.parameters.len() {
            return self.miscounted(name, called.parameters.len(), given.len());
        }
        // What is inlined in what is inlined can be very much.
        if self.too_long(name.span) {
            return self.error_operand();
        }
        let mut arguments = Vec::new();
        for (parameter, given) in called.parameters.iter().zip(given) {
            let (kind, bits) = self.type_named(&parameter.kind);
            let found = self.typed(given, kind);
            arguments.push(self.cut(Operand { kind, ..found }, bits));
        }
        self.body_of(called, arguments)
    }

    /// A call with another number of arguments than the function takes.
    pub(super) fn miscounted(&mut self, name: &Word, takes: usize, given: usize) -> Operand {
        let wanted = match takes {
            1 => "1 argument".to_owned(),
            ANY_NUMBER => "1 argument at least".to_owned(),
            takes => format!("{takes} arguments"),
        };
        let message = format!("`{}` takes {wanted}, not {given}", name.text);
        self.error("bad-function", name.span, message, "give one for each parameter");
        self.error_operand()
    }

    /// The result of a function with these arguments.
    fn body_of(&mut self, called: &FunctionDef, arguments: Vec<Operand>) -> Operand {
        let (name, result) = (&called.name.text, self.type_named(&called.result));
        let parts: &[&str] = if result.0 == Type::Ipv6 { &["high", "low"] } else { &["low"] };
        let parts = parts.iter().map(|part| self.scratch(&format!("@{name}_{part}")));
        let words = parts.collect();
        let keys = self.names[..self.definition.keys.len()].to_vec();
        let outer = (std::mem::replace(&mut self.names, keys), self.has_packet);
        self.has_packet = false;
        for (parameter, argument) in called.parameters.iter().zip(arguments) {
            self.name(&parameter.name, Meaning::Value(argument));
        }
        let (name, returns) = (name.clone(), Vec::new());
        self.inlined.push(Inlined { name, result, words, returns });
        if !self.statements(&called.body) && !self.is_too_long {
            let message = format!("`{}` may end without a result", called.name.text);
            self.error("bad-function", called.name.span, message, "end with `return value;`");
        }
        (self.names, self.has_packet) = outer;
        let Some(Inlined { words, returns, .. }) = self.inlined.pop() else {
            return self.error_operand();
        };
        self.meet(returns);
        match words[..] {
            [high, low] => Operand::ipv6([high, low].map(|word| self.build.word(word))),
            _ => Operand { kind: result.0, ..Operand::number(self.build.word(words[0])) },
        }
    }

    /// `return value;`
    pub(super) fn return_from(&mut self, word: &Word, value: &Expr) {
        let Some(Inlined { result: (kind, bits), words, .. }) = self.inlined.last() else {
            let message = "`return` stands outside of functions".to_owned();
            let help = "a handler ends with `send port;` or `drop reason;`";
            return self.error("bad-function", word.span, message, help);
        };
        let (kind, bits, words) = (*kind, *bits, words.clone());
        let found = self.typed(value, kind);
        let found = self.cut(Operand { kind, ..found }, bits);
        for (word, value) in words.into_iter().zip(found.words()) {
            self.build.set_word(word, value);
        }
        let here = self.here;
        self.inlined.last_mut().into_iter().for_each(|inlined| inlined.returns.push(here));
    }

    /// Whether a statement may be here: a function only computes.
    pub(super) fn may_stand(&mut self, statement: &Statement, at: tidemill_diag::Span) -> bool {
        let is_pure = matches!(
            statement,
            Statement::Let(..)
                | Statement::Var(..)
                | Statement::Set(..)
                | Statement::If(..)
                | Statement::For(..)
                | Statement::Return(..)
        );
        if !is_pure && !self.inlined.is_empty() {
            let message = "a function only computes".to_owned();
            let help = "it has `let`, `var`, assignments to its variables, `if`, `for`, `return`";
            self.error("bad-function", at, message, help);
            return false;
        }
        true
    }

    /// The low bits of a number that is wider.
    fn cut(&mut self, operand: Operand, bits: u32) -> Operand {
        if operand.kind != Type::Number || self.build.bits(operand.value) <= bits {
            return operand;
        }
        Operand::number(self.with(Operator::And, operand.value, low_bits(bits)))
    }

    /// Checks functions that nothing calls; what they become is not kept.
    pub(super) fn check_functions(&mut self) {
        let kept = std::mem::replace(&mut self.build, Builder::new("unused"));
        for (at, function) in self.definition.functions.iter().enumerate() {
            if self.checked_functions.contains(&at) {
                continue;
            }
            self.build = Builder::new("unused");
            self.first_step = 0;
            self.here = BlockId::new(0);
            let mut arguments = Vec::new();
            for parameter in &function.parameters {
                let (kind, _) = self.type_named(&parameter.kind);
                let value = self.build.constant(0);
                arguments.push(match kind {
                    Type::Ipv6 => Operand::ipv6([value, value]),
                    kind => Operand { kind, ..Operand::number(value) },
                });
            }
            self.body_of(function, arguments);
        }
        self.build = kept;
    }
}
