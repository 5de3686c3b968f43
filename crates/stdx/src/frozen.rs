//! Immutable graphs, cyclic or not, that are shared and freed exactly.
//!
//! Schemas, types and plans refer to each other in circles, are read by many threads, and are
//! replaced while old users still hold on to them. Counting each node leaks every circle. Here each
//! *strongly connected component* has one count: within it all live as long as one.
//!
//! ```text
//!   handle ----.        handle
//!              v           |        A and B refer to each other: one component, one count.
//!   .--------------.       v        Its count is 2: the handle and the handle's clone, say.
//!   |  A <----> B  |---> [ C ]      C has a count of its own, 2: a handle and the edge.
//!   '--------------'                When the first count falls to 0, A and B are freed together
//!                                   and their edge gives back its count on C.
//! ```
//!
//! Nodes are put together with a [`Builder`]; [`freeze`](Builder::freeze) makes them immutable and
//! hands out a [`Frozen`] per node. A node's value names its neighbours by the position of the
//! edge: the `n`th edge added from a node is [`Frozen::target`]`(n)`.
//!
//! ```
//! use tidemill_stdx::frozen::Builder;
//!
//! let mut builder = Builder::new();
//! let even = builder.node("even");
//! let odd = builder.node("odd");
//! builder.edge(even, odd);
//! builder.edge(odd, even);
//! let mut nodes = builder.freeze();
//! let odd = nodes.remove(1);
//! drop(nodes);
//! let even = odd.target(0).unwrap();
//! assert_eq!((*odd, *even), ("odd", "even"));
//! assert_eq!(even.target(0).unwrap(), odd.borrow());
//! ```

use crate::scc::{self, Graph};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

crate::id_type! {
    /// A node of a [`Builder`].
    pub struct NodeId, "node";
}

/// A graph that is being put together.
#[derive(Debug)]
pub struct Builder<T> {
    values: Vec<T>,
    edges: Vec<(u32, Target<T>)>,
}

#[derive(Debug)]
enum Target<T> {
    Here(u32),
    Frozen(Frozen<T>),
}

/// A node with its neighbours, inside its component.
struct Node<T> {
    component: NonNull<Component<T>>,
    /// In the order in which the edges were added. Those to other components hold a count there.
    targets: Box<[NonNull<Node<T>>]>,
    value: T,
}

struct Component<T> {
    /// Handles to nodes of this component and edges to them from other components.
    count: AtomicUsize,
    /// Owned; raw because handles point into it.
    nodes: NonNull<[Node<T>]>,
}

/// A counted reference to a frozen node: cheap to clone, sent and shared freely. It keeps its
/// node's component alive, and all that is reachable from there.
pub struct Frozen<T> {
    node: NonNull<Node<T>>,
    owns: PhantomData<Node<T>>,
}

/// A reference to a frozen node that borrows from some [`Frozen`] and counts nothing.
pub struct FrozenRef<'a, T> {
    node: &'a Node<T>,
}

// SAFETY: as for `Arc`: a handle gives shared access to values from any thread (`T: Sync`), and
// the last one drops them wherever it is (`T: Send`). Counts are atomic, the rest is immutable.
unsafe impl<T: Send + Sync> Send for Frozen<T> {}
// SAFETY: as for `Arc`: a shared handle gives shared access to values and can be cloned.
unsafe impl<T: Send + Sync> Sync for Frozen<T> {}
// SAFETY: gives what `&Frozen<T>` gives.
unsafe impl<T: Send + Sync> Send for FrozenRef<'_, T> {}
// SAFETY: gives what `&Frozen<T>` gives.
unsafe impl<T: Send + Sync> Sync for FrozenRef<'_, T> {}

impl<T> Default for Builder<T> {
    fn default() -> Builder<T> {
        Builder::new()
    }
}

impl<T> Builder<T> {
    /// Without nodes.
    pub fn new() -> Builder<T> {
        Builder { values: Vec::new(), edges: Vec::new() }
    }

    /// Without nodes, with room for `nodes` nodes and `edges` edges.
    pub fn with_capacity(nodes: usize, edges: usize) -> Builder<T> {
        Builder { values: Vec::with_capacity(nodes), edges: Vec::with_capacity(edges) }
    }

    /// Adds a node.
    ///
    /// # Panics
    /// At 2^32 - 1 nodes.
    pub fn node(&mut self, value: T) -> NodeId {
        let id = u32::try_from(self.values.len()).expect("fewer than 2^32 nodes");
        self.values.push(value);
        NodeId::new(id)
    }

    /// The value of a node, to change before freezing.
    pub fn value_mut(&mut self, node: NodeId) -> Option<&mut T> {
        self.values.get_mut(node.raw() as usize)
    }

    /// Adds an edge between two nodes.
    ///
    /// # Panics
    /// If one is of another builder and not here.
    pub fn edge(&mut self, from: NodeId, to: NodeId) {
        self.check(from);
        self.check(to);
        self.edges.push((from.raw(), Target::Here(to.raw())));
    }

