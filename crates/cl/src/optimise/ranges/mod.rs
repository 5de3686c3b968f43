//! Sums, differences and products that fit INTEGER need no check: an analysis of intervals.
//!
//! The range of each INTEGER register is followed forward through the function: from constants,
//! from what has been checked before (an index within an array is from 0 and below 2^56, as are
//! extents, and a sum that has been made fits), and from the conditions of branches: where `i < n`
//! holds, `i + 1` fits. Heads of loops are widened and then narrowed (Cousot and Cousot, *Abstract
//! Interpretation*). Registers belong to the process, so no suspension changes one.
//!
//! Bounds that are other registers or extents are tracked beside the ranges: `j` of a loop to
//! `n - 1` is at most `n - 1`, and an index that has passed a test is below the extent. So a second
//! access at the same place, or at one below it, needs no test; and what
//! [`version`](super::version) can test before a loop is collected for it.

use tidemill_stdx::hash::Map;
use tidemill_stdx::id::{IdSet, IdVec};

pub(super) mod bound;
mod range;
mod state;

use bound::{Bound, Limit};
use range::{ELEMENTS_MAX, Range, arithmetic};
use state::Facts;

use crate::ir::graph::Graph;
use crate::ir::liveness::Liveness;
use crate::ir::{
    Binary, BlockId, Constant, Conversion, Function, Instruction, Register, Terminator, Type, Unary,
};

/// Functions of more blocks are left as they are.
const BLOCKS_MAX: usize = 4000;

/// Visits of a loop's head before its ranges are widened.
const ROUNDS: usize = 2;

/// Rounds after which a function is given up: its loops have ways in past their heads.
const ROUNDS_MAX: usize = 50;

/// The usual limit of arrays: a bound above it is no better than that of any INTEGER.
const NEAR: i64 = 1 << 31;

/// Two registers that have been compared.
#[derive(Debug, Clone, Copy)]
struct Comparison {
    operator: Binary,
    a: Register,
    b: Register,
}

struct Analysis<'a> {
    function: &'a Function,
    liveness: Liveness,
    /// Arrays of one dimension: their extents are their counts of elements.
    vectors: IdSet<Register>,
    /// By the head of a loop: what is assigned in it.
    assigned: Map<BlockId, IdSet<Register>>,
    entries: IdVec<BlockId, Option<Facts>>,
}

/// An element of a view whose place in the array could be tested earlier.
#[derive(Debug, Clone)]
pub(super) struct Tested {
    /// Its instruction.
    pub(super) at: (BlockId, usize),
    /// By dimension: what the index, which is not below 0, is known to be at most.
    pub(super) most: Vec<Most>,
}

/// Upper bounds of a number.
#[derive(Debug, Clone)]
pub(super) struct Most {
    pub(super) number: Option<i64>,
    pub(super) bounds: Vec<Bound>,
}

/// Takes the checks out of what fits, and gives the elements that are still tested.
pub(super) fn run(function: &mut Function) -> Vec<Tested> {
    if !has_checks(function) || function.blocks.len() > BLOCKS_MAX {
        return Vec::new();
    }
    let (mut found, mut tested) = (Vec::new(), Vec::new());
    {
        let graph = Graph::of(function);
        let mut analysis = Analysis::of(function, &graph);
        if !analysis.solve(&graph) {
            return Vec::new();
        }
        for (id, block) in function.blocks.iter_enumerated() {
            let Some(mut state) = analysis.entries[id].clone() else { continue };
            for (index, (instruction, _)) in block.instructions.iter().enumerate() {
                let at = (id, index);
                match analysis.unchecked(&state, instruction) {
                    Some(unchecked) => found.push((at, unchecked)),
                    None => {
                        tested.extend(most(&state, instruction).map(|it| Tested { at, most: it }))
                    }
                }
                analysis.pass(&mut state, instruction);
            }
        }
    }
    for ((block, index), unchecked) in found {
        function.blocks[block].instructions[index].0 = unchecked;
    }
    tested
}

