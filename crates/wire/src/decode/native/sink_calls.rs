//! Generated code that calls a sink.

use tidemill_jit::build::CallConv;
use tidemill_jit::build::{InstBuilder, IntCC, SigRef, Type, Value, signature, types};

use super::super::nodes::{Action, Entry};
use super::context::{CALLS, Calls, Exit};
use super::writer::{ListExit, Target, Writer};
use crate::sink::Wants;

/// The methods of a sink, through the table of its type.
pub(super) struct SinkCalls {
    pub(super) wants: Wants,
}

/// The offset of the function for a number in [`Calls`], and the type of its argument.
fn number_call(action: Action) -> (i32, Type) {
    use std::mem::offset_of;
    match action {
        Action::Int64 | Action::Sint64 | Action::Sfixed64 => {
            (offset_of!(Calls, i64) as i32, types::I64)
        }
        Action::Uint64 | Action::Fixed64 => (offset_of!(Calls, u64) as i32, types::I64),
        Action::Uint32 | Action::Fixed32 => (offset_of!(Calls, u32) as i32, types::I32),
        Action::Double => (offset_of!(Calls, f64) as i32, types::I64),
        Action::Float => (offset_of!(Calls, f32) as i32, types::I32),
        Action::Bool => (offset_of!(Calls, bool) as i32, types::I64),
        _ => (offset_of!(Calls, i32) as i32, types::I32),
    }
}

fn kind(action: Action) -> Wants {
    match action {
        Action::Int64 | Action::Sint64 | Action::Sfixed64 => Wants::I64,
        Action::Uint64 | Action::Fixed64 => Wants::U64,
        Action::Uint32 | Action::Fixed32 => Wants::U32,
        Action::Double => Wants::F64,
        Action::Float => Wants::F32,
        Action::Bool => Wants::BOOL,
        Action::RawString | Action::String => Wants::STRING,
        Action::Bytes => Wants::BYTES,
        Action::Message | Action::Group => Wants::SUB,
        _ => Wants::I32,
    }
}

impl SinkCalls {
    /// Calls a function of the table with the context, a field, and arguments; returns its result.
    fn call(
        &self,
        writer: &mut Writer<'_, '_>,
        offset: i32,
        field: Value,
        arguments: &[(Value, Type)],
        answer: Type,
    ) -> Value {
        let mut parameters = vec![types::I64, types::I32];
        parameters.extend(arguments.iter().map(|(_, ty)| *ty));
        let signature = signature(CallConv::SystemV, &parameters, &[answer]);
        let signature: SigRef = writer.body.import_signature(signature);
        let context = writer.context;
        let function = writer.body.load(types::I64, context, CALLS + offset);
        let mut values = vec![context, field];
        values.extend(arguments.iter().map(|(value, _)| *value));
        let call = writer.body.ins().call_indirect(signature, function, &values);
        writer.body.inst_results(call)[0]
    }
}

impl Target for SinkCalls {
    fn wants(&self, entry: &Entry) -> bool {
        entry.action != Action::Skip && self.wants.has(kind(entry.action))
    }

    fn wants_unknown(&self) -> bool {
        self.wants.has(Wants::UNKNOWN)
    }

    fn number(&self, writer: &mut Writer<'_, '_>, place: u32, entry: &Entry, value: Value) {
        let (offset, ty) = number_call(entry.action);
        let field = writer.body.ins().iconst(types::I32, i64::from(entry.field.0));
        let answer = self.call(writer, offset, field, &[(value, ty)], types::I32);
        writer.stop_if(answer, place);
    }

    fn text(
        &self,
        writer: &mut Writer<'_, '_>,
        place: u32,
        entry: &Entry,
        at: Value,
        length: Value,
    ) {
        use std::mem::offset_of;
        let offset = match entry.action {
            Action::Bytes => offset_of!(Calls, bytes),
            Action::String => offset_of!(Calls, string),
            _ => offset_of!(Calls, raw_string),
        };
        let field = writer.body.ins().iconst(types::I32, i64::from(entry.field.0));
        let arguments = [(at, types::I64), (length, types::I64)];
        let answer = self.call(writer, offset as i32, field, &arguments, types::I32);
        match entry.action {
            Action::String => writer.stop_or_invalid(answer, place),
            _ => writer.stop_if(answer, place),
        }
    }

    fn list(
        &self,
        writer: &mut Writer<'_, '_>,
        entry: &Entry,
        list: ListExit,
        length: Value,
    ) -> Option<Value> {
        let offset = std::mem::offset_of!(Calls, list) as i32;
        let field = writer.body.ins().iconst(types::I32, i64::from(entry.field.0));
        let action = writer.body.ins().iconst(types::I32, i64::from(entry.action as u8));
        let closed = writer.closed(entry);
        let arguments = [
            (action, types::I32),
            (list.at, types::I64),
            (length, types::I64),
            (closed, types::I64),
        ];
        let answer = self.call(writer, offset, field, &arguments, types::I64);
        let stopped = writer.body.ins().icmp_imm_s(IntCC::SignedLessThan, answer, 0);
        writer.unless(stopped, |writer| {
            let read = writer.body.ins().bnot(answer);
            let at = writer.body.ins().iadd(list.at, read);
            let outer = writer.list.replace(ListExit { at, ..list });
            writer.fail(Exit::Stopped, list.place);
            writer.list = outer;
        });
        Some(answer)
    }

    fn start_sub(&self, writer: &mut Writer<'_, '_>, place: u32, entry: &Entry) -> Option<Value> {
        if self.wants.has(Wants::SUB) {
            let field = writer.body.ins().iconst(types::I32, i64::from(entry.field.0));
            let offset = std::mem::offset_of!(Calls, start_sub) as i32;
            let answer = self.call(writer, offset, field, &[], types::I32);
            writer.stop_if(answer, place);
        }
        None
    }

    fn end_sub(&self, writer: &mut Writer<'_, '_>, entry: &Entry) {
        if self.wants.has(Wants::SUB) {
            let field = writer.body.ins().iconst(types::I32, i64::from(entry.field.0));
            let offset = std::mem::offset_of!(Calls, end_sub) as i32;
            let answer = self.call(writer, offset, field, &[], types::I32);
            writer.stop_at_end_if(answer);
        }
    }
}
