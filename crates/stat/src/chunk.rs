//! The memory of one file: mapped, or of this process only.

use crate::layout::{
    ENTRY_BYTES, Header, NAME_BYTES_MAX, Shape, WORD_BYTES, encode_name, live_name,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::array;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The words of a file, and the memory that holds them.
pub(crate) struct Chunk {
    shape: Shape,
    words: NonNull<AtomicU64>,
    backing: Backing,
}

enum Backing {
    /// Freed on drop; `words` points here.
    Memory(NonNull<[AtomicU64]>),
    /// Unmapped and removed on drop.
    File(PathBuf),
}

// SAFETY: the words are atomics, owned until the drop; nothing is bound to a thread.
unsafe impl Send for Chunk {}
// SAFETY: the words are atomics, owned until the drop.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Zeroed slots in memory.
    pub(crate) fn in_memory(header: &Header) -> Chunk {
        let count = header.shape.file_bytes() / WORD_BYTES;
        let words: Box<[AtomicU64]> = (0..count).map(|_| AtomicU64::new(0)).collect();
        let words = NonNull::from(Box::leak(words));
        let backing = Backing::Memory(words);
        let chunk = Chunk { shape: header.shape, words: words.cast(), backing };
        chunk.write_header(header);
        chunk
    }

    /// Zeroed slots in a new file that only its owner may open.
    pub(crate) fn in_file(path: &Path, header: &Header) -> io::Result<Chunk> {
        let mut file =
            File::options().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let mapped = Chunk::map(&mut file, path, header);
        if mapped.is_err() {
            // If removing the file fails too, there is nothing left to do.
            let _ = fs::remove_file(path);
        }
        mapped
    }

    fn map(file: &mut File, path: &Path, header: &Header) -> io::Result<Chunk> {
        let len = header.shape.file_bytes();
        // Written, not only extended: a full disk must be an error here, not a fault at the first
        // access to a page.
        file.write_all(&vec![0; len])?;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let words = unsafe {
            let access = ProtFlags::READ | ProtFlags::WRITE;
            mmap(ptr::null_mut(), len, access, MapFlags::SHARED, &*file, 0)?
        };
        let words = NonNull::new(words.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let chunk = Chunk { shape: header.shape, words, backing: Backing::File(path.to_owned()) };
        chunk.write_header(header);
        Ok(chunk)
    }

    fn write_header(&self, header: &Header) {
        let encoded = header.encode();
        for (word, value) in self.words().iter().zip(encoded).skip(1) {
            word.store(value.to_le(), Ordering::Relaxed);
        }
        // Release: pairs with the reads of other processes; a reader of the magic sees the header.
        self.words()[0].store(encoded[0].to_le(), Ordering::Release);
    }

    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// All words.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let count = self.shape.file_bytes() / WORD_BYTES;
        // SAFETY: allocated or mapped with this length, zeroed, aligned to a word at least, and
        // freed only in `drop`. Other processes may write to a file's words: they are atomics.
        unsafe { slice::from_raw_parts(self.words.as_ptr(), count) }
    }

    /// The data of a slot.
    pub(crate) fn data(&self, slot: usize) -> &[AtomicU64] {
        let start = self.shape.data_offset(slot) / WORD_BYTES;
        &self.words()[start..start + self.shape.data_bytes / WORD_BYTES]
    }

    fn entry(&self, slot: usize) -> &[AtomicU64] {
        let start = self.shape.entry_offset(slot) / WORD_BYTES;
        &self.words()[start..start + ENTRY_BYTES / WORD_BYTES]
    }

    /// The name of a slot that is in use.
    pub(crate) fn name(&self, slot: usize) -> Option<String> {
        let entry = self.entry(slot);
        let words: [u64; ENTRY_BYTES / WORD_BYTES] =
            array::from_fn(|at| entry[at].load(Ordering::Relaxed));
        live_name(&words)
    }

    /// Whether the name of a slot, which may be a former one, begins like this.
    pub(crate) fn begins_with(&self, slot: usize, prefix: &str) -> bool {
        let words = self.entry(slot)[1..].iter().map(|word| word.load(Ordering::Relaxed));
        let bytes = words.flat_map(u64::to_le_bytes);
        prefix.len() <= NAME_BYTES_MAX && bytes.zip(prefix.bytes()).all(|(a, b)| a == b)
    }

    /// The value of a counter.
    pub(crate) fn count(&self, slot: usize) -> u64 {
        // Relaxed: counters are independent of each other.
        u64::from_le(self.data(slot)[0].load(Ordering::Relaxed))
    }

    /// Gives a free slot a name, and zeroes its data.
    pub(crate) fn claim(&self, slot: usize, name: &str) {
        let entry = self.entry(slot);
        let generation = entry[0].load(Ordering::Relaxed) as u32 | 1;
        entry[0].store(u64::from(generation), Ordering::Relaxed);
        // Release: a reader of a word of the new name sees the odd generation before it.
        fence(Ordering::Release);
        for word in self.data(slot) {
            word.store(0, Ordering::Relaxed);
        }
        let encoded = encode_name(name);
        for (word, value) in entry.iter().zip(encoded).skip(1) {
            word.store(value, Ordering::Relaxed);
        }
        // 0 is for slots that were never used.
        let generation = generation.checked_add(1).unwrap_or(2);
        // Release: a reader of the even generation sees the whole name.
        entry[0].store(encoded[0] | u64::from(generation), Ordering::Release);
    }

    /// Removes the name of a slot: readers skip it from now on.
    pub(crate) fn retire(&self, slot: usize) {
        let entry = &self.entry(slot)[0];
        let generation = entry.load(Ordering::Relaxed) as u32;
        entry.store(u64::from(generation | 1), Ordering::Release);
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        match &self.backing {
            // SAFETY: leaked in `in_memory`, freed only here.
            Backing::Memory(words) => drop(unsafe { Box::from_raw(words.as_ptr()) }),
            Backing::File(path) => {
                // Both can fail only if the file was removed by others.
                let _ = fs::remove_file(path);
                // SAFETY: mapped in `map` with this length; no reference outlives the chunk.
                let _ = unsafe { munmap(self.words.as_ptr().cast(), self.shape.file_bytes()) };
            }
        }
    }
}
