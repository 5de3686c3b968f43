//! The target that stores into a message in memory.
//!
//! What [`layout`](crate::message::layout) says is done by the code itself: a number is stored at
//! its place and its bit set, a list has its next value, memory is taken from the front of the
//! arena's chunk.
//!
//! ```text
//!   single   [record + offset] = value           bits |= own, those of the rest of a oneof cleared
//!   list     bit? else an empty list;  full? grow;  start[length] = value;  length += 1
//!   message  there? else a new record;  the frame keeps the one outside
//!   string   a view of the input, or of a copy
//! ```
//! Only rare operations are calls: another chunk, a longer list; and the ends of map entries, which
//! go into an index. Extensions are left to the table decoder.

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{CallConv, InstBuilder, IntCC, Value, signature, types};
use tidemill_jit::{FuncId, Module};

use super::super::nodes::{Action, Entry};
use super::calls::{GO_ON, STOP};
use super::context::{ARENA, Context, FRAME_BYTES, FRAME_RECORD};
use super::writer::ListExit;
use super::writer::Target;
use super::writer::Writer;
use crate::message::arena::{ALIGN, END_OFFSET, NEXT_OFFSET};
use crate::message::layout::{Cell, FieldLayout, Layouts, PRESENCE_OFFSET, Shape};
use crate::message::record::{List, Record, View};
use crate::message::{Arena, Storage};
use crate::packed::Numbers;
use crate::schema::{FieldId, NamedNumbers};

/// The storage of strings and bytes by a native decoder for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strings {
    /// They stay in the input, for [`Message::decode_with`](crate::Message::decode_with).
    Viewed,
    /// They are copied, for
    /// [`Message::decode_copied_with`](crate::Message::decode_copied_with) and streams.
    Copied,
}

/// Functions that the code calls.
pub(super) struct Helpers {
    record: FuncId,
    grow: FuncId,
    bytes: FuncId,
    end_entry: FuncId,
    lists: [FuncId; LISTS.len()],
    list_closed: FuncId,
}

impl Helpers {
    pub(super) fn import(module: &mut Module) -> Helpers {
        let c = CallConv::SystemV;
        let address = types::I64;
        let new = signature(c, &[address, address], &[address]);
        let grow = signature(c, &[address, address, types::I32], &[types::I32]);
        let entry = signature(c, &[address, types::I32, address, address], &[types::I32]);
        let list = signature(c, &[address; 4], &[address]);
        let closed = signature(c, &[address; 5], &[address]);
        // SAFETY: functions of these signatures, in the program.
        unsafe {
            Helpers {
                record: module.import("new_record", new.clone(), new_bytes as *const ()),
                grow: module.import("grow", grow, grow_list as *const ()),
                bytes: module.import("new_bytes", new, new_bytes as *const ()),
                end_entry: module.import("end_entry", entry, end_entry as *const ()),
                list_closed: module.import("list_closed", closed, list_closed as *const ()),
                lists: LISTS.map(|(name, helper)| module.import(name, list.clone(), helper)),
            }
        }
    }
}

/// The storage of a context, if it has one.
///
/// # Safety
/// The host of `context` is null or the address of one, and is not used otherwise meanwhile.
unsafe fn storage<'k>(context: *mut Context) -> Option<&'k mut dyn Storage> {
    // SAFETY: the caller guarantees that the host is null or the address of a storage.
    let host = unsafe { (*context).host.cast::<&mut dyn Storage>().as_mut() };
    host.map(|storage| &mut **storage)
}

/// Reports to the storage that memory ran out.
///
/// # Safety
/// As for [`storage`].
#[cold]
unsafe fn full(context: *mut Context) {
    // SAFETY: the caller guarantees what `storage` needs of `context`.
    if let Some(storage) = unsafe { storage(context) } {
        storage.full();
    }
}

/// Memory for `bytes` bytes; null, which is noted in the storage, where there is none.
unsafe extern "C" fn new_bytes(context: *mut Context, bytes: usize) -> *mut u8 {
    // SAFETY: the code was given the arena of the storage, which is not used otherwise meanwhile.
    let arena: &mut Arena = unsafe { &mut *(*context).arena };
    match arena.alloc(bytes) {
        Some(place) => place.as_ptr(),
        None => {
            // SAFETY: the code was given this context.
            unsafe { full(context) };
            std::ptr::null_mut()
        }
    }
}

