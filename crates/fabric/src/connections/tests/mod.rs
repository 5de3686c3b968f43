//! Attacks on connections, and what members of a fleet get in spite of them.

use crate as fabric;

mod attacks;
mod delivery;
#[allow(dead_code, reason = "parts of it serve the fuzz target `connections` alone")]
mod net;
