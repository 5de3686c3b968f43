//! Graphs and engines.

#[macro_use]
mod common;

mod compiled;
mod engine;
mod flow;
mod generate;
#[path = "../../../tests/support/mutate.rs"]
mod mutate;
mod noise;
