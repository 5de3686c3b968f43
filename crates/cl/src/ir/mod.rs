//! The intermediate representation: what the lowering makes of checked trees, what the interpreter
//! runs and what the code generator translates.
//!
//! A [`Program`] is flat: interfaces, components and functions, numbered. A [`Function`] is a graph
//! of blocks of three-address instructions over two kinds of storage:
//!
//! ```text
//! registers   %0 %1 ...   one scalar each (INTEGER, REAL, BOOLEAN, CHARACTER) or an address;
//!                         assigned any number of times; live in machine registers
//! locals      $0 $1 ...   memory in the frame: everything that owns (texts, components, arrays,
//!                         collections), and scalars that others see (passed as VARIABLE, read by
//!                         an AWAIT condition); zero when the function starts
//! ```
//!
//! **Ownership.** A text, component, array or collection is owned by exactly one [`Place`]: a
//! local, a variable of the component, an element. Instructions copy or move between places; the
//! frame's owner frees what its locals still own when the frame goes, whatever ended it.
//! Temporaries that own are locals, too.
//!
//! **Suspension.** An instruction for which [`Instruction::suspends`] holds may give the loop to
//! another process; when the process is resumed *the same instruction is executed again*, and then
//! goes through. Only registers live after or used by it are saved. Addresses never live across
//! a suspension, or across an instruction that changes the collection or array they point into;
//! the verifier checks it.
//!
//! **Faults** leave the function at the instruction, which carries its place in the source.

use tidemill_diag::Span;
use tidemill_stdx::id::IdVec;
use tidemill_stdx::id_type;

use crate::ir::protocol::Protocol;

pub mod constant;
pub mod form;
pub mod graph;
pub mod instruction;
pub mod liveness;
pub mod memory;
pub mod parts;
pub mod pinned;
pub mod protocol;
pub mod succession;
pub mod suspending;
pub mod text;
pub mod verify;

pub use parts::{Part, Role};
pub use text::parse;

pub use instruction::{
    Access, Argument, Binary, Constant, Conversion, Group, Guard, Instruction, Key, Party, Pattern,
    Payload, Port, Reason, Terminator, Unary, Written,
};

id_type! {
    /// An interface of the program.
    pub struct InterfaceId, "interface";
    /// A component type of the program.
    pub struct ComponentId, "component";
    /// A function of the program.
    pub struct FunctionId, "fn";
    /// A message of one interface.
    pub struct MessageId, "m";
    /// A variable of a component.
    pub struct VariableId, "@";
    /// A register of a function.
    pub struct Register, "%";
    /// A local of a function.
    pub struct LocalId, "$";
    /// A block of a function.
    pub struct BlockId, "b";
    /// A text constant of the program.
    pub struct TextId, "text";
}

/// A whole program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// Interfaces, those of the system included if they are used.
    pub interfaces: IdVec<InterfaceId, Interface>,
    /// Component types, outer before inner.
    pub components: IdVec<ComponentId, Component>,
    /// Functions of all components.
    pub functions: IdVec<FunctionId, Function>,
    /// Constant texts.
    pub texts: IdVec<TextId, Vec<u8>>,
    /// The component that runs.
    pub entry: Option<ComponentId>,
}

/// An interface: its messages and their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its messages, in the order of the source.
    pub messages: IdVec<MessageId, Message>,
    /// Which message may follow which.
    pub protocol: Protocol,
    /// Whether the system offers it.
    pub system: bool,
}

/// A message of an interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its name.
    pub name: String,
    /// Its sender.
    pub direction: Direction,
    /// What it carries.
    pub parameters: Vec<Type>,
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// `IN`: the client sends, the server receives.
    In,
    /// `OUT`: the server sends.
    Out,
}

/// The type of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// 64-bit signed.
    Integer,
    /// IEEE double.
    Real,
    /// One byte, 0 or 1.
    Boolean,
    /// One byte.
    Character,
    /// An owned text.
    Text,
    /// An owned component, of whatever type.
    Component,
    /// Where a value lives; registers only, except for parameters passed by reference.
    Address,
}

/// What a variable or local holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// One value.
    One(Type),
    /// `{ARRAY}`: dense, zero-based.
    Array {
        /// What each element is.
        element: Type,
        /// The number of dimensions, at least 1.
        dimensions: u8,
    },
    /// A map with ordered keys.
    Collection {
        /// What identifies an element: INTEGER, TEXT, BOOLEAN or CHARACTER each.
        keys: Vec<Type>,
        /// What each element is.
        element: Type,
    },
}

