//! The breath as code.
//!
//! Two passes are woven into each other. The *scan* tests groups of flags and does nothing else; it
//! is the whole of an idle breath. The first group that has a flag set branches into the *full*
//! pass at that very group, which continues from there to the last, and ends in the tail.
//!
//! A source with a bell has its flag set as long as it is awake, but need not be called before the
//! bell rings: the scan leaves its flag out and tests the bell, all bells of a group at once.

use std::ops::Range;

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, CallConv, InstBuilder, IntCC, Value, signature, types};
use tidemill_jit::{Body, Error, FuncId, Module};

use super::blueprint::{Blueprint, BreathStep, frame};
use super::calls::Calls;
use super::chain::Chain;
use super::imports::Imports;
use crate::flags::GROUP;
use crate::link::offsets as ring;

/// Steps of a function at most: longer breaths are cut into several, so that the compiler's time
/// grows with the graph and no faster.
const SECTION: usize = 512;

/// Inputs that code checks itself; with more, the engine does.
const INPUTS_MAX: usize = 8;

/// What app code returns on success, and the least status that is more than an answer: see
/// `app::instance::Status`.
const READY: i64 = 0;
const POLL: i64 = 1;
pub(super) const DONE: i64 = 4;

/// Defines the breath, and functions for its sections if it is long.
pub(super) fn define(
    module: &mut Module,
    imports: &Imports,
    blueprint: &Blueprint,
    calls: Calls<'_>,
) -> Result<FuncId, Error> {
    let mut entries = Vec::new();
    for step in &blueprint.steps {
        entries.push(import(module, blueprint, *step));
    }
    let mut fused = vec![None; blueprint.apps.len()];
    for (number, chain) in calls.chains.iter().enumerate() {
        fused[chain.apps[0]] = Some(number);
    }
    let mut pushed = vec![None; blueprint.apps.len()];
    for (position, step) in blueprint.steps.iter().enumerate() {
        if let BreathStep::Push(app) = *step {
            pushed[app] = Some(position);
        }
    }
    let bells = bells(blueprint);
    let writer = Writer { imports, blueprint, entries, calls, fused, pushed, bells };
    let count = blueprint.steps.len();
    let mut sections = Vec::new();
    if count > SECTION {
        for first in (0..count).step_by(SECTION) {
            let plain = signature(CallConv::SystemV, &[types::I64], &[]);
            let id = module.declare(format!("breathe.{}", first / SECTION), plain);
            let steps = first..(first + SECTION).min(count);
            module.define(id, |body| writer.section(body, steps))?;
            sections.push(id);
        }
    }
    let plain = signature(CallConv::SystemV, &[types::I64; 3], &[types::I64]);
    let id = module.declare("breathe", plain);
    module.define(id, |body| writer.breathe(body, &sections))?;
    Ok(id)
}

/// The entry point of a step.
fn import(module: &mut Module, blueprint: &Blueprint, step: BreathStep) -> FuncId {
    let plain = signature(CallConv::SystemV, &[types::I64, types::I64], &[types::I32]);
    let (name, at) = match step {
        BreathStep::Pull(app) => {
            (format!("{}.pull", blueprint.apps[app].name), blueprint.apps[app].pull)
        }
        BreathStep::Push(app) => {
            (format!("{}.push", blueprint.apps[app].name), blueprint.apps[app].push)
        }
    };
    // SAFETY: the entry points of a blueprint's apps are functions of this signature.
    unsafe { module.import(name, plain, std::ptr::with_exposed_provenance(at)) }
}

pub(super) struct Writer<'a> {
    imports: &'a Imports,
    pub blueprint: &'a Blueprint,
    /// By step.
    entries: Vec<FuncId>,
    pub calls: Calls<'a>,
    /// By app: the chain that begins with it.
    fused: Vec<Option<usize>>,
    /// By app: the step at which it is pushed.
    pushed: Vec<Option<usize>>,
    /// By group: which flags are those of sources with bells, and the addresses of these.
    bells: Vec<(u64, Vec<usize>)>,
}

