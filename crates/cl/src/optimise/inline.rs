//! Calls of small procedures become their code.
//!
//! A procedure qualifies that cannot suspend, calls nothing, and has its variables in registers: so
//! it has no frame, and reports, which name the process and the place in the source, stay the same.
//! A VARIABLE argument whose place is known is substituted in the code.

use tidemill_diag::Span;
use tidemill_stdx::id::{Id, IdMap, IdSet, IdVec};

use crate::ir::parts::Rename;
use crate::ir::suspending::Suspending;
use crate::ir::{
    Argument, Block, BlockId, Function, FunctionId, FunctionKind, Instruction, Parameter, Payload,
    Place, Program, Register, Terminator,
};

/// Instructions of a small procedure at most.
const SMALL: usize = 24;

/// Blocks of a small procedure at most.
const BLOCKS_MAX: usize = 8;

/// Instructions by which a function may grow.
const GROWTH_MAX: usize = 1000;

/// Inlines in all functions of the program.
pub(super) fn run(program: &mut Program, suspending: &Suspending) {
    let small: IdVec<FunctionId, Option<Function>> = program
        .functions
        .iter_enumerated()
        .map(|(id, function)| {
            (!suspending.contains(id) && is_small(function)).then(|| function.clone())
        })
        .collect();
    if small.iter().all(Option::is_none) {
        return;
    }
    for function in program.functions.iter_mut() {
        let (mut growth, addresses) = (0, addresses(function));
        let mut block = BlockId::from_index(0);
        while block.index() < function.blocks.len() {
            // The code after a call becomes a block of its own, and is visited in its turn.
            if let Some((index, callee)) = first_call(function, block, &small)
                && growth <= GROWTH_MAX
            {
                growth += size(callee);
                inline(function, (block, index), callee, &addresses);
            }
            block = BlockId::from_index(block.index() + 1);
        }
    }
}

fn size(function: &Function) -> usize {
    function.blocks.iter().map(|block| block.instructions.len()).sum()
}

fn is_small(function: &Function) -> bool {
    let in_registers = |it: &Parameter| matches!(it, Parameter::Register(_));
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    let returns_register = |block: &Block| {
        !matches!(block.terminator.0, Terminator::Return(Some(Payload::Copy(_) | Payload::Move(_))))
    };
    function.kind == FunctionKind::Procedure
        && function.locals.is_empty()
        && function.blocks.len() <= BLOCKS_MAX
        && size(function) <= SMALL
        && function.parameters.iter().all(in_registers)
        && function.blocks.iter().all(returns_register)
        && instructions.all(|(instruction, _)| !matches!(instruction, Instruction::Call { .. }))
}

/// The first call in the block that can be inlined.
fn first_call<'a>(
    function: &Function,
    block: BlockId,
    small: &'a IdVec<FunctionId, Option<Function>>,
) -> Option<(usize, &'a Function)> {
    let mut instructions = function.blocks[block].instructions.iter().enumerate();
    instructions.find_map(|(index, (instruction, _))| {
        let Instruction::Call { result, function: callee, arguments } = instruction else {
            return None;
        };
        let in_registers = arguments.iter().all(|argument| {
            matches!(argument, Argument::Reference(_) | Argument::Value(Payload::Register(_)))
        });
        let callee = small[*callee].as_ref()?;
        let fits = in_registers
            && matches!(result, None | Some(Payload::Register(_)))
            && callee.component == function.component;
        fits.then_some((index, callee))
    })
}

/// The caller's numbers of the callee's registers and blocks.
struct Renaming {
    registers: usize,
    blocks: usize,
    /// The places of VARIABLE arguments.
    places: Vec<(Register, Place)>,
}

