//! Programs whose rules send: a table of places yields a batch of tuples, and the last result of a
//! round starts the next one. The results of each place are added up, and all of
//! them at the end.

use std::fmt::Write as _;

use super::components;
use super::load::{SCHEMA, Size};

/// Starts the rounds, and receives their end.
const MAIN: &str = "
INTERFACE Rules;
  { IN start OUT Taken | IN Next ( OUT over(change: CHARACTER; total: INTEGER) | OUT End ) }
END Rules;

COMPONENT Main REQUIRES Rules;
  VARIABLE change: CHARACTER; total: INTEGER;
BEGIN
  Rules!start; Rules?Taken;
  Rules!Next; Rules?over(change, total);
  WRITE(total); WRITELINE
END Main;
";

/// Echoes its input.
const ECHO: &str = "
INTERFACE Echoing;
  { IN Ask(round, place, value: INTEGER; room: TEXT) { OUT Said(round, place, value: INTEGER) }
    OUT Done }
END Echoing;

COMPONENT Echo OFFERS Echoing;
  IMPLEMENTATION Echoing;
    VARIABLE round, place, value: INTEGER; room: TEXT;
  BEGIN
    WHILE ?Ask DO
      ?Ask(round, place, value, room);
      !Said(round, place, value + LENGTH(room) - 4);
      !Done
    END
  END Echoing;
END Echo;
";

/// The common rules; `V` is the payload of round S at place K.
fn rules(size: Size, own: &str) -> String {
    let Size { batch, rounds, .. } = size;
    let mut out = format!(
        "materialize(item, infinity, infinity, keys(2)).
        materialize(round, infinity, 1, keys(1)).
        materialize(last, infinity, infinity, keys(2)).
        s1 round(@N, 0) :- start(@N).
        s2 go(@N, S) :- round(@N, S), S < {rounds}.
        s3 ended(@N) :- round(@N, S), S == {rounds}.
        s4 given(@N, S, K, V) :- go(@N, S), item(@N, K),
            V := {}.
        {own}\n",
        size.of_rules()
    );
    for place in 1..=batch {
        let _ = writeln!(out, "item(@NODE, {place}). last(@NODE, {place}, 0).");
    }
    out.replace("BATCH", &batch.to_string())
}

/// The sum of all results.
pub fn total(size: Size) -> String {
    components::total(size)
}

/// A message, as a literal of bytes in rules.
fn message(value: u64) -> String {
    let mut bytes = vec![0x0d];
    bytes.extend((value as u32).to_le_bytes());
    bytes.push(0x15);
    bytes.extend((value as f32 / 8.0).to_le_bytes());
    bytes.extend(b"\x1a\x04room");
    bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
}

