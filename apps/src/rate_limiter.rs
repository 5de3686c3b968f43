//! A token bucket.

use tidemill_packet::app::{App, Fault, Io, Reconfigured, Start, Wrong};

tidemill_packet::declare! {
    /// Lets so many bytes a second through and drops the rest, by a token bucket.
    ///
    /// Dropped packets are counted as `over_rate`.
    app RateLimiter {
        config RateLimiterConfig {
            /// Bytes a second.
            rate: u64,
            /// Bytes that may pass at once after a pause.
            burst: u64 = 15000,
        }
        ports {
            /// What is limited.
            input: Input(Either, One),
            /// What is let through.
            output: Output(Either, One),
        }
        traits { passes }
    }
}

/// See [`RateLimiter::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct RateLimiter {
    rate: u64,
    burst: u64,
    /// What may pass now, in bytes times 10^9, so that no fraction of a byte is lost.
    tokens: u128,
    filled_ns: u64,
}

const NANOS: u128 = 1_000_000_000;

impl App for RateLimiter {
    fn validate(config: &RateLimiterConfig) -> Result<(), Wrong> {
        match (config.rate, config.burst) {
            (0, _) => Err(Wrong::new("rate", "it must be 1 at least")),
            (_, 0) => Err(Wrong::new("burst", "it must be 1 at least")),
            _ => Ok(()),
        }
    }

    fn new(config: RateLimiterConfig, start: &mut Start) -> Result<RateLimiter, Fault> {
        let tokens = u128::from(config.burst) * NANOS;
        let (rate, burst) = (config.rate, config.burst);
        Ok(RateLimiter { rate, burst, tokens, filled_ns: start.now_ns() })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        let elapsed = io.now_ns().saturating_sub(self.filled_ns);
        self.filled_ns = io.now_ns();
        let filled = self.tokens + u128::from(elapsed) * u128::from(self.rate);
        self.tokens = filled.min(u128::from(self.burst) * NANOS);
        while let Some(packet) = io.receive(0) {
            let cost = packet.len() as u128 * NANOS;
            match cost <= self.tokens {
                true => {
                    self.tokens -= cost;
                    io.send(0, packet);
                }
                false => io.drop(packet, "over_rate"),
            }
        }
        Ok(())
    }

    fn reconfigure(&mut self, config: RateLimiterConfig) -> Reconfigured {
        (self.rate, self.burst) = (config.rate, config.burst);
        Reconfigured::Kept
    }
}
