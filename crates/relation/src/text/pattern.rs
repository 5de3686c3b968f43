//! Patterns of tuples: expectations of scripts, queries, and facts that name their node.

use std::fmt;

use super::read::{TextError, TextReader};
use crate::eval::Param;
use crate::flat::OwnedValue;
use crate::value::Value;

/// One column of a [`Pattern`].
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// This value.
    Value(OwnedValue),
    /// The value of the node parameter: `NODE`, `LANDMARK` and the others.
    Param(Param),
    /// `_`: any value.
    Any,
    /// A variable: any value, the same wherever it stands.
    Variable(String),
}

/// A tuple whose columns are values, node parameters, variables or `_`.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern {
    /// The relation.
    pub name: String,
    /// The columns.
    pub terms: Vec<Term>,
    /// The column marked with `@`: the location, if it is not that of the relation.
    pub location: Option<u32>,
}

/// Reads a whole text as a pattern without variables.
pub fn parse_pattern(text: &str) -> Result<Pattern, TextError> {
    parse(text, term)
}

/// Reads a whole text as a pattern, which may have variables: names in upper case.
pub fn parse_pattern_of_variables(text: &str) -> Result<Pattern, TextError> {
    parse(text, |reader| {
        let before = reader.clone();
        let word = reader.word();
        let is_param = Param::ALL.into_iter().any(|param| param.name() == word);
        if !is_param && word.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Ok(Term::Variable(word.to_owned()));
        }
        *reader = before;
        term(reader)
    })
}

fn parse(
    text: &str,
    term: impl Fn(&mut TextReader<'_>) -> Result<Term, TextError>,
) -> Result<Pattern, TextError> {
    let mut reader = TextReader::new(text);
    let name = reader.relation_name()?.to_owned();
    let (mut location, mut column) = (None, 0);
    let terms = reader.arguments(|reader| {
        if reader.eat("@") && location.replace(column).is_some() {
            return reader.error("a tuple has one location");
        }
        column += 1;
        term(reader)
    })?;
    reader.end()?;
    Ok(Pattern { name, terms, location })
}

fn term(reader: &mut TextReader<'_>) -> Result<Term, TextError> {
    let before = reader.clone();
    let term = match reader.word() {
        "_" => Some(Term::Any),
        word => Param::ALL.into_iter().find(|param| param.name() == word).map(Term::Param),
    };
    term.map_or_else(
        || {
            *reader = before;
            reader.value().map(Term::Value)
        },
        Ok,
    )
}

impl Pattern {
    /// True if a tuple of the relation with these columns fits; `param` gives the node's
    /// parameters.
    ///
    /// ```
    /// use tidemill_relation::{Value, text::parse_pattern};
    /// let pattern = parse_pattern("succ(NODE, _, 3)")?;
    /// let node = |_| Value::Str("n0:1");
    /// assert!(pattern.matches(&[Value::Str("n0:1"), Value::Null, Value::Int(3)], node));
    /// assert!(!pattern.matches(&[Value::Str("n0:1"), Value::Null, Value::Int(4)], node));
    /// # Ok::<(), tidemill_relation::text::TextError>(())
    /// ```
    pub fn matches<'p>(&self, columns: &[Value<'_>], param: impl Fn(Param) -> Value<'p>) -> bool {
        self.terms.len() == columns.len()
            && self.terms.iter().zip(columns).all(|(term, column)| match term {
                Term::Value(value) => value.get().equal(column),
                Term::Param(name) => param(*name).equal(column),
                Term::Variable(_) => {
                    let first = self.terms.iter().position(|other| other == term);
                    first.is_none_or(|first| columns[first].equal(column))
                }
                Term::Any => true,
            })
    }

    /// The tuple with the node's parameters filled in; `None` if a column is open.
    pub fn bind<'p>(&self, param: impl Fn(Param) -> Value<'p>) -> Option<Vec<OwnedValue>> {
        (self.terms.iter())
            .map(|term| match term {
                Term::Value(value) => Some(value.clone()),
                Term::Param(name) => Some(OwnedValue::new(param(*name))),
                Term::Any | Term::Variable(_) => None,
            })
            .collect()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (i, term) in self.terms.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            f.write_str(if self.location == u32::try_from(i).ok() { "@" } else { "" })?;
            match term {
                Term::Value(value) => write!(f, "{value}")?,
                Term::Param(param) => f.write_str(param.name())?,
                Term::Any => f.write_str("_")?,
                Term::Variable(name) => f.write_str(name)?,
            }
        }
        f.write_str(")")
    }
}
