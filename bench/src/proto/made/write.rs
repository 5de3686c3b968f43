//! Writes messages: tags and values one after the other.

use tidemill_wire::varint::{self, zigzag};

/// The bytes written so far.
#[derive(Default)]
pub struct Out(pub Vec<u8>);

impl Out {
    fn tag(&mut self, number: u32, wire_type: u32) {
        varint::write(&mut self.0, u64::from(number << 3 | wire_type));
    }

    /// A varint of any type but `sint32` and `sint64`.
    pub fn varint(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        varint::write(&mut self.0, value);
    }

    /// Eight bytes.
    pub fn fixed64(&mut self, number: u32, value: u64) {
        self.tag(number, 1);
        self.0.extend(value.to_le_bytes());
    }

    /// Four bytes.
    pub fn fixed32(&mut self, number: u32, value: u32) {
        self.tag(number, 5);
        self.0.extend(value.to_le_bytes());
    }

    /// A string or bytes.
    pub fn bytes(&mut self, number: u32, value: impl AsRef<[u8]>) {
        self.tag(number, 2);
        varint::write(&mut self.0, value.as_ref().len() as u64);
        self.0.extend(value.as_ref());
    }

    /// A message, or anything else with a length.
    pub fn sub(&mut self, number: u32, write: impl FnOnce(&mut Out)) {
        let mut inner = Out::default();
        write(&mut inner);
        self.bytes(number, &inner.0);
    }

    /// A packed list of varints.
    pub fn varints(&mut self, number: u32, values: impl IntoIterator<Item = u64>) {
        self.sub(number, |list| {
            values.into_iter().for_each(|value| varint::write(&mut list.0, value));
        });
    }

    /// A packed list of `sint32` or `sint64`.
    pub fn zigzags(&mut self, number: u32, values: impl IntoIterator<Item = i64>) {
        self.varints(number, values.into_iter().map(zigzag));
    }

    /// A packed list of numbers of a fixed width.
    pub fn fixed<const WIDTH: usize>(
        &mut self,
        number: u32,
        values: impl IntoIterator<Item = [u8; WIDTH]>,
    ) {
        self.sub(number, |list| list.0.extend(values.into_iter().flatten()));
    }
}