/// Room for another value in a list.
unsafe extern "C" fn grow_list(context: *mut Context, list: *mut List, cell_bytes: u32) -> u32 {
    // SAFETY: the code was given the arena of the storage, which is not used otherwise meanwhile.
    let arena: &mut Arena = unsafe { &mut *(*context).arena };
    // SAFETY: the slot of a repeated field whose bit is set.
    let list = unsafe { &mut *list };
    match list.grow(arena, cell_bytes) {
        Some(()) => GO_ON,
        None => {
            // SAFETY: the code was given this context.
            unsafe { full(context) };
            STOP
        }
    }
}

/// The end of an entry of a map in the record `outer`.
unsafe extern "C" fn end_entry(
    context: *mut Context,
    field: u32,
    entry: *mut u8,
    outer: *mut u8,
) -> u32 {
    let [Some(entry), Some(outer)] = [entry, outer].map(std::ptr::NonNull::new) else {
        return STOP;
    };
    // SAFETY: the code made both, or was given them, as records of these layouts.
    let (entry, outer) = unsafe { (Record::from_address(entry), Record::from_address(outer)) };
    // SAFETY: the code was given this context.
    let ended = unsafe { storage(context) }
        .is_some_and(|storage| storage.end_of_entry(FieldId(field), entry, outer).is_ok());
    if ended { GO_ON } else { STOP }
}

/// A helper for lists of numbers of one form.
macro_rules! list {
    ($($name:ident: $numbers:ident),+ $(,)?) => {
        $(unsafe extern "C" fn $name(
            context: *mut Context,
            list: *mut List,
            at: *const u8,
            length: usize,
        ) -> usize {
            // SAFETY: the code was given the arena of the storage, which nothing else uses
            // meanwhile; the slot of a list of such numbers, which its bit says is one; and bytes
            // that lie inside the input.
            unsafe {
                let bytes = std::slice::from_raw_parts(at, length);
                (*list).append_packed(&mut *(*context).arena, Numbers::$numbers, bytes)
            }
        })+

        /// By the place of the kind of numbers in [`Numbers`].
        const LISTS: [(&str, *const ()); 7] = [$((stringify!($name), $name as *const ())),+];

        const _: () = {
            let kinds = [$(Numbers::$numbers),+];
            let mut place = 0;
            while place < kinds.len() {
                assert!(kinds[place] as usize == place);
                place += 1;
            }
        };
    };
}

list! {
    list_fixed64: Fixed64,
    list_fixed32: Fixed32,
    list_bool: Bool,
    list_low32: Low32,
    list_zigzag32: Zigzag32,
    list_whole64: Whole64,
    list_zigzag64: Zigzag64,
}

/// The same of a closed enum; nothing is read of a list with a number that the enum does not have.
unsafe extern "C" fn list_closed(
    context: *mut Context,
    list: *mut List,
    at: *const u8,
    length: usize,
    named: *const NamedNumbers,
) -> usize {
    // SAFETY: as for the other lists; the numbers of an enum of the schema that the unit of the
    // code keeps.
    unsafe {
        let bytes = std::slice::from_raw_parts(at, length);
        (*list).append_named(&mut *(*context).arena, &*named, bytes)
    }
}

/// See the module.
pub(super) struct Records<'l> {
    pub(super) layouts: &'l Layouts,
    pub(super) strings: Strings,
    pub(super) helpers: Helpers,
}

/// The bytes of one copy step; up to `COPIED_BYTES` may be read and written beyond the end.
const COPIED_BYTES: i64 = 16;

