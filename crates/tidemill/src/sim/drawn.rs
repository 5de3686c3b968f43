//! Faults drawn from the seed: actions like those of a script, made before the run.

use tidemill_stdx::rng::Rng;

use super::fault_options::FaultOptions;
use super::options::{SimOptions, Stretch};
use crate::script::{Cue, CueAction, Direction, When};
use crate::seconds::SECOND_NS;

/// Separates the random streams of these faults from all others.
const STREAM: u64 = 0x6472_6177_6e00;

/// The latest time of a fault in a run without an end: an hour.
const LAST_NS: u64 = 3_600_000_000_000;

/// The maximum pause of a node.
const PAUSE_MAX_NS: u64 = 10 * SECOND_NS;

/// The maximum drift of a clock, in millionths.
const DRIFT_MAX_PPM: u64 = 10_000;

/// The actions, none of them later than `until_ns`. At the start of each later phase they change
/// the seed, the latency of datagrams, and which nodes are slow.
pub(super) fn cues(options: &SimOptions, until_ns: Option<u64>) -> Vec<Cue> {
    let until_ns = until_ns.unwrap_or(u64::MAX);
    let mut drawn = Drawn {
        nodes: options.nodes,
        from_ns: 0,
        last_ns: 0,
        until_ns: until_ns.min(LAST_NS),
        cues: Vec::new(),
    };
    let stretches = options.stretches(Some(until_ns));
    let mut before: Option<&FaultOptions> = None;
    for Stretch { from_ns, before_ns, seed, faults } in stretches {
        drawn.from_ns = from_ns;
        let last_ns = before_ns.map_or(u64::MAX, |ns| ns.saturating_sub(1));
        drawn.last_ns = last_ns.min(drawn.until_ns);
        if let Some(before) = before {
            drawn.phase(seed, (before, faults));
        }
        let random = Rng::new(seed).fork(STREAM);
        faults.partition_ns.into_iter().for_each(|mean| drawn.partitions(random.fork(1), mean));
        faults.pause_ns.into_iter().for_each(|mean| drawn.pauses(&random.fork(2), mean));
        faults.slow_ns.into_iter().for_each(|turn| drawn.slow(random.fork(3), turn));
        faults.skew_ns.into_iter().for_each(|most| drawn.clocks(random.fork(4), most));
        before = Some(faults);
    }
    drawn.cues
}

/// The same, and the actions that change how many datagrams are lost, duplicated and reordered when
/// phases begin.
pub(super) fn all(options: &SimOptions, until_ns: Option<u64>) -> Vec<Cue> {
    let mut all = cues(options, until_ns);
    all.extend(network(options, until_ns));
    all
}

fn network(options: &SimOptions, until_ns: Option<u64>) -> Vec<Cue> {
    let stretches = options.stretches(until_ns);
    let pairs = stretches.iter().zip(stretches.iter().skip(1));
    let changed = |(before, after): (&Stretch<'_>, &Stretch<'_>)| {
        let (at_ns, before, after) = (after.from_ns, before.faults, after.faults);
        let actions = [
            (before.loss, after.loss, CueAction::Loss(after.loss)),
            (before.duplicate, after.duplicate, CueAction::Duplicate(after.duplicate)),
            (before.reorder, after.reorder, CueAction::Reorder(after.reorder)),
        ];
        let changes = actions.into_iter().filter(|(before, after, _)| before != after);
        changes.map(|(.., action)| at(at_ns, action)).collect::<Vec<Cue>>()
    };
    pairs.flat_map(changed).collect()
}

/// The action that sets the latency of datagrams.
pub(super) fn latency(faults: &FaultOptions) -> CueAction {
    let (least, most) = faults.latency_ns();
    CueAction::Latency { least, most, shape: faults.latency_shape }
}

fn at(ns: u64, action: CueAction) -> Cue {
    Cue { when: When::At(ns), action, place: "drawn".to_owned() }
}

