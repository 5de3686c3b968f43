//! Messages in memory: bytes decoded into them and encoded from them, per second.
//!
//! The two public benchmark messages of Protocol Buffers, from the folder `shared/data` beside the
//! project; skipped where that is absent. `views` leaves strings in the input, `copies` copies
//! them; messages are used again unless the case says `new`.

use std::path::PathBuf;

use tidemill_wire::{Encoder, Message, MessageId, Schema};

use crate::Extent;
use crate::clock::{cpu_seconds, median};
use crate::report::{Better, Report, Row};

const MESSAGES: [(&str, &str, &str); 2] = [
    ("speed1", "benchmarks.SpeedMessage1", "google_message1.dat"),
    ("speed2", "benchmarks.SpeedMessage2", "google_message2.dat"),
];

/// The folder with the data, if it is there.
pub fn data() -> Option<PathBuf> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    root.ancestors().map(|up| up.join("shared/data")).find(|folder| folder.is_dir())
}

/// Measures both messages.
///
/// # Errors
/// Data that cannot be read, or a result that is wrong.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let Some(folder) = data() else {
        report.note("skipped: no folder shared/data beside the project");
        return Ok(());
    };
    let read = |name: &str| std::fs::read(folder.join(name)).map_err(|error| error.to_string());
    let schema = Schema::from_descriptor_set(&read("google_messages.fds")?);
    let schema = schema.map_err(|error| error.to_string())?;
    for (case, name, file) in MESSAGES {
        let of = schema.message_by_name(name).ok_or("the schema lacks the message")?;
        case_of(extent, report, case, &schema, of, &read(file)?)?;
    }
    Ok(())
}

fn case_of(
    extent: Extent,
    report: &mut Report,
    case: &str,
    schema: &Schema,
    of: MessageId,
    input: &[u8],
) -> Result<(), String> {
    let (bytes, runs) = if extent.small { (1 << 16, 1) } else { (1 << 28, 7) };
    let passes = (bytes / input.len()).max(1);
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut views = Message::new(schema, of).map_err(|error| text(&error))?;
    let mut copies = Message::new(schema, of).map_err(|error| text(&error))?;
    views.decode(input).map_err(|error| text(&error))?;
    let expected = views.encode().map_err(|error| text(&error))?;
    let mut native = Encoder::new().compile(schema, of).map_err(|error| text(&error))?;
    if native.encode(views.as_ref()).map_err(|error| text(&error))? != expected {
        return Err(format!("{case}: the encoders differ"));
    }
    let mut rates: [Vec<f64>; 5] = Default::default();
    let mut out = Vec::new();
    for _ in 0..runs {
        rates[0].push(rate(input.len(), passes, || views.decode(input).is_ok())?);
        rates[1].push(rate(input.len(), passes, || copies.decode_copied(input).is_ok())?);
        rates[2]
            .push(rate(input.len(), passes, || Message::from_bytes(schema, of, input).is_ok())?);
        rates[3].push(rate(expected.len(), passes, || {
            native.encode(views.as_ref()).is_ok_and(|bytes| bytes.len() == expected.len())
        })?);
        rates[4].push(rate(expected.len(), passes, || {
            out.clear();
            Encoder::new().append(views.as_ref(), &mut out).is_ok()
        })?);
    }
    let names = ["views", "copies", "new", "native", "table"];
    for (at, (who, rates)) in names.into_iter().zip(rates).enumerate() {
        let metric = if at < 3 { "decode_message" } else { "encode_message" };
        let row = Row {
            bench: "proto",
            case: case.to_owned(),
            who: who.to_owned(),
            metric,
            runs: rates.len(),
            value: median(rates),
            unit: "MB/s",
        };
        report.case(&[row], Better::High);
    }
    Ok(())
}

/// Millions of bytes per CPU second.
fn rate(bytes: usize, passes: usize, mut work: impl FnMut() -> bool) -> Result<f64, String> {
    let (seconds, good) = cpu_seconds(|| (0..passes).all(|_| work()));
    match good {
        true => Ok((bytes * passes) as f64 / 1e6 / seconds),
        false => Err("a pass gave another result".to_owned()),
    }
}