fn has_checks(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|(instruction, _)| match instruction {
        Instruction::Binary { operator, .. } => unchecked(*operator).is_some(),
        Instruction::ViewElement { .. } => true,
        _ => false,
    })
}

/// The operator without its check.
fn unchecked(operator: Binary) -> Option<Binary> {
    Some(match operator {
        Binary::Add => Binary::AddUnchecked,
        Binary::Subtract => Binary::SubtractUnchecked,
        Binary::Multiply => Binary::MultiplyUnchecked,
        Binary::Divide => Binary::DivideUnchecked,
        _ => return None,
    })
}

/// Upper bounds of the indices of an element, if none is below 0.
fn most(state: &Facts, instruction: &Instruction) -> Option<Vec<Most>> {
    let Instruction::ViewElement { indices, checked: true, .. } = instruction else { return None };
    let most = |index: &Register| {
        let Range { low: 0.., high } = state.range(*index) else { return None };
        let number = (high <= NEAR).then_some(high);
        Some(Most { number, bounds: state.bounds(*index) })
    };
    indices.iter().map(most).collect()
}

impl<'a> Analysis<'a> {
    fn of(function: &'a Function, graph: &Graph) -> Analysis<'a> {
        let mut vectors = IdSet::new();
        for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
            if let Instruction::ViewElement { view, indices, .. } = instruction
                && indices.len() == 1
            {
                vectors.insert(*view);
            }
        }
        let mut assigned = Map::default();
        for one in graph.loops() {
            let mut all = IdSet::new();
            for (instruction, _) in
                one.blocks.iter().flat_map(|id| &function.blocks[id].instructions)
            {
                instruction.assigned(|register| _ = all.insert(register));
            }
            assigned.insert(one.head, all);
        }
        let entries = function.blocks.iter().map(|_| None).collect();
        Analysis { function, liveness: Liveness::of(function), vectors, assigned, entries }
    }

    /// Whether ranges are known at the end.
    fn solve(&mut self, graph: &Graph) -> bool {
        let order = graph.order().to_vec();
        let Some(&first) = order.first() else { return false };
        self.entries[first] = Some(Facts::default());
        let mut changed = true;
        let mut round = 0;
        while changed {
            changed = false;
            for &block in order.iter().filter(|block| **block != first) {
                let Some(mut entry) = self.entry(graph, block) else { continue };
                if let Some(before) = &self.entries[block] {
                    if round >= ROUNDS && self.assigned.contains_key(&block) {
                        entry.widen(before);
                    }
                    if entry == *before {
                        continue;
                    }
                }
                self.entries[block] = Some(entry);
                changed = true;
            }
            round += 1;
            if round > ROUNDS_MAX {
                return false;
            }
        }
        // What holds stays true when it is derived again from itself, and becomes narrower.
        for _ in 0..2 {
            for &block in order.iter().filter(|block| **block != first) {
                self.entries[block] = self.entry(graph, block);
            }
        }
        true
    }

    /// The state at the start of a block, from those at the ends of its predecessors. What a loop
    /// does not assign has at its head the value from before it.
    fn entry(&self, graph: &Graph, block: BlockId) -> Option<Facts> {
        let (mut entry, mut outside) = (None, None);
        for &before in graph.predecessors(block) {
            let Some(mut state) = self.end(before, block) else { continue };
            state.retain(self.liveness.at_start(block));
            if !graph.dominates(block, before) {
                outside = Some(joined(outside, &state));
            }
            entry = Some(joined(entry, &state));
        }
        if let (Some(assigned), Some(outside), Some(entry)) =
            (self.assigned.get(&block), outside, &mut entry)
        {
            entry.restore(outside, assigned);
        }
        entry
    }

    /// What holds on the way from one block to another; none if that is never taken.
    fn end(&self, block: BlockId, target: BlockId) -> Option<Facts> {
        let mut state = self.entries[block].clone()?;
        let instructions = &self.function.blocks[block].instructions;
        for (instruction, _) in instructions {
            self.pass(&mut state, instruction);
        }
        let Terminator::Branch { condition, then, otherwise } =
            self.function.blocks[block].terminator.0
        else {
            return Some(state);
        };
        if then == otherwise {
            return Some(state);
        }
        if let Some(comparison) = compared(instructions, condition) {
            let operator =
                if target == then { comparison.operator } else { opposite(comparison.operator)? };
            self.assume(&mut state, Comparison { operator, ..comparison })?;
        }
        Some(state)
    }

