//! Writes the function: nodes, frames, tags, exits.
//!
//! ```text
//!   resume(node):  one of the first tags? else dispatch
//!   after(entry):  its own tag, if a list? one of the next few? else dispatch
//!   dispatch(node): at the end? -> ended     tag -> one(entry), packed(entry), end of the group
//!   one(entry):    value -> after(entry);  sub-message: push a frame -> first tags of its node
//!   edge(node):    no room for the value: at the end? -> ended     else leave
//!   ended(node):   the end of a sub-message: pop the frame -> after(its entry);  else leave
//! ```

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{
    Block, BlockCall, CallConv, InstBuilder, IntCC, JumpTableData, Type, Value, signature, types,
};
use tidemill_jit::{Body, Module};
use tidemill_stdx::hash::Map;

use super::super::nodes::{Action, Entry, Node};
use super::super::tables::Tables;
use super::calls;
use super::context::*;
use super::reach::Reach;
use super::writer::{EntryBlocks, Helpers, ListExit, NodeBlocks, Target, Writer};
use crate::message::layout::PRESENCE_OFFSET;
use crate::schema::Schema;

/// The number of entries after a field whose tags are compared one by one before all are searched:
/// few fields in a row are left out.
const AHEAD: u32 = 4;

impl Helpers {
    pub(super) fn import(module: &mut Module) -> Helpers {
        let c = CallConv::SystemV;
        let is_utf8 = signature(c, &[types::I64; 2], &[types::I32]);
        let group = [types::I64, types::I64, types::I32, types::I64];
        let group = signature(c, &group, &[types::I64]);
        let are_varints = calls::are_varints as *const ();
        // SAFETY: functions of these signatures, in the program.
        unsafe {
            Helpers {
                are_varints: module.import("are_varints", is_utf8.clone(), are_varints),
                is_utf8: module.import("is_utf8", is_utf8, calls::is_utf8 as *const ()),
                group_bytes: module.import("group_bytes", group, calls::group_bytes as *const ()),
            }
        }
    }
}

/// A tag as in memory.
#[derive(Clone, Copy)]
pub(super) struct TagBytes {
    pub(super) raw: u64,
    pub(super) length: i64,
}

impl TagBytes {
    pub(super) fn of(tag: u32) -> TagBytes {
        let mut bytes = Vec::new();
        crate::varint::write(&mut bytes, u64::from(tag));
        let length = bytes.len() as i64;
        bytes.resize(8, 0);
        let raw = bytes.iter().rev().fold(0, |raw, &byte| raw << 8 | u64::from(byte));
        TagBytes { raw, length }
    }
}

/// The tags of one number, and where they are distinguished.
struct Check {
    number: u32,
    block: Block,
    tags: Vec<(u32, Block)>,
}

impl Check {
    fn by_number(writer: &mut Writer<'_, '_>, tags: &[&(u32, Block)]) -> Vec<Check> {
        let mut checks: Vec<Check> = Vec::new();
        for &&(tag, found) in tags {
            let number = tag >> 3;
            match checks.iter_mut().find(|check| check.number == number) {
                Some(check) => check.tags.push((tag, found)),
                None => {
                    let block = writer.body.create_block();
                    checks.push(Check { number, block, tags: vec![(tag, found)] });
                }
            }
        }
        checks
    }
}

/// Writes the body of the function.
pub(super) fn write(
    body: &mut Body<'_>,
    schema: &Schema,
    tables: &Tables,
    target: &dyn Target,
    reach: &Reach,
    helpers: &Helpers,
) {
    let arguments = body.begin();
    let (context, node) = (arguments[0], arguments[1]);
    let mut writer = Writer::new(body, schema, tables, (reach, helpers), target, context);
    let lost = writer.body.create_block();
    let blocks = &writer.blocks_of_node;
    let cases = reach.compiled().iter().map(|place| (u64::from(*place), blocks[place].resume));
    writer.body.switch(node, cases, lost);
    writer.body.switch_to_block(lost);
    writer.leave_in(Exit::AtField, node);
    for &place in reach.compiled() {
        writer.node(place);
    }
}

