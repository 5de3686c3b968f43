//! A batch of log records.

use tidemill_stdx::rng::Rng;

use super::message::Made;
use super::words::{word, words};
use super::write::Out;

const TEXT: &str = r#"
syntax = "proto3";
package made.logs;

enum Level { TRACE = 0; DEBUG = 1; INFO = 2; WARN = 3; ERROR = 4; }

message Batch {
  string host = 1;
  uint64 sequence = 2;
  repeated Record records = 3;
}
message Record {
  fixed64 time_ns = 1;
  Level level = 2;
  string logger = 3;
  string message = 4;
  uint32 thread = 5;
  uint64 request = 6;
  map<string, string> labels = 7;
  Place place = 8;
  bool sampled = 9;
  double duration_ms = 10;
}
message Place { string file = 1; uint32 line = 2; }
"#;

const RECORDS: u64 = 500;

pub fn made(rng: &mut Rng) -> Made {
    let mut out = Out::default();
    out.bytes(1, "node-17.example.org");
    out.varint(2, 123_456_789);
    let mut time = 1_760_000_000_000_000_000;
    for _ in 0..RECORDS {
        time += rng.below(5_000_000);
        out.sub(3, |one| record(rng, one, time));
    }
    Made {
        name: "logs",
        file: "made/logs.proto",
        text: TEXT,
        message: "made.logs.Batch",
        bytes: out.0,
        select: ["host", "records.message"],
    }
}

fn record(rng: &mut Rng, out: &mut Out, time: u64) {
    out.fixed64(1, time);
    out.varint(2, 1 + rng.below(4));
    out.bytes(3, words(rng, 2, "::"));
    let length = 6 + rng.below(14);
    out.bytes(4, words(rng, length, " "));
    out.varint(5, 1 + rng.below(64));
    if rng.chance(0.7) {
        out.varint(6, rng.next_u64() >> 20);
    }
    for key in ["zone", "tenant"].into_iter().take(rng.below(3) as usize) {
        out.sub(7, |entry| {
            entry.bytes(1, key);
            entry.bytes(2, word(rng));
        });
    }
    out.sub(8, |place| {
        place.bytes(1, format!("src/{}.rs", words(rng, 2, "/")));
        place.varint(2, 1 + rng.below(2000));
    });
    if rng.chance(0.5) {
        out.varint(9, 1);
    }
    out.fixed64(10, (rng.f64() * 100.0).to_bits());
}