    fn is_integer(&self, register: Register) -> bool {
        self.function.registers[register] == Type::Integer
    }

    fn assume(&self, state: &mut Facts, comparison: Comparison) -> Option<()> {
        let Comparison { operator, a, b } = comparison;
        if !self.is_integer(a) || a == b {
            return Some(());
        }
        let (x, y) = (state.range(a), state.range(b));
        let below = |high: i64| Range { low: i64::MIN, high };
        let above = |low: i64| Range { low, high: i64::MAX };
        let all = Range::ALL;
        let (for_a, for_b) = match operator {
            Binary::Less => (below(y.high.checked_sub(1)?), above(x.low.checked_add(1)?)),
            Binary::LessEqual => (below(y.high), above(x.low)),
            Binary::Greater => (above(y.low.checked_add(1)?), below(x.high.checked_sub(1)?)),
            Binary::GreaterEqual => (above(y.low), below(x.high)),
            Binary::Equal => (y, x),
            _ => (all, all),
        };
        state.set_range(a, x.intersection(for_a)?);
        state.set_range(b, y.intersection(for_b)?);
        match operator {
            Binary::Less => bound(state, a, b, -1),
            Binary::LessEqual => bound(state, a, b, 0),
            Binary::Greater => bound(state, b, a, -1),
            Binary::GreaterEqual => bound(state, b, a, 0),
            Binary::Equal => {
                bound(state, a, b, 0);
                bound(state, b, a, 0);
            }
            _ => {}
        }
        Some(())
    }

    /// The instruction without check, if it needs none.
    fn unchecked(&self, state: &Facts, instruction: &Instruction) -> Option<Instruction> {
        match instruction {
            Instruction::Binary { to, operator, a, b } => {
                let (x, y) = (state.range(*a), state.range(*b));
                let fits = match operator {
                    Binary::Divide => y.low > 0 || y.high < 0,
                    _ => self.is_integer(*a) && arithmetic(*operator, x, y).1,
                };
                let operator = unchecked(*operator).filter(|_| fits)?;
                Some(Instruction::Binary { to: *to, operator, a: *a, b: *b })
            }
            Instruction::ViewElement { to, array, view, extents, indices, checked: true } => {
                let mut all = (0..).zip(indices);
                let is_inside = all.all(|(dimension, index)| {
                    state.range(*index).low >= 0 && state.is_below(*index, *view, dimension)
                });
                is_inside.then(|| Instruction::ViewElement {
                    to: *to,
                    array: *array,
                    view: *view,
                    extents: extents.clone(),
                    indices: indices.clone(),
                    checked: false,
                })
            }
            _ => None,
        }
    }

