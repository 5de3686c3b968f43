//! Sums, differences and products that fit INTEGER need no check: an analysis of intervals.
//!
//! The range of each INTEGER register is followed forward through the function: from constants,
//! from what has been checked before (an index within an array is from 0 and below 2^56, as are
//! extents, and a sum that has been made fits), and from the conditions of branches: where `i < n`
//! holds, `i + 1` fits. Heads of loops are widened and then narrowed (Cousot and Cousot, *Abstract
//! Interpretation*). Registers belong to the process, so no suspension changes one.

use tidemill_stdx::hash::Map;
use tidemill_stdx::id::{IdSet, IdVec};

use crate::ir::graph::Graph;
use crate::ir::liveness::Liveness;
use crate::ir::{
    Binary, BlockId, Constant, Conversion, Function, Instruction, Register, Terminator, Type, Unary,
};

/// Functions of more blocks are left as they are.
const BLOCKS_MAX: usize = 4000;

/// Times that a loop's head is looked at before its ranges are widened.
const ROUNDS: usize = 2;

/// Rounds after which nothing is said about a function: its loops have ways in past their heads.
const ROUNDS_MAX: usize = 50;

/// The most elements of an array: the run-time makes none with more.
const ELEMENTS_MAX: i64 = (1 << 56) - 1;

/// The numbers from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    low: i64,
    high: i64,
}

/// Every INTEGER.
const ALL: Range = Range { low: i64::MIN, high: i64::MAX };
/// What an element's index can be.
const INDEX: Range = Range { low: 0, high: ELEMENTS_MAX - 1 };

impl Range {
    fn of(value: i64) -> Range {
        Range { low: value, high: value }
    }

    fn union(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// None if they share nothing.
    fn intersection(self, other: Range) -> Option<Range> {
        let both = Range { low: self.low.max(other.low), high: self.high.min(other.high) };
        (both.low <= both.high).then_some(both)
    }

    /// The results of an operator on the ends of two ranges, which are those of all between them,
    /// and whether all fit.
    fn ends(self, other: Range, operator: impl Fn(i128, i128) -> i128) -> (Range, bool) {
        let pairs = [
            (self.low, other.low),
            (self.low, other.high),
            (self.high, other.low),
            (self.high, other.high),
        ];
        let results = pairs.map(|(a, b)| operator(i128::from(a), i128::from(b)));
        let (low, high) = results.iter().fold((i128::MAX, i128::MIN), |(low, high), &result| {
            (low.min(result), high.max(result))
        });
        let fit = |value: i128| {
            i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
        };
        let fits = low >= i128::from(i64::MIN) && high <= i128::from(i64::MAX);
        (Range { low: fit(low), high: fit(high) }, fits)
    }

    /// What has grown goes on to the end, or to a bound that many things have.
    fn widened(self, before: Range) -> Range {
        let low = match self.low {
            low if low >= before.low => low,
            0.. => 0,
            _ => i64::MIN,
        };
        Range { low, high: if self.high > before.high { i64::MAX } else { self.high } }
    }
}

/// The ranges of registers at a place; those that are missing may be any number.
type State = Map<Register, Range>;

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
    entries: IdVec<BlockId, Option<State>>,
}

