//! Packed lists: one case for each encoding of numbers, and one with lists of all kinds.

use tidemill_stdx::rng::Rng;

use super::message::Made;
use super::write::Out;

const TEXT: &str = r#"
syntax = "proto3";
package made.lists;

enum Colour { RED = 0; GREEN = 1; BLUE = 2; }

message Doubles { int32 id = 1; repeated double list = 2; }
message Shorts { int32 id = 1; repeated uint32 list = 2; }
message Deltas { int32 id = 1; repeated sint32 list = 2; }

message Mixed {
  int32 id = 1;
  repeated Row rows = 2;
}

message Row {
  repeated bool flags = 1;
  repeated Colour colours = 2;
  repeated uint32 counts = 3;
  repeated int64 ids = 4;
  repeated sint64 steps = 5;
  repeated float weights = 6;
  repeated fixed64 hashes = 7;
}
"#;

/// A closed enum: unnamed numbers are unknown fields.
const CLOSED: &str = r#"
syntax = "proto2";
package made.closed;

enum Kind { NONE = 0; FIRST = 1; SECOND = 2; THIRD = 3; LAST = 200; }

message Kinds {
  optional int32 id = 1;
  repeated Kind list = 2 [packed = true];
}
"#;

/// The approximate size of a message in bytes.
const BYTES: u64 = 100_000;

pub fn all(rng: &mut Rng) -> Vec<Made> {
    let mut doubles = Out::default();
    doubles.varint(1, 7);
    doubles.fixed(2, (0..BYTES / 8).map(|_| ((rng.next_u64() >> 11) as f64).to_le_bytes()));
    // One byte or two, at random.
    let mut shorts = Out::default();
    shorts.varint(1, 7);
    let short = |rng: &mut Rng| if rng.chance(0.5) { rng.below(128) } else { rng.below(9000) };
    shorts.varints(2, (0..BYTES * 2 / 3).map(|_| short(rng)));
    let mut deltas = Out::default();
    deltas.varint(1, 7);
    deltas.zigzags(2, (0..BYTES / 2).map(|_| signed(rng, 20)));
    let mut kinds = Out::default();
    kinds.varint(1, 7);
    kinds.varints(2, (0..BYTES * 5 / 6).map(|_| [0, 1, 2, 3, 200][rng.below(5) as usize]));
    let mut mixed = Out::default();
    mixed.varint(1, 7);
    while (mixed.0.len() as u64) < BYTES {
        let count = 1 + rng.below(60);
        mixed.sub(2, |row| {
            row.varints(1, (0..count).map(|_| rng.below(2)));
            row.varints(2, (0..count).map(|_| rng.below(3)));
            row.varints(3, (0..count).map(|_| rng.next_u64() >> (40 + rng.below(24))));
            row.varints(4, (0..count).map(|_| rng.next_u64() >> rng.below(64)));
            row.zigzags(5, (0..count).map(|_| signed(rng, 30)));
            row.fixed(6, (0..count).map(|_| (rng.below(10_000) as f32 / 100.0).to_le_bytes()));
            row.fixed(7, (0..count).map(|_| rng.next_u64().to_le_bytes()));
        });
    }
    let of_one = ["id", "list"];
    let made = |name, message, out: Out, select| Made {
        name,
        file: "made/lists.proto",
        text: TEXT,
        message,
        bytes: out.0,
        select,
    };
    vec![
        made("packed-double", "made.lists.Doubles", doubles, of_one),
        made("packed-uint32", "made.lists.Shorts", shorts, of_one),
        made("packed-sint32", "made.lists.Deltas", deltas, of_one),
        made("packed-mixed", "made.lists.Mixed", mixed, ["id", "rows.counts"]),
        Made {
            name: "packed-closed",
            file: "made/closed.proto",
            text: CLOSED,
            message: "made.closed.Kinds",
            bytes: kinds.0,
            select: of_one,
        },
    ]
}

/// A signed number of at most `bits` bits, with a uniformly distributed order of magnitude.
fn signed(rng: &mut Rng, bits: u64) -> i64 {
    let size = (rng.next_u64() >> (63 - rng.below(bits))) as i64;
    if rng.chance(0.5) { -size } else { size }
}
