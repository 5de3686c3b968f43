//! The tree of a component program, as the parser hands it to the checker.
//!
//! A [`Program`] is a list of [`File`]s, each with its components and interfaces in source order;
//! both nest. Every node carries the [`Span`] it was written at; there are no back references, and
//! each node has one owner. The tree keeps what was written, in one spelling:
//!
//! * `ELSEIF` is `ELSIF`, empty statements are dropped, `a, b: T` stays one section.
//! * Parentheses are dropped, except that the span of an expression includes those around it.
//! * `Service[2]` has the limits 2 and 2, one without limits has 1 and 1.
//! * `-9223372036854775808` is a literal, as its positive half is not an INTEGER.
//!
//! Names are not resolved here, and three forms mean different things by what their names are:
//!
//! * `a(b)` is an interface of an instance, a variable seen as a type, or a call. Where only a
//!   designator is allowed (before `!`, `?`, `:=`, in CONNECT, DELETE, ...) it is
//!   [`DesignatorKind::Of`]. As a value, or as a statement of its own, it is a [`Call`];
//!   [`Call::as_designator`] reads it the other way. With anything more complicated than a plain
//!   name before the parenthesis it is a designator.
//! * The argument in `a(b)` is an instance or a type: [`Argument`].
//! * A text of one byte is a CHARACTER too: [`Literal::Text`].
//!
//! What could not be parsed is missing from the tree, or is [`ExprKind::Error`] or
//! [`TypeKind::Error`] where omission would drop a good declaration, too. Such a tree always comes
//! with an error among the diagnostics.
//!
//! No path through the tree is longer than the parser's limit, so plain recursion over it is safe.

mod dump;
mod names;
mod sends;

use tidemill_diag::{FileId, Span};

pub use sends::Sent;

/// A whole program: all its files.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// The files, in the order of the command line.
    pub files: Vec<File>,
}

/// One file.
#[derive(Clone, PartialEq, Debug)]
pub struct File {
    /// Which.
    pub file: FileId,
    /// What it declares, in source order.
    pub definitions: Vec<Definition>,
}

/// What may be declared outside of any component.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "trees are read once, and matching stays plain")]
pub enum Definition {
    /// `COMPONENT ... END name;`
    Component(Component),
    /// `INTERFACE ... END name;`
    Interface(Interface),
}

/// A name with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// `{EXCLUSIVE}`: never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attributes {
    /// The attributes, unchecked, in source order.
    pub names: Vec<Ident>,
    /// Braces included.
    pub span: Span,
}

/// A component: its interfaces, its state and its process.
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    /// `{ENTRYPOINT}`.
    pub attributes: Option<Attributes>,
    /// Its name.
    pub name: Ident,
    /// What it serves.
    pub offers: Vec<InterfaceDeclaration>,
    /// What others must serve it.
    pub requires: Vec<InterfaceDeclaration>,
    /// Declarations in source order, [`Declaration::Implementation`] among them.
    pub declarations: Vec<Declaration>,
    /// After BEGIN.
    pub begin: Option<Sequence>,
    /// After ACTIVITY.
    pub activity: Option<Sequence>,
    /// After FINALLY.
    pub finally: Option<Sequence>,
    /// From COMPONENT to the last semicolon.
    pub span: Span,
}

/// One interface after OFFERS or REQUIRES, with how many of it: `Service[1..*]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceDeclaration {
    /// The interface.
    pub name: Ident,
    /// The least number, 1 without brackets, the number itself in `[n]`.
    pub low: u64,
    /// The greatest number; `None` is `*`.
    pub high: Option<u64>,
    /// The brackets, where there are some.
    pub limits: Option<Span>,
    /// Name and brackets.
    pub span: Span,
}

/// An interface: the messages and their order.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: Ident,
    /// Its protocol; `None` if it has no messages.
    pub protocol: Option<Protocol>,
    /// From INTERFACE to the last semicolon.
    pub span: Span,
}

