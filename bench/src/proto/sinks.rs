//! Sinks that receive every value: one to compare decoders, one to measure them.

use tidemill_wire::{FieldId, Sink, SinkResult};

/// A sink by a function for numbers and one for texts.
macro_rules! sink {
    ($name:ident) => {
        impl<'a> Sink<'a> for $name {
            #[inline]
            fn start_sub(&mut self, field: FieldId) -> SinkResult {
                self.number(field, 1)
            }

            #[inline]
            fn end_sub(&mut self, field: FieldId) -> SinkResult {
                self.number(field, 2)
            }

            #[inline]
            fn i64(&mut self, field: FieldId, value: i64) -> SinkResult {
                self.number(field, value as u64)
            }

            #[inline]
            fn u64(&mut self, field: FieldId, value: u64) -> SinkResult {
                self.number(field, value)
            }

            #[inline]
            fn i32(&mut self, field: FieldId, value: i32) -> SinkResult {
                self.number(field, value as u64)
            }

            #[inline]
            fn u32(&mut self, field: FieldId, value: u32) -> SinkResult {
                self.number(field, u64::from(value))
            }

            #[inline]
            fn f64(&mut self, field: FieldId, value: f64) -> SinkResult {
                self.number(field, value.to_bits())
            }

            #[inline]
            fn f32(&mut self, field: FieldId, value: f32) -> SinkResult {
                self.number(field, u64::from(value.to_bits()))
            }

            #[inline]
            fn bool(&mut self, field: FieldId, value: bool) -> SinkResult {
                self.number(field, u64::from(value))
            }

            #[inline]
            fn string(&mut self, field: FieldId, piece: &'a str) -> SinkResult {
                self.text(field, piece.as_bytes())
            }

            #[inline]
            fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
                self.text(field, piece)
            }

            #[inline]
            fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> SinkResult {
                self.text(field, piece)
            }
        }
    };
}

/// Sums up every value, to compare decoders. Each step depends on the previous one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    fields: u64,
    sum: u64,
}

impl Sum {
    #[inline]
    fn number(&mut self, field: FieldId, value: u64) -> SinkResult {
        self.fields += 1;
        // The sum depends on the order.
        self.sum = self.sum.rotate_left(7) ^ value.wrapping_add(field.index() as u64);
        Ok(())
    }

    fn text(&mut self, field: FieldId, piece: &[u8]) -> SinkResult {
        piece.iter().try_for_each(|&byte| self.number(field, u64::from(byte)))
    }
}

sink!(Sum);

/// More than the fields of the benchmark's schema.
const FIELDS: usize = 512;

/// Keeps the latest value of every field: a number, or the place and length of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Latest(Box<[(u64, u64); FIELDS]>);

impl Default for Latest {
    fn default() -> Latest {
        Latest(Box::new([(0, 0); FIELDS]))
    }
}

impl Latest {
    #[inline]
    fn number(&mut self, field: FieldId, value: u64) -> SinkResult {
        self.0[field.index() % FIELDS].0 = value;
        Ok(())
    }

    #[inline]
    fn text(&mut self, field: FieldId, piece: &[u8]) -> SinkResult {
        self.0[field.index() % FIELDS] = (piece.len() as u64, piece.as_ptr().addr() as u64);
        Ok(())
    }
}

sink!(Latest);
