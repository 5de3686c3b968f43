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
//! 30 apps and 60 links, as at the end of a tunnel. The kinds are plain or tagged, IPv4 or IPv6,
//! whole or in fragments: 16 with the directions. The kind that loses most is reported.
//!
//! Both take turns, a few milliseconds each, so that a disturbance of the machine affects both; the
//! share that a kind keeps is the median of some rounds.

use tidemill_apps::join::Join;
use tidemill_apps::reassemble::Reassemble;
use tidemill_apps::sink::Sink;
use tidemill_apps::split::Split;
use tidemill_apps::tee::Tee;
use tidemill_packet::app::{Config, Declared, Value};
use tidemill_packet::engine::{Engine, Rest};
use tidemill_packet::graph::Graph;

use super::apps::{Classify, Traffic};
use super::{BURST, OWN, Own, arrived, built_in, expect, in_order, run_to_end};
use crate::clock::{cpu_time, median};
use crate::extent::Extent;
use crate::report::{Report, Row};

/// Directions, and kinds of each.
const DIRECTIONS: [&str; 2] = ["west", "east"];
const KINDS: usize = 8;

/// Ways from split to join: those with an app in between, and all.
const TOUCHES: usize = 4;
const WAYS: usize = 9;

/// Breaths between two checks of progress, and the maximum number of packets that these carry.
const BREATHS: u64 = 16;
const LOOK: u64 = BREATHS * BURST as u64;

/// Packets of one turn.
const TURN: u64 = 4 * LOOK;

/// Packets before steady traffic is measured: by then the pool has reached its size, as that of
/// changing traffic has.
const WARM: u64 = 4 * LOOK;

/// Bytes of a packet after its headers, or of each of its fragments.
const PAYLOAD: u16 = 96;

/// Measures.
///
/// # Errors
/// An engine fails, or loses packets.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (seconds, rounds) = if extent.small { (0.002, 1) } else { (0.25, 7) };
    for own in OWN {
        let mut phases = Vec::new();
        for kind in 0..2 * KINDS {
            // A number of packets that takes long enough, so that no check misses a phase.
            let trial = if extent.small { 512 } else { 500_000 };
            let rate = steady(own, Phase::new(kind, trial))?;
            phases.push(Phase::new(kind, ((rate * seconds) as u64 / 2 * 2).max(2 * LOOK)));
        }
        let mut all = vec![Vec::new(); phases.len()];
        for _ in 0..rounds {
            for (all, both) in all.iter_mut().zip(compared(own, &phases, &phases)?) {
                all.push(both);
            }
        }
        report_phases(own, rounds, &all, report);
    }
    Ok(())
}

/// The number of packets, and the CPU time for them.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    packets: u64,
    seconds: f64,
}

impl Pace {
    fn add(&mut self, other: Pace) {
        self.packets += other.packets;
        self.seconds += other.seconds;
    }

    fn rate(self) -> f64 {
        self.packets as f64 / self.seconds
    }
}

/// A phase of changing traffic, and the same traffic steady.
#[derive(Clone, Copy, Debug, Default)]
struct Both {
    changing: Pace,
    steady: Pace,
}

impl Both {
    fn kept(self) -> f64 {
        self.changing.rate() / self.steady.rate()
    }
}

