//! Choices drawn from bytes, for fuzz targets that make their own inputs.

/// The bytes that are left; at their end each choice is the first.
pub struct Draw<'i> {
    bytes: &'i [u8],
}

impl<'i> Draw<'i> {
    /// Draws from these bytes, one for each choice.
    pub fn new(bytes: &'i [u8]) -> Draw<'i> {
        Draw { bytes }
    }

    /// A number below `limit`, and below 256.
    pub fn below(&mut self, limit: usize) -> usize {
        let (first, rest) = self.bytes.split_first().map_or((0, self.bytes), |(b, r)| (*b, r));
        self.bytes = rest;
        usize::from(first) % limit.max(1)
    }

    /// One of these, which are not none.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
