//! Components: parsing, checks, formatting, and both engines compared.

mod chains;
mod check;
mod check_mutated;
mod classes;
mod corpus;
mod deep;
mod engines;
mod fmt;
mod long;
mod mutated;
mod native;
mod optimise;
mod parse;
mod succession;
mod system;
