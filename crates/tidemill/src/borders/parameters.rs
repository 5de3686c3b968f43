//! Columns of rules as parameters of messages of components, and back.
//!
//! | parameter | from | to |
//! |---|---|---|
//! | INTEGER | int64; time and interval in ns | int64, or what the column holds of these |
//! | REAL | double, int64 | double |
//! | BOOLEAN | bool | bool |
//! | CHARACTER | string of one character up to U+00FF | string of one character |
//! | TEXT | string, bytes; an ID as it is printed | string, or what the column holds of these |
//!
//! A TEXT that is no UTF-8 is bytes. Null is no parameter of any kind.

use std::borrow::Cow;

use smallvec::SmallVec;
use tidemill_cl::ast;
use tidemill_cl::ir;
use tidemill_diag::Span;
use tidemill_proc::{Value as Word, Values};
use tidemill_relation::text::parse_value;
use tidemill_relation::{SeqBuilder, Type, TypeSet, Value};

/// The type of a parameter in the component language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ParameterKind {
    Integer,
    Real,
    Boolean,
    Character,
    Text,
}

/// A parameter of a message, and its column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parameter {
    pub(super) kind: ParameterKind,
    /// The types of the column.
    pub(super) column: TypeSet,
    form: Form,
}

/// How a column holds a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Integer,
    Time,
    Interval,
    Real,
    Boolean,
    Character,
    /// A string, or bytes.
    Text,
    Bytes,
    Id,
}

/// The parameters of a message, mostly without memory of their own.
pub(super) type Words<'v> = SmallVec<[Word<'v>; 8]>;

/// A parameter as it is declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) kind: ParameterKind,
    pub(super) span: Option<Span>,
}

/// Why a value does not fit a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misfit {
    /// It is null.
    Null,
    /// It has another type, or no such form.
    Type,
}

const NULL: TypeSet = TypeSet::of(Type::Null);

impl ParameterKind {
    /// The kind of a type, if it is one of these.
    pub(super) fn of(parameter: ir::Type) -> Option<ParameterKind> {
        Some(match parameter {
            ir::Type::Integer => ParameterKind::Integer,
            ir::Type::Real => ParameterKind::Real,
            ir::Type::Boolean => ParameterKind::Boolean,
            ir::Type::Character => ParameterKind::Character,
            ir::Type::Text => ParameterKind::Text,
            _ => return None,
        })
    }

    /// Its name in the component language.
    pub(super) fn name(self) -> &'static str {
        match self {
            ParameterKind::Integer => "INTEGER",
            ParameterKind::Real => "REAL",
            ParameterKind::Boolean => "BOOLEAN",
            ParameterKind::Character => "CHARACTER",
            ParameterKind::Text => "TEXT",
        }
    }

    /// The types of values that fit this kind.
    const fn values(self) -> TypeSet {
        match self {
            ParameterKind::Integer => TypeSet::INT.union(TypeSet::TIME).union(TypeSet::INTERVAL),
            ParameterKind::Real => TypeSet::NUMBER,
            ParameterKind::Boolean => TypeSet::BOOL,
            ParameterKind::Character => TypeSet::TEXT,
            ParameterKind::Text => TypeSet::TEXT.union(TypeSet::BYTES).union(TypeSet::ID),
        }
    }

    /// The types that a column may have to be passed as this parameter; null is found at run time.
    pub(super) const fn takes(self) -> TypeSet {
        self.values().union(NULL)
    }

    /// The types of a column that is filled from this parameter alone.
    pub(super) const fn gives(self) -> TypeSet {
        match self {
            ParameterKind::Integer => TypeSet::INT,
            ParameterKind::Real => TypeSet::DOUBLE,
            ParameterKind::Boolean => TypeSet::BOOL,
            ParameterKind::Character => TypeSet::TEXT,
            ParameterKind::Text => TypeSet::TEXT.union(TypeSet::BYTES),
        }
    }

    /// Whether a column may be passed as this parameter. A column of any type is filled from
    /// outside the program, and checked at run time.
    pub(super) fn fits(self, column: TypeSet) -> bool {
        column == TypeSet::ANY || column.without(self.takes()).is_empty()
    }

    /// Converts a value to this parameter.
    pub(super) fn word(self, value: Value<'_>) -> Result<Word<'_>, Misfit> {
        let word = match (self, value) {
            (_, Value::Null) => return Err(Misfit::Null),
            (ParameterKind::Integer, Value::Int(it) | Value::Time(it) | Value::Interval(it)) => {
                it.cast_unsigned()
            }
            (ParameterKind::Real, Value::Double(it)) => it.to_bits(),
            (ParameterKind::Real, Value::Int(it)) => (it as f64).to_bits(),
            (ParameterKind::Boolean, Value::Bool(it)) => u64::from(it),
            (ParameterKind::Character, Value::Str(text)) => character(text).ok_or(Misfit::Type)?,
            (ParameterKind::Text, Value::Str(text)) => {
                return Ok(Word::Text(text.as_bytes().into()));
            }
            (ParameterKind::Text, Value::Bytes(bytes)) => return Ok(Word::Text(bytes.into())),
            (ParameterKind::Text, Value::Id(id)) => {
                return Ok(Word::Text(Cow::Owned(id.to_string().into_bytes())));
            }
            _ => return Err(Misfit::Type),
        };
        Ok(Word::Word(word))
    }
}

impl ParameterKind {
    /// Checks whether a value fits this parameter.
    fn check(self, value: Value<'_>) -> Result<(), Misfit> {
        match (self, value) {
            (ParameterKind::Text, Value::Str(_) | Value::Bytes(_) | Value::Id(_)) => Ok(()),
            _ => self.word(value).map(|_| ()),
        }
    }
}

