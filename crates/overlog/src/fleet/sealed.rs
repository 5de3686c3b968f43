//! Sealed datagrams between a node's socket and its mail.

use tidemill_event::{Endpoint, Host};
use tidemill_fabric::counters::Counters;
use tidemill_fabric::seal::{Context, Guard, NoEntropy, Port};

use super::state::Alive;

/// The socket and the randomness that a guard works with.
struct HostPort<'a> {
    host: &'a mut dyn Host,
    endpoint: Endpoint,
    /// Datagrams that the host did not take.
    unsent: u64,
}

impl Port for HostPort<'_> {
    fn send(&mut self, route: &str, datagram: &[u8]) {
        self.unsent += u64::from(self.host.send(self.endpoint, route, datagram).is_err());
    }

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        self.host.fill_entropy(bytes).map_err(|_| NoEntropy)
    }
}

impl Alive {
    /// Takes a sealed datagram, which is opened in place; returns the number of events.
    pub(super) fn open(
        &mut self,
        host: &mut dyn Host,
        route: &str,
        bytes: &mut [u8],
        now_ns: u64,
    ) -> usize {
        let Some(mut guard) = self.guard.take() else { return 0 };
        let (length, drops) = (bytes.len(), self.mail.counters().drops());
        let mut port = HostPort { host, endpoint: self.endpoint, unsent: 0 };
        let counters = self.mail.counters_mut();
        let mut context = Context { now_ns, port: &mut port, counters };
        let content = guard.receive(route, bytes, &mut context);
        self.mail.count_unsent(port.unsent);
        self.log_drop(route, length, drops);
        let events = match content {
            Some(content) => self.take_in(content.name, content.bytes, now_ns),
            None => 0,
        };
        self.guard = Some(guard);
        events
    }

    /// Seals and sends what the mail has ready.
    pub(super) fn seal_all(&mut self, host: &mut dyn Host, now_ns: u64) {
        let Some(guard) = &mut self.guard else { return };
        let mut counters = Counters::new();
        let mut port = HostPort { host, endpoint: self.endpoint, unsent: 0 };
        let mut context = Context { now_ns, port: &mut port, counters: &mut counters };
        self.mail.flush(now_ns, &mut |to, datagram| guard.send(to, datagram, &mut context));
        self.mail.counters_mut().merge(&counters);
        self.mail.count_unsent(port.unsent);
    }

    /// Runs `work` on the guard; `None` if the node has none.
    pub(super) fn guarded<T>(
        &mut self,
        host: &mut dyn Host,
        now_ns: u64,
        f: impl FnOnce(&mut Guard, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let guard = self.guard.as_mut()?;
        let mut port = HostPort { host, endpoint: self.endpoint, unsent: 0 };
        let counters = self.mail.counters_mut();
        let result = f(guard, &mut Context { now_ns, port: &mut port, counters });
        self.mail.count_unsent(port.unsent);
        Some(result)
    }
}
