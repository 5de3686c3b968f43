//! The latency of batches at borders: histograms in the counters, which repeat in virtual time.

use std::collections::BTreeMap;

use tidemill::console::Console;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Clock, EngineKind, RunOptions};
use tidemill_stat::Distribution;

use super::found;
use super::stages::options;

/// A component puts ticks, each of which passes through a stage; packets arrive, too.
const COMPONENTS: &str = "
INTERFACE Doubling; { IN Double(n: INTEGER) { OUT Doubled(n: INTEGER) } OUT Done } END Doubling;
COMPONENT Doubler OFFERS Doubling;
  IMPLEMENTATION Doubling; VARIABLE n: INTEGER;
  BEGIN WHILE ?Double DO ?Double(n); !Doubled(2 * n); !Done END END Doubling;
END Doubler;

INTERFACE Rules;
  { IN tick(n: INTEGER) OUT Taken
  | IN Next ( OUT doubled(change: CHARACTER; n: INTEGER) | OUT End ) }
END Rules;
COMPONENT Main REQUIRES Rules, SystemTime; VARIABLE i, n: INTEGER; change: CHARACTER;
BEGIN
  FOR i := 1 TO 20 DO
    Rules!tick(i); Rules?Taken;
    Rules!Next; Rules?doubled(change, n);
    ASSERT(n = 2 * i, 1);
    SystemTime!Wait(1); SystemTime?Passed
  END
END Main;";

const RULES: &str = "
    stage(\"cl:Doubler\", double, doubled).
    d double(@N, X) :- tick(@N, X).
    c flow::config(@N, \"cut\", \"length\", X) :- tick(@N, X).
    materialize(seen, infinity, infinity, keys(2)).
    s seen(@N, Length) :- packet(@N, Port, Id, Length).";

const GRAPH: &str = "
    src :: Source { packets: 300, size: 64 }
    cut :: Truncate { length: 100 }
    rules :: Rules { fields: \"caplen\", event: \"packet\" }
    src -> cut -> rules";

/// The histograms of all borders of a run.
fn latencies(clock: Clock) -> BTreeMap<String, Distribution> {
    let texts = [("a.olg", RULES), ("a.com", COMPONENTS), ("a.flow", GRAPH)];
    let loading = LoadOptions { injected: Some(Default::default()), ..LoadOptions::default() };
    let program = Program::of_texts(&texts, &loading);
    assert_eq!(found(&program), "");
    let mut options = RunOptions { clock, ..options() };
    // Packets arrive at once, and not when the graph is compiled.
    options.packets.engine = EngineKind::Dispatch;
    let registry = options.registry.clone();
    let report = program.run(options, Console::silent()).expect("it runs");
    assert!(report.is_well());
    let histograms = registry.snapshot().histograms;
    let of_borders = histograms.into_iter().filter_map(|(name, values)| {
        let border = name.strip_prefix("border/")?.strip_suffix("/latency_ns")?;
        Some((border.to_owned(), values))
    });
    of_borders.collect()
}

#[test]
fn each_border_has_a_histogram_of_what_its_batches_waited() {
    let all = latencies(Clock::Own);
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["Rules", "Rules.Next", "cl:Doubler", "cl:Doubler.out", "flow::config", "rules"]
    );
    let count = |name: &str| all[name].count();
    // Batches, not tuples or packets: all that arrives while the loop is busy is one batch.
    let of_tuples = ["Rules", "Rules.Next", "cl:Doubler", "cl:Doubler.out"].map(count);
    assert!(of_tuples.iter().all(|count| (1..=20).contains(count)), "{of_tuples:?}");
    assert!((1..300).contains(&count("rules")), "{}", count("rules"));
    assert!((1..=20).contains(&count("flow::config")), "{}", count("flow::config"));
    // In real time a batch waits at least for a turn.
    assert!(all["Rules"].max() > 0 && all["rules"].max() > 0, "{all:?}");
}

#[test]
fn in_virtual_time_they_repeat() {
    let all = latencies(Clock::Virtual);
    assert_eq!(latencies(Clock::Virtual), all);
    let count = |name: &str| all[name].count();
    assert_eq!(["Rules", "Rules.Next", "cl:Doubler", "cl:Doubler.out"].map(count), [20; 4]);
}
