//! What stays the same in a loop is loaded once before it: views of arrays, and scalars in memory.
//!
//! ```text
//! head: ...                              %v = array-view @0        before the loop
//!   %e = array-element @0 [%i]           %x = load @1
//!   %a = load @1                   head: ...
//!   store @1 %b                            %e = view-element @0 %v [%i]
//!                                          %a = copy %x
//!                                          store @1 %b; %x = copy %b
//! ```
//! Stores stay where they are, so memory is right at every fault, checkpoint and call, and only
//! loading it again is saved. An INTEGER that the loop stores before it loads it begins as 0 and
//! not as what memory has, so that its range is that of the loop. Loading early is safe: variables
//! and locals are always there, and an array that is not allocated has an empty view, whose
//! elements fault as they did.
//!
//! Only loops that suspend at checkpoints alone are visited, outer ones first: in others a round
//! takes so long that nothing is gained, and frames would grow by the kept registers.

use tidemill_stdx::id::IdSet;

use crate::ir::graph::{Graph, Loop};
use crate::ir::memory::{Effects, Memory, is_suspended_at};
use crate::ir::suspending::Suspending;
use crate::ir::{Block, BlockId, Constant, Function, Instruction, Place, Register, Type};
use crate::optimise::preheader;

/// Arrays of several dimensions in a loop whose extents are in registers, too: they are factors of
/// addresses. Those of one dimension are compared where they are.
const EXTENTS_MAX: usize = 4;

/// A function whose loops are visited.
struct Hoist<'a> {
    function: &'a mut Function,
    memory: Memory<'a>,
    graph: Graph,
}

/// An array and its view.
struct Viewed {
    array: Place,
    dimensions: usize,
    view: Register,
    extents: Vec<Register>,
}

/// A scalar in memory and the register that has its value.
struct Scalar {
    place: Place,
    register: Register,
}

/// Arrays with their dimensions, and scalars.
type Candidates = (Vec<(Place, usize)>, Vec<(Place, Type)>);

/// Hoists out of all loops of the function.
pub(super) fn run(function: &mut Function, effects: &Effects, suspending: &Suspending) {
    let graph = Graph::of(function);
    let loops = graph.loops();
    if loops.is_empty() {
        return;
    }
    let memory = Memory::of(function, effects);
    let mut hoist = Hoist { function, memory, graph };
    let first = hoist.graph.order()[0];
    for one in loops {
        if one.head != first && hoist.runs_through(&one, suspending) {
            hoist.out_of(&one);
        }
    }
}

