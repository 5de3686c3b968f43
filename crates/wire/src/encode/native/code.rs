//! The code of the native encoder.

use std::mem::offset_of;

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{
    Block, CallConv, InstBuilder, IntCC, SigRef, Signature, Value, Variable, signature, types,
};
use tidemill_jit::{Body, Code, Error, FuncId, Module, Options};

use super::super::packed::Varints;
use super::context::Context;
use super::helpers;
use crate::message::layout::{FieldLayout, PRESENCE_OFFSET, RecordLayout, Shape, ValueType};
use crate::message::record::{Extra, List, View};
use crate::schema::{FieldId, FieldType, Label, MessageId, Scalar, Schema, Tag, WireType};

/// The most bytes of a length: lists and strings have less than 4 GiB.
const LENGTH_BYTES: i64 = 5;
/// The most bytes of a varint.
const VARINT_BYTES: i64 = 10;

/// The functions that generated code calls.
#[derive(Clone, Copy)]
struct Helpers {
    grow: FuncId,
    unknown: FuncId,
    whole: FuncId,
    sorted: FuncId,
    varint: FuncId,
    packed: FuncId,
}

/// Of the function of a message: context, record, `p`, depth, and the message.
const PARAMETERS: usize = 5;

fn of_words(parameters: usize) -> Signature {
    signature(CallConv::SystemV, &vec![types::I64; parameters], &[types::I64])
}

/// Compiles the function of one message; those of messages inside are called through the table.
pub(super) fn compile(schema: &Schema, message: MessageId) -> Result<(Code, FuncId), Error> {
    let name = format!("encode {}", schema.full_name(message));
    let mut module = Module::new(Options::named(name.clone()))?;
    // SAFETY: functions of these signatures, in the program.
    let helpers = unsafe {
        Helpers {
            grow: module.import("grow", of_words(3), helpers::grow as *const ()),
            unknown: module.import("unknown", of_words(3), helpers::unknown as *const ()),
            whole: module.import("whole", of_words(5), helpers::whole as *const ()),
            sorted: module.import("sorted", of_words(4), helpers::sorted as *const ()),
            varint: module.import("varint", of_words(2), helpers::varint as *const ()),
            packed: module.import("packed", of_words(5), helpers::packed as *const ()),
        }
    };
    let layout = schema.layouts().record(message);
    let function = module.declare(name, of_words(PARAMETERS));
    module.define(function, |body| {
        let arguments = body.begin();
        let p = body.declare_var(types::I64);
        body.def_var(p, arguments[2]);
        let fail = body.cold_block();
        let less_deep = body.ins().iadd_imm_s(arguments[3], -1);
        let signature = body.import_signature(of_words(PARAMETERS));
        let mut writer = Writer {
            schema,
            layout,
            function,
            signature,
            helpers,
            context: arguments[0],
            record: arguments[1],
            depth: arguments[3],
            less_deep,
            p,
            fixed: fixed_bytes(schema, layout),
            fail,
            body,
        };
        writer.message();
    })?;
    // SAFETY: the code reads records of the schema's layouts, and writes into room it has made.
    let code = unsafe { module.finish() }?;
    Ok((code, function))
}

/// The most bytes of all bounded elements of one message: those between two checks for room.
fn fixed_bytes(schema: &Schema, layout: &RecordLayout) -> i64 {
    let bytes = |&id: &FieldId| {
        let wire = schema.wire_field(id);
        2 * wire.tag.as_bytes().len() as i64 + VARINT_BYTES
    };
    layout.fields.iter().map(bytes).sum()
}

/// Writes the function of one message.
pub(super) struct Writer<'w, 'b> {
    schema: &'w Schema,
    layout: &'w RecordLayout,
    /// The function itself, and the signature that those of all messages have.
    function: FuncId,
    signature: SigRef,
    helpers: Helpers,
    context: Value,
    record: Value,
    /// The levels left, this one included.
    depth: Value,
    less_deep: Value,
    /// The last byte written; the next bytes go before it.
    p: Variable,
    fixed: i64,
    fail: Block,
    pub(super) body: &'w mut Body<'b>,
}

