//! Sequences in which the monitor is held and that mostly run to their end without a suspension.
//!
//! Until it suspends, a process is the only one of its component that runs, so no other sees
//! whether the monitor is taken. Such a sequence only tests that it could be taken; code that is
//! about to suspend, or to call an operation of the run-time that may, takes it then. So only
//! sequences that others have to wait for write the lock to memory, and release it.

use crate::ir::suspending::Suspending;
use crate::ir::{BlockId, Function, Instruction, Terminator};
use tidemill_stdx::sorted::SortedSet;

type Position = (BlockId, usize);

/// Where a function has such sequences.
#[derive(Debug, Default)]
pub(super) struct Sections {
    /// What takes the monitor and gives it back.
    edges: SortedSet<Position>,
    /// What is between them.
    inside: SortedSet<Position>,
}

impl Sections {
    pub(super) fn of(function: &Function, suspending: &Suspending) -> Sections {
        let mut all = Sections::default();
        for (id, block) in function.blocks.iter_enumerated() {
            for (index, (instruction, _)) in block.instructions.iter().enumerate() {
                let locks = match instruction {
                    Instruction::Lock { exclusive } => *exclusive,
                    Instruction::LockWhen { .. } => true,
                    _ => false,
                };
                if locks && let Some(one) = section(function, suspending, (id, index)) {
                    all.edges.extend(one.edges);
                    all.inside.extend(one.inside);
                }
            }
        }
        all
    }

    /// Whether the monitor is only tested here.
    pub(super) fn is_edge(&self, at: Position) -> bool {
        self.edges.contains(&at)
    }

    /// Whether it has to be taken here before a suspension.
    pub(super) fn is_inside(&self, at: Position) -> bool {
        self.inside.contains(&at)
    }
}

/// From where the monitor is taken to where it is given back; none if it may be suspended there
/// otherwise than for a message, at a checkpoint or to put keys in order.
fn section(function: &Function, suspending: &Suspending, lock: Position) -> Option<Sections> {
    let mut found = Sections::default();
    found.edges.insert(lock);
    let mut ways = vec![(lock.0, lock.1 + 1)];
    let mut seen = SortedSet::new();
    while let Some((id, start)) = ways.pop() {
        if !seen.insert((id, start)) {
            continue;
        }
        let block = &function.blocks[id];
        let rest = block.instructions.iter().enumerate().skip(start);
        let mut is_over = false;
        for (index, (instruction, _)) in rest {
            match instruction {
                Instruction::Unlock => {
                    found.edges.insert((id, index));
                    is_over = true;
                    break;
                }
                Instruction::Send { .. }
                | Instruction::Receive { .. }
                | Instruction::Test { .. }
                | Instruction::FirstKey { .. }
                | Instruction::NextKey { .. }
                | Instruction::Checkpoint => {}
                other if other.suspends(|callee| suspending.contains(callee)) => return None,
                _ => {}
            }
            found.inside.insert((id, index));
        }
        if is_over {
            continue;
        }
        if matches!(block.terminator.0, Terminator::Return(_)) {
            return None;
        }
        ways.extend(block.terminator.0.targets().map(|target| (target, 0)));
    }
    Some(found)
}
