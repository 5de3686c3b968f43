//! The exits of the code: the state goes from registers to the context, for the table decoder.
//!
//! | | [`Exit`] | `pos` | also |
//! |---|---|---|---|
//! | [`Writer::leave_if`], [`Writer::give_up`] | `AtField`: it reads the field | the tag | |
//! | the same in a packed list | `InPacked`: it reads the rest | the element | tag, entry, end |
//! | [`Writer::fail`] | an error, or the sink stops | as above | tag, entry |
//! | [`Writer::stop_at_end_if`] | the sink stops at the end of a message | the end | |
//!
//! Nothing is undone: `pos` moves when a value is complete.

use tidemill_jit::build::{Block, InstBuilder, IntCC, Value, types};

use super::calls;
use super::context::*;
use super::writer::{ListExit, Writer};

impl Writer<'_, '_> {
    pub(super) fn leave_in(&mut self, exit: Exit, node: Value) {
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

    /// Sets the place in a list for the exit.
    fn point_into(&mut self, list: ListExit) {
        let context = self.context;
        self.body.store(list.list, context, START);
        self.body.store(list.end, context, LIST_END);
        let place = self.number(types::I64, i64::from(list.place));
        self.body.store(place, context, ENTRY);
        self.body.def_var(self.pos, list.at);
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
}
