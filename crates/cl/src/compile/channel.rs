//! Messages without a call: what a send or receive does where nothing is in its way.
//!
//! Each tests that the channel is open, has room or the right message at its head, that the
//! protocol allows it and that no flag requires the run-time; then it copies the words and, if the
//! other side waits, puts its process at the end of the ready queue. Where there is no message yet,
//! or no room, it notes that this side waits and returns to the scheduler. In all other cases the
//! operation of the run-time decides, before anything has been changed.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value, types};
use tidemill_proc::ProcessState;
use tidemill_proc::layout::{
    CHANNEL_CLIENT_PROCESS, CHANNEL_COUNT, CHANNEL_ENTRIES, CHANNEL_FLAGS, CHANNEL_HEAD,
    CHANNEL_STATE, CHANNEL_TAGS, CLIENT_FINISHED, CLIENT_WAITS, CLIENT_WATCHES, ENTRIES,
    FROM_CLIENT, FROM_SERVER, PROCESS_CHANNEL, PROCESS_FRAME, PROCESS_STATE, PROCESS_WAIT, REMOTE,
    SERVER_ENDED, SERVER_WAITS, SERVER_WATCHES, SLOT_CHANNEL, START, SYSTEM, WORKER_READY,
    WORKER_READY_HEAD, WORKER_READY_MASK, WORKER_READY_TAIL, tag,
};
use tidemill_stdx::id::Id;

use crate::compile::translate::Translator;
use crate::compile::unit::machine;
use crate::ir::{Direction, InterfaceId, MessageId, Pattern, Type};

/// One side of a communication, and the way to the operations of the run-time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChannelSide {
    /// The slot of a client; none for the server's side.
    pub(super) slot: Option<Value>,
    pub(super) interface: InterfaceId,
    /// Where this side may have to wait: there is no message, or no room.
    pub(super) stuck: Block,
    /// What to do instead.
    pub(super) slow: Block,
    /// Channels may be between two loops.
    pub(super) several: bool,
}

/// Where the words of a message are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    channel: Value,
    address: Value,
    tag: Value,
    /// The channel's flags, as they were when the fast path was chosen.
    flags: Value,
}

impl ChannelSide {
    /// The flags any of which requires the run-time.
    fn watched(self) -> u32 {
        let remote = if self.several { REMOTE } else { 0 };
        match self.slot {
            Some(_) => SERVER_WATCHES | SYSTEM | remote,
            None => CLIENT_WATCHES | remote,
        }
    }

    /// The flag of the other side's process.
    fn waits(self) -> u32 {
        if self.slot.is_some() { SERVER_WAITS } else { CLIENT_WAITS }
    }

    /// The flag of this side's process, and the flags any of which requires the run-time before a
    /// wait: the wait would never end.
    fn waiting(self) -> (u32, u32) {
        let remote = if self.several { REMOTE } else { 0 };
        match self.slot {
            Some(_) => (CLIENT_WAITS, SERVER_WAITS | SERVER_ENDED | SYSTEM | remote),
            None => (SERVER_WAITS, CLIENT_WAITS | CLIENT_FINISHED | remote),
        }
    }
}