/// A component type.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// Names of the components around it and its own, outermost first, joined by points.
    pub name: String,
    /// What it offers, in order of declaration.
    pub offers: Vec<Offer>,
    /// What it requires, in order of declaration.
    pub requires: Vec<Require>,
    /// Its variables.
    pub variables: IdVec<VariableId, Variable>,
    /// BEGIN: the first process runs it with the monitor held.
    pub begin: Option<FunctionId>,
    /// ACTIVITY: the same process runs it then.
    pub activity: Option<FunctionId>,
    /// FINALLY.
    pub finally: Option<FunctionId>,
    /// Where it is declared.
    pub span: Span,
}

/// An offered interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Which.
    pub interface: InterfaceId,
    /// The least and the greatest number (None: without limit).
    pub count: (u32, Option<u32>),
    /// What serves a client; none if it must be connected to a sub-component.
    pub implementation: Option<FunctionId>,
}

/// A required interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Require {
    /// Which.
    pub interface: InterfaceId,
    /// The least and the greatest number (None: without limit).
    pub count: (u32, Option<u32>),
}

/// A variable of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub storage: Storage,
    /// `{SYNCHRONOUS}`: components in it have no clock of their own but that of an ancestor.
    pub synchronous: bool,
}

/// A function: something with a frame and code.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// `Outer.Inner.Name`, unique.
    pub name: String,
    /// Whose variables it reaches.
    pub component: ComponentId,
    /// What it is.
    pub kind: FunctionKind,
    /// Its first locals or registers are its parameters.
    pub parameters: Vec<Parameter>,
    /// What it returns.
    pub result: Option<Type>,
    /// Types of its registers.
    pub registers: IdVec<Register, Type>,
    /// What its locals hold.
    pub locals: IdVec<LocalId, Local>,
    /// Its code; it starts with the first block.
    pub blocks: IdVec<BlockId, Block>,
}

/// A local of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Local {
    /// Its name in the source, for reports; empty for a temporary.
    pub name: String,
    /// What it holds.
    pub storage: Storage,
}

/// Where a function finds an argument when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// A scalar by value in a register; or, of type [`Type::Address`], where a VARIABLE argument
    /// lives (a plain variable or local of one value, whose place outlives the call).
    Register(Register),
    /// In a local: texts and components handed over, scalars that others see.
    Local(LocalId),
}

/// What a function is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// BEGIN of a component.
    Begin,
    /// ACTIVITY of a component.
    Activity,
    /// IMPLEMENTATION: a server process for each client.
    Implementation(InterfaceId),
    /// PROCEDURE.
    Procedure,
    /// FINALLY.
    Finally,
    /// The condition of an AWAIT in the function `of`: returns BOOLEAN, never suspends, reaches the
    /// awaiting frame through [`Place::Outer`], and changes nothing.
    Condition {
        /// The function with the AWAIT.
        of: FunctionId,
    },
}

/// Instructions that run one after the other, and where they lead.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// In order, each with its place in the source.
    pub instructions: Vec<(Instruction, Span)>,
    /// What comes then.
    pub terminator: (Terminator, Span),
    /// Whether it is seldom reached from where others are: its code lies out of their way.
    pub is_rare: bool,
}

/// Where a value lives in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// A local of this function.
    Local(LocalId),
    /// In a condition: a local of the awaiting function.
    Outer(LocalId),
    /// A variable of the function's component.
    Variable(VariableId),
    /// Where the register points: an element, or a VARIABLE parameter.
    At(Register),
}

impl Program {
    /// What WRITE shows of a constant: the bytes up to its 0X.
    pub fn shown(&self, text: TextId) -> &[u8] {
        let bytes = &self.texts[text];
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        &bytes[..end]
    }
}

impl Function {
    /// Whether it has the same value for every process of the component, as long as the component's
    /// variables do not change.
    pub fn is_closed(&self) -> bool {
        let returns = |block: &Block| match block.terminator.0 {
            Terminator::Return(Some(Payload::Register(_))) => true,
            Terminator::Return(_) => false,
            _ => true,
        };
        let mut instructions = self.blocks.iter().flat_map(|block| &block.instructions);
        self.blocks.iter().all(returns)
            && instructions.all(|(instruction, _)| match instruction {
                Instruction::Load { from, .. } => matches!(from, Place::Variable(_)),
                Instruction::Constant { .. }
                | Instruction::Copy { .. }
                | Instruction::Binary { .. }
                | Instruction::Unary { .. } => true,
                _ => false,
            })
    }
}

#[cfg(test)]
mod tests;
