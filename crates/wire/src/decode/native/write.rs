//! Writes the function: the blocks of nodes and entries, and how they lead to each other.
//!
//! ```text
//!   resume(node):  one of the first tags? else dispatch
//!   after(entry):  its own tag, if a list? one of the next few? else dispatch
//!   dispatch(node): at the end? -> ended     tag -> one(entry), packed(entry), end of the group
//!   one(entry):    value -> after(entry);  sub-message: push a frame -> first tags of its node
//!   edge(node):    no room for the value: at the end? -> ended     else leave
//!   ended(node):   the end of a sub-message: pop the frame -> after(its entry);  else leave
//! ```
//! | file | writes |
//! |---|---|
//! | `dispatch` | `resume`, `dispatch`, and the comparisons of `after` |
//! | `scalar` | `one` and `packed` of values; a target says what happens with them |
//! | `frames` | `one` of sub-messages and groups, `ended`, the end of a group, `back` |
//! | `exits` | `edge`, and all other ways out |
//!
//! An example; `|` is where one comparison fails and the next begins:
//!
//! ```text
//! message Point { int32 x = 1; int32 y = 2; repeated Point next = 3; }
//!
//! resume, enter:  08 -> one(x) | 10 -> one(y) | 1a -> one(next) | dispatch
//! one(x):         leave, if the value does not end before `limit`; x -> after(x)
//! after(x):       10 -> one(y) | 1a -> one(next) | dispatch
//! after(y):       1a -> one(next) | dispatch
//! one(next):      length; push a frame -> 08 -> one(x) | ...
//! back(next):     pop the frame -> after(next)
//! after(next):    1a -> one(next) | dispatch
//! ```
//!
//! Invariants:
//!
//! 1. `limit` is the lesser of `end`, where the innermost message with a length ends, and of the
//!    end of the safe zone. No value is used that does not end before it or there. So a tag may be
//!    compared before the end is checked: one that is found after the end has no value.
//! 2. `pos` is at a tag until the field is complete. Wherever the code leaves for the table
//!    decoder, that reads the whole field.
//! 3. The context, the frames and `pos` are a state of the table decoder at each exit: registers
//!    are stored by [`Writer::leave_in`] alone.
//! 4. The first presence word of a record is in `bits`, and that in memory is out of date, until
//!    [`Writer::keep_bits`]: before another record is filled, and at each exit.

use tidemill_jit::build::{CallConv, InstBuilder, IntCC, Type, Value, signature, types};
use tidemill_jit::{Body, Module};
use tidemill_stdx::hash::Map;

use super::super::nodes::{Action, Node};
use super::super::tables::Tables;
use super::calls;
use super::context::*;
use super::reach::Reach;
use super::tag::TagBytes;
use super::writer::{EntryBlocks, Helpers, NodeBlocks, Target, Writer};
use crate::message::layout::PRESENCE_OFFSET;
use crate::schema::Schema;

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

    /// Continues where a field may begin.
    pub(super) fn or_ended(&mut self, blocks: NodeBlocks) {
        let (pos, limit) = (self.pos(), self.limit());
        let next = self.body.create_block();
        let over = self.body.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, pos, limit);
        self.body.ins().brif(over, blocks.ended, &[], next, &[]);
        self.body.switch_to_block(next);
    }

    // ---- registers and values

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
    pub(super) fn set_end(&mut self, end: Value) {
        let context = self.context;
        self.body.def_var(self.end, end);
        let safe = self.body.load(types::I64, context, SAFE);
        let limit = self.body.ins().umin(end, safe);
        self.body.def_var(self.limit, limit);
    }

    /// Fills that record from now on.
    pub(super) fn go_to(&mut self, record: Value) {
        self.body.def_var(self.record, record);
        let bits = self.body.load(types::I64, record, PRESENCE_OFFSET as i32);
        self.body.def_var(self.bits, bits);
    }

    /// Stores the presence bits of the record that are in a register.
    pub(super) fn keep_bits(&mut self) {
        let (record, bits) = (self.body.use_var(self.record), self.body.use_var(self.bits));
        self.body.store(bits, record, PRESENCE_OFFSET as i32);
    }
}
