//! The loop, on the operating system and in simulation.

mod datagrams;
mod descriptors;
mod network;
mod remote;
mod scopes;
mod simulation;
mod timers;
mod turns;
