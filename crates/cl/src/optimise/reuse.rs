//! Value numbering: reuses what has been computed, checked or loaded already.
//!
//! Each value has a number, and registers with the same number hold the same value. Facts of a
//! block also hold in those that are reached from it alone. Where a computation is repeated its
//! checks have held before: so `a[i] := a[i] + 1` tests the index once. Nothing is carried over
//! an instruction at which the process may be suspended: it would have to be kept.

use tidemill_stdx::hash::Map;
use tidemill_stdx::id::IdVec;

use crate::ir::graph::Graph;
use crate::ir::memory::{Effects, Memory};
use crate::ir::suspending::Suspending;
use crate::ir::{
    Access, Binary, BlockId, Constant, Conversion, Function, Instruction, Place, Register, Type,
    Unary,
};

/// Values known at a time; with more, what was known is forgotten.
const VALUES_MAX: usize = 256;

/// The number of a value.
type Number = u32;

/// The key of a value: equal keys have equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Made {
    Constant(Type, u64),
    Binary(Binary, Number, Number),
    Unary(Unary, Number),
    Convert(Conversion, Number),
}

/// A value that hangs on memory.
#[derive(Debug, Clone)]
enum Found {
    /// The address of an element.
    Element(Place, Vec<Number>),
    /// The content of a place; with the number of its address if it is computed.
    Content(Place, Option<Number>),
}

impl PartialEq for Found {
    fn eq(&self, other: &Found) -> bool {
        match (self, other) {
            (Found::Element(a, some), Found::Element(b, others)) => a == b && some == others,
            // Any register with the address names the place.
            (Found::Content(_, Some(a)), Found::Content(_, Some(b))) => a == b,
            (Found::Content(a, None), Found::Content(b, None)) => a == b,
            _ => false,
        }
    }
}

impl Found {
    /// Whether the instruction may make it another.
    fn ends_at(&self, instruction: &Instruction, memory: &Memory<'_>) -> bool {
        match self {
            Found::Element(array, _) => memory.may_move(instruction, *array),
            Found::Content(place, _) => memory.may_change(instruction, *place),
        }
    }
}

/// The facts at a place of the code.
#[derive(Debug, Clone, Default)]
struct Known {
    numbers: Map<Register, Number>,
    made: Map<Made, Number>,
    found: Vec<(Found, Number)>,
    /// A register that has had the value.
    holders: Map<Number, Register>,
}

/// Replaces repeated computations by copies, in the whole function.
pub(super) fn run(function: &mut Function, effects: &Effects, suspending: &Suspending) {
    let (graph, memory) = (Graph::of(function), Memory::of(function, effects));
    // The facts at the end of a block, once for each successor that will use them.
    let mut ends: IdVec<BlockId, Vec<Known>> = function.blocks.iter().map(|_| vec![]).collect();
    let mut next = 0;
    for &block in graph.order() {
        let mut known = match graph.predecessors(block) {
            [only] => ends[*only].pop().unwrap_or_default(),
            _ => Known::default(),
        };
        for (instruction, _) in &mut function.blocks[block].instructions {
            if instruction.suspends(|callee| suspending.contains(callee))
                || known.holders.len() > VALUES_MAX
            {
                known = Known::default();
            }
            known.pass(instruction, &memory, &mut next);
        }
        let targets = function.blocks[block].terminator.0.targets();
        let alone = targets.filter(|target| graph.predecessors(*target).len() == 1).count();
        ends[block] = vec![known; alone];
    }
}

impl Known {
    fn number(&mut self, register: Register, next: &mut Number) -> Number {
        if let Some(number) = self.numbers.get(&register) {
            return *number;
        }
        self.assign(register, fresh(next))
    }

    fn assign(&mut self, register: Register, number: Number) -> Number {
        self.numbers.insert(register, number);
        let holder = self.holders.entry(number).or_insert(register);
        if self.numbers.get(holder) != Some(&number) {
            *holder = register;
        }
        number
    }

