//! The retransmission timeout (RFC 6298).

/// The timeout before the first measurement.
const INITIAL_NS: u64 = 1_000_000_000;
/// The minimum, so that a delayed acknowledgement is no loss.
const MIN_NS: u64 = 200_000_000;
/// The maximum, so that some ten tries fit into a lease even on a lossy path.
const MAX_NS: u64 = 3_000_000_000;
/// The minimum of the variation term: the granularity of timers.
const GRANULARITY_NS: u64 = 1_000_000;

/// The estimator of one peer's retransmission timeout.
#[derive(Clone, Debug, Default)]
pub(super) struct Rto {
    /// Smoothed round trip and its variation.
    estimate: Option<(u64, u64)>,
    /// Doublings since the last measurement.
    doublings: u32,
}

impl Rto {
    /// Takes the round trip of a datagram that was sent once.
    pub(super) fn sample(&mut self, rtt_ns: u64) {
        self.doublings = 0;
        self.estimate = Some(match self.estimate {
            None => (rtt_ns, rtt_ns / 2),
            Some((smooth, variation)) => {
                let variation = (3 * variation + smooth.abs_diff(rtt_ns)) / 4;
                ((7 * smooth + rtt_ns) / 8, variation)
            }
        });
    }

    /// Doubles the timeout: it has expired without an acknowledgement.
    pub(super) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(16);
    }

    /// The timeout now.
    pub(super) fn timeout_ns(&self) -> u64 {
        let base = match self.estimate {
            None => INITIAL_NS,
            Some((smooth, variation)) => smooth + (4 * variation).max(GRANULARITY_NS),
        };
        (base.clamp(MIN_NS, MAX_NS) << self.doublings).min(MAX_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_round_trips() {
        let mut rto = Rto::default();
        assert_eq!(rto.timeout_ns(), INITIAL_NS);
        rto.sample(400_000_000);
        assert_eq!(rto.timeout_ns(), 400_000_000 + 4 * 200_000_000);
        rto.back_off();
        assert_eq!(rto.timeout_ns(), 2_400_000_000);
        (0..100).for_each(|_| rto.back_off());
        assert_eq!(rto.timeout_ns(), MAX_NS);
        (0..100).for_each(|_| rto.sample(1_000_000));
        assert_eq!(rto.timeout_ns(), MIN_NS);
        rto.sample(u64::MAX / 16);
        assert_eq!(rto.timeout_ns(), MAX_NS);
    }
}
