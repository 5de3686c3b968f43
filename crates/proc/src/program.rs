//! The descriptors of a program, by which the run-time runs its code.
//!
//! A compiler makes a [`Program`], promises that it is right ([`Executable`]), and gives it to a
//! [`crate::Worker`], which trusts it. Numbers are places in the lists here; a *position* is a
//! place in [`Program::positions`], 0 for none.

use std::fmt;
use std::sync::Arc;

use tidemill_jit::FuncId;
use tidemill_jit::build::{CallConv, signature, types};

pub use crate::executable::Executable;
use crate::layout::{Code, ENTRIES, Frame, Process, UNWINDING, WorkerHead};

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Component types.
    pub components: Vec<ComponentType>,
    /// Interfaces.
    pub interfaces: Vec<Interface>,
    /// Functions: bodies, implementations, procedures.
    pub functions: Vec<Function>,
    /// Arrays and collections.
    pub shapes: Vec<Shape>,
    /// What `ANY(...)` types and tests require.
    pub facets: Vec<Facet>,
    /// Places in the source.
    pub positions: Vec<Position>,
    /// Names of source files.
    pub files: Vec<String>,
    /// The component type that is the program.
    pub entry: u32,
    /// By type, the one that is instantiated in its place: its latest successor, or itself. Filled
    /// by [`Executable`].
    pub(crate) latest: Vec<u32>,
}

/// A place in the source.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// In [`Program::files`].
    pub file: u32,
    /// From 1; 0 when unknown.
    pub line: u32,
    /// Characters from 1.
    pub column: u32,
}

/// What a word holds, and so what happens to it when it is dropped.
#[repr(u8)]
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum WordKind {
    /// A number, character or boolean: nothing to drop.
    #[default]
    Scalar,
    /// The address of a word elsewhere, as VARIABLE parameters are: nothing to drop.
    Reference,
    /// Owns a text.
    Text,
    /// Owns a component, which is terminated when its word is dropped.
    Component,
    /// Owns an array; its block knows its shape.
    Array,
    /// Owns a collection; its block knows its shape.
    Collection,
}

/// A word in a frame, component or message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Variable {
    /// As the source calls it; for reports.
    pub name: String,
    /// From the start of the block, a multiple of 8.
    pub offset: u32,
    /// What the word holds.
    pub kind: WordKind,
    /// For arrays and collections: in [`Program::shapes`].
    pub shape: u32,
    /// For components: they have the time of their surroundings.
    pub synchronous: bool,
}

/// A component type.
#[derive(Clone, Debug, Default)]
pub struct ComponentType {
    /// As the source calls it.
    pub name: String,
    /// The position of its declaration.
    pub position: u32,
    /// Bytes of a component: header, slots, variables.
    pub size: u32,
    /// Offered interfaces.
    pub offered: Vec<Port>,
    /// Required interfaces.
    pub required: Vec<Port>,
    /// Variables; those that own must all be here.
    pub variables: Vec<Variable>,
    /// Runs first, holding the monitor exclusively. Without both the component has no process.
    pub begin: Option<u32>,
    /// Runs after `begin` in the same process.
    pub activity: Option<u32>,
    /// Runs at the end, holding the monitor exclusively.
    pub finally: Option<u32>,
    /// Whether one of its conditions uses INPUT.
    pub awaits_input: bool,
    /// Where it has two words, zeros at first: in the first one code sets bits of what it writes,
    /// the other is the run-time's. 0 if it has none; then any release may make any condition
    /// hold.
    pub watch: u32,
    /// The first version of it, in [`Program::components`]: type tests do not distinguish types of
    /// the same origin. Filled by [`Executable`].
    pub origin: u32,
}

/// An interface that a component type offers or requires.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Port {
    /// In [`Program::interfaces`].
    pub interface: u32,
    /// The least number.
    pub low: u32,
    /// The greatest number; none for `*`.
    pub high: Option<u32>,
    /// Where the component has its [`crate::layout::Slot`], 24 bytes: of a required interface
    /// its communication, of an offered one its redirection. A set (`high` is not 1) has the
    /// address of a table there instead. 0, no slot, for an offered interface that is never
    /// redirected.
    pub slot: u32,
    /// For an offered interface: the function of its IMPLEMENTATION.
    pub implementation: Option<u32>,
}

impl Port {
    /// Whether it is a set of interfaces, distinguished by an index.
    pub fn is_set(&self) -> bool {
        self.high != Some(1)
    }
}

/// An interface with the automaton of its protocol.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// As the source calls it; interfaces of equal names are the same.
    pub name: String,
    /// Messages; at most 32,000.
    pub messages: Vec<Message>,
    /// Bytes of an entry: 8 for each parameter of the largest message.
    pub entry_size: u32,
}

