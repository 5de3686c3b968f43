//! The one table of instructions: their words, their parts in order, and which parts they assign.
//! Printing, reading, and walking over registers and places all come from it.

use tidemill_diag::text::ir::{IrReader as Reader, Read};

use crate::ir::form::Form;
use crate::ir::{
    Access, Argument, Binary, BlockId, ComponentId, Constant, Conversion, FunctionId, Instruction,
    InterfaceId, Key, MessageId, Party, Pattern, Payload, Place, Port, Reason, Register, Storage,
    Terminator, TextId, Unary, Written,
};

/// What an instruction does to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads it.
    Read,
    /// Assigns it.
    Write,
    /// Reads and then assigns it.
    Update,
}

/// A register or place that an instruction touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A register. That of a [`Place::At`] is read.
    Register(Register, Role),
    /// A place.
    Place(Place),
}

/// Other names for those in a piece of code; what is not given another one keeps its own.
pub trait Rename {
    /// The register instead of this one.
    fn register(&self, register: Register) -> Register {
        register
    }
    /// The place instead of this one.
    fn place(&self, place: Place) -> Place {
        place
    }
    /// The component type instead of this one.
    fn component(&self, component: ComponentId) -> ComponentId {
        component
    }
    /// The interface instead of this one.
    fn interface(&self, interface: InterfaceId) -> InterfaceId {
        interface
    }
    /// The function instead of this one.
    fn function(&self, function: FunctionId) -> FunctionId {
        function
    }
    /// The constant instead of this one.
    fn text(&self, text: TextId) -> TextId {
        text
    }
}

/// A part that consists of registers and places, possibly of none.
trait Parts {
    fn parts(&self, role: Role, visit: &mut dyn FnMut(Part));

    fn rename(&mut self, names: &dyn Rename);
}

impl Parts for Register {
    fn parts(&self, role: Role, visit: &mut dyn FnMut(Part)) {
        visit(Part::Register(*self, role));
    }

    fn rename(&mut self, names: &dyn Rename) {
        *self = names.register(*self);
    }
}

impl Parts for Place {
    fn parts(&self, _: Role, visit: &mut dyn FnMut(Part)) {
        visit(Part::Place(*self));
        if let Place::At(register) = self {
            visit(Part::Register(*register, Role::Read));
        }
    }

    fn rename(&mut self, names: &dyn Rename) {
        *self = names.place(*self);
    }
}

impl<T: Parts> Parts for Vec<T> {
    fn parts(&self, role: Role, visit: &mut dyn FnMut(Part)) {
        self.iter().for_each(|part| part.parts(role, visit));
    }

    fn rename(&mut self, names: &dyn Rename) {
        self.iter_mut().for_each(|part| part.rename(names));
    }
}

impl<T: Parts> Parts for Option<T> {
    fn parts(&self, role: Role, visit: &mut dyn FnMut(Part)) {
        self.iter().for_each(|part| part.parts(role, visit));
    }

    fn rename(&mut self, names: &dyn Rename) {
        self.iter_mut().for_each(|part| part.rename(names));
    }
}

impl Parts for Key {
    fn parts(&self, role: Role, visit: &mut dyn FnMut(Part)) {
        match self {
            Key::Register(register) => register.parts(role, visit),
            Key::Text(place) => place.parts(role, visit),
        }
    }

    fn rename(&mut self, names: &dyn Rename) {
        match self {
            Key::Register(register) => register.rename(names),
            Key::Text(place) => place.rename(names),
        }
    }
}

impl Parts for Payload {
    fn parts(&self, role: Role, visit: &mut dyn FnMut(Part)) {
        match self {
            Payload::Register(register) => register.parts(role, visit),
            Payload::Copy(place) | Payload::Move(place) => place.parts(role, visit),
        }
    }

    fn rename(&mut self, names: &dyn Rename) {
        match self {
            Payload::Register(register) => register.rename(names),
            Payload::Copy(place) | Payload::Move(place) => place.rename(names),
        }
    }
}

impl Parts for Argument {
    fn parts(&self, role: Role, visit: &mut dyn FnMut(Part)) {
        match self {
            Argument::Value(payload) => payload.parts(role, visit),
            Argument::Reference(register) => register.parts(role, visit),
        }
    }

    fn rename(&mut self, names: &dyn Rename) {
        match self {
            Argument::Value(payload) => payload.rename(names),
            Argument::Reference(register) => register.rename(names),
        }
    }
}

impl Parts for Party {
    fn parts(&self, _: Role, visit: &mut dyn FnMut(Part)) {
        match self {
            Party::Client | Party::Own { .. } => {}
            Party::Required { index, .. } => index.parts(Role::Read, visit),
            Party::Sub { place, index, .. } => {
                place.parts(Role::Read, visit);
                index.parts(Role::Read, visit);
            }
        }
    }

    fn rename(&mut self, names: &dyn Rename) {
        match self {
            Party::Client => {}
            Party::Own { interface } => interface.rename(names),
            Party::Required { interface, index } => {
                interface.rename(names);
                index.rename(names);
            }
            Party::Sub { place, interface, index } => {
                place.rename(names);
                interface.rename(names);
                index.rename(names);
            }
        }
    }
}

