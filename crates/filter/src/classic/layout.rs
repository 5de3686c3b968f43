//! Lays a program out: jumps lead forwards, so from its end on all distances are known.

use super::code::{JA, JMP, RET};
use super::instruction::Instruction;
use crate::graph::{NodeId, Target};

/// What a program returns for packets that pass: all their bytes.
const PASS: u32 = u32::MAX;

/// Where a jump leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The next item.
    Next,
    /// The return for packets that pass, or do not.
    Pass,
    Reject,
    Node(NodeId),
}

impl Place {
    pub(super) fn of(target: Target) -> Place {
        match target {
            Target::Accept => Place::Pass,
            Target::Reject => Place::Reject,
            Target::Node(id) => Place::Node(id),
        }
    }
}

/// A part of a program whose distances are yet to be set.
pub(super) enum Item {
    Do(Instruction),
    /// The beginning of a node.
    Node(NodeId),
    Jump(Place),
    /// A comparison, and the ways if it holds and if not.
    Branch {
        code: u16,
        number: u32,
        ways: [Place; 2],
    },
}

/// The instructions of items, which begin `nodes` nodes at most, and the returns after them.
pub(super) fn layout(items: &[Item], nodes: usize) -> Vec<Instruction> {
    let mut tail = Tail { nodes: vec![0; nodes], reversed: Vec::new() };
    tail.reversed.extend([Instruction::new(RET, 0), Instruction::new(RET, PASS)]);
    for item in items.iter().rev() {
        match *item {
            Item::Do(instruction) => tail.reversed.push(instruction),
            Item::Node(id) => tail.nodes[id.raw() as usize] = tail.reversed.len(),
            Item::Jump(place) => tail.jump(place),
            Item::Branch { code, number, ways } => tail.branch(code, number, ways),
        }
    }
    tail.reversed.reverse();
    tail.reversed
}

/// The end of a program, its last instruction first.
struct Tail {
    reversed: Vec<Instruction>,
    /// By node: the instructions from its beginning to the end.
    nodes: Vec<usize>,
}

impl Tail {
    /// The instructions between the next one that is put in front and a place.
    fn distance(&self, place: Place) -> usize {
        let from_end = match place {
            Place::Next => return 0,
            Place::Pass => 2,
            Place::Reject => 1,
            Place::Node(id) => self.nodes[id.raw() as usize],
        };
        self.reversed.len() - from_end
    }

    fn jump(&mut self, place: Place) {
        let distance = self.distance(place);
        if distance > 0 {
            self.reversed.push(Instruction::new(JMP | JA, distance as u32));
        }
    }

    /// Branches have distances of eight bits: to what is further away they jump by way of a jump.
    fn branch(&mut self, code: u16, number: u32, ways: [Place; 2]) {
        // In front of this, after the jumps that are put there.
        let next = self.reversed.len();
        let is_far = ways.map(|place| self.distance(place) + 2 > usize::from(u8::MAX));
        let mut begins = [None; 2];
        for (begin, (place, is_far)) in begins.iter_mut().zip(ways.into_iter().zip(is_far)).rev() {
            if is_far {
                let distance = self.distance(place) as u32;
                self.reversed.push(Instruction::new(JMP | JA, distance));
                *begin = Some(self.reversed.len());
            }
        }
        let distance = |tail: &Tail, place, begin: Option<usize>| match (begin, place) {
            (Some(begin), _) => tail.reversed.len() - begin,
            (None, Place::Next) => tail.reversed.len() - next,
            (None, place) => tail.distance(place),
        };
        let [yes, no] = [0, 1].map(|way| distance(self, ways[way], begins[way]) as u8);
        let jumps = Instruction { code, jump_true: yes, jump_false: no, number };
        self.reversed.push(jumps);
    }
}
