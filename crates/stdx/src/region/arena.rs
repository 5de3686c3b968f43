//! Memory addressed by 32-bit handles.
//!
//! A handle counts words of 8 bytes. Chunk `k` holds `64 << k` words and has the addresses
//! `64 << k .. 128 << k`, so the highest bit of a handle tells the chunk and the rest the place:
//!
//! ```text
//! handle  64..127   128..255   256..511   ...
//! chunk   0         1          2          ...      (512 bytes, 1 KiB, 2 KiB, ...)
//! ```
//!
//! Values never move. A value larger than the next chunk goes to the first chunk that can hold
//! it; those between are left out until something fits them.

use super::Full;
use super::chunk::Chunk;
use super::handle::{Handle, Slice, Text};
use super::plain::Plain;
use std::{fmt, ptr, slice, str};

const WORD_BYTES: usize = 8;
/// log2 of the words in chunk 0.
const FIRST_CHUNK_BITS: u32 = 6;
/// Chunks are numbered below this: handles have 32 bits.
const CHUNK_COUNT_MAX: u32 = 32 - FIRST_CHUNK_BITS;

/// Memory that is freed as a whole and addressed by 32-bit handles.
///
/// Holds up to 32 GiB. Takes no memory before the first value.
pub struct Region {
    /// By number; `None` where no value needed that chunk yet.
    chunks: Vec<Option<Chunk>>,
    /// The free words of the chunk in use, as handles.
    next_word: u32,
    end_word: u32,
    used_words: usize,
    held_bytes: usize,
    limit_bytes: usize,
}

impl Region {
    /// An empty region.
    pub const fn new() -> Region {
        Region::with_limit(usize::MAX)
    }

    /// An empty region that never holds more than `limit_bytes` from the system.
    pub const fn with_limit(limit_bytes: usize) -> Region {
        Region {
            chunks: Vec::new(),
            next_word: 0,
            end_word: 0,
            used_words: 0,
            held_bytes: 0,
            limit_bytes,
        }
    }

    /// Stores a value.
    ///
    /// # Errors
    /// [`Full`] at the limit.
    #[inline]
    pub fn alloc<T: Plain>(&mut self, value: T) -> Result<Handle<T>, Full> {
        let slice = self.alloc_slice(slice::from_ref(&value))?;
        Ok(Handle::new(slice.word))
    }

    /// Stores a copy of `values`.
    ///
    /// # Errors
    /// [`Full`] at the limit, or beyond 2^32 - 1 values.
    #[inline]
    pub fn alloc_slice<T: Plain>(&mut self, values: &[T]) -> Result<Slice<T>, Full> {
        let bytes = size_of_val(values);
        let len = u32::try_from(values.len()).map_err(|_| self.full(bytes))?;
        let slice = Slice::new(self.reserve(bytes)?, len);
        self.slice_mut(slice).expect("just reserved").copy_from_slice(values);
        Ok(slice)
    }

    /// Stores a copy of `text`.
    ///
    /// # Errors
    /// [`Full`] at the limit, or beyond 4 GiB.
    pub fn alloc_str(&mut self, text: &str) -> Result<Text, Full> {
        self.alloc_slice(text.as_bytes()).map(Text)
    }

    /// The value of a handle; `None` for null and for handles that reach outside this region.
    #[inline]
    pub fn get<T: Plain>(&self, handle: Handle<T>) -> Option<&T> {
        self.slice(handle.as_slice())?.first()
    }

    /// The value of a handle, to change.
    #[inline]
    pub fn get_mut<T: Plain>(&mut self, handle: Handle<T>) -> Option<&mut T> {
        self.slice_mut(handle.as_slice())?.first_mut()
    }

    /// The values of a slice; `None` if it reaches outside this region.
    #[inline]
    pub fn slice<T: Plain>(&self, slice: Slice<T>) -> Option<&[T]> {
        let place = self.resolve(slice)?;
        // SAFETY: `resolve` found the place inside a chunk, whose bytes are initialised, aligned
        // for any plain type, and values whatever they are. Shared borrow: nobody writes.
        Some(unsafe { slice::from_raw_parts(place, slice.len()) })
    }