struct Drawn {
    nodes: u32,
    /// The times of the phase: what begins in it does so from the first to the last.
    from_ns: u64,
    last_ns: u64,
    until_ns: u64,
    cues: Vec<Cue>,
}

impl Drawn {
    fn add(&mut self, at_ns: u64, action: CueAction) {
        if at_ns <= self.until_ns {
            self.cues.push(at(at_ns, action));
        }
    }

    /// The start of a later phase.
    fn phase(&mut self, seed: u64, (before, after): (&FaultOptions, &FaultOptions)) {
        self.add(self.from_ns, CueAction::Seed(seed));
        let latency_of = |faults: &FaultOptions| (faults.latency, faults.latency_shape);
        if latency_of(before) != latency_of(after) {
            self.add(self.from_ns, latency(after));
        }
        if before.slow_ns.is_some() {
            self.add(self.from_ns, CueAction::Slow((0..self.nodes).collect(), 0));
        }
    }

    /// Partitions of two groups, after exponentially distributed times: of both directions, of one,
    /// or flapping.
    fn partitions(&mut self, mut random: Rng, mean_ns: u64) {
        let mut at = self.from_ns;
        while self.nodes >= 2 {
            at = after(at, &mut random, mean_ns);
            if at > self.last_ns {
                break;
            }
            let groups = groups(self.nodes, &mut random);
            let lasts = after(0, &mut random, mean_ns / 2);
            let (direction, times) = match random.below(3) {
                0 => (Direction::Both, 1),
                1 => (Direction::Forth, 1),
                _ => (Direction::Both, random.range(2..=6)),
            };
            let step = (lasts / (2 * times)).max(1);
            for number in 0..times {
                let cut = CueAction::Partition(groups.clone(), direction);
                let begins = at.saturating_add(2 * number * step);
                let length = if times == 1 { lasts } else { step };
                if begins > self.last_ns {
                    break;
                }
                self.add(begins, cut);
                self.add(begins.saturating_add(length), CueAction::Heal);
            }
            at = at.saturating_add(lasts);
        }
    }

    fn pauses(&mut self, random: &Rng, mean_ns: u64) {
        for node in 0..self.nodes {
            let (mut random, mut at) = (random.fork(node.into()), self.from_ns);
            loop {
                at = after(at, &mut random, mean_ns);
                if at > self.last_ns {
                    break;
                }
                let lasts = after(SECOND_NS / 2, &mut random, 2 * SECOND_NS).min(PAUSE_MAX_NS);
                self.add(at, CueAction::Pause(vec![node], lasts));
                at = at.saturating_add(lasts);
            }
        }
    }

    /// One node, and each other with a probability of one half.
    fn slow(&mut self, mut random: Rng, turn_ns: u64) {
        let one = random.below(self.nodes.into()) as u32;
        let nodes = (0..self.nodes).filter(|node| random.chance(0.5) || *node == one).collect();
        self.add(self.from_ns, CueAction::Slow(nodes, turn_ns));
    }

    fn clocks(&mut self, mut random: Rng, most_ns: u64) {
        let mut signed = |most: u64| {
            let most = most.min(i64::MAX as u64 / 2);
            random.range(0..=2 * most).cast_signed() - most.cast_signed()
        };
        for node in 0..self.nodes {
            let (offset, drift) = (signed(most_ns), signed(DRIFT_MAX_PPM));
            self.add(self.from_ns, CueAction::Clock(vec![node], offset, drift));
        }
    }
}

/// A time after `at` with an exponential distribution.
fn after(at: u64, random: &mut Rng, mean_ns: u64) -> u64 {
    // The cast saturates. At least a nanosecond, so that time advances.
    at.saturating_add((random.exponential(mean_ns as f64) as u64).max(1))
}

