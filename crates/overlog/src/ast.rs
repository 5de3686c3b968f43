//! The tree of an Overlog program, as the parser passes it to the checker.
//!
//! A [`Program`] is a list of [`Statement`]s in source order; namespaces nest. Every node carries
//! the [`Span`] it was written at. The tree says what was written, in one spelling:
//!
//! * The older location form `p@X(X, Y)` is turned into `p(@X, Y)`: where `X` is one of the
//!   arguments, that column is the location; elsewhere, and where the other uses of `p` have a
//!   column more, `X` becomes a new first column.
//! * `<>` is [`BinaryOp::Ne`], `-5` is the literal, `5U` is `5`.
//! * `true`, `null`, numbers, strings and identifiers are [`Literal`]s; `_` is
//!   [`ExprKind::Fresh`], a different variable at each place.
//! * Every relation name is kept as written and as resolved, see [`Name`].
//!
//! Types are not known here: conditions and values share one [`Expr`].
//!
//! # Namespaces
//!
//! `namespace a { ... }` prefixes the names defined in it: a table, rule head or fact `p` is the
//! relation `a::p`. A name is *defined* by `materialize`, by being a rule's head, a fact, or the
//! output of a stage. Any other mention is a *reference*. How a name written inside
//! `namespace a { namespace b { ... } }` is resolved:
//!
//! 1. `::x::p` is absolute: `x::p`.
//! 2. A plain name that is defined there is `a::b::p`.
//! 3. A plain name that is referred to is the first defined one of `a::b::p`, `a::p`, `p`; if none
//!    is defined it is an event from outside, addressed to this namespace: `a::b::p`. The
//!    relations of the system (`periodic`, `ruleExecTable`, `tupleTable`) stay global.
//! 4. A qualified name `x::p`, in any place, is the first defined one of `a::b::x::p`, `a::x::p`,
//!    `x::p`; if none is defined it is in the first namespace there is of `a::b::x`, `a::x`, `x`;
//!    if there is none either it is `x::p`, so that modules can address each other.
//!
//! Labels of rules are prefixed like names that are defined. Functions, aggregates and variables
//! know no namespaces.

mod dump;
mod source;

pub use source::Source;

use tidemill_diag::{Diagnostic, FileId, Span};

/// A whole program: all files of one load, macros expanded, names resolved.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The files named on the command line, in order; the first gives the wire package its name.
    pub files: Vec<FileId>,
    /// The statements in source order.
    pub statements: Vec<Statement>,
    /// The uses of macros, for notes in diagnostics.
    pub macro_uses: Vec<MacroUse>,
}

/// One use of a macro: its tokens come from the definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MacroUse {
    /// The macro's name.
    pub name: String,
    /// The span of its use, which the tokens of its expansion carry.
    pub used: Span,
    /// The value in its `#define` or `-D`.
    pub defined: Span,
}

/// A name with its place: a label, a function, an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    /// As written.
    pub text: String,
    /// Its span.
    pub span: Span,
}

/// The name of a relation or rule, as written and as resolved (see the [module](self)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// As written: `p`, `a::p` or `::a::p`.
    pub written: String,
    /// Fully qualified, without leading `::`. Two names are the same relation if this is equal.
    pub resolved: String,
    /// Its span.
    pub span: Span,
}

/// One statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// `materialize(name, lifetime, size, keys(..)).`
    Materialize(Materialize),
    /// `index(name, "hint", keys(..)).`
    Index(Index),
    /// `watch(name).`
    Watch(Watch),
    /// `watchmod(name, "modes").`
    WatchMod(WatchMod),
    /// `trace(name).`
    Trace(Watch),
    /// `traceTable(name).`
    TraceTable(Watch),
    /// `export(name).` or `export(name, delete).`
    Export(Export),
    /// `stage("OPERATOR", input, output).`, perhaps with `keys(..)`.
    Stage(Stage),
    /// `sink("FILE", name).`
    Sink(Sink),
    /// `namespace name { ... }`
    Namespace(Namespace),
    /// `name(value, ...).`
    Fact(Fact),
    /// `label head :- body.`
    Rule(Rule),
    /// `Query name(...).`
    Query(Query),
}

/// A relation that keeps its rows: a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Materialize {
    /// The table.
    pub name: Name,
    /// Seconds a row lives after its last insert or refresh; `None` is `infinity` (hard state).
    pub lifetime: Option<f64>,
    /// Rows at most; `None` is `infinity`.
    pub size: Option<u64>,
    /// The primary key.
    pub keys: Keys,
    /// The place of `lifetime`.
    pub lifetime_span: Span,
    /// The place of `size`.
    pub size_span: Span,
    /// The statement.
    pub span: Span,
}

