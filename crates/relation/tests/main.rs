//! Mutated values and plans, and edge cases of machine code.

mod edges;
mod noise;
mod patterns;