/// The code of a text of one character.
fn character(text: &str) -> Option<u64> {
    let mut characters = text.chars();
    let first = characters.next().map(u32::from).filter(|&code| code <= 0xFF)?;
    characters.next().is_none().then_some(u64::from(first))
}

impl Form {
    /// How a column of these types holds a parameter of this kind.
    fn of(kind: ParameterKind, column: TypeSet) -> Form {
        let holds = |one: TypeSet, other: TypeSet| {
            column.meets(one) && !column.meets(other) && column != TypeSet::ANY
        };
        match kind {
            ParameterKind::Integer if holds(TypeSet::TIME, TypeSet::INT) => Form::Time,
            ParameterKind::Integer if holds(TypeSet::INTERVAL, TypeSet::INT) => Form::Interval,
            ParameterKind::Integer => Form::Integer,
            ParameterKind::Real => Form::Real,
            ParameterKind::Boolean => Form::Boolean,
            ParameterKind::Character => Form::Character,
            ParameterKind::Text if holds(TypeSet::ID, TypeSet::TEXT.union(TypeSet::BYTES)) => {
                Form::Id
            }
            ParameterKind::Text if holds(TypeSet::BYTES, TypeSet::TEXT) => Form::Bytes,
            ParameterKind::Text => Form::Text,
        }
    }
}

impl Parameter {
    /// A parameter of this kind for a column of these types.
    pub(super) fn new(kind: ParameterKind, column: TypeSet) -> Parameter {
        Parameter { kind, column, form: Form::of(kind, column) }
    }

    /// Whether all values of the types of its column fit.
    pub(super) fn is_certain(self) -> bool {
        // A text may have more than one character.
        self.kind != ParameterKind::Character && self.column.without(self.kind.values()).is_empty()
    }

    /// Appends the next of `values` in the form of the column.
    #[inline]
    fn push(self, values: &Values, row: &mut SeqBuilder) -> Result<(), Misfit> {
        match self.form {
            Form::Integer => row.push(Value::Int(values.integer())),
            Form::Time => row.push(Value::Time(values.integer())),
            Form::Interval => row.push(Value::Interval(values.integer())),
            Form::Real => row.push(Value::Double(f64::from_bits(values.word()))),
            Form::Boolean => row.push(Value::Bool(values.word() != 0)),
            Form::Character => {
                let code = u8::try_from(values.word()).unwrap_or_default();
                row.push(Value::Str(char::from(code).encode_utf8(&mut [0; 2])));
            }
            Form::Text => row.push(text(values.bytes())),
            Form::Bytes => row.push(Value::Bytes(values.bytes())),
            Form::Id => {
                let text = std::str::from_utf8(values.bytes()).ok();
                let id = text.and_then(|text| parse_value(text).ok());
                let id = id.filter(|id| matches!(id.get(), Value::Id(_)));
                row.push(id.ok_or(Misfit::Type)?.get());
            }
        }
        Ok(())
    }
}

/// A TEXT as a string, or as bytes if it is none.
fn text(bytes: &[u8]) -> Value<'_> {
    std::str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Str)
}

/// The parameters of a message as declared by its interface.
pub(super) fn declared(
    message: &ir::Message,
    written: Option<&ast::Message>,
) -> Result<Vec<Declared>, String> {
    let names = written.iter().flat_map(|it| &it.parameters).flat_map(|it| &it.names);
    let mut names = names.map(|name| (name.text.clone(), Some(name.span)));
    let declared = message.parameters.iter().map(|&parameter| {
        let (name, span) = names.next().unwrap_or_default();
        match ParameterKind::of(parameter) {
            Some(kind) => Ok(Declared { name, kind, span }),
            None => Err(name),
        }
    });
    declared.collect()
}

/// Appends the columns of a tuple: its location in one of them, the others from `values`.
pub(super) fn fill(
    row: &mut SeqBuilder,
    (location, address): (usize, &str),
    parameters: &[Parameter],
    values: &Values,
) -> Result<(), Misfit> {
    for (at, parameter) in parameters.iter().enumerate() {
        if at == location {
            row.push(Value::Str(address));
        }
        parameter.push(values, row)?;
    }
    if location >= parameters.len() {
        row.push(Value::Str(address));
    }
    Ok(())
}

/// The columns of a tuple but its location, as the parameters of a message.
///
/// # Errors
/// The first misfit; the words are then incomplete.
pub(super) fn words<'v>(
    columns: impl Iterator<Item = Value<'v>>,
    location: usize,
    parameters: &[Parameter],
    words: &mut Words<'v>,
) -> Result<(), Misfit> {
    words.reserve(parameters.len());
    each(columns, location, parameters, |kind, value| {
        words.push(kind.word(value)?);
        Ok(())
    })
}

/// Checks that the columns of a tuple but its location fit the parameters of a message.
///
/// # Errors
/// The first misfit.
pub(super) fn check<'v>(
    columns: impl Iterator<Item = Value<'v>>,
    location: usize,
    parameters: &[Parameter],
) -> Result<(), Misfit> {
    each(columns, location, parameters, ParameterKind::check)
}

#[inline]
fn each<'v>(
    mut columns: impl Iterator<Item = Value<'v>>,
    location: usize,
    parameters: &[Parameter],
    mut take: impl FnMut(ParameterKind, Value<'v>) -> Result<(), Misfit>,
) -> Result<(), Misfit> {
    for (at, parameter) in parameters.iter().enumerate() {
        if at == location {
            columns.next();
        }
        let Some(value) = columns.next() else { return Ok(()) };
        take(parameter.kind, value)?;
    }
    Ok(())
}
