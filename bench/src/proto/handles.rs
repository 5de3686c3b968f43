//! The effect of the width of handles on messages in memory: records whose strings, sub-messages
//! and lists are referred to by 64 bits (`tidemill`, as in the library), and the same by 32.
//!
//! | slot | 64 bits | 32 bits |
//! |---|---|---|
//! | string: its offset in the input, its length | 16 | 8 |
//! | sub-message: its offset in the region | 8 | 4 |
//! | list: its offset in the region, length, capacity | 16 | 12 |
//!
//! Both are offsets, and one plain sink fills both after one native decoder, so that only the width
//! differs. It is slower than the library's own code, which stores directly into its records, and
//! is measured as `...-message`.

use std::hint::black_box;

use tidemill_wire::{
    Decoder, FieldId, FieldType, Label, MessageId, Native, Scalar, Schema, Sink, SinkResult,
    Tables, Wants,
};

use super::case::Case;
use super::rates::Rates;
use crate::extent::Extent;
use crate::report::{Better, Report, Row};

/// Measures one message.
///
/// # Errors
/// The decoder fails, or the two hold different values.
pub fn run(case: &Case, extent: Extent, report: &mut Report) -> Result<(), String> {
    let Case { schema, message, bytes, .. } = case;
    let tables = Tables::new(schema);
    let native = Native::compile(schema, &tables, Wants::ALL).map_err(|error| error.to_string())?;
    native.prepare(*message).map_err(ToString::to_string)?;
    let table = Decoder::with(schema, &tables);
    let decoder = table.native(&native);
    let (wide_shapes, narrow_shapes) = (Shapes::new(schema, 8), Shapes::new(schema, 4));
    let mut wide = Tree::<8>::new(&wide_shapes, bytes);
    let mut narrow = Tree::<4>::new(&narrow_shapes, bytes);
    let (mut fill, mut read) = (Rates::new(bytes.len(), extent), Rates::new(bytes.len(), extent));
    for _ in fill.rounds() {
        fill.measure("tidemill", || decoder.decode(*message, bytes, &mut wide).is_ok())?;
        fill.measure("handles-32", || decoder.decode(*message, bytes, &mut narrow).is_ok())?;
    }
    let expected = wide.sum();
    if expected == 0 || narrow.sum() != expected {
        return Err(format!("{}: the records differ", case.name));
    }
    for _ in read.rounds() {
        read.measure("tidemill", || black_box(&wide).sum() == expected)?;
        read.measure("handles-32", || black_box(&narrow).sum() == expected)?;
    }
    fill.report(&format!("{}-handles-fill", case.name), report);
    read.report(&format!("{}-handles-read", case.name), report);
    let name = format!("{}-handles", case.name);
    let row = |who: &str, bytes: usize| {
        Row::new("proto", &name, who, ("region_bytes", "bytes"), (bytes as f64, 1))
    };
    report.case(&[row("tidemill", wide.next), row("handles-32", narrow.next)], Better::Low);
    Ok(())
}

/// The contents of a slot, or of an element of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// A number of this many bytes.
    Number(usize),
    Text,
    Record,
}

/// The location of a field in the records of its message.
#[derive(Clone, Copy)]
struct Slot {
    at: usize,
    /// Its presence bit.
    bit: usize,
    cell: Cell,
    cell_bytes: usize,
    list: bool,
    /// The message type of its values.
    of: usize,
}

/// The records of one message.
struct Shape {
    header_bytes: usize,
    bytes: usize,
    /// By presence bit.
    slots: Vec<Slot>,
}

/// All records of a schema.
struct Shapes {
    by_message: Vec<Shape>,
    /// By field; extensions have none.
    by_field: Vec<Option<Slot>>,
}

impl Shapes {
    fn new(schema: &Schema, handle_bytes: usize) -> Shapes {
        let mut by_field = vec![None; schema.field_count()];
        let shape = |message| {
            let fields = schema.message(message).fields();
            let header_bytes = fields.len().div_ceil(64) * 8;
            let mut slots: Vec<Slot> = Vec::new();
            for (bit, &id) in fields.iter().enumerate() {
                slots.push(slot(schema, id, bit, handle_bytes));
            }
            let list_bytes = handle_bytes + 8;
            let bytes = |slot: &Slot| if slot.list { list_bytes } else { slot.cell_bytes };
            let mut order: Vec<usize> = (0..slots.len()).collect();
            // By alignment: 8 bytes first, then 4, then 1.
            order.sort_by_key(|&at| std::cmp::Reverse((bytes(&slots[at])).trailing_zeros().min(3)));
            let mut end = header_bytes;
            for at in order {
                slots[at].at = end;
                end += bytes(&slots[at]);
                by_field[fields[at].index()] = Some(slots[at]);
            }
            Shape { header_bytes, bytes: end.next_multiple_of(8), slots }
        };
        let by_message = schema.messages().map(shape).collect();
        Shapes { by_message, by_field }
    }
}

