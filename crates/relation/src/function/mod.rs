//! The built-in functions of the language.
//!
//! Each is declared once, as a [`Function`] in the file of its subject: name, parameters, result,
//! meaning, examples and implementation. From that declaration come the checker's knowledge
//! ([`Function::result_type`]), the check of arguments at run time ([`FunctionId::call`]), the
//! catalogue that `tidemill functions` prints, and the chapter of the book; the tests evaluate
//! the examples.
//!
//! Programs write `f_` before the name; names here are without it.

mod addresses;
mod bytes;
mod call;
mod declaration;
mod digest;
mod documents;
mod encode;
mod lists;
mod matrices;
mod numbers;
#[cfg(test)]
mod oracles;
mod pattern;
mod schemas;
mod system;
#[cfg(test)]
mod tests;
mod texts;
mod times;

use std::fmt;

pub use call::Call;
pub use declaration::{Function, Misuse, Occurs, Parameter, Purity};
pub use digest::{id_of, id_of_bytes};
pub(crate) use lists::distinct_sorted;

use tidemill_stdx::region::Bump;

use crate::eval::{Ambient, EvalError, Param, Scope};
use crate::flat::OwnedValue;
use crate::limits;
use crate::types::TypeSet;
use crate::value::Value;

impl Function {
    /// A function that does much the same and takes arguments of these types.
    pub fn instead(&self, arguments: &[TypeSet]) -> Option<&'static Function> {
        let others = self.see.iter().filter_map(|name| FunctionId::from_name(name));
        others.map(FunctionId::function).find(|other| other.result_type(arguments).is_ok())
    }
}

/// The functions of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The subject.
    pub name: &'static str,
    /// Its functions.
    pub functions: &'static [Function],
}

/// All built-in functions, by subject.
pub const CATALOGUE: &[Group] = &[
    Group { name: "numbers", functions: numbers::FUNCTIONS },
    Group { name: "texts", functions: texts::FUNCTIONS },
    Group { name: "bytes", functions: bytes::FUNCTIONS },
    Group { name: "addresses", functions: addresses::FUNCTIONS },
    Group { name: "lists", functions: lists::FUNCTIONS },
    Group { name: "vectors and matrices", functions: matrices::FUNCTIONS },
    Group { name: "JSON", functions: documents::FUNCTIONS },
    Group { name: "messages", functions: schemas::FUNCTIONS },
    Group { name: "times as text", functions: times::FUNCTIONS },
    Group { name: "time, chance and identity", functions: system::FUNCTIONS },
];

const COUNT: usize = {
    let (mut count, mut i) = (0, 0);
    while i < CATALOGUE.len() {
        count += CATALOGUE[i].functions.len();
        i += 1;
    }
    count
};

/// The functions of all groups one after the other: a [`FunctionId`] is an index here.
static FUNCTIONS: [Function; COUNT] = {
    let mut all = [CATALOGUE[0].functions[0]; COUNT];
    let (mut at, mut group) = (0, 0);
    while group < CATALOGUE.len() {
        let mut i = 0;
        while i < CATALOGUE[group].functions.len() {
            all[at] = CATALOGUE[group].functions[i];
            at += 1;
            i += 1;
        }
        group += 1;
    }
    all
};

/// All built-in functions in the order of the catalogue.
pub fn catalogue() -> &'static [Function] {
    &FUNCTIONS
}

/// A built-in function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(u16);

impl FunctionId {
    /// The function of this name, which is without `f_` and matches exactly.
    pub fn from_name(name: &str) -> Option<FunctionId> {
        let index = FUNCTIONS.iter().position(|function| function.name == name)?;
        u16::try_from(index).ok().map(FunctionId)
    }

    /// Its place in the catalogue.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// The function at a place in the catalogue.
    pub(crate) fn from_number(number: u32) -> FunctionId {
        assert!((number as usize) < COUNT, "no function {number}");
        FunctionId(number as u16)
    }

    /// The declaration.
    pub fn function(self) -> &'static Function {
        &FUNCTIONS[self.0 as usize]
    }

    /// The name, without `f_`.
    pub fn name(self) -> &'static str {
        self.function().name
    }

    /// False if it takes the time or random numbers.
    pub fn is_pure(self) -> bool {
        matches!(self.function().purity, Purity::Pure | Purity::Schemas)
    }

    /// Whether it gives the same for the same arguments throughout a turn.
    pub fn is_repeatable(self) -> bool {
        self.function().purity != Purity::Random
    }

    /// The types of the result for arguments of these types, or why every such call is an error.
    pub fn result_type(self, arguments: &[TypeSet]) -> Result<TypeSet, Misuse> {
        self.function().result_type(arguments)
    }

    /// Calls it; texts and lists that it makes lie in the scratch region.
    pub fn call<'a>(
        self,
        arguments: &[Value<'a>],
        scope: Scope<'a>,
    ) -> Result<Value<'a>, EvalError> {
        let function = self.function();
        if !function.takes(arguments) {
            let given: Vec<_> = arguments.iter().map(|value| value.type_of().name()).collect();
            let given = format!("({})", given.join(", "));
            return Err(EvalError::Type { what: function.name, given });
        }
        (function.body)(&Call::new(function.name, arguments, scope))
    }
}

/// The environment without a node: for calls of pure functions before a run.
struct NoNode;

impl Ambient for NoNode {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, _: Param) -> Value<'_> {
        Value::Null
    }
}

impl FunctionId {
    /// The result for constant arguments; `None` if it depends on more than the arguments.
    ///
    /// # Errors
    /// Why the call fails.
    pub fn constant(self, arguments: &[Value<'_>]) -> Option<Result<OwnedValue, EvalError>> {
        if self.function().purity != Purity::Pure {
            return None;
        }
        let scratch = Bump::new();
        let scope = Scope { scratch: &scratch, ambient: &NoNode };
        let arguments: Vec<_> =
            arguments.iter().map(|value| limits::copy_into(*value, &scratch)).collect();
        Some(self.call(&arguments, scope).map(OwnedValue::new))
    }
}

impl fmt::Display for FunctionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f_{}", self.name())
    }
}
