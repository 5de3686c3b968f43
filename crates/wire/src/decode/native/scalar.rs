//! Code that reads values.

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{InstBuilder, IntCC, Value, types};

use super::super::nodes::{Action, Entry};
use super::context::*;
use super::tag::TagBytes;
use super::writer::ListExit;
use super::writer::Writer;
use crate::schema::{EnumId, WireType};

/// The form of a number in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Varint,
    Eight,
    Four,
}

fn form(wire_type: u32) -> Form {
    match wire_type {
        1 => Form::Eight,
        5 => Form::Four,
        _ => Form::Varint,
    }
}

/// Whether the value of a varint is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Value,
    Length,
}

impl Writer<'_, '_> {
    /// Writes the reading of a field whose tag is at `pos`, and advances `pos` after it.
    pub(super) fn one(&mut self, place: u32, entry: &Entry, tag: TagBytes) {
        let wire_type = entry.single_tag() & 7;
        if wire_type == WireType::Length as u32 {
            return self.text(place, entry, tag);
        }
        if wire_type == WireType::StartGroup as u32 {
            return self.skip_group(entry, tag);
        }
        let pos = self.pos();
        let start = self.body.ins().iadd_imm_u(pos, tag.length);
        let need = if self.needs(entry) { Need::Value } else { Need::Length };
        let (value, after) = self.number_at(start, form(wire_type), need);
        self.leave_behind(after);
        self.seen(entry);
        if let (Some(value), Need::Value) = (value, need) {
            self.deliver(place, entry, value);
        }
        self.body.def_var(self.pos, after);
    }

    /// Whether the value must be known.
    fn needs(&self, entry: &Entry) -> bool {
        let unknown = entry.action == Action::ClosedEnum && self.target.wants_unknown();
        unknown || self.target.wants(entry)
    }

    /// Passes a number to the target. Numbers that a closed enum does not have exit.
    fn deliver(&mut self, place: u32, entry: &Entry, raw: Value) {
        let value = self.convert(entry, raw);
        if entry.action == Action::ClosedEnum {
            let known = self.body.create_block();
            let unknown = self.body.cold_block();
            self.if_named(entry, value, known, unknown);
            self.body.switch_to_block(unknown);
            self.give_up();
            self.body.switch_to_block(known);
        }
        if self.target.wants(entry) {
            let target = self.target;
            target.number(self, place, entry, value);
        }
    }

