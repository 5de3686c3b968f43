//! Counters that need not be counted: where a kernel adds the same to a word for each packet, or
//! its length, the sum follows from the packets and bytes that its link has carried.
//!
//! A word is of that kind if the kernel only ever adds to it, once, in its first block, before
//! anything that may drop the packet, and if it reads the word for nothing else.

use crate::kernel::{BlockId, End, Expr, Facts, Kernel, Operator, Step, Value};

/// What is added to a word for each packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Each {
    Number(u64),
    /// The bytes that the packet has when it arrives.
    Length,
}

/// A word that grows with each packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Linear {
    pub word: u32,
    pub each: Each,
    /// The values that are for this alone: what the word was, and what it becomes.
    pub values: [Value; 2],
}

/// The words of a kernel that grow with each packet; `facts` hold where it begins.
pub(super) fn linear(kernel: &Kernel, facts: &Facts) -> Vec<Linear> {
    let Some(first) = kernel.blocks.get(BlockId::new(0)) else { return Vec::new() };
    let (mut found, mut facts) = (Vec::new(), facts.clone());
    let mut is_whole = true;
    for &step in &first.steps {
        match step {
            Step::Need(place, _) if !facts.reach(place) => break,
            Step::Prepend(..) => break,
            step if step.changes_length() => is_whole = false,
            Step::SetWord(word, value) => {
                let linear = grows(kernel, word, value);
                found.extend(linear.filter(|linear| is_whole || linear.each != Each::Length));
            }
            _ => {}
        }
        facts.step(kernel, step);
    }
    found
}

/// Whether a word becomes `value` by an addition, and is of no other use.
fn grows(kernel: &Kernel, word: u32, value: Value) -> Option<Linear> {
    let Expr::Binary(Operator::Add, one, other) = expr_of(kernel, value)? else { return None };
    let is_word = |value| expr_of(kernel, value) == Some(Expr::Word(word));
    let (old, by) = match (is_word(one), is_word(other)) {
        (true, false) => (one, other),
        (false, true) => (other, one),
        _ => return None,
    };
    let each = match expr_of(kernel, by)? {
        Expr::Const(number) => Each::Number(number),
        Expr::Length => Each::Length,
        _ => return None,
    };
    let steps = || kernel.blocks.iter().flat_map(|block| &block.steps);
    let touches = |step: &&Step| match **step {
        Step::SetWord(of, _) | Step::Let(_, Expr::Word(of)) => of == word,
        _ => false,
    };
    let alone = steps().filter(touches).count() == 2;
    (alone && uses(kernel, old) == 1 && uses(kernel, value) == 1).then_some(Linear {
        word,
        each,
        values: [old, value],
    })
}

fn expr_of(kernel: &Kernel, value: Value) -> Option<Expr> {
    let mut steps = kernel.blocks.iter().flat_map(|block| &block.steps);
    steps.find_map(|step| match *step {
        Step::Let(of, expr) if of == value => Some(expr),
        _ => None,
    })
}

/// The number of uses of a value.
fn uses(kernel: &Kernel, value: Value) -> usize {
    let is = |other: Value| usize::from(other == value);
    let of_step = |step: &Step| step.operands().map(is).sum::<usize>();
    let of_end = |end: End| match end {
        End::If(condition, ..) => is(condition),
        _ => 0,
    };
    let blocks = kernel.blocks.iter();
    blocks.map(|block| block.steps.iter().map(&of_step).sum::<usize>() + of_end(block.end)).sum()
}
