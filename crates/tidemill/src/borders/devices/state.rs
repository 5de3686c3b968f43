//! The devices of a node.

use tidemill_event::Endpoint;
use tidemill_stat::{Counter, Registry};

use crate::switch::Plug;

/// The devices of a node.
#[derive(Default)]
pub(crate) struct Devices {
    pub(super) ports: Vec<Port>,
    /// A receive buffer.
    pub(super) buffer: Vec<u8>,
}

/// A device of a live node.
pub(super) struct Port {
    pub(super) plug: Plug,
    /// Its number among the devices at its link.
    pub(super) member: usize,
    pub(super) endpoint: Endpoint,
    /// The links of the graph to it, and from it.
    pub(super) inputs: Vec<usize>,
    pub(super) output: Option<usize>,
    pub(super) counters: PortCounters,
}

/// `border/<app>/sent` and so on.
pub(super) struct PortCounters {
    pub(super) sent: Counter,
    pub(super) received: Counter,
    pub(super) no_packet: Counter,
    pub(super) no_link: Counter,
}

impl PortCounters {
    pub(super) fn new(registry: &Registry, app: &str) -> PortCounters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        PortCounters {
            sent: counter("sent"),
            received: counter("received"),
            no_packet: counter("dropped_no_packet"),
            no_link: counter("dropped_no_link"),
        }
    }
}
