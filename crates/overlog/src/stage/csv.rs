//! `CSV` and `CSVtuple`: the lines of a file of comma-separated values, in the form of RFC 4180 and
//! in that of P2.
//!
//! The turn of the input only notes the name. The file is opened and read, a bounded piece at a
//! time, by later events ([`Phase::Later`]). A pipe is read as its contents come.

use std::io::{self, ErrorKind, Read};

use tidemill_relation::{SeqBuilder, TypeSet, Value};

use super::context::{Context, Readable};
use super::records::{BadRecord, Dialect, Field, Outcome, Quoting, Records};
use super::{Declaration, Failure, Input, Next, Operator, Phase, Rows};

/// The rows of both for this input.
const EXAMPLE: (&str, &[&str]) = (
    r#"load("n0:1", "mills.csv")"#,
    &[
        r#"mill("n0:1", "Eling", 1785, 2.5)"#,
        r#"mill("n0:1", "Woodbridge, \"Suffolk\"", 1793, 4.0)"#,
    ],
);

fn declaration(name: &'static str, doc: &'static str) -> Declaration {
    let (input, outputs) = EXAMPLE;
    let declaration = Declaration::new(name).reads("file", TypeSet::TEXT).yields_any();
    declaration.doc(doc).example(input, outputs)
}

pub(super) fn tuple_declaration() -> Declaration {
    declaration(
        "CSVtuple",
        "The records of a file of comma-separated values, in order, each field a column, as P2 \
         read them: lines that begin with `#` are left out, and so are blanks around fields. \
         Otherwise as CSV.",
    )
}

pub(super) fn plain_declaration() -> Declaration {
    declaration(
        "CSV",
        "The records of a file of comma-separated values (RFC 4180), in order, each field a \
         column. Fields that read as numbers are numbers, but not those in quotes. Empty lines \
         are left out; a record whose fields are more or fewer than the output's columns is \
         dropped and counted.",
    )
}

pub(super) fn tuple_operator(context: &Context) -> Box<dyn Operator> {
    Box::new(Csv { context: context.clone(), dialect: Dialect::P2 })
}

pub(super) fn plain_operator(context: &Context) -> Box<dyn Operator> {
    Box::new(Csv { context: context.clone(), dialect: Dialect::Rfc4180 })
}

struct Csv {
    context: Context,
    dialect: Dialect,
}

impl Operator for Csv {
    fn start(&mut self, input: Input<'_>) -> Result<Box<dyn Rows>, Failure> {
        let path = input.text(0)?.to_owned();
        let reading = Reading::Closed(self.context.clone());
        Ok(Box::new(Lines { reading, dialect: self.dialect, path }))
    }
}

struct Lines {
    reading: Reading,
    dialect: Dialect,
    path: String,
}

enum Reading {
    /// Not opened yet.
    Closed(Context),
    Open(Box<Records<Box<dyn Read + Send>>>),
    /// It could not be opened.
    Failed,
}

impl Lines {
    fn open(&mut self) -> Result<(), Failure> {
        let Reading::Closed(context) = &self.reading else { return Ok(()) };
        let is_refused =
            context.readable == Readable::Repeatable && context.files.is_live(&self.path);
        let opened = if is_refused {
            Err(io::Error::new(ErrorKind::InvalidInput, "a simulation reads no pipes"))
        } else {
            context.files.open(&self.path)
        };
        self.reading = Reading::Failed;
        match opened {
            Ok(file) => {
                self.reading = Reading::Open(Box::new(Records::new(file, self.dialect)));
                Ok(())
            }
            Err(error) => {
                let (path, reason) = (self.path.clone(), error.to_string());
                Err(Failure::File { path, line: None, reason })
            }
        }
    }
}

impl Rows for Lines {
    fn phase(&self) -> Phase {
        Phase::Later
    }

    fn next(&mut self, row: &mut SeqBuilder) -> Result<Next, Failure> {
        self.open()?;
        let Reading::Open(records) = &mut self.reading else { return Ok(Next::End) };
        let bad = |BadRecord { line, reason }| {
            let path = self.path.clone();
            Failure::File { path, line: Some(line), reason }
        };
        match records.read().map_err(bad)? {
            Outcome::End => return Ok(Next::End),
            Outcome::Blank => return Ok(Next::Skipped),
            Outcome::Waiting => return Ok(Next::Waiting),
            Outcome::Record => {}
        }
        let fields = records.fields().map_err(bad)?;
        fields.into_iter().for_each(|field| row.push(value(field)));
        Ok(Next::Row)
    }
}

/// A field as a number where it reads as one, else as a text.
fn value(field: Field<'_>) -> Value<'_> {
    let text = Value::Str(field.text);
    let number = field.text.trim_matches([' ', '\t']);
    // `inf` and `nan` are words here, though they read as doubles.
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if field.quoting == Quoting::Quoted || !is_number {
        return text;
    }
    if let Ok(int) = number.parse() {
        return Value::Int(int);
    }
    match number.parse::<f64>() {
        Ok(double) if double.is_finite() => Value::Double(double),
        _ => text,
    }
}
