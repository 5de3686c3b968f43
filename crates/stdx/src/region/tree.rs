//! Regions inside regions.

use super::Full;
use super::arena::{Growth, Region};
use super::handle::{Handle, Slice, Text};
use super::plain::Plain;
use std::fmt;

/// A region of [`Regions`]. Never names another one, even after its own is freed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegionId {
    index: u32,
    generation: u32,
}

/// Why [`Regions`] could not do as asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionError {
    /// The region was freed.
    Gone,
    /// The region, or one around it, is at its limit.
    Full(Full),
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionError::Gone => f.write_str("region was freed"),
            RegionError::Full(full) => full.fmt(f),
        }
    }
}

impl std::error::Error for RegionError {}

impl From<Full> for RegionError {
    fn from(full: Full) -> RegionError {
        RegionError::Full(full)
    }
}

/// A forest of regions: freeing one frees all inside it.
///
/// Each limit covers a region with everything inside it. Storing a value touches only its own
/// region; the regions around it are looked at when it takes another chunk.
///
/// ```
/// use tidemill_stdx::region::Regions;
///
/// let mut regions = Regions::new();
/// let component = regions.create(None, 1 << 20)?;
/// let part = regions.create(Some(component), usize::MAX)?;
/// let name = regions.alloc_str(part, "lexer")?;
/// assert_eq!(&regions.get(part).unwrap()[name], "lexer");
/// regions.free(component);
/// assert!(regions.get(part).is_none());
/// assert_eq!(regions.held_bytes(), 0);
/// # Ok::<(), tidemill_stdx::region::RegionError>(())
/// ```
#[derive(Default)]
pub struct Regions {
    nodes: Vec<Node>,
    /// Indexes of `nodes` that are free.
    free: Vec<u32>,
}

/// A region and its place in the tree; links are indexes into `nodes`.
struct Node {
    generation: u32,
    /// `None` in a free node.
    region: Option<Region>,
    /// Bytes held by the region and all inside it, and their limit.
    within_bytes: usize,
    limit_bytes: usize,
    parent: Option<u32>,
    first_child: Option<u32>,
    previous: Option<u32>,
    next: Option<u32>,
}

impl Regions {
    /// No regions.
    pub fn new() -> Regions {
        Regions::default()
    }