/// A regular expression over messages: one of several terms.
#[derive(Clone, PartialEq, Debug)]
pub struct Protocol {
    /// What `|` separates; never empty.
    pub terms: Vec<ProtocolTerm>,
    /// Where.
    pub span: Span,
}

impl Protocol {
    /// Its messages in the order of the source, which is that of their numbers.
    pub fn messages(&self) -> Vec<&Message> {
        let mut all = Vec::new();
        self.collect(&mut all);
        all
    }

    fn collect<'a>(&'a self, all: &mut Vec<&'a Message>) {
        for factor in self.terms.iter().flat_map(|term| &term.factors) {
            match factor {
                ProtocolFactor::Message(it) => all.push(it),
                ProtocolFactor::Optional(it, _)
                | ProtocolFactor::Repeated(it, _)
                | ProtocolFactor::Group(it, _) => it.collect(all),
            }
        }
    }
}

/// Factors one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct ProtocolTerm {
    /// Never empty.
    pub factors: Vec<ProtocolFactor>,
    /// Where.
    pub span: Span,
}

/// One step of a protocol.
#[derive(Clone, PartialEq, Debug)]
pub enum ProtocolFactor {
    /// `IN M(x: T)`.
    Message(Message),
    /// `[ ... ]`: once or not at all; with the span of its brackets.
    Optional(Protocol, Span),
    /// `{ ... }`: any number of times, none included; with the span of its braces.
    Repeated(Protocol, Span),
    /// `( ... )`; with the span of its parentheses.
    Group(Protocol, Span),
}

/// Which way a message goes, as the server sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From client to server.
    In,
    /// From server to client.
    Out,
}

/// A message of an interface.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// Its way.
    pub direction: Direction,
    /// Its name.
    pub name: Ident,
    /// What it carries. No [`Passing::Variable`].
    pub parameters: Vec<Parameters>,
    /// From IN or OUT to the closing parenthesis.
    pub span: Span,
}

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Passing {
    /// As a copy.
    Value,
    /// `VARIABLE`: the caller's variable itself.
    Variable,
}

/// Parameters of one type: `VARIABLE a, b: T`. Indices of collections are such too.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameters {
    /// How they are passed; [`Passing::Variable`] only in procedures.
    pub passing: Passing,
    /// Never empty.
    pub names: Vec<Ident>,
    /// Their type.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// What may be declared in a component, a procedure or an implementation.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "trees are read once, and matching stays plain")]
pub enum Declaration {
    /// `COMPONENT ... END name;`
    Component(Component),
    /// `INTERFACE ... END name;`
    Interface(Interface),
    /// One `name = value;` after CONSTANT.
    Constant(Constant),
    /// One `a, b: T;` after VARIABLE.
    Variables(Variables),
    /// `PROCEDURE ... END name;`
    Procedure(Procedure),
    /// `IMPLEMENTATION ... END name;`; only in components.
    Implementation(Implementation),
}

/// One constant.
#[derive(Clone, PartialEq, Debug)]
pub struct Constant {
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
    /// Up to the semicolon.
    pub span: Span,
}

/// Variables of one type.
#[derive(Clone, PartialEq, Debug)]
pub struct Variables {
    /// Never empty.
    pub names: Vec<VariableName>,
    /// Their type, or that of their elements.
    pub ty: Type,
    /// `{ARRAY}`, `{SYNCHRONOUS}`.
    pub attributes: Option<Attributes>,
    /// Up to the semicolon.
    pub span: Span,
}

/// One variable's name and, for a collection, its indices: `node[number: INTEGER]`.
#[derive(Clone, PartialEq, Debug)]
pub struct VariableName {
    /// The variable.
    pub name: Ident,
    /// The indices; empty if it is no collection.
    pub indices: Vec<Parameters>,
    /// Name and brackets.
    pub span: Span,
}

