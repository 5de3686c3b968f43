//! Short rounds of loops of FOR are taken four at a time.
//!
//! ```text
//! head: body; jump more                  check: branch stop - i > 2 four head
//! more: branch i >= stop rare step       four: body; i = i + 1; body; i = i + 1; body;
//! step: i = i + 1; jump head               i = i + 1; body; branch i >= stop rare step
//!                                        head, more: as they were
//!                                        step: i = i + 1; jump check
//! ```
//! All edges to the head go to the check. The loops are those that count to a stop, as
//! [`strides`](crate::lower::strides) makes them: a round has no checkpoint and no other visible
//! effect, so the change is invisible. It saves the counting, which is most of a round of a few
//! instructions.

use tidemill_diag::Span;
use tidemill_stdx::id::{Id, IdSet};

use crate::ir::graph::{Graph, Loop};
use crate::ir::{
    Binary, Block, BlockId, Constant, Conversion, Function, Instruction, Place, Register,
    Terminator, Type,
};

/// Rounds at a time.
const ROUNDS: i64 = 4;

/// Instructions of a round at most.
const ROUND_MAX: usize = 10;

/// Instructions by which a function may grow.
const GROWTH_MAX: usize = 1000;

/// A loop of the required form.
struct Short {
    head: BlockId,
    /// The instructions of a round.
    body: Vec<(Instruction, Span)>,
    /// The comparison that ends a round, and where that leads.
    test: (Instruction, Span),
    end: (Terminator, Span),
    /// How the variable counts.
    step: Vec<(Instruction, Span)>,
    variable: Register,
    stop: Register,
    by: i64,
}

/// Unrolls all loops of the function with such rounds.
pub(super) fn run(function: &mut Function) {
    let graph = Graph::of(function);
    let mut growth = 0;
    for one in graph.loops() {
        if let Some(short) = find(function, &graph, &one) {
            growth += ROUNDS as usize * (short.body.len() + short.step.len());
            if growth > GROWTH_MAX {
                return;
            }
            short.apply(function);
        }
    }
}

fn find(function: &Function, graph: &Graph, one: &Loop) -> Option<Short> {
    let mut at = one.head;
    let mut body = Vec::new();
    let end = loop {
        let block = &function.blocks[at];
        if block.is_rare || body.len() + block.instructions.len() > ROUND_MAX {
            return None;
        }
        body.extend(block.instructions.iter().cloned());
        match block.terminator.0 {
            Terminator::Jump(next) if graph.predecessors(next) == [at] => at = next,
            Terminator::Branch { .. } => break block.terminator.clone(),
            _ => return None,
        }
    };
    let Terminator::Branch { condition, otherwise: next, .. } = end.0 else { return None };
    let step = &function.blocks[next];
    let is_step = step.terminator.0 == Terminator::Jump(one.head)
        && graph.predecessors(next) == [at]
        && !step.is_rare;
    // A variable that is in memory as well is stored there.
    let is_store = |instruction: &Instruction| matches!(instruction, Instruction::Store { .. });
    let counting = step.instructions.iter().map(|(instruction, _)| instruction);
    let counting: Vec<&Instruction> = counting.filter(|it| !is_store(it)).collect();
    let [
        Instruction::Constant { to: number, value: Constant::Integer(by) },
        Instruction::Binary { to: sum, operator: Binary::AddUnchecked, a, b },
        Instruction::Copy { to: variable, from },
    ] = counting[..]
    else {
        return None;
    };
    let test = body.pop()?;
    let Instruction::Binary { to, operator, a: counted, b: stop } = test.0 else { return None };
    let reached = if *by > 0 { Binary::GreaterEqual } else { Binary::LessEqual };
    let counts = is_step
        && (a, b, from) == (variable, number, sum)
        && (to, operator, counted) == (condition, reached, *variable)
        && by.unsigned_abs() < 1 << 32;
    let is_plain = body.iter().all(|(instruction, _)| {
        let mut keeps = is_plain(function, instruction);
        let known = [*variable, stop, *number, *sum];
        instruction.assigned(|register| keeps &= !known.contains(&register));
        keeps
    });
    (counts && is_plain).then(|| Short {
        head: one.head,
        body,
        test,
        end,
        step: step.instructions.clone(),
        variable: *variable,
        stop,
        by: *by,
    })
}

