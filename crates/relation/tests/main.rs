//! Values and plans that are mutated.

mod noise;
