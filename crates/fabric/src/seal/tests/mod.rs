//! Guards over a network that loses, doubles, delays and reorders, and attackers who have no key.
//!
//! Each module is one kind of attack; [`world`] is what they happen in.

mod claims;
mod delivery;
mod forgery;
mod strangers;
mod world;
