//! Traffic that changes its direction and its kind four times a second, against the same traffic
//! steady.
//!
//! ```text
//! traffic -> classify -> v4, v6, other -----------> merge -> tee -> sample -> end
//!   two                  v4 fragments -> reassemble --^       |
//!   directions           tagged -> untag -------------^       +-> split -> 9 ways -> join
//!                                                                              |
//!                                                         end <- truncate <- tag
//! ```
//! 30 apps and 60 links, as a tunnel's end has them. The kinds are plain or tagged, IPv4 or IPv6,
//! whole or in fragments: 16 with the directions. Reported is the kind that loses most.

use tidemill_apps::join::Join;
use tidemill_apps::mark::Touch;
use tidemill_apps::reassemble::Reassemble;
use tidemill_apps::sample::Sample;
use tidemill_apps::sink::Sink;
use tidemill_apps::split::Split;
use tidemill_apps::tee::Tee;
use tidemill_apps::truncate::Truncate;
use tidemill_apps::vlan::{VlanTag, VlanUntag};
use tidemill_packet::app::{Config, Declared, Value};
use tidemill_packet::engine::{Engine, Rest};
use tidemill_packet::graph::Graph;

use super::apps::{Classify, Traffic};
use super::{OWN, Own, arrived, expect, in_order, run_to_end};
use crate::Extent;
use crate::clock::cpu_time;
use crate::report::{Report, Row};

/// Directions, and kinds of each.
const DIRECTIONS: [&str; 2] = ["west", "east"];
const KINDS: usize = 8;

/// Ways from split to join: those with an app in between, and all.
const TOUCHES: usize = 4;
const WAYS: usize = 9;

/// Breaths between two looks at how far the traffic is.
const BREATHS: u64 = 16;

/// Measures.
///
/// # Errors
/// An engine fails, or loses packets.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (seconds, rounds) = if extent.small { (0.002, 1) } else { (0.25, 9) };
    for own in OWN {
        let mut phases = Vec::new();
        for kind in 0..2 * KINDS {
            // As many packets as take so long.
            let trial = if extent.small { 512 } else { 500_000 };
            let rate = steady(own, Phase::new(kind, trial))?;
            phases.push(Phase::new(kind, (rate * seconds) as u64 / 2 * 2 + 2));
        }
        // The best of some rounds: what comes from outside only slows down.
        let mut changing = vec![0.0f64; phases.len()];
        let mut alone = changing.clone();
        for _ in 0..rounds {
            let rates = changed(own, &phases)?;
            for (at, (phase, rate)) in phases.iter().zip(rates).enumerate() {
                changing[at] = changing[at].max(rate);
                alone[at] = alone[at].max(steady(own, *phase)?);
            }
        }
        tell(own, rounds, &changing, &alone, report);
    }
    Ok(())
}

fn tell(own: Own, rounds: usize, changing: &[f64], alone: &[f64], report: &mut Report) {
    let kinds = changing.iter().zip(alone).map(|(changing, alone)| changing / alone).enumerate();
    if let Some((kind, _)) = kinds.min_by(|one, other| one.1.total_cmp(&other.1)) {
        report.note(&format!("workloads: {} loses most: {:?}", own.name(), Phase::new(kind, 0)));
    }
    let low = |rates: &mut dyn Iterator<Item = f64>| rates.fold(f64::INFINITY, f64::min);
    let kept = low(&mut changing.iter().zip(alone).map(|(changing, alone)| changing / alone));
    let figures = [
        ("kept_min", kept, ""),
        ("per_cpu_s_min", low(&mut changing.iter().copied()), "1/s"),
        ("steady_per_cpu_s_min", low(&mut alone.iter().copied()), "1/s"),
    ];
    for (metric, value, unit) in figures {
        report.row(&Row {
            bench: "workloads",
            case: "30-apps".to_owned(),
            who: own.name().to_owned(),
            metric,
            value,
            unit,
            runs: rounds,
        });
    }
}

/// Packets of one kind in one direction.
#[derive(Clone, Copy, Debug)]
struct Phase {
    east: bool,
    tagged: bool,
    v6: bool,
    fragmented: bool,
    packets: u64,
}

