//! The interfaces that lead to the rules, and their clients.

use std::collections::VecDeque;

use tidemill_proc::{Communication, CommunicationMap, Value as Word, Worker};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{SeqBuilder, SpareRows};
use tidemill_stat::{Counter, Registry};

use super::border::RulesBorder;
use super::queue::Queue;
use crate::borders::counterparts::Counterparts;
use crate::borders::latency::{Handover, Latency};
use crate::borders::parameters::Misfit;
use crate::components::system;

/// The interfaces that lead to the rules, and who speaks through them.
#[derive(Default)]
pub(crate) struct Desk {
    pub(super) interfaces: Vec<RulesInterface>,
    /// Those for which something may wait. Boxed, as places are those of all communications.
    pub(super) open: CommunicationMap<Box<Client>>,
    /// Clients that wait for the inbox to have room, in order.
    pub(super) held: VecDeque<Communication>,
    pub(super) is_ending: bool,
    /// Memory for the parameters of a message, and for tuples that wait.
    pub(super) words: Vec<Word<'static>>,
    pub(super) rows: SpareRows,
}

/// An interface.
pub(super) struct RulesInterface {
    pub(super) checked: RulesBorder,
    /// What has happened, on its way to components.
    pub(super) handover: Handover,
    pub(super) counters: Counters,
}

/// A communication.
pub(super) struct Client {
    /// Which of the interfaces.
    pub(super) interface: usize,
    pub(super) queue: Queue,
    /// It has asked for the next delivery.
    pub(super) is_waiting: bool,
    /// What it has given, for which the inbox had no room: a tuple, with its location; without a
    /// relation if the rules that have been replaced meanwhile had that.
    pub(super) given: Option<(Option<RelationId>, SeqBuilder)>,
    /// It has been told that no more comes.
    pub(super) has_ended: bool,
}

impl Client {
    pub(super) fn new(interface: usize) -> Client {
        Client {
            interface,
            queue: Queue::default(),
            is_waiting: false,
            given: None,
            has_ended: false,
        }
    }
}

/// `border/<interface>/in` and so on.
pub(super) struct Counters {
    pub(super) inputs: Counter,
    pub(super) outputs: Counter,
    pub(super) coalesced: Counter,
    pub(super) full: Counter,
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

impl Desk {
    /// Of a program that has these.
    pub(in crate::borders) fn new(checked: &[RulesBorder], registry: &Registry) -> Desk {
        let border = |checked: &RulesBorder| RulesInterface {
            counters: Counters::new(registry, &checked.interface),
            handover: Handover::new(registry, &format!("{}.Next", checked.interface)),
            checked: checked.clone(),
        };
        Desk { interfaces: checked.iter().map(border).collect(), ..Desk::default() }
    }

    /// Goes on with the relations of other rules; the interfaces are the same.
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
                    *relation = relation.and_then(|relation| counterparts.of(relation));
                }
            }
        }
    }

    /// Offers them, behind what the system offers.
    pub(in crate::borders) fn offer(&self, worker: &mut Worker) {
        for (number, border) in (system::count()..).zip(&self.interfaces) {
            match border.checked.is_heard() {
                true => worker.offer(&border.checked.interface, number),
                // What is given needs no communication that stays open.
                false => worker.offer_stateless(&border.checked.interface, number),
            }
        }
    }

    /// Whether nothing waits, and all who were told of the end have finished.
    pub(in crate::borders) fn is_idle(&self) -> bool {
        self.held.is_empty() && self.open.iter().all(|(_, client)| !client.has_ended)
    }
}
