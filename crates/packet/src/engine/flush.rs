//! Apps send what they hold back before they end, and the apps behind them take it.

use super::Engine;
use crate::app::Flushed;

impl Engine {
    /// Lets all apps send what they hold back, and all of that arrive, as the run is about to end.
    /// Nothing moves if no app holds anything back.
    pub fn flush(&mut self) {
        for at in 0..self.order.len() {
            self.flush_app(self.order[at]);
        }
    }

    /// Lets one app send what it holds back.
    pub(super) fn flush_app(&mut self, index: usize) {
        loop {
            let before = self.sent(index);
            let slot = &mut self.slots[index];
            let Some(instance) = &mut slot.instance else { return };
            let flushed = match instance.flush(&mut slot.io) {
                Ok(flushed) => flushed,
                Err(fault) => {
                    slot.io.fault = Some(fault);
                    return self.failed(index);
                }
            };
            let has_sent = self.sent(index) != before;
            if flushed == Flushed::All && !has_sent {
                return;
            }
            // Packets that were there before take up room, too.
            let has_moved = self.push();
            // An app that has more and cannot send it would hold up the end.
            if flushed == Flushed::All || !has_sent && !has_moved {
                return;
            }
        }
    }

    /// Packets that an app has put on its links.
    fn sent(&self, index: usize) -> u64 {
        let rings = self.slots[index].io.outputs.iter().filter_map(|output| output.ring());
        rings.map(|ring| ring.written()).sum()
    }
}