impl Materialize {
    /// A table whose rows do not expire, with these columns as key, declared at the place of its
    /// name.
    pub(crate) fn endless(name: Name, columns: Vec<u32>) -> Materialize {
        let span = name.span;
        Materialize {
            name,
            lifetime: None,
            size: None,
            keys: Keys { columns, span },
            lifetime_span: span,
            size_span: span,
            span,
        }
    }
}

/// `keys(1, 2)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys {
    /// Columns counted from 1, as written, each at least 1. Empty: each tuple is its own key.
    pub columns: Vec<u32>,
    /// Its span.
    pub span: Span,
}

/// A hint that a table be indexed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Index {
    /// The table.
    pub name: Name,
    /// `hash` or `ordered`, unchecked.
    pub hint: Ident,
    /// The columns.
    pub keys: Keys,
    /// The statement.
    pub span: Span,
}

/// `watch`, `trace` or `traceTable` of one relation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watch {
    /// The relation.
    pub name: Name,
    /// The statement.
    pub span: Span,
}

/// A watch of some stages of a tuple's life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchMod {
    /// The relation.
    pub name: Name,
    /// Letters, unchecked: `i` inserted, `d` deleted and so on.
    pub modes: Ident,
    /// The statement.
    pub span: Span,
}

/// A relation whose tuples are taken from the network though no rule ships them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// The relation.
    pub name: Name,
    /// Deletions are taken, too.
    pub delete: bool,
    /// The statement.
    pub span: Span,
}

/// An external operator between two relations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    /// The operator, for example `TOKENIZER` or `proto:pkg.Type`.
    pub operator: Ident,
    /// The relation that it reads.
    pub input: Name,
    /// The relation that it yields.
    pub output: Name,
    /// The columns of the input by which there is an instance of the operator for each key.
    pub keys: Option<Keys>,
    /// The statement.
    pub span: Span,
}

/// A file that the tuples of a relation go to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sink {
    /// The file, unchecked.
    pub file: Ident,
    /// The relation.
    pub name: Name,
    /// The statement.
    pub span: Span,
}

/// Statements whose names share a prefix.
#[derive(Clone, PartialEq, Debug)]
pub struct Namespace {
    /// The namespace; `resolved` holds those around it too.
    pub name: Name,
    /// The statements in it.
    pub statements: Vec<Statement>,
    /// The statement.
    pub span: Span,
}

/// A tuple that is true from the start. Its location is the first argument unless one is marked.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// A label, where one was written.
    pub label: Option<Name>,
    /// The tuple. No [`Arg::Aggregate`].
    pub tuple: Functor,
    /// The statement.
    pub span: Span,
}

/// `label delete head :- body.`
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The rule's name, where one was written.
    pub label: Option<Name>,
    /// The rule deletes the rows that it derives.
    pub delete: bool,
    /// Its head.
    pub head: Functor,
    /// The body; never empty.
    pub body: Vec<Term>,
    /// The statement.
    pub span: Span,
}

/// A watch of the tuples that match a pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The pattern. No [`Arg::Aggregate`].
    pub pattern: Functor,
    /// The statement.
    pub span: Span,
}

/// A relation applied to arguments: a head, a predicate of a body, a fact.
#[derive(Clone, PartialEq, Debug)]
pub struct Functor {
    /// The relation.
    pub name: Name,
    /// Which of `args` is marked as the location, counted from 0; `None` where none is marked
    /// (in a [`Fact`] it is `Some(0)` then).
    pub location: Option<usize>,
    /// The location is written `p@X(.., X, ..)`, so that it is one of the arguments.
    pub repeats_location: bool,
    /// The columns.
    pub args: Vec<Arg>,
    /// From the name to the closing parenthesis.
    pub span: Span,
}

/// One column of a [`Functor`].
#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    /// A value or pattern.
    Expr(Expr),
    /// `a_MIN<X>`; only in rule heads.
    Aggregate(Aggregate),
}

/// `a_MIN<X>`, `min<X>`, `a_COUNT<*>`.
#[derive(Clone, PartialEq, Debug)]
pub struct Aggregate {
    /// The function in upper case without `a_`: `MIN`, `COUNT`; unchecked.
    pub func: Ident,
    /// The values that it ranges over.
    pub over: AggregateOver,
    /// `a_MIN<@X>`: the result is the location. Then [`Functor::location`] names this column.
    pub located: bool,
    /// The second argument of `a_TOPK<X, K>`.
    pub limit: Option<Expr>,
    /// Its span.
    pub span: Span,
}