/// The blocks of nodes and entries that have code.
fn blocks(
    body: &mut Body<'_>,
    tables: &Tables,
    reach: &Reach,
) -> (Map<u32, NodeBlocks>, Map<u32, EntryBlocks>) {
    let (mut of_node, mut of_entry) = (Map::default(), Map::default());
    for &place in reach.compiled() {
        let blocks = NodeBlocks {
            resume: body.create_block(),
            dispatch: body.create_block(),
            ended: body.create_block(),
            end_group: body.create_block(),
            edge: body.create_block(),
        };
        of_node.insert(place, blocks);
        let (first, end) = tables.node(place).entries;
        for entry in first..end {
            let blocks = EntryBlocks {
                one: body.create_block(),
                packed: body.create_block(),
                after: body.create_block(),
                back: body.create_block(),
            };
            of_entry.insert(entry, blocks);
        }
    }
    (of_node, of_entry)
}

/// The entries that lead to each node.
fn parents(tables: &Tables, reach: &Reach) -> Map<u32, Vec<u32>> {
    let mut parents: Map<u32, Vec<u32>> = Map::default();
    for &owner in reach.all() {
        let (first, end) = tables.node(owner).entries;
        for place in first..end {
            let entry = tables.entry(place);
            if entry.leads() {
                parents.entry(entry.sub).or_default().push(place);
            }
        }
    }
    parents
}

