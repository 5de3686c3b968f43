//! What can be wrong with a kernel.

use super::{BlockId, End, Expr, Facts, HEADER_MAX, Kernel, Place, Step, Supply, Value, flow};
use crate::link::QUEUED_MAX;
use crate::packet::BYTES_MAX;

/// Limits of a kernel, beyond which it is no small thing any more.
const BLOCKS_MAX: usize = 4096;
const STEPS_MAX: usize = 65_536;
/// How many outputs may be named.
const OUTPUTS_MAX: u32 = 256;

impl Kernel {
    /// All that is wrong; nothing, if code may be made of it.
    pub fn verify(&self) -> Vec<String> {
        let steps: usize = self.blocks.iter().map(|block| block.steps.len()).sum();
        if self.blocks.is_empty() {
            return vec!["it has no block".to_owned()];
        }
        if self.blocks.len() > BLOCKS_MAX || steps > STEPS_MAX || self.values as usize > steps {
            return vec![format!("it has more than {BLOCKS_MAX} blocks or {STEPS_MAX} steps")];
        }
        let mut wrong = Vec::new();
        self.verify_values(&mut wrong);
        self.verify_supply(&mut wrong);
        let flowing = flow(self, 0);
        for (id, block) in self.blocks.iter_enumerated() {
            self.verify_end(id, block.end, &mut wrong);
            let missing = block.steps.iter().filter_map(|&step| self.missing(step));
            wrong.extend(missing.map(|what| format!("{id}: {what}")));
            // What cannot be reached does no harm beyond that: it is never carried out, and no code
            // is made.
            let Some(mut facts) = flowing.blocks[id].clone() else { continue };
            for &step in &block.steps {
                if let Some(what) = self.verify_step(step, &facts) {
                    wrong.push(format!("{id}: {what}"));
                }
                facts.step(self, step);
            }
            if let End::If(value, ..) = block.end
                && !facts.is_set(value)
            {
                wrong.push(format!("{id}: {value} is not set on every way"));
            }
        }
        wrong
    }

    fn verify_supply(&self, wrong: &mut Vec<String>) {
        let Some(Supply { bytes, burst, left }) = self.supply else { return };
        if bytes as usize > BYTES_MAX {
            wrong.push(format!("a packet has {BYTES_MAX} bytes at most"));
        }
        if burst == 0 || burst as usize > QUEUED_MAX {
            wrong.push(format!("a burst is between 1 and {QUEUED_MAX}"));
        }
        if left as usize >= self.words.len() {
            wrong.push(format!("there is no word {left}"));
        }
        // It is counted for a whole burst at once, or packet by packet, as suits the engine.
        let is_used = self.blocks.iter().flat_map(|block| &block.steps).any(|step| match *step {
            Step::Let(_, Expr::Word(word)) | Step::SetWord(word, _) => word == left,
            _ => false,
        });
        if is_used {
            wrong.push(format!("word {left} counts what is left: no step may read or set it"));
        }
    }

    /// Each value is set in one place.
    fn verify_values(&self, wrong: &mut Vec<String>) {
        let mut set = vec![false; self.values as usize];
        for step in self.blocks.iter().flat_map(|block| &block.steps) {
            let Step::Let(value, _) = step else { continue };
            match set.get_mut(value.raw() as usize) {
                None => wrong.push(format!("there is no {value}")),
                Some(true) => wrong.push(format!("{value} is set twice")),
                Some(set) => *set = true,
            }
        }
    }

    fn verify_end(&self, id: BlockId, end: End, wrong: &mut Vec<String>) {
        for to in end.targets() {
            if to <= id || self.blocks.get(to).is_none() {
                wrong.push(format!("{id}: {to} is no later block"));
            }
        }
        let what = match end {
            End::Test(test, ..) if test as usize >= self.tests.len() => "there is no such test",
            End::Drop(reason) if self.lacks_reason(reason) => "there is no such reason",
            End::Emit(output) if output >= OUTPUTS_MAX => "there are too many outputs",
            _ => return,
        };
        wrong.push(format!("{id}: {what}"));
    }

    fn lacks_reason(&self, reason: u32) -> bool {
        reason as usize >= self.reasons.len()
    }

    /// What a step names and the kernel does not have.
    fn missing(&self, step: Step) -> Option<String> {
        match step {
            Step::Let(_, Expr::Word(word)) | Step::SetWord(word, _)
                if word as usize >= self.words.len() =>
            {
                Some(format!("there is no word {word}"))
            }
            Step::Let(_, Expr::Linked(output)) if output >= OUTPUTS_MAX => {
                Some("there are too many outputs".to_owned())
            }
            Step::Need(_, reason) | Step::Prepend(_, reason) if self.lacks_reason(reason) => {
                Some(format!("there is no reason {reason}"))
            }
            _ => None,
        }
    }

    /// What does not hold when a step is reached.
    fn verify_step(&self, step: Step, facts: &Facts) -> Option<String> {
        let unset = |value: Value| {
            (!facts.is_set(value)).then(|| format!("{value} is not set on every way"))
        };
        let base = |place: Place| place.base.and_then(unset);
        match step {
            Step::Let(_, expr) => match expr {
                Expr::Load(width, place) => base(place).or_else(|| {
                    let bytes = width.bytes();
                    (!facts.covers(width, place))
                        .then(|| format!("{bytes} bytes at {place} may not be there"))
                }),
                Expr::Binary(_, a, b) => unset(a).or_else(|| unset(b)),
                _ => None,
            },
            Step::SetWord(_, value) | Step::SetMark(value) | Step::Truncate(value) => unset(value),
            Step::Store(width, place, value) => {
                unset(value).or_else(|| base(place)).or_else(|| {
                    let bytes = width.bytes();
                    (!facts.covers(width, place))
                        .then(|| format!("{bytes} bytes at {place} may not be there"))
                })
            }
            Step::Need(place, _) => base(place),
            Step::Prepend(bytes, _) => (bytes > HEADER_MAX)
                .then(|| format!("at most {HEADER_MAX} bytes may be put before")),
            Step::Strip(bytes) => (u64::from(bytes) > facts.bytes)
                .then(|| format!("the packet may not have {bytes} bytes to take off")),
        }
    }
}
