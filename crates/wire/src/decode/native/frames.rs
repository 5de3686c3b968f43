//! Messages in messages: a frame is pushed where one begins, and popped where it ends.
//!
//! ```text
//! one(entry) --sub_message, group--> push_frame --enter--> expected tags of the node
//!                                                              |
//!            back(entry) <--return_to_parent-- ended, end_group
//!                | pop the frame
//!            after(entry)
//! ```
//! A frame keeps what the outer message has in registers: its end, its record, and the required
//! fields that it has had. Its entry says where to return; only where several fields lead to a node
//! is it read. A frame is complete before `pos` enters the message and is popped after its target
//! has accepted the end: wherever code leaves, the frames are those that the table decoder would
//! have.

use tidemill_jit::build::{InstBuilder, IntCC, Value, types};

use super::super::nodes::{Action, Entry, Node};
use super::context::*;
use super::tag::TagBytes;
use super::writer::Writer;

impl Writer<'_, '_> {
    // ---- begin

    pub(super) fn sub_message(&mut self, place: u32, entry: &Entry, tag: TagBytes) {
        let pos = self.pos();
        let (length, body) = self.length(pos, tag.length);
        // The body itself must be there, or the table decoder waits for it.
        self.leave_behind(body);
        let outer = self.body.use_var(self.end);
        let end = self.body.ins().iadd(body, length);
        let over = self.body.ins().icmp(IntCC::UnsignedGreaterThan, end, outer);
        self.leave_if(over);
        self.push_frame(place, entry, Some(outer));
        self.set_end(end);
        self.body.def_var(self.pos, body);
        self.enter(entry.sub);
    }

    pub(super) fn group(&mut self, place: u32, entry: &Entry, tag: TagBytes) {
        let pos = self.pos();
        let body = self.body.ins().iadd_imm_u(pos, tag.length);
        self.leave_behind(body);
        self.push_frame(place, entry, None);
        self.body.def_var(self.pos, body);
        self.enter(entry.sub);
    }

