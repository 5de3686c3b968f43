//! Writes a program for a graph.
//!
//! A value that is used more than once and takes several instructions has a word of memory: it is
//! computed where it is needed first on a way, and loaded where all ways have computed it.

use std::cmp::Reverse;
use std::fmt;

use tidemill_stdx::id::IdVec;
use tidemill_stdx::sort;

use super::code::{
    ABS, ADD, ALU, AND, B, DIV, H, IMM, IND, JA, JEQ, JGE, JGT, JMP, JSET, LD, LDX, LEN, LSH, MEM,
    MISC, MOD, MUL, OR, RSH, ST, SUB, TAX, W, X, XOR,
};
use super::instruction::{HAS_VLAN_TAG, Instruction, LENGTH_MAX, OUTGOING, PACKET_TYPE};
use super::layout::{Item, Place, layout};
use crate::ast::Operator;
use crate::graph::{Check, Comparison, Graph, NodeId, Target, Value, ValueId, Width};

/// Words of memory, and those for values that are used more than once.
const MEMORY: u32 = 16;
const KEPT_MAX: usize = 8;

/// Why a filter has no program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsupported {
    /// It walks along headers (`protochain`), and programs have no loops.
    Walk,
    /// It needs more than sixteen words of memory at once.
    Memory,
    /// It has more than [`LENGTH_MAX`] instructions.
    Length,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unsupported::Walk => "it walks along headers, and classic BPF has no loops",
            Unsupported::Memory => "it needs more than 16 words of memory at once",
            Unsupported::Length => "it needs more than 4096 instructions",
        })
    }
}

impl std::error::Error for Unsupported {}

/// A program that passes all packets that the filter matches, and of packets without an outer VLAN
/// tag no others.
///
/// # Errors
/// What classic BPF cannot express of this filter.
pub fn program(graph: &Graph) -> Result<Vec<Instruction>, Unsupported> {
    let kept = kept(graph);
    let free = kept.len() as u32;
    let needs = needs(graph);
    let mut writer = Writer { graph, kept, needs, free, computed: 0, items: Vec::new() };
    writer.tagged_pass()?;
    writer.push(Item::Jump(Place::of(graph.begin)))?;
    // What all ways to a node have computed: nothing is known of those not reached yet.
    let mut computed: IdVec<NodeId, Option<u32>> = graph.nodes.iter().map(|_| None).collect();
    if let Target::Node(begin) = graph.begin {
        computed[begin] = Some(0);
    }
    for id in graph.reached() {
        writer.computed = computed[id].unwrap_or(0);
        writer.push(Item::Node(id))?;
        writer.node(id)?;
        for next in graph.nodes[id].targets().into_iter().filter_map(Target::node) {
            let before = computed[next].unwrap_or(u32::MAX);
            computed[next] = Some(before & writer.computed);
        }
    }
    let code = layout(&writer.items, graph.nodes.len());
    if code.len() > LENGTH_MAX { Err(Unsupported::Length) } else { Ok(code) }
}

/// The values with words of memory of their own: those with several uses, the most used first.
fn kept(graph: &Graph) -> Vec<ValueId> {
    let mut uses = vec![0u32; graph.values.len()];
    let mut used = |id: ValueId| uses[id.raw() as usize] += 1;
    for (id, _) in graph.values.iter() {
        graph.values.operands(id).into_iter().flatten().for_each(&mut used);
    }
    for id in graph.reached() {
        let node = &graph.nodes[id];
        used(node.test.left);
        used(node.test.right);
        for check in &node.checks {
            match *check {
                Check::Bound { base, .. } => base.into_iter().for_each(&mut used),
                Check::Divisor(value) | Check::Walk(value) => used(value),
            }
        }
    }
    let takes_several =
        |value| matches!(value, Value::Binary(..) | Value::Load { base: Some(_), .. });
    let values = graph.values.iter().filter(|&(_, value)| takes_several(value));
    let mut several: Vec<(u32, ValueId)> =
        values.map(|(id, _)| (uses[id.raw() as usize], id)).filter(|(uses, _)| *uses > 1).collect();
    sort::by_key(&mut several, |&(uses, id)| (Reverse(uses), id));
    several.into_iter().take(KEPT_MAX).map(|(_, id)| id).collect()
}