/// Whether it is an instruction or two of the machine, without a way out.
fn is_plain(function: &Function, instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Constant { .. }
        | Instruction::Copy { .. }
        | Instruction::Load { .. }
        | Instruction::Store { .. }
        | Instruction::ViewElement { checked: false, .. }
        | Instruction::Convert { conversion: Conversion::IntegerToReal, .. } => true,
        Instruction::Binary { operator, a, .. } => match operator {
            Binary::Add | Binary::Subtract | Binary::Multiply => {
                function.registers[*a] == Type::Real
            }
            Binary::AddUnchecked | Binary::SubtractUnchecked | Binary::MultiplyUnchecked => true,
            _ => false,
        },
        _ => false,
    }
}

/// Removes stores to variables that are stored again, if nothing reads them in between: an address
/// may be that of any variable, unless it is that of an element.
fn forget_stores(instructions: &mut Vec<(Instruction, Span)>) {
    let (mut elements, mut others) = (IdSet::<Register>::new(), IdSet::<Register>::new());
    for (instruction, _) in instructions.iter() {
        let is_element = matches!(instruction, Instruction::ViewElement { .. });
        let addresses = if is_element { &mut elements } else { &mut others };
        instruction.assigned(|register| _ = addresses.insert(register));
    }
    let is_element = |at: Register| elements.contains(at) && !others.contains(at);
    let mut stored_again = Vec::<Place>::new();
    let mut at = instructions.len();
    let mut is_kept = vec![true; at];
    while let Some((instruction, _)) = at.checked_sub(1).map(|before| &instructions[before]) {
        at -= 1;
        match *instruction {
            Instruction::Store { to: to @ (Place::Variable(_) | Place::Local(_)), .. } => {
                is_kept[at] = !stored_again.contains(&to);
                stored_again.push(to);
            }
            Instruction::Load { from: Place::At(at), .. } if is_element(at) => {}
            Instruction::Load { from: Place::At(_) | Place::Outer(_), .. } => stored_again.clear(),
            Instruction::Load { from, .. } => stored_again.retain(|place| *place != from),
            _ => {}
        }
    }
    let mut is_kept = is_kept.into_iter();
    instructions.retain(|_| is_kept.next().unwrap_or(true));
}

impl Short {
    fn apply(self, function: &mut Function) {
        let span = self.end.1;
        let mut instructions = Vec::new();
        for _ in 1..ROUNDS {
            instructions.extend(self.body.iter().cloned());
            instructions.extend(self.step.iter().cloned());
        }
        instructions.extend(self.body);
        forget_stores(&mut instructions);
        instructions.push(self.test);
        let four =
            function.blocks.push(Block { instructions, terminator: self.end, is_rare: false });
        let mut integer = || function.registers.push(Type::Integer);
        let (left, least) = (integer(), integer());
        let condition = function.registers.push(Type::Boolean);
        // The stop is a stride ahead at most, so it is near the variable.
        let (a, b) =
            if self.by > 0 { (self.stop, self.variable) } else { (self.variable, self.stop) };
        let least_value = Constant::Integer((ROUNDS - 2) * self.by.abs());
        let instructions = [
            Instruction::Binary { to: left, operator: Binary::SubtractUnchecked, a, b },
            Instruction::Constant { to: least, value: least_value },
            Instruction::Binary { to: condition, operator: Binary::Greater, a: left, b: least },
        ];
        let instructions = instructions.into_iter().map(|it| (it, span)).collect();
        let check = BlockId::from_index(function.blocks.len());
        for block in function.blocks.iter_mut() {
            block.terminator.0.lead(|target| if target == self.head { check } else { target });
        }
        let end = Terminator::Branch { condition, then: four, otherwise: self.head };
        function.blocks.push(Block { instructions, terminator: (end, span), is_rare: false });
    }
}