    fn push_frame(&mut self, place: u32, entry: &Entry, end: Option<Value>) {
        let context = self.context;
        let top = self.body.use_var(self.top);
        let room = self.body.load(types::I64, context, FRAMES_END);
        let full = self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, top, room);
        self.leave_if(full);
        let record = self.target.start_sub(self, place, entry);
        self.seen(entry);
        // Frames have places, which the walk reads.
        let base = self.body.load(types::I64, context, BASE);
        let start = self.pos();
        let start = self.body.ins().isub(start, base);
        let end = end.map_or(start, |end| self.body.ins().isub(end, base));
        let seen = self.seen_so_far();
        let place = self.number(types::I32, i64::from(place));
        self.body.store(end, top, FRAME_END);
        self.body.store(start, top, FRAME_START);
        self.body.store(seen, top, FRAME_SEEN);
        self.body.store(place, top, FRAME_ENTRY);
        if let Some(record) = record {
            self.keep_bits();
            let outside = self.body.use_var(self.record);
            self.body.store(outside, top, FRAME_RECORD);
            self.go_to(record);
        }
        let top = self.body.ins().iadd_imm_u(top, FRAME_BYTES);
        self.body.def_var(self.top, top);
        if self.checks_required {
            let none = self.number(types::I64, 0);
            self.body.def_var(self.seen, none);
        }
    }

    /// Enters a message, at its first byte.
    fn enter(&mut self, sub: u32) {
        let node = self.tables.node(sub);
        let Some(&blocks) = self.blocks_of_node.get(&sub) else {
            let node = self.number(types::I32, i64::from(sub));
            self.leave_in(Exit::AtField, node);
            return;
        };
        self.expect_one_of(node.entries.0, node, blocks);
        self.body.ins().jump(blocks.dispatch, &[]);
    }

    // ---- end

    /// Handles places where no field may begin: the end of the message, or of the safe zone.
    pub(super) fn ended(&mut self, place: u32, node: &Node) {
        let pos = self.pos();
        let end = self.body.use_var(self.end);
        let other = self.body.ins().icmp(IntCC::NotEqual, pos, end);
        let is_group = node.end_tag != 0;
        if is_group || !self.parents.contains_key(&place) {
            // A group does not end here, and the outermost nowhere.
            self.leave(Exit::AtField);
            return;
        }
        self.unless(other, |writer| writer.leave(Exit::AtField));
        self.or_missing(node);
        self.return_to_parent(place);
    }

    pub(super) fn end_group(&mut self, place: u32, node: &Node) {
        if node.end_tag == 0 || !self.parents.contains_key(&place) {
            self.leave(Exit::AtField);
            return;
        }
        let tag = TagBytes::of(node.end_tag);
        let pos = self.pos();
        let after = self.body.ins().iadd_imm_u(pos, tag.length);
        self.leave_behind(after);
        self.or_missing(node);
        self.return_to_parent(place);
    }

    /// Exits where a required field is missing.
    fn or_missing(&mut self, node: &Node) {
        if node.required > 0 {
            let seen = self.body.use_var(self.seen);
            let mask = self.number(types::I64, node.required_mask() as i64);
            let there = self.body.ins().band(seen, mask);
            let missing = self.body.ins().icmp(IntCC::NotEqual, there, mask);
            self.unless(missing, |writer| writer.leave(Exit::AtField));
        }
    }

    /// Returns to the parent of the message that ends; the frame is still there.
    fn return_to_parent(&mut self, place: u32) {
        let parents = &self.parents[&place];
        let known = parents.iter().filter(|parent| self.blocks_of_entry.contains_key(parent));
        let known: Vec<u32> = known.copied().collect();
        // An outermost message does not get here: it has no end, and no end tag.
        if let ([only], 1) = (&known[..], parents.len()) {
            let back = self.blocks_of_entry[only].back;
            self.body.ins().jump(back, &[]);
            return;
        }
        let top = self.body.use_var(self.top);
        let entry = self.body.load(types::I32, top, FRAME_ENTRY - FRAME_BYTES as i32);
        let leave = self.body.cold_block();
        let blocks = &self.blocks_of_entry;
        let cases = known.into_iter().map(|parent| (u64::from(parent), blocks[&parent].back));
        self.body.switch(entry, cases, leave);
        self.body.switch_to_block(leave);
        self.leave(Exit::AtField);
    }

    /// Leaves the message of a field.
    pub(super) fn back(&mut self, entry: &Entry) {
        let context = self.context;
        if !entry.leads() {
            self.leave(Exit::AtField);
            let never = self.body.cold_block();
            self.body.switch_to_block(never);
            return;
        }
        // If the sink stops, the frame is still there, in the message that ends.
        let outside = std::mem::replace(&mut self.node, entry.sub);
        if self.target.fills_records() {
            self.keep_bits();
        }
        self.target.end_sub(self, entry);
        self.node = outside;
        let top = self.body.use_var(self.top);
        let frame = self.body.ins().iadd_imm_s(top, -FRAME_BYTES);
        self.body.def_var(self.top, frame);
        if self.target.fills_records() {
            let record = self.body.load(types::I64, frame, FRAME_RECORD);
            self.go_to(record);
        }
        if self.tables.node(self.node).required > 0 {
            let seen = self.body.load(types::I64, frame, FRAME_SEEN);
            self.body.def_var(self.seen, seen);
        }
        if entry.action == Action::Message {
            let end = self.body.load(types::I64, frame, FRAME_END);
            let base = self.body.load(types::I64, context, BASE);
            let end = self.body.ins().iadd(base, end);
            self.set_end(end);
        } else {
            let tag = TagBytes::of(self.tables.node(entry.sub).end_tag);
            let pos = self.pos();
            let after = self.body.ins().iadd_imm_u(pos, tag.length);
            self.body.def_var(self.pos, after);
        }
    }

    // ---- required fields

    /// Records that a required field was seen.
    pub(super) fn seen(&mut self, entry: &Entry) {
        if let Some(bit) = entry.required {
            let seen = self.body.use_var(self.seen);
            let bit = self.number(types::I64, 1i64 << bit);
            let seen = self.body.ins().bor(seen, bit);
            self.body.def_var(self.seen, seen);
        }
    }

    /// The required fields that the message has had.
    fn seen_so_far(&mut self) -> Value {
        if self.checks_required { self.body.use_var(self.seen) } else { self.number(types::I64, 0) }
    }
}