/// A procedure, or a function if it has a result.
#[derive(Clone, PartialEq, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: Ident,
    /// Its parameters.
    pub parameters: Vec<Parameters>,
    /// The type of its result.
    pub result: Option<Type>,
    /// Declarations in source order. No [`Declaration::Implementation`].
    pub declarations: Vec<Declaration>,
    /// After BEGIN.
    pub begin: Option<Sequence>,
    /// From PROCEDURE to the last semicolon.
    pub span: Span,
}

/// What a server process runs for one client.
#[derive(Clone, PartialEq, Debug)]
pub struct Implementation {
    /// The interface.
    pub name: Ident,
    /// Declarations in source order. No [`Declaration::Implementation`].
    pub declarations: Vec<Declaration>,
    /// After BEGIN.
    pub begin: Option<Sequence>,
    /// From IMPLEMENTATION to the last semicolon.
    pub span: Span,
}

/// A type.
#[derive(Clone, PartialEq, Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// The kinds of [`Type`].
#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// `INTEGER` and the like, or a component; its place is the type's.
    Name(String),
    /// `ANY(offered | required)`; both are empty in a bare `ANY`.
    Any {
        /// What the component offers at least.
        offers: Vec<InterfaceDeclaration>,
        /// What it requires at most.
        requires: Vec<InterfaceDeclaration>,
    },
    /// Could not be parsed; there is a diagnostic.
    Error,
}

/// Statements one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Sequence {
    /// `{EXCLUSIVE}`, `{SHARED}`.
    pub attributes: Option<Attributes>,
    /// In source order, without empty statements.
    pub statements: Vec<Statement>,
    /// From the attributes or first statement to the last one; if it is empty, the place after the
    /// keyword before it, without length.
    pub span: Span,
}

/// One statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Where, without the semicolon after it.
    pub span: Span,
}

/// The kinds of [`Statement`].
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "trees are read once, and matching stays plain")]
pub enum StatementKind {
    /// `target := value`.
    Assign {
        /// What is written.
        target: Designator,
        /// Its new value.
        value: Expr,
    },
    /// `NEW(target, arguments)`: a component, an array, a text.
    New {
        /// What is made.
        target: Designator,
        /// Extents, or the component to make, which looks like a variable here.
        arguments: Vec<Expr>,
    },
    /// `CONNECT(required, offered)`.
    Connect {
        /// The side that needs the interface.
        required: Designator,
        /// The side that serves it.
        offered: Designator,
    },
    /// `DISCONNECT(required)`.
    Disconnect(Designator),
    /// `DELETE(variable)`.
    Delete(Designator),
    /// `MOVE(source, target)`.
    Move {
        /// The first argument, empty afterwards.
        source: Designator,
        /// The second argument, the new owner.
        target: Designator,
    },
    /// `to!Message(arguments)`.
    Send {
        /// The receiver; `None` is the client of this implementation.
        to: Option<Designator>,
        /// The message.
        message: Ident,
        /// What it carries.
        arguments: Vec<Expr>,
    },
    /// `from?Message(targets)`.
    Receive {
        /// The sender; `None` is the client of this implementation.
        from: Option<Designator>,
        /// The message.
        message: Ident,
        /// Where to put what it carries.
        targets: Vec<Designator>,
    },
    /// `AWAIT(condition)`.
    Await(Expr),
    /// `name(arguments)`, built-in or declared.
    Call(Call),
    /// `RETURN value`.
    Return(Option<Expr>),
    /// `IF ... THEN ... ELSIF ... ELSE ... END`.
    If {
        /// IF and then every ELSIF; never empty.
        branches: Vec<Branch>,
        /// After ELSE.
        otherwise: Option<Sequence>,
    },
    /// `WHILE condition DO ... END`.
    While {
        /// Evaluated before each round.
        condition: Expr,
        /// What is repeated.
        body: Sequence,
    },
    /// `REPEAT ... UNTIL condition`.
    Repeat {
        /// What is repeated.
        body: Sequence,
        /// Evaluated after each round; ends the loop if true.
        until: Expr,
    },
    /// `FOR variable := from TO to BY by DO ... END`.
    For {
        /// What counts.
        variable: Designator,
        /// Its first value.
        from: Expr,
        /// Its last value.
        to: Expr,
        /// The step, a constant; `None` is 1.
        by: Option<Expr>,
        /// What is repeated.
        body: Sequence,
    },
    /// `FOREACH variables OF collection DO ... END`.
    ForEach {
        /// One for each index; never empty.
        variables: Vec<Designator>,
        /// Whose keys they run through.
        of: Designator,
        /// What is repeated.
        body: Sequence,
    },
    /// `BEGIN ... END`.
    Block(Sequence),
}

