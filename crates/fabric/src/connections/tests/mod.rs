//! Attacks on connections, and what members of a fleet get in spite of them.

mod attacks;
mod delivery;
mod net;
