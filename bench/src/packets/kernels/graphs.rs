//! Graphs with a kernel between a source and a sink.

use tidemill_packet::app::Declared;
use tidemill_packet::engine::Engine;
use tidemill_packet::kernel::table::{Change, Row};

use super::apps::{Read, Replay};
use super::peers::Came;
use crate::packets::{Own, count_of, in_order, loaded, run_to_end};
use crate::tool;

const KERNELS: &str = include_str!("../../../flow/kernels.flow");

/// The part of the graph between source and sink.
#[derive(Clone, Copy, Debug)]
pub enum Way<'a> {
    /// None: the source is linked to the sink.
    Link,
    /// A kernel of the file.
    Kernel(&'a str),
    /// A component, by its file.
    Component(&'a str),
}

/// The trace that goes through.
#[derive(Clone, Copy, Debug)]
pub struct Fed {
    /// Packets of it.
    pub packets: u32,
    /// Its seed.
    pub seed: u64,
}

/// The packets that leave in one pass.
///
/// # Errors
/// The graph does not start, or packets are lost.
pub fn checked(way: Way<'_>, fed: Fed) -> Result<Came, String> {
    let mut engine = engine(way, fed, 1, true)?;
    run_to_end(&mut engine)?;
    in_order(&mut engine)?;
    Ok(Came {
        packets: count_of(&engine, "end", "packets")?,
        digest: count_of(&engine, "end", "seen")?,
    })
}

/// CPU nanoseconds per packet over `passes` passes. One pass before is not measured: it touches
/// memory for the first time, and makes new flows.
///
/// # Errors
/// The graph does not start, or packets are lost.
pub fn timed(way: Way<'_>, fed: Fed, passes: u64) -> Result<f64, String> {
    let mut engine = engine(way, fed, passes + 1, false)?;
    while engine.pool_stats().freed < fed.packets.into() {
        engine.breathe();
    }
    let left = (passes + 1) * u64::from(fed.packets) - engine.pool_stats().freed;
    let seconds = run_to_end(&mut engine)?;
    in_order(&mut engine)?;
    Ok(seconds * 1e9 / left as f64)
}

/// Runs all packets through the graph and does nothing else: the process whose instructions are
/// counted.
///
/// # Errors
/// The graph does not start, or packets are lost.
pub fn carried(way: Way<'_>, fed: Fed, passes: u64) -> Result<(), String> {
    let mut engine = engine(way, fed, passes, false)?;
    run_to_end(&mut engine)?;
    in_order(&mut engine)
}

/// An engine with this part between source and sink.
fn engine(way: Way<'_>, fed: Fed, passes: u64, all: bool) -> Result<Engine, String> {
    let Fed { packets, seed } = fed;
    let (app, between) = match way {
        Way::Link => (String::new(), ""),
        Way::Kernel(kernel) => (format!("way :: {kernel}"), "way -> "),
        Way::Component(file) => {
            let file = tool::own(file);
            (format!("way :: Script {{ file: {:?} }}", file.display().to_string()), "way -> ")
        }
    };
    let text = format!(
        "{KERNELS}
        in :: Replay {{ packets: {packets}, seed: {seed}, passes: {passes} }}
        {app}
        end :: Read {{ all: {all} }}
        in -> {between}end"
    );
    let apps = [Replay::declaration(), Read::declaration()];
    let mut engine = Own::Compiled.engine(loaded("kernels.flow", &text, &apps, Vec::new())?)?;
    if matches!(way, Way::Kernel("Routes")) {
        let written = engine.write_table("way", "routes", &routes());
        written.map_err(|error| error.to_string())?;
    }
    Ok(engine)
}

/// The routes of `fill_routes` of the program in C.
fn routes() -> Vec<Change> {
    let route = |net: u128, bits: u32, hop: u128| {
        let mask = vec![u128::from(u32::MAX << (32 - bits))];
        let values = vec![0x0200_0000_0000 | hop];
        Change::Insert(Row { key: vec![net], mask, priority: 0, values })
    };
    let far = (0..256).step_by(2).map(|net| route(net << 24, 8, net + 1));
    let near = (0..4).map(|net| route(10 << 24 | net << 16, 16, net + 1000));
    let inner =
        (0..252).map(|net| route(10 << 24 | (net & 3) << 16 | (net & !3) << 8, 24, net + 2000));
    far.chain(near).chain(inner).collect()
}