impl Phase {
    /// With each number another direction than the one before, and another kind.
    fn new(kind: usize, packets: u64) -> Phase {
        let is = |bit: usize| kind >> bit & 1 == 1;
        // A Gray code: `fragmented` changes with every second number.
        Phase {
            east: is(0),
            fragmented: is(1),
            v6: is(2) != is(1),
            tagged: is(3) != is(2),
            packets,
        }
    }

    /// Its frames in hexadecimal digits; fragments come in pairs.
    fn frames(self) -> Vec<String> {
        let tag = if self.tagged { "81000005" } else { "" };
        let ends = "020000000002020000000001";
        let payload = "55".repeat(96);
        let frames = match (self.v6, self.fragmented) {
            (false, false) => vec![format!("0800{}{payload}", v4(96, "0000"))],
            (false, true) => ["2000", "000c"]
                .map(|fragment| format!("0800{}{payload}", v4(96, fragment)))
                .to_vec(),
            (true, false) => vec![format!("86dd{}{payload}", v6(96, "11"))],
            (true, true) => ["0001", "0060"]
                .map(|offset| format!("86dd{}1100{offset}00000007{payload}", v6(104, "2c")))
                .to_vec(),
        };
        frames.into_iter().map(|frame| format!("{ends}{tag}{frame}")).collect()
    }

    /// How many whole packets leave the graph.
    fn leaving(self) -> u64 {
        let joined = self.fragmented && !self.v6 && !self.tagged;
        if joined { self.packets / 2 } else { self.packets }
    }
}

/// The header of an IPv4 packet with so many bytes behind it, and these flags and offset. Nothing
/// on the way looks at the checksum of what comes in.
fn v4(payload: u16, fragment: &str) -> String {
    format!("4500{:04x}0007{fragment}401100000a0000010a000002", payload + 20)
}

/// The header of an IPv6 packet, likewise, and what comes next in it.
fn v6(payload: u16, next: &str) -> String {
    let address = |last: u8| format!("20010db8{:022x}{last:02x}", 0);
    format!("60000000{payload:04x}{next}40{}{}", address(1), address(2))
}

fn graph(phases: &[Phase]) -> Graph {
    let list = |values: Vec<Value>| Value::List(values);
    let mut config = Config::new();
    let frames = |phase: &Phase| list(phase.frames().into_iter().map(Value::Text).collect());
    config.set("frames", list(phases.iter().map(frames).collect()));
    let number = |number: u64| Value::Integer(number as i64);
    config.set("outputs", list(phases.iter().map(|one| number(one.east.into())).collect()));
    config.set("packets", list(phases.iter().map(|one| number(one.packets)).collect()));
    let mut graph = Graph::new();
    let traffic = graph.app("traffic", Traffic::declaration(), config);
    let end = graph.app("end", Sink::declaration(), Config::new());
    for direction in DIRECTIONS {
        way(&mut graph, direction, traffic, end);
    }
    graph
}

/// The apps of one direction.
fn way(graph: &mut Graph, direction: &str, traffic: usize, end: usize) {
    let named = |name: &str| format!("{direction}_{name}");
    let mut app = |name: &str, kind, config| graph.app(&named(name), kind, config);
    let none = Config::new;
    let classify = app("classify", Classify::declaration(), none());
    let reassemble = app("reassemble", Reassemble::declaration(), none());
    let untag = app("untag", VlanUntag::declaration(), none().with("tag", 5));
    let merge = app("merge", Join::declaration(), none());
    let tee = app("tee", Tee::declaration(), none());
    let sample = app("sample", Sample::declaration(), none().with("every", 1000));
    let split = app("split", Split::declaration(), none());
    let join = app("join", Join::declaration(), none());
    let tag = app("tag", VlanTag::declaration(), none().with("tag", 7));
    let truncate = app("truncate", Truncate::declaration(), none().with("length", 1400));
    let touch: Vec<usize> =
        (0..TOUCHES).map(|at| app(&format!("touch{at}"), Touch::declaration(), none())).collect();
    graph.link((traffic, direction), (classify, "input"));
    for class in ["v4", "v6", "v6_fragment", "other"] {
        graph.link((classify, class), (merge, class));
    }
    graph.link((classify, "v4_fragment"), (reassemble, "input"));
    graph.link((classify, "tagged"), (untag, "input"));
    graph.link((reassemble, "output"), (merge, "reassemble"));
    graph.link((untag, "output"), (merge, "untag"));
    graph.link((merge, "output"), (tee, "input"));
    graph.link((tee, "sample"), (sample, "input"));
    graph.link((tee, "split"), (split, "input"));
    graph.link((sample, "output"), (end, &named("sample")));
    graph.link((sample, "rest"), (end, &named("rest")));
    for at in 0..WAYS {
        let port = format!("way{at}");
        match touch.get(at) {
            Some(&touch) => {
                graph.link((split, &port), (touch, "input"));
                graph.link((touch, "output"), (join, &port));
            }
            None => graph.link((split, &port), (join, &port)),
        }
    }
    graph.link((join, "output"), (tag, "input"));
    graph.link((tag, "output"), (truncate, "input"));
    graph.link((truncate, "output"), (end, &named("truncate")));
}

