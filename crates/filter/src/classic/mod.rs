//! Filters as classic BPF: what sockets take to drop packets before they are copied.
//!
//! The kernel gives such a program the packet as it is in its buffer, without an outer VLAN tag:
//! that is beside it. So a packet with such a tag passes, and the whole filter has to see it again.
//!
//! ```text
//!   (000) ldb      #vlanp             a tag beside the packet: it passes
//!   (001) jeq      #0, 0, 4
//!   (002) ld       #pktlen            "ip"
//!   (003) jge      #14, 0, 3
//!   (004) ldh      [12]
//!   (005) jeq      #2048, 0, 1
//!   (006) ret      #4294967295
//!   (007) ret      #0
//! ```

pub mod code;
mod instruction;
mod layout;
mod write;

pub use instruction::{Instruction, LENGTH_MAX};
pub use write::{Unsupported, program};
