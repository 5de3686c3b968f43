//! Loops of FOR over a variable in memory, such as one of a component, count in a register if
//! nothing else changes the variable meanwhile. Memory still has the value in each round, for
//! reports of faults and for whoever reads it after the loop.
//!
//! ```text
//! head:  %at = load @0; ... %at ...      head:  %r = copy %first; ... %r ...
//! round: %x = load @0; ... %x ...        round: ... %r ...
//! more:  %at = load @0; ... %at ...      more:  ... %r ...
//! step:  %sum = %at + 1; store @0 %sum   step:  %sum = %r + 1; store @0 %sum; %r = copy %sum
//! ```

use tidemill_stdx::id::{IdMap, IdSet, IdVec};

use crate::ir::memory::{Effects, Memory};
use crate::ir::parts::Rename;
use crate::ir::{
    Block, BlockId, Function, FunctionId, Instruction, Part, Place, Program, Register, Role, Type,
};
use crate::lower::strides::{Counted, Variable};

/// Gives registers to the loops that may have one.
pub(super) fn run(program: &mut Program, loops: &mut [Counted]) {
    if loops.iter().all(|counted| counted.register().is_some()) {
        return;
    }
    let effects = Effects::of(program);
    // Loops of a function come one after the other.
    let mut known: Option<(FunctionId, Known<'_>)> = None;
    for counted in loops.iter_mut().filter(|counted| counted.register().is_none()) {
        let function = &mut program.functions[counted.function];
        let (_, known) = match known.take().filter(|(of, _)| *of == counted.function) {
            Some(same) => known.insert(same),
            None => known.insert((counted.function, Known::of(function, &effects))),
        };
        promote(function, known, counted);
    }
}

/// What is known of a function. Loops that get a register do not change it, but for the registers
/// that are then gone.
struct Known<'a> {
    memory: Memory<'a>,
    /// How many instructions assign and read each register.
    uses: IdVec<Register, (u32, u32)>,
}

impl Known<'_> {
    fn of<'a>(function: &Function, effects: &'a Effects) -> Known<'a> {
        let mut uses = IdVec::filled((0, 0), function.registers.len());
        for block in function.blocks.iter() {
            count(block, &mut |register, role| match role {
                Role::Read => uses[register].1 += 1,
                Role::Write => uses[register].0 += 1,
                Role::Update => uses[register] = (uses[register].0 + 1, uses[register].1 + 1),
            });
        }
        Known { memory: Memory::of(function, effects), uses }
    }
}

/// Visits the registers of a block.
fn count(block: &Block, visit: &mut dyn FnMut(Register, Role)) {
    let mut part = |part: Part| {
        if let Part::Register(register, role) = part {
            visit(register, role);
        }
    };
    block.instructions.iter().for_each(|(instruction, _)| instruction.parts(&mut part));
    block.terminator.0.parts(&mut part);
}

/// Gives the loop a register, if it may have one.
fn promote(function: &mut Function, known: &Known<'_>, counted: &mut Counted) {
    let Variable::Memory { place, first } = counted.variable else { return };
    let Some(compared) = compared(&function.blocks[counted.head], place) else { return };
    if !is_changed_by_the_loop_alone(function, &known.memory, counted, place) {
        return;
    }
    let register = function.registers.push(Type::Integer);
    let blocks: Vec<BlockId> = counted.body().chain([counted.more, counted.step]).collect();
    let loaded = Loaded { from: loaded(function, known, &blocks, place), register };
    for &id in &blocks {
        let block = &mut function.blocks[id];
        block.instructions.retain(|(it, _)| !loaded.is_by(it));
        for (instruction, _) in &mut block.instructions {
            instruction.rename(&loaded);
            if let Instruction::Load { to, from } = *instruction
                && from == place
            {
                *instruction = Instruction::Copy { to, from: register };
            }
        }
        block.terminator.0.rename(&loaded);
    }
    // The variable has just been set.
    let (at, from) = compared;
    let head = &mut function.blocks[counted.head].instructions;
    head[at].0 = Instruction::Copy { to: register, from: first };
    let compared = Loaded { from: IdSet::from_iter([from]), register };
    head[at + 1..].iter_mut().for_each(|(it, _)| it.rename(&compared));
    let span = function.blocks[counted.step].terminator.1;
    let step = &mut function.blocks[counted.step].instructions;
    let stores = |instruction: &Instruction| match *instruction {
        Instruction::Store { to, from } if to == place => Some(from),
        _ => None,
    };
    let stored = step.iter().enumerate().find_map(|(at, (it, _))| Some((at, stores(it)?)));
    let (at, from) = stored.expect("a step stores the variable");
    step.insert(at + 1, (Instruction::Copy { to: register, from }, span));
    counted.variable = Variable::Register(register);
}

/// Where the first value is loaded to be compared, and into which register; nothing, if the loop is
/// never reached.
fn compared(head: &Block, place: Place) -> Option<(usize, Register)> {
    let loads = head.instructions.iter().enumerate().rev();
    let mut loads = loads.filter_map(|(at, (instruction, _))| match *instruction {
        Instruction::Load { to, from } if from == place => Some((at, to)),
        _ => None,
    });
    loads.next()
}

/// Registers that only have what the variable has, and its register in their place.
struct Loaded {
    from: IdSet<Register>,
    register: Register,
}

impl Loaded {
    fn is_by(&self, instruction: &Instruction) -> bool {
        matches!(instruction, Instruction::Load { to, .. } if self.from.contains(*to))
    }
}

impl Rename for Loaded {
    fn register(&self, register: Register) -> Register {
        if self.from.contains(register) { self.register } else { register }
    }
}

/// The registers into which these blocks load a place, and which have no other value and no use
/// elsewhere.
fn loaded(
    function: &Function,
    known: &Known<'_>,
    blocks: &[BlockId],
    place: Place,
) -> IdSet<Register> {
    let mut reads = IdMap::<Register, u32>::default();
    let instructions = blocks.iter().flat_map(|id| &function.blocks[*id].instructions);
    for (instruction, _) in instructions {
        if let Instruction::Load { to, from } = instruction
            && *from == place
        {
            reads.insert(*to, 0);
        }
    }
    for id in blocks {
        count(&function.blocks[*id], &mut |register, role| {
            if let (Some(reads), Role::Read) = (reads.get_mut(register), role) {
                *reads += 1;
            }
        });
    }
    let is_own = |(to, reads): (Register, &u32)| (known.uses[to] == (1, *reads)).then_some(to);
    reads.iter().filter_map(is_own).collect()
}

/// Whether the place is the same in each round, and no instruction of a body may change it.
fn is_changed_by_the_loop_alone(
    function: &Function,
    memory: &Memory<'_>,
    counted: &Counted,
    place: Place,
) -> bool {
    let mut body = counted.body().flat_map(|block| &function.blocks[block].instructions);
    memory.is_fixed(place) && !body.any(|(it, _)| memory.may_change(it, place))
}
