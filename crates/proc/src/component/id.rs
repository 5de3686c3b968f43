//! Numbers of components: small, reused, distinguished by generations.
//!
//! Whatever refers to a component without owning it (a connection, a list) keeps its id and looks
//! it up in the table: the id of a released component finds nothing.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use crate::handle::ComponentRef;
use crate::layout::Component;
use crate::memory::{Memory, OutOfMemory};

/// Names a component for as long as the run lasts.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ComponentId(u64);

impl ComponentId {
    /// No component.
    pub const NONE: ComponentId = ComponentId(0);

    pub(crate) fn new(number: u32, generation: u32) -> ComponentId {
        ComponentId(u64::from(generation) << 32 | u64::from(number))
    }

    /// As slots have it.
    pub fn raw(self) -> u64 {
        self.0
    }

    pub(crate) fn from_raw(raw: u64) -> ComponentId {
        ComponentId(raw)
    }

    fn number(self) -> usize {
        self.0 as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A range of the table, in two arrays, as entries of 12 bytes would be padded to 16. Atomic, as
/// other loops read it at any time: what they find may be stale, but then it is about a component
/// of another loop.
struct Chunk {
    /// Of each number the component; of a free one the next free number, doubled and odd, which
    /// no address is.
    components: [AtomicPtr<Component>; CHUNK],
    /// Of the component that has the number, or of the next one; from 1.
    generations: [AtomicU32; CHUNK],
}

/// A number's place in its chunk.
struct Entry<'a> {
    component: &'a AtomicPtr<Component>,
    generation: &'a AtomicU32,
}

impl Entry<'_> {
    /// The component that has the number now.
    #[inline(always)]
    fn component(&self) -> ComponentRef {
        // Acquire, with the release in `insert`.
        let known = self.component.load(Acquire);
        if known.addr() & 1 == 0 { ComponentRef(known) } else { ComponentRef::NULL }
    }

    fn next_free(&self) -> u32 {
        (self.component.load(Relaxed).addr() >> 1) as u32
    }

    /// Relaxed: old ids find another generation, or nothing.
    fn set_next_free(&self, next: u32) {
        let odd = std::ptr::without_provenance_mut((next as usize) << 1 | 1);
        self.component.store(odd, Relaxed);
    }
}

const NONE: u32 = u32::MAX;
const CHUNK: usize = 1024;

type Chunks = Vec<Box<Chunk>>;

/// The chunks that tables of several workers share.
#[derive(Default)]
struct Shared(UnsafeCell<Chunks>);

// SAFETY: the list changes only while its writer is alone, see `Table`; places are atomic.
unsafe impl Sync for Shared {}
// SAFETY: it owns its chunks, whose places are atomic and hold addresses as numbers.
unsafe impl Send for Shared {}

/// All components, in chunks that do not move. Workers of several loops share the chunks, which
/// are added under exclusive access only, and have free numbers each.
pub(crate) struct Table {
    chunks: Arc<Shared>,
    free: u32,
    /// Numbers of the worker's last chunk that were never used.
    fresh: std::ops::Range<usize>,
}

impl Default for Table {
    fn default() -> Table {
        Table { chunks: Arc::default(), free: NONE, fresh: 0..0 }
    }
}

impl Table {
    /// A table of the same components for another worker.
    pub(crate) fn beside(&self) -> Table {
        Table { chunks: self.chunks.clone(), free: NONE, fresh: 0..0 }
    }

    #[inline(always)]
    fn chunks(&self) -> &Chunks {
        // SAFETY: the list changes only in `extend`, which runs while nothing else reads it.
        unsafe { &*self.chunks.0.get() }
    }

    #[inline(always)]
    fn place(&self, number: usize) -> Option<Entry<'_>> {
        let (chunk, at) = (self.chunks().get(number / CHUNK)?, number % CHUNK);
        Some(Entry { component: &chunk.components[at], generation: &chunk.generations[at] })
    }

    /// Whether the next component needs another chunk: for that the worker has to be alone.
    pub(crate) fn is_full(&self) -> bool {
        self.free == NONE && self.fresh.is_empty()
    }

    /// Gives a component its number and generation.
    pub(crate) fn insert(
        &mut self,
        memory: &mut Memory,
        component: ComponentRef,
    ) -> Result<(), OutOfMemory> {
        let fresh = self.free == NONE;
        let number = if fresh { self.extend(memory)? } else { self.free };
        let Some(place) = self.place(number as usize) else { return Err(OutOfMemory) };
        component.set_number(number);
        component.set_generation(place.generation.load(Relaxed));
        let next = place.next_free();
        // Release, with the acquire in `component`: the component's type and number are there.
        place.component.store(component.0, Release);
        if !fresh {
            self.free = next;
        }
        Ok(())
    }

    /// A number that was never used.
    fn extend(&mut self, memory: &mut Memory) -> Result<u32, OutOfMemory> {
        if self.fresh.is_empty() {
            memory.hold(size_of::<Chunk>())?;
            // SAFETY: one loop, or this worker has exclusive access.
            let chunks = unsafe { &mut *self.chunks.0.get() };
            chunks.push(Box::new(Chunk {
                components: std::array::from_fn(|_| AtomicPtr::default()),
                generations: std::array::from_fn(|_| AtomicU32::new(1)),
            }));
            self.fresh = (chunks.len() - 1) * CHUNK..chunks.len() * CHUNK;
        }
        let number = self.fresh.next().ok_or(OutOfMemory)?;
        u32::try_from(number).map_err(|_| OutOfMemory)
    }

    /// Takes a component's number back.
    pub(crate) fn remove(&mut self, component: ComponentRef) {
        let (number, free) = (component.number(), self.free);
        if let Some(place) = self.place(number as usize) {
            let generation = place.generation.load(Relaxed).wrapping_add(1).max(1);
            place.set_next_free(free);
            place.generation.store(generation, Relaxed);
            self.free = number;
        }
    }

    /// The component of an id, if it still exists.
    #[inline]
    pub(crate) fn get(&self, id: ComponentId) -> Option<ComponentRef> {
        let place = self.place(id.number())?;
        let component = place.component();
        let same = place.generation.load(Relaxed) == id.generation();
        if same { component.some() } else { None }
    }

    /// The component that has a number now.
    pub(crate) fn at(&self, number: u32) -> Option<ComponentRef> {
        let place = self.place(number as usize)?;
        place.component().some()
    }

    /// All that exist, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ComponentRef> {
        self.iter_from(0)
    }

    /// The same, from a number on.
    pub(crate) fn iter_from(&self, first: u32) -> impl Iterator<Item = ComponentRef> {
        let numbers = first as usize..self.chunks().len() * CHUNK;
        numbers.filter_map(|number| self.place(number)?.component().some())
    }
}