impl Writer<'_, '_> {
    fn message(&mut self) {
        let inside = self.body.create_block();
        self.body.ins().brif(self.depth, inside, &[], self.fail, &[]);
        self.body.switch_to_block(inside);
        self.require_fixed();
        self.extra();
        let layout = self.layout;
        for word in (0..layout.presence_words()).rev() {
            let from = word as usize * 64;
            let fields = &layout.fields[from..layout.fields.len().min(from + 64)];
            let offset = (PRESENCE_OFFSET + 8 * word) as i32;
            let bits = self.body.load(types::I64, self.record, offset);
            self.fields_of_word(fields, bits);
        }
        let p = self.p();
        self.body.ins().return_(&[p]);
        self.body.switch_to_block(self.fail);
        let null = self.body.ins().iconst(types::I64, 0);
        self.body.ins().return_(&[null]);
    }

    /// Unknown fields come last and so are written first; a record with extensions is left to the
    /// table encoder.
    fn extra(&mut self) {
        let [some, whole, unknown, none] = [(); 4].map(|()| self.body.create_block());
        for cold in [some, whole, unknown] {
            self.body.set_cold_block(cold);
        }
        let extra = self.body.load(types::I64, self.record, 0);
        self.body.ins().brif(extra, some, &[], none, &[]);
        self.body.switch_to_block(some);
        let count = offset_of!(Extra, extensions) + offset_of!(List, len);
        let extensions = self.body.load(types::I32, extra, count as i32);
        self.body.ins().brif(extensions, whole, &[], unknown, &[]);

        self.body.switch_to_block(whole);
        let message = i64::from(self.layout.message.0);
        let message = self.body.ins().iconst(types::I64, message);
        let p = self.p();
        let arguments = [self.context, self.record, p, message, self.depth];
        let p = self.body.call(self.helpers.whole, &arguments)[0];
        self.body.ins().return_(&[p]);

        self.body.switch_to_block(unknown);
        let p = self.p();
        let p = self.body.call(self.helpers.unknown, &[self.context, self.record, p])[0];
        self.check_and_go_on(p);
        self.require_fixed();
        self.body.ins().jump(none, &[]);
        self.body.switch_to_block(none);
    }

    /// The fields of one presence word, the last first.
    fn fields_of_word(&mut self, fields: &[FieldId], bits: Value) {
        let groups = fields.len().div_ceil(8);
        for group in (0..groups).rev() {
            let members = &fields[group * 8..fields.len().min(group * 8 + 8)];
            let after = self.body.create_block();
            if groups > 2 {
                let any = self.body.ins().band_imm_s(bits, (0xff_u64 << (group * 8)) as i64);
                let some = self.body.create_block();
                self.body.ins().brif(any, some, &[], after, &[]);
                self.body.switch_to_block(some);
            }
            for (at, &id) in members.iter().enumerate().rev() {
                let mask = 1_u64 << (group * 8 + at);
                self.field(id, bits, mask);
            }
            self.body.ins().jump(after, &[]);
            self.body.switch_to_block(after);
        }
    }

    fn field(&mut self, id: FieldId, bits: Value, mask: u64) {
        let field = self.schema.layouts().field(id);
        let after = self.body.create_block();
        if !self.layout.map_entry {
            let stored = self.body.create_block();
            let bit = self.body.ins().band_imm_s(bits, mask as i64);
            self.body.ins().brif(bit, stored, &[], after, &[]);
            self.body.switch_to_block(stored);
        }
        match field.shape {
            Shape::Single => self.single(id, field, after),
            Shape::List => self.list(id, field, after),
            Shape::Map => self.map(field, after),
        }
        self.body.ins().jump(after, &[]);
        self.body.switch_to_block(after);
    }