/// One IF or ELSIF.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// Between IF and THEN.
    pub condition: Expr,
    /// After THEN.
    pub body: Sequence,
    /// From IF or ELSIF to the end of the body.
    pub span: Span,
}

/// `name(arguments)`, as a statement or a value; see the [module](self) for what else it may be.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The procedure, built-in or declared.
    pub name: Ident,
    /// What it is given. A type, as in `MIN(INTEGER)`, looks like a variable.
    pub arguments: Vec<Expr>,
    /// From the name to the closing parenthesis, or the name alone.
    pub span: Span,
    /// There are parentheses, be they empty.
    pub parenthesised: bool,
}

/// Names a variable, an element, an interface of an instance or a component.
#[derive(Clone, PartialEq, Debug)]
pub struct Designator {
    /// What it is.
    pub kind: DesignatorKind,
    /// Where.
    pub span: Span,
}

/// The kinds of [`Designator`].
#[derive(Clone, PartialEq, Debug)]
pub enum DesignatorKind {
    /// A name; its place is the designator's.
    Name(String),
    /// `base[indices]`: an element, a character of a text, the k-th interface of its name.
    Index {
        /// What is indexed.
        base: Box<Designator>,
        /// Never empty.
        indices: Vec<Expr>,
    },
    /// `base(argument)`: an interface of an instance, or a variable seen as a type.
    Of {
        /// The interface or the variable.
        base: Box<Designator>,
        /// The instance or the type.
        argument: Box<Argument>,
    },
}

/// The contents of the parentheses of a [`DesignatorKind::Of`].
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// An instance, or the name of a type.
    Designator(Designator),
    /// A type that is no name: [`TypeKind::Any`].
    Type(Type),
}

/// What a test of the next message compares it with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Is it this one?
    Message(Ident),
    /// `ANY`: any message.
    Any(Span),
    /// `FINISH`: has the other side closed?
    Finish(Span),
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where, parentheses around it included.
    pub span: Span,
}

/// The kinds of [`Expr`].
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// A variable, an element, an instance, a constant by name.
    Designator(Designator),
    /// `name(arguments)`; always with parentheses.
    Call(Call),
    /// `-a`, `+a`, `~a`.
    Unary(UnaryOperator, Box<Expr>),
    /// `a + b`.
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `x IS T`.
    Is(Box<Expr>, Type),
    /// `x OFFERS A, B`.
    Offers(Box<Expr>, Vec<InterfaceDeclaration>),
    /// `x REQUIRES A, B`.
    Requires(Box<Expr>, Vec<InterfaceDeclaration>),
    /// `from?pattern`: waits for a message, then compares.
    Receive {
        /// The sender; `None` is the client of this implementation.
        from: Option<Designator>,
        /// The message tested for.
        pattern: Pattern,
    },
    /// `INPUT(from, pattern)`: compares what has arrived, without waiting.
    Input {
        /// The sender; `None` is the client of this implementation.
        from: Option<Designator>,
        /// The message tested for.
        pattern: Pattern,
    },
    /// `EXISTS(variable)`.
    Exists(Designator),
    /// `{SHARED} a`: evaluated with a lock.
    Attributed(Attributes, Box<Expr>),
    /// Could not be parsed; there is a diagnostic.
    Error,
}

