//! Packet filters: graphs, verdicts, and what is read beyond no packet.

mod common;
mod edge;
mod graphs;
mod noise;
mod random;
mod rules;
mod verdicts;