impl Parts for Port {
    fn parts(&self, _: Role, visit: &mut dyn FnMut(Part)) {
        match self {
            Port::SubRequired { place, index, .. } | Port::SubOffered { place, index, .. } => {
                place.parts(Role::Read, visit);
                index.parts(Role::Read, visit);
            }
            Port::OwnRequired { index, .. } | Port::OwnOffered { index, .. } => {
                index.parts(Role::Read, visit);
            }
        }
    }

    fn rename(&mut self, names: &dyn Rename) {
        match self {
            Port::SubRequired { place, interface, index }
            | Port::SubOffered { place, interface, index } => {
                place.rename(names);
                interface.rename(names);
                index.rename(names);
            }
            Port::OwnRequired { interface, index } | Port::OwnOffered { interface, index } => {
                interface.rename(names);
                index.rename(names);
            }
        }
    }
}

macro_rules! no_parts {
    ($($type:ty)+) => {$(
        impl Parts for $type {
            fn parts(&self, _: Role, _: &mut dyn FnMut(Part)) {}
            fn rename(&mut self, _: &dyn Rename) {}
        }
    )+};
}
no_parts! {
    Constant Binary Unary Conversion Written Access Pattern MessageId u8 bool Storage
}

macro_rules! named {
    ($($type:ty: $name:ident)+) => {$(
        impl Parts for $type {
            fn parts(&self, _: Role, _: &mut dyn FnMut(Part)) {}
            fn rename(&mut self, names: &dyn Rename) {
                *self = names.$name(*self);
            }
        }
    )+};
}
named! { ComponentId: component InterfaceId: interface FunctionId: function TextId: text }

impl Parts for (InterfaceId, u32, Option<u32>) {
    fn parts(&self, _: Role, _: &mut dyn FnMut(Part)) {}
    fn rename(&mut self, names: &dyn Rename) {
        self.0.rename(names);
    }
}

macro_rules! instructions {
    ($($variant:ident { $($field:ident $role:ident),* } $word:literal)+) => {
        impl Form for Instruction {
            fn write(&self, out: &mut String) {
                match self {
                    $(Instruction::$variant { $($field),* } => {
                        *out += $word;
                        $(out.push(' '); $field.write(out);)*
                    })+
                }
            }

            fn read(reader: &mut Reader) -> Read<Self> {
                match reader.peek() {
                    $($word => {
                        reader.word();
                        $(let $field = Form::read(reader)?;)*
                        Ok(Instruction::$variant { $($field),* })
                    })+
                    other => reader.fail(&format!("expected an instruction, not `{other}`")),
                }
            }
        }

        impl Instruction {
            /// Visits the registers and places in it, in order.
            pub fn parts(&self, visit: &mut dyn FnMut(Part)) {
                match self {
                    $(Instruction::$variant { $($field),* } => {
                        $($field.parts(Role::$role, visit);)*
                    })+
                }
            }

            /// Puts others in the place of what it names.
            pub fn rename(&mut self, names: &dyn Rename) {
                match self {
                    $(Instruction::$variant { $($field),* } => {
                        $($field.rename(names);)*
                    })+
                }
            }

            /// Visits the registers that it assigns.
            pub fn assigned(&self, mut visit: impl FnMut(Register)) {
                self.parts(&mut |part| {
                    if let Part::Register(register, Role::Write | Role::Update) = part {
                        visit(register);
                    }
                });
            }
        }
    };
}

