//! Numbers of components: small, reused, told apart by generations.
//!
//! Whoever refers to a component that it does not own (a connection, a list) keeps its id and
//! asks the table: an id of a component that is gone finds nothing.

use crate::handle::ComponentRef;
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

#[derive(Copy, Clone)]
struct Place {
    component: ComponentRef,
    /// Of the component here, or of the next one; from 1.
    generation: u32,
    /// The next free number.
    next: u32,
}

const NONE: u32 = u32::MAX;
const CHUNK: usize = 1024;

/// All components, in chunks that do not move.
pub(crate) struct Table {
    chunks: Vec<Box<[Place; CHUNK]>>,
    free: u32,
    used: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table { chunks: Vec::new(), free: NONE, used: 0 }
    }
}

impl Table {
    fn place(&mut self, number: usize) -> Option<&mut Place> {
        self.chunks.get_mut(number / CHUNK).map(|chunk| &mut chunk[number % CHUNK])
    }

    /// Gives a component its number and generation.
    pub(crate) fn insert(
        &mut self,
        memory: &mut Memory,
        component: ComponentRef,
    ) -> Result<(), OutOfMemory> {
        let number = if self.free == NONE { self.extend(memory)? } else { self.free };
        let fresh = self.free == NONE;
        let Some(place) = self.place(number as usize) else { return Err(OutOfMemory) };
        place.component = component;
        component.set_number(number);
        component.set_generation(place.generation);
        let next = place.next;
        if !fresh {
            self.free = next;
        }
        Ok(())
    }

    /// A number that was never used.
    fn extend(&mut self, memory: &mut Memory) -> Result<u32, OutOfMemory> {
        if self.used == self.chunks.len() * CHUNK {
            memory.hold(size_of::<[Place; CHUNK]>())?;
            let place = Place { component: ComponentRef::NULL, generation: 1, next: NONE };
            self.chunks.push(Box::new([place; CHUNK]));
        }
        let number = u32::try_from(self.used).map_err(|_| OutOfMemory)?;
        self.used += 1;
        Ok(number)
    }

    /// Takes a component's number back.
    pub(crate) fn remove(&mut self, component: ComponentRef) {
        let (number, free) = (component.number(), self.free);
        if let Some(place) = self.place(number as usize) {
            place.component = ComponentRef::NULL;
            place.generation = place.generation.wrapping_add(1).max(1);
            place.next = free;
            self.free = number;
        }
    }

    /// The component of an id, if it still exists.
    pub(crate) fn get(&self, id: ComponentId) -> Option<ComponentRef> {
        let chunk = self.chunks.get(id.number() / CHUNK)?;
        let place = &chunk[id.number() % CHUNK];
        if place.generation == id.generation() { place.component.some() } else { None }
    }

    /// The component that has a number now.
    pub(crate) fn at(&self, number: u32) -> Option<ComponentRef> {
        let place = &self.chunks.get(number as usize / CHUNK)?[number as usize % CHUNK];
        place.component.some()
    }

    /// All that exist, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ComponentRef> {
        let used = self.chunks.iter().flat_map(|chunk| chunk.iter()).take(self.used);
        used.filter_map(|place| place.component.some())
    }
}