fn slot(schema: &Schema, id: FieldId, bit: usize, handle_bytes: usize) -> Slot {
    let field = schema.field(id);
    let (cell, of) = match field.field_type() {
        FieldType::Message(of) | FieldType::Group(of) => (Cell::Record, of.index()),
        FieldType::Enum(_) => (Cell::Number(4), 0),
        FieldType::Scalar(Scalar::String | Scalar::Bytes) => (Cell::Text, 0),
        FieldType::Scalar(Scalar::Bool) => (Cell::Number(1), 0),
        FieldType::Scalar(
            Scalar::Double
            | Scalar::Int64
            | Scalar::Uint64
            | Scalar::Sint64
            | Scalar::Fixed64
            | Scalar::Sfixed64,
        ) => (Cell::Number(8), 0),
        FieldType::Scalar(_) => (Cell::Number(4), 0),
    };
    let cell_bytes = match cell {
        Cell::Number(bytes) => bytes,
        Cell::Text => 2 * handle_bytes,
        Cell::Record => handle_bytes,
    };
    Slot { at: 0, bit, cell, cell_bytes, list: field.label() == Label::Repeated, of }
}

/// A message with handles of `H` bytes.
struct Tree<'a, const H: usize> {
    shapes: &'a Shapes,
    input: &'a [u8],
    region: Vec<u8>,
    /// The offset of the first free byte of the region.
    next: usize,
    /// The outermost record, and its message.
    root: (usize, usize),
    /// The records being filled, the innermost last.
    open: Vec<usize>,
    /// The string being decoded.
    text: (usize, usize),
}

impl<'a, const H: usize> Tree<'a, H> {
    fn new(shapes: &'a Shapes, input: &'a [u8]) -> Tree<'a, H> {
        let (region, open) = (vec![0; 4096], Vec::new());
        Tree { shapes, input, region, next: 0, root: (0, 0), open, text: (0, 0) }
    }

    fn alloc(&mut self, bytes: usize) -> usize {
        let at = self.next;
        self.next += bytes.next_multiple_of(8);
        if self.next > self.region.len() {
            self.region.resize(2 * self.next, 0);
        }
        at
    }

    /// Each width is stored as such, as partial words would cost more than the width itself.
    #[inline]
    fn put<const N: usize>(&mut self, at: usize, value: u64) {
        let to = &mut self.region[at..at + N];
        match N {
            8 => to.copy_from_slice(&value.to_le_bytes()),
            4 => to.copy_from_slice(&(value as u32).to_le_bytes()),
            _ => to[0] = value as u8,
        }
    }

    #[inline]
    fn get<const N: usize>(&self, at: usize) -> u64 {
        let from = &self.region[at..at + N];
        match N {
            8 => from.try_into().map_or(0, u64::from_le_bytes),
            4 => from.try_into().map_or(0, u32::from_le_bytes).into(),
            _ => from[0].into(),
        }
    }

    fn record(&mut self, message: usize) -> usize {
        let Shape { header_bytes, bytes, .. } = self.shapes.by_message[message];
        let at = self.alloc(bytes);
        self.region[at..at + header_bytes].fill(0);
        at
    }

    /// Where the next value of a field goes, and whether the field was set.
    #[inline]
    fn place(&mut self, slot: Slot) -> (usize, bool) {
        let record = *self.open.last().expect("a message is being filled");
        let word = record + slot.bit / 64 * 8;
        let (bits, mask) = (self.get::<8>(word), 1 << (slot.bit % 64));
        self.put::<8>(word, bits | mask);
        let at = record + slot.at;
        let was_there = bits & mask != 0;
        if !slot.list {
            return (at, was_there);
        }
        let (mut start, len, room) = if was_there {
            (self.get::<H>(at), self.get::<4>(at + H), self.get::<4>(at + H + 4))
        } else {
            (0, 0, 0)
        };
        let used = len as usize * slot.cell_bytes;
        if len == room {
            let room = (2 * room).max(4);
            let to = self.alloc(room as usize * slot.cell_bytes);
            self.region.copy_within(start as usize..start as usize + used, to);
            start = to as u64;
            self.put::<H>(at, start);
            self.put::<4>(at + H + 4, room);
        }
        self.put::<4>(at + H, len + 1);
        (start as usize + used, false)
    }

    #[inline]
    fn slot(&self, field: FieldId) -> Option<Slot> {
        self.shapes.by_field.get(field.index()).copied().flatten()
    }

    #[inline]
    fn number(&mut self, field: FieldId, value: u64) -> SinkResult {
        let Some(slot) = self.slot(field) else { return Ok(()) };
        let (at, _) = self.place(slot);
        match slot.cell_bytes {
            8 => self.put::<8>(at, value),
            4 => self.put::<4>(at, value),
            _ => self.put::<1>(at, value),
        }
        Ok(())
    }

    #[inline]
    fn piece(&mut self, piece: &[u8]) -> SinkResult {
        self.text = (piece.as_ptr().addr() - self.input.as_ptr().addr(), piece.len());
        Ok(())
    }

    #[inline]
    fn store_text(&mut self, field: FieldId) -> SinkResult {
        let Some(slot) = self.slot(field) else { return Ok(()) };
        let ((at, _), (start, len)) = (self.place(slot), self.text);
        self.put::<H>(at, start as u64);
        self.put::<H>(at + H, len as u64);
        Ok(())
    }

    /// A sum over parts of all values.
    fn sum(&self) -> u64 {
        let (record, message) = self.root;
        self.sum_of(record, &self.shapes.by_message[message])
    }

    fn sum_of(&self, record: usize, shape: &Shape) -> u64 {
        let mut sum = 0u64;
        for word in 0..shape.header_bytes / 8 {
            let mut bits = self.get::<8>(record + 8 * word);
            while bits != 0 {
                let slot = &shape.slots[64 * word + bits.trailing_zeros() as usize];
                bits &= bits - 1;
                let at = record + slot.at;
                let (start, count) = if slot.list {
                    (self.get::<H>(at) as usize, self.get::<4>(at + H) as usize)
                } else {
                    (at, 1)
                };
                for index in 0..count {
                    sum = sum.wrapping_add(self.sum_of_cell(slot, start + index * slot.cell_bytes));
                }
            }
        }
        sum
    }

    #[inline]
    fn sum_of_cell(&self, slot: &Slot, at: usize) -> u64 {
        match slot.cell {
            Cell::Number(8) => self.get::<8>(at),
            Cell::Number(4) => self.get::<4>(at),
            Cell::Number(_) => self.get::<1>(at),
            Cell::Text => {
                let (start, len) = (self.get::<H>(at), self.get::<H>(at + H));
                let first = self.input.get(start as usize).copied().unwrap_or(0);
                len + u64::from(first)
            }
            Cell::Record => {
                let of = &self.shapes.by_message[slot.of];
                self.sum_of(self.get::<H>(at) as usize, of)
            }
        }
    }
}

