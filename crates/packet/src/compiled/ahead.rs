//! Look-ups of packets that wait, before the first of them is taken.
//!
//! Look-ups in a large table miss the caches, and the loop over packets waits for one after the
//! other. So a run goes over the packets of a link twice, some at a time. The first time it follows
//! each on its path to the first look-up in a large table, and leaves there what it would be looked
//! up by; the table then fetches what all of these look-ups will read (`kernel::table::ahead`). The
//! second time is the loop proper:
//!
//! ```text
//! for each of the next 64 packets: steps up to a look-up -> a hash, or a key, in the table
//! table.ahead
//! for each of the same packets: kernel, kernel, ... kernel
//! ```
//! As that changes nothing but caches, it need not be right: no packet and no word is changed on
//! the path, though what follows may read it. A path ends without a look-up where packets begin
//! elsewhere, as nothing is known of their bytes from there on, and at what costs as much as a
//! miss: tests of filters, sums, and look-ups in other tables.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value as Number, Variable, types};
use tidemill_stdx::id::IdVec;

use super::kernel::{Scope, end_of};
use super::writer::Writer;
use crate::kernel::table::AHEAD_MAX;
use crate::kernel::table::spec::TableKind;
use crate::kernel::{BlockId, End, Expr, FlowFacts, Key, Step, WordKind};

/// Packets that must wait for it to be worth it.
const PACKETS_MIN: i64 = 4;

/// The packets of a link: their indexes in a ring.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub at: Variable,
    /// The end of those that are taken at once, and of all.
    pub end: Variable,
    pub last: Variable,
    pub from: Variable,
}

/// Where a step takes a packet ahead of its turn.
enum Path {
    /// To the next step.
    On,
    /// To a look-up.
    Finds(u32, Key),
    /// Nowhere.
    Ends,
}

/// Paths of packets to look-ups, while they are written.
struct Ahead {
    /// By kernel and block: whether a path leads from there to a look-up.
    leads: Vec<IdVec<BlockId, bool>>,
    /// By kernel.
    entries: Vec<Block>,
    /// Takes the next packet.
    next: Block,
    /// By kernel: whether a path leads into it.
    reached: Vec<bool>,
    /// Large tables, and the number of look-ups left in each.
    tables: Vec<(usize, u32, Variable)>,
}

impl Ahead {
    /// Where a packet enters a kernel.
    fn enter(&mut self, at: usize) -> Block {
        if !begins(&self.leads[at]) {
            return self.next;
        }
        self.reached[at] = true;
        self.entries[at]
    }
}

/// Whether a kernel leads to a look-up.
fn begins(leads: &IdVec<BlockId, bool>) -> bool {
    leads.iter().next().is_some_and(|leads| *leads)
}

