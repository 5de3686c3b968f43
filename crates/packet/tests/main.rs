//! Graphs and engines.

#[macro_use]
mod common;

mod compiled;
mod config;
mod defined;
mod engine;
mod flow;
mod functions;
mod generate;
mod headers;
mod ipv6;
mod noise;
mod options;
mod passed;
mod typical;
