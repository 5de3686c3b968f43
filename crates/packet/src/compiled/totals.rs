//! What a run counts: planned before its code is written, and written to memory when it ends.

use tidemill_jit::build::{
    InstBuilder, IntCC, StackSlotData, StackSlotKind, Value, Variable, types,
};

use super::counter::{Counter, REGISTERS_MAX};
use super::counts::{Between, Count, Counted, Passage};
use super::linear::{Each, Linear, linear};
use super::writer::{Feed, Writer, variable};
use crate::kernel::{FlowFacts, Step, WordKind};
use crate::link::offsets as ring;

impl Writer<'_, '_, '_> {
    // ---- planned

    /// How the packets over a link are counted, and their bytes, if those of the kernel `before` it
    /// are counted so.
    pub fn count_link(&mut self, link: usize, before: usize, counted: Counted) -> Between {
        let flow = &self.sites[before].flow;
        let passage = Passage {
            is_whole: flow.all_leave_by(self.output_of(before, link)),
            keeps_length: flow.keeps_length,
            length: self.length_after(before),
        };
        Between::after(link, counted, passage, || self.zero_counter())
    }

    /// How long all packets are that leave a kernel.
    pub fn length_after(&self, at: usize) -> Option<u64> {
        self.sites[at].length.filter(|_| self.sites[at].flow.keeps_length)
    }

    /// The words that follow from the number of packets of a kernel, and of bytes, if these are
    /// counted.
    pub fn linear(&self, at: usize, flow: &FlowFacts, length: Option<u64>) -> Vec<Linear> {
        let (kernel, _) = self.kernel(at);
        let Some(Some(facts)) = flow.blocks.iter().next() else { return Vec::new() };
        let mut found = linear(kernel, facts);
        if at == 0 && length.is_none() {
            found.retain(|linear| linear.each != Each::Length);
        }
        found
    }

    /// The number of copies that a kernel makes of each packet, if it is the same for all.
    pub fn copies_of_each(&self, at: usize, flow: &FlowFacts) -> Option<u64> {
        let (kernel, _) = self.kernel(at);
        let is_simple = kernel.blocks.len() == 1 && !flow.may_end;
        let outputs = self.blueprint.apps[self.app(at)].outputs.len() as u64;
        (self.run.feed == Feed::Pool && is_simple && flow.emitted_all.is_some())
            .then(|| outputs.saturating_sub(1))
    }

    /// Registers for the words that a kernel changes. Local words have nothing to begin with.
    pub fn registers(
        &mut self,
        at: usize,
        linear: &[Linear],
        left: &mut usize,
    ) -> Vec<Option<Variable>> {
        let (kernel, words) = self.kernel(at);
        let mut registers = vec![None; kernel.words.len()];
        for (word, register) in kernel.words.iter().zip(&mut registers) {
            if word.kind == WordKind::Local {
                *register = Some(self.body.declare_var(types::I64));
            }
        }
        for step in kernel.blocks.iter().flat_map(|block| &block.steps) {
            let Step::SetWord(word, _) = *step else { continue };
            let register = &mut registers[word as usize];
            let is_linear = linear.iter().any(|linear| linear.word == word);
            if register.is_none() && !is_linear && *left > 0 {
                *left -= 1;
                let value = self.body.load_word(words, word as usize * 8);
                *register = Some(variable(self.body, value));
            }
        }
        registers
    }

    pub fn oldest_of(&mut self, at: usize) -> Option<Counter> {
        let part = &self.blueprint.apps[self.app(at)];
        if at == 0 || !part.is_sink || self.run.feed == Feed::Pool {
            return None;
        }
        let oldest = self.body.load_word(part.oldest, 0);
        Some(self.counter(oldest))
    }

    // ---- kept while the loop runs

    /// Whether the next counter is in a register.
    pub fn has_registers(&self) -> bool {
        self.registers < REGISTERS_MAX
    }

    /// A counter that begins with a value.
    pub fn counter(&mut self, first: Value) -> Counter {
        if self.has_registers() {
            self.registers += 1;
            return Counter::Register(variable(self.body, first));
        }
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.body.create_sized_stack_slot(slot);
        let counter = Counter::Stack(slot);
        self.set(counter, first);
        counter
    }

    /// A counter that begins with 0.
    pub fn zero_counter(&mut self) -> Counter {
        let none = self.body.ins().iconst(types::I64, 0);
        self.counter(none)
    }

    /// The value of a counter.
    pub fn read(&mut self, counter: Counter) -> Value {
        match counter {
            Counter::Register(variable) => self.body.use_var(variable),
            Counter::Stack(slot) => self.body.ins().stack_load(types::I64, types::I64, slot, 0),
        }
    }

    /// Changes a counter.
    pub fn set(&mut self, counter: Counter, value: Value) {
        match counter {
            Counter::Register(variable) => self.body.def_var(variable, value),
            Counter::Stack(slot) => {
                self.body.ins().stack_store(types::I64, value, slot, 0);
            }
        }
    }

    /// Adds to a counter.
    pub fn count(&mut self, counter: Counter, by: Value) {
        let old = self.read(counter);
        let new = self.body.ins().iadd(old, by);
        self.set(counter, new);
    }

    // ---- written

    /// Writes what was counted, and notifies of links that are no longer empty. A link between two
    /// kernels has had as many packets taken out as put in: both of its indexes grow by them.
    pub fn end(&mut self) {
        self.close_pool();
        for at in 1..self.run.apps.len() {
            let ring_at = self.blueprint.links[self.link_into(at)].ring;
            let (packets, bytes) = self.came(at);
            let bytes = bytes.expect("bytes of links are counted");
            self.body.add_to_word(ring_at, ring::READ, packets);
            self.body.add_to_word(ring_at, ring::WRITE, packets);
            self.body.add_to_word(ring_at, ring::TX_BYTES, bytes);
        }
        for at in 0..self.run.apps.len() {
            let (kernel, words) = self.kernel(at);
            self.end_linear(at);
            for word in 0..self.sites[at].words.len() {
                let Some(register) = self.sites[at].words[word] else { continue };
                if kernel.words[word].kind == WordKind::Local {
                    continue;
                }
                let value = self.body.use_var(register);
                self.body.store_word(value, words, word * 8);
            }
            if let Some(oldest) = self.sites[at].oldest {
                let value = self.read(oldest);
                self.body.store_word(value, self.blueprint.apps[self.app(at)].oldest, 0);
            }
        }
        for at in 0..self.outs.len() {
            self.close(at);
        }
        self.body.ins().return_(&[]);
    }

    /// The number of packets of a kernel, and of their bytes if these were counted.
    fn came(&mut self, at: usize) -> (Value, Option<Value>) {
        if at == 0 {
            let packets = self.body.use_var(self.taken);
            let length = self.sites[0].length;
            let bytes = length.map(|each| self.body.ins().imul_imm_u(packets, each as i64));
            return (packets, bytes);
        }
        let link = self.link_into(at);
        let between = self.between.iter().find(|between| between.link == link);
        let Between { packets, bytes, .. } = *between.expect("it is planned");
        let packets = self.read(packets.counter());
        let bytes = match bytes {
            Count::Each(_, each) => self.body.ins().imul_imm_u(packets, each as i64),
            Count::As(counter) | Count::Own(counter) => self.read(counter),
        };
        (packets, Some(bytes))
    }

    /// Writes the words that follow from the number of packets of a kernel.
    fn end_linear(&mut self, at: usize) {
        let (_, words) = self.kernel(at);
        let (packets, bytes) = self.came(at);
        for Linear { word, each, .. } in self.sites[at].linear.clone() {
            let by = match each {
                Each::Number(number) => self.body.ins().imul_imm_u(packets, number.cast_signed()),
                Each::Length => bytes.expect("bytes are counted where they are used"),
            };
            self.body.add_to_word(words, word as usize * 8, by);
        }
        if let Some(copies) = self.sites[at].copies {
            let copies = self.body.ins().imul_imm_u(packets, copies as i64);
            self.body.add_to_word(self.blueprint.pool.allocated, 0, copies);
        }
        let part = &self.blueprint.apps[self.app(at)];
        if self.run.feed == Feed::Pool && part.is_sink {
            // All were born now, and the first of the batch counts.
            let known = self.body.load_word(part.oldest, 0);
            let now = self.body.load_word(self.blueprint.now, 0);
            let first = self.body.ins().icmp_imm_s(IntCC::Equal, known, -1);
            let some = self.body.ins().icmp_imm_u(IntCC::NotEqual, packets, 0);
            let counts = self.body.ins().band(first, some);
            let oldest = self.body.ins().select(counts, now, known);
            self.body.store_word(oldest, part.oldest, 0);
        }
    }
}
