//! The contents of slots: views, lists, and the extra part that few records have.
//!
//! The types are `repr(C)`: generated code reads and writes them by the offsets given here.

use std::ptr::NonNull;

use super::arena::Arena;
use crate::packed::Numbers;
use crate::schema::NamedNumbers;

/// An address in an arena.
pub type Address = *mut u8;

/// Bytes that live elsewhere: in the input, or in the arena.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    /// The first byte; dangling if there are none.
    pub start: *const u8,
    /// The number of bytes.
    pub len: u32,
    /// Padding; generated code need not write it.
    pub spare: u32,
}

impl View {
    /// A view of no bytes.
    pub const EMPTY: View = View { start: NonNull::<u8>::dangling().as_ptr(), len: 0, spare: 0 };

    /// A view of `bytes`; `None` if there are 4 GiB or more.
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<View> {
        let len = u32::try_from(bytes.len()).ok()?;
        Some(View { start: bytes.as_ptr(), len, spare: 0 })
    }

    /// The bytes.
    ///
    /// # Safety
    /// They live, and do not change, for `'m`.
    #[inline]
    pub unsafe fn bytes<'m>(self) -> &'m [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller guarantees that they live and do not change for `'m`.
        unsafe { std::slice::from_raw_parts(self.start, self.len as usize) }
    }
}

/// Values in one contiguous array.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct List {
    /// The first value; dangling if there are none.
    pub start: Address,
    /// The number of values.
    pub len: u32,
    /// The number of values that fit.
    pub capacity: u32,
}

/// The capacity of a list when it first grows.
const FIRST_CAPACITY: u32 = 4;

impl List {
    /// A list without values or room for them.
    pub const EMPTY: List =
        List { start: NonNull::<u64>::dangling().as_ptr().cast(), len: 0, capacity: 0 };

    /// Makes room for at least one more value of `cell_bytes` bytes; `None` at the arena's limit.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self, arena: &mut Arena, cell_bytes: u32) -> Option<()> {
        let more = self.capacity.checked_mul(2)?.max(FIRST_CAPACITY);
        self.reserve_exact(arena, cell_bytes, more)
    }

    /// Makes room for `capacity` values in all.
    pub fn reserve_exact(
        &mut self,
        arena: &mut Arena,
        cell_bytes: u32,
        capacity: u32,
    ) -> Option<()> {
        if capacity <= self.capacity {
            return Some(());
        }
        let bytes = |count: u32| count as usize * cell_bytes as usize;
        if !arena.extend(self.start, bytes(self.capacity), bytes(capacity)) {
            let place = arena.alloc(bytes(capacity))?;
            // SAFETY: there are `self.len` old values; the new memory is larger and not used yet.
            unsafe { self.start.copy_to_nonoverlapping(place.as_ptr(), bytes(self.len)) };
            self.start = place.as_ptr();
        }
        self.capacity = capacity;
        Some(())
    }

    /// Appends the numbers of a packed list from its `bytes`, up to the first malformed or
    /// incomplete one. Returns the number of bytes consumed; 0 also if there is no memory for all.
    ///
    /// # Safety
    /// The list holds cells of such numbers.
    #[inline]
    pub(crate) unsafe fn append_packed(
        &mut self,
        arena: &mut Arena,
        numbers: Numbers,
        bytes: &[u8],
    ) -> usize {
        let count = numbers.count(bytes);
        let (old, cell_bytes) = (self.len as usize, numbers.cell_bytes());
        if count > (self.capacity - self.len) as usize {
            // A list that grows repeatedly grows by at least half.
            let least = old + old / 2 * usize::from(old > 0);
            let Ok(capacity) = u32::try_from((old + count).max(least)) else { return 0 };
            if self.reserve_exact(arena, cell_bytes, capacity).is_none() {
                return 0;
            }
        }
        let to = self.start.wrapping_add(old * cell_bytes as usize);
        // SAFETY: there is room for `count` more cells after the last.
        let (read, written) = unsafe { numbers.read(bytes, to) };
        self.len += written as u32;
        read
    }

    /// As `append_packed`, for a closed enum with the given names: appends nothing and returns 0 if
    /// one of the numbers has no name.
    ///
    /// # Safety
    /// The list holds cells of numbers of enums.
    #[inline]
    pub(crate) unsafe fn append_named(
        &mut self,
        arena: &mut Arena,
        named: &NamedNumbers,
        bytes: &[u8],
    ) -> usize {
        let before = self.len;
        // SAFETY: the caller guarantees that the list holds numbers of enums, which are 32 bits.
        let read = unsafe { self.append_packed(arena, Numbers::Low32, bytes) };
        // SAFETY: the caller guarantees that the list holds numbers of enums.
        let numbers = unsafe { self.values::<i32>() };
        if named.has_all(&numbers[before as usize..]) {
            return read;
        }
        self.len = before;
        0
    }

    /// Appends a value; all values of a list are of one type.
    #[inline]
    pub fn push<T: Copy>(&mut self, arena: &mut Arena, value: T) -> Option<()> {
        if self.len == self.capacity {
            self.grow(arena, size_of::<T>() as u32)?;
        }
        // SAFETY: there is room for one more after the last.
        unsafe { self.start.cast::<T>().add(self.len as usize).write(value) };
        self.len += 1;
        Some(())
    }

    /// The values; all values of a list are of one type.
    ///
    /// # Safety
    /// The list holds `T`s, and lives unchanged for `'m`.
    #[inline]
    pub unsafe fn values<'m, T: Copy>(self) -> &'m [T] {
        // SAFETY: the caller guarantees that it holds `T`s and lives; the start of an empty list is
        // dangling, aligned.
        unsafe { std::slice::from_raw_parts(self.start.cast::<T>(), self.len as usize) }
    }

    /// The values, for writing.
    ///
    /// # Safety
    /// The list holds `T`s, lives for `'m` and is used through nothing else meanwhile.
    #[inline]
    pub unsafe fn values_mut<'m, T: Copy>(self) -> &'m mut [T] {
        // SAFETY: the caller guarantees that it holds `T`s and lives; the start of an empty list is
        // dangling, aligned.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast::<T>(), self.len as usize) }
    }

    /// The slot of an extension in a list of them.
    pub(super) fn extension_slot(self, at: usize) -> Slot {
        debug_assert!(at < self.len as usize);
        let start = self.start.wrapping_add(at * size_of::<Extension>());
        let slot = start.wrapping_add(std::mem::offset_of!(Extension, slot));
        NonNull::new(slot).expect("a list that is not empty is somewhere")
    }
}

/// The parts that few records have.
#[derive(Debug)]
#[repr(C)]
pub struct Extra {
    /// [`View`]s of unknown fields, tag and value, in the order of the input.
    pub unknown: List,
    /// [`Extension`]s ascending by number.
    pub extensions: List,
}

/// A present extension.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Extension {
    /// The index of its [`FieldId`](crate::FieldId).
    pub field: u32,
    /// Its number.
    pub number: u32,
    /// Its slot, with the contents of a slot of such a field from the first byte on.
    pub slot: [u64; 2],
}

/// A slot; the layout of its field gives the type of its contents.
pub type Slot = NonNull<u8>;
