//! Apps that a file defines: `app Name(config) { ... }`.
//!
//! A definition is checked and lowered in one pass, by which it becomes a kernel
//! ([`crate::kernel`]) or a list of errors. Which errors there are does not depend on the config:
//! its values are words of the kernel, and only `const` keys are constants. So what was correct
//! when the file was loaded can be lowered for each app. `docs/book/kernels.md` has the grammar and
//! the rules.
//!
//! | part | does |
//! |---|---|
//! | [`ast`] | the tree |
//! | `address` | addresses in texts |
//! | [`headers`] | the fields of headers |
//! | `lower`, `statements`, `expressions` | from the tree to a kernel |
//! | `wide` | addresses of IPv6 in expressions |
//! | `functions` | functions of a program, inlined |
//! | `names` | the meaning of names |
//! | `locate` | finds headers in a packet |
//! | `tables` | declares tables, looks keys up, changes entries |
//! | `config` | keys, and what is computed of them |
//! | `meters` | token buckets |
//! | `declared` | headers that a program declares |
//! | `tunnels` | those that every program has |
//! | `reshape` | takes headers off and puts some on |
//! | `assign` | changes fields, and checksums by difference |
//! | [`app`] | a definition as an app type |

pub(super) mod address;
pub mod app;
mod assign;
pub mod ast;
mod config;
mod declared;
mod expressions;
mod functions;
pub mod headers;
mod locate;
pub mod lower;
mod meters;
mod names;
mod reshape;
mod statements;
mod tables;
mod tunnels;
mod wide;
