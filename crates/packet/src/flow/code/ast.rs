//! The tree of a definition.

use tidemill_diag::Span;

use crate::app::{Direction, Value};

/// A word and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// The word; a text without its quotes.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// `app Name(config) { ... }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    /// The name of the app type.
    pub name: Word,
    /// Its config.
    pub keys: Vec<KeyDef>,
    /// Its ports.
    pub ports: Vec<PortDef>,
    /// What it remembers.
    pub words: Vec<WordDef>,
    /// Handlers: the input and what is done with its packets.
    pub handlers: Vec<(Word, Vec<Statement>)>,
    /// All of it, as it is written.
    pub source: String,
}

/// `name: type = default`.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyDef {
    /// Its name.
    pub name: Word,
    /// Its type.
    pub kind: Word,
    /// The value if it is left out.
    pub default: Option<Value>,
}

/// `input name;` or `output name optional;`.
#[derive(Clone, PartialEq, Debug)]
pub struct PortDef {
    /// Its name.
    pub name: Word,
    /// In or out.
    pub direction: Direction,
    /// It may stay without link.
    pub is_optional: bool,
}

/// `state name = number;` or `counter name;`.
#[derive(Clone, PartialEq, Debug)]
pub struct WordDef {
    /// Its name.
    pub name: Word,
    /// It is reported.
    pub is_counter: bool,
    /// What it begins with.
    pub initial: u64,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `let name = value;`
    Let(Word, Expr),
    /// `var name = value;`
    Var(Word, Expr),
    /// `name = value;`
    Set(Word, Expr),
    /// `header.field = value;`, or `raw header.field = value;`
    Assign {
        /// Checksums stay as they are.
        is_raw: bool,
        /// The header.
        header: Word,
        /// The field.
        field: Word,
        /// What it becomes.
        value: Expr,
    },
    /// `if condition { ... } else { ... }`
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// `when header { ... } else { ... }`
    When(Word, Vec<Statement>, Vec<Statement>),
    /// `for name in first..end { ... }`
    For(Word, u64, u64, Vec<Statement>),
    /// `count name;` or `count name by value;`
    Count(Word, Option<Expr>),
    /// `send port;`
    Send(Word),
    /// `drop reason;`
    Drop(Word),
}

/// An expression and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A number.
    Number(u64),
    /// `true` or `false`.
    Bool(bool),
    /// A name.
    Name(String),
    /// `header.field`.
    Field(Word, Word),
    /// `name(argument)`.
    Call(Word, Box<Expr>),
    /// `!`, `-` or `~`.
    Unary(char, Box<Expr>),
    /// Of two.
    Binary(&'static str, Box<Expr>, Box<Expr>),
}