impl Records<'_> {
    fn layout(&self, entry: &Entry) -> &FieldLayout {
        self.layouts.field(entry.field)
    }

    /// A presence word. The first is in a register: storing it for each field would chain on the
    /// store before.
    fn bits(writer: &mut Writer<'_, '_>, word: u32) -> Value {
        if word == 0 {
            return writer.body.use_var(writer.bits);
        }
        let record = writer.body.use_var(writer.record);
        writer.body.load(types::I64, record, (PRESENCE_OFFSET + 8 * word) as i32)
    }

    fn set_bits(writer: &mut Writer<'_, '_>, word: u32, bits: Value) {
        if word == 0 {
            return writer.body.def_var(writer.bits, bits);
        }
        let record = writer.body.use_var(writer.record);
        writer.body.store(bits, record, (PRESENCE_OFFSET + 8 * word) as i32);
    }

    fn is_set(writer: &mut Writer<'_, '_>, field: &FieldLayout) -> Value {
        let bits = Self::bits(writer, field.bit >> 6);
        let mask = writer.number(types::I64, field.presence_mask() as i64);
        writer.body.ins().band(bits, mask)
    }

    /// Sets the bit of a field, and clears those of the rest of its oneof.
    fn mark(&self, writer: &mut Writer<'_, '_>, field: &FieldLayout) {
        let own = (field.bit >> 6, field.presence_mask());
        let siblings = self.layouts.record(field.message).siblings(field);
        let mut words: Vec<(u32, u64, u64)> = vec![(own.0, 0, own.1)];
        for &(word, mask) in siblings {
            match words.iter_mut().find(|(known, ..)| *known == word) {
                Some((_, clear, set)) => *clear = mask & !*set,
                None => words.push((word, mask, 0)),
            }
        }
        for (word, clear, set) in words {
            let mut bits = Self::bits(writer, word);
            if clear != 0 {
                let keep = writer.number(types::I64, !clear as i64);
                bits = writer.body.ins().band(bits, keep);
            }
            if set != 0 {
                let set = writer.number(types::I64, set as i64);
                bits = writer.body.ins().bor(bits, set);
            }
            Self::set_bits(writer, word, bits);
        }
    }

    /// A value of a single field, or the next of a list; `put` stores it after an address.
    fn keep(
        &self,
        writer: &mut Writer<'_, '_>,
        place: u32,
        field: &FieldLayout,
        put: impl FnOnce(&mut Writer<'_, '_>, Value, i32),
    ) {
        if field.shape == Shape::List {
            self.append(writer, place, field, |writer, at| put(writer, at, 0));
            return;
        }
        let record = writer.body.use_var(writer.record);
        put(writer, record, field.offset as i32);
        self.mark(writer, field);
    }

    /// Where the next value of a list goes, and then `store` is called.
    fn append(
        &self,
        writer: &mut Writer<'_, '_>,
        place: u32,
        field: &FieldLayout,
        store: impl FnOnce(&mut Writer<'_, '_>, Value),
    ) {
        use std::mem::offset_of;
        let (start, length, capacity) =
            (offset_of!(List, start), offset_of!(List, len), offset_of!(List, capacity));
        let bytes = field.cell.bytes();
        let record = writer.body.use_var(writer.record);
        let list = writer.body.ins().iadd_imm_u(record, i64::from(field.offset));
        let there = Self::is_set(writer, field);
        let (fresh, known) = (writer.body.cold_block(), writer.body.create_block());
        writer.body.ins().brif(there, known, &[], fresh, &[]);
        writer.body.switch_to_block(fresh);
        let nowhere = writer.number(types::I64, ALIGN as i64);
        let none = writer.number(types::I64, 0);
        writer.body.store(nowhere, list, start as i32);
        writer.body.store(none, list, length as i32);
        self.mark(writer, field);
        writer.body.ins().jump(known, &[]);
        writer.body.switch_to_block(known);
        let count = writer.body.ins().uload32(unaligned(), list, length as i32);
        let room = writer.body.ins().uload32(unaligned(), list, capacity as i32);
        let full = writer.body.ins().icmp(IntCC::Equal, count, room);
        let (grow, fits) = (writer.body.cold_block(), writer.body.create_block());
        writer.body.ins().brif(full, grow, &[], fits, &[]);
        writer.body.switch_to_block(grow);
        let context = writer.context;
        let cell_bytes = writer.number(types::I32, i64::from(bytes));
        let answer = writer.body.call(self.helpers.grow, &[context, list, cell_bytes])[0];
        writer.stop_if(answer, place);
        writer.body.ins().jump(fits, &[]);
        writer.body.switch_to_block(fits);
        let first = writer.body.load(types::I64, list, start as i32);
        let offset = writer.body.ins().imul_imm_u(count, i64::from(bytes));
        let at = writer.body.ins().iadd(first, offset);
        store(writer, at);
        let count = writer.body.ins().iadd_imm_u(count, 1);
        writer.body.ins().istore32(unaligned(), count, list, length as i32);
    }

    /// Takes memory from the front of the chunk, where `spare` bytes more must be; else from the
    /// function.
    fn take(
        writer: &mut Writer<'_, '_>,
        place: u32,
        bytes: Value,
        spare: i64,
        slow: FuncId,
    ) -> Value {
        let context = writer.context;
        let arena = writer.body.load(types::I64, context, ARENA);
        let next = writer.body.load(types::I64, arena, NEXT_OFFSET as i32);
        let limit = writer.body.load(types::I64, arena, END_OFFSET as i32);
        let end = writer.body.ins().iadd(next, bytes);
        let needed = match spare {
            0 => end,
            _ => writer.body.ins().iadd_imm_u(end, spare),
        };
        let over = writer.body.ins().icmp(IntCC::UnsignedGreaterThan, needed, limit);
        let (more, fits, done) =
            (writer.body.cold_block(), writer.body.create_block(), writer.body.create_block());
        let taken = writer.body.append_block_param(done, types::I64);
        writer.body.ins().brif(over, more, &[], fits, &[]);
        writer.body.switch_to_block(more);
        // The bytes to write, and the spare, which may be overwritten.
        let asked = writer.body.ins().iadd_imm_u(bytes, spare);
        let found = writer.body.call(slow, &[context, asked])[0];
        let none = writer.body.ins().icmp_imm_u(IntCC::Equal, found, 0);
        writer.stop_if(none, place);
        writer.body.ins().jump(done, &[found.into()]);
        writer.body.switch_to_block(fits);
        writer.body.store(end, arena, NEXT_OFFSET as i32);
        writer.body.ins().jump(done, &[next.into()]);
        writer.body.switch_to_block(done);
        taken
    }

    /// A new, empty record for a field.
    fn new_record(
        &self,
        writer: &mut Writer<'_, '_>,
        place: u32,
        field: &FieldLayout,
    ) -> Option<Value> {
        let layout = self.layouts.record(field.record?);
        let bytes = writer.number(types::I64, i64::from(layout.bytes));
        let record = Self::take(writer, place, bytes, 0, self.helpers.record);
        let zero = writer.number(types::I64, 0);
        for offset in (0..layout.header_bytes as i32).step_by(8) {
            writer.body.store(zero, record, offset);
        }
        Some(record)
    }

    /// A copy of bytes of the input, sixteen at a time.
    fn copy(&self, writer: &mut Writer<'_, '_>, place: u32, at: Value, length: Value) -> Value {
        let align = ALIGN as i64;
        let rounded = writer.body.ins().iadd_imm_u(length, align - 1);
        let rounded = writer.body.ins().band_imm_s(rounded, -align);
        let copy = Self::take(writer, place, rounded, COPIED_BYTES, self.helpers.bytes);
        let (head, done) = (writer.body.create_block(), writer.body.create_block());
        let offset = writer.body.append_block_param(head, types::I64);
        let zero = writer.number(types::I64, 0);
        writer.body.ins().jump(head, &[zero.into()]);
        writer.body.switch_to_block(head);
        let (from, to) = (writer.body.ins().iadd(at, offset), writer.body.ins().iadd(copy, offset));
        let piece = writer.body.load(types::I8X16, from, 0);
        writer.body.store(piece, to, 0);
        let next = writer.body.ins().iadd_imm_u(offset, COPIED_BYTES);
        let more = writer.body.ins().icmp(IntCC::UnsignedLessThan, next, length);
        writer.body.ins().brif(more, head, &[next.into()], done, &[]);
        writer.body.switch_to_block(done);
        copy
    }
}