impl<'w, 'm> Writer<'w, 'm> {
    fn new(
        body: &'w mut Body<'m>,
        schema: &'w Schema,
        tables: &'w Tables,
        (reach, helpers): (&Reach, &'w Helpers),
        target: &'w dyn Target,
        context: Value,
    ) -> Writer<'w, 'm> {
        let (blocks_of_node, blocks_of_entry) = blocks(body, tables, reach);
        let pos = body.declare_var(types::I64);
        let limit = body.declare_var(types::I64);
        let end = body.declare_var(types::I64);
        let top = body.declare_var(types::I64);
        let seen = body.declare_var(types::I64);
        let record = body.declare_var(types::I64);
        let bits = body.declare_var(types::I64);
        let checks_required = reach.all().iter().any(|&node| tables.node(node).required > 0);
        let (node, target) = (0, target);
        let mut writer = Writer {
            body,
            schema,
            tables,
            helpers,
            target,
            context,
            pos,
            limit,
            end,
            top,
            seen,
            checks_required,
            record,
            bits,
            blocks_of_node,
            blocks_of_entry,
            parents: parents(tables, reach),
            node,
            list: None,
        };
        writer.load_registers();
        writer
    }

    /// Loads from the context what the code keeps in registers.
    fn load_registers(&mut self) {
        let context = self.context;
        let pos = self.body.load(types::I64, context, POS);
        self.body.def_var(self.pos, pos);
        if self.checks_required {
            let seen = self.body.load(types::I64, context, SEEN);
            self.body.def_var(self.seen, seen);
        }
        if self.target.fills_records() {
            let record = self.body.load(types::I64, context, RECORD);
            self.go_to(record);
        }
        let top = self.body.load(types::I64, context, TOP);
        self.body.def_var(self.top, top);
        let end = self.body.load(types::I64, context, END);
        self.set_end(end);
    }

    // ---- small things

    pub(super) fn number(&mut self, ty: Type, value: i64) -> Value {
        self.body.ins().iconst(ty, value)
    }

    pub(super) fn pos(&mut self) -> Value {
        self.body.use_var(self.pos)
    }

    pub(super) fn limit(&mut self) -> Value {
        self.body.use_var(self.limit)
    }

    /// Continues only where `condition` is 0; else jumps to a cold block that `otherwise` writes.
    pub(super) fn unless(&mut self, condition: Value, otherwise: impl FnOnce(&mut Self)) {
        let (bad, next) = (self.body.cold_block(), self.body.create_block());
        self.body.ins().brif(condition, bad, &[], next, &[]);
        self.body.switch_to_block(bad);
        otherwise(self);
        self.body.switch_to_block(next);
    }

    /// The message ends at `end`.
    fn set_end(&mut self, end: Value) {
        let context = self.context;
        self.body.def_var(self.end, end);
        let safe = self.body.load(types::I64, context, SAFE);
        let limit = self.body.ins().umin(end, safe);
        self.body.def_var(self.limit, limit);
    }

    /// Fills that record from now on.
    fn go_to(&mut self, record: Value) {
        self.body.def_var(self.record, record);
        let bits = self.body.load(types::I64, record, PRESENCE_OFFSET as i32);
        self.body.def_var(self.bits, bits);
    }

    /// Stores the presence bits of the record that are in a register.
    fn keep_bits(&mut self) {
        let (record, bits) = (self.body.use_var(self.record), self.body.use_var(self.bits));
        self.body.store(bits, record, PRESENCE_OFFSET as i32);
    }

    // ---- exits

    fn leave_in(&mut self, exit: Exit, node: Value) {
        let context = self.context;
        let node = self.body.ins().uextend(types::I64, node);
        self.body.store(node, context, NODE);
        let pos = self.pos();
        self.body.store(pos, context, POS);
        let end = self.body.use_var(self.end);
        self.body.store(end, context, END);
        let top = self.body.use_var(self.top);
        self.body.store(top, context, TOP);
        if self.checks_required {
            let seen = self.body.use_var(self.seen);
            self.body.store(seen, context, SEEN);
        }
        if self.target.fills_records() {
            self.keep_bits();
            let record = self.body.use_var(self.record);
            self.body.store(record, context, RECORD);
        }
        let code = self.number(types::I32, i64::from(exit as u32));
        self.body.ins().return_(&[code]);
    }

    pub(super) fn leave(&mut self, exit: Exit) {
        let node = self.number(types::I32, i64::from(self.node));
        self.leave_in(exit, node);
    }

    /// Exits at the field whose tag is at `pos`, or the element of a list, for the table decoder to
    /// read.
    pub(super) fn leave_if(&mut self, condition: Value) {
        if self.list.is_some() {
            self.unless(condition, Self::give_up);
            return;
        }
        let (edge, next) = (self.edge(), self.body.create_block());
        self.body.ins().brif(condition, edge, &[], next, &[]);
        self.body.switch_to_block(next);
    }

    /// The same, if `end` is after the limit.
    pub(super) fn leave_behind(&mut self, end: Value) {
        let limit = self.limit();
        let over = self.body.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
        self.leave_if(over);
    }

    fn edge(&self) -> Block {
        self.blocks_of_node[&self.node].edge
    }

    /// Sets the place in a list for the exit.
    fn point_into(&mut self, list: ListExit) {
        let context = self.context;
        self.body.store(list.list, context, START);
        self.body.store(list.end, context, LIST_END);
        let place = self.number(types::I64, i64::from(list.place));
        self.body.store(place, context, ENTRY);
        self.body.def_var(self.pos, list.at);
    }

    pub(super) fn give_up(&mut self) {
        let Some(list) = self.list else {
            let edge = self.edge();
            self.body.ins().jump(edge, &[]);
            return;
        };
        self.point_into(list);
        self.leave(Exit::InPacked);
    }

    /// Exits because of the field whose tag is at `pos`.
    pub(super) fn fail(&mut self, exit: Exit, place: u32) {
        let context = self.context;
        let pos = self.pos();
        let entry = self.number(types::I64, i64::from(place));
        self.body.store(entry, context, ENTRY);
        match self.list {
            Some(list) => self.point_into(list),
            None => self.body.store(pos, context, START),
        }
        self.leave(exit);
    }

    /// Exits where a sink does not continue.
    pub(super) fn stop_if(&mut self, answer: Value, place: u32) {
        self.unless(answer, |writer| writer.fail(Exit::Stopped, place));
    }

    /// The same, where the answer may be that a string is not UTF-8.
    pub(super) fn stop_or_invalid(&mut self, answer: Value, place: u32) {
        self.unless(answer, |writer| {
            let invalid = i64::from(calls::INVALID);
            let invalid = writer.body.ins().icmp_imm_u(IntCC::Equal, answer, invalid);
            writer.unless(invalid, |writer| writer.fail(Exit::InvalidUtf8, place));
            writer.fail(Exit::Stopped, place);
        });
    }

    pub(super) fn stop_at_end_if(&mut self, answer: Value) {
        self.unless(answer, |writer| writer.leave(Exit::StoppedAtEnd));
    }

    // ---- nodes

    fn node(&mut self, place: u32) {
        self.node = place;
        let node = self.tables.node(place);
        let blocks = self.blocks_of_node[&place];
        self.body.switch_to_block(blocks.resume);
        self.expect_one_of(node.entries.0, node, blocks);
        self.body.ins().jump(blocks.dispatch, &[]);
        self.dispatch(node, blocks);
        for entry in node.entries.0..node.entries.1 {
            self.entry(entry, node, blocks);
        }
        self.body.switch_to_block(blocks.ended);
        self.ended(place, node);
        self.body.switch_to_block(blocks.end_group);
        self.end_group(place, node);
        self.body.switch_to_block(blocks.edge);
        self.body.set_cold_block(blocks.edge);
        self.or_ended(blocks);
        self.leave(Exit::AtField);
    }

    /// Continues where a field may begin.
    fn or_ended(&mut self, blocks: NodeBlocks) {
        let (pos, limit) = (self.pos(), self.limit());
        let next = self.body.create_block();
        let over = self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, pos, limit);
        self.body.ins().brif(over, blocks.ended, &[], next, &[]);
        self.body.switch_to_block(next);
    }

