//! The built-in functions of the language.
//!
//! Each is declared once, as a [`Function`] in the file of its subject: name, parameters, result,
//! meaning, examples and implementation. From that declaration come the checker's knowledge
//! ([`Function::result_type`]), the check of arguments at run time ([`FunctionId::call`]), the
//! catalogue that `tidemill functions` prints, and the chapter of the book; the tests evaluate
//! the examples.
//!
//! Programs write `f_` before the name; here names stand without it.

mod addresses;
mod bytes;
mod call;
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
pub use digest::{id_of, id_of_bytes};
pub(crate) use lists::distinct_sorted;

use tidemill_stdx::region::Bump;

use crate::expr::{Ambient, EvalError, Param, Scope};
use crate::flat::OwnedValue;
use crate::limits;
use crate::types::TypeSet;
use crate::value::Value;

/// The declaration of a built-in function.
#[derive(Clone, Copy)]
pub struct Function {
    /// The name, without `f_`.
    pub name: &'static str,
    /// The parameters in order; optional ones and a repeated one come last.
    pub parameters: &'static [Parameter],
    /// Every type that the result may have.
    pub result: TypeSet,
    /// Whether equal arguments give equal results.
    pub purity: Purity,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// Calls, and what they give, in text form.
    pub examples: &'static [(&'static str, &'static str)],
    /// Functions, without `f_`, that do much the same with values of other types.
    pub see: &'static [&'static str],
    /// The types of the result for arguments of these types, where that says more than `result`.
    narrow: Option<fn(&[TypeSet]) -> TypeSet>,
    body: Body,
}

/// A parameter of a [`Function`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// What the declaration calls it.
    pub name: &'static str,
    /// What it may be.
    pub types: TypeSet,
    /// How often it may be given.
    pub occurs: Occurs,
}

/// How often a parameter may be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occurs {
    /// Once.
    Once,
    /// Once or not at all.
    Optional,
    /// As often as wished, or not at all.
    Repeated,
}

/// Whether a function depends on its arguments alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purity {
    /// It does.
    Pure,
    /// It depends on the schemas of the program, too, which stay the same.
    Schemas,
    /// It takes the time or random numbers: a rule that calls it is no view.
    Impure,
}

/// Why a call cannot be right, whatever the values of its arguments are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misuse {
    /// Too few or too many arguments.
    Arity {
        /// The fewest it takes.
        least: usize,
        /// The most it takes, if there is a bound.
        most: Option<usize>,
    },
    /// An argument that is never of the right type.
    Argument {
        /// Which one, from 0.
        index: usize,
        /// What it may be.
        expected: TypeSet,
    },
}

type Body = for<'v, 'a> fn(&Call<'v, 'a>) -> Result<Value<'a>, EvalError>;

/// A parameter that must be given.
const fn one(name: &'static str, types: TypeSet) -> Parameter {
    Parameter { name, types, occurs: Occurs::Once }
}

/// A parameter that may be left out.
const fn optional(name: &'static str, types: TypeSet) -> Parameter {
    Parameter { name, types, occurs: Occurs::Optional }
}

/// A parameter that may be given any number of times.
const fn repeated(name: &'static str, types: TypeSet) -> Parameter {
    Parameter { name, types, occurs: Occurs::Repeated }
}

