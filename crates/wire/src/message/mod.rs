//! Messages in memory.
//!
//! All of a message's tree is in one [`Arena`]: records with their fields at fixed places, see
//! [`layout`].

pub mod arena;
pub mod layout;
pub mod map;
pub mod record;

pub use arena::Arena;
pub use layout::{Cell, FieldLayout, Layouts, RecordLayout, Shape};