    /// A register that has the value now.
    fn holder(&self, number: Number) -> Option<Register> {
        let holder = *self.holders.get(&number)?;
        (self.numbers.get(&holder) == Some(&number)).then_some(holder)
    }

    /// Continues after the instruction, which may become a copy.
    fn pass(&mut self, instruction: &mut Instruction, memory: &Memory<'_>, next: &mut Number) {
        if let Some((to, made)) = self.made(instruction, next) {
            let known = self.made.get(&made).copied();
            let number = known.unwrap_or_else(|| fresh(next));
            self.made.insert(made, number);
            return self.assigned(instruction, to, number, known.is_some());
        }
        if let Some((to, found)) = self.found(instruction, memory, next) {
            let known = self.found.iter().find(|it| it.0 == found).map(|it| it.1);
            let number = known.unwrap_or_else(|| fresh(next));
            if known.is_none() {
                self.found.push((found, number));
            }
            return self.assigned(instruction, to, number, known.is_some());
        }
        if let Instruction::Copy { to, from } = *instruction {
            let number = self.number(from, next);
            self.assign(to, number);
            return;
        }
        // No address outlives what may move elements.
        let moves = instruction.suspends(|_| true)
            || matches!(instruction, Instruction::Element { access: Access::Make, .. });
        self.found.retain(|(found, _)| {
            let is_address = matches!(found, Found::Element(..) | Found::Content(_, Some(_)));
            let ends = moves && is_address || found.ends_at(instruction, memory);
            !ends
        });
        if let Instruction::Store { to, from } = *instruction {
            let number = self.number(from, next);
            let content = self.content(to, next);
            self.found.retain(|it| it.0 != content);
            self.found.push((content, number));
        }
        instruction.assigned(|register| _ = self.assign(register, fresh(next)));
    }

    fn assigned(
        &mut self,
        instruction: &mut Instruction,
        to: Register,
        number: Number,
        is_known: bool,
    ) {
        let holder = self.holder(number).filter(|_| is_known);
        // Constants are written where they are needed.
        if let Some(from) = holder
            && !matches!(instruction, Instruction::Constant { .. })
        {
            *instruction = Instruction::Copy { to, from };
        }
        self.assign(to, number);
    }

    fn made(&mut self, instruction: &Instruction, next: &mut Number) -> Option<(Register, Made)> {
        Some(match *instruction {
            Instruction::Constant { to, value } => (to, constant(value)),
            Instruction::Binary { to, operator, a, b } => {
                (to, Made::Binary(operator, self.number(a, next), self.number(b, next)))
            }
            Instruction::Unary { to, operator, a } => {
                (to, Made::Unary(operator, self.number(a, next)))
            }
            Instruction::Convert { to, conversion, a } => {
                (to, Made::Convert(conversion, self.number(a, next)))
            }
            _ => return None,
        })
    }

    fn found(
        &mut self,
        instruction: &Instruction,
        memory: &Memory<'_>,
        next: &mut Number,
    ) -> Option<(Register, Found)> {
        match instruction {
            Instruction::ArrayElement { to, array, indices }
            | Instruction::ViewElement { to, array, indices, .. }
                if memory.is_fixed(*array) =>
            {
                let indices = indices.iter().map(|index| self.number(*index, next)).collect();
                Some((*to, Found::Element(*array, indices)))
            }
            Instruction::Load { to, from } => Some((*to, self.content(*from, next))),
            _ => None,
        }
    }

    fn content(&mut self, place: Place, next: &mut Number) -> Found {
        match place {
            Place::At(register) => Found::Content(place, Some(self.number(register, next))),
            place => Found::Content(place, None),
        }
    }
}

fn fresh(next: &mut Number) -> Number {
    *next += 1;
    *next
}

fn constant(constant: Constant) -> Made {
    match constant {
        Constant::Integer(value) => Made::Constant(Type::Integer, value as u64),
        Constant::Real(value) => Made::Constant(Type::Real, value.to_bits()),
        Constant::Boolean(value) => Made::Constant(Type::Boolean, u64::from(value)),
        Constant::Character(value) => Made::Constant(Type::Character, u64::from(value)),
    }
}
