//! Values and plans that are mutated.

#[path = "../../../tests/support/mutate.rs"]
mod mutate;
mod noise;
