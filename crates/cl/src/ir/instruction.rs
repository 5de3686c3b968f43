//! Instructions, one line of meaning each.

#![allow(missing_docs, reason = "the line above a variant says what its fields are")]

use crate::ir::{
    BlockId, ComponentId, FunctionId, InterfaceId, MessageId, Place, Register, Storage, TextId,
    Type,
};

/// A step of a block. `to` is assigned; other registers are read.
#[derive(Debug, Clone, PartialEq)]
pub enum Instruction {
    // ---- scalars ----
    /// `to = constant`.
    Constant { to: Register, value: Constant },
    /// `to = from`, of the same type.
    Copy { to: Register, from: Register },
    /// The registers keep their values; code may hold them elsewhere from here on.
    Split { registers: Vec<Register> },
    /// `to = a operator b`; INTEGER arithmetic faults on overflow and division by zero.
    Binary { to: Register, operator: Binary, a: Register, b: Register },
    /// `to = operator a`.
    Unary { to: Register, operator: Unary, a: Register },
    /// `to = a` as another type; out of range is a fault.
    Convert { to: Register, conversion: Conversion, a: Register },
    /// `to = RANDOM(low, high)`, both included; a fault if `low > high`.
    Random { to: Register, low: Register, high: Register },
    /// `to = from`, a scalar in memory.
    Load { to: Register, from: Place },
    /// `to = from`, a scalar in memory.
    Store { to: Place, from: Register },
    /// `to =` where the local or variable lives (for VARIABLE arguments).
    AddressOf { to: Register, place: Place },

    // ---- texts: places own them ----
    /// `to` becomes the constant; what it held is freed, here and below.
    TextConstant { to: Place, text: TextId },
    /// `to` becomes a copy.
    TextCopy { to: Place, from: Place },
    /// `to` becomes what `from` held; `from` is empty then.
    TextMove { to: Place, from: Place },
    /// `to` becomes a text of `length` times 0X; a fault if negative.
    TextNew { to: Place, length: Register },
    /// `to` becomes the written form of a scalar.
    TextOf { to: Place, from: Register, form: Written },
    /// `to =` the number that the text writes out, as INTEGER or REAL by the register's type; a
    /// fault if none.
    TextNumber { to: Register, from: Place },
    /// `to =` number of characters, 0X included wherever they are.
    TextLength { to: Register, from: Place },
    /// `to =` the character at `index`; a fault outside the text.
    TextGet { to: Register, from: Place, index: Register },
    /// The character at `index` becomes `from`; a fault outside the text.
    TextSet { to: Place, index: Register, from: Register },
    /// `to =` -1, 0 or 1 as `a` is less than, equal to or greater than `b`, up to their first 0X.
    TextCompare { to: Register, a: Place, b: Place },

    // ---- arrays and collections ----
    /// The array gets the extents, all elements zero or empty; what it held is freed (suspends if
    /// that were components).
    ArrayNew { array: Place, shape: Storage, extents: Vec<Register> },
    /// `to =` extent of the dimension (from 0).
    ArrayLength { to: Register, array: Place, dimension: u8 },
    /// `to =` address of the element; faults: not allocated, outside.
    ArrayElement { to: Register, array: Place, indices: Vec<Register> },
    /// `to =` a *view* of the array as it is: where its extents and elements are. It serves until
    /// the array is allocated anew or freed; that of an array which is not allocated is empty.
    ArrayView { to: Register, array: Place },
    /// `to =` extent of the dimension (from 0) of a view.
    ViewExtent { to: Register, view: Register, dimension: u8 },
    /// As `ArrayElement`, by a view of the array, and its extents if they are in registers;
    /// `checked` unless the indices are known to be inside.
    ViewElement {
        to: Register,
        array: Place,
        view: Register,
        extents: Vec<Register>,
        indices: Vec<Register>,
        checked: bool,
    },
    /// `to =` address of the element, made (zero, empty) if `access` says so, else a fault if
    /// missing.
    Element { to: Register, collection: Place, shape: Storage, keys: Vec<Key>, access: Access },
    /// `to = TRUE` if there is such an element (and, if it is of type component, it is not empty).
    ElementExists { to: Register, collection: Place, shape: Storage, keys: Vec<Key> },
    /// Removes the element, if any. If it is a component, waits until it is released. Suspends.
    ElementDelete { collection: Place, keys: Vec<Key> },
    /// `found = TRUE` and the keys become the least of the collection; else `found = FALSE`.
    /// Suspends while a large collection is put in order.
    FirstKey { found: Register, collection: Place, keys: Vec<Key> },
    /// `found = TRUE` and the keys become the least greater than they are; else `found = FALSE`.
    /// Suspends as `FirstKey`.
    NextKey { found: Register, collection: Place, keys: Vec<Key> },
    /// `to =` number of elements.
    ElementCount { to: Register, collection: Place },