/// The range of an aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AggregateOver {
    /// `*`: whole rows.
    Star,
    /// The values of a variable.
    Var(Variable),
}

/// One term of a body.
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// `p(...)` or `notin p(...)`.
    Predicate(Predicate),
    /// `X := expr`.
    Assign(Assign),
    /// A condition: comparison, range, call.
    Condition(Expr),
    /// `a_COUNT((group), (result), p(...))`.
    AggView(AggView),
}

/// A predicate of a body.
#[derive(Clone, PartialEq, Debug)]
pub struct Predicate {
    /// It is negated by `notin`.
    pub negated: bool,
    /// The relation and its patterns. No [`Arg::Aggregate`].
    pub functor: Functor,
    /// Its span, `notin` included.
    pub span: Span,
}

/// `X := expr`.
#[derive(Clone, PartialEq, Debug)]
pub struct Assign {
    /// The variable.
    pub var: Variable,
    /// Its value.
    pub expr: Expr,
    /// Its span.
    pub span: Span,
}

/// An aggregate over a relation as a term.
#[derive(Clone, PartialEq, Debug)]
pub struct AggView {
    /// The function in upper case without `a_`; unchecked.
    pub func: Ident,
    /// The group.
    pub group: Vec<Expr>,
    /// The aggregated value, and then the variables that receive the result.
    pub result: Vec<Expr>,
    /// The relation it ranges over.
    pub of: Functor,
    /// Its span.
    pub span: Span,
}

/// A variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name. `NODE`, `NODE_INDEX`, `NODE_COUNT`, `NODE_ID` and `LANDMARK` are bound when a
    /// node starts.
    pub name: String,
    /// Its span.
    pub span: Span,
}

/// A value, condition or pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Its kind.
    pub kind: ExprKind,
    /// Its span.
    pub span: Span,
}

/// The kinds of [`Expr`].
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A variable; its place is the expression's.
    Var(String),
    /// `_`.
    Fresh,
    /// `-a`, `!a`, `~a`.
    Unary(UnaryOp, Box<Expr>),
    /// `a op b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a in (low, high]`.
    In(Box<Expr>, Box<Range>),
    /// `f_name(args)`.
    Call(Ident, Vec<Expr>),
    /// `(condition ? then : otherwise)`.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `[a, b | tail]`; only in predicates of bodies.
    ListPattern(Vec<Expr>, Box<Expr>),
    /// `{[a, b], [c, d]}`: rows.
    Matrix(Vec<Vec<Expr>>),
    /// `v[i]`.
    VectorIndex(Box<Expr>, Box<Expr>),
    /// `m{i, j}`.
    MatrixIndex(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// A constant.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    /// `42`, `0x2A`, `42U`.
    Int(i64),
    /// `1.5`, `2e9`.
    Double(f64),
    /// `"text"`.
    Str(String),
    /// `0x2AI`: 160 bits, big-endian.
    Id([u8; 20]),
    /// `true`, `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// `infinity`.
    Infinity,
    /// `b"..."`.
    Bytes(Vec<u8>),
    /// `1.500000000t`: nanoseconds since the epoch.
    Time(i64),
    /// `1.500000000s`: nanoseconds.
    Interval(i64),
}

/// Operators before their operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
    /// `~`
    BitNot,
}

/// Operators between their operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Eq,
    /// `!=`, `<>`
    Ne,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `|`
    BitOr,
    /// `|||`: appends lists.
    Append,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `**`
    Pow,
}

/// The ring interval of `in`.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// The low end.
    pub low: Expr,
    /// The high end.
    pub high: Expr,
    /// `[low` rather than `(low`.
    pub low_closed: bool,
    /// `high]` rather than `high)`.
    pub high_closed: bool,
    /// Its span.
    pub span: Span,
}

impl Program {
    /// The statements in source order with those of namespaces in their place; no
    /// [`Statement::Namespace`] among them.
    pub fn flat(&self) -> impl Iterator<Item = &Statement> {
        let mut stack = vec![self.statements.iter()];
        std::iter::from_fn(move || {
            loop {
                match stack.last_mut()?.next() {
                    None => drop(stack.pop()),
                    Some(Statement::Namespace(inner)) => stack.push(inner.statements.iter()),
                    Some(statement) => return Some(statement),
                }
            }
        })
    }

    /// Adds the definition of a macro to each diagnostic that points into a use of it.
    pub fn note_macros(&self, diagnostics: &mut [Diagnostic]) {
        note_macros(&self.macro_uses, diagnostics);
    }
}