instructions! {
    Constant { to Write, value Read } "constant"
    Copy { to Write, from Read } "copy"
    Split { registers Read } "split"
    Binary { to Write, operator Read, a Read, b Read } "binary"
    Unary { to Write, operator Read, a Read } "unary"
    Convert { to Write, conversion Read, a Read } "convert"
    Random { to Write, low Read, high Read } "random"
    Load { to Write, from Read } "load"
    Store { to Write, from Read } "store"
    AddressOf { to Write, place Read } "address-of"
    TextConstant { to Write, text Read } "text-constant"
    TextCopy { to Write, from Read } "text-copy"
    TextMove { to Write, from Write } "text-move"
    TextNew { to Write, length Read } "text-new"
    TextOf { to Write, from Read, form Read } "text-of"
    TextNumber { to Write, from Read } "text-number"
    TextLength { to Write, from Read } "text-length"
    TextGet { to Write, from Read, index Read } "text-get"
    TextSet { to Write, index Read, from Read } "text-set"
    TextCompare { to Write, a Read, b Read } "text-compare"
    ArrayNew { array Write, shape Read, extents Read } "array-new"
    ArrayLength { to Write, array Read, dimension Read } "array-length"
    ArrayElement { to Write, array Read, indices Read } "array-element"
    ArrayView { to Write, array Read } "array-view"
    ViewExtent { to Write, view Read, dimension Read } "view-extent"
    ViewElement { to Write, array Read, view Read, extents Read, indices Read, checked Read }
        "view-element"
    Element { to Write, collection Read, shape Read, keys Read, access Read } "element"
    ElementExists { to Write, collection Read, shape Read, keys Read } "element-exists"
    ElementDelete { collection Read, keys Read } "element-delete"
    FirstKey { found Write, collection Read, keys Write } "first-key"
    NextKey { found Write, collection Read, keys Update } "next-key"
    ElementCount { to Write, collection Read } "element-count"
    New { place Write, component Read, synchronous Read } "new"
    Delete { place Write } "delete"
    EndScope { places Write } "end-scope"
    Move { to Write, from Write } "move"
    Exists { to Write, place Read } "exists"
    Failed { to Write, place Read } "failed"
    Is { to Write, place Read, component Read } "is"
    Has { to Write, place Read, offered Read, interfaces Read } "has"
    Connect { from Read, to Read } "connect"
    Disconnect { port Read } "disconnect"
    Connected { to Write, port Read } "connected"
    Terminated { to Write } "terminated"
    Send { to Read, message Read, payload Read } "send"
    Receive { from Read, message Read, into Write } "receive"
    Test { to Write, from Read, pattern Read } "test"
    Input { to Write, from Read, pattern Read } "input"
    Lock { exclusive Read } "lock"
    LockWhen { condition Read } "lock-when"
    Unlock {} "unlock"
    Await { condition Read } "await"
    Passivate { duration Read } "passivate"
    Time { to Write } "time"
    Checkpoint {} "checkpoint"
    Call { result Write, function Read, arguments Read } "call"
    Write { from Read, form Read } "write"
    WriteConstant { text Read } "write-constant"
    WriteLine {} "write-line"
}

impl Form for Terminator {
    fn write(&self, out: &mut String) {
        use crate::ir::form::put;
        match self {
            Terminator::Jump(block) => put!(out, "jump", block),
            Terminator::Branch { condition, then, otherwise } => {
                put!(out, "branch", condition, then, otherwise);
            }
            Terminator::Return(payload) => put!(out, "return", payload),
            Terminator::Fault(reason) => put!(out, "fault", reason),
            Terminator::Exit => put!(out, "exit"),
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(match reader.word() {
            "jump" => Terminator::Jump(Form::read(reader)?),
            "branch" => Terminator::Branch {
                condition: Form::read(reader)?,
                then: Form::read(reader)?,
                otherwise: Form::read(reader)?,
            },
            "return" => Terminator::Return(Form::read(reader)?),
            "fault" => Terminator::Fault(Form::read(reader)?),
            "exit" => Terminator::Exit,
            _ => return reader.fail("expected a terminator"),
        })
    }
}

impl Terminator {
    /// Whether the next word begins a terminator.
    pub(super) fn is_next(reader: &Reader) -> bool {
        matches!(reader.peek(), "jump" | "branch" | "return" | "fault" | "exit")
    }

    /// Visits the registers and places in it.
    pub fn parts(&self, visit: &mut dyn FnMut(Part)) {
        match self {
            Terminator::Jump(_) | Terminator::Exit => {}
            Terminator::Branch { condition, .. } => condition.parts(Role::Read, visit),
            Terminator::Return(payload) => payload.parts(Role::Read, visit),
            Terminator::Fault(Reason::Assertion(code)) => code.parts(Role::Read, visit),
            Terminator::Fault(Reason::Halt(code)) => code.parts(Role::Read, visit),
            Terminator::Fault(Reason::Type(guard)) => guard.place.parts(Role::Read, visit),
            Terminator::Fault(Reason::NoResult | Reason::Empty) => {}
        }
    }

    /// Puts others in the place of what it names.
    pub fn rename(&mut self, names: &dyn Rename) {
        match self {
            Terminator::Jump(_) | Terminator::Exit => {}
            Terminator::Branch { condition, .. } => condition.rename(names),
            Terminator::Return(payload) => payload.rename(names),
            Terminator::Fault(Reason::Assertion(code)) => code.rename(names),
            Terminator::Fault(Reason::Halt(code)) => code.rename(names),
            Terminator::Fault(Reason::Type(guard)) => {
                guard.place.rename(names);
                guard.component.rename(names);
            }
            Terminator::Fault(Reason::NoResult | Reason::Empty) => {}
        }
    }

    /// Leads elsewhere: to what is given for each block where it has led to that.
    pub fn lead(&mut self, mut to: impl FnMut(BlockId) -> BlockId) {
        match self {
            Terminator::Jump(block) => *block = to(*block),
            Terminator::Branch { then, otherwise, .. } => {
                (*then, *otherwise) = (to(*then), to(*otherwise));
            }
            Terminator::Return(_) | Terminator::Fault(_) | Terminator::Exit => {}
        }
    }

    /// Where it may lead.
    pub fn targets(&self) -> impl Iterator<Item = BlockId> {
        let (first, second) = match *self {
            Terminator::Jump(block) => (Some(block), None),
            Terminator::Branch { then, otherwise, .. } => (Some(then), Some(otherwise)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}
