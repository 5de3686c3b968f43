//! The checked tree: what the checker makes of the parsed one and the lowering reads. Names are
//! resolved to ids, every expression has its type, what the source leaves implicit is written out
//! (conversions, the interface of a bare instance, constants folded), and all rules have been
//! checked, so that the lowering cannot fail.
//!
//! Interfaces and components carry the ids that they have in the [`crate::ir`], and those parts
//! that
//! need no lowering are the IR's own types.

#![allow(missing_docs, reason = "the line above a variant says what its fields are")]

use std::rc::Rc;

use tidemill_diag::Span;
use tidemill_stdx::id::IdVec;
use tidemill_stdx::id_type;

use crate::ir::{self, Binary, ComponentId, Constant, InterfaceId, MessageId, VariableId};

id_type! {
    /// A procedure of the program, nested ones too, numbered through.
    pub struct ProcedureId, "procedure";
    /// A parameter or variable of one routine.
    pub struct LocalId, "local";
}

/// A whole checked program.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// All interfaces, those of the system that are used included.
    pub interfaces: IdVec<InterfaceId, ir::Interface>,
    /// All components, outer before inner.
    pub components: IdVec<ComponentId, Component>,
    /// All procedures.
    pub procedures: IdVec<ProcedureId, Procedure>,
    /// What runs; none only with errors.
    pub entry: Option<ComponentId>,
}

/// A component.
#[derive(Debug, Clone)]
pub struct Component {
    /// Names joined by points, outermost first.
    pub name: String,
    /// `implementation` is filled by the lowering.
    pub offers: Vec<ir::Offer>,
    /// In order of declaration.
    pub requires: Vec<ir::Require>,
    /// Its variables.
    pub variables: IdVec<VariableId, ir::Variable>,
    /// BEGIN.
    pub begin: Option<Body>,
    /// ACTIVITY.
    pub activity: Option<Body>,
    /// FINALLY.
    pub finally: Option<Body>,
    /// One for each interface that it implements.
    pub implementations: Vec<Implementation>,
    /// Where it is declared.
    pub span: Span,
}

/// What serves one client.
#[derive(Debug, Clone)]
pub struct Implementation {
    /// Which interface.
    pub interface: InterfaceId,
    /// Its variables and code.
    pub body: Body,
    /// Where.
    pub span: Span,
}

/// A procedure.
#[derive(Debug, Clone)]
pub struct Procedure {
    /// Names joined by points from the component on.
    pub name: String,
    /// Whose variables it reaches.
    pub component: ComponentId,
    /// What it is nested in.
    pub outer: Routine,
    /// The first locals, in order; VARIABLE or not.
    pub parameters: Vec<(LocalId, ByReference)>,
    /// What it returns; the type of a component does not matter to the IR.
    pub result: Option<ir::Type>,
    /// Its variables and code.
    pub body: Body,
    /// Where.
    pub span: Span,
}

/// Whether a parameter is VARIABLE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByReference {
    /// The caller's variable itself.
    Yes,
    /// A copy.
    No,
}

/// What has locals: a nested procedure reaches those of the routines around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Routine {
    /// BEGIN.
    Begin(ComponentId),
    /// ACTIVITY.
    Activity(ComponentId),
    /// FINALLY.
    Finally(ComponentId),
    /// An implementation of the component.
    Implementation(ComponentId, InterfaceId),
    /// A procedure.
    Procedure(ProcedureId),
    /// The component itself: procedures declared in it have no routine around them.
    Component(ComponentId),
}

/// The locals of a routine and its statements.
#[derive(Debug, Clone)]
pub struct Body {
    /// Parameters first.
    pub locals: IdVec<LocalId, Local>,
    /// What it does.
    pub code: Sequence,
}

/// A parameter or variable of a routine.
#[derive(Debug, Clone)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub storage: ir::Storage,
    /// Where it is declared.
    pub span: Span,
}

/// Statements, perhaps with a lock held from begin to end.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// `{EXCLUSIVE}`, `{SHARED}`.
    pub lock: Option<Lock>,
    /// In order.
    pub statements: Vec<(Statement, Span)>,
    /// From begin to end; where the lock is taken.
    pub span: Span,
}

/// The mode of the monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// One process, writing.
    Exclusive,
    /// Several, reading.
    Shared,
}