impl Target for Records<'_> {
    fn wants(&self, entry: &Entry) -> bool {
        entry.action != Action::Skip
    }

    fn wants_unknown(&self) -> bool {
        true
    }

    fn takes(&self, entry: &Entry) -> bool {
        entry.action == Action::Skip || !self.layout(entry).extension
    }

    fn fills_records(&self) -> bool {
        true
    }

    fn number(&self, writer: &mut Writer<'_, '_>, place: u32, entry: &Entry, value: Value) {
        let field = self.layout(entry);
        let put = |writer: &mut Writer<'_, '_>, to: Value, offset: i32| match field.cell {
            Cell::Bool => {
                writer.body.ins().istore8(unaligned(), value, to, offset);
            }
            _ => writer.body.store(value, to, offset),
        };
        self.keep(writer, place, field, put);
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
        let (start, len) = (offset_of!(View, start) as i32, offset_of!(View, len) as i32);
        if entry.action == Action::String {
            writer.check_utf8(place, at, length);
        }
        let at = match self.strings {
            Strings::Viewed => at,
            Strings::Copied => self.copy(writer, place, at, length),
        };
        // The length has 32 bits, and zeros the rest.
        let put = |writer: &mut Writer<'_, '_>, to: Value, offset: i32| {
            writer.body.store(at, to, offset + start);
            writer.body.store(length, to, offset + len);
        };
        self.keep(writer, place, self.layout(entry), put);
    }

    fn list(
        &self,
        writer: &mut Writer<'_, '_>,
        entry: &Entry,
        exit: ListExit,
        length: Value,
    ) -> Option<Value> {
        use std::mem::offset_of;
        let (start, len) = (offset_of!(List, start) as i32, offset_of!(List, len) as i32);
        let field = self.layout(entry);
        let numbers = field.numbers?;
        let record = writer.body.use_var(writer.record);
        let list = writer.body.ins().iadd_imm_u(record, i64::from(field.offset));
        let there = Self::is_set(writer, field);
        let (fresh, known) = (writer.body.create_block(), writer.body.create_block());
        writer.body.ins().brif(there, known, &[], fresh, &[]);
        writer.body.switch_to_block(fresh);
        let nowhere = writer.number(types::I64, ALIGN as i64);
        let none = writer.number(types::I64, 0);
        writer.body.store(nowhere, list, start);
        writer.body.store(none, list, len);
        self.mark(writer, field);
        writer.body.ins().jump(known, &[]);
        writer.body.switch_to_block(known);
        let context = writer.context;
        Some(match entry.action {
            Action::ClosedEnum => {
                let named = writer.closed(entry);
                let arguments = [context, list, exit.at, length, named];
                writer.body.call(self.helpers.list_closed, &arguments)[0]
            }
            _ => {
                let helper = self.helpers.lists[numbers as usize];
                writer.body.call(helper, &[context, list, exit.at, length])[0]
            }
        })
    }

    fn start_sub(&self, writer: &mut Writer<'_, '_>, place: u32, entry: &Entry) -> Option<Value> {
        let field = self.layout(entry);
        match field.shape {
            Shape::Map => self.new_record(writer, place, field),
            Shape::List => {
                let record = self.new_record(writer, place, field)?;
                self.append(writer, place, field, |writer, at| writer.body.store(record, at, 0));
                Some(record)
            }
            Shape::Single => {
                let (fresh, known) = (writer.body.create_block(), writer.body.cold_block());
                let done = writer.body.create_block();
                let found = writer.body.append_block_param(done, types::I64);
                let there = Self::is_set(writer, field);
                writer.body.ins().brif(there, known, &[], fresh, &[]);
                writer.body.switch_to_block(known);
                let outer = writer.body.use_var(writer.record);
                let record = writer.body.load(types::I64, outer, field.offset as i32);
                writer.body.ins().jump(done, &[record.into()]);
                writer.body.switch_to_block(fresh);
                let record = self.new_record(writer, place, field)?;
                let outer = writer.body.use_var(writer.record);
                writer.body.store(record, outer, field.offset as i32);
                self.mark(writer, field);
                writer.body.ins().jump(done, &[record.into()]);
                writer.body.switch_to_block(done);
                Some(found)
            }
        }
    }

    fn end_sub(&self, writer: &mut Writer<'_, '_>, entry: &Entry) {
        if self.layout(entry).shape != Shape::Map {
            return;
        }
        let context = writer.context;
        let top = writer.body.use_var(writer.top);
        let outer = writer.body.load(types::I64, top, FRAME_RECORD - FRAME_BYTES as i32);
        let inner = writer.body.use_var(writer.record);
        let field = writer.number(types::I32, i64::from(entry.field.0));
        let helper = self.helpers.end_entry;
        let answer = writer.body.call(helper, &[context, field, inner, outer])[0];
        writer.stop_at_end_if(answer);
    }
}
