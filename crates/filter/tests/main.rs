//! Packet filters: graphs, verdicts, and what is read beyond no packet.

mod common;
mod edge;
mod graphs;
#[path = "../../../tests/support/mutate.rs"]
mod mutate;
mod noise;
mod random;
mod verdicts;
