//! Which functions have frames, and where in them everything is.
//!
//! ```text
//! 0   header of the run-time: parent, code, resume point, function, result
//! 32  a word for each local
//!     kept words: parameters in registers when the function starts; then, at each suspension,
//!     the registers that are needed after it, side by side
//! ```
//! Views of arrays are not kept: they are taken anew.
//!
//! A function without suspension is *native*: an ordinary function with its locals on the native
//! stack, its arguments in machine registers. So is, until it is suspended, one that only pauses
//! ([`lazy`](super::lazy)).

use tidemill_proc::layout::FRAME_HEADER;
use tidemill_stdx::id::{Id, IdMap, IdSet, IdVec};

use crate::ir::constant::constants;
use crate::ir::liveness::Liveness;
use crate::ir::suspending::Suspending;
use crate::ir::{
    BlockId, Constant, Function, Instruction, LocalId, Parameter, Part, Place, Register, Role,
};

/// Where in its frame a function has what.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    locals: u32,
    /// The registers live after each suspending instruction, by block and index.
    kept: IdVec<BlockId, Vec<(usize, Vec<Register>)>>,
    kept_max: u32,
    constants: IdMap<Register, Constant>,
    views: IdMap<Register, Viewed>,
    spans: IdVec<Register, Option<Span>>,
}

/// The first and the last block, by number, where a register is used or needed later.
pub(crate) type Span = (BlockId, BlockId);

/// The view or extent of an array in a register, which is read again instead of kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Viewed {
    /// A local or variable.
    pub(crate) array: Place,
    /// An extent; else it is the view.
    pub(crate) dimension: Option<u8>,
}

impl Frame {
    pub(crate) fn of(function: &Function, suspending: &Suspending) -> Frame {
        let (liveness, constants) = (Liveness::of(function), constants(function));
        let views = views(function);
        let parameters = function
            .parameters
            .iter()
            .filter(|parameter| matches!(parameter, Parameter::Register(_)))
            .count();
        let mut kept_max = parameters;
        let kept = function
            .blocks
            .iter()
            .map(|block| {
                let mut points = Vec::new();
                liveness.visit(block, |index, instruction, before, after| {
                    if instruction.suspends(|callee| suspending.contains(callee)) {
                        let mut registers = needed(instruction, before, after);
                        registers.retain(|register| !constants.contains(*register));
                        let is_kept = |register: &&Register| !views.contains(**register);
                        kept_max = kept_max.max(registers.iter().filter(is_kept).count());
                        points.push((index, registers));
                    }
                });
                points
            })
            .collect();
        let (locals, kept_max) = (function.locals.len() as u32, kept_max as u32);
        Frame { locals, kept, kept_max, constants, views, spans: spans(function, &liveness) }
    }

    /// Bytes from the start of the frame.
    pub(crate) fn local(local: LocalId) -> i32 {
        FRAME_HEADER + 8 * local.index() as i32
    }

    /// Bytes from the start of the frame of a kept word.
    pub(crate) fn word(&self, index: usize) -> i32 {
        FRAME_HEADER + 8 * (self.locals as i32 + index as i32)
    }

    /// Bytes in all.
    pub(crate) fn size(&self) -> u32 {
        FRAME_HEADER as u32 + 8 * (self.locals + self.kept_max)
    }

    /// Registers that are nothing but a constant, and so are not kept.
    pub(crate) fn constants(&self) -> &IdMap<Register, Constant> {
        &self.constants
    }

    /// Bytes of its locals.
    pub(crate) fn locals(&self) -> i32 {
        8 * self.locals as i32
    }

    /// The registers kept at a suspending instruction, in the order of the words.
    pub(crate) fn kept(&self, block: BlockId, index: usize) -> Vec<Register> {
        let needed = self.needed(block, index).iter().copied();
        needed.filter(|register| !self.views.contains(*register)).collect()
    }

    /// The registers read again from arrays after a suspending instruction.
    pub(crate) fn viewed(&self, block: BlockId, index: usize) -> Vec<(Register, Viewed)> {
        let needed = self.needed(block, index).iter();
        needed.filter_map(|it| Some((*it, *self.views.get(*it)?))).collect()
    }

    fn needed(&self, block: BlockId, index: usize) -> &[Register] {
        let points = &self.kept[block];
        // The last instruction is the first entry.
        let found = points.binary_search_by(|point| index.cmp(&point.0));
        found.map_or(&[], |place| &points[place].1)
    }

    /// Where a register is needed; nowhere is it where it has none.
    pub(crate) fn span(&self, register: Register) -> Option<Span> {
        self.spans[register]
    }

    /// The registers live after any suspension, constants excepted.
    pub(crate) fn all_needed(&self) -> impl Iterator<Item = Register> {
        self.kept.iter().flatten().flat_map(|point| point.1.iter().copied())
    }
}

fn spans(function: &Function, liveness: &Liveness) -> IdVec<Register, Option<Span>> {
    let mut spans: IdVec<Register, Option<Span>> =
        function.registers.iter().map(|_| None).collect();
    let mut extend = |register: Register, block: BlockId| {
        let (first, last) = spans[register].unwrap_or((block, block));
        spans[register] = Some((first.min(block), last.max(block)));
    };
    for parameter in &function.parameters {
        if let Parameter::Register(register) = parameter {
            extend(*register, BlockId::new(0));
        }
    }
    for (id, block) in function.blocks.iter_enumerated() {
        liveness.at_start(id).iter().for_each(|register| extend(register, id));
        let mut note = |part| {
            if let Part::Register(register, _) = part {
                extend(register, id);
            }
        };
        block.instructions.iter().for_each(|(instruction, _)| instruction.parts(&mut note));
        block.terminator.0.parts(&mut note);
    }
    spans
}

/// Views of locals and variables, and their extents: registers that are nothing else.
fn views(function: &Function) -> IdMap<Register, Viewed> {
    let mut views = IdMap::new();
    let mut others = IdSet::<Register>::default();
    for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
        let viewed = match *instruction {
            Instruction::ArrayView {
                to,
                array: array @ (Place::Local(_) | Place::Variable(_)),
            } => Some((to, Viewed { array, dimension: None })),
            Instruction::ViewExtent { to, view, dimension } => {
                let of = views.get(view).copied();
                let of = of.filter(|of: &Viewed| of.dimension.is_none());
                of.map(|of| (to, Viewed { dimension: Some(dimension), ..of }))
            }
            _ => None,
        };
        match viewed {
            Some((to, viewed)) if views.get(to).is_none_or(|known| *known == viewed) => {
                views.insert(to, viewed);
            }
            _ => instruction.assigned(|register| _ = others.insert(register)),
        }
    }
    others.iter().for_each(|register| _ = views.remove(register));
    views
}

/// A suspended instruction is repeated, so it needs what it reads; a call is not.
fn needed(
    instruction: &Instruction,
    before: &IdSet<Register>,
    after: &IdSet<Register>,
) -> Vec<Register> {
    let mut needed = match instruction {
        Instruction::Call { .. } | Instruction::Checkpoint => after.clone(),
        _ => before.clone(),
    };
    if matches!(instruction, Instruction::Call { .. }) {
        instruction.parts(&mut |part| {
            if let Part::Register(register, Role::Write) = part {
                needed.remove(register);
            }
        });
    }
    needed.iter().collect()
}