impl<'i, const H: usize> Sink<'i> for Tree<'_, H> {
    fn start_message(&mut self, message: MessageId) -> SinkResult {
        self.next = 0;
        self.open.clear();
        self.root = (self.record(message.index()), message.index());
        self.open.push(self.root.0);
        Ok(())
    }

    fn start_sub(&mut self, field: FieldId) -> SinkResult {
        let Some(slot) = self.slot(field) else { return Ok(()) };
        let (at, was_there) = self.place(slot);
        let record = if was_there {
            self.get::<H>(at) as usize
        } else {
            let record = self.record(slot.of);
            self.put::<H>(at, record as u64);
            record
        };
        self.open.push(record);
        Ok(())
    }

    fn end_sub(&mut self, field: FieldId) -> SinkResult {
        if self.slot(field).is_some() {
            self.open.pop();
        }
        Ok(())
    }

    fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
        self.number(field, value as u64)
    }

    fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
        self.number(field, value)
    }

    fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
        self.number(field, value as u64)
    }

    fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
        self.number(field, value.into())
    }

    fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
        self.number(field, value.to_bits())
    }

    fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
        self.number(field, value.to_bits().into())
    }

    fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
        self.number(field, value.into())
    }

    fn start_string(&mut self, _: FieldId, _: usize) -> SinkResult {
        self.text = (0, 0);
        Ok(())
    }

    fn string(&mut self, _: FieldId, piece: &'i str) -> SinkResult {
        self.piece(piece.as_bytes())
    }

    fn raw_string(&mut self, _: FieldId, piece: &'i [u8]) -> SinkResult {
        self.piece(piece)
    }

    fn end_string(&mut self, field: FieldId) -> SinkResult {
        self.store_text(field)
    }

    fn start_bytes(&mut self, _: FieldId, _: usize) -> SinkResult {
        self.text = (0, 0);
        Ok(())
    }

    fn bytes(&mut self, _: FieldId, piece: &'i [u8]) -> SinkResult {
        self.piece(piece)
    }

    fn end_bytes(&mut self, field: FieldId) -> SinkResult {
        self.store_text(field)
    }
}
