//! A program as one picture: what starts, reads, makes and feeds what.
//!
//! ```text
//! timer ──> rule ──> event ══> (another node)
//!            ^ ┊
//!     table ─┘ └┄┄> table
//! ```
//! Of rules the graph has relations, rules, operators of stages, and periodics, which are nodes of
//! their own, one for each rule that has one. Of components it shows which makes which, and which
//! interfaces each offers and requires; of packets the apps and their links. Where the parts reach
//! each other, edges go from one to the other (`borders`). A [`Graph`] is drawn as text, as DOT,
//! as Mermaid, or as SVG ([`svg`]).

mod borders;
mod components;
mod forms;
mod layout;
mod model;
mod packets;
mod rules;
pub mod svg;

pub use borders::drawing;
pub use components::components;
#[cfg(test)]
pub(crate) use components::tests::GREETING;
pub use forms::{dot, mermaid, text};
pub use model::{Edge, EdgeKind, Graph, Node, NodeKind};
pub use packets::packets;
pub use rules::rules;
