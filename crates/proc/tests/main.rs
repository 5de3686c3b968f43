//! Processes, channels, monitors and time, without a language.

#[macro_use]
mod support;

mod connections;
mod launch;
mod life;
mod monitor;
mod ring;
mod time;