/// Reports the phases over all their rounds.
fn report_phases(own: Own, rounds: usize, all: &[Vec<Both>], report: &mut Report) {
    let medians = |figure: fn(&Both) -> f64| -> Vec<f64> {
        all.iter().map(|rounds| median(rounds.iter().map(figure).collect())).collect()
    };
    let low = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
    let kept = medians(|both| both.kept());
    if let Some((kind, _)) = kept.iter().enumerate().min_by(|one, other| one.1.total_cmp(other.1)) {
        report.note(&format!("workloads: {} loses most: {:?}", own.name(), Phase::new(kind, 0)));
    }
    let figures = [
        ("kept_min", low(&kept), ""),
        ("per_cpu_s_min", low(&medians(|both| both.changing.rate())), "1/s"),
        ("steady_per_cpu_s_min", low(&medians(|both| both.steady.rate())), "1/s"),
    ];
    for (metric, value, unit) in figures {
        let metric = (metric, unit);
        report.row(&Row::new("workloads", "30-apps", own.name(), metric, (value, rounds)));
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
    payload: u16,
}

impl Phase {
    /// The phase of a number, whose direction and kind differ from those of the previous number.
    fn new(kind: usize, packets: u64) -> Phase {
        let is = |bit: usize| kind >> bit & 1 == 1;
        // A Gray code: `fragmented` changes with every second number.
        Phase {
            east: is(0),
            fragmented: is(1),
            v6: is(2) != is(1),
            tagged: is(3) != is(2),
            packets,
            payload: PAYLOAD,
        }
    }

    /// Its frames in hexadecimal digits; fragments come in pairs.
    fn frames(self) -> Vec<String> {
        let tag = if self.tagged { "81000005" } else { "" };
        let ends = "020000000002020000000001";
        let size = self.payload;
        let payload = "55".repeat(size.into());
        let frames = match (self.v6, self.fragmented) {
            (false, false) => vec![format!("0800{}{payload}", v4(size, "0000"))],
            (false, true) => ["2000", "000c"]
                .map(|fragment| format!("0800{}{payload}", v4(size, fragment)))
                .to_vec(),
            (true, false) => vec![format!("86dd{}{payload}", v6(size, "11"))],
            (true, true) => ["0001", "0060"]
                .map(|offset| format!("86dd{}1100{offset}00000007{payload}", v6(size + 8, "2c")))
                .to_vec(),
        };
        frames.into_iter().map(|frame| format!("{ends}{tag}{frame}")).collect()
    }

    /// The number of whole packets that leave the graph.
    fn leaving(self) -> u64 {
        let joined = self.fragmented && !self.v6 && !self.tagged;
        if joined { self.packets / 2 } else { self.packets }
    }
}

/// The header of an IPv4 packet with this payload length, flags and offset. No app checks the
/// checksum of received packets.
fn v4(payload: u16, fragment: &str) -> String {
    format!("4500{:04x}0007{fragment}401100000a0000010a000002", payload + 20)
}

/// The header of an IPv6 packet with this payload length and next header.
fn v6(payload: u16, next: &str) -> String {
    let address = |last: u8| format!("20010db8{:022x}{last:02x}", 0);
    format!("60000000{payload:04x}{next}40{}{}", address(1), address(2))
}

fn graph(phases: &[Phase]) -> Graph {
    let list = |values: Vec<Value>| Value::List(values);
    let mut config = Config::new();
    let frames = |phase: &Phase| list(phase.frames().into_iter().map(Value::Text).collect());
    config.set("frames", list(phases.iter().map(frames).collect()));
    let number = |number: u64| Value::Integer(number.into());
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
    let untag = app("untag", built_in("VlanUntag"), none().with("tag", 5));
    let merge = app("merge", Join::declaration(), none());
    let tee = app("tee", Tee::declaration(), none());
    let sample = app("sample", built_in("Sample"), none().with("every", 1000));
    let split = app("split", Split::declaration(), none());
    let join = app("join", Join::declaration(), none());
    let tag = app("tag", built_in("VlanTag"), none().with("tag", 7));
    let truncate = app("truncate", built_in("Truncate"), none().with("length", 1400));
    let touch: Vec<usize> =
        (0..TOUCHES).map(|at| app(&format!("touch{at}"), built_in("Touch"), none())).collect();
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

/// Packets per CPU second of steady traffic alone.
fn steady(own: Own, phase: Phase) -> Result<f64, String> {
    let mut engine = own.engine(graph(&[phase]))?;
    let seconds = run_to_end(&mut engine)?;
    check(&mut engine, &[phase])?;
    Ok(phase.packets as f64 / seconds)
}

/// Each phase of `changing`, one after the other on one engine, against that of `steady` on an
/// engine of its own: they take turns.
fn compared(own: Own, changing: &[Phase], steady: &[Phase]) -> Result<Vec<Both>, String> {
    let mut course = Course::new(own, changing)?;
    let mut all = Vec::new();
    for (at, phase) in steady.iter().enumerate() {
        // The last check of a phase sees packets of the next.
        let alone = [Phase { packets: WARM + phase.packets + 2 * LOOK, ..*phase }];
        let mut other = Course::new(own, &alone)?;
        other.go(|other| other.sent >= WARM)?;
        let mut both = Both::default();
        while course.phase == at && !course.finished {
            let goal = course.sent + TURN;
            let turn = course.go(|course| course.phase != at || course.sent >= goal)?;
            both.changing.add(turn);
            let goal = other.sent + turn.packets;
            both.steady.add(other.go(|other| other.sent >= goal)?);
        }
        other.go(|_| false)?;
        check(&mut other.engine, &alone)?;
        all.push(both);
    }
    course.go(|_| false)?;
    check(&mut course.engine, changing)?;
    Ok(all)
}

/// Traffic in progress.
struct Course<'p> {
    engine: Engine,
    phases: &'p [Phase],
    phase: usize,
    /// Packets of all phases so far.
    sent: u64,
    finished: bool,
}

impl Course<'_> {
    fn new(own: Own, phases: &[Phase]) -> Result<Course<'_>, String> {
        let engine = own.engine(graph(phases))?;
        Ok(Course { engine, phases, phase: 0, sent: 0, finished: false })
    }

    /// Breathes until the condition holds, or to the end.
    fn go(&mut self, enough: impl Fn(&Self) -> bool) -> Result<Pace, String> {
        let (sent, start) = (self.sent, cpu_time());
        while !self.finished && !enough(self) {
            match self.engine.breathe_while_busy(BREATHS, u64::MAX) {
                (Rest::Busy, _) => {}
                (Rest::Finished, _) => self.finished = true,
                (rest, _) => return Err(format!("the graph rests before its end: {rest:?}")),
            }
            let (phase, sent) = progress(&self.engine)?;
            let before = self.phases.iter().take(phase).map(|phase| phase.packets);
            (self.phase, self.sent) = (phase, before.sum::<u64>() + sent);
        }
        let seconds = (cpu_time() - start).as_secs_f64();
        Ok(Pace { packets: self.sent - sent, seconds })
    }
}

/// The current phase of the traffic, and the number of packets sent in it.
fn progress(engine: &Engine) -> Result<(usize, u64), String> {
    let counts = engine.app_stats("traffic").ok_or("there is no traffic")?;
    let count = |name: &str| counts.iter().find(|(other, _)| other == name).map(|one| one.1);
    let phase = count("phase").ok_or("the traffic does not say its phase")?;
    Ok((phase as usize, count("sent").unwrap_or(0)))
}

/// Checks that all packets have arrived at the end, once more each through the sample.
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

    #[test]
    fn a_phase_that_is_slower_is_seen() {
        let steady: Vec<Phase> = (0..4).map(|kind| Phase::new(kind, 4 * TURN)).collect();
        let mut changing = steady.clone();
        // Whole and untagged; larger packets take longer to copy.
        changing[1].payload = 9000;
        for own in OWN {
            let all = compared(own, &changing, &steady).expect("runs");
            assert!(all[1].kept() < 0.95, "{} {all:?}", own.name());
        }
    }
}