    /// The values of a slice, to change.
    #[inline]
    pub fn slice_mut<T: Plain>(&mut self, slice: Slice<T>) -> Option<&mut [T]> {
        let place = self.resolve(slice)?;
        // SAFETY: as in `slice`; the borrow of the region is exclusive.
        Some(unsafe { slice::from_raw_parts_mut(place, slice.len()) })
    }

    /// A string; `None` if it is not one of this region.
    ///
    /// The bytes are checked again, because a handle of another region may come here.
    #[inline]
    pub fn str(&self, text: Text) -> Option<&str> {
        str::from_utf8(self.slice(text.0)?).ok()
    }

    /// Frees all values and keeps the memory. Old handles find old bytes or new ones.
    pub fn reset(&mut self) {
        self.next_word = 0;
        self.end_word = 0;
        self.used_words = 0;
    }

    /// Bytes used by values, rounded up to words.
    pub fn used_bytes(&self) -> usize {
        self.used_words * WORD_BYTES
    }

    /// Bytes held from the system.
    #[inline]
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// The limit on held bytes.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<u32, Full> {
        if let Some(word) = self.take(bytes) {
            return Ok(word);
        }
        let Growth { chunk, bytes: growth_bytes } = self.growth(bytes)?;
        if self.held_bytes.saturating_add(growth_bytes) > self.limit_bytes {
            return Err(self.full(growth_bytes));
        }
        self.grow(chunk);
        Ok(self.take(bytes).expect("the chunk was chosen to fit"))
    }

    /// Whether the chunk in use has `bytes` bytes.
    #[inline]
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        bytes.div_ceil(WORD_BYTES) <= (self.end_word - self.next_word) as usize
    }

    /// Words of the chunk in use for `bytes` bytes, if it has enough.
    #[inline]
    fn take(&mut self, bytes: usize) -> Option<u32> {
        if !self.has_room(bytes) {
            return None;
        }
        let words = bytes.div_ceil(WORD_BYTES);
        let word = self.next_word;
        self.next_word += words as u32;
        self.used_words += words;
        Some(word)
    }

    /// What it takes to store `bytes` more bytes.
    pub(super) fn growth(&self, bytes: usize) -> Result<Growth, Full> {
        // The chunk in use ends where the next one begins, as the numbers of words go on.
        let following = match self.end_word {
            0 => 0,
            end_word => (end_word - 1).ilog2() + 1 - FIRST_CHUNK_BITS,
        };
        let chunk = (following..CHUNK_COUNT_MAX)
            .find(|&chunk| chunk_words(chunk) as usize >= bytes.div_ceil(WORD_BYTES))
            .ok_or(self.full(bytes))?;
        let held = self.chunks.get(chunk as usize).is_some_and(Option::is_some);
        Ok(Growth { chunk, bytes: if held { 0 } else { chunk_bytes(chunk) } })
    }

    /// Makes `chunk` the one in use.
    pub(super) fn grow(&mut self, chunk: u32) {
        let index = chunk as usize;
        if index >= self.chunks.len() {
            self.chunks.resize_with(index + 1, || None);
        }
        if self.chunks[index].is_none() {
            self.chunks[index] = Some(Chunk::new(chunk_bytes(chunk)));
            self.held_bytes += chunk_bytes(chunk);
        }
        self.next_word = 1 << (chunk + FIRST_CHUNK_BITS);
        self.end_word = self.next_word + chunk_words(chunk);
    }

    /// Where a slice lies, checked to be inside one chunk.
    #[inline]
    fn resolve<T: Plain>(&self, slice: Slice<T>) -> Option<*mut T> {
        if slice.is_empty() {
            return Some(ptr::dangling_mut());
        }
        let highest = slice.word.checked_ilog2()?;
        let chunk = highest.checked_sub(FIRST_CHUNK_BITS)?;
        let chunk = self.chunks.get(chunk as usize)?.as_ref()?;
        let first_byte = (slice.word ^ (1 << highest)) as usize * WORD_BYTES;
        let bytes = slice.len().checked_mul(size_of::<T>())?;
        if bytes > chunk.bytes().saturating_sub(first_byte) {
            return None;
        }
        Some(chunk.start().wrapping_add(first_byte).cast())
    }

    fn full(&self, more_bytes: usize) -> Full {
        let needed_bytes = self.held_bytes.saturating_add(more_bytes);
        Full { limit_bytes: self.limit_bytes, needed_bytes }
    }
}

