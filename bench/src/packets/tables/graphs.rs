//! Graphs with a table between a source and a sink.

use std::path::Path;

use tidemill_packet::app::Declared;
use tidemill_packet::engine::Engine;

use super::apps::{Ask, Learn};
use super::plan::{KeyKind, Plan};
use super::requests::Found;
use crate::packets::{Own, count_of, in_order, loaded, run_to_end};

const TABLES: &str = include_str!("../../../flow/tables.flow");

/// The kernel between source and sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// One that looks at no packet.
    Nothing,
    /// That with the table.
    Table,
}

/// CPU seconds of `passes` passes, after one that is not measured, and what all have found.
///
/// # Errors
/// The graph does not start, or packets are lost.
pub fn timed(
    between: Between,
    (plan, file): (&Plan, &Path),
    passes: u64,
) -> Result<(f64, Found), String> {
    let kernel = match (between, plan.kind) {
        (Between::Nothing, _) => "Nothing",
        (Between::Table, KeyKind::Exact) => "Exact",
        (Between::Table, KeyKind::Prefix) => "Prefix",
    };
    let text = format!(
        "{TABLES}
        in :: Ask {{ file: {:?}, passes: {} }}
        way :: {kernel}
        end :: Learn
        in -> way -> end",
        file.display().to_string(),
        passes + 1,
    );
    let apps = [Ask::declaration(), Learn::declaration()];
    let defines = vec![format!("SIZE={}", plan.capacity())];
    let mut engine = Own::Compiled.engine(loaded("tables.flow", &text, &apps, defines)?)?;
    let before = plan.entries + plan.packets;
    while engine.pool_stats().freed < before {
        engine.breathe();
    }
    let left = before + passes * plan.packets - engine.pool_stats().freed;
    let seconds = run_to_end(&mut engine)?;
    in_order(&mut engine)?;
    // The batch with which the first pass ended was not measured.
    let seconds = seconds * (passes * plan.packets) as f64 / left as f64;
    Ok((seconds, found(&engine)?))
}

fn found(engine: &Engine) -> Result<Found, String> {
    Ok(Found { hits: count_of(engine, "end", "hits")?, sum: count_of(engine, "end", "sum")? })
}