impl Function {
    /// A function that does much the same and takes arguments of these types.
    pub fn instead(&self, arguments: &[TypeSet]) -> Option<&'static Function> {
        let others = self.see.iter().filter_map(|name| FunctionId::from_name(name));
        others.map(FunctionId::function).find(|other| other.result_type(arguments).is_ok())
    }

    /// A pure function; the rest of the declaration follows by the methods below.
    const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        result: TypeSet,
        body: Body,
    ) -> Function {
        let purity = Purity::Pure;
        let (doc, examples, see, narrow) = ("", &[], &[], None);
        Function { name, parameters, result, purity, doc, examples, see, narrow, body }
    }

    const fn doc(self, doc: &'static str) -> Function {
        Function { doc, ..self }
    }

    const fn examples(self, examples: &'static [(&'static str, &'static str)]) -> Function {
        Function { examples, ..self }
    }

    const fn see(self, see: &'static [&'static str]) -> Function {
        Function { see, ..self }
    }

    const fn impure(self) -> Function {
        Function { purity: Purity::Impure, ..self }
    }

    const fn of_schemas(self) -> Function {
        Function { purity: Purity::Schemas, ..self }
    }

    const fn narrow(self, narrow: fn(&[TypeSet]) -> TypeSet) -> Function {
        Function { narrow: Some(narrow), ..self }
    }

    /// The fewest arguments it takes.
    pub fn arity_min(&self) -> usize {
        self.parameters.iter().filter(|parameter| parameter.occurs == Occurs::Once).count()
    }

    /// The most arguments it takes; `None`: any number.
    pub fn arity_max(&self) -> Option<usize> {
        let repeats = self.parameters.iter().any(|p| p.occurs == Occurs::Repeated);
        (!repeats).then_some(self.parameters.len())
    }

    /// The parameter that argument `index` is for.
    fn parameter(&self, index: usize) -> Option<&'static Parameter> {
        let last = self.parameters.last().filter(|p| p.occurs == Occurs::Repeated);
        self.parameters.get(index).or(last)
    }

    /// The types of the result for arguments of these types, or why no such call can be right.
    pub fn result_type(&self, arguments: &[TypeSet]) -> Result<TypeSet, Misuse> {
        self.check_arity(arguments.len())?;
        for (index, types) in arguments.iter().enumerate() {
            let expected = self.parameter(index).map_or(TypeSet::NONE, |p| p.types);
            if !expected.meets(*types) {
                return Err(Misuse::Argument { index, expected });
            }
        }
        Ok(self.narrow.map_or(self.result, |narrow| narrow(arguments).intersection(self.result)))
    }

    fn check_arity(&self, given: usize) -> Result<(), Misuse> {
        let (least, most) = (self.arity_min(), self.arity_max());
        if given < least || most.is_some_and(|most| given > most) {
            return Err(Misuse::Arity { least, most });
        }
        Ok(())
    }
}

/// The signature: `f_append(x: any[, list: list]) -> list`.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f_{}(", self.name)?;
        for (i, Parameter { name, types, occurs }) in self.parameters.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match occurs {
                Occurs::Once => write!(f, "{comma}{name}: {types}")?,
                Occurs::Optional => write!(f, "[{comma}{name}: {types}]")?,
                Occurs::Repeated => write!(f, "[{comma}{name}: {types} ...]")?,
            }
        }
        write!(f, ") -> {}", self.result)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
    /// The function of this name, which stands without `f_` and matches exactly.
    pub fn from_name(name: &str) -> Option<FunctionId> {
        let index = FUNCTIONS.iter().position(|function| function.name == name)?;
        u16::try_from(index).ok().map(FunctionId)
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
        self.function().purity != Purity::Impure
    }

    /// The types of the result for arguments of these types, or why no such call can be right.
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
        let fits = |(index, value): (usize, &Value<'_>)| {
            function.parameter(index).is_some_and(|p| p.types.contains(value.type_of()))
        };
        if function.check_arity(arguments.len()).is_err() || !arguments.iter().enumerate().all(fits)
        {
            let given: Vec<_> = arguments.iter().map(|value| value.type_of().name()).collect();
            let given = format!("({})", given.join(", "));
            return Err(EvalError::Type { what: function.name, given });
        }
        (function.body)(&Call::new(function.name, arguments, scope))
    }
}

/// No node: what a function that depends on its arguments alone is called with before a run.
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
    /// What it gives for these arguments wherever and whenever it is called; `None` if that
    /// depends on more than the arguments.
    ///
    /// # Errors
    /// Why it gives nothing.
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