    /// A new region inside `parent`, or one of its own; it and all inside it may hold
    /// `limit_bytes`.
    ///
    /// # Errors
    /// [`RegionError::Gone`] if the parent was freed.
    ///
    /// # Panics
    /// At 2^32 regions at once.
    pub fn create(
        &mut self,
        parent: Option<RegionId>,
        limit_bytes: usize,
    ) -> Result<RegionId, RegionError> {
        let parent = parent.map(|id| self.check(id).map(|()| id.index)).transpose()?;
        let index = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(Node::free());
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 regions")
        });
        let next = parent.and_then(|parent| self.node(parent).first_child);
        let node = self.node_mut(index);
        let generation = node.generation;
        *node = Node { region: Some(Region::new()), limit_bytes, parent, next, ..Node::free() };
        node.generation = generation;
        if let Some(next) = next {
            self.node_mut(next).previous = Some(index);
        }
        if let Some(parent) = parent {
            self.node_mut(parent).first_child = Some(index);
        }
        Ok(RegionId { index, generation })
    }

    /// Frees a region and all inside it; false if that happened before.
    pub fn free(&mut self, id: RegionId) -> bool {
        if self.check(id).is_err() {
            return false;
        }
        self.unlink(id.index);
        let mut doomed = vec![id.index];
        while let Some(index) = doomed.pop() {
            let mut child = self.node(index).first_child;
            while let Some(each) = child {
                doomed.push(each);
                child = self.node(each).next;
            }
            let generation = self.node(index).generation.wrapping_add(1);
            *self.node_mut(index) = Node { generation, ..Node::free() };
            self.free.push(index);
        }
        true
    }

    /// A region to read.
    #[inline]
    pub fn get(&self, id: RegionId) -> Option<&Region> {
        let node = self.nodes.get(id.index as usize)?;
        node.region.as_ref().filter(|_| node.generation == id.generation)
    }

    /// A value to change; `None` if the region was freed or has no such value.
    #[inline]
    pub fn get_mut<T: Plain>(&mut self, id: RegionId, handle: Handle<T>) -> Option<&mut T> {
        self.region_mut(id).ok()?.get_mut(handle)
    }

    /// Values to change; `None` if the region was freed or has no such values.
    #[inline]
    pub fn slice_mut<T: Plain>(&mut self, id: RegionId, slice: Slice<T>) -> Option<&mut [T]> {
        self.region_mut(id).ok()?.slice_mut(slice)
    }

    /// Stores a value.
    ///
    /// # Errors
    /// If the region was freed, or it or one around it is full.
    #[inline]
    pub fn alloc<T: Plain>(&mut self, id: RegionId, value: T) -> Result<Handle<T>, RegionError> {
        self.make_room(id, size_of::<T>())?;
        Ok(self.region_mut(id)?.alloc(value)?)
    }

    /// Stores a copy of `values`.
    ///
    /// # Errors
    /// If the region was freed, or it or one around it is full.
    #[inline]
    pub fn alloc_slice<T: Plain>(
        &mut self,
        id: RegionId,
        values: &[T],
    ) -> Result<Slice<T>, RegionError> {
        self.make_room(id, size_of_val(values))?;
        Ok(self.region_mut(id)?.alloc_slice(values)?)
    }

    /// Stores a copy of `text`.
    ///
    /// # Errors
    /// If the region was freed, or it or one around it is full.
    pub fn alloc_str(&mut self, id: RegionId, text: &str) -> Result<Text, RegionError> {
        self.make_room(id, text.len())?;
        Ok(self.region_mut(id)?.alloc_str(text)?)
    }

    /// Bytes held by a region and all inside it.
    pub fn within_bytes(&self, id: RegionId) -> Option<usize> {
        self.check(id).ok()?;
        Some(self.node(id.index).within_bytes)
    }

    /// Bytes held by all regions.
    pub fn held_bytes(&self) -> usize {
        let roots = self.nodes.iter().filter(|node| node.parent.is_none());
        roots.map(|node| node.within_bytes).sum()
    }

    /// How many regions there are.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// True without regions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn make_room(&mut self, id: RegionId, bytes: usize) -> Result<(), RegionError> {
        let region = self.region_mut(id)?;
        if region.has_room(bytes) {
            return Ok(());
        }
        let Growth { chunk, bytes: growth_bytes } = region.growth(bytes)?;
        self.charge(id.index, growth_bytes)?;
        self.region_mut(id)?.grow(chunk);
        Ok(())
    }

    /// Adds held bytes to a node and all around it, or to none if one has no room.
    fn charge(&mut self, index: u32, bytes: usize) -> Result<(), Full> {
        let mut at = Some(index);
        while let Some(index) = at {
            let Node { within_bytes, limit_bytes, parent, .. } = *self.node(index);
            let needed_bytes = within_bytes.saturating_add(bytes);
            if needed_bytes > limit_bytes {
                return Err(Full { limit_bytes, needed_bytes });
            }
            at = parent;
        }
        let mut at = Some(index);
        while let Some(index) = at {
            let node = self.node_mut(index);
            node.within_bytes += bytes;
            at = node.parent;
        }
        Ok(())
    }

    /// Takes a node and its bytes out of the nodes around it.
    fn unlink(&mut self, index: u32) {
        let Node { within_bytes, parent, previous, next, .. } = *self.node(index);
        if let Some(next) = next {
            self.node_mut(next).previous = previous;
        }
        match (previous, parent) {
            (Some(previous), _) => self.node_mut(previous).next = next,
            (None, Some(parent)) => self.node_mut(parent).first_child = next,
            (None, None) => {}
        }
        let mut at = parent;
        while let Some(index) = at {
            let node = self.node_mut(index);
            node.within_bytes -= within_bytes;
            at = node.parent;
        }
    }

    fn check(&self, id: RegionId) -> Result<(), RegionError> {
        self.get(id).map(|_| ()).ok_or(RegionError::Gone)
    }

    #[inline]
    fn region_mut(&mut self, id: RegionId) -> Result<&mut Region, RegionError> {
        let node = self.nodes.get_mut(id.index as usize).ok_or(RegionError::Gone)?;
        let same = node.generation == id.generation;
        node.region.as_mut().filter(|_| same).ok_or(RegionError::Gone)
    }

    fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    fn node_mut(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index as usize]
    }
}

