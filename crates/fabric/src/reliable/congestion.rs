//! The congestion window, in datagrams: additive increase, multiplicative decrease.
//!
//! Doubles each round trip up to the threshold, then adds one each round trip; a loss halves it,
//! a timeout begins again with one.

/// The window at the start, in datagrams.
const INITIAL: usize = 10;

/// The congestion window of one peer.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    window: usize,
    threshold: usize,
    window_max: usize,
    /// Acknowledged since the window last grew by addition.
    acked: usize,
}

impl Congestion {
    /// A window that never exceeds `window_max`.
    pub(super) fn new(window_max: usize) -> Congestion {
        let window = INITIAL.min(window_max);
        Congestion { window, threshold: window_max, window_max, acked: 0 }
    }

    /// Datagrams that may be under way.
    pub(super) fn window(&self) -> usize {
        self.window
    }

    /// `count` datagrams were newly acknowledged.
    pub(super) fn on_ack(&mut self, count: usize) {
        if self.window < self.threshold {
            self.window = (self.window + count).min(self.threshold);
            return;
        }
        self.acked += count;
        if self.acked >= self.window {
            self.acked -= self.window;
            self.window = (self.window + 1).min(self.window_max);
        }
    }

    /// A datagram was lost, for the first time in this window.
    pub(super) fn on_loss(&mut self) {
        self.threshold = (self.window / 2).max(2);
        self.window = self.threshold;
        self.acked = 0;
    }

    /// Nothing was acknowledged in time.
    pub(super) fn on_timeout(&mut self) {
        self.on_loss();
        self.window = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_saws() {
        let mut congestion = Congestion::new(64);
        congestion.on_ack(10);
        assert_eq!(congestion.window(), 20);
        (0..10).for_each(|_| congestion.on_ack(20));
        assert_eq!(congestion.window(), 64);
        congestion.on_loss();
        assert_eq!(congestion.window(), 32);
        congestion.on_ack(32);
        assert_eq!(congestion.window(), 33);
        congestion.on_timeout();
        assert_eq!(congestion.window(), 1);
        congestion.on_ack(1);
        assert_eq!(congestion.window(), 2);
    }
}
