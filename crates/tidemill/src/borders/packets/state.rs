//! The apps of a graph that hand packets to rules.

use std::rc::Rc;

use tidemill_stat::{Counter, Registry};

use super::border::PacketBorder;
use super::kept::Kept;
use crate::borders::counterparts::Counterparts;
use crate::borders::latency::Latency;

/// The apps of a graph that are borders.
#[derive(Default)]
pub(crate) struct Packets {
    pub(super) apps: Vec<RulesApp>,
    /// Packets were left on links because many events wait.
    pub(super) are_held: bool,
    /// Packets have been sent into the graph, which is to run.
    pub(crate) move_on: bool,
    /// Rules are the only source of packets, so the graph has no end of its own.
    pub(crate) are_the_source: bool,
}

/// An app of the graph, and the relations that its packets are.
pub(super) struct RulesApp {
    pub(super) name: Rc<str>,
    pub(super) checked: PacketBorder,
    /// The links to it and from it, with the names of its ports.
    pub(super) inputs: Vec<(usize, String)>,
    pub(super) outputs: Vec<(usize, String)>,
    /// Packets whose turn has not ended, and held ones.
    pub(super) kept: Kept,
    pub(super) counters: RulesAppCounters,
}

/// `border/<app>/events` and so on.
pub(super) struct RulesAppCounters {
    pub(super) events: Counter,
    pub(super) verdicts: Counter,
    pub(super) stale: Counter,
    pub(super) no_output: Counter,
    pub(super) no_bytes: Counter,
    pub(super) no_packet: Counter,
    pub(super) not_held: Counter,
    pub(super) latency: Latency,
}

impl RulesAppCounters {
    fn new(registry: &Registry, app: &str) -> RulesAppCounters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        RulesAppCounters {
            events: counter("events"),
            verdicts: counter("verdicts"),
            stale: counter("stale"),
            no_output: counter("dropped_no_output"),
            no_bytes: counter("dropped_no_bytes"),
            no_packet: counter("dropped_no_packet"),
            not_held: counter("not_held"),
            latency: Latency::new(registry, app),
        }
    }
}

impl RulesApp {
    fn new(checked: PacketBorder, registry: &Registry) -> RulesApp {
        let counters = RulesAppCounters::new(registry, &checked.app);
        let (name, kept) = (checked.app.as_str().into(), Kept::default());
        RulesApp { name, checked, inputs: Vec::new(), outputs: Vec::new(), kept, counters }
    }
}

impl Packets {
    /// Of a program with these borders.
    pub(in crate::borders) fn new(checked: Vec<PacketBorder>, registry: &Registry) -> Packets {
        let app = |checked: PacketBorder| RulesApp::new(checked, registry);
        Packets { apps: checked.into_iter().map(app).collect(), ..Packets::default() }
    }

    /// Rebinds to the relations of other rules.
    pub(in crate::borders) fn rebind(
        &mut self,
        checked: &[PacketBorder],
        registry: &Registry,
        counterparts: &Counterparts<'_>,
    ) {
        let mut before = std::mem::take(&mut self.apps);
        for checked in checked.iter().cloned() {
            let known = before.iter().position(|app| app.checked.app == checked.app);
            let Some(mut app) = known.map(|at| before.swap_remove(at)) else {
                self.apps.push(RulesApp::new(checked, registry));
                continue;
            };
            let events = app.checked.event.zip(checked.event);
            let is_same = events.is_some_and(|(old, new)| counterparts.are(old, new))
                && app.checked.fields == checked.fields;
            if !is_same {
                // The events of these packets are gone.
                app.counters.stale.add(app.kept.clear());
            }
            app.checked = checked;
            self.apps.push(app);
        }
        before.iter_mut().for_each(|app| app.counters.stale.add(app.kept.clear()));
    }

    /// Whether packets were left on links.
    pub(in crate::borders) fn are_held(&self) -> bool {
        self.are_held
    }

    /// Whether nothing is under way between the graph and the rules.
    pub(in crate::borders) fn are_idle(&self) -> bool {
        !self.are_held && !self.move_on
    }
}
