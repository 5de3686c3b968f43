//! Live ranges are split where loops begin and end.
//!
//! ```text
//!   %n = ...; array-new ...              %n = ...; array-new ...
//!   jump head                            split %n; split %sum; jump head
//! head: ... %sum = %sum + %n  ...      head: ...
//! after: ... delete ...; use %sum      exit: split %sum; jump after
//! ```
//! The register allocator of Cranelift cuts what a call clobbers out of a live range at most twice;
//! then it gives up, and each use anywhere becomes a load, each assignment a store. A register that
//! is live across several calls would so be in memory in the innermost loop, which has none. Split,
//! the part within the loop is a range of its own, which no call touches.
//!
//! Loops whose instructions are all inline are visited, outer ones first; those within them are
//! part of the same range. What checkpoints need, which is in no register, is split with the rest.

use tidemill_stdx::hash::Map;
use tidemill_stdx::id::{IdSet, IdVec};

use crate::ir::graph::{Graph, Loop};
use crate::ir::liveness::Liveness;
use crate::ir::{Block, BlockId, Function, Instruction, Part, Register, Terminator};

/// Calls that the allocator cuts out of a live range without our help.
const CUTS: u32 = 2;

/// A loop without calls.
struct Inline {
    of: Loop,
    /// What is live across calls elsewhere, and read or assigned in the loop.
    used: IdSet<Register>,
}

/// Splits around all loops without calls.
pub(super) fn run(function: &mut Function) {
    let graph = Graph::of(function);
    let loops = inline_loops(function, &graph);
    if loops.is_empty() {
        return;
    }
    let blocks = function.blocks.iter().flat_map(|block| &block.instructions);
    if blocks.filter(|(instruction, _)| !instruction.is_inline()).count() <= CUTS as usize {
        return;
    }
    let liveness = Liveness::of(function);
    let crossing = live_across_calls(function, &liveness);
    let loops: Vec<Inline> =
        loops.into_iter().map(|of| Inline::of(function, of, &crossing)).collect();
    split(function, &liveness, &loops);
}

/// Outermost loops all of whose instructions are inline.
fn inline_loops(function: &Function, graph: &Graph) -> Vec<Loop> {
    let first = graph.order()[0];
    let mut found: Vec<Loop> = Vec::new();
    for one in graph.loops() {
        let is_inline = |id| {
            let block: &Block = &function.blocks[id];
            block.instructions.iter().all(|(instruction, _)| instruction.is_inline())
        };
        let is_within = found.iter().any(|outer| outer.blocks.contains(one.head));
        if one.head != first && !is_within && one.blocks.iter().all(is_inline) {
            found.push(one);
        }
    }
    found
}

/// The registers that are live across more calls than the allocator cuts out.
fn live_across_calls(function: &Function, liveness: &Liveness) -> IdSet<Register> {
    let mut calls: IdVec<Register, u32> = function.registers.iter().map(|_| 0).collect();
    for block in &function.blocks {
        liveness.visit(block, |_, instruction, before, after| {
            if !instruction.is_inline() {
                for register in before.iter().filter(|register| after.contains(*register)) {
                    calls[register] += 1;
                }
            }
        });
    }
    calls.iter_enumerated().filter(|it| *it.1 > CUTS).map(|it| it.0).collect()
}

impl Inline {
    fn of(function: &Function, of: Loop, crossing: &IdSet<Register>) -> Inline {
        let mut used = IdSet::new();
        for block in of.blocks.iter().map(|id| &function.blocks[id]) {
            for (instruction, _) in &block.instructions {
                instruction.parts(&mut |part| note(part, crossing, &mut used));
            }
            block.terminator.0.parts(&mut |part| note(part, crossing, &mut used));
        }
        Inline { of, used }
    }
}

fn note(part: Part, crossing: &IdSet<Register>, used: &mut IdSet<Register>) {
    if let Part::Register(register, _) = part
        && crossing.contains(register)
    {
        used.insert(register);
    }
}

/// Puts a block on every way into and out of the loops.
fn split(function: &mut Function, liveness: &Liveness, loops: &[Inline]) {
    // By the loop that is left, the loop that is entered, and the target.
    let mut made = Map::<(Option<usize>, Option<usize>, BlockId), BlockId>::default();
    let loop_of = |block: BlockId| loops.iter().position(|one| one.of.blocks.contains(block));
    let blocks: Vec<BlockId> = function.blocks.iter_enumerated().map(|it| it.0).collect();
    for from in blocks {
        let mut terminator = function.blocks[from].terminator.0.clone();
        let left = loop_of(from);
        terminator.lead(|target| {
            let entered = loop_of(target);
            if left == entered {
                return target;
            }
            let live = liveness.at_start(target);
            let mut ranges = IdSet::new();
            for one in [left, entered].into_iter().flatten().map(|index| &loops[index]) {
                ranges.extend(one.used.iter().filter(|register| live.contains(*register)));
            }
            *made.entry((left, entered, target)).or_insert_with(|| {
                let (is_rare, span) =
                    (function.blocks[target].is_rare, function.blocks[target].terminator.1);
                let registers = ranges.iter().collect();
                let instructions = vec![(Instruction::Split { registers }, span)];
                let terminator = (Terminator::Jump(target), span);
                function.blocks.push(Block { instructions, terminator, is_rare })
            })
        });
        function.blocks[from].terminator.0 = terminator;
    }
}
