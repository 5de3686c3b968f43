//! Graphs and engines.

#[macro_use]
mod common;

mod compiled;
mod defined;
mod engine;
mod flow;
mod generate;
mod headers;
mod noise;
