//! A kernel with what it remembers: what an app given as code holds.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::interpret::{Around, Verdict, interpret};
use super::{Kernel, Supply};
use crate::app::{Io, Progress};
use crate::packet::Packet;

/// A kernel that runs. An app given as code keeps one, hands it to the engine from
/// [`App::kernel`](crate::app::App::kernel), and calls [`Running::push`] from its `push`, which is
/// what happens where there is no generated code.
#[derive(Debug)]
pub struct Running {
    kernel: Arc<Kernel>,
    /// The words, then how many packets were dropped by reason, then those that were `unlinked`,
    /// then those that a pull has promised to the push that follows it, which is for code only.
    /// Generated code knows the address, and whoever has such code holds them too.
    words: Rc<[Cell<u64>]>,
    values: Box<[u64]>,
}

impl Running {
    /// A kernel that has seen nothing.
    pub fn new(kernel: Arc<Kernel>) -> Running {
        let initial = kernel.words.iter().map(|word| word.initial);
        let drops = std::iter::repeat_n(0, kernel.reasons.len() + 2);
        let words = initial.chain(drops).map(Cell::new).collect();
        let values = vec![0; kernel.values as usize].into();
        Running { kernel, words, values }
    }

    /// What it does.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// What a word is.
    pub fn word(&self, name: &str) -> Option<u64> {
        let at = self.kernel.words.iter().position(|word| word.name == name)?;
        Some(self.words[at].get())
    }

    /// Changes a word; a name that is not there changes nothing.
    pub fn set_word(&mut self, name: &str, number: u64) {
        if let Some(at) = self.kernel.words.iter().position(|word| word.name == name) {
            self.words[at].set(number);
        }
    }

    /// Goes on as another kernel: what is counted under the same name, drops by reason included,
    /// goes on from where it is.
    pub fn become_another(&mut self, mut other: Running) {
        for (name, count) in self.counts() {
            if name.strip_prefix("drop_") == Some("unlinked") {
                other.words[other.kernel.words.len() + other.kernel.reasons.len()].set(count);
            } else if let Some(reason) = name.strip_prefix("drop_")
                && let Some(at) = other.kernel.reasons.iter().position(|own| own == reason)
            {
                other.words[other.kernel.words.len() + at].set(count);
            } else if other.kernel.words.iter().any(|own| own.is_counter && own.name == name) {
                other.set_word(&name, count);
            }
        }
        *self = other;
    }

    /// The words, where they are.
    pub(crate) fn words(&self) -> &Rc<[Cell<u64>]> {
        &self.words
    }

    /// Its counters, and `drop_<reason>` for what was dropped.
    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let words = self.kernel.words.iter().zip(&*self.words);
        let own = words.filter(|(word, _)| word.is_counter);
        let own = own.map(|(word, count)| (word.name.clone(), count.get()));
        let reasons = self.kernel.reasons.iter().map(String::as_str).chain(["unlinked"]);
        let drops = reasons.zip(&self.words[self.kernel.words.len()..]);
        let drops = drops.filter(|(_, count)| count.get() > 0);
        own.chain(drops.map(|(why, count)| (format!("drop_{why}"), count.get()))).collect()
    }

    /// Takes all packets of all inputs, one after the other.
    pub fn push(&mut self, io: &mut Io) {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                self.take(io, packet);
            }
        }
    }

    /// Brings packets, if it is a source.
    pub fn pull(&mut self, io: &mut Io) -> Progress {
        let Some(Supply { bytes, burst, left }) = self.kernel.supply else { return Progress::Done };
        let left = left as usize;
        let count = (io.room(0) as u64).min(burst.into()).min(self.words[left].get());
        for _ in 0..count {
            let Some(mut packet) = io.packet() else { return Progress::Poll };
            if packet.resize(bytes as usize).is_err() {
                io.drop(packet, "too_long");
                continue;
            }
            self.take(io, packet);
            if self.words[left].get() != u64::MAX {
                self.words[left].set(self.words[left].get() - 1);
            }
        }
        if self.words[left].get() == 0 { Progress::Done } else { Progress::Ready }
    }

    /// One packet.
    fn take(&mut self, io: &mut Io, mut packet: Packet) {
        let kernel = &self.kernel;
        let (words, drops) = self.words.split_at(kernel.words.len());
        let is_linked = |output: u32| io.is_linked(output as usize);
        let mut around =
            Around { words, now_ns: io.now_ns(), is_linked: &is_linked, values: &mut self.values };
        let drop = |number: usize| drops[number].set(drops[number].get() + 1);
        let output = match interpret(kernel, &mut packet, &mut around) {
            Verdict::Emit(output) => output as usize,
            Verdict::EmitAll => {
                let last = io.outputs().saturating_sub(1);
                for output in 0..last {
                    if let Some(copy) = io.duplicate(&packet) {
                        io.send(output, copy);
                    }
                }
                last
            }
            Verdict::Drop(reason) => return drop(reason as usize),
            Verdict::Take => return,
        };
        if io.is_linked(output) { io.send(output, packet) } else { drop(kernel.reasons.len()) }
    }
}