    fn single(&mut self, id: FieldId, field: &FieldLayout, after: Block) {
        let offset = field.offset as i32;
        let tag = self.schema.wire_field(id).tag;
        let counts_zero = field.label != Label::Implicit || self.layout.map_entry;
        match field.kind {
            ValueType::Message => {
                let record = self.body.load(types::I64, self.record, offset);
                self.sub_message(field, record);
            }
            ValueType::String | ValueType::Bytes => {
                let at = self.body.ins().iadd_imm_s(self.record, i64::from(offset));
                self.view(at, tag, if counts_zero { None } else { Some(after) });
            }
            _ => {
                let value = self.load_number(field.ty, self.record, offset);
                if !counts_zero {
                    let some = self.body.create_block();
                    self.body.ins().brif(value, some, &[], after, &[]);
                    self.body.switch_to_block(some);
                }
                self.number(field.ty, value);
                self.tag(tag);
            }
        }
    }

    fn list(&mut self, id: FieldId, field: &FieldLayout, after: Block) {
        let at = field.offset as i32;
        let start = offset_of!(List, start) as i32;
        let start = self.body.load(types::I64, self.record, at + start);
        let len = offset_of!(List, len) as i32;
        let len = self.body.ins().uload32(unaligned(), self.record, at + len);
        let wire = self.schema.wire_field(id);
        let (tag, packed) = (wire.tag, wire.packed);
        let cell = i64::from(field.cell.bytes());
        match field.kind {
            ValueType::Message => self.each(start, len, cell, |this, at| {
                let record = this.body.load(types::I64, at, 0);
                this.sub_message(field, record);
            }),
            ValueType::String | ValueType::Bytes => {
                self.each(start, len, cell, |this, at| this.view(at, tag, None));
            }
            _ if packed => {
                let some = self.body.create_block();
                self.body.ins().brif(len, some, &[], after, &[]);
                self.body.switch_to_block(some);
                self.packed(field, tag, start, len);
            }
            _ => {
                let most = VARINT_BYTES + tag.as_bytes().len() as i64;
                self.require_many(len, most);
                self.each(start, len, cell, |this, at| {
                    let value = this.load_number(field.ty, at, 0);
                    this.number(field.ty, value);
                    this.tag(tag);
                });
            }
        }
    }

    /// The elements of a list that is not empty, under one length.
    fn packed(&mut self, field: &FieldLayout, tag: Tag, start: Value, len: Value) {
        let cell = i64::from(field.cell.bytes());
        let length = if let Some(kind) = Varints::of(field.ty) {
            let before = self.written();
            let kind = self.body.ins().iconst(types::I64, kind as i64);
            let p = self.p();
            let p = self.body.call(self.helpers.packed, &[self.context, p, start, len, kind])[0];
            self.check_and_go_on(p);
            let now = self.written();
            self.require_fixed();
            self.body.ins().isub(now, before)
        } else {
            // In memory as on the wire.
            let length = self.body.ins().imul_imm_s(len, cell);
            self.require_many(length, 1);
            let p = self.p();
            let p = self.body.ins().isub(p, length);
            self.copy(p, start, length);
            self.set_p(p);
            length
        };
        self.varint(length);
        self.tag(tag);
    }

    fn map(&mut self, field: &FieldLayout, after: Block) {
        let Some(of) = field.record else { return };
        let map = self.body.load(types::I64, self.record, field.offset as i32);
        let entries = offset_of!(crate::message::map::Map, entries);
        let start = (entries + offset_of!(List, start)) as i32;
        let start = self.body.load(types::I64, map, start);
        let len = (entries + offset_of!(List, len)) as i32;
        let len = self.body.ins().uload32(unaligned(), map, len);
        let [some, sort, ready] = [(); 3].map(|()| self.body.create_block());
        self.body.ins().brif(len, some, &[], after, &[]);
        self.body.switch_to_block(some);
        let chosen = self.body.append_block_param(ready, types::I64);
        let by_key = offset_of!(Context, by_key) as i32;
        let by_key = self.body.load(types::I64, self.context, by_key);
        self.body.ins().brif(by_key, sort, &[], ready, &[start.into()]);
        self.body.set_cold_block(sort);
        self.body.switch_to_block(sort);
        let key = i64::from(self.schema.layouts().record(of).fields[0].0);
        let key = self.body.ins().iconst(types::I64, key);
        let sorted = self.body.call(self.helpers.sorted, &[self.context, start, len, key])[0];
        self.body.ins().jump(ready, &[sorted.into()]);
        self.body.switch_to_block(ready);
        self.each(chosen, len, 8, |this, at| {
            let record = this.body.load(types::I64, at, 0);
            this.sub_message(field, record);
        });
    }