/// A constant as written.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    /// `42`, `0FFH`.
    Integer(i64),
    /// `1.5E-3`; finite.
    Real(f64),
    /// `0DX`.
    Character(u8),
    /// `"text"`, without escapes. If it is one byte long, a CHARACTER too.
    Text(String),
    /// `TRUE`, `FALSE`.
    Boolean(bool),
}

/// Operators before their operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `~`
    Not,
}

/// Operators between their operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOperator {
    /// `=`
    Equal,
    /// `#`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `OR`
    Or,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `DIV`
    Div,
    /// `MOD`
    Mod,
    /// `AND`
    And,
}

impl Program {
    /// All definitions in the order of the files.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.files.iter().flat_map(|file| &file.definitions)
    }
}

impl Attributes {
    /// The place of the attribute of this name.
    pub fn find(&self, name: &str) -> Option<Span> {
        self.names.iter().find(|it| it.text == name).map(|it| it.span)
    }
}

impl ProtocolFactor {
    /// Its span, brackets included.
    pub fn span(&self) -> Span {
        match self {
            ProtocolFactor::Message(it) => it.span,
            ProtocolFactor::Optional(_, span)
            | ProtocolFactor::Repeated(_, span)
            | ProtocolFactor::Group(_, span) => *span,
        }
    }
}

impl Declaration {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Declaration::Component(it) => it.span,
            Declaration::Interface(it) => it.span,
            Declaration::Constant(it) => it.span,
            Declaration::Variables(it) => it.span,
            Declaration::Procedure(it) => it.span,
            Declaration::Implementation(it) => it.span,
        }
    }
}

impl Designator {
    /// The name it begins with, and its place.
    pub fn root(&self) -> (&str, Span) {
        let mut one = self;
        loop {
            match &one.kind {
                DesignatorKind::Name(name) => return (name, one.span),
                DesignatorKind::Index { base, .. } | DesignatorKind::Of { base, .. } => one = base,
            }
        }
    }

    /// The name, if it is nothing but one.
    pub fn as_name(&self) -> Option<&str> {
        match &self.kind {
            DesignatorKind::Name(name) => Some(name),
            _ => None,
        }
    }
}

impl Expr {
    /// The same read as a designator: a [`ExprKind::Designator`], or a call with one argument.
    pub fn as_designator(&self) -> Option<Designator> {
        match &self.kind {
            ExprKind::Designator(it) => Some(it.clone()),
            ExprKind::Call(it) => it.as_designator(),
            _ => None,
        }
    }
}

impl Call {
    /// `a(b)` read as an interface of an instance or a variable seen as a type, `a` as a name.
    pub fn as_designator(&self) -> Option<Designator> {
        let name = DesignatorKind::Name(self.name.text.clone());
        let base = Designator { kind: name, span: self.name.span };
        match &*self.arguments {
            [] if !self.parenthesised => Some(base),
            [argument] => {
                let argument = Box::new(Argument::Designator(argument.as_designator()?));
                let kind = DesignatorKind::Of { base: Box::new(base), argument };
                Some(Designator { kind, span: self.span })
            }
            _ => None,
        }
    }
}

impl Pattern {
    /// Its span.
    pub fn span(&self) -> Span {
        match self {
            Pattern::Message(name) => name.span,
            Pattern::Any(span) | Pattern::Finish(span) => *span,
        }
    }
}

impl UnaryOperator {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOperator::Plus => "+",
            UnaryOperator::Minus => "-",
            UnaryOperator::Not => "~",
        }
    }
}

impl BinaryOperator {
    /// As written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Equal => "=",
            BinaryOperator::NotEqual => "#",
            BinaryOperator::Less => "<",
            BinaryOperator::LessEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterEqual => ">=",
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Or => "OR",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Div => "DIV",
            BinaryOperator::Mod => "MOD",
            BinaryOperator::And => "AND",
        }
    }

    /// `=`, `#`, `<`, `<=`, `>` or `>=`.
    pub fn is_comparison(self) -> bool {
        use BinaryOperator::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }
}
