//! What instructions may change in memory: aliases of places, and effects of calls.
//!
//! Between two instructions of a process others of its component run only where it is suspended,
//! and change variables only if it has given up the monitor, without which it reads none. At a
//! checkpoint it keeps the monitor. So there the memory of a function stays as it is; every other
//! suspension counts as a change of everything.

use tidemill_stdx::id::{Id, IdSet, IdVec};

use crate::ir::{
    Argument, Function, FunctionId, Instruction, LocalId, Parameter, Payload, Place, Program,
    Register, VariableId,
};

/// What a function changes that others can see, its callees included. Elements of arrays and
/// collections do not count: no analysis uses them.
#[derive(Debug, Clone, Default)]
struct Effect {
    /// Variables that it stores to, allocates or frees.
    variables: IdSet<VariableId>,
    /// It stores through an address that it was given, or may be suspended: anything.
    anything: bool,
}

/// The effects of all functions.
#[derive(Debug, Clone)]
pub struct Effects {
    functions: IdVec<FunctionId, Effect>,
}

impl Effects {
    /// Of the functions of the program.
    pub fn of(program: &Program) -> Effects {
        let own = program.functions.iter().map(own_effect);
        let mut effects = Effects { functions: own.collect() };
        let calls: Vec<(FunctionId, FunctionId)> = program
            .functions
            .iter_enumerated()
            .flat_map(|(id, function)| callees(function).map(move |callee| (id, callee)))
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &(caller, callee) in &calls {
                if caller == callee {
                    continue;
                }
                let of_callee = effects.functions[callee].clone();
                let effect = &mut effects.functions[caller];
                changed |= effect.variables.union_with(&of_callee.variables);
                changed |= of_callee.anything && !effect.anything;
                effect.anything |= of_callee.anything;
            }
        }
        effects
    }
}

fn callees(function: &Function) -> impl Iterator<Item = FunctionId> + '_ {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.filter_map(|(instruction, _)| match instruction {
        Instruction::Call { function, .. } => Some(*function),
        _ => None,
    })
}

fn own_effect(function: &Function) -> Effect {
    let (mut effect, targets) = (Effect::default(), targets(function));
    for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
        // What callees do is added later.
        effect.anything |= is_suspended_at(instruction);
        changed_places(instruction, &mut |place| match place {
            Place::Variable(variable) => _ = effect.variables.insert(variable),
            Place::Local(_) => {}
            Place::At(at) if targets[at.index()] == Some(Target::Element) => {}
            Place::At(_) | Place::Outer(_) => effect.anything = true,
        });
    }
    effect
}

/// Whether it suspends otherwise than at a checkpoint, calls apart.
pub fn is_suspended_at(instruction: &Instruction) -> bool {
    *instruction != Instruction::Checkpoint && instruction.suspends(|_| false)
        || *instruction == Instruction::Unlock
}

/// The places that it may change itself; those that it is known only to read are left out.
fn changed_places(instruction: &Instruction, visit: &mut dyn FnMut(Place)) {
    match instruction {
        Instruction::Load { .. }
        | Instruction::AddressOf { .. }
        | Instruction::ArrayElement { .. }
        | Instruction::ArrayLength { .. }
        | Instruction::ArrayView { .. }
        | Instruction::ViewExtent { .. }
        | Instruction::ViewElement { .. }
        | Instruction::ElementExists { .. }
        | Instruction::ElementCount { .. }
        | Instruction::TextGet { .. }
        | Instruction::TextLength { .. }
        | Instruction::TextCompare { .. }
        | Instruction::TextNumber { .. }
        | Instruction::Exists { .. }
        | Instruction::Failed { .. }
        | Instruction::Is { .. }
        | Instruction::Has { .. }
        | Instruction::Write { .. } => {}
        _ => instruction.parts(&mut |part| {
            if let crate::ir::Part::Place(place) = part {
                visit(place);
            }
        }),
    }
}

/// What an address register may point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// An element of an array or collection.
    Element,
    /// An argument of the function: nothing of its own frame.
    Given,
    /// Any of these, or a local.
    Any,
}

