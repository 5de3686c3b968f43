//! A token bucket.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};
use tidemill_packet::fanout::Fanout;
use tidemill_packet::kernel::{Builder, Expr, Operator, Running};

use crate::code;

tidemill_packet::declare! {
    /// Limits the bytes per second by a token bucket; packets above the rate are dropped.
    ///
    /// A packet counts with the length that it had on the wire.
    /// Dropped packets are counted as `over_rate`. Each of several workers has an equal part of the
    /// rate for its flows, with a burst of its own.
    app RateLimiter {
        config RateLimiterConfig {
            /// Bytes per second.
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
        traits { passes, kernel }
    }
}

/// See [`RateLimiter::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct RateLimiter(Running, Fanout);

/// What may pass is counted in bytes times 10^9, so that no fraction of a byte is lost.
const NANOS: u64 = 1_000_000_000;

/// The greatest burst, so that what may pass fits its word.
const BURST_MAX: u64 = u64::MAX / NANOS;

/// The part of the rate that an instance has.
fn part_of(rate: u64, fanout: &Fanout) -> u64 {
    fanout.part_of(rate).max(1)
}

impl App for RateLimiter {
    fn validate(config: &RateLimiterConfig) -> Result<(), ConfigError> {
        match (config.rate, config.burst) {
            (0, _) => Err(ConfigError::new("rate", "it must be 1 at least")),
            (_, 0) => Err(ConfigError::new("burst", "it must be 1 at least")),
            (_, burst) if burst > BURST_MAX => {
                Err(ConfigError::new("burst", format!("it must be {BURST_MAX} at most")))
            }
            _ => Ok(()),
        }
    }

    fn new(config: RateLimiterConfig, start: &mut Start) -> Result<RateLimiter, Fault> {
        let mut kernel = Builder::new("RateLimiter");
        let fanout = start.fanout().clone();
        let rate = kernel.state("rate", part_of(config.rate, &fanout));
        let burst = kernel.state("burst", config.burst * NANOS);
        let tokens = kernel.state("tokens", config.burst * NANOS);
        let filled_ns = kernel.state("filled_ns", start.now_ns());
        let over_rate = kernel.reason("over_rate");
        let (pass, over) = (kernel.block(), kernel.block());
        // Adds the tokens since the last packet, up to a burst.
        let (now, before) = (kernel.value(Expr::Now), kernel.word(filled_ns));
        let elapsed = kernel.binary(Operator::SubSat, now, before);
        kernel.set_word(filled_ns, now);
        let rate = kernel.word(rate);
        let gained = kernel.binary(Operator::MulSat, elapsed, rate);
        let had = kernel.word(tokens);
        let filled = kernel.binary(Operator::AddSat, had, gained);
        let burst = kernel.word(burst);
        let filled = kernel.binary(Operator::Min, filled, burst);
        let (length, nanos) = (kernel.value(Expr::WireLength), kernel.constant(NANOS));
        let cost = kernel.binary(Operator::Mul, length, nanos);
        let enough = kernel.binary(Operator::Le, cost, filled);
        kernel.set_word(tokens, filled);
        kernel.branch(enough, pass, over);
        kernel.at(pass);
        let left = kernel.binary(Operator::Sub, filled, cost);
        kernel.set_word(tokens, left);
        kernel.emit(0);
        kernel.at(over);
        kernel.drop(over_rate);
        Ok(RateLimiter(code::running(kernel)?, fanout))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: RateLimiterConfig) -> Reconfigured {
        self.0.set_word("rate", part_of(config.rate, &self.1));
        self.0.set_word("burst", config.burst * NANOS);
        Reconfigured::Kept
    }
}
