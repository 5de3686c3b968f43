//! Equality of messages, and missing required fields.
//!
//! Two messages are equal if they have the same type and the same fields with the same values:
//!
//! * numbers are compared by their bits: a NaN equals itself with the same payload, and minus zero
//!   differs from zero;
//! * a present field differs from an absent one, even if it has the default value, unless the field
//!   has no presence;
//! * lists have the same values in the same order; maps the same keys with equal values, in any
//!   order;
//! * unknown fields are the same bytes in the same order.

use super::layout::{Cell, FieldLayout, Layouts, RecordLayout, Shape};
use super::map::{Key, Map, map_of};
use super::present::Present;
use super::record::{List, Record, Slot, View};
use super::value::MessageRef;
use crate::schema::{Label, Schema};

impl PartialEq for MessageRef<'_> {
    fn eq(&self, other: &MessageRef<'_>) -> bool {
        if self.layout.message != other.layout.message || !self.schema.is_same(other.schema) {
            return false;
        }
        let layouts = self.schema.layouts();
        match (self.record, other.record) {
            (None, None) => true,
            (None, Some(_)) => other.is_empty(),
            (Some(_), None) => self.is_empty(),
            (Some(a), Some(b)) => {
                let mut pairs = vec![Pair { a, b, layout: self.layout }];
                while let Some(pair) = pairs.pop() {
                    if !equal_records(layouts, pair, &mut pairs) {
                        return false;
                    }
                }
                true
            }
        }
    }
}

/// Two records still to be compared.
#[derive(Clone, Copy)]
struct Pair<'m> {
    a: Record,
    b: Record,
    layout: &'m RecordLayout,
}

fn equal_records<'m>(layouts: &'m Layouts, pair: Pair<'m>, pairs: &mut Vec<Pair<'m>>) -> bool {
    let Pair { a, b, layout } = pair;
    let (mut ours, mut theirs) =
        (Present::of(layouts, layout, Some(a)), Present::of(layouts, layout, Some(b)));
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return same_unknown(a, b),
            (Some((id, field, a)), Some((other, _, b))) if id == other => {
                if !equal_slots(layouts, field, a, b, pairs) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

fn equal_slots<'m>(
    layouts: &'m Layouts,
    field: &FieldLayout,
    a: Slot,
    b: Slot,
    pairs: &mut Vec<Pair<'m>>,
) -> bool {
    let of = field.record.map(|of| layouts.record(of));
    // SAFETY: both slots are stored and hold what the layout says.
    unsafe {
        match (field.shape, of) {
            (Shape::Single, None) => equal_cells(field.cell, a, b),
            (Shape::Single, Some(layout)) => {
                pairs.push(Pair { a: a.cast().read(), b: b.cast().read(), layout });
                true
            }
            (Shape::List, None) => {
                equal_lists(field.cell, a.cast::<List>().read(), b.cast::<List>().read())
            }
            (Shape::List, Some(layout)) => {
                let (a, b) = (a.cast::<List>().read(), b.cast::<List>().read());
                let (a, b): (&[Record], &[Record]) = (a.values(), b.values());
                pairs.extend(a.iter().zip(b).map(|(&a, &b)| Pair { a, b, layout }));
                a.len() == b.len()
            }
            (Shape::Map, Some(layout)) => equal_maps(layouts, layout, map_of(a), map_of(b), pairs),
            (Shape::Map, None) => false,
        }
    }
}

fn equal_maps<'m>(
    layouts: &Layouts,
    layout: &'m RecordLayout,
    a: &Map,
    b: &Map,
    pairs: &mut Vec<Pair<'m>>,
) -> bool {
    let key_field = layouts.field(layout.fields[0]);
    if a.records().len() != b.records().len() {
        return false;
    }
    a.records().iter().all(|&entry| match b.find(Key::of(entry, key_field), key_field) {
        Some(at) => {
            pairs.push(Pair { a: entry, b: b.records()[at], layout });
            true
        }
        None => false,
    })
}

fn equal_lists(cell: Cell, a: List, b: List) -> bool {
    // SAFETY: lists hold what their cell says.
    unsafe {
        match cell {
            _ if a.len != b.len => false,
            Cell::Bool => a.values::<u8>() == b.values::<u8>(),
            Cell::Word32 => a.values::<u32>() == b.values::<u32>(),
            Cell::Word64 => a.values::<u64>() == b.values::<u64>(),
            Cell::View | Cell::Record => {
                let (a, b): (&[View], &[View]) = (a.values(), b.values());
                a.iter().zip(b).all(|(a, b)| a.bytes() == b.bytes())
            }
        }
    }
}

fn equal_cells(cell: Cell, a: Slot, b: Slot) -> bool {
    // SAFETY: cells hold values of their type.
    unsafe {
        match cell {
            Cell::Bool => a.read() == b.read(),
            Cell::Word32 => a.cast::<u32>().read() == b.cast::<u32>().read(),
            Cell::Word64 | Cell::Record => a.cast::<u64>().read() == b.cast::<u64>().read(),
            Cell::View => a.cast::<View>().read().bytes() == b.cast::<View>().read().bytes(),
        }
    }
}

fn same_unknown(a: Record, b: Record) -> bool {
    // SAFETY: views live as long as the message.
    let bytes = |record: Record| record.unknown().iter().map(|view| unsafe { view.bytes() });
    bytes(a).flatten().eq(bytes(b).flatten())
}

impl MessageRef<'_> {
    /// The first missing required field, in the message or anywhere inside it, by names from the
    /// outermost message.
    pub fn missing_required(&self) -> Option<String> {
        let layouts = self.schema.layouts();
        let Some(record) = self.record else {
            let lacks = |id: &&_| layouts.field(**id).label == Label::Required;
            let id = self.layout.fields.iter().find(lacks)?;
            return Some(self.schema.field(*id).name().to_owned());
        };
        let mut frames = vec![(String::new(), self.layout, record)];
        while let Some((path, layout, record)) = frames.pop() {
            if let Some(missing) = missing_here(self.schema, layout, record) {
                return Some(format!("{path}{missing}"));
            }
            let before = frames.len();
            for (id, field, slot) in Present::of(layouts, layout, Some(record)) {
                let Some(of) = field.record else { continue };
                let path = format!("{path}{}.", self.schema.field(id).name());
                let of = layouts.record(of);
                let mut push = |&record: &Record| frames.push((path.clone(), of, record));
                // SAFETY: the slot is stored and holds what its shape says.
                unsafe {
                    match field.shape {
                        Shape::Single => push(&slot.cast().read()),
                        Shape::List => {
                            let records: &[Record] = slot.cast::<List>().read().values();
                            records.iter().for_each(&mut push);
                        }
                        Shape::Map => map_of(slot).records().iter().for_each(&mut push),
                    }
                }
            }
            frames[before..].reverse();
        }
        None
    }
}

fn missing_here<'s>(schema: &'s Schema, layout: &RecordLayout, record: Record) -> Option<&'s str> {
    let complete = |&(word, mask): &(u32, u64)| record.presence_word(word) & mask == mask;
    if layout.required.iter().all(complete) {
        return None;
    }
    let layouts = schema.layouts();
    let lacks = |id: &&_| {
        let field = layouts.field(**id);
        field.label == Label::Required && !record.bit(field)
    };
    layout.fields.iter().find(lacks).map(|&id| schema.field(id).name())
}
