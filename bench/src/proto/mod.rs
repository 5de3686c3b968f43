//! Messages of the Protocol Buffers benchmark, in MB per CPU second.
//!
//! | case | what |
//! |---|---|
//! | `SpeedMessage1`, `SpeedMessage2` | bytes into a sink, which gets every value |
//! | `packed-double`, `-uint32`, `-sint32`, `-mixed`, `-closed` | packed lists, made from a seed |
//! | `traces`, `logs`, `descriptor` | of a trace export, a batch of logs, a file descriptor |
//! | `...-message` | bytes into a message in memory that is used again, and into those of peers |
//! | `...-encode` | such a message into bytes |
//! | `SpeedMessage...-handles-fill`, `-handles-read` | records with handles of 64 bits, and of 32 |
//! | `SpeedMessage...-handles` | the memory that such records take, in bytes |
//! | `load-texts`, `load-descriptors` | a schema of five thousand messages, in milliseconds |

mod case;
mod decode;
mod encode;
mod handles;
mod load;
mod made;
mod messages;
mod peers;
mod rates;
mod sinks;

use std::fs;
use std::path::Path;

use tidemill_wire::Schema;
use tidemill_wire::proto::{Texts, compile};

use crate::extent::Extent;
use crate::report::Report;
use crate::tool;
use case::{Case, data};
use made::Made;
use peers::Peers;

/// Measures all cases.
///
/// # Errors
/// A decoder fails, or finds other values; there is no case of the name given.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    const LOAD: &str = "load";
    let (speed, made) = (speed_messages()?, made_messages(extent)?);
    let names: Vec<_> = speed.iter().chain(&made).map(|case| case.name).chain([LOAD]).collect();
    if !names.iter().any(|name| extent.has(name)) {
        return Err(format!("no such case; there are {}", names.join(", ")));
    }
    let peers = if extent.peers { Peers::new(report) } else { Peers::none() };
    for case in speed.iter().filter(|case| extent.has(case.name)) {
        handles::run(case, extent, report)?;
        measure(case, extent, &peers, report)?;
    }
    for case in made.iter().filter(|case| extent.has(case.name)) {
        measure(case, extent, &peers, report)?;
    }
    if extent.has(LOAD) { load::run(extent, report) } else { Ok(()) }
}

fn measure(case: &Case, extent: Extent, peers: &Peers, report: &mut Report) -> Result<(), String> {
    decode::run(case, extent, peers, report)?;
    messages::run(case, extent, peers, report)?;
    encode::run(case, extent, peers, report)
}

/// The messages of the Protocol Buffers benchmark.
fn speed_messages() -> Result<Vec<Case>, String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let set_path = data("google_messages.fds");
    let set = read(&set_path)?;
    let mut cases = Vec::new();
    for (name, file, select) in [
        ("SpeedMessage1", "google_message1.dat", ["field2", "field280"]),
        ("SpeedMessage2", "google_message2.dat", ["field1", "group1.field15"]),
    ] {
        let schema = Schema::from_descriptor_set(&set).map_err(|error| error.to_string())?;
        let message = schema.message_by_name(&format!("benchmarks.{name}")).ok_or("no message")?;
        let path = data(file);
        let (bytes, set) = (read(&path)?, set_path.clone());
        cases.push(Case { name, schema, message, bytes, path, set, select });
    }
    Ok(cases)
}

/// Messages generated from a seed. Peers read them from files.
fn made_messages(extent: Extent) -> Result<Vec<Case>, String> {
    let folder = tool::target("made-messages")?;
    let write = |path: &Path, bytes: &[u8]| {
        let written = if extent.peers { fs::write(path, bytes) } else { Ok(()) };
        written.map_err(|error| format!("{}: {error}", path.display()))
    };
    let case = |made: Made| {
        let Made { name, file, text, message, bytes, select } = made;
        let compiled = compile(&[file], &Texts::from_iter([(file, text)]));
        let wrong = || format!("{file}: {:?}", compiled.diagnostics.first());
        let schema = compiled.schema.as_ref().ok_or_else(wrong)?.clone();
        let message = schema.message_by_name(message).ok_or("no message")?;
        let (path, set) = (folder.join(format!("{name}.dat")), folder.join(format!("{name}.fds")));
        write(&path, &bytes)?;
        write(&set, &schema.descriptor_set())?;
        Ok::<Case, String>(Case { name, schema, message, bytes, path, set, select })
    };
    made::all().into_iter().map(case).collect()
}