/// Takes the checks out of what fits.
pub(super) fn run(function: &mut Function) {
    let has_arithmetic =
        function.blocks.iter().flat_map(|block| &block.instructions).any(|(instruction, _)| {
            matches!(
                instruction,
                Instruction::Binary {
                    operator: Binary::Add | Binary::Subtract | Binary::Multiply,
                    ..
                }
            )
        });
    if !has_arithmetic || function.blocks.len() > BLOCKS_MAX {
        return;
    }
    let mut found = Vec::new();
    {
        let graph = Graph::of(function);
        let mut analysis = Analysis::of(function, &graph);
        if !analysis.solve(&graph) {
            return;
        }
        for (id, block) in function.blocks.iter_enumerated() {
            let Some(mut state) = analysis.entries[id].clone() else { continue };
            for (index, (instruction, _)) in block.instructions.iter().enumerate() {
                if let Some(unchecked) = analysis.unchecked(&state, instruction) {
                    found.push((id, index, unchecked));
                }
                analysis.pass(&mut state, instruction);
            }
        }
    }
    for (block, index, unchecked) in found {
        if let (Instruction::Binary { operator, .. }, _) =
            &mut function.blocks[block].instructions[index]
        {
            *operator = unchecked;
        }
    }
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
        self.entries[first] = Some(State::default());
        let mut changed = true;
        let mut round = 0;
        while changed {
            changed = false;
            for &block in order.iter().filter(|block| **block != first) {
                let Some(mut entry) = self.entry(graph, block) else { continue };
                if let Some(before) = &self.entries[block] {
                    if round >= ROUNDS && self.assigned.contains_key(&block) {
                        entry = widened(&entry, before);
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

    /// What holds at the start of a block, by what holds now at the end of those before it. What a
    /// loop does not assign is at its head what it was before it.
    fn entry(&self, graph: &Graph, block: BlockId) -> Option<State> {
        let (mut entry, mut outside) = (None, None);
        for &before in graph.predecessors(block) {
            let Some(mut state) = self.end(before, block) else { continue };
            state.retain(|register, _| self.liveness.at_start(block).contains(*register));
            if !graph.dominates(block, before) {
                outside = Some(joined(outside, &state));
            }
            entry = Some(joined(entry, &state));
        }
        if let (Some(assigned), Some(outside), Some(entry)) =
            (self.assigned.get(&block), outside, &mut entry)
        {
            entry.retain(|register, _| assigned.contains(*register));
            let unchanged = outside.iter().filter(|it| !assigned.contains(*it.0));
            entry.extend(unchanged.map(|(register, range)| (*register, *range)));
        }
        entry
    }

    /// What holds on the way from one block to another; none if that is never taken.
    fn end(&self, block: BlockId, target: BlockId) -> Option<State> {
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
            let operator = match target == then {
                true => comparison.operator,
                false => opposite(comparison.operator)?,
            };
            self.assume(&mut state, Comparison { operator, ..comparison })?;
        }
        Some(state)
    }

    fn is_integer(&self, register: Register) -> bool {
        self.function.registers[register] == Type::Integer
    }

    fn assume(&self, state: &mut State, comparison: Comparison) -> Option<()> {
        let Comparison { operator, a, b } = comparison;
        if !self.is_integer(a) || a == b {
            return Some(());
        }
        let (x, y) = (range(state, a), range(state, b));
        let below = |high: i64| Range { low: i64::MIN, high };
        let above = |low: i64| Range { low, high: i64::MAX };
        let (for_a, for_b) = match operator {
            Binary::Less => (below(y.high.checked_sub(1)?), above(x.low.checked_add(1)?)),
            Binary::LessEqual => (below(y.high), above(x.low)),
            Binary::Greater => (above(y.low.checked_add(1)?), below(x.high.checked_sub(1)?)),
            Binary::GreaterEqual => (above(y.low), below(x.high)),
            Binary::Equal => (y, x),
            _ => (ALL, ALL),
        };
        set(state, a, x.intersection(for_a)?);
        set(state, b, y.intersection(for_b)?);
        Some(())
    }

    /// The operator without check, if the result fits.
    fn unchecked(&self, state: &State, instruction: &Instruction) -> Option<Binary> {
        let Instruction::Binary { operator, a, b, .. } = instruction else { return None };
        let unchecked = match operator {
            Binary::Add => Binary::AddUnchecked,
            Binary::Subtract => Binary::SubtractUnchecked,
            Binary::Multiply => Binary::MultiplyUnchecked,
            _ => return None,
        };
        let fits =
            self.is_integer(*a) && arithmetic(*operator, range(state, *a), range(state, *b)).1;
        fits.then_some(unchecked)
    }

    /// Goes on behind the instruction.
    fn pass(&self, state: &mut State, instruction: &Instruction) {
        let result = match instruction {
            Instruction::Constant { value: Constant::Integer(value), .. } => Range::of(*value),
            Instruction::Copy { from, .. } => range(state, *from),
            Instruction::Binary { operator, a, b, .. } if self.is_integer(*a) => {
                arithmetic(*operator, range(state, *a), range(state, *b)).0
            }
            Instruction::Unary { operator: Unary::Negate, a, .. } if self.is_integer(*a) => {
                arithmetic(Binary::Subtract, Range::of(0), range(state, *a)).0
            }
            Instruction::Convert { conversion, .. } => match conversion {
                Conversion::CharacterToInteger => Range { low: 0, high: 255 },
                Conversion::BooleanToInteger => Range { low: 0, high: 1 },
                _ => ALL,
            },
            Instruction::TextLength { .. } => Range { low: 0, high: i64::from(u32::MAX) },
            Instruction::ViewExtent { view, .. } if self.vectors.contains(*view) => {
                Range { low: 0, high: ELEMENTS_MAX }
            }
            Instruction::ArrayLength { .. } | Instruction::ViewExtent { .. } => {
                Range { low: 0, high: i64::MAX }
            }
            _ => ALL,
        };
        match instruction {
            Instruction::ArrayElement { indices, .. }
            | Instruction::ViewElement { indices, .. } => {
                indices.iter().for_each(|index| within(state, *index, INDEX));
            }
            Instruction::ArrayNew { extents, .. } => {
                let high = if extents.len() == 1 { ELEMENTS_MAX } else { i64::MAX };
                extents.iter().for_each(|extent| within(state, *extent, Range { low: 0, high }));
            }
            _ => {}
        }
        instruction.assigned(|register| match self.is_integer(register) {
            true => set(state, register, result),
            false => _ = state.remove(&register),
        });
    }
}

/// A value that has just been found to be in a range.
fn within(state: &mut State, register: Register, bounds: Range) {
    // Where it never is, nothing comes after.
    let both = range(state, register).intersection(bounds).unwrap_or(bounds);
    set(state, register, both);
}

fn range(state: &State, register: Register) -> Range {
    state.get(&register).copied().unwrap_or(ALL)
}

fn set(state: &mut State, register: Register, range: Range) {
    match range {
        ALL => _ = state.remove(&register),
        range => _ = state.insert(register, range),
    }
}

/// The range of a result, and whether every result fits. What does not fit is a fault, so the rest
/// is what follows.
fn arithmetic(operator: Binary, a: Range, b: Range) -> (Range, bool) {
    match operator {
        Binary::Add | Binary::AddUnchecked => a.ends(b, |a, b| a + b),
        Binary::Subtract | Binary::SubtractUnchecked => a.ends(b, |a, b| a - b),
        Binary::Multiply | Binary::MultiplyUnchecked => a.ends(b, |a, b| a * b),
        Binary::Div if b.low > 0 => a.ends(b, i128::div_euclid),
        Binary::Mod if b.low > 0 => (Range { low: 0, high: b.high - 1 }, true),
        _ => (ALL, false),
    }
}

/// What holds where either does.
fn joined(all: Option<State>, state: &State) -> State {
    let Some(mut all) = all else { return state.clone() };
    all.retain(|register, range| {
        *range = state.get(register).map_or(ALL, |other| range.union(*other));
        *range != ALL
    });
    all
}

fn widened(entry: &State, before: &State) -> State {
    let mut wide = State::default();
    for (register, range) in entry {
        if let Some(old) = before.get(register) {
            set(&mut wide, *register, range.union(*old).widened(*old));
        }
    }
    wide
}

/// The comparison whose result a register has at the end of a block.
fn compared(
    instructions: &[(Instruction, tidemill_stdx::diag::Span)],
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