impl Node {
    fn free() -> Node {
        Node {
            generation: 0,
            region: None,
            within_bytes: 0,
            limit_bytes: 0,
            parent: None,
            first_child: None,
            previous: None,
            next: None,
        }
    }
}

impl fmt::Debug for Regions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Regions")
            .field("len", &self.len())
            .field("held_bytes", &self.held_bytes())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: usize = usize::MAX;

    #[test]
    fn freeing_a_region_frees_all_inside_and_nothing_else() {
        let mut regions = Regions::new();
        let root = regions.create(None, ANY).unwrap();
        let mut inside = vec![regions.create(Some(root), ANY).unwrap()];
        let beside = regions.create(Some(root), ANY).unwrap();
        for i in 0..1000 {
            inside.push(regions.create(Some(inside[i]), ANY).unwrap());
            regions.create(Some(inside[i]), ANY).unwrap();
        }
        for &id in inside.iter().chain([&beside]) {
            regions.alloc(id, 1u64).unwrap();
        }
        assert_eq!(regions.within_bytes(root), Some(1002 * 512));
        assert!(regions.free(inside[0]));
        assert!(!regions.free(inside[0]));
        assert!(inside.iter().all(|&id| regions.get(id).is_none()));
        assert_eq!(regions.len(), 2);
        assert_eq!(regions.within_bytes(root), Some(512));
        assert_eq!(regions.alloc(inside[5], 1u8), Err(RegionError::Gone));
        assert_eq!(regions.create(Some(inside[5]), ANY), Err(RegionError::Gone));
        // The places are used again, under other names.
        let again = regions.create(None, ANY).unwrap();
        assert!(!inside.contains(&again));
        assert!(regions.free(root) && regions.free(again));
        assert_eq!((regions.len(), regions.held_bytes()), (0, 0));
    }

    #[test]
    fn siblings_can_be_freed_in_any_order() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0], [0, 2, 1], [2, 0, 1]] {
            let mut regions = Regions::new();
            let root = regions.create(None, ANY).unwrap();
            let children = [(); 3].map(|()| regions.create(Some(root), ANY).unwrap());
            for &child in &children {
                regions.alloc(child, 1u8).unwrap();
            }
            for (freed, at) in order.into_iter().enumerate() {
                assert_eq!(regions.within_bytes(root), Some((3 - freed) * 512));
                assert!(regions.free(children[at]));
            }
            assert_eq!(regions.within_bytes(root), Some(0));
            let last = regions.create(Some(root), ANY).unwrap();
            regions.free(root);
            assert!(regions.get(last).is_none());
        }
    }

    #[test]
    fn a_limit_covers_all_inside() {
        let mut regions = Regions::new();
        let root = regions.create(None, 1024).unwrap();
        let [a, b, c] = [(); 3].map(|()| regions.create(Some(root), ANY).unwrap());
        let first = regions.alloc(a, 1u64).unwrap();
        regions.alloc(b, 2u64).unwrap();
        let full = Full { limit_bytes: 1024, needed_bytes: 1536 };
        assert_eq!(regions.alloc(c, 3u64), Err(RegionError::Full(full)));
        assert_eq!(regions.within_bytes(c), Some(0));
        *regions.get_mut(a, first).unwrap() += 10;
        assert_eq!(regions.get(a).unwrap()[first], 11);
        regions.free(b);
        assert!(regions.alloc(c, 3u64).is_ok());
    }
}