impl Hoist<'_> {
    fn instructions(&self, one: &Loop) -> impl Iterator<Item = &Instruction> {
        let blocks = one.blocks.iter().map(|id| &self.function.blocks[id]);
        blocks.flat_map(|block| block.instructions.iter().map(|(instruction, _)| instruction))
    }

    /// Whether the process is suspended in the loop at checkpoints alone.
    fn runs_through(&self, one: &Loop, suspending: &Suspending) -> bool {
        self.instructions(one).all(|instruction| match instruction {
            Instruction::Call { function, .. } => !suspending.contains(*function),
            other => !is_suspended_at(other),
        })
    }

    fn out_of(&mut self, one: &Loop) {
        let (arrays, scalars) = self.candidates(one);
        if arrays.is_empty() && scalars.is_empty() {
            return;
        }
        let registers = &mut self.function.registers;
        let has_extents = arrays.iter().filter(|it| it.1 > 1).count() <= EXTENTS_MAX;
        let arrays = arrays.into_iter().map(|(array, dimensions)| {
            let view = registers.push(Type::Address);
            let count = if has_extents && dimensions > 1 { dimensions } else { 0 };
            let extents = (0..count).map(|_| registers.push(Type::Integer)).collect();
            Viewed { array, dimensions, view, extents }
        });
        let arrays: Vec<Viewed> = arrays.collect();
        let scalars = scalars.into_iter();
        let scalars: Vec<Scalar> =
            scalars.map(|(place, ty)| Scalar { place, register: registers.push(ty) }).collect();
        self.load_before(one, &arrays, &scalars);
        for block in one.blocks.iter() {
            rewrite(&mut self.function.blocks[block], &arrays, &scalars);
        }
    }

    /// Arrays with their dimensions, and scalars, that nothing in the loop changes, but for stores
    /// to the scalars themselves.
    fn candidates(&self, one: &Loop) -> Candidates {
        let (mut arrays, mut scalars) = (Vec::<(Place, usize)>::new(), Vec::<(Place, Type)>::new());
        for instruction in self.instructions(one) {
            match instruction {
                Instruction::ArrayElement { array, indices, .. }
                    if arrays.iter().all(|known| known.0 != *array) =>
                {
                    arrays.push((*array, indices.len()));
                }
                Instruction::Load { to, from } if scalars.iter().all(|known| known.0 != *from) => {
                    scalars.push((*from, self.function.registers[*to]));
                }
                _ => {}
            }
        }
        arrays.retain(|known| self.memory.is_fixed(known.0));
        scalars.retain(|known| self.memory.is_fixed(known.0));
        for instruction in self.instructions(one) {
            arrays.retain(|known| !self.memory.may_move(instruction, known.0));
            scalars.retain(|known| match instruction {
                Instruction::Store { to, .. } if *to == known.0 => true,
                other => !self.memory.may_change(other, known.0),
            });
        }
        (arrays, scalars)
    }

    /// Loads on every way into the loop.
    fn load_before(&mut self, one: &Loop, arrays: &[Viewed], scalars: &[Scalar]) {
        let span = self.function.blocks[one.head].terminator.1;
        let begins: Vec<Instruction> = scalars.iter().map(|it| self.begin(one, it)).collect();
        let block = preheader::before(self.function, one, span);
        let instructions = &mut self.function.blocks[block].instructions;
        for it in arrays {
            instructions.push((Instruction::ArrayView { to: it.view, array: it.array }, span));
            for (dimension, to) in (0..).zip(&it.extents) {
                let (to, view) = (*to, it.view);
                instructions.push((Instruction::ViewExtent { to, view, dimension }, span));
            }
        }
        instructions.extend(begins.into_iter().map(|begin| (begin, span)));
    }

    /// The first value of a scalar's register.
    fn begin(&self, one: &Loop, &Scalar { place, register }: &Scalar) -> Instruction {
        let is_integer = self.function.registers[register] == Type::Integer;
        if is_integer && !self.is_loaded_first(one, place) {
            Instruction::Constant { to: register, value: Constant::Integer(0) }
        } else {
            Instruction::Load { to: register, from: place }
        }
    }

    /// Whether a way through the loop loads from a place before anything in the loop stores to it.
    fn is_loaded_first(&self, one: &Loop, place: Place) -> bool {
        let mut open = vec![one.head];
        let mut seen = IdSet::<BlockId>::new();
        while let Some(id) = open.pop() {
            if !one.blocks.contains(id) || !seen.insert(id) {
                continue;
            }
            let block = &self.function.blocks[id];
            let touches =
                block.instructions.iter().find_map(|(instruction, _)| match instruction {
                    Instruction::Load { from, .. } if *from == place => Some(true),
                    Instruction::Store { to, .. } if *to == place => Some(false),
                    _ => None,
                });
            match touches {
                Some(true) => return true,
                Some(false) => {}
                None => open.extend(block.terminator.0.targets()),
            }
        }
        false
    }
}

fn rewrite(block: &mut Block, arrays: &[Viewed], scalars: &[Scalar]) {
    let mut rewritten = Vec::with_capacity(block.instructions.len());
    for (instruction, span) in block.instructions.drain(..) {
        let instruction = match instruction {
            Instruction::ArrayElement { to, array, indices } => {
                match arrays.iter().find(|it| it.array == array) {
                    Some(it) if it.dimensions == indices.len() => {
                        let (view, extents) = (it.view, it.extents.clone());
                        Instruction::ViewElement {
                            to,
                            array,
                            view,
                            extents,
                            indices,
                            checked: true,
                        }
                    }
                    _ => Instruction::ArrayElement { to, array, indices },
                }
            }
            Instruction::Load { to, from } => match scalars.iter().find(|it| it.place == from) {
                Some(it) => Instruction::Copy { to, from: it.register },
                None => Instruction::Load { to, from },
            },
            Instruction::Store { to, from } => {
                rewritten.push((Instruction::Store { to, from }, span));
                match scalars.iter().find(|it| it.place == to) {
                    Some(it) => Instruction::Copy { to: it.register, from },
                    None => continue,
                }
            }
            other => other,
        };
        rewritten.push((instruction, span));
    }
    block.instructions = rewritten;
}