/// What each register may point to, as far as it is assigned at all.
fn targets(function: &Function) -> Vec<Option<Target>> {
    let mut targets = vec![None; function.registers.len()];
    for parameter in &function.parameters {
        if let Parameter::Register(register) = parameter {
            targets[register.index()] = Some(Target::Given);
        }
    }
    // To a fixed point: a copy may precede what it copies.
    let mut changed = true;
    while changed {
        changed = false;
        for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
            let target = match instruction {
                Instruction::ArrayElement { .. }
                | Instruction::ViewElement { .. }
                | Instruction::Element { .. } => Some(Target::Element),
                Instruction::Copy { from, .. } => targets[from.index()],
                _ => Some(Target::Any),
            };
            let Some(target) = target else { continue };
            instruction.assigned(|register| {
                let known = &mut targets[register.index()];
                let joined = match *known {
                    Some(known) if known != target => Target::Any,
                    _ => target,
                };
                changed |= *known != Some(joined);
                *known = Some(joined);
            });
        }
    }
    targets
}

/// The memory that one function reaches.
#[derive(Debug)]
pub struct Memory<'a> {
    effects: &'a Effects,
    /// By register; none of those that are no address.
    targets: Vec<Option<Target>>,
    /// Locals whose address is taken.
    exposed: IdSet<LocalId>,
}

impl<'a> Memory<'a> {
    /// The memory of the function.
    pub fn of(function: &Function, effects: &'a Effects) -> Memory<'a> {
        let mut exposed = IdSet::new();
        for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
            if let Instruction::AddressOf { place: Place::Local(local), .. } = instruction {
                exposed.insert(*local);
            }
        }
        let targets = targets(function);
        Memory { effects, targets, exposed }
    }

    fn target(&self, register: Register) -> Target {
        self.targets[register.index()].unwrap_or(Target::Any)
    }

    /// Whether the place stays the same place: what it names is not computed.
    pub fn is_fixed(&self, place: Place) -> bool {
        match place {
            Place::Local(_) | Place::Variable(_) => true,
            Place::At(register) => self.target(register) == Target::Given,
            Place::Outer(_) => false,
        }
    }

    /// Whether a store to one may change the other.
    fn overlap(&self, a: Place, b: Place) -> bool {
        match (a, b) {
            (Place::At(a), Place::At(b)) if a == b => true,
            (Place::At(a), Place::At(b)) => {
                let (a, b) = (self.target(a), self.target(b));
                (a == Target::Element) == (b == Target::Element)
                    || a == Target::Any
                    || b == Target::Any
            }
            (Place::At(at), other) | (other, Place::At(at)) => match (self.target(at), other) {
                (Target::Element, _) => false,
                (Target::Given, Place::Local(_)) => false,
                (_, Place::Local(local)) => self.exposed.contains(local),
                (_, _) => true,
            },
            (a, b) => a == b,
        }
    }

    /// Whether the instruction may change what is in the place.
    pub fn may_change(&self, instruction: &Instruction, place: Place) -> bool {
        if let Instruction::Call { result, function, arguments } = instruction {
            return self.call_may_change(*result, *function, arguments, place);
        }
        if is_suspended_at(instruction) {
            return true;
        }
        let mut changes = false;
        changed_places(instruction, &mut |changed| changes |= self.overlap(changed, place));
        changes
    }

    /// The same of an array: whether it may be allocated anew or freed. No scalar is stored there.
    pub fn may_move(&self, instruction: &Instruction, array: Place) -> bool {
        !matches!(instruction, Instruction::Store { .. }) && self.may_change(instruction, array)
    }

    fn call_may_change(
        &self,
        result: Option<Payload>,
        callee: FunctionId,
        arguments: &[Argument],
        place: Place,
    ) -> bool {
        let mut own = arguments.iter().filter_map(|argument| match argument {
            Argument::Value(payload) => Some(*payload),
            Argument::Reference(_) => None,
        });
        let is_own = |payload: Payload| match payload {
            Payload::Copy(to) | Payload::Move(to) => self.overlap(to, place),
            Payload::Register(_) => false,
        };
        if own.any(is_own) || result.is_some_and(is_own) {
            return true;
        }
        let lends = arguments.iter().any(|it| matches!(it, Argument::Reference(_)));
        let effect = &self.effects.functions[callee];
        match place {
            Place::Variable(variable) => {
                lends || effect.anything || effect.variables.contains(variable)
            }
            Place::Local(local) => lends && self.exposed.contains(local),
            Place::At(_) | Place::Outer(_) => {
                lends || effect.anything || !effect.variables.is_empty()
            }
        }
    }
}