    /// Runs `act` at each cell, from the last to the first.
    fn each(
        &mut self,
        start: Value,
        len: Value,
        cell_bytes: i64,
        mut act: impl FnMut(&mut Self, Value),
    ) {
        let [head, inside, done] = [(); 3].map(|()| self.body.create_block());
        let at = self.body.append_block_param(head, types::I64);
        let bytes = self.body.ins().imul_imm_s(len, cell_bytes);
        let end = self.body.ins().iadd(start, bytes);
        self.body.ins().jump(head, &[end.into()]);
        self.body.switch_to_block(head);
        let is_first = self.body.ins().icmp(IntCC::Equal, at, start);
        self.body.ins().brif(is_first, done, &[], inside, &[]);
        self.body.switch_to_block(inside);
        let at = self.body.ins().iadd_imm_s(at, -cell_bytes);
        act(self, at);
        self.body.ins().jump(head, &[at.into()]);
        self.body.switch_to_block(done);
    }

    /// A message with its tag and length, or between its tags.
    fn sub_message(&mut self, field: &FieldLayout, record: Value) {
        let Some(of) = field.record else { return };
        if let FieldType::Group(_) = field.ty {
            self.tag(Tag::new(field.number, WireType::EndGroup));
            let p = self.p();
            let p = self.encode(of, record, p);
            self.check_and_go_on(p);
            self.require_fixed();
            self.tag(Tag::new(field.number, WireType::StartGroup));
            return;
        }
        let before = self.written();
        let p = self.p();
        let p = self.encode(of, record, p);
        self.check_and_go_on(p);
        let now = self.written();
        let length = self.body.ins().isub(now, before);
        self.require_fixed();
        self.varint(length);
        self.tag(Tag::new(field.number, WireType::Length));
    }

    /// Calls the function of a message inside: the table has it, or the function that compiles it.
    fn encode(&mut self, of: MessageId, record: Value, p: Value) -> Value {
        let message = self.body.ins().iconst(types::I64, i64::from(of.0));
        let arguments = [self.context, record, p, self.less_deep, message];
        if of == self.layout.message {
            return self.body.call(self.function, &arguments)[0];
        }
        let table = offset_of!(Context, functions) as i32;
        let table = self.body.load(types::I64, self.context, table);
        let at = self.body.ins().iadd_imm_u(table, i64::from(of.0) * size_of::<usize>() as i64);
        let function = self.body.load(types::I64, at, 0);
        let call = self.body.ins().call_indirect(self.signature, function, &arguments);
        self.body.inst_results(call)[0]
    }

    /// Bytes written so far, counted from the end, as the buffer may be replaced.
    fn written(&mut self) -> Value {
        let end = offset_of!(Context, end) as i32;
        let end = self.body.load(types::I64, self.context, end);
        let p = self.p();
        self.body.ins().isub(end, p)
    }

    /// A string or bytes of the [`View`] at an address, with length and tag.
    fn view(&mut self, at: Value, tag: Tag, if_empty: Option<Block>) {
        let len = offset_of!(View, len) as i32;
        let len = self.body.ins().uload32(unaligned(), at, len);
        if let Some(after) = if_empty {
            let some = self.body.create_block();
            self.body.ins().brif(len, some, &[], after, &[]);
            self.body.switch_to_block(some);
        }
        let start = offset_of!(View, start) as i32;
        let start = self.body.load(types::I64, at, start);
        self.require_many(len, 1);
        let p = self.p();
        let p = self.body.ins().isub(p, len);
        self.copy(p, start, len);
        self.set_p(p);
        self.varint(len);
        self.tag(tag);
    }