/// The words of memory that computing each value takes (Sethi and Ullman's numbers).
fn needs(graph: &Graph) -> Vec<u32> {
    let mut needs: Vec<u32> = Vec::with_capacity(graph.values.len());
    for (_, value) in graph.values.iter() {
        let of = |id: ValueId| needs.get(id.raw() as usize).copied().unwrap_or(0);
        let need = match value {
            Value::Load { base: Some(base), .. } => of(base),
            Value::Binary(_, left, right) if graph.values.as_constant(right).is_none() => {
                let (left, right) = (of(left), of(right));
                if left == right { left + 1 } else { left.max(right) }
            }
            Value::Binary(_, left, _) => of(left),
            _ => 0,
        };
        needs.push(need);
    }
    needs
}

struct Writer<'g> {
    graph: &'g Graph,
    /// By word: the value that it is for.
    kept: Vec<ValueId>,
    needs: Vec<u32>,
    /// The first word for other uses.
    free: u32,
    /// The words that hold their value: a bit for each.
    computed: u32,
    items: Vec<Item>,
}

impl Writer<'_> {
    fn push(&mut self, item: Item) -> Result<(), Unsupported> {
        if self.items.len() > 2 * LENGTH_MAX {
            return Err(Unsupported::Length);
        }
        self.items.push(item);
        Ok(())
    }

    fn emit(&mut self, code: u16, number: u32) -> Result<(), Unsupported> {
        self.push(Item::Do(Instruction::new(code, number)))
    }

    fn branch(&mut self, code: u16, number: u32, ways: [Place; 2]) -> Result<(), Unsupported> {
        self.push(Item::Branch { code: JMP | code, number, ways })
    }

    fn tagged_pass(&mut self) -> Result<(), Unsupported> {
        self.emit(LD | B | ABS, HAS_VLAN_TAG)?;
        self.branch(JEQ, 0, [Place::Next, Place::Pass])
    }

    fn node(&mut self, id: NodeId) -> Result<(), Unsupported> {
        let node = &self.graph.nodes[id];
        for check in &node.checks {
            self.check(*check)?;
        }
        let test = node.test;
        let code = match test.comparison {
            Comparison::Equal => JEQ,
            Comparison::Greater => JGT,
            Comparison::GreaterOrEqual => JGE,
            Comparison::Set => JSET,
        };
        let ways = [Place::of(node.yes), Place::of(node.no)];
        match self.graph.values.as_constant(test.right) {
            Some(number) => {
                self.value(test.left, self.free)?;
                self.branch(code, number, ways)
            }
            None => {
                self.pair(test.left, test.right, self.free)?;
                self.branch(code | X, 0, ways)
            }
        }
    }

    fn check(&mut self, check: Check) -> Result<(), Unsupported> {
        match check {
            Check::Bound { base, end } => {
                self.emit(LD | W | LEN, 0)?;
                self.branch(JGE, end, [Place::Next, Place::Reject])?;
                let Some(base) = base else { return Ok(()) };
                // The base is at most the length less the end: this cannot wrap.
                self.emit(ALU | SUB, end)?;
                self.emit(ST, self.free)?;
                self.value(base, self.free + 1)?;
                self.emit(LDX | W | MEM, self.free)?;
                self.branch(JGT | X, 0, [Place::Reject, Place::Next])
            }
            Check::Divisor(value) => {
                self.value(value, self.free)?;
                self.branch(JEQ, 0, [Place::Reject, Place::Next])
            }
            Check::Walk(_) => Err(Unsupported::Walk),
        }
    }

    /// Loads two values into `A` and `X`; words of memory from `free` on may be used. The one that
    /// needs more words is computed first.
    fn pair(&mut self, left: ValueId, right: ValueId, free: u32) -> Result<(), Unsupported> {
        if free >= MEMORY {
            return Err(Unsupported::Memory);
        }
        let [of_left, of_right] = [left, right].map(|id| self.needs[id.raw() as usize]);
        let (first, second) = if of_right >= of_left { (right, left) } else { (left, right) };
        self.value(first, free)?;
        self.emit(ST, free)?;
        self.value(second, free + 1)?;
        if first == right {
            return self.emit(LDX | W | MEM, free);
        }
        self.emit(MISC | TAX, 0)?;
        self.emit(LD | W | MEM, free)
    }

    /// Loads a value into `A`.
    fn value(&mut self, id: ValueId, free: u32) -> Result<(), Unsupported> {
        let Some(word) = self.kept.iter().position(|&kept| kept == id) else {
            return self.compute(id, free);
        };
        if self.computed & 1 << word != 0 {
            return self.emit(LD | W | MEM, word as u32);
        }
        self.compute(id, free)?;
        self.computed |= 1 << word;
        self.emit(ST, word as u32)
    }

    fn compute(&mut self, id: ValueId, free: u32) -> Result<(), Unsupported> {
        match self.graph.values.get(id) {
            Value::Constant(number) => self.emit(LD | W | IMM, number),
            Value::Length => self.emit(LD | W | LEN, 0),
            Value::Outgoing => {
                self.emit(LD | W | ABS, PACKET_TYPE)?;
                self.one_or_other(JEQ, OUTGOING, [(LD | W | IMM, 1), (LD | W | IMM, 0)])
            }
            Value::Load { width, base, offset } => {
                let size = match width {
                    Width::Byte => B,
                    Width::Half => H,
                    Width::Word => W,
                };
                match base {
                    None => self.emit(LD | size | ABS, offset),
                    Some(base) => {
                        self.value(base, free)?;
                        self.emit(MISC | TAX, 0)?;
                        self.emit(LD | size | IND, offset)
                    }
                }
            }
            Value::Binary(operator, left, right) => self.binary(operator, left, right, free),
            Value::Walk { .. } => Err(Unsupported::Walk),
        }
    }

    /// One instruction if a comparison of `A` holds, else another one.
    fn one_or_other(
        &mut self,
        comparison: u16,
        number: u32,
        [yes, no]: [(u16, u32); 2],
    ) -> Result<(), Unsupported> {
        self.push(Item::Do(Instruction::jump(comparison, number, (0, 2))))?;
        self.emit(yes.0, yes.1)?;
        self.emit(JMP | JA, 1)?;
        self.emit(no.0, no.1)
    }

    fn binary(
        &mut self,
        operator: Operator,
        left: ValueId,
        right: ValueId,
        free: u32,
    ) -> Result<(), Unsupported> {
        let code = match operator {
            Operator::Add => ADD,
            Operator::Subtract => SUB,
            Operator::Multiply => MUL,
            Operator::Divide => DIV,
            Operator::Remainder => MOD,
            Operator::And => AND,
            Operator::Or => OR,
            Operator::Xor => XOR,
            Operator::ShiftLeft => LSH,
            Operator::ShiftRight => RSH,
        };
        let is_shift = matches!(operator, Operator::ShiftLeft | Operator::ShiftRight);
        match self.graph.values.as_constant(right) {
            // The kernel refuses such a constant. A divisor of 0 has failed its check.
            Some(32..) if is_shift => self.emit(LD | W | IMM, 0),
            Some(0) if matches!(operator, Operator::Divide | Operator::Remainder) => {
                self.emit(LD | W | IMM, 0)
            }
            Some(number) => {
                self.value(left, free)?;
                self.emit(ALU | code, number)
            }
            None => {
                self.pair(left, right, free)?;
                self.emit(ALU | code | X, 0)?;
                if is_shift { self.limit_shift(right, free) } else { Ok(()) }
            }
        }
    }

    /// Makes the result of a shift in `A` 0, if it was by more than 31: machines take that modulo
    /// 32.
    fn limit_shift(&mut self, distance: ValueId, free: u32) -> Result<(), Unsupported> {
        if free + 1 >= MEMORY {
            return Err(Unsupported::Memory);
        }
        self.emit(ST, free)?;
        self.value(distance, free + 1)?;
        self.one_or_other(JGT, 31, [(LD | W | IMM, 0), (LD | W | MEM, free)])
    }
}
