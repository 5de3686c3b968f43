//! Random numbers from a seed: the same on every machine.
//!
//! The generator is xoshiro256** of Blackman and Vigna, whose state is filled by splitmix64
//! (<https://prng.di.unimi.it>). It is for simulation and sampling, not for secrets.
//!
//! Parts that must not disturb each other (one node's timers and another's losses) draw from
//! streams of their own: [`Rng::fork`] depends on the seed and the stream's number only, not on
//! how much was drawn before.
//!
//! ```
//! use tidemill_stdx::rng::Rng;
//!
//! let mut simulation = Rng::new(1);
//! let mut network = simulation.fork(0);
//! let latency_ms = network.range(10..=50);
//! assert!((10..=50).contains(&latency_ms));
//! simulation.next_u64();
//! assert_eq!(simulation.fork(0).range(10..=50), latency_ms);
//! ```

use crate::hash;
use std::ops::RangeInclusive;

/// A seeded generator of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    seed: u64,
    state: [u64; 4],
}

impl Rng {
    /// The generator of `seed`; every seed is good.
    pub fn new(seed: u64) -> Rng {
        let mut filler = seed;
        Rng { seed, state: std::array::from_fn(|_| splitmix64(&mut filler)) }
    }

    /// The generator of the stream `stream` of this one's seed.
    pub fn fork(&self, stream: u64) -> Rng {
        Rng::new(hash::combine(hash::hash_u64(self.seed), stream))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A number below `bound`, each with the same probability; 0 if `bound` is 0.
    ///
    /// Multiplies instead of dividing (Lemire, "Fast random integer generation in an interval",
    /// 2019) and draws again in the rare case that would favour some numbers.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let favoured = bound.wrapping_neg() % bound;
            while (product as u64) < favoured {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A number of `range`, both ends included, each with the same probability; the start of an
    /// empty range.
    pub fn range(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (start, end) = range.into_inner();
        match end.saturating_sub(start).checked_add(1) {
            Some(count) => start + self.below(count),
            None => self.next_u64(),
        }
    }

    /// A number in `0.0 .. 1.0`: a multiple of 2^-53, each with the same probability.
    #[inline]
    pub fn f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `probability`; never at 0 and always from 1 on.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.f64() < probability
    }

    /// A number of the exponential distribution with this mean: never negative, and finite.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - f64() is never 0. The logarithm of libm has the same bits on every machine.
        -mean * libm::log(1.0 - self.f64())
    }

    /// Puts `values` into a random order, each with the same probability.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// One of `values`; `None` if there are none.
    pub fn pick<'a, T>(&mut self, values: &'a [T]) -> Option<&'a T> {
        values.get(self.below(values.len() as u64) as usize)
    }

    /// Fills `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequences_are_the_published_ones() {
        let mut state = 1_234_567;
        assert_eq!(
            [(); 5].map(|()| splitmix64(&mut state)),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
        let mut rng = Rng { seed: 0, state: [1, 2, 3, 4] };
        assert_eq!(
            [(); 4].map(|()| rng.next_u64()),
            [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240]
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of many draws")]
    fn ranges_reach_both_ends_evenly() {
        let mut rng = Rng::new(7);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.range(10..=15) as usize - 10] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert_eq!(rng.range(5..=5), 5);
        assert_eq!(rng.below(0), 0);
        #[allow(clippy::reversed_empty_ranges)]
        let empty = rng.range(9..=3);
        assert_eq!(empty, 9);
        let whole = [(); 8].map(|()| rng.range(0..=u64::MAX));
        assert!(whole.iter().any(|&word| word > u64::MAX / 2));
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of many draws")]
    fn a_bound_that_does_not_divide_2_to_the_64_favours_nothing() {
        // Without drawing again, the numbers 0, 3, 6, ... of this bound would come twice as often.
        let bound = 3u64 << 62;
        let mut rng = Rng::new(3);
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            counts[(rng.below(bound) % 3) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of many draws")]
    fn an_exponential_has_its_mean() {
        let mut rng = Rng::new(11);
        let drawn: Vec<f64> = (0..100_000).map(|_| rng.exponential(60.0)).collect();
        assert!(drawn.iter().all(|&x| x >= 0.0 && x.is_finite()));
        let mean = drawn.iter().sum::<f64>() / 1e5;
        assert!((59.0..61.0).contains(&mean), "{mean}");
        // The median of an exponential is its mean times ln 2.
        let below = drawn.iter().filter(|&&x| x < 60.0 * std::f64::consts::LN_2).count();
        assert!((49_000..51_000).contains(&below), "{below}");
        // Bits that traces depend on.
        assert_eq!(Rng::new(1).exponential(1.0).to_bits(), 4_608_145_108_196_871_527);
    }

    #[test]
    fn streams_are_independent_of_draws_and_of_each_other() {
        let mut rng = Rng::new(5);
        let mut streams: Vec<u64> = (0..1000).map(|i| rng.fork(i).next_u64()).collect();
        rng.next_u64();
        assert_eq!(rng.fork(17).next_u64(), streams[17]);
        assert_ne!(rng.fork(1).fork(2), rng.fork(2).fork(1));
        streams.sort_unstable();
        streams.dedup();
        assert_eq!(streams.len(), 1000);
    }

    #[test]
    #[cfg_attr(miri, ignore = "statistics of many draws")]
    fn chances_orders_and_picks() {
        let mut rng = Rng::new(2);
        assert!((0..1000).all(|_| !rng.chance(0.0) && rng.chance(1.0)));
        let kept = (0..10_000).filter(|_| rng.chance(0.25)).count();
        assert!((2_300..2_700).contains(&kept), "{kept}");
        let mut orders = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut values = [1, 2, 3];
            rng.shuffle(&mut values);
            *orders.entry(values).or_insert(0) += 1;
        }
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (850..1150).contains(count)), "{orders:?}");
        assert_eq!(rng.pick::<u8>(&[]), None);
        let mut bytes = [0; 13];
        rng.fill(&mut bytes);
        assert!(bytes[8..].iter().any(|&byte| byte != 0));
    }
}
