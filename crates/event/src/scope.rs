//! Scopes: the parts of a world.
//!
//! A world may hold many things of one kind, such as the nodes of a simulation, each with engines
//! of its own. Owners, timers and watches belong to the scope that they were made in, and so do the
//! events that they queue. Before a closure of another scope than the last one's runs, the loop
//! switches the world to that part: the closures themselves need not know which it is.
//!
//! ```text
//! within(world, s, |..| { owner, timer, watch })    all of them are of scope s
//! ...
//! the timer is due -> switch(world, s) -> true:  its closure runs
//!                                      -> false: s has ended, and the timer goes
//! ```

/// A part of the world.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scope(pub u32);

impl Scope {
    /// Outside of all parts: the scope in which a loop begins.
    pub const LOOP: Scope = Scope(0);
}

/// Switches a world to a scope; false if that has ended.
pub(crate) type Switch<W> = fn(&mut W, Scope) -> bool;