/// Packets per CPU second if there is nothing else.
fn steady(own: Own, phase: Phase) -> Result<f64, String> {
    let mut engine = own.engine(graph(&[phase]))?;
    let seconds = run_to_end(&mut engine)?;
    check(&mut engine, &[phase])?;
    Ok(phase.packets as f64 / seconds)
}

/// Packets per CPU second in each phase, one after the other.
fn changed(own: Own, phases: &[Phase]) -> Result<Vec<f64>, String> {
    let mut engine = own.engine(graph(phases))?;
    let starts: Vec<u64> = phases
        .iter()
        .scan(0, |sum, phase| Some(std::mem::replace(sum, *sum + phase.packets)))
        .collect();
    let (mut rates, mut last, mut before) = (Vec::new(), 0, (0, cpu_time()));
    loop {
        let (rest, _) = engine.breathe_while_busy(BREATHS, u64::MAX);
        let (phase, sent) = progress(&engine)?;
        if phase != last {
            let total = starts.get(phase).copied().unwrap_or_else(|| leaves(phases)) + sent;
            let now = (total, cpu_time());
            let rate = (now.0 - before.0) as f64 / (now.1 - before.1).as_secs_f64();
            // A look may come so late that it has missed one: in small runs.
            rates.resize(phase, rate);
            (last, before) = (phase, now);
        }
        match rest {
            Rest::Busy => {}
            Rest::Finished => break,
            rest => return Err(format!("the graph rests before its end: {rest:?}")),
        }
    }
    check(&mut engine, phases)?;
    Ok(rates)
}

/// All packets that come.
fn leaves(phases: &[Phase]) -> u64 {
    phases.iter().map(|phase| phase.packets).sum()
}

/// In which phase the traffic is, and how many packets of that it has sent.
fn progress(engine: &Engine) -> Result<(usize, u64), String> {
    let counts = engine.app_stats("traffic").ok_or("there is no traffic")?;
    let count = |name: &str| counts.iter().find(|(other, _)| other == name).map(|one| one.1);
    let phase = count("phase").ok_or("the traffic does not say its phase")?;
    Ok((phase as usize, count("sent").unwrap_or(0)))
}

/// All packets have come to the end, once more each by way of the sample.
fn check(engine: &mut Engine, phases: &[Phase]) -> Result<(), String> {
    let expected: u64 = phases.iter().map(|phase| phase.leaving()).sum();
    let mut sums = [0, 0];
    for direction in DIRECTIONS {
        let link = |from: &str, port: &str, app: &str| {
            let link = format!("{direction}_{from}.{port}->end.{direction}_{app}");
            arrived(engine, &link)
        };
        sums[0] += link("truncate", "output", "truncate")?;
        sums[1] += link("sample", "output", "sample")? + link("sample", "rest", "rest")?;
    }
    sums.into_iter().try_for_each(|sum| expect(sum, expected))?;
    in_order(engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_is_as_large_as_it_should_be() {
        let graph = graph(&[Phase::new(0, 1)]);
        assert_eq!((graph.apps.len(), graph.links.len()), (30, 60));
        assert_eq!(graph.verify(), []);
    }

    #[test]
    fn no_two_phases_are_alike_and_each_changes_the_direction() {
        let phases: Vec<Phase> = (0..2 * KINDS).map(|kind| Phase::new(kind, 1)).collect();
        let kind = |phase: &Phase| (phase.east, phase.tagged, phase.v6, phase.fragmented);
        let mut kinds: Vec<_> = phases.iter().map(kind).collect();
        assert!(phases.windows(2).all(|pair| pair[0].east != pair[1].east));
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), 2 * KINDS);
    }
}