pub fn decode(size: Size) -> Vec<(&'static str, String)> {
    let mut rules = rules(
        size,
        "materialize(coded, infinity, infinity, keys(2)).
        stage(\"proto:p.Reading\", message, reading).
        m message(@N, S, K, Bytes) :- given(@N, S, K, V), coded(@N, V, Bytes).
        l last(@N, K, A + D) :- reading(@N, S, K, D, C, Room), last(@N, K, A).
        n round(@N, S + 1) :- reading(@N, S, K, D, C, Room), K == BATCH.
        o over(@N, a_SUM<D>) :- ended(@N), last(@N, K, D).",
    );
    let values: std::collections::BTreeSet<u64> = size.payloads().collect();
    for value in values {
        let _ = writeln!(rules, "coded(@NODE, {value}, b\"{}\").", message(value));
    }
    vec![("a.olg", rules), ("a.com", MAIN.to_owned()), ("a.proto", SCHEMA.to_owned())]
}

pub fn encode(size: Size) -> Vec<(&'static str, String)> {
    let rules = rules(
        size,
        "stage(\"proto:encode p.Reading\", reading, message).
        r reading(@N, S, K, V, C, \"room\") :- given(@N, S, K, V), C := V / 8.0.
        l last(@N, K, A + D) :- message(@N, S, K, Bytes), D := f_uintLE(Bytes, 1, 4),
            last(@N, K, A).
        n round(@N, S + 1) :- message(@N, S, K, Bytes), K == BATCH.
        o over(@N, a_SUM<D>) :- ended(@N), last(@N, K, D).",
    );
    vec![("a.olg", rules), ("a.com", MAIN.to_owned()), ("a.proto", SCHEMA.to_owned())]
}

fn staged(size: Size, keys: &str) -> Vec<(&'static str, String)> {
    let rules = rules(
        size,
        &format!(
            "stage(\"cl:Echo\", ask, said{keys}).
            a ask(@N, S, K, V, \"room\") :- given(@N, S, K, V).
            l last(@N, K, A + V) :- said(@N, S, K, V), last(@N, K, A).
            n round(@N, S + 1) :- said(@N, S, K, V), K == BATCH.
            o over(@N, a_SUM<V>) :- ended(@N), last(@N, K, V)."
        ),
    );
    vec![("a.olg", rules), ("a.com", format!("{ECHO}{MAIN}"))]
}

pub fn stage(size: Size) -> Vec<(&'static str, String)> {
    staged(size, "")
}

pub fn keyed_stage(size: Size) -> Vec<(&'static str, String)> {
    staged(size, ", keys(3)")
}

/// Each place is an app with a setting that each round changes.
pub fn settings(size: Size) -> Vec<(&'static str, String)> {
    let mut rules = rules(
        size,
        "materialize(app, infinity, infinity, keys(2)).
        c flow::config(@N, App, \"length\", V) :- given(@N, S, K, V), app(@N, K, App).
        l last(@N, K, A + V) :- given(@N, S, K, V), last(@N, K, A).
        n round(@N, S + 1) :- go(@N, S).
        o over(@N, a_SUM<V>) :- ended(@N), last(@N, K, V).",
    );
    let mut graph = "source :: Generator { frames: [\"hex 00\"] }\nend :: Sink\nsource".to_owned();
    for place in 1..=size.batch {
        let _ = writeln!(rules, "app(@NODE, {place}, \"app{place}\").");
        let _ = write!(graph, " -> app{place} :: Truncate {{ length: 100 }}");
    }
    graph += " -> end\n";
    vec![("a.olg", rules), ("a.com", MAIN.to_owned()), ("a.flow", graph)]
}

/// The file that a program writes.
fn file(ending: &str) -> String {
    format!("tidemill-bench-{}.{ending}", std::process::id())
}

/// Checks that all records of a run are in its file, with all payloads; removes the file.
///
/// # Errors
/// It cannot be read, or has other contents.
pub fn check_file(ending: &str, size: Size) -> Result<(), String> {
    let path = std::env::temp_dir().join(file(ending));
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let _ = std::fs::remove_file(&path);
    let count = size.payloads().count();
    let text = String::from_utf8_lossy(&bytes);
    let sum = |value: fn(&str) -> Option<u64>| text.lines().filter_map(value).sum::<u64>();
    let all: u64 = size.payloads().sum();
    let is_right = match ending {
        "jsonl" => text.lines().count() == count && sum(of_json) == all,
        "csv" => text.lines().count() == count + 1 && sum(of_csv) == all,
        // The file header, and each frame with its record header.
        _ => bytes.len() == 24 + count * (16 + 4) && bytes.ends_with(&[1, 2, 3, 4]),
    };
    if is_right { Ok(()) } else { Err(format!("{}: other records than given", path.display())) }
}

/// The payload in a record.
fn of_json(line: &str) -> Option<u64> {
    line.split_once("\"a4\":")?.1.split(',').next()?.parse().ok()
}

fn of_csv(line: &str) -> Option<u64> {
    line.split(',').nth(3)?.parse().ok()
}

/// Each payload is the key of an entry of a table that an app has.
pub fn table(size: Size) -> Vec<(&'static str, String)> {
    let rules = rules(
        size,
        "t gate::given(@N, V) :- given(@N, S, K, V).
        l last(@N, K, A + V) :- given(@N, S, K, V), last(@N, K, A).
        n round(@N, S + 1) :- go(@N, S).
        o over(@N, a_SUM<V>) :- ended(@N), last(@N, K, V).",
    );
    let graph = "app Gate {
            ports { input in; output out; }
            table given exact(value: u32) { writer program; size 65536; }
            on packet(in) { find given(1) { drop given; } send out; }
        }
        source :: Generator { frames: [\"hex 00\"] }
        gate :: Gate
        end :: Sink
        source -> gate -> end\n";
    vec![("a.olg", rules), ("a.com", MAIN.to_owned()), ("a.flow", graph.to_owned())]
}

fn filed(size: Size, ending: &str) -> Vec<(&'static str, String)> {
    let file = file(ending);
    let rules = rules(
        size,
        &format!(
            "sink(\"{file}\", out).
            f out(@N, S, K, V, Bytes) :- given(@N, S, K, V), Bytes := b\"\\x01\\x02\\x03\\x04\".
            l last(@N, K, A + V) :- given(@N, S, K, V), last(@N, K, A).
            n round(@N, S + 1) :- go(@N, S).
            o over(@N, a_SUM<V>) :- ended(@N), last(@N, K, V)."
        ),
    );
    vec![("a.olg", rules), ("a.com", MAIN.to_owned())]
}

pub fn jsonl(size: Size) -> Vec<(&'static str, String)> {
    filed(size, "jsonl")
}

pub fn csv(size: Size) -> Vec<(&'static str, String)> {
    filed(size, "csv")
}

pub fn pcap(size: Size) -> Vec<(&'static str, String)> {
    filed(size, "pcap")
}
