//! The program `tidemill`, run as its users run it.

mod book;
mod common;
mod components;
mod control;
mod counters;
mod ends;
mod examples;
mod exports;
mod flow;
mod graphs;
mod keys;
mod kill;
mod limits;
mod log;
mod messages;
mod older;
mod outside;
mod run;
mod schemas;
mod sessions;
mod signals;
mod sim;
mod sources;
mod top;
mod usage;
mod workers;
