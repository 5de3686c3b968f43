//! The tree of a definition.

use tidemill_diag::Span;

use crate::app::{Direction, Value};
use crate::kernel::table::spec::{TableKind, TableWriter, WhenFull};

/// A word and its span.
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
    /// Its documentation.
    pub about: String,
    /// Its config.
    pub keys: Vec<KeyDef>,
    /// Its ports.
    pub ports: Vec<PortDef>,
    /// Values that are computed of its config: `let name = value;`.
    pub computed: Vec<(Word, Expr)>,
    /// Its words of state.
    pub words: Vec<WordDef>,
    /// Headers of its own.
    pub headers: Vec<HeaderDef>,
    /// Its tables.
    pub tables: Vec<TableDef>,
    /// Its meters.
    pub meters: Vec<MeterDef>,
    /// Its functions.
    pub functions: Vec<FunctionDef>,
    /// Its handlers, by event.
    pub handlers: Vec<(On, Vec<Statement>)>,
    /// All of it, as it is written, but with the values of parameters for their names.
    pub source: String,
    /// Parameters in it whose values are not known yet.
    pub parameters: Vec<Word>,
}

/// `const name as own: type from least to most else "message" = default`.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyDef {
    /// Its documentation.
    pub about: String,
    /// What graphs call it.
    pub called: Word,
    /// What the program calls it.
    pub name: Word,
    /// Its type.
    pub kind: Word,
    /// Its value is a constant of the kernel.
    pub is_const: bool,
    /// The numbers that it may be.
    pub range: Option<RangeDef>,
    /// The value if it is left out.
    pub default: Option<Value>,
}

/// `from least to most else "message"`.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeDef {
    /// The least number.
    pub least: Option<u64>,
    /// The greatest number.
    pub most: Option<u64>,
    /// What is said of other numbers.
    pub message: Option<String>,
    /// Where.
    pub span: Span,
}

/// `input name;` or `output name optional;`.
#[derive(Clone, PartialEq, Debug)]
pub struct PortDef {
    /// Its documentation.
    pub about: String,
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
    /// Its initial value.
    pub initial: Constant,
}

/// When a handler runs.
#[derive(Clone, PartialEq, Debug)]
pub enum On {
    /// For each packet of some inputs.
    Packet(Vec<Word>),
    /// Each time this many nanoseconds have passed; the word is `tick`.
    Tick(Word, u64),
    /// When the time of an entry of a table is over.
    Expire(Word),
}

/// `table name kind(key) -> (values) { ... }`.
#[derive(Clone, PartialEq, Debug)]
pub struct TableDef {
    /// Its name.
    pub name: Word,
    /// How keys are compared.
    pub kind: TableKind,
    /// Columns of the key.
    pub key: Vec<ColumnDef>,
    /// The other columns.
    pub values: Vec<ColumnDef>,
    /// Its writer.
    pub writer: Option<TableWriter>,
    /// Entries at most.
    pub size: Option<u64>,
    /// What happens then.
    pub when_full: WhenFull,
    /// How long entries stay, in nanoseconds; 0: for ever.
    pub expire_ns: u64,
    /// The column with this time of each entry, in seconds.
    pub expire_by: Option<Word>,
    /// The period of reports of values, in nanoseconds; 0: never.
    pub report_ns: u64,
}

/// `header name after parent when field == number { field: bits; size value; }`, or `at offset`.
#[derive(Clone, PartialEq, Debug)]
pub struct HeaderDef {
    /// Its name.
    pub name: Word,
    /// Where it begins in the packet, if it follows none.
    pub at: Option<(u64, Span)>,
    /// The headers that it may follow.
    pub after: Vec<AfterDef>,
    /// Its fields and how many bits they have.
    pub fields: Vec<(Word, u64)>,
    /// Its size in bytes, if not that of its fields.
    pub size: Option<Expr>,
}

/// `parent when field == number, ...`.
#[derive(Clone, PartialEq, Debug)]
pub struct AfterDef {
    /// The header before.
    pub parent: Word,
    /// The field of the other header that announces this one, and its numbers; always, if nothing.
    pub when: Option<(Word, Vec<u64>)>,
    /// Where it begins in the other header, if it does not follow that but is in its options.
    pub at: Option<Expr>,
}

