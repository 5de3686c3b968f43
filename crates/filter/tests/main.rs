//! Packet filters: graphs, verdicts, and that no read passes a packet's end.

mod classic;
mod common;
mod edge;
mod graphs;
mod noise;
mod random;
mod rules;
mod verdicts;
