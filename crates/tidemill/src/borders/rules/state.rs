//! The interfaces that lead to the rules, and their clients.

use std::collections::VecDeque;

use tidemill_proc::{Communication, CommunicationMap, Worker};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, SpareRows};
use tidemill_stat::{Counter, Registry};

use super::border::RulesBorder;
use super::queue::Queue;
use crate::borders::counterparts::Counterparts;
use crate::borders::latency::{Handover, Latency};
use crate::borders::parameters::Misfit;
use crate::components::system;

/// The interfaces to the rules, and their clients.
#[derive(Default)]
pub(crate) struct RulesServer {
    pub(super) interfaces: Vec<RulesInterface>,
    /// Clients by communication. Boxed, as the map has a slot for each communication.
    pub(super) open: CommunicationMap<Box<Client>>,
    /// Clients whose put waits for room in the inbox, in order.
    pub(super) held: VecDeque<Communication>,
    pub(super) is_ending: bool,
    /// Buffers for queued tuples.
    pub(super) rows: SpareRows,
}

/// An interface.
pub(super) struct RulesInterface {
    pub(super) checked: RulesBorder,
    /// Measures the latency of changes to components.
    pub(super) handover: Handover,
    pub(super) counters: Counters,
}

/// A communication.
pub(super) struct Client {
    /// Which of the interfaces.
    pub(super) interface: usize,
    pub(super) queue: Queue,
    /// A `Next` is pending.
    pub(super) is_waiting: bool,
    /// The put that waits for room in the inbox: a relation, the message, and a tuple with its
    /// location; without a relation if the new rules lack it.
    pub(super) given: Option<(Option<(RelationId, u32)>, SeqBuilder)>,
    /// It was answered while the run was ending, with a delivery or `End`: its next request, or its
    /// end, is awaited.
    pub(super) is_awaited: bool,
}

impl Client {
    pub(super) fn new(interface: usize) -> Client {
        Client {
            interface,
            queue: Queue::default(),
            is_waiting: false,
            given: None,
            is_awaited: false,
        }
    }
}

/// `border/<interface>/in` and so on.
pub(super) struct Counters {
    pub(super) inputs: Counter,
    pub(super) outputs: Counter,
    pub(super) coalesced: Counter,
    pub(super) full: Counter,
    lost: Counter,
    null: Counter,
    misfit: Counter,
    pub(super) latency: Latency,
}

impl Counters {
    fn new(registry: &Registry, interface: &str) -> Counters {
        let counter = |name: &str| registry.counter(&format!("border/{interface}/{name}"));
        Counters {
            inputs: counter("in"),
            outputs: counter("out"),
            coalesced: counter("coalesced"),
            full: counter("dropped_full"),
            lost: counter("lost"),
            null: counter("dropped_null"),
            misfit: counter("dropped_type"),
            latency: Latency::new(registry, interface),
        }
    }

    pub(super) fn misfits(&self, why: Misfit) {
        match why {
            Misfit::Null => self.null.add(1),
            Misfit::Type => self.misfit.add(1),
        }
    }
}

impl RulesServer {
    /// Of a program with these borders.
    pub(in crate::borders) fn new(checked: &[RulesBorder], registry: &Registry) -> RulesServer {
        let border = |checked: &RulesBorder| RulesInterface {
            counters: Counters::new(registry, &checked.interface),
            handover: Handover::new(registry, &format!("{}.Next", checked.interface)),
            checked: checked.clone(),
        };
        RulesServer { interfaces: checked.iter().map(border).collect(), ..RulesServer::default() }
    }

    /// Rebinds to the relations of other rules; the interfaces are the same.
    pub(in crate::borders) fn rebind(
        &mut self,
        checked: &[RulesBorder],
        counterparts: &Counterparts<'_>,
    ) {
        for (number, interface) in self.interfaces.iter_mut().enumerate() {
            let is_it = |new: &&RulesBorder| new.interface == interface.checked.interface;
            let Some(new) = checked.iter().find(is_it) else { continue };
            let old = std::mem::replace(&mut interface.checked, new.clone());
            let goes_on = |message: u32| old.goes_on(new, message, counterparts);
            for (_, client) in self.open.iter_mut().filter(|(_, it)| it.interface == number) {
                interface.counters.full.add(client.queue.retain(goes_on));
                if let Some((relation, _)) = &mut client.given {
                    *relation = relation.and_then(|(id, message)| {
                        counterparts.of(id).map(|relation| (relation, message))
                    });
                }
            }
        }
    }

    /// Follows the rules of another worker to other relations.
    pub(in crate::borders) fn follow(&mut self, checked: &[RulesBorder]) {
        for interface in &mut self.interfaces {
            let is_it = |new: &&RulesBorder| new.interface == interface.checked.interface;
            if let Some(new) = checked.iter().find(is_it) {
                interface.checked.clone_from(new);
            }
        }
    }

    /// Counts the deliveries and puts that wait as lost, as the node crashes.
    pub(in crate::borders) fn lose(&self) {
        self.open.iter().for_each(|(_, client)| self.lose_from(client));
    }

    /// The same of one client.
    pub(super) fn lose_from(&self, client: &Client) {
        if let Some(interface) = self.interfaces.get(client.interface) {
            let waiting = client.queue.len() + usize::from(client.given.is_some());
            interface.counters.lost.add(waiting as u64);
        }
    }

    /// The borders.
    pub(in crate::borders) fn checked(&self) -> impl ExactSizeIterator<Item = &RulesBorder> {
        self.interfaces.iter().map(|interface| &interface.checked)
    }

    /// Offers the interfaces to components, numbered after those of the system.
    pub(in crate::borders) fn offer(&self, worker: &mut Worker) {
        for (number, border) in (system::count()..).zip(&self.interfaces) {
            if border.checked.has_changes() {
                worker.offer(&border.checked.interface, number)
            } else {
                // A put alone needs no open communication.
                worker.offer_stateless(&border.checked.interface, number)
            }
        }
    }

    fn has_changes(&self, client: &Client) -> bool {
        self.interfaces.get(client.interface).is_some_and(|it| it.checked.has_changes())
    }

    /// Whether a client receives changes that has not finished.
    pub(crate) fn has_listeners(&self) -> bool {
        self.open.iter().any(|(_, client)| self.has_changes(client))
    }

    /// Whether nothing is queued, and all clients that are awaited have finished.
    pub(in crate::borders) fn is_idle(&self) -> bool {
        let is_idle = |client: &Client| !client.is_awaited && client.queue.is_empty();
        self.held.is_empty() && self.open.iter().all(|(_, client)| is_idle(client))
    }
}