    // ---- components ----
    /// A component of the type starts in the place, which is empty (a `Delete` goes before);
    /// `synchronous`: with the clock of its surroundings.
    New { place: Place, component: ComponentId, synchronous: bool },
    /// Ends the component and waits until it is released; nothing if empty. Suspends.
    Delete { place: Place },
    /// Terminates all that the places own at once; waits until all is released; texts, arrays and
    /// collections are freed. Suspends.
    EndScope { places: Vec<Place> },
    /// `to`, which is empty, becomes owner of what `from` held; a fault if `from` is empty or would
    /// contain itself.
    Move { to: Place, from: Place },
    /// `to = TRUE` if the place holds a component.
    Exists { to: Register, place: Place },
    /// `to = TRUE` if the component has failed; FALSE if empty.
    Failed { to: Register, place: Place },
    /// `to = TRUE` if the component is of that type.
    Is { to: Register, place: Place, component: ComponentId },
    /// `to = TRUE` if the component's type offers (`offered`) or requires all these, with these
    /// counts.
    Has {
        to: Register,
        place: Place,
        offered: bool,
        interfaces: Vec<(InterfaceId, u32, Option<u32>)>,
    },
    /// Links `from` (a required or own offered interface) to `to`.
    Connect { from: Port, to: Port },
    /// Unlinks.
    Disconnect { port: Port },
    /// `to =` how many of the interface are connected.
    Connected { to: Register, port: Port },
    /// `to = TRUE` if the function's own component is terminating.
    Terminated { to: Register },

    // ---- messages ----
    /// Sends, texts and components out of temporaries; suspends while the channel is full,
    /// unconnected, or the server has not begun.
    Send { to: Party, message: MessageId, payload: Vec<Payload> },
    /// Receives the message; suspends until one has arrived; a fault if it is another.
    Receive { from: Party, message: MessageId, into: Vec<Payload> },
    /// `to = TRUE` if the next message from the other side matches; suspends until one has arrived
    /// or the other side has ended (which matches only FINISH).
    Test { to: Register, from: Party, pattern: Pattern },
    /// The same without suspending: FALSE if none has arrived.
    Input { to: Register, from: Party, pattern: Pattern },

    // ---- monitor, time ----
    /// Takes the component's monitor. Suspends.
    Lock { exclusive: bool },
    /// Takes it exclusively as soon as the condition holds, which reads variables of the component
    /// only. Until then the process is not in the lock queue. Suspends.
    LockWhen { condition: FunctionId },
    /// Gives it back.
    Unlock,
    /// Waits, with the monitor given up meanwhile, until the condition holds. Suspends.
    Await { condition: FunctionId },
    /// Sleeps in virtual time. Suspends. The monitor is given up meanwhile.
    Passivate { duration: Register },
    /// `to =` virtual time.
    Time { to: Register },
    /// Loop ends, procedure entries: may give the loop to others. Suspends.
    Checkpoint,

    // ---- procedures, console ----
    /// Calls; `result` is a register or, for an owned result, a place that is freed before.
    /// Suspends if the callee may.
    Call { result: Option<Payload>, function: FunctionId, arguments: Vec<Argument> },
    /// Writes to the console.
    Write { from: Payload, form: Written },
    /// Writes a constant to the console.
    WriteConstant { text: TextId },
    /// Ends the line.
    WriteLine,
}

/// A constant scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constant {
    /// INTEGER.
    Integer(i64),
    /// REAL.
    Real(f64),
    /// BOOLEAN.
    Boolean(bool),
    /// CHARACTER.
    Character(u8),
}

/// Operators on two scalars of one type; comparisons give BOOLEAN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// INTEGER (a fault on overflow) and REAL.
    Add,
    /// As [`Binary::Add`].
    Subtract,
    /// As [`Binary::Add`].
    Multiply,
    /// [`Binary::Add`] of INTEGER where the sum is known to fit: no check.
    AddUnchecked,
    /// [`Binary::Subtract`], as [`Binary::AddUnchecked`].
    SubtractUnchecked,
    /// [`Binary::Multiply`], as [`Binary::AddUnchecked`].
    MultiplyUnchecked,
    /// `/` on REAL; a fault for zero.
    Divide,
    /// [`Binary::Divide`] where the divisor is known not to be zero: no check.
    DivideUnchecked,
    /// DIV: rounds down; a fault for zero and on overflow.
    Div,
    /// MOD: `a - (a DIV b) * b`; a fault for zero.
    Mod,
    /// All scalars.
    Equal,
    /// All scalars.
    NotEqual,
    /// INTEGER, REAL, CHARACTER; FALSE < TRUE.
    Less,
    /// As [`Binary::Less`].
    LessEqual,
    /// As [`Binary::Less`].
    Greater,
    /// As [`Binary::Less`].
    GreaterEqual,
}

