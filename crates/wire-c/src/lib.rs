//! Schemas and messages for C and all that can call it; `include/tidemill_wire.h` is the manual.
//!
//! ```text
//! schema --find--> type, field (numbers)        schema --> decoder --> message, events, stream
//!   message --view--> get, list, map, set, sub ... --> encode, JSON, text
//! ```
//! Handles are boxes. What is inside a message is reached by *views*: the address of its record
//! with the *life* of the tree that it was taken in; a tree that was cleared or filled anew has
//! another life, and its old views end in errors. Views do not own: they end with their
//! message.
//!
//! **Invariant:** every function is entered through `guard`: a null handle, a number that nothing
//! has, a stale view or a stream used from its own callback is an error, and no panic leaves.
//! **Invariant:** it adds no meaning to what `tidemill-wire` does.
//!
//! | part | holds |
//! |---|---|
//! | `guard` | the border: panics, arguments, strings, buffers |
//! | `handle`, `ids` | values that C holds by address; types and fields by number |
//! | `error` | errors as handles |
//! | `schema`, `decoder` | definitions; decoders and whole messages |
//! | `value`, `view` | values; messages in a tree |
//! | `read`, `change` | reading and changing |
//! | `write` | bytes, JSON and text out of messages and into them |
//! | `events` | decoding event by event, whole and in pieces |

mod change;
mod decoder;
mod error;
mod events;
mod guard;
mod handle;
#[cfg(test)]
mod header;
mod ids;
mod read;
mod schema;
mod value;
mod view;
mod write;
