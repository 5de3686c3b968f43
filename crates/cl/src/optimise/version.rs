//! Tests the places in arrays before a loop, which is duplicated: without and with tests.
//!
//! ```text
//! before: jump head                    before: %e = view-extent %v 0; branch %n <= %e head slow
//! head: ... view-element %v [%i]       head: ... view-element %v [%i], unchecked
//!                                      slow: ... view-element %v [%i]
//! ```
//! A test is possible where the loop's indices are known not to be below 0, and to be at most a
//! number, or the value of a register that the loop does not assign, plus a constant. Outer loops
//! are first: what is tested before them is never tested again. If a test fails, the slow loop
//! finds out whether, and when, an index is out of range; so all faults occur where they did.

use tidemill_stdx::id::{Id, IdSet};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use crate::ir::graph::{Graph, Loop};
use crate::ir::{
    Binary, Block, BlockId, Constant, Function, Instruction, Register, Terminator, Type,
};
use crate::optimise::preheader;
use crate::optimise::ranges::bound::Limit;
use crate::optimise::ranges::{Most, Tested};

/// Instructions of a loop at most.
const SIZE_MAX: usize = 1000;

/// Instructions by which a function may grow.
const GROWTH_MAX: usize = 3000;

/// A number below which INTEGERs usually are: products of sums of two fit.
const NEAR: i64 = 1 << 30;

/// Tests before a loop at most.
const TESTS_MAX: usize = 24;

/// A test: that an extent is more than a number, or than the value of a register, plus `by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    view: Register,
    dimension: u8,
    than: Option<Register>,
}

/// A loop, and what can be tested before it.
struct Plan {
    of: Loop,
    tests: SortedMap<Subject, i64>,
    elements: Vec<(BlockId, usize)>,
    /// Registers with bounds of indices, if results are tested that fit where these are below
    /// [`NEAR`].
    near: SortedSet<Register>,
}

/// Versions loops for the elements that are tested; returns whether there was one.
pub(super) fn run(function: &mut Function, tested: &[Tested]) -> bool {
    if tested.is_empty() {
        return false;
    }
    let graph = Graph::of(function);
    let first = graph.order()[0];
    let loops = graph.loops().into_iter().filter(|one| one.head != first);
    let plans: Vec<Plan> = loops.map(|one| Plan::of(function, one, tested)).collect();
    let (mut done, mut growth) = (IdSet::<BlockId>::new(), 0);
    for (index, plan) in plans.iter().enumerate() {
        let size = plan.size(function);
        let fits = !plan.elements.is_empty()
            && plan.tests.len() <= TESTS_MAX
            && size <= SIZE_MAX
            && growth + size <= GROWTH_MAX;
        if fits && !done.contains(plan.of.head) && !plan.is_better_within(&plans[index + 1..]) {
            plan.apply(function);
            done.extend(plan.of.blocks.iter());
            growth += size;
        }
    }
    growth > 0
}

impl Plan {
    fn of(function: &Function, of: Loop, tested: &[Tested]) -> Plan {
        let mut assigned = IdSet::<Register>::new();
        for (instruction, _) in of.blocks.iter().flat_map(|id| &function.blocks[id].instructions) {
            instruction.assigned(|register| _ = assigned.insert(register));
        }
        let mut instructions = of.blocks.iter().flat_map(|id| &function.blocks[id].instructions);
        let has_arithmetic = instructions.any(|(instruction, _)| match instruction {
            Instruction::Binary { operator: Binary::Add | Binary::Multiply, a, .. } => {
                function.registers[*a] == Type::Integer
            }
            _ => false,
        });
        drop(instructions);
        let (tests, elements) = (SortedMap::new(), Vec::new());
        let mut plan = Plan { of, tests, elements, near: SortedSet::new() };
        for element in tested.iter().filter(|it| plan.of.blocks.contains(it.at.0)) {
            let (block, index) = element.at;
            let (Instruction::ViewElement { view, extents, .. }, _) =
                &function.blocks[block].instructions[index]
            else {
                continue;
            };
            let has_extents = element.most.len() == 1 || !extents.is_empty();
            if assigned.contains(*view) || !has_extents {
                continue;
            }
            let tests = (0..).zip(&element.most).map(|(dimension, most)| {
                let view = *view;
                match (limits(most, &assigned).next(), most.number) {
                    (Some((than, by)), _) => {
                        Some((Subject { view, dimension, than: Some(than) }, by))
                    }
                    (None, number) => Some((Subject { view, dimension, than: None }, number?)),
                }
            });
            let Some(tests) = tests.collect::<Option<Vec<(Subject, i64)>>>() else { continue };
            for (subject, by) in tests {
                let most = plan.tests.entry(subject).or_insert(by);
                *most = by.max(*most);
            }
            plan.elements.push(element.at);
            if has_arithmetic {
                let limits = element.most.iter().flat_map(|most| limits(most, &assigned));
                plan.near.extend(limits.map(|limit| limit.0));
            }
        }
        plan
    }