/// Operators on one scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unary {
    /// INTEGER (a fault on overflow) and REAL.
    Negate,
    /// BOOLEAN.
    Not,
    /// REAL, as the functions below.
    Sine,
    /// COS.
    Cosine,
    /// TAN.
    Tangent,
    /// ARCSIN.
    ArcSine,
    /// ARCCOS.
    ArcCosine,
    /// ARCTAN.
    ArcTangent,
    /// SQRT.
    SquareRoot,
}

/// From one scalar type to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Exact up to 2^53, else the nearest.
    IntegerToReal,
    /// Rounds down; a fault outside INTEGER.
    RealToInteger,
    /// Its code.
    CharacterToInteger,
    /// A fault outside 0..255.
    IntegerToCharacter,
    /// 0 or 1.
    BooleanToInteger,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Written {
    /// As its type requires.
    Plain,
    /// WRITEHEX.
    Hexadecimal,
}

/// Part of what identifies an element of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// INTEGER, BOOLEAN, CHARACTER.
    Register(Register),
    /// TEXT.
    Text(Place),
}

/// What an element access does when there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Makes it.
    Make,
    /// Faults.
    Expect,
}

/// A value on its way into or out of a message, a call or the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// A scalar.
    Register(Register),
    /// A text or component, or a scalar in memory: copied out of (texts) or put into the place.
    Copy(Place),
    /// A text or component that is moved out of the place (it is empty then), or into it.
    Move(Place),
}

/// An argument of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Argument {
    /// By value.
    Value(Payload),
    /// VARIABLE: the address in the register; of a local or variable, or another such parameter.
    Reference(Register),
}

/// The other end of a communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// In an implementation: its client.
    Client,
    /// What the own required interface is connected to (`index` from 1 where it is a set).
    Required { interface: InterfaceId, index: Option<Register> },
    /// An interface that the sub-component offers.
    Sub { place: Place, interface: InterfaceId, index: Option<Register> },
    /// An interface that the own component offers: a process may be client of its own component.
    Own { interface: InterfaceId },
}

/// What Test and Input look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// This message.
    Message(MessageId),
    /// Any message.
    Any,
    /// The end of the communication.
    Finish,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Port {
    /// An interface that the sub-component requires.
    SubRequired { place: Place, interface: InterfaceId, index: Option<Register> },
    /// An interface that the sub-component offers.
    SubOffered { place: Place, interface: InterfaceId, index: Option<Register> },
    /// An interface that the own component requires.
    OwnRequired { interface: InterfaceId, index: Option<Register> },
    /// An interface that the own component offers: as `from`, to be served by another; as `to`, its
    /// implementation.
    OwnOffered { interface: InterfaceId, index: Option<Register> },
}

/// How a block ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Terminator {
    /// Jumps there.
    Jump(BlockId),
    /// Branches to one of two blocks.
    Branch {
        /// BOOLEAN.
        condition: Register,
        /// If TRUE.
        then: BlockId,
        /// If FALSE.
        otherwise: BlockId,
    },
    /// The function is done.
    Return(Option<Payload>),
    /// A fault.
    Fault(Reason),
    /// The program ends normally: HALT(0).
    Exit,
}

/// Faults that the code itself states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// ASSERT, with its code if it has one.
    Assertion(Option<Register>),
    /// HALT of a code that is not 0.
    Halt(Register),
    /// A function with a result came to its end.
    NoResult,
    /// A variable holds no component.
    Empty,
    /// A variable holds no component of the type that it is seen as, or none.
    Type(Guard),
}

/// A component that is seen as one of another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Guard {
    /// Where it is.
    pub place: Place,
    /// The required type; none if interfaces are required.
    pub component: Option<ComponentId>,
}

/// What an instruction is about: engines treat each group in a place of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Arithmetic, memory, the console.
    Scalar,
    /// Texts, arrays, collections.
    Owned,
    /// Messages and connections.
    Message,
    /// Components, the monitor, time; also where a process is cut off.
    Component,
}

impl Binary {
    /// Whether it gives BOOLEAN.
    pub fn is_comparison(self) -> bool {
        use Binary::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
    }
}