    /// Jumps to `found` if this tag is at `pos`.
    fn expect(&mut self, tag: u32, found: Block) {
        let tag = TagBytes::of(tag);
        let raw = self.raw_tag(tag.length);
        let same = self.body.ins().icmp_imm_u(IntCC::Equal, raw, tag.raw as i64);
        let next = self.body.create_block();
        self.body.ins().brif(same, found, &[], next, &[]);
        self.body.switch_to_block(next);
    }

    /// The `length` bytes at `pos`.
    fn raw_tag(&mut self, length: i64) -> Value {
        let at = self.pos();
        match length {
            1 => self.body.ins().uload8(types::I32, unaligned(), at, 0),
            2 => self.body.ins().uload16(types::I32, unaligned(), at, 0),
            4 => self.body.load(types::I32, at, 0),
            3 => {
                let raw = self.body.load(types::I32, at, 0);
                self.body.ins().band_imm_u(raw, 0xff_ffff)
            }
            _ => {
                let raw = self.body.load(types::I64, at, 0);
                self.body.ins().band_imm_u(raw, 0xff_ffff_ffff)
            }
        }
    }

    /// Dispatches where any field may follow, or the end.
    fn dispatch(&mut self, node: &Node, blocks: NodeBlocks) {
        self.body.switch_to_block(blocks.dispatch);
        self.or_ended(blocks);
        let entries = node.entries.0..node.entries.1;
        let mut tags = Vec::new();
        for place in entries {
            let entry = self.tables.entry(place);
            let found = self.blocks_of_entry[&place];
            tags.push((entry.single_tag(), found.one));
            if entry.packed_tag() != 0 {
                tags.push((entry.packed_tag(), found.packed));
            }
        }
        if node.end_tag != 0 {
            tags.push((node.end_tag, blocks.end_group));
        }
        let leave = self.body.cold_block();
        let longest = tags.iter().map(|(tag, _)| TagBytes::of(*tag).length).max().unwrap_or(1);
        for length in 1..=longest {
            let of_length: Vec<_> =
                tags.iter().filter(|(tag, _)| TagBytes::of(*tag).length == length).collect();
            let raw = self.raw_tag(length);
            let longer = if length == longest { leave } else { self.body.create_block() };
            match length {
                1 => self.choose_by_byte(raw, &of_length, longer, leave),
                _ => {
                    if longer != leave {
                        // Not the last byte of the tag?
                        let here = self.body.create_block();
                        let more = self.body.ins().band_imm_u(raw, 0x80 << (8 * (length - 1)));
                        self.body.ins().brif(more, longer, &[], here, &[]);
                        self.body.switch_to_block(here);
                    }
                    self.choose(raw, &of_length, length, leave);
                }
            }
            self.body.switch_to_block(longer);
        }
        self.leave(Exit::AtField);
    }

    /// Dispatches by a byte: a jump table over its number, which also leads to longer tags.
    fn choose_by_byte(
        &mut self,
        raw: Value,
        tags: &[&(u32, Block)],
        longer: Block,
        otherwise: Block,
    ) {
        let checks = Check::by_number(self, tags);
        let number = self.body.ins().ushr_imm_u(raw, 3);
        let targets: Vec<BlockCall> = (0..0x10)
            .map(|number| {
                let check = checks.iter().find(|check| check.number == number);
                let block = check.map_or(otherwise, |check| check.block);
                self.body.func.dfg.block_call(block, &[])
            })
            .collect();
        let longer = self.body.func.dfg.block_call(longer, &[]);
        let table = self.body.create_jump_table(JumpTableData::new(longer, &targets));
        self.body.ins().br_table(number, table);
        self.compare_tags(raw, checks, otherwise);
    }