/// [`Program::note_macros`] for diagnostics without a program.
pub(crate) fn note_macros(uses: &[MacroUse], diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics {
        let span = diagnostic.span;
        for one in uses {
            let inside = one.used.file == span.file
                && one.used.start <= span.start
                && span.end <= one.used.end
                && span.start < span.end;
            let note = (one.defined, format!("macro `{}` is defined here", one.name));
            if inside && !diagnostic.labels.contains(&note) {
                diagnostic.labels.push(note);
            }
        }
    }
}

impl Statement {
    /// Its place in the source.
    pub fn span(&self) -> Span {
        match self {
            Statement::Materialize(it) => it.span,
            Statement::Index(it) => it.span,
            Statement::Watch(it) | Statement::Trace(it) | Statement::TraceTable(it) => it.span,
            Statement::WatchMod(it) => it.span,
            Statement::Export(it) => it.span,
            Statement::Stage(it) => it.span,
            Statement::Sink(it) => it.span,
            Statement::Namespace(it) => it.span,
            Statement::Fact(it) => it.span,
            Statement::Rule(it) => it.span,
            Statement::Query(it) => it.span,
        }
    }
}

impl Term {
    /// The relation with its arguments that it is about, if it is about one.
    pub fn functor(&self) -> Option<&Functor> {
        match self {
            Term::Predicate(predicate) => Some(&predicate.functor),
            Term::AggView(view) => Some(&view.of),
            Term::Assign(_) | Term::Condition(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn functor_mut(&mut self) -> Option<&mut Functor> {
        match self {
            Term::Predicate(predicate) => Some(&mut predicate.functor),
            Term::AggView(view) => Some(&mut view.of),
            Term::Assign(_) | Term::Condition(_) => None,
        }
    }

    /// Its place in the source.
    pub fn span(&self) -> Span {
        match self {
            Term::Predicate(it) => it.span,
            Term::Assign(it) => it.span,
            Term::Condition(it) => it.span,
            Term::AggView(it) => it.span,
        }
    }
}

impl Arg {
    /// Its place in the source.
    pub fn span(&self) -> Span {
        match self {
            Arg::Expr(it) => it.span,
            Arg::Aggregate(it) => it.span,
        }
    }

    /// The expression, if it is one.
    pub fn as_expr(&self) -> Option<&Expr> {
        match self {
            Arg::Expr(it) => Some(it),
            Arg::Aggregate(_) => None,
        }
    }
}

impl Functor {
    /// A relation with arguments, in the newer form.
    pub fn new(name: Name, location: Option<usize>, args: Vec<Arg>, span: Span) -> Functor {
        Functor { name, location, repeats_location: false, args, span }
    }

    /// The argument that is marked as the location.
    pub fn location_arg(&self) -> Option<&Arg> {
        self.args.get(self.location?)
    }
}

impl Expr {
    /// The variable's name, if it is one.
    pub fn as_var(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Var(name) => Some(name),
            _ => None,
        }
    }

    /// Calls `visit` with this expression and all below it, outer before inner, left to right.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Var(_) | ExprKind::Fresh => {}
            ExprKind::Unary(_, a) => a.walk(visit),
            ExprKind::Binary(_, a, b) | ExprKind::VectorIndex(a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            ExprKind::In(a, range) => {
                a.walk(visit);
                range.low.walk(visit);
                range.high.walk(visit);
            }
            ExprKind::Call(_, all) | ExprKind::List(all) => {
                all.iter().for_each(|one| one.walk(visit));
            }
            ExprKind::Conditional(a, b, c) | ExprKind::MatrixIndex(a, b, c) => {
                a.walk(visit);
                b.walk(visit);
                c.walk(visit);
            }
            ExprKind::ListPattern(all, tail) => {
                all.iter().for_each(|one| one.walk(visit));
                tail.walk(visit);
            }
            ExprKind::Matrix(rows) => {
                rows.iter().flatten().for_each(|one| one.walk(visit));
            }
        }
    }
}

impl UnaryOp {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        }
    }
}

impl BinaryOp {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Gt => ">",
            BinaryOp::Le => "<=",
            BinaryOp::Ge => ">=",
            BinaryOp::BitOr => "|",
            BinaryOp::Append => "|||",
            BinaryOp::BitXor => "^",
            BinaryOp::BitAnd => "&",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Pow => "**",
        }
    }

    /// `==`, `!=`, `<`, `>`, `<=` or `>=`.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Gt | Le | Ge)
    }
}
