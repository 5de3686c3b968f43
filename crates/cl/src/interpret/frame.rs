//! Where the interpreter keeps what belongs to a call.
//!
//! ```text
//! 0   header of the run-time: parent, code, resume point, function, result
//! 32  a word for each local, as in compiled code
//!     a word for each register
//!     block and instruction to resume at
//!     words in a row, for operations that take many: messages, keys, indices
//! ```

use tidemill_proc::layout::FRAME_HEADER;
use tidemill_stdx::id::Id;

use crate::compile::frame::Frame;
use crate::ir::{Function, Instruction, LocalId, Parameter, Register};

/// Byte offsets in the frames of one function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    locals: u32,
    registers: u32,
    row: u32,
}

impl Layout {
    pub(super) fn of(function: &Function) -> Layout {
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        let row = instructions.map(|(instruction, _)| words_in_a_row(instruction)).max();
        Layout {
            locals: function.locals.len() as u32,
            registers: function.registers.len() as u32,
            row: row.unwrap_or(0) as u32,
        }
    }

    pub(super) fn local(local: LocalId) -> u32 {
        Frame::local(local) as u32
    }

    pub(super) fn register(self, register: Register) -> u32 {
        self.word(register.index() as u32)
    }

    /// The block to resume at; the instruction's index follows.
    pub(super) fn block(self) -> u32 {
        self.word(self.registers)
    }

    pub(super) fn index(self) -> u32 {
        self.word(self.registers + 1)
    }

    pub(super) fn row(self, index: usize) -> u32 {
        self.word(self.registers + 2 + index as u32)
    }

    /// Where an argument goes.
    pub(super) fn parameter(self, parameter: Parameter) -> u32 {
        match parameter {
            Parameter::Register(register) => self.register(register),
            Parameter::Local(local) => Layout::local(local),
        }
    }

    pub(super) fn size(self) -> u32 {
        self.row(self.row as usize)
    }

    fn word(self, index: u32) -> u32 {
        FRAME_HEADER as u32 + 8 * (self.locals + index)
    }
}

fn words_in_a_row(instruction: &Instruction) -> usize {
    match instruction {
        Instruction::Send { payload: parts, .. } | Instruction::Receive { into: parts, .. } => {
            parts.len()
        }
        Instruction::ArrayNew { extents: registers, .. }
        | Instruction::ArrayElement { indices: registers, .. }
        | Instruction::ViewElement { indices: registers, .. } => registers.len(),
        Instruction::Element { keys, .. }
        | Instruction::ElementExists { keys, .. }
        | Instruction::ElementDelete { keys, .. }
        | Instruction::FirstKey { keys, .. }
        | Instruction::NextKey { keys, .. } => keys.len(),
        _ => 0,
    }
}
