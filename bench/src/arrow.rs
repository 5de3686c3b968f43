//! Telemetry messages into Arrow columns: a million small messages, batches of 65,536 rows.
//!
//! The sum of a column and the number of rows are the same for all. Peers are packages of PyPI
//! (`bench/peers/python/columns.py`), where installed.

use std::process::Command;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{MessageId, Schema, encode};
use tidemill_wire_arrow::{BatchReader, Engine, Options, ReaderCode};

use crate::clock::{cpu_seconds, median};
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::tool;

const PROTO: &str = r#"
syntax = "proto3";
package bench;
message Position { double latitude = 1; double longitude = 2; float altitude = 3; }
enum Status { UNKNOWN = 0; IDLE = 1; MOVING = 2; ALARM = 3; }
message Telemetry {
  fixed64 device = 1;
  int64 time_ns = 2;
  Position position = 3;
  float temperature = 4;
  int32 battery = 5;
  Status status = 6;
  string firmware = 7;
  repeated sint32 samples = 8;
  optional double humidity = 9;
  bool charging = 10;
}
"#;

/// Rows of a batch.
const BATCH: usize = 65_536;

/// Rows, and the sum of the column `battery`.
type Outcome = (usize, i64);

/// Measures all cases.
///
/// # Errors
/// A sum differs.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let compiled = compile(&["telemetry.proto"], &Texts::from_iter([("telemetry.proto", PROTO)]));
    let schema = compiled.schema.ok_or("the schema does not compile")?;
    let message = schema.message_by_name("bench.Telemetry").ok_or("no message")?;
    let (count, runs) = if extent.small { (2_000, 1) } else { (1_000_000, 5) };
    let (stream, ends, expected) = data(&schema, message, count);
    let megabytes = ends.iter().map(|range| range.len()).sum::<usize>() as f64 / 1e6;

    let select = |paths: &[&str]| Options {
        select: paths.iter().map(|&path| path.to_owned()).collect(),
        ..Options::default()
    };
    let two = select(&["battery", "position.latitude"]);
    let cases = [
        ("all", "tidemill", Options::default(), Engine::Native),
        ("all", "tidemill-table", Options::default(), Engine::Table),
        ("2-of-12", "tidemill", two.clone(), Engine::Native),
        ("2-of-12", "tidemill-table", two, Engine::Table),
    ];
    let theirs =
        if extent.peers { peers(&schema, &stream, runs, expected, report)? } else { Vec::new() };
    let mut rows: Vec<Row> = Vec::new();
    for (case, who, options, engine) in cases {
        let code = ReaderCode::new(&schema, message, &options, engine);
        let code = code.map_err(|error| error.to_string())?;
        code.prepare();
        let code = Arc::new(code);
        let mut rates = Vec::new();
        for _ in 0..runs {
            let mut reader = BatchReader::with(code.clone());
            let (seconds, outcome) = cpu_seconds(|| columns(&mut reader, &stream, &ends));
            if outcome? != expected {
                return Err(format!("{who} makes other columns than the messages say"));
            }
            rates.push(megabytes / seconds);
        }
        if rows.last().is_some_and(|last| last.case != case) {
            report.case(&std::mem::take(&mut rows), Better::High);
        }
        rows.push(row(case, who, median(rates), runs));
        if case == "all" && engine == Engine::Table {
            rows.extend(
                theirs.iter().map(|(peer, seconds)| row(case, peer, megabytes / seconds, runs)),
            );
        }
    }
    report.case(&rows, Better::High);
    Ok(())
}

fn row(case: &str, who: &str, value: f64, runs: usize) -> Row {
    Row::new("arrow", case, who, ("mb_per_s", "MB/s"), (value, runs))
}

/// Converts all messages to columns.
fn columns(
    reader: &mut BatchReader,
    stream: &[u8],
    ends: &[std::ops::Range<usize>],
) -> Result<Outcome, String> {
    let (mut rows, mut sum) = (0, 0);
    for batch in ends.chunks(BATCH) {
        for range in batch {
            reader.append(&stream[range.clone()]).map_err(|error| error.to_string())?;
        }
        let batch = reader.finish().map_err(|error| error.to_string())?;
        let battery = batch.column_by_name("battery").ok_or("no column `battery`")?;
        rows += batch.num_rows();
        sum +=
            battery.as_primitive::<Int32Type>().values().iter().map(|&v| i64::from(v)).sum::<i64>();
    }
    Ok((rows, sum))
}

