//! The one declaration of each function: name, parameters, result, meaning, examples and body.

use std::fmt;

use super::call::Call;
use crate::eval::EvalError;
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
    /// A description in a sentence or two.
    pub doc: &'static str,
    /// Calls with their results, in text form.
    pub examples: &'static [(&'static str, &'static str)],
    /// Functions, without `f_`, that do much the same with values of other types.
    pub see: &'static [&'static str],
    /// The types of the result for arguments of these types, where that says more than `result`.
    narrow: Option<fn(&[TypeSet]) -> TypeSet>,
    pub(super) body: Body,
}

/// A parameter of a [`Function`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The types that it may have.
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
    /// Any number of times, or not at all.
    Repeated,
}

/// Whether a function depends on its arguments alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purity {
    /// It does.
    Pure,
    /// It depends on the schemas of the program, too, which stay the same.
    Schemas,
    /// It reads the time, which is the same during a turn: a rule that calls it is no view.
    Time,
    /// It draws random numbers, new ones at each call: a rule that calls it is no view.
    Random,
}

/// Why a call is an error for all values of its arguments.
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
        /// The types that it may have.
        expected: TypeSet,
    },
}

pub(super) type Body = for<'v, 'a> fn(&Call<'v, 'a>) -> Result<Value<'a>, EvalError>;

/// A parameter that must be given.
pub(super) const fn one(name: &'static str, types: TypeSet) -> Parameter {
    Parameter { name, types, occurs: Occurs::Once }
}

/// A parameter that may be left out.
pub(super) const fn optional(name: &'static str, types: TypeSet) -> Parameter {
    Parameter { name, types, occurs: Occurs::Optional }
}

/// A parameter that may be given any number of times.
pub(super) const fn repeated(name: &'static str, types: TypeSet) -> Parameter {
    Parameter { name, types, occurs: Occurs::Repeated }
}

impl Function {
    /// A pure function; the rest of the declaration follows by the methods below.
    pub(super) const fn new(
        name: &'static str,
        parameters: &'static [Parameter],
        result: TypeSet,
        body: Body,
    ) -> Function {
        let purity = Purity::Pure;
        let (doc, examples, see, narrow) = ("", &[], &[], None);
        Function { name, parameters, result, purity, doc, examples, see, narrow, body }
    }

    pub(super) const fn doc(self, doc: &'static str) -> Function {
        Function { doc, ..self }
    }

    pub(super) const fn examples(
        self,
        examples: &'static [(&'static str, &'static str)],
    ) -> Function {
        Function { examples, ..self }
    }

    pub(super) const fn see(self, see: &'static [&'static str]) -> Function {
        Function { see, ..self }
    }

    pub(super) const fn of_time(self) -> Function {
        Function { purity: Purity::Time, ..self }
    }

    pub(super) const fn of_chance(self) -> Function {
        Function { purity: Purity::Random, ..self }
    }

    pub(super) const fn of_schemas(self) -> Function {
        Function { purity: Purity::Schemas, ..self }
    }

    pub(super) const fn narrow(self, narrow: fn(&[TypeSet]) -> TypeSet) -> Function {
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

    /// The types of the result for arguments of these types, or why every such call is an error.
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

    /// Whether a call may have these arguments.
    #[inline]
    pub(super) fn takes(&self, arguments: &[Value<'_>]) -> bool {
        let fits = |(parameter, value): (&Parameter, &Value<'_>)| {
            parameter.types.contains(value.type_of())
        };
        let (parameters, count) = (self.parameters, arguments.len());
        let left_out = parameters.get(count..).unwrap_or_default();
        let repeated = arguments.get(parameters.len()..).unwrap_or_default();
        parameters.iter().zip(arguments).all(fits)
            && left_out.iter().all(|parameter| parameter.occurs != Occurs::Once)
            && repeated.iter().all(|value| match parameters.last() {
                Some(last) => last.occurs == Occurs::Repeated && fits((last, value)),
                None => false,
            })
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
