//! Sources that are given as code: pulled without a call.
//!
//! The effect of a pull is known: it brings as many packets as there is room for, up to a burst.
//! Where the packets go to a run of kernels and nowhere else, the pull only promises them; the run
//! makes them when it is pushed, in the same breath, and there is no ring between. That is the same
//! as long as no other app could be refused a packet meanwhile, and no packets lie on the links of
//! the run; otherwise the source is called, as any other app.

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, InstBuilder, IntCC, Value, types};
use tidemill_jit::{Body, Error, Module};

use super::blueprint::{Blueprint, BreathStep};
use super::breath::Writer;
use super::calls::Source;
use super::chain::{self, Chain};
use super::imports::Imports;
use crate::kernel::{Kernel, Supply};
use crate::link::{QUEUED_MAX, offsets as ring};

/// Defines what sources need, for all that are given as code.
pub(super) fn write(
    module: &mut Module,
    imports: &Imports,
    blueprint: &Blueprint,
    chains: &[Chain],
) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for step in &blueprint.steps {
        let BreathStep::Pull(app) = *step else { continue };
        if !chain::is_source(blueprint, app) {
            continue;
        }
        let chain = chains.iter().position(|chain| chain.source == Some(app));
        let alone = match chain {
            Some(_) => None,
            None => Some(chain::write_source(module, imports, blueprint, app)?),
        };
        sources.push(Source { app, chain, alone });
    }
    Ok(sources)
}

/// The kernel of a source, its supply, and where its words are.
fn supply(blueprint: &Blueprint, app: usize) -> (&Kernel, Supply, usize) {
    let part = blueprint.apps[app].kernel.as_ref().expect("sources are kernels");
    (&part.kernel, part.kernel.supply.expect("sources have a supply"), part.words)
}

/// The word in which a pull promises packets: after the words of the kernel and its drops.
pub(super) fn promised(blueprint: &Blueprint, app: usize) -> (usize, usize) {
    let (kernel, _, words) = supply(blueprint, app);
    (words, (kernel.words.len() + kernel.reasons.len() + 1) * 8)
}

impl Writer<'_> {
    /// Pulls a source that is given as code; `call` calls it instead.
    pub(super) fn pull_source(
        &self,
        body: &mut Body<'_>,
        flags: Value,
        source: &Source,
        call: Block,
        next: Block,
    ) {
        let (_, Supply { burst, left, .. }, words) = supply(self.blueprint, source.app);
        let at_once = body.create_block();
        let mut fits = self.blueprint.write_has_room(body);
        if let Some(chain) = source.chain {
            let is_free = self.is_free(body, flags, chain);
            fits = body.ins().band(fits, is_free);
        }
        body.ins().brif(fits, at_once, &[], call, &[]);
        body.switch_to_block(at_once);
        let before = body.load_word(words, left as usize * 8);
        let burst = body.ins().iconst(types::I64, i64::from(burst));
        let mut count = body.ins().umin(before, burst);
        if source.chain.is_none() {
            let room = self.room(body, source.app);
            count = body.ins().umin(count, room);
        }
        let is_endless = body.ins().icmp_imm_s(IntCC::Equal, before, -1);
        let after = body.ins().isub(before, count);
        let after = body.ins().select(is_endless, before, after);
        body.store_word(after, words, left as usize * 8);
        let (some, on) = (body.create_block(), body.create_block());
        body.ins().brif(count, some, &[], on, &[]);
        body.switch_to_block(some);
        match source {
            Source { chain: Some(chain), .. } => {
                let (words, word) = promised(self.blueprint, source.app);
                body.store_word(count, words, word);
                let one = body.ins().iconst(types::I8, 1);
                let head = self.step_of(*chain);
                body.store_aligned(one, flags, head as i32);
            }
            Source { alone: Some(make), .. } => {
                body.call(*make, &[count]);
            }
            Source { .. } => {}
        }
        body.ins().jump(on, &[]);
        body.switch_to_block(on);
        let (more, done) = (body.create_block(), body.cold_block());
        body.ins().brif(after, more, &[], done, &[]);
        body.switch_to_block(done);
        self.rest(body, source.app, super::breath::DONE);
        body.ins().jump(next, &[]);
        body.switch_to_block(more);
        self.note_ready(body);
        body.ins().jump(next, &[]);
    }

    /// Whether no packets lie on the link into a run, nor within.
    fn is_free(&self, body: &mut Body<'_>, flags: Value, chain: usize) -> Value {
        let first = self.step_of(chain);
        let steps = first..first + self.calls.chains[chain].apps.len();
        let set = steps.map(|step| body.ins().uload8(types::I32, aligned(), flags, step as i32));
        let set: Vec<Value> = set.collect();
        let any = set.into_iter().reduce(|one, other| body.ins().bor(one, other));
        let any = any.expect("a run has an app");
        body.ins().icmp_imm_u(IntCC::Equal, any, 0)
    }

    /// The number of packets that the output of a source takes.
    fn room(&self, body: &mut Body<'_>, app: usize) -> Value {
        let link = self.blueprint.apps[app].outputs.first().copied().flatten();
        let Some(link) = link else { return body.ins().iconst(types::I64, QUEUED_MAX as i64) };
        let at = self.blueprint.links[link].ring;
        let (read, write) = (body.load_word(at, ring::READ), body.load_word(at, ring::WRITE));
        let room = body.ins().isub(read, write);
        body.ins().iadd_imm_u(room, QUEUED_MAX as i64)
    }

    /// A run that may have been promised packets makes them, or takes those of its links.
    pub(super) fn call_run(&self, body: &mut Body<'_>, chain: usize) {
        let written = self.calls.written[chain];
        let (Some(source), Some(pool)) = (self.calls.chains[chain].source, written.pool) else {
            body.call(written.links, &[]);
            return;
        };
        let (words, word) = promised(self.blueprint, source);
        let count = body.load_word(words, word);
        let [make, take, on] = [(); 3].map(|()| body.create_block());
        body.ins().brif(count, make, &[], take, &[]);
        body.switch_to_block(make);
        let none = body.ins().iconst(types::I64, 0);
        body.store_word(none, words, word);
        body.call(pool, &[count]);
        body.ins().jump(on, &[]);
        body.switch_to_block(take);
        body.call(written.links, &[]);
        body.ins().jump(on, &[]);
        body.switch_to_block(on);
    }
}