/// `meter name unit { rate ...; burst ...; }`.
#[derive(Clone, PartialEq, Debug)]
pub struct MeterDef {
    /// Its name.
    pub name: Word,
    /// The unit that it counts.
    pub unit: MeterUnit,
    /// The number per second.
    pub rate: Option<Expr>,
    /// The most at once.
    pub burst: Option<Expr>,
}

/// The unit of a meter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MeterUnit {
    /// Packets.
    Packets,
    /// Bytes as they were on the wire.
    Bytes,
}

impl MeterUnit {
    /// All of them by name.
    pub const NAMES: [(MeterUnit, &'static str); 2] =
        [(MeterUnit::Packets, "packets"), (MeterUnit::Bytes, "bytes")];
}

/// `fn name(parameter: type) -> type { ... }`
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionDef {
    /// Its name.
    pub name: Word,
    /// Its parameters.
    pub parameters: Vec<ColumnDef>,
    /// The type of its result.
    pub result: Word,
    /// What it does.
    pub body: Vec<Statement>,
}

/// `name: type` of a table, or of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// Its name.
    pub name: Word,
    /// Its type.
    pub kind: Word,
}

/// `insert table(key) -> (values)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// The table.
    pub table: Word,
    /// Columns of the key.
    pub key: Vec<Expr>,
    /// Bits of the last column that count, in a table of prefixes.
    pub prefix: Option<Expr>,
    /// Bits of each column that count, in a ternary table.
    pub mask: Option<Vec<Expr>>,
    /// The priority there.
    pub priority: Option<Expr>,
    /// The other columns.
    pub values: Vec<Expr>,
    /// The statements for a full table.
    pub refused: Vec<Statement>,
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
        /// The new value.
        value: Expr,
    },
    /// `if condition { ... } else { ... }`
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// `when header { ... } else { ... }`
    When(Word, Vec<Statement>, Vec<Statement>),
    /// `for name in first..end { ... }`
    For(Word, u64, u64, Vec<Statement>),
    /// `find table(key) { ... } else { ... }`
    Find(Word, Vec<Expr>, Vec<Statement>, Vec<Statement>),
    /// `within meter { ... } else { ... }`, with or without `by value`.
    Within(Word, Option<Expr>, Vec<Statement>, Vec<Statement>),
    /// `strip header;`
    Strip(Word),
    /// `prepend header, ...;`, with or without `else reason`
    Prepend(Vec<Word>, Option<Word>),
    /// `shorten length;`
    Shorten(Expr),
    /// `truncate length;`
    Truncate(Expr),
    /// `byte(offset) = value;`, with the keyword.
    SetByte(Word, Expr, Expr),
    /// `clone port;`
    Clone(Word),
    /// `insert table(key) -> (values);`
    Insert(Box<Insert>),
    /// `delete table;`
    Delete(Word),
    /// `refresh table;`
    Refresh(Word),
    /// `count name;`, `count table.column;`, with or without `by value`
    Count(Word, Option<Word>, Option<Expr>),
    /// `send port;`
    Send(Word),
    /// `drop reason;`
    Drop(Word),
    /// `return value;`, with the keyword.
    Return(Word, Expr),
}

/// An expression and its span.
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
    /// A constant.
    Constant(Constant),
    /// A name.
    Name(String),
    /// `header.field`.
    Field(Word, Word),
    /// `name(argument, ...)`.
    Call(Word, Vec<Expr>),
    /// `!`, `-` or `~`.
    Unary(char, Box<Expr>),
    /// Of two.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `address in "net/length"`.
    In(Box<Expr>, Net),
    /// An invalid expression, whose error has been reported.
    Error,
}

/// A constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constant {
    /// A number.
    Number(u64),
    /// `true` or `false`.
    Bool(bool),
    /// An address of IPv6.
    Ipv6(u128),
}

/// A prefix of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Net {
    /// Its address.
    pub net: u128,
    /// The bits of an address that count.
    pub mask: u128,
    /// Its addresses are of IPv6, not of IPv4.
    pub is_ipv6: bool,
}