impl Writer<'_> {
    fn breathe(&self, body: &mut Body<'_>, sections: &[FuncId]) {
        let arguments = body.begin();
        let (flags, breaths, idle) = (arguments[0], arguments[1], arguments[2]);
        let (head, tail) = (body.create_block(), body.create_block());
        let taken = body.declare_var(types::I64);
        let none = body.ins().iconst(types::I64, 0);
        body.def_var(taken, none);
        body.ins().jump(head, &[]);
        let count = self.blueprint.steps.len();
        let groups = count.div_ceil(GROUP);
        // Where the scan leads when a group has something to do.
        let leads = blocks(body, groups);
        body.switch_to_block(head);
        for (group, &lead) in leads.iter().enumerate() {
            let Some(set) = self.has_work(body, flags, group) else { continue };
            let next = body.create_block();
            body.ins().brif(set, lead, &[], next, &[]);
            body.switch_to_block(next);
        }
        let before = body.use_var(taken);
        let now = body.ins().iadd_imm_u(before, 1);
        body.def_var(taken, now);
        let more = body.ins().icmp(IntCC::UnsignedLessThan, now, idle);
        let rested = body.create_block();
        body.ins().brif(more, head, &[], rested, &[]);
        body.switch_to_block(rested);
        let none = body.ins().iconst(types::I64, 0);
        body.store_word(none, self.blueprint.frame, frame::MOVED);
        let ready = self.is_awake(body, flags);
        body.store_word(ready, self.blueprint.frame, frame::READY);
        body.ins().return_(&[now]);
        if sections.is_empty() {
            self.full(body, flags, 0..count, &leads, tail);
        } else {
            self.sections(body, flags, sections, &leads, tail);
        }
        body.switch_to_block(tail);
        let before = body.use_var(taken);
        let now = body.ins().iadd_imm_u(before, 1);
        body.def_var(taken, now);
        self.tail(body, now, breaths, idle, head);
    }

    /// Whether a group has something to do; none, if it never has.
    fn has_work(&self, body: &mut Body<'_>, flags: Value, group: usize) -> Option<Value> {
        let (silent, bells) = &self.bells[group];
        let mut set = None;
        if *silent != u64::MAX {
            let all = group_of(body, flags, group);
            set = Some(if *silent == 0 {
                all
            } else {
                body.ins().band_imm_s(all, !silent.cast_signed())
            });
        }
        for &bell in bells {
            let rings = self.bell(body, bell);
            set = Some(set.map_or(rings, |others| body.ins().bor(others, rings)));
        }
        set
    }

    /// The word of a bell. They are adjacent, so one address serves them all.
    fn bell(&self, body: &mut Body<'_>, bell: usize) -> Value {
        let first = self.bells.iter().find_map(|(_, bells)| bells.first()).copied();
        let base = first.unwrap_or(bell);
        match i32::try_from(bell.cast_signed().wrapping_sub(base.cast_signed())) {
            Ok(offset) => {
                let base = body.address(base);
                body.load_aligned(types::I64, base, offset)
            }
            Err(_) => body.load_word(bell, 0),
        }
    }

    /// Whether a source with a silent bell is awake.
    fn is_awake(&self, body: &mut Body<'_>, flags: Value) -> Value {
        let mut awake = body.ins().iconst(types::I64, 0);
        for (group, (silent, bells)) in self.bells.iter().enumerate() {
            if !bells.is_empty() {
                let all = group_of(body, flags, group);
                let all = body.ins().band_imm_s(all, silent.cast_signed());
                awake = body.ins().bor(awake, all);
            }
        }
        let awake = body.ins().icmp_imm_u(IntCC::NotEqual, awake, 0);
        body.ins().uextend(types::I64, awake)
    }

    /// A breath has ended in which an app was called: records what moved, and continues at `head`
    /// if there is reason to.
    fn tail(&self, body: &mut Body<'_>, taken: Value, breaths: Value, idle: Value, head: Block) {
        let (at, pool) = (self.blueprint.frame, &self.blueprint.pool);
        let allocated = body.load_word(pool.allocated, 0);
        let born = body.load_word(at, frame::BORN);
        let grew = body.ins().icmp(IntCC::NotEqual, allocated, born);
        let grew = body.ins().uextend(types::I64, grew);
        let moving = body.load_word(at, frame::MOVING);
        let moved = body.ins().bor(moving, grew);
        let readying = body.load_word(at, frame::READYING);
        let none = body.ins().iconst(types::I64, 0);
        body.store_word(allocated, at, frame::BORN);
        body.store_word(moved, at, frame::MOVED);
        body.store_word(readying, at, frame::READY);
        body.store_word(none, at, frame::MOVING);
        body.store_word(none, at, frame::READYING);
        body.add_to_word(at, frame::BUSY, moved);
        let limit = body.ins().select(moved, breaths, idle);
        let more = body.ins().icmp(IntCC::UnsignedLessThan, taken, limit);
        let (freed, most) = (body.load_word(pool.freed, 0), body.load_word(at, frame::FREED_LIMIT));
        let below = body.ins().icmp(IntCC::UnsignedLessThan, freed, most);
        let stop = body.load_word(at, frame::STOP);
        let go_on = body.ins().icmp_imm_u(IntCC::Equal, stop, 0);
        let more = body.ins().band(more, below);
        let more = body.ins().band(more, go_on);
        let end = body.create_block();
        body.ins().brif(more, head, &[], end, &[]);
        body.switch_to_block(end);
        body.ins().return_(&[taken]);
    }

    /// The full pass over groups of steps: each group has a block that tests it, and one, its lead,
    /// that calls its apps. Returns the block of the first test.
    fn full(
        &self,
        body: &mut Body<'_>,
        flags: Value,
        steps: Range<usize>,
        leads: &[Block],
        end: Block,
    ) -> Block {
        let asked: Vec<Block> = leads.iter().map(|_| body.create_block()).collect();
        for (group, &lead) in leads.iter().enumerate() {
            let after = asked.get(group + 1).copied().unwrap_or(end);
            body.switch_to_block(asked[group]);
            let set = group_of(body, flags, steps.start / GROUP + group);
            body.ins().brif(set, lead, &[], after, &[]);
            body.switch_to_block(lead);
            let first = steps.start + group * GROUP;
            for step in first..(first + GROUP).min(steps.end) {
                self.step(body, flags, step);
            }
            body.ins().jump(after, &[]);
        }
        asked.first().copied().unwrap_or(end)
    }

    /// A section as a function of its own.
    fn section(&self, body: &mut Body<'_>, steps: Range<usize>) {
        let flags = body.begin()[0];
        let begin = body.create_block();
        body.ins().jump(begin, &[]);
        let leads: Vec<Block> = blocks(body, steps.len().div_ceil(GROUP));
        let end = body.create_block();
        let first = self.full(body, flags, steps, &leads, end);
        body.switch_to_block(begin);
        body.ins().jump(first, &[]);
        body.switch_to_block(end);
        body.ins().return_(&[]);
    }

    /// The full pass by sections, which tests from the section on in which a group was found.
    fn sections(
        &self,
        body: &mut Body<'_>,
        flags: Value,
        sections: &[FuncId],
        leads: &[Block],
        end: Block,
    ) {
        let calls = blocks(body, sections.len());
        for (group, &lead) in leads.iter().enumerate() {
            body.switch_to_block(lead);
            body.ins().jump(calls[group * GROUP / SECTION], &[]);
        }
        for (number, &section) in sections.iter().enumerate() {
            body.switch_to_block(calls[number]);
            body.call(section, &[flags]);
            body.ins().jump(calls.get(number + 1).copied().unwrap_or(end), &[]);
        }
    }

    /// One app, if its flag is set.
    fn step(&self, body: &mut Body<'_>, flags: Value, step: usize) {
        let (call, next) = (body.create_block(), body.create_block());
        let set = body.ins().uload8(types::I32, aligned(), flags, step as i32);
        body.ins().brif(set, call, &[], next, &[]);
        body.switch_to_block(call);
        match self.blueprint.steps[step] {
            BreathStep::Pull(app) => self.pull(body, flags, step, app, next),
            BreathStep::Push(app) => match self.fused[app] {
                None => self.push(body, flags, step, next),
                Some(chain) => self.fused(body, flags, step, chain, next),
            },
        }
        body.switch_to_block(next);
    }

    /// Enters an app; returns its result.
    fn enter(&self, body: &mut Body<'_>, step: usize, app: usize) -> Value {
        let part = &self.blueprint.apps[app];
        let (state, io) = (body.address(part.state), body.address(part.io));
        body.call(self.entries[step], &[state, io])[0]
    }

    fn pull(&self, body: &mut Body<'_>, flags: Value, step: usize, app: usize, next: Block) {
        if let Some(source) = self.calls.sources.iter().find(|source| source.app == app) {
            let call = body.cold_block();
            self.pull_source(body, flags, source, call, next);
            body.switch_to_block(call);
        }
        if let Some(bell) = self.blueprint.apps[app].bell {
            let (call, silent) = (body.create_block(), body.create_block());
            let rings = self.bell(body, bell);
            body.ins().brif(rings, call, &[], silent, &[]);
            body.switch_to_block(silent);
            self.note_ready(body);
            body.ins().jump(next, &[]);
            body.switch_to_block(call);
        }
        let status = self.enter(body, step, app);
        if let Some(step) = self.pushed[app] {
            // It may have taken what waits for it to be pushed.
            self.ask_again(body, flags, step, app);
        }
        let (ready, rare) = (body.create_block(), body.cold_block());
        let fine = body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, status, POLL);
        body.ins().brif(fine, ready, &[], rare, &[]);
        body.switch_to_block(rare);
        self.report_status(body, app, status);
        body.ins().jump(next, &[]);
        body.switch_to_block(ready);
        self.note_ready(body);
        body.ins().jump(next, &[]);
    }

    /// Reports to the engine that a source was pulled and is not ready.
    fn report_status(&self, body: &mut Body<'_>, app: usize, status: Value) {
        let at = body.address(self.blueprint.frame);
        let number = body.ins().iconst(types::I32, app as i64);
        body.call(self.imports.pulled, &[at, number, status]);
    }

    pub(super) fn rest(&self, body: &mut Body<'_>, app: usize, status: i64) {
        let status = body.ins().iconst(types::I32, status);
        self.report_status(body, app, status);
    }

    pub(super) fn note_ready(&self, body: &mut Body<'_>) {
        let one = body.ins().iconst(types::I64, 1);
        body.store_word(one, self.blueprint.frame, frame::READYING);
    }

    /// The step at which the first app of a chain is pushed.
    pub(super) fn step_of(&self, chain: usize) -> usize {
        let first = self.calls.chains[chain].apps[0];
        self.pushed[first].expect("runs are pushed")
    }

    fn push(&self, body: &mut Body<'_>, flags: Value, step: usize, next: Block) {
        let BreathStep::Push(app) = self.blueprint.steps[step] else { return };
        self.note_moving(body);
        if self.blueprint.apps[app].is_sink {
            self.note_oldest(body, app);
        }
        let status = self.enter(body, step, app);
        self.ask_again(body, flags, step, app);
        let failed = body.cold_block();
        let fine = body.ins().icmp_imm_u(IntCC::Equal, status, READY);
        body.ins().brif(fine, next, &[], failed, &[]);
        body.switch_to_block(failed);
        let at = body.address(self.blueprint.frame);
        let number = body.ins().iconst(types::I32, app as i64);
        body.call(self.imports.failed, &[at, number]);
        body.ins().jump(next, &[]);
    }

    fn note_moving(&self, body: &mut Body<'_>) {
        let one = body.ins().iconst(types::I64, 1);
        body.store_word(one, self.blueprint.frame, frame::MOVING);
    }

    /// Reads the birth of a sink's first packets of a batch, for its latency.
    fn note_oldest(&self, body: &mut Body<'_>, app: usize) {
        let part = &self.blueprint.apps[app];
        let (look, on) = (body.create_block(), body.create_block());
        let known = body.load_word(part.oldest, 0);
        let first = body.ins().icmp_imm_s(IntCC::Equal, known, -1);
        body.ins().brif(first, look, &[], on, &[]);
        body.set_cold_block(look);
        body.switch_to_block(look);
        let io = body.address(part.io);
        body.call(self.imports.oldest, &[io]);
        body.ins().jump(on, &[]);
        body.switch_to_block(on);
    }

    /// Sets an app's flag to whether packets still wait for it.
    fn ask_again(&self, body: &mut Body<'_>, flags: Value, step: usize, app: usize) {
        let part = &self.blueprint.apps[app];
        let links: Vec<usize> = part.inputs.iter().copied().flatten().collect();
        let waits = if links.len() > INPUTS_MAX {
            let io = body.address(part.io);
            body.call(self.imports.waits, &[io])[0]
        } else {
            let mut waits = None;
            for link in links {
                let at = self.blueprint.links[link].ring;
                let (read, write) =
                    (body.load_word(at, ring::READ), body.load_word(at, ring::WRITE));
                let one = body.ins().icmp(IntCC::NotEqual, read, write);
                waits = Some(waits.map_or(one, |others| body.ins().bor(others, one)));
            }
            waits.unwrap_or_else(|| body.ins().iconst(types::I8, 0))
        };
        body.store_aligned(waits, flags, step as i32);
    }

    /// A run of kernels: at once, or one by one if packets lie between them. Their steps follow
    /// each other, so those after the first are tested in any case.
    fn fused(&self, body: &mut Body<'_>, flags: Value, step: usize, chain: usize, next: Block) {
        let Chain { apps, copies, .. } = &self.calls.chains[chain];
        let (at_once, single) = (body.create_block(), body.create_block());
        let mut between = None;
        for later in 1..apps.len() {
            let flag = body.ins().uload8(types::I32, aligned(), flags, (step + later) as i32);
            between = Some(between.map_or(flag, |others| body.ins().bor(others, flag)));
        }
        if *copies {
            // Copies are made in another order than the loop makes them.
            let has_room = self.blueprint.write_has_room(body);
            let has_none = body.ins().icmp_imm_u(IntCC::Equal, has_room, 0);
            let has_none = body.ins().uextend(types::I32, has_none);
            between = Some(between.map_or(has_none, |others| body.ins().bor(others, has_none)));
        }
        match between {
            Some(between) => {
                body.set_cold_block(single);
                body.ins().brif(between, single, &[], at_once, &[]);
                body.switch_to_block(single);
                self.push(body, flags, step, next);
            }
            None => {
                body.ins().jump(at_once, &[]);
            }
        }
        body.switch_to_block(at_once);
        self.note_moving(body);
        if self.blueprint.apps[apps[0]].is_sink {
            self.note_oldest(body, apps[0]);
        }
        let none = body.ins().iconst(types::I8, 0);
        body.store_aligned(none, flags, step as i32);
        self.call_run(body, chain);
        body.ins().jump(next, &[]);
    }
}

/// Flags and bells of sources that need not be called before their bell rings, by group.
fn bells(blueprint: &Blueprint) -> Vec<(u64, Vec<usize>)> {
    let mut groups = Vec::new();
    for steps in blueprint.steps.chunks(GROUP) {
        let (mut bytes, mut bells) = ([0u8; GROUP], Vec::new());
        for (byte, step) in bytes.iter_mut().zip(steps) {
            if let BreathStep::Pull(app) = *step
                && let Some(bell) = blueprint.apps[app].bell
            {
                *byte = u8::MAX;
                bells.push(bell);
            }
        }
        // Flags after the last are never set.
        if bells.len() == steps.len() {
            bytes = [u8::MAX; GROUP];
        }
        groups.push((u64::from_ne_bytes(bytes), bells));
    }
    groups
}

fn blocks(body: &mut Body<'_>, count: usize) -> Vec<Block> {
    (0..count).map(|_| body.create_block()).collect()
}

/// Eight flags.
fn group_of(body: &mut Body<'_>, flags: Value, group: usize) -> Value {
    body.load_aligned(types::I64, flags, (group * GROUP) as i32)
}