    fn size(&self, function: &Function) -> usize {
        self.of.blocks.iter().map(|id| function.blocks[id].instructions.len()).sum()
    }

    /// Whether loops within it save many more tests.
    fn is_better_within(&self, plans: &[Plan]) -> bool {
        let mut within = IdSet::<BlockId>::new();
        let mut elements = 0;
        for plan in plans {
            if self.of.blocks.contains(plan.of.head) && !within.contains(plan.of.head) {
                elements += plan.elements.len();
                within.extend(plan.of.blocks.iter().filter(|_| !plan.elements.is_empty()));
            }
        }
        elements > 2 * self.elements.len()
    }

    fn apply(&self, function: &mut Function) {
        let span = function.blocks[self.of.head].terminator.1;
        let before = preheader::before(function, &self.of, span);
        let slow = self.copy(function);
        for &(block, index) in &self.elements {
            if let Instruction::ViewElement { checked, .. } =
                &mut function.blocks[block].instructions[index].0
            {
                *checked = false;
            }
        }
        let mut next = self.of.head;
        for (subject, by) in self.tests.iter().rev() {
            next = test(function, *subject, *by, (next, slow));
        }
        for register in &self.near {
            next = test_near(function, *register, (next, slow));
        }
        function.blocks[before].terminator.0 = Terminator::Jump(next);
    }

    /// Copies the blocks of the loop and gives the copy of its head.
    fn copy(&self, function: &mut Function) -> BlockId {
        let blocks: Vec<BlockId> = self.of.blocks.iter().collect();
        let start = function.blocks.len();
        let copy_of = |target: BlockId| match blocks.binary_search(&target) {
            Ok(index) => BlockId::from_index(start + index),
            Err(_) => target,
        };
        for block in &blocks {
            let mut copy = function.blocks[*block].clone();
            copy.terminator.0.lead(copy_of);
            copy.is_rare = true;
            function.blocks.push(copy);
        }
        copy_of(self.of.head)
    }
}

/// The registers that a loop leaves alone of those which a number is bounded by, and what is added
/// to them.
fn limits<'a>(
    most: &'a Most,
    assigned: &'a IdSet<Register>,
) -> impl Iterator<Item = (Register, i64)> + 'a {
    most.bounds.iter().filter_map(|bound| match bound.limit {
        Limit::Register(than) if !assigned.contains(than) => Some((than, bound.by)),
        _ => None,
    })
}

/// A block that tests whether what the register has is below [`NEAR`].
fn test_near(
    function: &mut Function,
    register: Register,
    (then, otherwise): (BlockId, BlockId),
) -> BlockId {
    let near = function.registers.push(Type::Integer);
    let value = Constant::Integer(NEAR);
    let instructions = vec![Instruction::Constant { to: near, value }];
    branch(function, instructions, (register, near), (then, otherwise))
}

/// A block that tests the extent and goes to one block if it is more, else to the other.
fn test(
    function: &mut Function,
    Subject { view, dimension, than }: Subject,
    by: i64,
    (then, otherwise): (BlockId, BlockId),
) -> BlockId {
    let mut integer = || function.registers.push(Type::Integer);
    let (extent, number) = (integer(), integer());
    let mut instructions = vec![
        Instruction::ViewExtent { to: extent, view, dimension },
        Instruction::Constant { to: number, value: Constant::Integer(by) },
    ];
    let ends = match than {
        None => (number, extent),
        // Extents are far from the ends of INTEGER, so the difference does not overflow.
        Some(than) => {
            let (to, operator) = (integer(), Binary::SubtractUnchecked);
            instructions.push(Instruction::Binary { to, operator, a: extent, b: number });
            (than, to)
        }
    };
    branch(function, instructions, ends, (then, otherwise))
}

/// A block that ends with `a < b`.
fn branch(
    function: &mut Function,
    mut instructions: Vec<Instruction>,
    (a, b): (Register, Register),
    (then, otherwise): (BlockId, BlockId),
) -> BlockId {
    let (span, is_rare) = (function.blocks[then].terminator.1, function.blocks[then].is_rare);
    let condition = function.registers.push(Type::Boolean);
    instructions.push(Instruction::Binary { to: condition, operator: Binary::Less, a, b });
    let instructions = instructions.into_iter().map(|it| (it, span)).collect();
    let terminator = (Terminator::Branch { condition, then, otherwise }, span);
    function.blocks.push(Block { instructions, terminator, is_rare })
}