/// Puts the callee's code in the place of a call.
fn inline(
    function: &mut Function,
    (block, index): (BlockId, usize),
    callee: &Function,
    addresses: &IdMap<Register, Place>,
) {
    let rest = function.blocks[block].instructions.split_off(index + 1);
    let Some((Instruction::Call { result, arguments, .. }, span)) =
        function.blocks[block].instructions.pop()
    else {
        unreachable!("{block} has a call there");
    };
    let is_rare = function.blocks[block].is_rare;
    let renaming = Renaming {
        registers: function.registers.len(),
        blocks: function.blocks.len(),
        places: places(addresses, callee, &arguments),
    };
    callee.registers.iter().for_each(|ty| _ = function.registers.push(*ty));
    let after = BlockId::from_index(renaming.blocks + callee.blocks.len());
    let start = (Terminator::Jump(BlockId::from_index(renaming.blocks)), span);
    let terminator = std::mem::replace(&mut function.blocks[block].terminator, start);
    for (parameter, argument) in callee.parameters.iter().zip(arguments) {
        let (
            Parameter::Register(to),
            Argument::Reference(from) | Argument::Value(Payload::Register(from)),
        ) = (*parameter, argument)
        else {
            unreachable!("{argument:?} for {parameter:?}");
        };
        let to = renaming.register(to);
        function.blocks[block].instructions.push((Instruction::Copy { to, from }, span));
    }
    for inner in &callee.blocks {
        let mut renamed = renaming.block(inner, result, after);
        renamed.is_rare |= is_rare;
        function.blocks.push(renamed);
    }
    function.blocks.push(Block { instructions: rest, terminator, is_rare });
}

/// The places that VARIABLE arguments of the call are, as far as that is known.
fn places(
    addresses: &IdMap<Register, Place>,
    callee: &Function,
    arguments: &[Argument],
) -> Vec<(Register, Place)> {
    let parameters = callee.parameters.iter().zip(arguments);
    let known = parameters.filter_map(|(parameter, argument)| match (parameter, argument) {
        (Parameter::Register(parameter), Argument::Reference(address))
            if !is_assigned(callee, *parameter) =>
        {
            Some((*parameter, *addresses.get(*address)?))
        }
        _ => None,
    });
    known.collect()
}

/// Registers that are nothing but the address of a local or variable.
fn addresses(function: &Function) -> IdMap<Register, Place> {
    let mut addresses = IdMap::new();
    let mut others = IdSet::<Register>::new();
    for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
        match *instruction {
            Instruction::AddressOf {
                to,
                place: place @ (Place::Local(_) | Place::Variable(_)),
            } if !addresses.contains(to) => {
                addresses.insert(to, place);
            }
            _ => instruction.assigned(|register| _ = others.insert(register)),
        }
    }
    others.iter().for_each(|register| _ = addresses.remove(register));
    addresses
}

fn is_assigned(function: &Function, register: Register) -> bool {
    let mut is = false;
    for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
        instruction.assigned(|assigned| is |= assigned == register);
    }
    is
}

impl Rename for Renaming {
    fn register(&self, register: Register) -> Register {
        Register::from_index(self.registers + register.index())
    }

    fn place(&self, place: Place) -> Place {
        match place {
            Place::At(register) => {
                let known = self.places.iter().find(|known| known.0 == register);
                known.map_or(Place::At(self.register(register)), |known| known.1)
            }
            other => other,
        }
    }
}

impl Renaming {
    fn target(&self, block: BlockId) -> BlockId {
        BlockId::from_index(self.blocks + block.index())
    }

    fn block(&self, block: &Block, result: Option<Payload>, after: BlockId) -> Block {
        let renamed = block.instructions.iter().map(|(instruction, span)| {
            let mut instruction = instruction.clone();
            instruction.rename(self);
            (instruction, *span)
        });
        let mut instructions: Vec<(Instruction, Span)> = renamed.collect();
        let (mut terminator, span) = block.terminator.clone();
        match &mut terminator {
            Terminator::Return(value) => {
                if let (Some(Payload::Register(to)), Some(Payload::Register(from))) =
                    (result, *value)
                {
                    let from = self.register(from);
                    instructions.push((Instruction::Copy { to, from }, span));
                }
                terminator = Terminator::Jump(after);
            }
            other => {
                other.rename(self);
                other.lead(|target| self.target(target));
            }
        }
        Block { instructions, terminator: (terminator, span), is_rare: block.is_rare }
    }
}
