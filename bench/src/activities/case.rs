//! The cases: programs, parameters, and expected results.

/// The number of runs for the price of checkpoints, which is far less than the variation between
/// runs.
const PAIRS: usize = 41;

/// A program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bench {
    /// A token on its rounds through a ring of nodes.
    Ring,
    /// Producers and consumers with a buffer of 10.
    Prodcons,
    /// A filter per prime.
    Sieve,
    /// Hot loops.
    Spin,
    /// Activities blocked in receive.
    Spawn,
}

/// A program with one size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    pub bench: Bench,
    /// The name in rows.
    pub name: &'static str,
    /// The parameters in command lines.
    pub parameters: Vec<u64>,
    /// Runs of each contender.
    pub runs: usize,
    /// Pairs of runs with and without checkpoints, for their price; none: it is not measured.
    pub checkpoints: usize,
}

impl Bench {
    /// All programs.
    pub const ALL: [Bench; 5] =
        [Bench::Ring, Bench::Prodcons, Bench::Sieve, Bench::Spin, Bench::Spawn];

    /// The name in command lines and rows.
    pub fn name(self) -> &'static str {
        match self {
            Bench::Ring => "ring",
            Bench::Prodcons => "prodcons",
            Bench::Sieve => "sieve",
            Bench::Spin => "spin",
            Bench::Spawn => "spawn",
        }
    }

    /// The program in the component language.
    pub fn source(self) -> &'static str {
        match self {
            Bench::Ring => include_str!("../../cl/ring.com"),
            Bench::Prodcons => include_str!("../../cl/prodcons.com"),
            Bench::Sieve => include_str!("../../cl/sieve.com"),
            Bench::Spin => include_str!("../../cl/spin.com"),
            Bench::Spawn => include_str!("../../cl/spawn.com"),
        }
    }

    /// The large cases, with more runs of short ones.
    pub fn cases(self) -> Vec<Case> {
        let case = |name, parameters: &[u64], runs| self.case(name, parameters, runs);
        match self {
            Bench::Ring => vec![
                case("1000", &[1000, 1000], 5).with_checkpoints(PAIRS),
                case("10000", &[10_000, 1000], 3),
                case("100000", &[100_000, 1000], 1),
            ],
            Bench::Prodcons => vec![
                case("1-1", &[1, 1, 1_000_000], 5).with_checkpoints(PAIRS),
                case("1-10", &[1, 10, 1_000_000], 5),
                case("10-10", &[10, 10, 1_000_000], 3),
            ],
            Bench::Sieve => vec![
                case("1000", &[1000], 9),
                case("10000", &[10_000], 5).with_checkpoints(PAIRS),
                case("100000", &[100_000], 3),
            ],
            Bench::Spin => vec![case("16", &[16, 10_000_000], 5).with_checkpoints(PAIRS)],
            Bench::Spawn => {
                vec![case("1000000", &[1_000_000], 3), case("20000000", &[20_000_000], 1)]
            }
        }
    }

    /// Cases that take seconds, for tests.
    pub fn small_cases(self) -> Vec<Case> {
        let case = |name, parameters: &[u64]| self.case(name, parameters, 1);
        match self {
            Bench::Ring => vec![case("100", &[100, 20]).with_checkpoints(1), case("2", &[2, 3])],
            Bench::Prodcons => vec![
                case("1-1", &[1, 1, 2000]).with_checkpoints(1),
                case("1-10", &[1, 10, 2000]),
                case("10-10", &[10, 10, 200]),
            ],
            Bench::Sieve => vec![case("1000", &[1000]).with_checkpoints(1)],
            Bench::Spin => vec![case("16", &[16, 100_000]).with_checkpoints(1)],
            Bench::Spawn => vec![case("10000", &[10_000])],
        }
    }

    fn case(self, name: &'static str, parameters: &[u64], runs: usize) -> Case {
        Case { bench: self, name, parameters: parameters.to_vec(), runs, checkpoints: 0 }
    }
}

impl Case {
    fn with_checkpoints(self, runs: usize) -> Case {
        Case { checkpoints: runs, ..self }
    }

    /// The expected result of every run: hops, the sum of the items, primes, the sum of the loops,
    /// activities that answered.
    pub fn expected(&self) -> u64 {
        let p = |i: usize| self.parameters.get(i).copied().unwrap_or(0);
        match self.bench {
            Bench::Ring => p(0) * p(1),
            Bench::Prodcons => p(0) * (p(2) * (p(2) + 1) / 2),
            Bench::Sieve => smallest_factors(p(0)).primes().count() as u64,
            Bench::Spin => (1..=p(0)).map(|seed| spun(seed, p(1))).sum(),
            Bench::Spawn => p(0),
        }
    }
}

fn spun(seed: u64, loops: u64) -> u64 {
    (1..=loops).fold(seed, |x, i| (x * 5 + i) % 8192)
}

/// The smallest prime factor of each number up to a limit.
struct SmallestFactors(Vec<usize>);

fn smallest_factors(limit: u64) -> SmallestFactors {
    let mut smallest = vec![0; limit as usize + 1];
    for factor in 2..smallest.len() {
        for multiple in (factor..smallest.len()).step_by(factor) {
            if smallest[multiple] == 0 {
                smallest[multiple] = factor;
            }
        }
    }
    SmallestFactors(smallest)
}

impl SmallestFactors {
    fn primes(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().skip(2).filter(|(n, smallest)| n == *smallest).map(|(n, _)| n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of messages that filters receive: each number goes as far as the filter of its
    /// smallest factor.
    fn messages(limit: u64) -> usize {
        let factors = smallest_factors(limit);
        let primes: Vec<usize> = factors.primes().collect();
        let filters = |factor: &usize| primes.partition_point(|prime| prime <= factor);
        factors.0.iter().skip(2).map(filters).sum()
    }

    #[test]
    fn the_sieve_has_the_documented_work() {
        assert_eq!(messages(1000), 15_788);
        assert_eq!(messages(10_000), 777_860);
        assert_eq!(messages(100_000), 46_324_069);
    }

    #[test]
    fn results_are_mathematically_correct() {
        let expected = |bench: Bench| bench.cases().iter().map(Case::expected).collect::<Vec<_>>();
        assert_eq!(expected(Bench::Ring), [1_000_000, 10_000_000, 100_000_000]);
        assert_eq!(expected(Bench::Sieve), [168, 1229, 9592]);
        assert_eq!(expected(Bench::Prodcons)[1], 500_000_500_000);
        assert_eq!(Bench::Spin.case("", &[2, 2], 1).expected(), 32 + 57);
    }
}
