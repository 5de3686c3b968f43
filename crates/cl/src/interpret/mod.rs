//! The interpreter of the IR: what each instruction means, in the plainest way.
//!
//! It runs on the same processes as compiled code, with the same operations of the run-time, and
//! is what the code generator is compared with: the same program prints the same, faults at the
//! same place, and with a seed runs in the same order. Two things differ: how much memory frames
//! take, and speed.
//!
//! Every function has frames, and every register its word in them (`frame`), so that nothing
//! has to be saved when a process is suspended. `step` has the loop; the instructions are in
//! files by what they concern, named as those of the code generator.
//!
//! ```text
//! resume -> next instruction -> Ok                on to the next one
//!                            -> Err(Suspended)    note where; the same again when resumed
//!                            -> Err(Unwinding)    a fault: the run-time cleans the frames
//! ```

use tidemill_diag::{Sources, Span};
use tidemill_proc::program::{Executable, FunctionCode, Program};
use tidemill_stdx::id::IdVec;

use crate::compile::describe::{Descriptors, Ports};
use crate::interpret::frame::Layout;
use crate::interpret::machine::Machine;
use crate::ir::succession::Succession;
use crate::ir::suspending::Suspending;
use crate::ir::{self, FunctionId, Instruction};

mod access;
mod call;
mod component;
mod frame;
mod machine;
mod message;
mod owned;
mod scalar;
mod step;

/// Prepares a program of `files` source files. Without checkpoints a process runs until it waits.
///
/// # Panics
/// The program is not [verified](ir::verify::verify).
pub fn interpret(
    ir: &ir::Program,
    sources: &Sources,
    files: u32,
    has_checkpoints: bool,
) -> Executable {
    let descriptors = Descriptors::of(ir, sources, files);
    let (program, machine) = prepared(ir, descriptors, has_checkpoints);
    access::executable(program, machine)
}

/// Prepares the next version of a program after the one before, which was prepared of what
/// `succession` begins with.
///
/// # Panics
/// As of [`interpret`], or the succession begins with another program.
pub fn interpret_next(
    before: &Executable,
    succession: &Succession,
    (sources, files): (&Sources, u32),
    has_checkpoints: bool,
) -> Executable {
    succession.expect_after(before.components.len(), before.functions.len());
    let ir = &succession.program;
    let descriptors = Descriptors::after(before, ir, sources, files);
    let (program, machine) = prepared(ir, descriptors, has_checkpoints);
    access::executable_after(before, program, machine, &succession.successors_raw())
}

/// Numbers all functions that are not described yet, and describes them.
fn prepared(
    ir: &ir::Program,
    mut descriptors: Descriptors<'_>,
    has_checkpoints: bool,
) -> (Program, Machine) {
    ir::verify::expect_verified(ir);
    let layouts: IdVec<FunctionId, Layout> = ir.functions.iter().map(Layout::of).collect();
    let first = descriptors.known.1;
    for (id, function) in ir.functions.iter_enumerated().skip(first) {
        for block in function.blocks.iter() {
            for (instruction, span) in &block.instructions {
                number(&mut descriptors, instruction, *span);
            }
            descriptors.position(block.terminator.1);
        }
        let described =
            descriptors.function(function, layouts[id].size(), FunctionCode::interpreted());
        descriptors.program.functions.push(described);
    }
    let (program, numbers) = descriptors.finish();
    let machine = Machine {
        ir: ir.clone(),
        layouts,
        ports: ir.components.ids().map(|id| Ports::of(ir, id)).collect(),
        suspending: Suspending::of(ir),
        numbers,
        has_checkpoints,
        first: first as u32,
        before: None,
    };
    (program, machine)
}

/// Gives everything in the instruction its number in the program's lists.
fn number(descriptors: &mut Descriptors, instruction: &Instruction, span: Span) {
    descriptors.position(span);
    match instruction {
        Instruction::ArrayNew { shape, .. } | Instruction::Element { shape, .. } => {
            descriptors.shape(shape);
        }
        Instruction::Has { offered, interfaces, .. } => {
            descriptors.facet(component::facet(*offered, interfaces));
        }
        _ => {}
    }
}
