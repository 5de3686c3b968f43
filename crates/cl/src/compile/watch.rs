//! Which component variables conditions read, and which ones code writes: so that a release of the
//! monitor evaluates only conditions that may have become true.
//!
//! A variable is a bit; those beyond share one. Code sets the bits of what it writes in a word of
//! the component (see the run-time's `monitor::watch`). A condition that depends on more than
//! variables and what the awaiting process has by itself, or makes texts, reads everything: texts
//! are counted.

use tidemill_stdx::id::{Id, IdMap, IdVec};

use crate::compile::describe::Ports;
use crate::ir::{
    self, ComponentId, Function, FunctionId, FunctionKind, Instruction, Part, Place, Register,
    Terminator, Type, VariableId,
};

/// The bit that the last variables share; the one above is what is no variable.
const LAST: usize = 62;

/// Bytes of the words of a component.
const SIZE: u32 = 16;

fn bit(variable: VariableId) -> u64 {
    1 << variable.index().min(LAST)
}

/// The watch words of components, and what conditions read.
pub(super) struct Watch {
    /// Where a component has its words, if it has some.
    pub(super) offsets: IdVec<ComponentId, Option<i32>>,
    /// Of a condition, the bits that it does not read.
    ignored: IdVec<FunctionId, u64>,
}

impl Watch {
    pub(super) fn of(ir: &ir::Program, ports: &IdVec<ComponentId, Ports>) -> Watch {
        let shared: IdVec<ComponentId, u64> =
            ir.components.ids().map(|id| shared(ir, id)).collect();
        let ignored = ir.functions.iter().map(|function| match function.kind {
            FunctionKind::Condition { .. } => reads(function)
                .filter(|bits| bits & shared[function.component] == 0)
                .map_or(0, |it| !it),
            _ => 0,
        });
        let ignored: IdVec<FunctionId, u64> = ignored.collect();
        let offsets = ir.components.iter_enumerated().map(|(id, component)| {
            let mut functions = ir.functions.iter_enumerated();
            let any = functions.any(|(it, function)| function.component == id && ignored[it] != 0);
            let end = VariableId::new(component.variables.len() as u32);
            any.then(|| ports[id].variable(end))
        });
        Watch { offsets: offsets.collect(), ignored }
    }

    /// Where a component has its words, and how many bytes they take; 0 if it has none.
    pub(super) fn words(&self, component: ComponentId) -> (u32, u32) {
        self.offsets[component].map_or((0, 0), |offset| (offset as u32, SIZE))
    }

    /// The bits that a function as a condition does not read.
    pub(super) fn ignored(&self, function: FunctionId) -> u64 {
        self.ignored[function]
    }
}

/// The variables whose addresses are passed on: writes to them cannot be tracked.
fn shared(ir: &ir::Program, component: ComponentId) -> u64 {
    let own = ir.functions.iter().filter(|function| function.component == component);
    let instructions = own.flat_map(|it| &it.blocks).flat_map(|block| &block.instructions);
    instructions.fold(0, |bits, (instruction, _)| match instruction {
        Instruction::AddressOf { place: Place::Variable(variable), .. } => bits | bit(*variable),
        _ => bits,
    })
}

/// The bits of a place; none of what lives in the frame.
fn bits_of(place: Place, elements: &IdMap<Register, u64>) -> Option<u64> {
    match place {
        Place::Variable(variable) => Some(bit(variable)),
        Place::At(register) => elements.get(register).copied(),
        Place::Local(_) | Place::Outer(_) => Some(0),
    }
}

/// The variables of which a register may have the address of an element.
fn elements(function: &Function) -> IdMap<Register, u64> {
    let mut found: IdMap<Register, u64> = IdMap::default();
    loop {
        let mut is_new = false;
        for (instruction, _) in function.blocks.iter().flat_map(|block| &block.instructions) {
            let (to, bits) = match instruction {
                Instruction::ArrayElement { to, array: base, .. }
                | Instruction::ViewElement { to, array: base, .. }
                | Instruction::Element { to, collection: base, .. } => {
                    (*to, bits_of(*base, &found))
                }
                Instruction::Copy { to, from } if function.registers[*to] == Type::Address => {
                    (*to, found.get(*from).copied())
                }
                _ => continue,
            };
            let Some(bits) = bits else { continue };
            let known = found.get(to).copied();
            let all = known.unwrap_or(0) | bits;
            if known != Some(all) {
                found.insert(to, all);
                is_new = true;
            }
        }
        if !is_new {
            return found;
        }
    }
}

/// Whether it is about an element that is a component: that may be deleted at any time.
fn asks_of_component(instruction: &Instruction) -> bool {
    let (Instruction::ElementExists { shape, .. } | Instruction::Element { shape, .. }) =
        instruction
    else {
        return false;
    };
    matches!(shape, ir::Storage::Collection { element: Type::Component, .. })
}

/// What a condition reads; none if that is more than variables.
fn reads(condition: &Function) -> Option<u64> {
    let elements = elements(condition);
    let mut all = 0;
    for block in condition.blocks.iter() {
        for (instruction, _) in &block.instructions {
            if !instruction.only_reads() || asks_of_component(instruction) {
                return None;
            }
            all |= places(instruction, &elements)?;
        }
        if let Terminator::Return(Some(payload)) = block.terminator.0
            && !matches!(payload, ir::Payload::Register(_))
        {
            return None;
        }
    }
    Some(all)
}

/// The bits of all places of an instruction; none if one of them is not known.
fn places(instruction: &Instruction, elements: &IdMap<Register, u64>) -> Option<u64> {
    let mut all = Some(0);
    instruction.parts(&mut |part| {
        if let Part::Place(place) = part {
            all = all.zip(bits_of(place, elements)).map(|(all, bits)| all | bits);
        }
    });
    all
}

/// What a function writes.
#[derive(Debug, Default)]
pub(super) struct Writes {
    elements: IdMap<Register, u64>,
    /// Set in this block since the monitor may have been given back.
    pub(super) marked: u64,
}

impl Writes {
    pub(super) fn of(function: &Function) -> Writes {
        Writes { elements: elements(function), marked: 0 }
    }

    /// The bits that an instruction may write; the shared variables are not looked for.
    pub(super) fn of_instruction(&self, instruction: &Instruction) -> u64 {
        if instruction.only_reads() {
            return 0;
        }
        let mut all = 0;
        instruction.parts(&mut |part| {
            if let Part::Place(place) = part {
                all |= bits_of(place, &self.elements).unwrap_or(0);
            }
        });
        all
    }

    /// The bits that may be written by what takes a value out of a variable at the end of a block.
    pub(super) fn of_terminator(&self, terminator: &Terminator) -> u64 {
        let mut bits = 0;
        terminator.parts(&mut |part| {
            if let Part::Place(place) = part {
                bits |= bits_of(place, &self.elements).unwrap_or(0);
            }
        });
        bits
    }
}
