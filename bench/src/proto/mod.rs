//! Messages of the Protocol Buffers benchmark, in millions of bytes a CPU second.
//!
//! | case | what |
//! |---|---|
//! | `SpeedMessage1`, `SpeedMessage2` | bytes into a sink, which is told every value |
//! | `...-message` | bytes into a message in memory that is used again, and into those of peers |
//! | `...-encode` | such a message into bytes |
//! | `...-handles-fill`, `-handles-read` | records with handles of 64 bits, and of 32 |
//! | `...-handles` | the memory that such records take, in bytes |
//! | `load-texts`, `load-descriptors` | a schema of five thousand messages, in milliseconds |

mod decode;
mod encode;
mod handles;
mod load;
mod messages;
mod peers;
mod rates;
mod sinks;

use std::fs;
use std::path::{Path, PathBuf};

use tidemill_wire::{MessageId, Schema};

use crate::Extent;
use crate::report::Report;
use peers::Peers;

/// One message, and the schema that it is of.
struct Case {
    name: &'static str,
    schema: Schema,
    message: MessageId,
    bytes: Vec<u8>,
    path: PathBuf,
    /// Two fields that stand in it.
    select: [&'static str; 2],
}

/// Measures all cases.
///
/// # Errors
/// A decoder fails, or finds other values.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let peers = match extent.peers {
        true => Peers::new(report),
        false => Peers::none(),
    };
    for case in cases()? {
        decode::run(&case, extent, &peers, report)?;
        messages::run(&case, extent, &peers, report)?;
        encode::run(&case, extent, &peers, report)?;
        handles::run(&case, extent, report)?;
    }
    load::run(extent, report)
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name)
}

fn cases() -> Result<Vec<Case>, String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let set = read(&data("google_messages.fds"))?;
    let mut cases = Vec::new();
    for (name, file, select) in [
        ("SpeedMessage1", "google_message1.dat", ["field2", "field280"]),
        ("SpeedMessage2", "google_message2.dat", ["field1", "group1.field15"]),
    ] {
        let schema = Schema::from_descriptor_set(&set).map_err(|error| error.to_string())?;
        let message = schema.message_by_name(&format!("benchmarks.{name}")).ok_or("no message")?;
        let path = data(file);
        cases.push(Case { name, schema, message, bytes: read(&path)?, path, select });
    }
    Ok(cases)
}
