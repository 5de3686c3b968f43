//! JSON in MB per CPU second, both ways: to and from messages in memory, compared with libraries
//! that use structures made for the type; and directly between JSON and bytes.
//!
//! The text is the same for all, and all must reproduce it. There are orders of two sizes, and the
//! two public benchmark messages of Protocol Buffers, whose megabytes are those of their JSON too.
//! Peers are a program of their own (`bench/peers/json`), built on demand; they know orders only.

mod data;

use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use tidemill_stdx::region::Bump;
use tidemill_wire::encode::BinarySink;
use tidemill_wire::json::{self, JsonSink, Mapping, PrintOptions, ReadOptions, plain};
use tidemill_wire::{Message, MessageId};

use crate::clock::{cpu_seconds, median};
use crate::extent::Extent;
use crate::report::{Better, Report, Row};
use crate::tool;

/// Measures all cases.
///
/// # Errors
/// A text is not reproduced, or a peer fails.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let peer = match extent.peers.then(|| tool::cargo("json")) {
        Some(Ok(release)) => Some(release.join("tidemill-bench-json")),
        Some(Err(reason)) => {
            report.note(&format!("peers absent: {reason}"));
            None
        }
        None => None,
    };
    for text in data::texts()? {
        let mapping = Mapping::new(&text.schema);
        let message = text.schema.message_by_name(text.message).ok_or("no message")?;
        let volume = if extent.small { 1 << 16 } else { 200 << 20 };
        let rounds = (volume / text.text.len()).max(1);
        let runs = if extent.small { 1 } else { 5 };
        let case = Case { mapping: &mapping, message, text: &text.text, rounds };
        case.check()?;
        let theirs = match &peer {
            Some(peer) if text.message == data::ORDER => case.peers(peer, runs)?,
            _ => Vec::new(),
        };
        for (name, work) in WORKS {
            let rates = (0..runs).map(|_| case.rate(work)).collect::<Result<Vec<_>, _>>()?;
            let name_of = format!("{name}-{}", text.name);
            let mut rows = vec![row(&name_of, "tidemill", median(rates), runs)];
            for (who, what, rate) in &theirs {
                if *what == name {
                    rows.push(row(&name_of, who, *rate, runs));
                }
            }
            report.case(&rows, Better::High);
        }
    }
    Ok(())
}

fn row(case: &str, who: &str, value: f64, runs: usize) -> Row {
    Row::new("json", case, who, ("mb_per_s", "MB/s"), (value, runs))
}

/// The measured work: name, function.
type Work = fn(&Case<'_>) -> Result<(), String>;

const WORKS: [(&str, Work); 5] = [
    ("decode", |case| case.decode()),
    ("encode", |case| case.encode()),
    ("json-to-bytes", |case| case.to_bytes()),
    ("bytes-to-json", |case| case.to_json()),
    ("plain", |case| case.plain()),
];

struct Case<'c> {
    mapping: &'c Mapping<'c>,
    message: MessageId,
    text: &'c str,
    rounds: usize,
}

impl Case<'_> {
    /// Checks that the text is reproduced from a message, and from bytes.
    fn check(&self) -> Result<(), String> {
        let bytes = self.bytes()?;
        let again = json::print(self.mapping, self.message, &bytes);
        if again.map_err(|error| error.to_string())? == self.text {
            Ok(())
        } else {
            Err("the text does not come back".to_owned())
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        json::parse(self.mapping, self.message, self.text.as_bytes())
            .map_err(|error| error.to_string())
    }

    fn rate(&self, work: Work) -> Result<f64, String> {
        let (seconds, done) = cpu_seconds(|| work(self));
        done.map(|()| (self.text.len() * self.rounds) as f64 / seconds / 1e6)
    }

    fn decode(&self) -> Result<(), String> {
        let schema = self.mapping.schema();
        let new = || Message::new(schema, self.message).map_err(|error| error.to_string());
        let (mut whole, mut arena) = (new()?, Bump::new());
        for _ in 0..self.rounds {
            whole.clear();
            let mut sink = whole.copying_builder();
            let text = black_box(self.text).as_bytes();
            let options = ReadOptions::default();
            json::read(self.mapping, self.message, text, &arena, options, &mut sink)
                .map_err(|error| error.to_string())?;
            black_box(&whole);
            arena.reset();
        }
        Ok(())
    }

    fn encode(&self) -> Result<(), String> {
        let bytes = self.bytes()?;
        let whole = Message::from_bytes(self.mapping.schema(), self.message, &bytes);
        let whole = whole.map_err(|error| error.to_string())?;
        let mut sink = JsonSink::new(self.mapping, PrintOptions::default());
        for _ in 0..self.rounds {
            sink.clear();
            json::print_message(&mut sink, black_box(&whole).as_ref())
                .map_err(|error| error.to_string())?;
            black_box(sink.bytes());
        }
        Ok(())
    }

    fn to_bytes(&self) -> Result<(), String> {
        let (mut sink, mut arena) = (BinarySink::new(self.mapping.schema()), Bump::new());
        for _ in 0..self.rounds {
            sink.clear();
            let text = black_box(self.text).as_bytes();
            let options = ReadOptions::default();
            json::read(self.mapping, self.message, text, &arena, options, &mut sink)
                .map_err(|error| error.to_string())?;
            black_box(sink.bytes());
            arena.reset();
        }
        Ok(())
    }

    fn to_json(&self) -> Result<(), String> {
        let bytes = self.bytes()?;
        let mut sink = JsonSink::new(self.mapping, PrintOptions::default());
        for _ in 0..self.rounds {
            sink.clear();
            json::print_to(&mut sink, self.message, black_box(&bytes))
                .map_err(|error| error.to_string())?;
            black_box(sink.bytes());
        }
        Ok(())
    }

    fn plain(&self) -> Result<(), String> {
        let mut arena = Bump::new();
        for _ in 0..self.rounds {
            let text = black_box(self.text).as_bytes();
            plain::read(text, &arena, 100, &mut ()).map_err(|error| error.to_string())?;
            arena.reset();
        }
        Ok(())
    }

    /// The rates of peers on the text: name, direction, rate.
    fn peers(&self, peer: &Path, runs: usize) -> Result<Vec<(String, String, f64)>, String> {
        let file = std::env::temp_dir().join(format!("tidemill-{}.json", std::process::id()));
        std::fs::write(&file, self.text).map_err(|error| error.to_string())?;
        let mut command = Command::new(peer);
        command.arg(&file).arg(self.rounds.to_string()).arg(runs.to_string());
        let output = tool::stdout_of(&mut command, "the peers");
        let _ = std::fs::remove_file(&file);
        let rows = output?;
        let read = |line: &str| {
            let mut words = line.split_whitespace();
            let (who, what) = (words.next()?.to_owned(), words.next()?.to_owned());
            Some((who, what, words.next()?.parse().ok()?))
        };
        rows.lines().map(|line| read(line).ok_or_else(|| format!("a row `{line}`"))).collect()
    }
}