    /// Continues after the instruction.
    fn pass(&self, state: &mut Facts, instruction: &Instruction) {
        let result = match instruction {
            Instruction::Constant { value: Constant::Integer(value), .. } => Range::of(*value),
            Instruction::Copy { from, .. } => state.range(*from),
            Instruction::Binary { operator, a, b, .. } if self.is_integer(*a) => {
                arithmetic(*operator, state.range(*a), state.range(*b)).0
            }
            Instruction::Unary { operator: Unary::Negate, a, .. } if self.is_integer(*a) => {
                arithmetic(Binary::Subtract, Range::of(0), state.range(*a)).0
            }
            Instruction::Convert { conversion, a, .. } => match conversion {
                Conversion::CharacterToInteger => Range { low: 0, high: 255 },
                Conversion::BooleanToInteger => Range { low: 0, high: 1 },
                Conversion::IntegerToReal => state.range(*a),
                _ => Range::ALL,
            },
            Instruction::TextLength { .. } => Range { low: 0, high: i64::from(u32::MAX) },
            Instruction::ViewExtent { view, .. } if self.vectors.contains(*view) => {
                Range { low: 0, high: ELEMENTS_MAX }
            }
            Instruction::ArrayLength { .. } | Instruction::ViewExtent { .. } => {
                Range { low: 0, high: i64::MAX }
            }
            _ => Range::ALL,
        };
        let bounds = bounds_of_result(state, instruction);
        match instruction {
            Instruction::ArrayElement { indices, .. } => {
                indices.iter().for_each(|index| state.within(*index, Range::INDEX));
            }
            Instruction::ViewElement { view, indices, .. } => {
                for (dimension, index) in (0..).zip(indices) {
                    state.within(*index, Range::INDEX);
                    let limit = Limit::Extent(*view, dimension);
                    state.bound(*index, Bound { limit, by: -1 });
                }
            }
            Instruction::ArrayNew { extents, .. } => {
                let high = if extents.len() == 1 { ELEMENTS_MAX } else { i64::MAX };
                extents.iter().for_each(|extent| state.within(*extent, Range { low: 0, high }));
            }
            _ => {}
        }
        instruction.assigned(|register| {
            state.forget(register);
            state.set_range(register, result);
            bounds.iter().for_each(|it| state.bound(register, *it));
        });
    }
}

/// `a <= b + by`.
fn bound(state: &mut Facts, a: Register, b: Register, by: i64) {
    for it in state.bounds(b).into_iter().filter_map(|it| it.raised(by)) {
        state.bound(a, it);
    }
}

/// Upper bounds of the one result of the instruction, in the state before it.
fn bounds_of_result(state: &Facts, instruction: &Instruction) -> Vec<Bound> {
    let raised = |register: Register, by: i64| -> Vec<Bound> {
        state.bounds(register).into_iter().filter_map(|it| it.raised(by)).collect()
    };
    match *instruction {
        Instruction::Copy { from, .. } => state.bounds(from),
        Instruction::Binary { operator, a, b, .. } => match operator {
            Binary::Add | Binary::AddUnchecked => {
                let mut bounds = raised(a, state.range(b).high);
                bounds.extend(raised(b, state.range(a).high));
                bounds
            }
            Binary::Subtract | Binary::SubtractUnchecked => {
                state.range(b).low.checked_neg().map_or_else(Vec::new, |by| raised(a, by))
            }
            Binary::Div if state.range(a).low >= 0 && state.range(b).low > 0 => state.bounds(a),
            Binary::Mod if state.range(b).low > 0 => raised(b, -1),
            _ => Vec::new(),
        },
        Instruction::ViewExtent { view, dimension, .. } => {
            vec![Bound { limit: Limit::Extent(view, dimension), by: 0 }]
        }
        _ => Vec::new(),
    }
}

/// What holds where either does.
fn joined(all: Option<Facts>, state: &Facts) -> Facts {
    match all {
        Some(mut all) => {
            all.join(state);
            all
        }
        None => state.clone(),
    }
}

/// The comparison whose result a register has at the end of a block.
fn compared(
    instructions: &[(Instruction, tidemill_diag::Span)],
    condition: Register,
) -> Option<Comparison> {
    let mut after = IdSet::<Register>::new();
    for (instruction, _) in instructions.iter().rev() {
        let mut is = false;
        instruction.assigned(|register| is |= register == condition);
        if is {
            let Instruction::Binary { operator, a, b, .. } = *instruction else { return None };
            opposite(operator)?;
            let is_same = !after.contains(a) && !after.contains(b);
            return is_same.then_some(Comparison { operator, a, b });
        }
        instruction.assigned(|register| _ = after.insert(register));
    }
    None
}

fn opposite(operator: Binary) -> Option<Binary> {
    Some(match operator {
        Binary::Equal => Binary::NotEqual,
        Binary::NotEqual => Binary::Equal,
        Binary::Less => Binary::GreaterEqual,
        Binary::LessEqual => Binary::Greater,
        Binary::Greater => Binary::LessEqual,
        Binary::GreaterEqual => Binary::Less,
        _ => return None,
    })
}
