//! Regions: memory that is filled piece by piece and freed as a whole.

use std::cell::{Cell, UnsafeCell};

/// Size of the first chunk in bytes; later ones double up to [`LARGEST_CHUNK`].
const FIRST_CHUNK: usize = 4 << 10;
const LARGEST_CHUNK: usize = 1 << 20;

/// A region for bytes and texts: what it hands out lives until [`Bump::reset`] or its end.
#[derive(Debug, Default)]
pub struct Bump {
    /// Each chunk is allocated once with its full capacity and never grows, so that its bytes
    /// stay where they are.
    chunks: UnsafeCell<Vec<Vec<u8>>>,
    used: Cell<usize>,
}

impl Bump {
    /// An empty region; it allocates with its first piece.
    pub fn new() -> Bump {
        Bump::default()
    }

    /// Copies `bytes` into the region.
    pub fn alloc_bytes(&self, bytes: &[u8]) -> &[u8] {
        if bytes.is_empty() {
            return &[];
        }
        self.used.set(self.used.get() + bytes.len());
        // SAFETY: the region is not `Sync`, this is the only place that looks at the chunks by
        // shared reference, and nothing below calls back into the region: the reference is unique
        // while it lives.
        let chunks = unsafe { &mut *self.chunks.get() };
        let fits = chunks.last().is_some_and(|c| c.capacity() - c.len() >= bytes.len());
        if !fits {
            let next = chunks.last().map_or(FIRST_CHUNK, |c| 2 * c.capacity());
            chunks.push(Vec::with_capacity(next.min(LARGEST_CHUNK).max(bytes.len())));
        }
        let chunk = chunks.last_mut().expect("a chunk was made above");
        let start = chunk.len();
        chunk.extend_from_slice(bytes);
        // SAFETY: the range was written just now; the chunk never reallocates, since it is only
        // extended within its capacity, and is freed by `reset` or the drop alone, both of which
        // need the region exclusively and so outlive no piece. Written bytes never change again.
        unsafe { std::slice::from_raw_parts(chunk.as_ptr().add(start), bytes.len()) }
    }

    /// Copies `text` into the region.
    pub fn alloc_str(&self, text: &str) -> &str {
        let bytes = self.alloc_bytes(text.as_bytes());
        // SAFETY: a copy of a `str`.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }

    /// Bytes handed out since the last reset.
    pub fn used(&self) -> usize {
        self.used.get()
    }

    /// Frees everything that was handed out and keeps the largest chunk.
    pub fn reset(&mut self) {
        self.used.set(0);
        let chunks = self.chunks.get_mut();
        let largest = chunks.drain(..).max_by_key(Vec::capacity);
        chunks.extend(largest.map(|mut chunk| {
            chunk.clear();
            chunk
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stay_while_the_region_grows() {
        let mut region = Bump::new();
        let pieces: Vec<String> = (0..5000).map(|i| format!("piece {i}")).collect();
        let copies: Vec<&str> = pieces.iter().map(|piece| region.alloc_str(piece)).collect();
        assert_eq!(copies, pieces);
        let large = region.alloc_bytes(&[7; 3 << 20]);
        assert!(large.iter().all(|&byte| byte == 7));
        region.reset();
        assert_eq!(region.used(), 0);
        assert_eq!(region.alloc_str("again"), "again");
    }
}