    /// Compares with the tags of one number.
    fn compare_tags(&mut self, raw: Value, checks: Vec<Check>, otherwise: Block) {
        for Check { block, tags, .. } in checks {
            self.body.switch_to_block(block);
            for (tag, block) in tags {
                let wanted = TagBytes::of(tag).raw as i64;
                let same = self.body.ins().icmp_imm_u(IntCC::Equal, raw, wanted);
                let next = self.body.create_block();
                self.body.ins().brif(same, block, &[], next, &[]);
                self.body.switch_to_block(next);
            }
            self.body.ins().jump(otherwise, &[]);
        }
    }

    /// Dispatches a tag of this length: by number first, which is dense, so that the search is an
    /// indexed jump where numbers are close.
    fn choose(&mut self, raw: Value, tags: &[&(u32, Block)], length: i64, otherwise: Block) {
        if tags.is_empty() {
            self.body.ins().jump(otherwise, &[]);
            return;
        }
        let number = match length {
            2 => {
                let high = self.body.ins().ushr_imm_u(raw, 8);
                let high = self.body.ins().ishl_imm_u(high, 4);
                let low = self.body.ins().ushr_imm_u(raw, 3);
                let low = self.body.ins().band_imm_u(low, 0xf);
                self.body.ins().bor(high, low)
            }
            // Long tags are rare, so they are searched by value.
            _ => {
                let cases = tags.iter().map(|(tag, block)| (TagBytes::of(*tag).raw, *block));
                self.body.switch(raw, cases, otherwise);
                return;
            }
        };
        let checks = Check::by_number(self, tags);
        let cases = checks.iter().map(|check| (u64::from(check.number), check.block));
        self.body.switch(number, cases, otherwise);
        self.compare_tags(raw, checks, otherwise);
    }

    // ---- entries

    fn entry(&mut self, place: u32, node: &Node, blocks: NodeBlocks) {
        let entry = *self.tables.entry(place);
        let own = self.blocks_of_entry[&place];
        self.body.switch_to_block(own.one);
        let tag = TagBytes::of(entry.single_tag());
        match entry.action {
            _ if !self.target.takes(&entry) => self.give_up(),
            Action::Message => self.sub_message(place, &entry, tag),
            Action::Group => self.group(place, &entry, tag),
            _ => {
                self.one(place, &entry, tag);
                self.body.ins().jump(own.after, &[]);
            }
        }
        self.body.switch_to_block(own.packed);
        if entry.packed_tag() == 0 || !self.target.takes(&entry) {
            self.give_up();
        } else {
            self.packed(place, &entry);
            self.body.ins().jump(own.after, &[]);
        }
        self.body.switch_to_block(own.back);
        self.back(&entry);
        self.body.ins().jump(own.after, &[]);
        // The next tag is compared before the end is checked: after the end no value fits, so a
        // chance match there still reaches the edge.
        self.body.switch_to_block(own.after);
        if entry.repeated && entry.tag == entry.single_tag() {
            self.expect(entry.tag, own.one);
        }
        self.expect_one_of(place + 1, node, blocks);
        self.body.ins().jump(blocks.dispatch, &[]);
    }

    /// Jumps to one of the next few entries from `place` on, or the end of the group after them.
    fn expect_one_of(&mut self, place: u32, node: &Node, blocks: NodeBlocks) {
        let ahead = place + AHEAD;
        for next in place..ahead.min(node.entries.1) {
            self.expect_entry(next);
        }
        if ahead > node.entries.1 && node.end_tag != 0 {
            self.expect(node.end_tag, blocks.end_group);
        }
    }

    /// Jumps to an entry if its tag is at `pos`.
    fn expect_entry(&mut self, place: u32) {
        let entry = self.tables.entry(place);
        let blocks = self.blocks_of_entry[&place];
        let packed = entry.tag == entry.packed_tag();
        self.expect(entry.tag, if packed { blocks.packed } else { blocks.one });
    }

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

    // ---- frames

    fn sub_message(&mut self, place: u32, entry: &Entry, tag: TagBytes) {
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

    fn group(&mut self, place: u32, entry: &Entry, tag: TagBytes) {
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

    /// Handles places where no field may begin: the end of the message, or of the safe zone.
    fn ended(&mut self, place: u32, node: &Node) {
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

    fn end_group(&mut self, place: u32, node: &Node) {
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
    fn back(&mut self, entry: &Entry) {
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
}