/// Length-prefixed messages, their offsets, and the expected result.
fn data(
    schema: &Schema,
    message: MessageId,
    count: u64,
) -> (Vec<u8>, Vec<std::ops::Range<usize>>, Outcome) {
    let field = |of: MessageId, name| schema.field_by_name(of, name).expect("a field of the text");
    let own = |name| field(message, name);
    let position = schema.message_by_name("bench.Position").expect("a message of the text");
    let (mut stream, mut ends, mut sum) = (Vec::new(), Vec::new(), 0);
    let mut random = tidemill_stdx::rng::Rng::new(1);
    for at in 0..count {
        let device = random.below(5_000);
        let battery = random.below(101) as i32;
        sum += i64::from(battery);
        let samples: Vec<i32> =
            (0..random.below(6)).map(|_| random.below(400) as i32 - 200).collect();
        let humid = random.below(3) == 0;
        let bytes = encode::to_vec(schema, |to| {
            to.put_u64(own("device"), device);
            to.put_i64(own("time_ns"), 1_700_000_000_000_000_000 + at as i64 * 1_000_003);
            to.put_message(own("position"), |to| {
                to.put_f64(field(position, "latitude"), 48.0 + device as f64 / 1e4);
                to.put_f64(field(position, "longitude"), 11.0 + at as f64 / 1e7);
                to.put_f32(field(position, "altitude"), 520.5);
            });
            to.put_f32(own("temperature"), 20.0 + battery as f32 / 10.0);
            to.put_i32(own("battery"), battery);
            to.put_i32(own("status"), battery % 4);
            to.put_string(
                own("firmware"),
                if device.is_multiple_of(7) { "2.11.0-beta" } else { "2.10.3" },
            );
            to.put_packed(own("samples"), samples.iter().copied());
            if humid {
                to.put_f64(own("humidity"), 40.25);
            }
            to.put_bool(own("charging"), battery < 10);
        });
        tidemill_wire::delimited::write_varint(&mut stream, &bytes);
        ends.push(stream.len() - bytes.len()..stream.len());
    }
    (stream, ends, (count as usize, sum))
}

/// The installed Python peers, with the seconds of each.
fn peers(
    schema: &Schema,
    stream: &[u8],
    runs: usize,
    expected: Outcome,
    report: &mut Report,
) -> Result<Vec<(String, f64)>, String> {
    let folder = std::env::temp_dir().join(format!("tidemill-arrow-{}", std::process::id()));
    let write = || {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("set"), schema.descriptor_set())?;
        std::fs::write(folder.join("stream"), stream)
    };
    write().map_err(|error| error.to_string())?;
    let python = std::env::var_os("PYTHON").unwrap_or("python3".into());
    if let Err(reason) = tool::stdout_of(Command::new(&python).arg("--version"), "python3") {
        report.note(&format!("peers absent: {reason}"));
        return Ok(Vec::new());
    }
    let mut python = Command::new(python);
    python.arg(tool::source("python/columns.py")).arg(folder.join("set")).arg("bench.Telemetry");
    let output = python.arg(folder.join("stream")).arg(runs.to_string());
    let output = tool::stdout_of(output, "python3");
    let _ = std::fs::remove_dir_all(&folder);
    let output = output?;
    let mut seconds: Vec<(String, Vec<f64>)> = Vec::new();
    for line in output.lines() {
        if line.starts_with("absent") {
            report.note(line);
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [who, time, rows, sum] = words[..] else { return Err(format!("a row `{line}`")) };
        if (rows.parse().ok(), sum.parse().ok()) != (Some(expected.0), Some(expected.1)) {
            return Err(format!("{who} makes other columns than the messages say"));
        }
        let time = time.parse().map_err(|_| format!("a row `{line}`"))?;
        match seconds.iter_mut().find(|(known, _)| known == who) {
            Some((_, times)) => times.push(time),
            None => seconds.push((who.to_owned(), vec![time])),
        }
    }
    Ok(seconds.into_iter().map(|(who, times)| (who, median(times))).collect())
}