impl Writer<'_, '_, '_> {
    /// Sets the end of the packets that are taken at once, fetches what they will look up, and goes
    /// on to take the first. Returns whether these may be a part of all.
    pub(super) fn look_ahead(&mut self, queue: Queue) -> bool {
        let leads = self.leads();
        let (first, last) = (self.body.use_var(queue.at), self.body.use_var(queue.last));
        if !begins(&leads[0]) {
            self.body.def_var(queue.end, last);
            self.body.ins().jump(self.next, &[]);
            return false;
        }
        let [begin, head, take, over] = [(); 4].map(|()| self.body.create_block());
        let all = self.body.ins().isub(last, first);
        let most = self.body.ins().iconst(types::I64, AHEAD_MAX as i64);
        let count = self.body.ins().umin(all, most);
        let end = self.body.ins().iadd(first, count);
        self.body.def_var(queue.end, end);
        let many = IntCC::UnsignedGreaterThanOrEqual;
        let is_worth = self.body.ins().icmp_imm_u(many, count, PACKETS_MIN);
        self.body.ins().brif(is_worth, begin, &[], self.next, &[]);
        self.body.switch_to_block(begin);
        let at = self.zero();
        self.body.def_var(at, first);
        let entries = leads.iter().map(|_| self.body.create_block()).collect();
        let tables = self.large_tables();
        let tables = tables.into_iter().map(|(at, table)| (at, table, self.zero())).collect();
        let reached = vec![false; self.run.apps.len()];
        let mut ahead = Ahead { leads, entries, next: head, reached, tables };
        self.body.ins().jump(head, &[]);
        self.body.switch_to_block(head);
        let (index, last) = (self.body.use_var(at), self.body.use_var(queue.end));
        let is_over = self.body.ins().icmp(IntCC::Equal, index, last);
        self.body.ins().brif(is_over, over, &[], take, &[]);
        self.body.switch_to_block(take);
        self.take_from(queue.from, at);
        let first = ahead.enter(0);
        self.body.ins().jump(first, &[]);
        for at in 0..self.run.apps.len() {
            if ahead.reached[at] {
                self.follow(&mut ahead, at);
            }
        }
        self.body.switch_to_block(over);
        for &(at, table, count) in &ahead.tables {
            let (_, addresses) = self.table(at, table);
            let itself = self.body.address(addresses.table);
            let count = self.body.use_var(count);
            self.body.call(self.imports.ahead, &[itself, count]);
        }
        self.body.ins().jump(self.next, &[]);
        true
    }

    fn large_tables(&self) -> Vec<(usize, u32)> {
        let tables = |at| (0..self.kernel(at).0.tables.len() as u32).map(move |table| (at, table));
        let all = (0..self.run.apps.len()).flat_map(tables);
        all.filter(|&(at, table)| self.table(at, table).1.ahead.is_some()).collect()
    }

    fn path(&self, at: usize, step: Step) -> Path {
        match step {
            Step::Let(_, Expr::Find(table, key)) => {
                let is_large = self.table(at, table).1.ahead.is_some();
                if is_large { Path::Finds(table, key) } else { Path::Ends }
            }
            Step::Let(_, Expr::Insert(_) | Expr::Sum(_)) => Path::Ends,
            step if step.changes_length() => Path::Ends,
            _ => Path::On,
        }
    }

    /// By kernel and block, whether a path leads to a look-up. Paths lead to later blocks only.
    fn leads(&self) -> Vec<IdVec<BlockId, bool>> {
        let mut leads: Vec<IdVec<BlockId, bool>> = vec![IdVec::new(); self.run.apps.len()];
        for at in (0..self.run.apps.len()).rev() {
            let (kernel, _) = self.kernel(at);
            let mut own: IdVec<BlockId, bool> = kernel.blocks.iter().map(|_| false).collect();
            for (id, block) in kernel.blocks.iter_enumerated().rev() {
                let paths = block.steps.iter().map(|&step| self.path(at, step));
                own[id] = match paths.into_iter().find(|path| !matches!(path, Path::On)) {
                    Some(Path::Finds(..)) => true,
                    Some(_) => false,
                    None => match block.end {
                        End::Jump(_) | End::If(..) => block.end.targets().any(|to| own[to]),
                        end => self.kernel_after(at, end).is_some_and(|to| begins(&leads[to])),
                    },
                };
            }
            leads[at] = own;
        }
        leads
    }

    /// The kernel of the run that packets enter at the end of a block of another.
    fn kernel_after(&self, at: usize, end: End) -> Option<usize> {
        let End::Emit(output) = end else { return None };
        self.step_after(self.link_of(at, output)?)
    }

    /// Writes the paths through a kernel.
    fn follow(&mut self, ahead: &mut Ahead, at: usize) {
        let FlowFacts { blocks: facts, always, .. } = self.sites[at].flow.clone();
        let mut scope = self.scope(at);
        scope.drops.fill(Some(ahead.next));
        let kernel = scope.kernel;
        let leads = ahead.leads[at].clone();
        let blocks: IdVec<BlockId, Block> = (leads.iter())
            .map(|&leads| if leads { self.body.create_block() } else { ahead.next })
            .collect();
        let mut reached: IdVec<BlockId, bool> = leads.iter().map(|_| false).collect();
        self.body.switch_to_block(ahead.entries[at]);
        let mut end = End::Jump(BlockId::new(0));
        let mut ids = kernel.blocks.iter_enumerated();
        loop {
            // Paths lead to later blocks.
            end.targets().for_each(|to| reached[to] = leads[to]);
            self.end_ahead(ahead, &scope, &blocks, end);
            let Some((id, block)) = ids.find(|&(id, _)| reached[id]) else { break };
            let Some(mut facts) = facts[id].clone() else { break };
            self.body.switch_to_block(blocks[id]);
            self.known.words.clear();
            end = end_of(block.end, always[id]);
            for &step in &block.steps {
                if let Path::Finds(table, key) = self.path(at, step) {
                    self.leave(ahead, &scope, table, key);
                    end = End::Take;
                    break;
                }
                match step {
                    Step::Need(place, _) if facts.reach(place) => {}
                    Step::Need(place, reason) => self.need(&mut scope, place, reason),
                    _ => self.step_ahead(&mut scope, step),
                }
                facts.step(kernel, step);
            }
        }
        self.known.words.clear();
    }

    /// Ends a block: the packet goes on, or the next follows.
    fn end_ahead(
        &mut self,
        ahead: &mut Ahead,
        scope: &Scope<'_>,
        blocks: &IdVec<BlockId, Block>,
        end: End,
    ) {
        match end {
            End::Jump(to) => self.body.ins().jump(blocks[to], &[]),
            End::If(value, yes, no) => {
                let value = scope.get(value);
                self.body.ins().brif(value, blocks[yes], &[], blocks[no], &[])
            }
            end => {
                let after = self.kernel_after(scope.at, end);
                let to = after.map_or(ahead.next, |after| ahead.enter(after));
                self.body.ins().jump(to, &[])
            }
        };
    }

    /// A step on the path: values and local words, which hold for one packet, are computed.
    fn step_ahead(&mut self, scope: &mut Scope<'_>, step: Step) {
        match step {
            Step::Let(value, expr) => {
                let number = self.expr(scope, expr);
                scope.set(value, number);
            }
            Step::SetWord(word, value)
                if scope.kernel.words[word as usize].kind == WordKind::Local =>
            {
                if let Some(register) = self.sites[scope.at].words[word as usize] {
                    self.body.def_var(register, scope.get(value));
                }
            }
            _ => {}
        }
    }

    /// Leaves what a packet will be looked up by in a table.
    fn leave(&mut self, ahead: &Ahead, scope: &Scope<'_>, table: u32, key: Key) {
        let (spec, addresses) = self.table(scope.at, table);
        let is_it = |of: &&(usize, u32, Variable)| (of.0, of.1) == (scope.at, table);
        let Some((&(.., count), place)) = ahead.tables.iter().find(is_it).zip(addresses.ahead)
        else {
            return;
        };
        let key: Vec<Number> = key.words().iter().map(|&word| scope.get(word)).collect();
        let by = match (spec.kind, key.as_slice()) {
            (TableKind::Prefix, &[key]) => key,
            (_, key) => self.hash(addresses.secret, key),
        };
        let index = self.body.use_var(count);
        let offset = self.body.ins().ishl_imm_u(index, 3);
        let base = self.body.address(place);
        let slot = self.body.ins().iadd(base, offset);
        self.body.store_aligned(by, slot, 0);
        let one = self.body.ins().iconst(types::I64, 1);
        self.add(count, one);
    }
}
