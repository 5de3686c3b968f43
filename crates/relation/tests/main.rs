//! Values and plans that are mutated, and machine code at the edges of what it can do.

mod edges;
mod noise;
mod patterns;
