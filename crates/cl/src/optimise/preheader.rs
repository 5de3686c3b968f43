//! The place right before a loop.

use tidemill_diag::Span;

use crate::ir::graph::Loop;
use crate::ir::{Block, BlockId, Function, Terminator};

/// The block through which every way into the loop leads, with the head as its only successor; made
/// if there is none.
pub(super) fn before(function: &mut Function, one: &Loop, span: Span) -> BlockId {
    let leads = |block: &Block| block.terminator.0.targets().any(|target| target == one.head);
    let blocks = function.blocks.iter_enumerated();
    let outside: Vec<BlockId> = blocks
        .filter(|(id, block)| !one.blocks.contains(*id) && leads(block))
        .map(|(id, _)| id)
        .collect();
    if let [only] = outside[..]
        && matches!(function.blocks[only].terminator.0, Terminator::Jump(_))
    {
        return only;
    }
    let is_rare = function.blocks[one.head].is_rare;
    let terminator = (Terminator::Jump(one.head), span);
    let before = function.blocks.push(Block { instructions: Vec::new(), terminator, is_rare });
    for block in outside {
        let terminator = &mut function.blocks[block].terminator.0;
        terminator.lead(|target| if target == one.head { before } else { target });
    }
    before
}