/// The chunk that comes into use next and the bytes it takes from the system.
pub(super) struct Growth {
    pub(super) chunk: u32,
    pub(super) bytes: usize,
}

fn chunk_bytes(chunk: u32) -> usize {
    chunk_words(chunk) as usize * WORD_BYTES
}

/// Words of a chunk; the last one lacks a word so that its end fits 32 bits.
fn chunk_words(chunk: u32) -> u32 {
    (1 << (chunk + FIRST_CHUNK_BITS)) - u32::from(chunk + 1 == CHUNK_COUNT_MAX)
}

impl Default for Region {
    fn default() -> Region {
        Region::new()
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region")
            .field("used_bytes", &self.used_bytes())
            .field("held_bytes", &self.held_bytes)
            .field("limit_bytes", &self.limit_bytes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_handles_is_no_question() {
        let mut region = Region::new();
        let links: Vec<Handle<[u64; 2]>> =
            (0..10_000).map(|i| region.alloc([i, 0]).unwrap()).collect();
        for (i, &link) in links.iter().enumerate() {
            region[link][1] = (i as u64 + 1) % 10_000;
        }
        let mut at = 0;
        for _ in 0..10_000 {
            at = region[links[at]][1] as usize;
        }
        assert_eq!(at, 0);
        assert_eq!(region.used_bytes(), 160_000);
    }

    #[test]
    fn texts_and_slices_of_every_size_come_back() {
        let mut region = Region::new();
        let texts: Vec<(Text, String)> = (0..300)
            .map(|i| "é".repeat(i * i / 10))
            .map(|text| (region.alloc_str(&text).unwrap(), text))
            .collect();
        assert!(texts.iter().all(|(place, text)| &region[*place] == text));
        assert_eq!(&region[Text::EMPTY], "");
        let words = region.alloc_slice(&[1u16, 2, 3]).unwrap();
        region[words][1] = 7;
        assert_eq!(region[words], [1, 7, 3]);
    }

    #[test]
    fn a_foreign_handle_finds_nothing_or_other_bytes() {
        let mut large = Region::new();
        let (mut far, mut text) = (Handle::NULL, Text::EMPTY);
        for i in 0..1000u64 {
            far = large.alloc(i).unwrap();
            text = large.alloc_str("ok").unwrap();
        }
        let mut small = Region::new();
        small.alloc_slice(&[0xFFu8; 64]).unwrap();
        assert_eq!(small.get(far), None);
        assert_eq!(small.str(text), None);
        assert_eq!(small.get(Handle::<u64>::NULL), None);
        let low = large.alloc_slice(&[0u8; 0]).unwrap();
        assert_eq!(small.slice(low), Some(&[][..]));
        // Points at the region's first word, where there is no text.
        let first = Text(Slice::new(64, 4));
        assert_eq!(small.str(first), None);
        for len in [513, u32::MAX] {
            assert_eq!(small.slice(Slice::<u64>::new(64, len)), None);
        }
    }

    #[test]
    fn the_limit_holds_and_a_reset_keeps_the_memory() {
        let mut region = Region::with_limit(4096);
        let mut stored = 0;
        let full = loop {
            match region.alloc(7u64) {
                Ok(_) => stored += 1,
                Err(full) => break full,
            }
        };
        // 512 + 1024 + 2048 bytes; the next chunk of 4096 is too much.
        assert_eq!(stored, 448);
        assert_eq!(full, Full { limit_bytes: 4096, needed_bytes: 3584 + 4096 });
        assert_eq!(region.held_bytes(), 3584);
        region.reset();
        assert_eq!(region.used_bytes(), 0);
        for _ in 0..448 {
            region.alloc(8u64).unwrap();
        }
        assert!(region.alloc(8u64).is_err());
        assert_eq!(region.held_bytes(), 3584);
    }

    #[test]
    fn a_large_value_leaves_out_chunks() {
        let mut region = Region::with_limit(200_000);
        let small = region.alloc(1u32).unwrap();
        let large = region.alloc_slice(&[9u8; 100_000]).unwrap();
        assert_eq!(region.held_bytes(), 512 + 131_072);
        assert_eq!((region[small], region[large].len()), (1, 100_000));
        region.reset();
        for _ in 0..200 {
            region.alloc([1u64, 2]).unwrap();
        }
        assert!(region.held_bytes() <= 200_000);
    }
}