    /// Adds an edge to a node that is frozen already, of any graph.
    ///
    /// # Panics
    /// If `from` is of another builder and not here.
    pub fn edge_to_frozen(&mut self, from: NodeId, to: Frozen<T>) {
        self.check(from);
        self.edges.push((from.raw(), Target::Frozen(to)));
    }

    fn check(&self, node: NodeId) {
        assert!((node.raw() as usize) < self.values.len(), "{node} is not of this builder");
    }

    /// Makes the graph immutable; the handles are in the order of the nodes.
    pub fn freeze(self) -> Vec<Frozen<T>> {
        let mut here: Vec<(u32, u32)> = Vec::with_capacity(self.edges.len());
        here.extend(self.edges.iter().filter_map(|(from, to)| match to {
            Target::Here(to) => Some((*from, *to)),
            Target::Frozen(_) => None,
        }));
        let found = scc::components(&Graph::new(self.values.len(), &here));
        let nodes = place_nodes(self.values, &found);
        connect(&nodes, self.edges);
        nodes.into_iter().map(|node| Frozen { node, owns: PhantomData }).collect()
    }
}

/// Allocates each component with its nodes, still without edges, and one count for each node's
/// handle. Returns where each node is.
fn place_nodes<T>(mut values: Vec<T>, found: &scc::Components) -> Vec<NonNull<Node<T>>> {
    let mut places = vec![NonNull::dangling(); values.len()];
    // Values may be large, so each is moved once, from where it is to its node.
    let mut left = vec![true; values.len()];
    let first = values.as_ptr();
    // SAFETY: none is fewer than there are. The values are moved out below, or else leaked.
    unsafe { values.set_len(0) };
    let mut value = |id: u32| {
        let there = std::mem::take(&mut left[id as usize]);
        assert!(there, "each node is in one component");
        // SAFETY: `id` was within the length of the vector, which is not freed yet, and `left`
        // shows that this value has not been read before.
        unsafe { first.add(id as usize).read() }
    };
    for members in found.iter() {
        let nodes: Box<[Node<T>]> = members
            .iter()
            .map(|&id| Node {
                component: NonNull::dangling(),
                targets: Box::default(),
                value: value(id),
            })
            .collect();
        let nodes = NonNull::from(Box::leak(nodes));
        let count = AtomicUsize::new(members.len());
        let component = NonNull::from(Box::leak(Box::new(Component { count, nodes })));
        for (index, &id) in members.iter().enumerate() {
            // SAFETY: `nodes` has a node for each member, and nothing else refers to it yet.
            unsafe {
                let node = nodes.cast::<Node<T>>().add(index);
                (*node.as_ptr()).component = component;
                places[id as usize] = node;
            }
        }
    }
    places
}

/// Writes the edges into the nodes, and counts those between components.
fn connect<T>(nodes: &[NonNull<Node<T>>], edges: Vec<(u32, Target<T>)>) {
    let mut counts = vec![0; nodes.len()];
    edges.iter().for_each(|&(from, _)| counts[from as usize] += 1);
    let mut targets: Vec<Vec<NonNull<Node<T>>>> =
        counts.into_iter().map(Vec::with_capacity).collect();
    for (from, to) in edges {
        let target = match to {
            Target::Here(to) => {
                let (from, to) = (nodes[from as usize], nodes[to as usize]);
                // SAFETY: both nodes were placed, and nothing frees them before the handles exist.
                let (from, target) = unsafe { (from.as_ref(), to.as_ref()) };
                if from.component != target.component {
                    target.retain();
                }
                to
            }
            // The handle's count becomes the edge's.
            Target::Frozen(frozen) => frozen.into_raw(),
        };
        targets[from as usize].push(target);
    }
    for (node, targets) in nodes.iter().zip(targets) {
        // SAFETY: the node was placed, and no reference to it is alive here.
        unsafe { (*node.as_ptr()).targets = targets.into() };
    }
}

impl<T> Node<T> {
    fn component(&self) -> &Component<T> {
        // SAFETY: a node that can be seen is in a component that was not freed.
        unsafe { self.component.as_ref() }
    }

    /// Adds to the count of the node's component.
    fn retain(&self) {
        // Relaxed: the caller holds a count or borrows from one, so the component lives; passing
        // the new handle to another thread synchronises by itself (as `Arc` argues).
        let before = self.component().count.fetch_add(1, Ordering::Relaxed);
        if before > isize::MAX as usize {
            // Forgotten handles could wrap the count around; `Arc` ends the process here too.
            std::process::abort();
        }
    }
}

/// Takes one count from a component and frees it, and what it alone held, if that was the last.
///
/// # Safety
/// The caller owns that count and uses it no more.
unsafe fn release<T>(component: NonNull<Component<T>>) {
    // SAFETY: the count that the caller owns keeps the component alive.
    if unsafe { give_back(component) } {
        // SAFETY: the last count is gone, so nothing refers to the component any more.
        unsafe { free(component) }
    }
}