    /// Jumps to `known` if a closed enum names the number.
    fn if_named(
        &mut self,
        entry: &Entry,
        value: Value,
        known: tidemill_jit::build::Block,
        unknown: tidemill_jit::build::Block,
    ) {
        let mut numbers: Vec<i32> = self
            .schema
            .enum_def(EnumId(entry.sub))
            .values()
            .iter()
            .map(|one| one.number())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        if i64::from(last) - i64::from(first) == numbers.len() as i64 - 1 {
            let from_first = self.body.ins().iadd_imm_s(value, -i64::from(first));
            let span = numbers.len() as i64 - 1;
            let inside =
                self.body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, from_first, span);
            self.body.ins().brif(inside, known, &[], unknown, &[]);
            return;
        }
        let cases = numbers.into_iter().map(|number| (u64::from(number as u32), known));
        self.body.switch(value, cases, unknown);
    }

    /// The address of the numbers of a closed enum, for functions that are called; else null.
    pub(super) fn closed(&mut self, entry: &Entry) -> Value {
        let address = match entry.action {
            Action::ClosedEnum => {
                let named = self.schema.enum_def(EnumId(entry.sub)).named();
                std::ptr::from_ref(named).expose_provenance()
            }
            _ => 0,
        };
        self.number(types::I64, address as i64)
    }

    /// Converts a number from its form in bytes to that of the target.
    fn convert(&mut self, entry: &Entry, raw: Value) -> Value {
        let zigzag = |writer: &mut Self, raw: Value, ty| {
            let half = writer.body.ins().ushr_imm_u(raw, 1);
            let sign = writer.body.ins().band_imm_u(raw, 1);
            let zero = writer.number(ty, 0);
            let sign = writer.body.ins().isub(zero, sign);
            writer.body.ins().bxor(half, sign)
        };
        match entry.action {
            Action::Sint64 => zigzag(self, raw, types::I64),
            Action::Sint32 => {
                let low = self.body.ins().ireduce(types::I32, raw);
                zigzag(self, low, types::I32)
            }
            Action::Int32 | Action::Uint32 | Action::ClosedEnum => {
                self.body.ins().ireduce(types::I32, raw)
            }
            Action::Bool => {
                let truth = self.body.ins().icmp_imm_u(IntCC::NotEqual, raw, 0);
                self.body.ins().uextend(types::I64, truth)
            }
            _ => raw,
        }
    }

    /// A number that begins at a place, if it is needed, and where it ends.
    fn number_at(&mut self, start: Value, form: Form, need: Need) -> (Option<Value>, Value) {
        let (ty, bytes) = match form {
            Form::Varint => {
                let (value, after) = self.varint(start, need);
                return (value, after);
            }
            Form::Eight => (types::I64, 8),
            Form::Four => (types::I32, 4),
        };
        let after = self.body.ins().iadd_imm_u(start, bytes);
        let value = (need == Need::Value).then(|| self.body.load(ty, start, 0));
        (value, after)
    }

    /// A varint that begins at a place: one byte, two, and the rest in cold blocks. One without an
    /// end exits.
    fn varint(&mut self, start: Value, need: Need) -> (Option<Value>, Value) {
        let done = self.body.create_block();
        let after = self.body.append_block_param(done, types::I64);
        let value = (need == Need::Value).then(|| self.body.append_block_param(done, types::I64));
        let first = self.body.ins().uload8(types::I64, unaligned(), start, 0);
        let (one, two) = (self.body.create_block(), self.body.create_block());
        let more = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, first, 0x80);
        self.body.ins().brif(more, two, &[], one, &[]);
        self.body.switch_to_block(one);
        let end = self.body.ins().iadd_imm_u(start, 1);
        self.found(done, end, value.map(|_| first));
        self.body.switch_to_block(two);
        let both = self.body.ins().uload16(types::I64, unaligned(), start, 0);
        // Out of the way of what follows.
        let (two, long) = (self.body.create_block(), self.body.cold_block());
        let more = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, both, 0x8000);
        self.body.ins().brif(more, long, &[], two, &[]);
        self.body.switch_to_block(two);
        let end = self.body.ins().iadd_imm_u(start, 2);
        let low = self.body.ins().band_imm_u(both, 0x7f);
        let high = self.body.ins().ushr_imm_u(both, 1);
        let high = self.body.ins().band_imm_u(high, 0x3f80);
        let pair = self.body.ins().bor(low, high);
        self.found(done, end, value.map(|_| pair));
        self.body.switch_to_block(long);
        self.long_varint(start, need, done);
        self.body.switch_to_block(done);
        (value, after)
    }

    fn found(&mut self, done: tidemill_jit::build::Block, end: Value, value: Option<Value>) {
        match value {
            Some(value) => self.body.ins().jump(done, &[end.into(), value.into()]),
            None => self.body.ins().jump(done, &[end.into()]),
        };
    }

    /// Three to ten bytes: those of eight are packed in three steps, the last two are added. Nine
    /// and ten bytes are distinguished without a jump, which could not be predicted.
    fn long_varint(&mut self, start: Value, need: Need, done: tidemill_jit::build::Block) {
        let word = self.body.load(types::I64, start, 0);
        let tops = self.number(types::I64, 0x8080_8080_8080_8080u64 as i64);
        let ends = self.body.ins().bnot(word);
        let ends = self.body.ins().band(ends, tops);
        let (near, far) = (self.body.cold_block(), self.body.cold_block());
        self.body.ins().brif(ends, near, &[], far, &[]);
        self.body.switch_to_block(near);
        let bits = self.body.ins().ctz(ends);
        let bytes = self.body.ins().ushr_imm_u(bits, 3);
        let end = self.body.ins().iadd(start, bytes);
        let end = self.body.ins().iadd_imm_u(end, 1);
        let value = (need == Need::Value).then(|| {
            let before = self.body.ins().iadd_imm_s(ends, -1);
            let mask = self.body.ins().bxor(ends, before);
            let used = self.body.ins().band(word, mask);
            self.together(used)
        });
        self.found(done, end, value);
        self.body.switch_to_block(far);
        let last = self.body.ins().uload16(types::I64, unaligned(), start, 8);
        let endless = self.body.ins().band_imm_u(last, 0x8080);
        let endless = self.body.ins().icmp_imm_u(IntCC::Equal, endless, 0x8080);
        self.leave_if(endless);
        let more = self.body.ins().ushr_imm_u(last, 7);
        let more = self.body.ins().band_imm_u(more, 1);
        let end = self.body.ins().iadd(start, more);
        let end = self.body.ins().iadd_imm_u(end, 9);
        let value = (need == Need::Value).then(|| {
            let low = self.together(word);
            let ninth = self.body.ins().band_imm_u(last, 0x7f);
            let ninth = self.body.ins().ishl_imm_u(ninth, 56);
            // Only one bit of the tenth byte fits.
            let tenth = self.body.ins().ushr_imm_u(last, 8);
            let tenth = self.body.ins().band(tenth, more);
            let tenth = self.body.ins().ishl_imm_u(tenth, 63);
            let high = self.body.ins().bor(ninth, tenth);
            self.body.ins().bor(low, high)
        });
        self.found(done, end, value);
    }

    /// Packs the seven-bit groups of eight bytes.
    fn together(&mut self, word: Value) -> Value {
        let mut value = word;
        for (low, high, shift) in [
            (0x007f_007f_007f_007fu64, 0x7f00_7f00_7f00_7f00u64, 1),
            (0x0000_3fff_0000_3fff, 0x3fff_0000_3fff_0000, 2),
            (0x0fff_ffff, 0x0fff_ffff_0000_0000, 4),
        ] {
            let (low, high) =
                (self.number(types::I64, low as i64), self.number(types::I64, high as i64));
            let low = self.body.ins().band(value, low);
            let high = self.body.ins().band(value, high);
            let high = self.body.ins().ushr_imm_u(high, shift);
            value = self.body.ins().bor(low, high);
        }
        value
    }

    /// The length after a tag, and the start of the content; lengths of 2^32 and more exit.
    pub(super) fn length(&mut self, pos: Value, tag_bytes: i64) -> (Value, Value) {
        let start = self.body.ins().iadd_imm_u(pos, tag_bytes);
        let (length, body) = self.varint(start, Need::Value);
        let length = length.unwrap_or(body);
        // So that sums do not wrap, and lengths of strings have room.
        let most = self.number(types::I64, i64::from(u32::MAX));
        let over = self.body.ins().icmp(IntCC::UnsignedGreaterThan, length, most);
        self.leave_if(over);
        (length, body)
    }

    /// A string or bytes, or anything under a length that is skipped.
    fn text(&mut self, place: u32, entry: &Entry, tag: TagBytes) {
        let pos = self.pos();
        let (length, body) = self.length(pos, tag.length);
        let end = self.body.ins().iadd(body, length);
        self.leave_behind(end);
        self.seen(entry);
        if self.target.wants(entry) {
            let target = self.target;
            target.text(self, place, entry, body, length);
        } else if entry.action == Action::String {
            self.check_utf8(place, body, length);
        }
        self.body.def_var(self.pos, end);
    }

    /// Exits where a string is not UTF-8. Words without a top bit show up to sixteen bytes to be
    /// ASCII; other strings are checked by a call.
    pub(super) fn check_utf8(&mut self, place: u32, at: Value, length: Value) {
        let (some, two) = (self.body.create_block(), self.body.create_block());
        let (ask, done) = (self.body.create_block(), self.body.create_block());
        let tops = self.number(types::I64, 0x8080_8080_8080_8080u64 as i64);
        let short = self.body.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, length, 8);
        self.body.ins().brif(short, some, &[], two, &[]);
        self.body.switch_to_block(some);
        // The bytes after the string are shifted out. Of an empty string nothing is shifted out,
        // so it takes the call if one of those bytes has a top bit.
        let word = self.body.load(types::I64, at, 0);
        let bits = self.body.ins().ishl_imm_u(length, 3);
        let full = self.number(types::I64, 64);
        let others = self.body.ins().isub(full, bits);
        let word = self.body.ins().ishl(word, others);
        let found = self.body.ins().band(word, tops);
        self.body.ins().brif(found, ask, &[], done, &[]);
        self.body.switch_to_block(two);
        let rest = self.body.create_block();
        let long = self.body.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, length, 16);
        self.body.ins().brif(long, ask, &[], rest, &[]);
        self.body.switch_to_block(rest);
        let first = self.body.load(types::I64, at, 0);
        let end = self.body.ins().iadd(at, length);
        let last = self.body.load(types::I64, end, -8);
        let both = self.body.ins().bor(first, last);
        let found = self.body.ins().band(both, tops);
        self.body.ins().brif(found, ask, &[], done, &[]);
        self.body.switch_to_block(ask);
        let helper = self.helpers.is_utf8;
        let answer = self.body.call(helper, &[at, length])[0];
        self.unless(answer, |writer| writer.fail(Exit::InvalidUtf8, place));
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    /// A group that is not needed.
    fn skip_group(&mut self, entry: &Entry, tag: TagBytes) {
        let context = self.context;
        let pos = self.pos();
        let body = self.body.ins().iadd_imm_u(pos, tag.length);
        self.leave_behind(body);
        let limit = self.limit();
        let length = self.body.ins().isub(limit, body);
        let top = self.body.use_var(self.top);
        let room = self.body.load(types::I64, context, FRAMES_END);
        // Deeper ones are left to the table decoder, which checks the limit.
        let depth = self.body.ins().isub(room, top);
        let depth = self.body.ins().udiv_imm_u(depth, FRAME_BYTES);
        let number = self.number(types::I32, i64::from(entry.number()));
        let helper = self.helpers.group_bytes;
        let bytes = self.body.call(helper, &[body, length, number, depth])[0];
        let wrong = self.body.ins().icmp_imm_u(IntCC::Equal, bytes, 0);
        self.leave_if(wrong);
        let end = self.body.ins().iadd(body, bytes);
        self.seen(entry);
        self.body.def_var(self.pos, end);
    }

    /// Reads a complete packed list.
    pub(super) fn packed(&mut self, place: u32, entry: &Entry) {
        let tag = TagBytes::of(entry.packed_tag());
        let pos = self.pos();
        let (length, body) = self.length(pos, tag.length);
        let end = self.body.ins().iadd(body, length);
        self.leave_behind(end);
        self.seen(entry);
        let form = form(entry.single_tag() & 7);
        if entry.action == Action::Skip || (form != Form::Varint && !self.needs(entry)) {
            if entry.action != Action::Skip {
                let size = if form == Form::Eight { 7 } else { 3 };
                let odd = self.body.ins().band_imm_u(length, size);
                self.leave_if(odd);
            }
            self.body.def_var(self.pos, end);
            return;
        }
        let (target, list) = (self.target, ListExit { place, list: pos, at: body, end });
        let wanted = target.wants(entry);
        if wanted && let Some(read) = target.list(self, entry, list, length) {
            let at = self.body.ins().iadd(body, read);
            let left = self.body.ins().icmp(IntCC::NotEqual, read, length);
            self.leave_list_if(left, ListExit { at, ..list });
        } else if !self.needs(entry) {
            let helper = self.helpers.are_varints;
            let answer = self.body.call(helper, &[body, length])[0];
            self.leave_list_if(answer, list);
        } else {
            self.elements(place, entry, form, body, end);
        }
        self.body.def_var(self.pos, end);
    }

    /// Exits at an element of a list.
    fn leave_list_if(&mut self, condition: Value, list: ListExit) {
        let outer = self.list.replace(list);
        self.leave_if(condition);
        self.list = outer;
    }

    fn elements(&mut self, place: u32, entry: &Entry, form: Form, body: Value, end: Value) {
        let (head, element) = (self.body.create_block(), self.body.create_block());
        let done = self.body.create_block();
        let at = self.body.append_block_param(head, types::I64);
        self.body.ins().jump(head, &[body.into()]);
        self.body.switch_to_block(head);
        let more = self.body.ins().icmp(IntCC::UnsignedLessThan, at, end);
        self.body.ins().brif(more, element, &[], done, &[]);
        self.body.switch_to_block(element);
        // Exits from here are at this element.
        let list = self.pos();
        let leave = ListExit { place, list, at, end };
        let outer = self.list.replace(leave);
        let (value, after) = self.number_at(at, form, Need::Value);
        let over = self.body.ins().icmp(IntCC::UnsignedGreaterThan, after, end);
        self.leave_if(over);
        if let Some(value) = value {
            self.deliver(place, entry, value);
        }
        self.list = outer;
        self.body.ins().jump(head, &[after.into()]);
        self.body.switch_to_block(done);
    }
}
