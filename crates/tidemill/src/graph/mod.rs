//! A program as one graph of events, tables, rules, components and apps.
//!
//! ```text
//! timer ──> rule ──> event ══> (another node)
//!            ^ ┊
//!     table ─┘ └┄┄> table
//! ```
//! For rules the graph has relations, rules, operators of stages, and a timer node for each rule
//! with a periodic. For components it shows which makes which, and the interfaces that each offers
//! and requires; for packets the apps and their links. Further edges connect the parts at their
//! borders (`borders`, `by_name`). A [`Graph`] is drawn as text, as DOT, as Mermaid, or as SVG
//! ([`svg`]).

mod borders;
mod by_name;
mod components;
mod forms;
mod layout;
mod model;
mod packets;
mod rules;
pub mod svg;
mod whole;

pub use borders::drawing;
pub use components::components;
#[cfg(test)]
pub(crate) use components::tests::GREETING;
pub use forms::{dot, mermaid, text};
pub use model::{Edge, EdgeKind, Graph, Node, NodeKind};
pub use packets::packets;
pub use rules::rules;