    /// A number as 64 bits that are to be written.
    fn load_number(&mut self, ty: FieldType, at: Value, offset: i32) -> Value {
        let scalar = match ty {
            FieldType::Scalar(scalar) => scalar,
            _ => Scalar::Int32,
        };
        let ins = self.body.ins();
        match scalar {
            Scalar::Int32 => ins.sload32(unaligned(), at, offset),
            Scalar::Uint32 | Scalar::Fixed32 | Scalar::Sfixed32 | Scalar::Float => {
                ins.uload32(unaligned(), at, offset)
            }
            Scalar::Bool => ins.uload8(types::I64, unaligned(), at, offset),
            Scalar::Sint32 => {
                let value = ins.sload32(unaligned(), at, offset);
                let zigzag = self.zigzag(value);
                self.body.ins().band_imm_u(zigzag, 0xffff_ffff)
            }
            Scalar::Sint64 => {
                let value = ins.load(types::I64, unaligned(), at, offset);
                self.zigzag(value)
            }
            _ => ins.load(types::I64, unaligned(), at, offset),
        }
    }

    fn zigzag(&mut self, value: Value) -> Value {
        let double = self.body.ins().ishl_imm_u(value, 1);
        let sign = self.body.ins().sshr_imm_u(value, 63);
        self.body.ins().bxor(double, sign)
    }

    /// A number of that type, as [`Writer::load_number`] gives it, where there is room.
    fn number(&mut self, ty: FieldType, value: Value) {
        let p = self.p();
        match ty.wire_type() {
            WireType::Fixed64 => {
                let p = self.body.ins().iadd_imm_s(p, -8);
                self.body.store(value, p, 0);
                self.set_p(p);
            }
            WireType::Fixed32 => {
                let p = self.body.ins().iadd_imm_s(p, -4);
                self.body.ins().istore32(unaligned(), value, p, 0);
                self.set_p(p);
            }
            _ if ty == FieldType::Scalar(Scalar::Bool) => {
                let p = self.body.ins().iadd_imm_s(p, -1);
                self.body.ins().istore8(unaligned(), value, p, 0);
                self.set_p(p);
            }
            _ => self.varint(value),
        }
    }

    /// A varint, where there is room.
    fn varint(&mut self, value: Value) {
        let done = self.body.create_block();
        let p = self.p();
        let [one, more] = self.fork(IntCC::UnsignedLessThan, value, 0x80);
        self.body.switch_to_block(one);
        let short = self.body.ins().iadd_imm_s(p, -1);
        self.body.ins().istore8(unaligned(), value, short, 0);
        self.set_p(short);
        self.body.ins().jump(done, &[]);

        self.body.switch_to_block(more);
        let [two, long] = self.fork(IntCC::UnsignedLessThan, value, 0x4000);
        self.body.switch_to_block(two);
        let low = self.body.ins().band_imm_u(value, 0x7f);
        let low = self.body.ins().bor_imm_u(low, 0x80);
        let high = self.body.ins().band_imm_u(value, 0x3f80);
        let high = self.body.ins().ishl_imm_u(high, 1);
        let both = self.body.ins().bor(low, high);
        let short = self.body.ins().iadd_imm_s(p, -2);
        self.body.ins().istore16(unaligned(), both, short, 0);
        self.set_p(short);
        self.body.ins().jump(done, &[]);

        self.body.switch_to_block(long);
        let [eight, longest] = self.fork(IntCC::UnsignedLessThan, value, 1 << 56);
        self.body.switch_to_block(eight);
        self.varint_of_eight(p, value);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(longest);
        let p = self.body.call(self.helpers.varint, &[p, value])[0];
        self.set_p(p);
        self.body.ins().jump(done, &[]);
        self.body.switch_to_block(done);
    }