impl Instruction {
    /// Its group; calls, which each engine makes in its own way, count as scalar.
    pub fn group(&self) -> Group {
        match self {
            Instruction::Constant { .. }
            | Instruction::Copy { .. }
            | Instruction::Split { .. }
            | Instruction::Binary { .. }
            | Instruction::Unary { .. }
            | Instruction::Convert { .. }
            | Instruction::Random { .. }
            | Instruction::Load { .. }
            | Instruction::Store { .. }
            | Instruction::AddressOf { .. }
            | Instruction::Call { .. }
            | Instruction::Write { .. }
            | Instruction::WriteConstant { .. }
            | Instruction::WriteLine => Group::Scalar,
            Instruction::Send { .. }
            | Instruction::Receive { .. }
            | Instruction::Test { .. }
            | Instruction::Input { .. }
            | Instruction::Connect { .. }
            | Instruction::Disconnect { .. }
            | Instruction::Connected { .. } => Group::Message,
            Instruction::New { .. }
            | Instruction::Delete { .. }
            | Instruction::EndScope { .. }
            | Instruction::Move { .. }
            | Instruction::Exists { .. }
            | Instruction::Failed { .. }
            | Instruction::Is { .. }
            | Instruction::Has { .. }
            | Instruction::Terminated { .. }
            | Instruction::Lock { .. }
            | Instruction::LockWhen { .. }
            | Instruction::Unlock
            | Instruction::Await { .. }
            | Instruction::Passivate { .. }
            | Instruction::Time { .. }
            | Instruction::Checkpoint => Group::Component,
            _ => Group::Owned,
        }
    }

    /// Whether it writes registers alone: no place that it names, and no collection.
    pub fn only_reads(&self) -> bool {
        match self {
            Instruction::Element { access, .. } => *access == Access::Expect,
            Instruction::Constant { .. }
            | Instruction::Copy { .. }
            | Instruction::Split { .. }
            | Instruction::Binary { .. }
            | Instruction::Unary { .. }
            | Instruction::Convert { .. }
            | Instruction::Load { .. }
            | Instruction::TextNumber { .. }
            | Instruction::TextLength { .. }
            | Instruction::TextGet { .. }
            | Instruction::TextCompare { .. }
            | Instruction::ArrayLength { .. }
            | Instruction::ArrayElement { .. }
            | Instruction::ArrayView { .. }
            | Instruction::ViewExtent { .. }
            | Instruction::ViewElement { .. }
            | Instruction::ElementExists { .. }
            | Instruction::ElementCount { .. } => true,
            _ => false,
        }
    }

    /// Whether its code calls nothing that returns: some instructions of the machine, and ways out
    /// for faults and checkpoints.
    pub fn is_inline(&self) -> bool {
        match self {
            Instruction::Unary { operator, .. } => {
                matches!(operator, Unary::Negate | Unary::Not | Unary::SquareRoot)
            }
            Instruction::Constant { .. }
            | Instruction::Copy { .. }
            | Instruction::Split { .. }
            | Instruction::Binary { .. }
            | Instruction::Convert { .. }
            | Instruction::Load { .. }
            | Instruction::Store { .. }
            | Instruction::AddressOf { .. }
            | Instruction::ArrayElement { .. }
            | Instruction::ArrayLength { .. }
            | Instruction::ArrayView { .. }
            | Instruction::ViewExtent { .. }
            | Instruction::ViewElement { .. }
            | Instruction::TextGet { .. }
            | Instruction::TextLength { .. }
            | Instruction::Checkpoint => true,
            _ => false,
        }
    }

    /// Whether the process may be suspended at it, given whether the callee of a call may be.
    pub fn suspends(&self, callee_suspends: impl Fn(FunctionId) -> bool) -> bool {
        match self {
            Instruction::Call { function, .. } => callee_suspends(*function),
            Instruction::ArrayNew { .. }
            | Instruction::ElementDelete { .. }
            | Instruction::FirstKey { .. }
            | Instruction::NextKey { .. }
            | Instruction::Delete { .. }
            | Instruction::EndScope { .. }
            | Instruction::Send { .. }
            | Instruction::Receive { .. }
            | Instruction::Test { .. }
            | Instruction::Lock { .. }
            | Instruction::LockWhen { .. }
            | Instruction::Await { .. }
            | Instruction::Passivate { .. }
            | Instruction::Connect { .. }
            | Instruction::Disconnect { .. }
            | Instruction::Checkpoint => true,
            _ => false,
        }
    }
}

impl Type {
    /// Whether a value of it fits a register.
    pub fn is_scalar(self) -> bool {
        !matches!(self, Type::Text | Type::Component)
    }
}
