//! Optimisation before translation: output, the order and place of faults, and what others see at
//! each suspension stay as they are. The interpreter runs programs as they were lowered; tests
//! compare the two.
//!
//! * `clear`: what nothing leads to is taken out.
//! * `inline`: calls of small procedures become their code.
//! * `rotate`: loops test at their end.
//! * `hoist`: what loops find in memory again and again is loaded once before them.
//! * `reuse`: what has been computed, checked or loaded is not again.
//! * `counters`: counting by 1 is not checked.
//! * `ranges`: arithmetic whose results fit is not checked.
//! * `version`: places in arrays that can be tested before a loop are not in it.
//! * `unroll`: short rounds of loops are taken several at a time.
//! * `split`: live ranges end and begin anew where loops without calls do.

use crate::ir::graph::Graph;
use crate::ir::memory::Effects;
use crate::ir::suspending::Suspending;
use crate::ir::{Block, Function, Program, Terminator};

mod counters;
mod hoist;
mod inline;
mod preheader;
mod ranges;
mod reuse;
mod rotate;
mod split;
mod unroll;
mod version;

/// The program with all passes applied.
pub fn optimise(program: &Program) -> Program {
    let mut better = program.clone();
    let (effects, suspending) = (Effects::of(&better), Suspending::of(&better));
    better.functions.iter_mut().for_each(clear);
    inline::run(&mut better, &suspending);
    for function in better.functions.iter_mut() {
        rotate::run(function);
        hoist::run(function, &effects, &suspending);
        reuse::run(function, &effects, &suspending);
        counters::run(function);
        let tested = ranges::run(function);
        if version::run(function, &tested) {
            ranges::run(function);
        }
        unroll::run(function);
        split::run(function);
    }
    better
}

/// Empties unreachable blocks, so that passes need not visit them.
fn clear(function: &mut Function) {
    let reached: tidemill_stdx::id::IdSet<_> =
        Graph::of(function).order().iter().copied().collect();
    for (id, block) in function.blocks.iter_mut_enumerated() {
        if !reached.contains(id) {
            let terminator = (Terminator::Exit, block.terminator.1);
            *block = Block { instructions: Vec::new(), terminator, is_rare: true };
        }
    }
}