impl Interface {
    /// Bytes of the entries of a channel.
    #[inline]
    pub(crate) fn entries_size(&self) -> usize {
        ENTRIES * self.entry_size as usize
    }
}

/// The sender of a message.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// IN: the client.
    #[default]
    In,
    /// OUT: the server.
    Out,
}

/// A message of an interface. The state of a communication is its last message.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// As the source calls it.
    pub name: String,
    /// Its sender.
    pub direction: Direction,
    /// What its parameters are, in order.
    pub parameters: Vec<WordKind>,
    /// It may be the first.
    pub initial: bool,
    /// Bit m of word m / 64 is set if it may follow message m.
    pub after: Vec<u64>,
    /// Nothing may follow: the communication closes after it.
    pub must_end: bool,
    /// The protocol may end after it.
    pub may_end: bool,
}

impl Message {
    /// Whether it may follow message `state`.
    #[inline]
    pub fn may_follow(&self, state: u16) -> bool {
        let state = usize::from(state);
        self.after.get(state / 64).is_some_and(|word| word >> (state % 64) & 1 == 1)
    }
}

/// A function: a body, an implementation, or a procedure that has frames.
#[derive(Clone, Debug)]
pub struct Function {
    /// As the source calls it; for reports.
    pub name: String,
    /// Bytes of its frames, header included.
    pub frame_size: u32,
    /// The words of the frame that own something.
    pub owned: Vec<Variable>,
    /// What runs its frames.
    pub code: FunctionCode,
    /// Of a condition: bits as in [`ComponentType::watch`] that it does not depend on. The highest
    /// bit represents everything but the variables of the component.
    pub ignored: u64,
}

/// How an array or a collection is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Dense, indexed from 0 in each dimension.
    Array {
        /// At least 1.
        dimensions: u32,
        /// What the elements are.
        element: WordKind,
    },
    /// A map in ascending order of keys.
    Collection {
        /// At least one.
        keys: Vec<Key>,
        /// What the elements are.
        element: WordKind,
        /// Whether addresses of elements are used after anything else has been put into a
        /// collection of this shape. Else elements that own nothing may move then.
        pinned: bool,
    },
}

/// The type of an index of a collection.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Key {
    /// INTEGER, CHARACTER or BOOLEAN.
    Integer,
    /// TEXT, compared up to its first 0X.
    Text,
}

/// Interfaces that a component must offer and require at least: `ANY(offered | required)`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facet {
    /// Interfaces it must offer, with how many at least and at most.
    pub offered: Vec<(u32, u32, Option<u32>)>,
    /// Interfaces it must not require beyond these.
    pub required: Vec<(u32, u32, Option<u32>)>,
}

/// The code that runs the frames of a function. Machine code is kept mapped for as long as this
/// refers to it.
#[derive(Clone)]
pub struct FunctionCode {
    entry: Code,
    /// What `entry` points into.
    _module: Option<Arc<tidemill_jit::Code>>,
}

impl FunctionCode {
    /// A function that has no frames of its own; one that is entered all the same unwinds.
    pub fn frameless() -> FunctionCode {
        FunctionCode::builtin(unwind)
    }

    /// A function of this crate.
    pub(crate) fn builtin(entry: Code) -> FunctionCode {
        FunctionCode { entry, _module: None }
    }

    /// A function of a compiled module; none if its signature is not that of [`Code`].
    ///
    /// # Safety
    /// As of [`FunctionCode::native`].
    pub unsafe fn compiled(module: &Arc<tidemill_jit::Code>, id: FuncId) -> Option<FunctionCode> {
        let expected = signature(CallConv::SystemV, &[types::I64; 3], &[types::I32]);
        if module.signature(id) != &expected {
            return None;
        }
        // SAFETY: the function has this signature, and `_module` keeps it mapped.
        let entry = unsafe { std::mem::transmute::<*const u8, Code>(module.address(id)) };
        Some(FunctionCode { entry, _module: Some(module.clone()) })
    }

    /// A function of this program.
    ///
    /// # Safety
    /// It treats frame, process and worker as [`crate::layout`] and [`crate::entry`] prescribe for
    /// generated code.
    pub unsafe fn native(entry: Code) -> FunctionCode {
        FunctionCode { entry, _module: None }
    }

    pub(crate) fn entry(&self) -> Code {
        self.entry
    }
}

impl fmt::Debug for FunctionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionCode").field("entry", &(self.entry as *const u8)).finish()
    }
}

/// The code of functions without frames.
unsafe extern "C" fn unwind(_: *mut Frame, _: *mut Process, _: *mut WorkerHead) -> u32 {
    UNWINDING
}
