//! Graphs and engines.

#[macro_use]
mod common;

mod compiled;
mod engine;
mod flow;
mod generate;
mod noise;