impl Translator<'_, '_, '_> {
    /// Whether sends and receives of the message can do without the run-time.
    pub(super) fn is_plain(
        &self,
        interface: InterfaceId,
        message: MessageId,
        slot: Option<Value>,
    ) -> bool {
        let declared = &self.unit.ir.interfaces[interface];
        let known = &declared.messages[message];
        let ends = declared.protocol.after(Some(message)).next.is_empty();
        // The client closes after a last message.
        let closes = ends && slot.is_some();
        !closes
            && !self.unit.observed
            && !declared.system
            && !known.parameters.contains(&Type::Component)
            && self.predecessors(interface, message).take(4).count() <= 3
    }

    /// Whether the other side is likely to be a process: it is where this side serves, and where
    /// the system does not.
    pub(super) fn is_own(&self, interface: InterfaceId, slot: Option<Value>) -> bool {
        !self.unit.observed && (slot.is_none() || !self.unit.ir.interfaces[interface].system)
    }

    /// Whether the message can be received without the run-time. What has been sent was allowed.
    pub(super) fn is_plainly_received(
        &self,
        interface: InterfaceId,
        message: MessageId,
        slot: Option<Value>,
    ) -> bool {
        let known = &self.unit.ir.interfaces[interface].messages[message];
        slot.is_none() && !self.unit.observed && !known.parameters.contains(&Type::Component)
            || self.is_plain(interface, message, slot)
    }

    /// The states in which the message may be sent.
    fn predecessors(
        &self,
        interface: InterfaceId,
        message: MessageId,
    ) -> impl Iterator<Item = u16> + use<'_> {
        let interface = &self.unit.descriptors.program.interfaces[interface.index()];
        let message = &interface.messages[message.index()];
        message.initial.then_some(START).into_iter().chain(numbers(&message.after))
    }

    /// Continues only if the condition holds.
    fn need(&mut self, condition: Value, side: ChannelSide) {
        self.need_or(condition, side.slow);
    }

    fn need_or(&mut self, condition: Value, otherwise: Block) {
        let next = self.body.create_block();
        self.body.ins().brif(condition, next, &[], otherwise, &[]);
        self.body.switch_to_block(next);
    }

    fn channel(&mut self, side: ChannelSide) -> Value {
        let Some(slot) = side.slot else {
            return self.body.ins().iadd_imm_s(self.process, i64::from(PROCESS_CHANNEL));
        };
        let channel = self.body.load_aligned(types::I64, slot, SLOT_CHANNEL);
        let open = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, channel, 1);
        self.need(open, side);
        channel
    }

    fn flags(&mut self, channel: Value) -> Value {
        self.body.load_aligned(types::I32, channel, CHANNEL_FLAGS)
    }

    fn entry(&mut self, side: ChannelSide, channel: Value, place: Value, flags: Value) -> Entry {
        let interface = side.interface;
        let size = self.unit.descriptors.program.interfaces[interface.index()].entry_size;
        let place = self.body.ins().uextend(types::I64, place);
        let bytes = self.body.ins().imul_imm_s(place, i64::from(size));
        let start = self.body.ins().iadd(channel, bytes);
        let twice = self.body.ins().ishl_imm_u(place, 1);
        let tag = self.body.ins().iadd(channel, twice);
        Entry { channel, address: start, tag, flags }
    }

    /// The free entry after the others, if the message may be sent now.
    pub(super) fn room(&mut self, side: ChannelSide, message: MessageId) -> Entry {
        let channel = self.channel(side);
        let flags = self.flags(channel);
        // A server that is done without a message is left to the run-time, which opens anew.
        let ended = if side.slot.is_some() { SERVER_ENDED } else { 0 };
        let stop = side.watched() | CLIENT_FINISHED | ended;
        let watched = self.body.ins().band_imm_u(flags, i64::from(stop));
        let free = self.body.ins().icmp_imm_u(IntCC::Equal, watched, 0);
        self.need(free, side);
        if let Some(allowed) = self.allowed(side, channel, message) {
            self.need(allowed, side);
        }
        let count = self.body.load_aligned(types::I8, channel, CHANNEL_COUNT);
        let room = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThan, count, ENTRIES as i64);
        self.need_or(room, side.stuck);
        let head = self.body.load_aligned(types::I8, channel, CHANNEL_HEAD);
        let end = self.body.ins().iadd(head, count);
        let place = self.body.ins().band_imm_u(end, 3);
        let entry = self.entry(side, channel, place, flags);
        let more = self.body.ins().iadd_imm_s(count, 1);
        self.body.store_aligned(more, channel, CHANNEL_COUNT);
        let number = self.body.ins().iconst(types::I16, message.index() as i64);
        self.body.store_aligned(number, channel, CHANNEL_STATE);
        let sender = if side.slot.is_some() { FROM_CLIENT } else { FROM_SERVER };
        let number = tag(message.index() as u16, sender);
        let number = self.body.ins().iconst(types::I16, i64::from(number));
        self.body.store_aligned(number, entry.tag, CHANNEL_TAGS);
        entry
    }

    /// Whether the protocol has the message now; none if it always does.
    fn allowed(&mut self, side: ChannelSide, channel: Value, message: MessageId) -> Option<Value> {
        let interface = &self.unit.ir.interfaces[side.interface];
        let before: Vec<u16> = self.predecessors(side.interface, message).collect();
        // A client that has sent a last message has closed the channel.
        let messages = interface.messages.iter_enumerated();
        let open = messages.filter(|(id, message)| {
            let ends = interface.protocol.after(Some(*id)).next.is_empty();
            !(ends && message.direction == Direction::In)
        });
        // Not more of them than are needed to tell: most protocols have more states than that. One
        // state is the start.
        if side.slot.is_some() && 1 + open.take(before.len()).count() == before.len() {
            return None;
        }
        let state = self.body.load_aligned(types::I16, channel, CHANNEL_STATE);
        let each = before
            .into_iter()
            .map(|before| self.body.ins().icmp_imm_u(IntCC::Equal, state, i64::from(before)));
        let each: Vec<Value> = each.collect();
        each.into_iter().reduce(|all, is| self.body.ins().bor(all, is))
    }

    /// The entry at the head, if it is the message from the other side; it is taken out.
    pub(super) fn head(&mut self, side: ChannelSide, message: MessageId) -> Entry {
        let channel = self.channel(side);
        let count = self.body.load_aligned(types::I8, channel, CHANNEL_COUNT);
        self.need_or(count, side.stuck);
        let (head, flags) = (self.place_of_head(channel), self.flags(channel));
        let entry = self.entry(side, channel, head, flags);
        let sender = if side.slot.is_some() { FROM_SERVER } else { FROM_CLIENT };
        let expected = tag(message.index() as u16, sender);
        let there = self.body.load_aligned(types::I16, entry.tag, CHANNEL_TAGS);
        let is = self.body.ins().icmp_imm_u(IntCC::Equal, there, i64::from(expected));
        self.need(is, side);
        self.take(entry, side, (head, count));
        entry
    }

    /// The same of a message that has just been seen there.
    pub(super) fn known_head(&mut self, side: ChannelSide) -> Entry {
        let channel = match side.slot {
            Some(slot) => self.body.load_aligned(types::I64, slot, SLOT_CHANNEL),
            None => self.channel(side),
        };
        let count = self.body.load_aligned(types::I8, channel, CHANNEL_COUNT);
        let (head, flags) = (self.place_of_head(channel), self.flags(channel));
        let entry = self.entry(side, channel, head, flags);
        self.take(entry, side, (head, count));
        entry
    }

    fn place_of_head(&mut self, channel: Value) -> Value {
        self.body.load_aligned(types::I8, channel, CHANNEL_HEAD)
    }

    /// Takes the head out, if the run-time need not notify the other side.
    fn take(&mut self, entry: Entry, side: ChannelSide, (head, count): (Value, Value)) {
        let watched = self.body.ins().band_imm_u(entry.flags, i64::from(side.watched()));
        let free = self.body.ins().icmp_imm_u(IntCC::Equal, watched, 0);
        self.need(free, side);
        let next = self.body.ins().iadd_imm_s(head, 1);
        let next = self.body.ins().band_imm_u(next, 3);
        self.body.store_aligned(next, entry.channel, CHANNEL_HEAD);
        let fewer = self.body.ins().iadd_imm_s(count, -1);
        self.body.store_aligned(fewer, entry.channel, CHANNEL_COUNT);
    }

    /// Whether the head is from the other side and matches; the run-time decides if there is none.
    pub(super) fn peek(&mut self, side: ChannelSide, pattern: Pattern) -> Value {
        let channel = self.channel(side);
        let flags = self.flags(channel);
        if side.several {
            let remote = self.body.ins().band_imm_u(flags, i64::from(REMOTE));
            let local = self.body.ins().icmp_imm_u(IntCC::Equal, remote, 0);
            self.need(local, side);
        }
        let count = self.body.load_aligned(types::I8, channel, CHANNEL_COUNT);
        self.need_or(count, side.stuck);
        let head = self.place_of_head(channel);
        let entry = self.entry(side, channel, head, flags);
        let there = self.body.load_aligned(types::I16, entry.tag, CHANNEL_TAGS);
        let other = if side.slot.is_some() { FROM_SERVER } else { FROM_CLIENT };
        let sender = self.body.ins().band_imm_u(there, 1);
        let is_other = self.body.ins().icmp_imm_u(IntCC::Equal, sender, i64::from(other));
        self.need(is_other, side);
        match pattern {
            Pattern::Any => self.word(1),
            Pattern::Finish => self.word(0),
            Pattern::Message(message) => {
                let number = tag(message.index() as u16, other);
                let is = self.body.ins().icmp_imm_u(IntCC::Equal, there, i64::from(number));
                self.body.ins().uextend(types::I64, is)
            }
        }
    }

    /// The process waits until the other side does something, and `suspended` is where it is left;
    /// or the run-time decides. There is an open channel.
    pub(super) fn wait(&mut self, side: ChannelSide, state: ProcessState, suspended: Block) {
        let channel = match side.slot {
            Some(slot) => self.body.load_aligned(types::I64, slot, SLOT_CHANNEL),
            None => self.body.ins().iadd_imm_s(self.process, i64::from(PROCESS_CHANNEL)),
        };
        let flags = self.flags(channel);
        let (mine, stop) = side.waiting();
        let others = self.body.ins().band_imm_u(flags, i64::from(stop));
        let alone = self.body.ins().icmp_imm_u(IntCC::Equal, others, 0);
        self.need(alone, side);
        self.hold();
        let flags = self.body.ins().bor_imm_u(flags, i64::from(mine));
        self.body.store_aligned(flags, channel, CHANNEL_FLAGS);
        let at = match side.slot {
            Some(slot) => {
                let process = self.process;
                self.body.store_aligned(process, channel, CHANNEL_CLIENT_PROCESS);
                slot
            }
            None => self.word(0),
        };
        let (process, frame) = (self.process, self.frame);
        self.body.store_aligned(at, process, PROCESS_WAIT);
        let state = self.body.ins().iconst(types::I8, state as i64);
        self.body.store_aligned(state, process, PROCESS_STATE);
        self.body.store_aligned(frame, process, PROCESS_FRAME);
        self.body.ins().jump(suspended, &[]);
    }

    pub(super) fn entry_store(&mut self, entry: Entry, index: usize, word: Value) {
        let offset = CHANNEL_ENTRIES + 8 * index as i32;
        self.body.store_aligned(word, entry.address, offset);
    }

    pub(super) fn entry_load(&mut self, entry: Entry, index: usize, ty: Type) -> Value {
        let offset = CHANNEL_ENTRIES + 8 * index as i32;
        self.body.load_aligned(machine(ty), entry.address, offset)
    }

    /// The channel has changed: wakes the process of the other side if it waits.
    pub(super) fn notify(&mut self, entry: Entry, side: ChannelSide) {
        let (waits, next) = (self.body.create_block(), self.body.create_block());
        let (channel, flags) = (entry.channel, entry.flags);
        let waiting = self.body.ins().band_imm_u(flags, i64::from(side.waits()));
        self.body.ins().brif(waiting, waits, &[], next, &[]);

        self.body.switch_to_block(waits);
        let (room, full) = (self.body.create_block(), self.body.cold_block());
        let worker = self.worker;
        let tail = self.body.load_aligned(types::I64, worker, WORKER_READY_TAIL);
        let head = self.body.load_aligned(types::I64, worker, WORKER_READY_HEAD);
        let mask = self.body.load_aligned(types::I64, worker, WORKER_READY_MASK);
        let used = self.body.ins().isub(tail, head);
        let fits = self.body.ins().icmp(IntCC::UnsignedLessThanOrEqual, used, mask);
        self.body.ins().brif(fits, room, &[], full, &[]);

        self.body.switch_to_block(room);
        let cleared = self.body.ins().bxor(flags, waiting);
        self.body.store_aligned(cleared, channel, CHANNEL_FLAGS);
        let process = match side.slot {
            Some(_) => self.body.ins().iadd_imm_s(channel, -i64::from(PROCESS_CHANNEL)),
            None => self.body.load_aligned(types::I64, channel, CHANNEL_CLIENT_PROCESS),
        };
        let ring = self.body.load_aligned(types::I64, worker, WORKER_READY);
        let at = self.body.ins().band(tail, mask);
        let bytes = self.body.ins().ishl_imm_u(at, 3);
        let place = self.body.ins().iadd(ring, bytes);
        self.body.store_aligned(process, place, 0);
        let after = self.body.ins().iadd_imm_s(tail, 1);
        self.body.store_aligned(after, worker, WORKER_READY_TAIL);
        self.body.ins().jump(next, &[]);

        self.body.switch_to_block(full);
        match side.slot {
            Some(slot) => self.faults("client_wake", &[slot]),
            None => self.faults("server_wake", &[]),
        }
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(next);
    }
}

/// The bits that are set, ascending.
fn numbers(words: &[u64]) -> impl Iterator<Item = u16> {
    let words = (0u16..).zip(words).filter(|(_, word)| **word != 0);
    words.flat_map(|(at, word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit)
    })
}