/// A statement.
#[derive(Debug, Clone)]
pub enum Statement {
    /// `target := value`, both of one scalar type or TEXT. A component cannot be assigned.
    Assign { target: Place, value: Expression },
    /// A component of that type; what was there is deleted first. `synchronous` is an attribute of
    /// the variable: the component shares the clock of its surroundings.
    NewComponent { target: Place, component: ComponentId, synchronous: bool },
    /// `NEW(a, n, m)`.
    NewArray { target: Place, extents: Vec<Expression> },
    /// `NEW(t, n)`.
    NewText { target: Place, length: Expression },
    /// `CONNECT(from, to)`.
    Connect { from: Port, to: Port },
    /// `DISCONNECT(port)`.
    Disconnect(Port),
    /// `DELETE(x)`: a component, an element (of whatever type), a text, array or collection.
    Delete(Place),
    /// `MOVE(from, to)`.
    Move { from: Place, to: Place },
    /// `to!M(...)`: components are handed over (they are [`ExpressionKind::Place`]s).
    Send { to: Party, message: MessageId, arguments: Vec<Expression> },
    /// `from?M(...)`.
    Receive { from: Party, message: MessageId, targets: Vec<Place> },
    /// `AWAIT(condition)`.
    Await(Expression),
    /// A procedure without result, or whose result is not used.
    Call(Call),
    /// WRITE.
    Write(Expression),
    /// WRITEHEX.
    WriteHex(Expression),
    /// WRITELINE.
    WriteLine,
    /// INC and DEC: `target := target + by`, the target evaluated once.
    Add { target: Place, by: Expression, subtract: bool },
    /// HALT.
    Halt(Expression),
    /// ASSERT.
    Assert { condition: Expression, code: Option<Expression> },
    /// Before a statement with `x(Type)`: whether what `place` holds is such; `component` is the
    /// type, if it is one of the program.
    Guard { condition: Expression, place: Place, component: Option<ComponentId> },
    /// PASSIVATE.
    Passivate(Expression),
    /// RETURN. Locks that are held are given back.
    Return(Option<Expression>),
    /// IF and ELSIFs, ELSE.
    If { branches: Vec<(Expression, Sequence)>, otherwise: Option<Sequence> },
    /// WHILE.
    While { condition: Expression, body: Sequence },
    /// REPEAT.
    Repeat { body: Sequence, until: Expression },
    /// FOR; `by` is not 0.
    For { variable: Place, from: Expression, to: Expression, by: i64, body: Sequence },
    /// FOREACH; one variable for each index.
    ForEach { variables: Vec<Place>, collection: Place, body: Sequence },
    /// BEGIN ... END.
    Block(Sequence),
}

/// A place in memory that the source designates.
#[derive(Debug, Clone)]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// What it holds.
    pub storage: ir::Storage,
    /// Where it is written.
    pub span: Span,
}

/// The kinds of [`Place`].
#[derive(Debug, Clone)]
pub enum PlaceKind {
    /// A local of this routine or, if nested, of one around it.
    Local(Routine, LocalId),
    /// A variable of the component.
    Variable(VariableId),
    /// An element of an array or collection.
    Element { base: Box<Place>, indices: Vec<Expression> },
    /// A character of a text.
    Character { text: Box<Place>, index: Box<Expression> },
}

/// The other end of a communication.
#[derive(Debug, Clone)]
pub enum Party {
    /// `!M` in an implementation, or in a procedure nested in it.
    Client,
    /// The own required interface.
    Required { interface: InterfaceId, index: Option<Box<Expression>> },
    /// An interface of a sub-component.
    Sub { place: Place, interface: InterfaceId, index: Option<Box<Expression>> },
    /// An own offered interface.
    Own { interface: InterfaceId },
}

/// One end of a connection.
#[derive(Debug, Clone)]
pub enum Port {
    /// That a sub-component requires.
    SubRequired { place: Place, interface: InterfaceId, index: Option<Box<Expression>> },
    /// That a sub-component offers.
    SubOffered { place: Place, interface: InterfaceId, index: Option<Box<Expression>> },
    /// That the own component requires.
    OwnRequired { interface: InterfaceId, index: Option<Box<Expression>> },
    /// That the own component offers.
    OwnOffered { interface: InterfaceId, index: Option<Box<Expression>> },
}

/// A value with its type.
#[derive(Debug, Clone)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Its type.
    pub ty: ir::Type,
    /// Where.
    pub span: Span,
}

/// The kinds of [`Expression`].
#[derive(Debug, Clone)]
pub enum ExpressionKind {
    /// A scalar constant.
    Constant(Constant),
    /// A text constant.
    Text(Rc<[u8]>),
    /// The content of a place; a component place only where it is handed over.
    Place(Place),
    /// A function's result.
    Call(Call),
    /// Both of one type; texts may be compared.
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// AND and OR evaluate the second only if needed.
    And(Box<Expression>, Box<Expression>),
    /// As `And`.
    Or(Box<Expression>, Box<Expression>),
    /// One operand; conversions of scalars below.
    Unary(ir::Unary, Box<Expression>),
    /// INTEGER to REAL where the source leaves it out, and the conversion functions.
    Convert(ir::Conversion, Box<Expression>),
    /// TEXT(x) of a scalar.
    TextOf(Box<Expression>),
    /// INTEGER(t), REAL(t) by the type.
    TextNumber(Box<Expression>),
    /// LENGTH of a text.
    TextLength(Box<Expression>),
    /// LENGTH(a, dimension from 0).
    ArrayLength(Place, u8),
    /// CHARACTER(t): its first character. The same as `t[0]`.
    CharacterOf(Box<Expression>),
    /// RANDOM.
    Random(Box<Expression>, Box<Expression>),
    /// EXISTS: of a component place (an element that is missing: FALSE), or any element.
    Exists(Place),
    /// FAILED.
    Failed(Place),
    /// IS.
    Is(Place, ComponentId),
    /// OFFERS (TRUE) and REQUIRES (FALSE).
    Has { place: Place, offered: bool, interfaces: Vec<(InterfaceId, u32, Option<u32>)> },
    /// COUNT.
    Connected(Port),
    /// TERMINATED.
    Terminated,
    /// TIME.
    Time,
    /// `x?M`, waiting.
    Test(Party, ir::Pattern),
    /// INPUT.
    Input(Party, ir::Pattern),
    /// With a lock held while it is evaluated.
    Locked(Lock, Box<Expression>),
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is called.
    pub procedure: ProcedureId,
    /// By value: any; VARIABLE: [`ExpressionKind::Place`].
    pub arguments: Vec<Expression>,
    /// Where.
    pub span: Span,
}