/// Takes one count; true if it was the last.
///
/// # Safety
/// As for `release`; if true, the caller must free the component.
unsafe fn give_back<T>(component: NonNull<Component<T>>) -> bool {
    // SAFETY: alive by the count that is given back.
    let count = unsafe { &component.as_ref().count };
    // Release: pairs with the acquire fence of the thread that takes the last count, so that all
    // uses through this count come before it.
    if count.fetch_sub(1, Ordering::Release) != 1 {
        return false;
    }
    // Acquire: pairs with the release decrements of all others.
    fence(Ordering::Acquire);
    true
}

/// Frees a component of count zero; those whose count falls to zero by that follow in a loop, so
/// that a long chain of components needs no stack.
///
/// # Safety
/// The count is zero, and the caller took the last one.
#[cold]
unsafe fn free<T>(component: NonNull<Component<T>>) {
    let mut doomed = vec![component];
    while let Some(component) = doomed.pop() {
        // SAFETY: the component lives until its box is dropped below.
        let nodes = unsafe { component.as_ref() }.nodes;
        // Shared, as edges inside the component lead to the same nodes.
        // SAFETY: likewise.
        for target in unsafe { nodes.as_ref() }.iter().flat_map(|node| &node.targets) {
            // SAFETY: nodes of this component live until their box is dropped; those of others
            // live by the count of the edge.
            let target_component = unsafe { target.as_ref() }.component;
            // SAFETY: the edge owned that count.
            if target_component != component && unsafe { give_back(target_component) } {
                doomed.push(target_component);
            }
        }
        // SAFETY: made by `Box::leak` in `place_nodes`; the count is zero, so no handle or edge
        // from outside points into it, and each component comes to zero, and here, once.
        drop(unsafe { (Box::from_raw(component.as_ptr()), Box::from_raw(nodes.as_ptr())) });
    }
}

impl<T> Frozen<T> {
    /// The neighbour at the end of the `n`th edge that was added from this node.
    #[inline]
    pub fn target(&self, n: usize) -> Option<FrozenRef<'_, T>> {
        self.borrow().target(n)
    }

    /// All neighbours, in the order of the edges.
    pub fn targets(&self) -> impl ExactSizeIterator<Item = FrozenRef<'_, T>> {
        self.borrow().targets()
    }

    /// The same node, without a count.
    #[inline]
    pub fn borrow(&self) -> FrozenRef<'_, T> {
        FrozenRef { node: self.node() }
    }

    #[inline]
    fn node(&self) -> &Node<T> {
        // SAFETY: the count of this handle keeps the node's component alive.
        unsafe { self.node.as_ref() }
    }

    /// The node, together with the count that the handle owned.
    fn into_raw(self) -> NonNull<Node<T>> {
        std::mem::ManuallyDrop::new(self).node
    }
}

impl<'a, T> FrozenRef<'a, T> {
    /// The neighbour at the end of the `n`th edge that was added from this node.
    #[inline]
    pub fn target(self, n: usize) -> Option<FrozenRef<'a, T>> {
        // SAFETY: the component, alive for `'a`, keeps alive what its edges point to.
        self.node.targets.get(n).map(|target| FrozenRef { node: unsafe { target.as_ref() } })
    }

    /// All neighbours, in the order of the edges.
    pub fn targets(self) -> impl ExactSizeIterator<Item = FrozenRef<'a, T>> {
        // SAFETY: as in `target`.
        self.node.targets.iter().map(|target| FrozenRef { node: unsafe { target.as_ref() } })
    }

    /// The value, for the lifetime of the borrowed handle.
    #[inline]
    pub fn value(self) -> &'a T {
        &self.node.value
    }

    /// A handle of its own to the same node.
    pub fn to_frozen(self) -> Frozen<T> {
        self.node.retain();
        Frozen { node: NonNull::from(self.node), owns: PhantomData }
    }

    /// True if both are in one component, so that one keeps the other alive.
    pub fn shares_count(self, other: FrozenRef<'_, T>) -> bool {
        self.node.component == other.node.component
    }
}

impl<T> Clone for Frozen<T> {
    #[inline]
    fn clone(&self) -> Frozen<T> {
        self.borrow().to_frozen()
    }
}

impl<T> Drop for Frozen<T> {
    #[inline]
    fn drop(&mut self) {
        let component = self.node().component;
        // SAFETY: this handle owned a count, and is gone.
        unsafe { release(component) }
    }
}

impl<T> Deref for Frozen<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.node().value
    }
}

impl<T> Clone for FrozenRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for FrozenRef<'_, T> {}

impl<T> Deref for FrozenRef<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.node.value
    }
}

/// Equal if it is the same node.
impl<T> PartialEq for Frozen<T> {
    fn eq(&self, other: &Frozen<T>) -> bool {
        self.node == other.node
    }
}

impl<T> Eq for Frozen<T> {}

/// Equal if it is the same node.
impl<T> PartialEq for FrozenRef<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.node, other.node)
    }
}

impl<T> Eq for FrozenRef<'_, T> {}

/// The value only: the graph may be cyclic.
impl<T: fmt::Debug> fmt::Debug for Frozen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Frozen").field(&**self).finish()
    }
}

/// The value only: the graph may be cyclic.
impl<T: fmt::Debug> fmt::Debug for FrozenRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FrozenRef").field(&**self).finish()
    }
}

#[cfg(test)]
mod tests;
