//! The declaration of an operator: its name, and what it reads and yields.

use std::borrow::Cow;
use std::fmt;

use tidemill_diag::Span;
use tidemill_relation::{TypeSet, Value};

use super::Failure;

/// The declaration of an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// The name that `stage` statements write.
    pub name: Cow<'static, str>,
    /// Other names for it.
    pub aliases: Vec<Cow<'static, str>>,
    /// The place where inputs are processed.
    pub works: Works,
    /// Whether events have columns before those of the operator.
    pub leading: Leading,
    /// The columns of the input event, the location not among them.
    pub inputs: Vec<Column>,
    /// The columns of the output event, the location not among them.
    pub outputs: Columns,
    /// The place of its declaration, if somewhere in the sources of the program.
    pub source: Option<Span>,
    /// A description in a sentence or two.
    pub doc: Cow<'static, str>,
    /// Inputs with their outputs.
    pub examples: Vec<Example>,
}

/// A column that an operator reads or yields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: Cow<'static, str>,
    /// The types that it may hold.
    pub types: TypeSet,
    /// The span of its declaration, if it is in the sources of the program.
    pub source: Option<Span>,
}

/// The place where an operator processes inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Works {
    /// On the node, as [`Operator`](super::Operator) does.
    #[default]
    Inside,
    /// Outside the node, which hands inputs over when their turn has committed. So its input may be
    /// a table, there may be an instance for each key, and columns may hold nothing but what is
    /// declared, as the turn does not learn of values that do not fit.
    Outside,
}

/// Whether the events of an operator have columns before those that it reads and yields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Leading {
    /// They have not.
    #[default]
    None,
    /// Any number, which each output has from its input.
    Kept,
}

/// The columns that an operator yields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Columns {
    /// These.
    Fixed(Vec<Column>),
    /// Those of the program's output event, of any type.
    Any,
}

/// Tuples in text form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// The input.
    pub input: &'static str,
    /// The outputs, in order.
    pub outputs: &'static [&'static str],
}

impl Declaration {
    /// An operator that reads and yields nothing but locations; the rest of the declaration
    /// follows by the methods below.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Declaration {
        Declaration {
            name: name.into(),
            aliases: Vec::new(),
            works: Works::Inside,
            leading: Leading::None,
            inputs: Vec::new(),
            outputs: Columns::Fixed(Vec::new()),
            source: None,
            doc: Cow::Borrowed(""),
            examples: Vec::new(),
        }
    }

    /// Adds another name.
    #[must_use]
    pub fn alias(mut self, name: impl Into<Cow<'static, str>>) -> Declaration {
        self.aliases.push(name.into());
        self
    }

    /// Adds a column to the input.
    #[must_use]
    pub fn reads(mut self, name: impl Into<Cow<'static, str>>, types: TypeSet) -> Declaration {
        self.inputs.push(Column { name: name.into(), types, source: None });
        self
    }

    /// Lets inputs begin with columns of any number and type, which outputs then begin with.
    #[must_use]
    pub fn keeps_leading(self) -> Declaration {
        Declaration { leading: Leading::Kept, ..self }
    }

    /// Adds a column to the output.
    #[must_use]
    pub fn yields(mut self, name: impl Into<Cow<'static, str>>, types: TypeSet) -> Declaration {
        let mut columns = match self.outputs {
            Columns::Fixed(columns) => columns,
            Columns::Any => Vec::new(),
        };
        columns.push(Column { name: name.into(), types, source: None });
        self.outputs = Columns::Fixed(columns);
        self
    }

    /// Makes the output any number of columns of any type.
    #[must_use]
    pub fn yields_any(self) -> Declaration {
        Declaration { outputs: Columns::Any, ..self }
    }

    /// Makes it work outside the node.
    #[must_use]
    pub fn works_outside(self) -> Declaration {
        Declaration { works: Works::Outside, ..self }
    }

    /// Sets its documentation.
    #[must_use]
    pub fn doc(self, doc: impl Into<Cow<'static, str>>) -> Declaration {
        Declaration { doc: doc.into(), ..self }
    }

    /// Adds an example, in which the first columns are locations.
    #[must_use]
    pub fn example(mut self, input: &'static str, outputs: &'static [&'static str]) -> Declaration {
        self.examples.push(Example { input, outputs });
        self
    }

    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(|name| &**name)
    }

    /// The fewest columns of the input event, with the location; also the most, where none lead.
    pub fn input_arity(&self) -> usize {
        self.inputs.len() + 1
    }

    /// The fewest columns of the output event, likewise; `None`: any number.
    pub fn output_arity(&self) -> Option<usize> {
        match &self.outputs {
            Columns::Fixed(columns) => Some(columns.len() + 1),
            Columns::Any => None,
        }
    }

    /// How many leading columns an event of `arity` columns has, `least` being the fewest of it;
    /// `None` if such an event does not fit.
    pub fn leading_of(&self, arity: usize, least: usize) -> Option<usize> {
        let leading = arity.checked_sub(least)?;
        (leading == 0 || self.leading == Leading::Kept).then_some(leading)
    }

    /// What an output event of `arity` columns, the location in column `location`, may hold, if
    /// its leading columns hold `leading`.
    pub fn output_types(&self, leading: &[TypeSet], location: usize, arity: usize) -> Vec<TypeSet> {
        let mut types = leading.to_vec();
        match &self.outputs {
            Columns::Fixed(columns) => types.extend(columns.iter().map(|column| column.types)),
            Columns::Any => types.resize(arity.saturating_sub(1), TypeSet::ANY),
        }
        types.insert(location.min(types.len()), TypeSet::TEXT);
        types.resize(arity, TypeSet::NONE);
        types
    }

    /// Whether an input of these columns, the location not among them, is as declared.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn check(&self, columns: &[Value<'_>]) -> Result<(), Failure> {
        let Some(leading) = self.leading_of(columns.len(), self.inputs.len()) else {
            return Err(Failure::Arity { expected: self.inputs.len(), given: columns.len() });
        };
        for (column, value) in self.inputs.iter().zip(&columns[leading..]) {
            if !column.types.contains(value.type_of()) {
                return Err(Failure::Type {
                    column: column.name.to_string(),
                    expected: column.types,
                    given: value.type_of(),
                });
            }
        }
        Ok(())
    }
}

/// The signature: `TOKENIZER(location, delimiters: string, text: string) -> (location, ...)`.
impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, columns: &[Column]| {
            f.write_str(match self.leading {
                Leading::None => "(location",
                Leading::Kept => "(location, ...",
            })?;
            for Column { name, types, .. } in columns {
                write!(f, ", {name}: {types}")?;
            }
            f.write_str(")")
        };
        f.write_str(&self.name)?;
        list(f, &self.inputs)?;
        f.write_str(" -> ")?;
        match &self.outputs {
            Columns::Fixed(columns) => list(f, columns),
            Columns::Any => f.write_str("(location, ...)"),
        }
    }
}
