//! Faults drawn from the seed: actions like those of a script, made before the run.

use tidemill_stdx::rng::Rng;

use super::options::SimOptions;
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

/// The actions, none of them later than `until_ns`.
pub(super) fn cues(options: &SimOptions, until_ns: Option<u64>) -> Vec<Cue> {
    let random = Rng::new(options.seed).fork(STREAM);
    let mut drawn = Drawn {
        nodes: options.nodes,
        until_ns: until_ns.unwrap_or(u64::MAX).min(LAST_NS),
        cues: Vec::new(),
    };
    options.partition_ns.into_iter().for_each(|mean| drawn.partitions(random.fork(1), mean));
    options.pause_ns.into_iter().for_each(|mean| drawn.pauses(&random.fork(2), mean));
    options.slow_ns.into_iter().for_each(|turn| drawn.slow(random.fork(3), turn));
    options.skew_ns.into_iter().for_each(|most| drawn.clocks(random.fork(4), most));
    drawn.cues
}

struct Drawn {
    nodes: u32,
    until_ns: u64,
    cues: Vec<Cue>,
}

impl Drawn {
    fn add(&mut self, at_ns: u64, action: CueAction) {
        if at_ns <= self.until_ns {
            self.cues.push(Cue { when: When::At(at_ns), action, place: "drawn".to_owned() });
        }
    }

    /// Partitions of two groups, after exponentially distributed times: of both directions, of one,
    /// or flapping.
    fn partitions(&mut self, mut random: Rng, mean_ns: u64) {
        let mut at = 0;
        while self.nodes >= 2 {
            at = after(at, &mut random, mean_ns);
            if at > self.until_ns {
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
                self.add(begins, cut);
                self.add(begins.saturating_add(length), CueAction::Heal);
            }
            at = at.saturating_add(lasts);
        }
    }

    fn pauses(&mut self, random: &Rng, mean_ns: u64) {
        for node in 0..self.nodes {
            let (mut random, mut at) = (random.fork(node.into()), 0);
            loop {
                at = after(at, &mut random, mean_ns);
                if at > self.until_ns {
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
        self.add(0, CueAction::Slow(nodes, turn_ns));
    }

    fn clocks(&mut self, mut random: Rng, most_ns: u64) {
        let mut signed = |most: u64| {
            let most = most.min(i64::MAX as u64 / 2);
            random.range(0..=2 * most).cast_signed() - most.cast_signed()
        };
        for node in 0..self.nodes {
            let (offset, drift) = (signed(most_ns), signed(DRIFT_MAX_PPM));
            self.add(0, CueAction::Clock(vec![node], offset, drift));
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

    #[test]
    fn what_is_drawn_ends_in_time() {
        let options = SimOptions {
            nodes: 4,
            partition_ns: Some(2 * SECOND_NS),
            pause_ns: Some(2 * SECOND_NS),
            slow_ns: Some(1),
            skew_ns: Some(SECOND_NS),
            ..SimOptions::default()
        };
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
}