/// Two groups of all nodes, none of them empty.
fn groups(nodes: u32, random: &mut Rng) -> Vec<Vec<u32>> {
    let first = random.below(nodes.into()) as u32;
    let other = (first + 1 + random.below(u64::from(nodes) - 1) as u32) % nodes;
    let is_in_first = |node: &u32| match *node {
        node if node == first => true,
        node if node == other => false,
        _ => random.chance(0.5),
    };
    let (one, two) = (0..nodes).partition(is_in_first);
    vec![one, two]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::phase::Phase;

    #[test]
    fn what_is_drawn_ends_in_time() {
        let faults = FaultOptions {
            partition_ns: Some(2 * SECOND_NS),
            pause_ns: Some(2 * SECOND_NS),
            slow_ns: Some(1),
            skew_ns: Some(SECOND_NS),
            ..FaultOptions::default()
        };
        let options = SimOptions { nodes: 4, faults, ..SimOptions::default() };
        let (mut ways, mut slow) = ([0, 0], 0);
        for seed in 0..20 {
            let drawn = cues(&SimOptions { seed, ..options.clone() }, Some(30 * SECOND_NS));
            for cue in drawn {
                assert!(cue.when.first() <= 30 * SECOND_NS);
                match cue.action {
                    CueAction::Partition(groups, direction) => {
                        assert!(groups.iter().all(|group| !group.is_empty()));
                        assert_eq!(groups.concat().len(), 4);
                        ways[usize::from(direction == Direction::Forth)] += 1;
                    }
                    CueAction::Clock(_, offset, _) => {
                        assert!(offset.unsigned_abs() <= SECOND_NS);
                    }
                    CueAction::Slow(nodes, 1) => slow += usize::from(!nodes.is_empty()),
                    CueAction::Pause(nodes, lasts) => {
                        assert!(nodes.len() == 1 && (1..=PAUSE_MAX_NS).contains(&lasts));
                    }
                    other => assert_eq!(other, CueAction::Heal),
                }
            }
        }
        assert!(ways.iter().all(|count| *count > 20) && slow == 20, "{ways:?} {slow}");
        assert!(cues(&SimOptions { nodes: 1, ..options }, None).len() > 3);
    }

    /// What is drawn before a phase stays, and what is drawn in it follows from its own seed.
    #[test]
    fn a_phase_changes_what_comes_after_its_start() {
        let faults = FaultOptions {
            partition_ns: Some(2 * SECOND_NS),
            pause_ns: Some(SECOND_NS),
            slow_ns: Some(1),
            loss: 0.5,
            ..FaultOptions::default()
        };
        let options = SimOptions { nodes: 4, faults, ..SimOptions::default() };
        let from_ns = 10 * SECOND_NS;
        let phase = |seed, faults| Phase { from_ns, seed, faults };
        let with = |phase| SimOptions { then: vec![phase], ..options.clone() };
        let until_ns = Some(30 * SECOND_NS);
        let parts = |options: &SimOptions| -> (Vec<Cue>, Vec<Cue>) {
            let mut all = cues(options, until_ns);
            all.sort_by_key(|cue| cue.when.first());
            all.into_iter().partition(|cue| cue.when.first() < from_ns)
        };
        let (before, after) = parts(&options);
        let same = with(phase(7, options.faults.clone()));
        let (still_before, other) = parts(&same);
        assert_eq!(before, still_before);
        assert_ne!(after, other);
        assert_eq!(network(&same, until_ns), []);
        let is_seed = |cue: &Cue| *cue == at(from_ns, CueAction::Seed(7));
        assert_eq!(other.iter().filter(|cue| is_seed(cue)).count(), 1);
        let none = with(phase(7, FaultOptions::default()));
        let (still_before, calm) = parts(&none);
        assert_eq!(before, still_before);
        let ends = |cue: &Cue| {
            is_seed(cue) || matches!(cue.action, CueAction::Heal | CueAction::Slow(_, 0))
        };
        assert!(calm.iter().all(ends), "{calm:?}");
        assert_eq!(network(&none, until_ns), [at(from_ns, CueAction::Loss(0.0))]);
        assert_eq!(cues(&none, Some(from_ns)), cues(&options, Some(from_ns)));
    }
}
