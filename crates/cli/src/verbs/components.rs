//! Components: engines, listings and statistics.

use std::fs;

use tidemill::components::Counts;
use tidemill::components::code::listing;
use tidemill::error::Error;
use tidemill::program::Program;
use tidemill::run::{ComponentsEnded, Engine};

use crate::args::EngineKind;
use crate::output::Out;

/// The engine of components.
pub fn engine(chosen: Option<EngineKind>) -> Engine {
    match chosen {
        Some(EngineKind::Interpret) => Engine::Interpreter,
        _ => Engine::Native,
    }
}

/// Prints tree and IR.
pub fn explain(program: &Program, out: &mut Out) {
    let Some(ir) = &program.components.program else { return };
    out.write(&format!("tree\n\n{}\n", program.components.tree));
    out.write(&format!("ir\n\n{ir}\n"));
}

/// Lists the machine code.
pub fn list(program: &Program, out: &mut Out) -> Result<(), Error> {
    if program.components.program.is_some() {
        out.write(&listing(program)?);
    }
    Ok(())
}

/// Ends the process: the run has to end, and a process without checkpoints blocks it.
pub fn end_at_once() {
    std::process::exit(0);
}

/// Three quarters of the machine's memory, so that a runaway program faults and does not affect
/// other processes.
pub fn most_of_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(1024) / 4 * 3)
}

/// The number of objects of each kind, a line each.
pub fn stats(ended: &ComponentsEnded) -> String {
    let Counts { processes, components, channels, texts } = ended.counts;
    let mut text = String::new();
    for (name, count) in [
        ("processes", processes),
        ("components", components),
        ("channels", channels),
        ("texts", texts),
    ] {
        text.push_str(&format!("{name}: {} created, {} alive\n", count.created, count.alive));
    }
    if ended.pore_drops > 0 {
        text.push_str(&format!("pores: {} frames dropped by the kernel\n", ended.pore_drops));
    }
    text
}
