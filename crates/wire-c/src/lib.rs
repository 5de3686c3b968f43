//! Schemas and messages for C and languages that can call it; `include/tidemill_wire.h` is the
//! manual.
//!
//! ```text
//! schema --find--> type, field (numbers)        schema --> decoder --> message, events, stream
//!   message --view--> get, list, map, set, sub ... --> encode, JSON, text
//! ```
//! Handles are boxes. The inside of a message is reached by *views*: the address of a record with
//! the *life* number of its tree. A tree that is cleared or refilled gets another life, and the use
//! of old views is an error. Views do not own: they end with their message.
//!
//! **Invariant:** every function is entered through `guard`: a null handle, an unknown number, a
//! stale view or a stream used from its own callback is an error, and no panic leaves.
//! **Invariant:** it adds no semantics to those of `tidemill-wire`.
//!
//! | part | holds |
//! |---|---|
//! | `guard` | the boundary: panics, arguments, strings, buffers |
//! | `handle`, `ids` | values that C holds by address; types and fields by number |
//! | `error` | errors as handles |
//! | `schema`, `decoder` | definitions; decoders and whole messages |
//! | `value`, `view` | values; messages in a tree |
//! | `read`, `change` | reading and changing |
//! | `write` | messages to and from bytes, JSON and text |
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
