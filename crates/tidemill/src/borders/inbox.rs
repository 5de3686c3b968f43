//! The inbox of a node, as borders fill it: what comes from other engines waits on their side while
//! many events of the node wait.

use tidemill_event::Loop;
use tidemill_overlog::fleet;
use tidemill_overlog::node::Event;
use tidemill_packet::drive;
use tidemill_packet::packet::Packet;
use tidemill_relation::OwnedValue;
use tidemill_relation::plan::RelationId;

use crate::machine::Machine;

/// Events of a node that may wait while more is taken.
const EVENTS_MAX: usize = 1024;

impl Machine {
    fn waiting_events(&self) -> usize {
        self.fleet.node(self.node.id).map_or(0, |node| node.waiting())
    }

    /// Whether so many events of the node wait that nothing more is taken.
    pub(super) fn is_inbox_full(&self) -> bool {
        self.waiting_events() >= EVENTS_MAX
    }

    /// Whether what was not taken, as the inbox was full, is taken now.
    pub(super) fn has_inbox_room(&self) -> bool {
        self.waiting_events() <= EVENTS_MAX / 2
    }

    /// Whether packets wait for the rules to keep up, and they do now.
    pub(crate) fn may_take_packets(&self) -> bool {
        self.node.borders.hold_packets() && self.has_inbox_room()
    }
}

/// Puts a tuple into the inbox of the node; false if it has no room, which the node counts.
pub(super) fn put(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    relation: RelationId,
    columns: Vec<OwnedValue>,
) -> bool {
    let node = machine.node.id;
    let event = Event::Tuple { relation, columns, delete: false, received: true };
    fleet::inject(machine, events, node, event)
}

/// What packets become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Become {
    /// Events: as many are taken as the inbox has room for.
    Events,
    /// Something else.
    Other,
}

/// What became of the packets on links.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Taken {
    packets: usize,
    /// Some were left.
    has_left: bool,
}

/// Takes the packets that have come to apps, each by `take`; whether some were left.
pub(super) fn take_each<A>(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    apps: &mut [A],
    take: fn(&mut Machine, &mut Loop<Machine>, &mut A, &mut Taken),
) -> bool {
    let mut taken = Taken::default();
    apps.iter_mut().for_each(|app| take(machine, events, app, &mut taken));
    if taken.packets > 0 {
        // Links that are empty now may be the end of the graph.
        drive::wake(machine, events);
    }
    taken.has_left
}

impl Taken {
    /// Takes the packets from a link of the node's graph, and calls `f` with each.
    pub(super) fn link(
        &mut self,
        machine: &mut Machine,
        events: &mut Loop<Machine>,
        (link, what): (usize, Become),
        mut f: impl FnMut(&mut Machine, &mut Loop<Machine>, Packet),
    ) {
        loop {
            if what == Become::Events && machine.is_inbox_full() {
                self.has_left = true;
                return;
            }
            let Some(packet) = machine.node.driver.engine.take_link(link) else { return };
            self.packets += 1;
            f(machine, events, packet);
        }
    }
}