    /// A varint of up to eight bytes, where there is room for eight: its seven-bit groups are
    /// spread in three steps, and the stored word ends at `p`, with zeros before it that are
    /// overwritten.
    fn varint_of_eight(&mut self, p: Value, value: Value) {
        let mut word = value;
        for (low, high, shift) in [
            (0x0fff_ffff_i64, 0x00ff_ffff_f000_0000, 4),
            (0x0000_3fff_0000_3fff, 0x0fff_c000_0fff_c000, 2),
            (0x007f_007f_007f_007f, 0x3f80_3f80_3f80_3f80, 1),
        ] {
            let [low, high] = [low, high].map(|mask| self.body.ins().iconst(types::I64, mask));
            let low = self.body.ins().band(word, low);
            let high = self.body.ins().band(word, high);
            let high = self.body.ins().ishl_imm_u(high, shift);
            word = self.body.ins().bor(low, high);
        }
        let unused = self.body.ins().clz(word);
        let unused = self.body.ins().band_imm_u(unused, 0x38);
        let tops = self.body.ins().iconst(types::I64, 0x0080_8080_8080_8080);
        let tops = self.body.ins().ushr(tops, unused);
        let word = self.body.ins().bor(word, tops);
        let word = self.body.ins().ishl(word, unused);
        self.body.store(word, p, -8);
        let unused = self.body.ins().ushr_imm_u(unused, 3);
        let p = self.body.ins().iadd(p, unused);
        let p = self.body.ins().iadd_imm_s(p, -8);
        self.set_p(p);
    }

    /// A tag, where there is room.
    fn tag(&mut self, tag: Tag) {
        let bytes = tag.as_bytes();
        let p = self.p();
        let p = self.body.ins().iadd_imm_s(p, -(bytes.len() as i64));
        let mut at = 0;
        while at < bytes.len() {
            let (ty, size) = match bytes.len() - at {
                4.. => (types::I32, 4),
                2.. => (types::I16, 2),
                _ => (types::I8, 1),
            };
            let piece = &bytes[at..at + size];
            let value = piece.iter().rev().fold(0, |word, &byte| word << 8 | i64::from(byte));
            let value = self.body.ins().iconst(ty, value);
            self.body.store(value, p, at as i32);
            at += size;
        }
        self.set_p(p);
    }

    /// Room for all that has a bound in this message.
    fn require_fixed(&mut self) {
        let need = self.body.ins().iconst(types::I64, self.fixed);
        self.require(need);
    }

    /// Room for `count` times `each_bytes`, and for all that has a bound.
    fn require_many(&mut self, count: Value, each_bytes: i64) {
        let need = match each_bytes {
            1 => count,
            _ => self.body.ins().imul_imm_s(count, each_bytes),
        };
        let need = self.body.ins().iadd_imm_s(need, self.fixed + LENGTH_BYTES);
        self.require(need);
    }

    fn require(&mut self, need: Value) {
        let [short, enough] = [(); 2].map(|()| self.body.create_block());
        self.body.set_cold_block(short);
        let limit = offset_of!(Context, limit) as i32;
        let limit = self.body.load(types::I64, self.context, limit);
        let p = self.p();
        let room = self.body.ins().isub(p, limit);
        let is_short = self.body.ins().icmp(IntCC::UnsignedLessThan, room, need);
        self.body.ins().brif(is_short, short, &[], enough, &[]);
        self.body.switch_to_block(short);
        let p = self.p();
        let p = self.body.call(self.helpers.grow, &[self.context, p, need])[0];
        self.check_and_go_on(p);
        self.body.ins().jump(enough, &[]);
        self.body.switch_to_block(enough);
    }

    /// Continues with a new `p`, or fails with none.
    fn check_and_go_on(&mut self, p: Value) {
        let good = self.body.create_block();
        self.body.ins().brif(p, good, &[], self.fail, &[]);
        self.body.switch_to_block(good);
        self.set_p(p);
    }

    fn p(&mut self) -> Value {
        self.body.use_var(self.p)
    }

    fn set_p(&mut self, p: Value) {
        self.body.def_var(self.p, p);
    }
}
