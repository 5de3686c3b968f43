//! The apps of a graph that hand packets to rules.

use std::rc::Rc;

use tidemill_stat::{Counter, Registry};

use super::border::PacketBorder;
use super::kept::Kept;
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
    /// The number of the first packet of an app.
    first: i64,
}

/// An app of the graph, and the relations that its packets are.
pub(super) struct RulesApp {
    pub(super) name: Rc<str>,
    /// Its place among these apps.
    pub(super) number: u32,
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
    /// Verdicts beyond those that wait for another worker.
    pub(super) no_room: Counter,
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
            no_room: counter("dropped_no_room"),
            not_held: counter("not_held"),
            latency: Latency::new(registry, app),
        }
    }
}

impl RulesApp {
    fn new(number: u32, checked: PacketBorder, first: i64, registry: &Registry) -> RulesApp {
        let counters = RulesAppCounters::new(registry, &checked.app);
        let (name, kept) = (checked.app.as_str().into(), Kept::from(first));
        RulesApp { name, number, checked, inputs: Vec::new(), outputs: Vec::new(), kept, counters }
    }
}

impl Packets {
    /// Of a program with these borders; packets are numbered from `first`.
    pub(in crate::borders) fn new(
        checked: Vec<PacketBorder>,
        first: i64,
        registry: &Registry,
    ) -> Packets {
        let app = |(number, checked)| RulesApp::new(number, checked, first, registry);
        let apps = (0..).zip(checked).map(app).collect();
        Packets { apps, first, ..Packets::default() }
    }

    /// The borders.
    pub(in crate::borders) fn checked(&self) -> impl ExactSizeIterator<Item = &PacketBorder> {
        self.apps.iter().map(|app| &app.checked)
    }

    /// Rebinds to the relations of other rules, given whether events of an old border fit the new
    /// one.
    pub(in crate::borders) fn rebind(
        &mut self,
        checked: &[PacketBorder],
        registry: &Registry,
        fit: impl Fn(&PacketBorder, &PacketBorder) -> bool,
    ) {
        let mut before = std::mem::take(&mut self.apps);
        for (number, checked) in (0..).zip(checked.iter().cloned()) {
            let known = before.iter().position(|app| app.checked.app == checked.app);
            let Some(mut app) = known.map(|at| before.swap_remove(at)) else {
                self.apps.push(RulesApp::new(number, checked, self.first, registry));
                continue;
            };
            if !fit(&app.checked, &checked) || !checked.keeps_packets() {
                // The events of these packets are gone, or nothing decides about them.
                app.counters.stale.add(app.kept.clear());
            }
            (app.checked, app.number) = (checked, number);
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
