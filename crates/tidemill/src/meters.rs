//! The counters of a run, published to other processes while it runs.
//!
//! ```text
//! node/<address>/turns ...          what a node did, sent, received and dropped, by reason
//! table/<name>/rows ...             over all nodes
//! rule/<name>/fired ...             likewise
//! rule/<name>/cost_ns ...           while it is measured, and what it was then
//! stage/<operator>/inputs ...       likewise
//! border/<operator>/passed ...      what crossed between rules and schemas; what failed, by reason
//! query/all/evaluated ...           queries of tools
//! turn/<kind>/count ...             turns by kind of owner: how many, how long
//! loop/0/polls ...                  the loop, and what it asked of the system
//! turn/<kind>.1/..., loop/1/...     those of the second worker
//! ```
//! Nodes and the loop count in their own memory, as plain numbers; [`Meters::update`] copies them.
//! So counting costs the same with and without readers, and readers see values at most a second
//! old. Values that several workers publish under one name are summed when read.

use std::borrow::Cow;
use std::fmt::{self, Arguments};

use tidemill_event::{HostStats, Loop, LoopStats};
use tidemill_overlog::fleet::{Fleet, NodeId};
use tidemill_overlog::node::{Counters, Node, StageCounters};
use tidemill_overlog::program::WorkedBy;
use tidemill_relation::cost::Cost;
use tidemill_relation::plan::RelationId;
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::sorted::SortedMap;

/// The maximum number of nodes with counters of their own; others are in the sums only.
pub const NODES_MAX: usize = 1000;

/// The counters of one run.
#[derive(Debug)]
pub struct Meters {
    registry: Registry,
    /// The number of the loop.
    number: u32,
    /// In the order of [`read`].
    counters: Vec<Counter>,
    /// The cost of rules, once it has been measured.
    costs: SortedMap<String, [Counter; 4]>,
}

/// Receives a counter's name and value.
type Show<'s> = dyn FnMut(Arguments<'_>, u64) + 's;

impl Meters {
    /// Publishes nothing yet, for the loop of this number.
    pub fn new(registry: Registry, number: u32) -> Meters {
        Meters { registry, number, counters: Vec::new(), costs: SortedMap::new() }
    }

    /// Restarts for another program with other tables and rules.
    pub fn start_over(&mut self) {
        self.counters.clear();
    }

    /// Publishes the current values. The nodes and their program must be the same each time.
    pub fn update<W: 'static>(&mut self, fleet: &Fleet, events: &Loop<W>) {
        if fleet.is_measuring() {
            self.update_costs(fleet);
        }
        let Meters { registry, number, counters, .. } = self;
        let mut next = 0;
        read(fleet, (*number, events), &mut |name, value| {
            if next == counters.len() {
                counters.push(registry.counter(&fmt::format(name)));
            }
            counters[next].set(value);
            next += 1;
        });
    }
}

impl Meters {
    fn update_costs(&mut self, fleet: &Fleet) {
        let Meters { registry, costs, .. } = self;
        let ran = fleet.rule_costs().into_iter().filter(|(_, cost)| cost.fired > 0 || cost.ns > 0);
        for (rule, cost) in ran {
            if !costs.contains_key(rule) {
                let names = ["cost_fired", "cost_derived", "cost_probes", "cost_ns"];
                let new = names.map(|name| registry.counter(&format!("rule/{rule}/{name}")));
                costs.insert(rule.to_owned(), new);
            }
            let Some(counters) = costs.get(rule) else { continue };
            let Cost { fired, derived, probes, ns } = cost;
            for (counter, value) in counters.iter().zip([fired, derived, probes, ns]) {
                counter.set(value);
            }
        }
    }
}

/// Passes all values to `show`, always in the same order.
fn read<W: 'static>(fleet: &Fleet, (number, events): (u32, &Loop<W>), show: &mut Show<'_>) {
    read_loop((number, events.stats()), show);
    read_host((number, &events.host_stats()), show);
    read_tables(fleet, show);
    read_rules(fleet, show);
    read_stages(fleet, show);
    fleet.program().operators().counters(&mut |border, counter, count| {
        show(format_args!("border/{border}/{counter}"), count);
    });
    read_queries(fleet, show);
    fleet.ids().take(NODES_MAX).for_each(|id| read_node(fleet, id, show));
    // Last, as their number may grow.
    read_turns((number, events.stats()), show);
}

fn read_loop((number, stats): (u32, &LoopStats), show: &mut Show<'_>) {
    let numbers = [
        ("turns", stats.turns),
        ("steps", stats.steps),
        ("suspensions", stats.suspensions),
        ("turns_abandoned", stats.turns_abandoned),
        ("dropped_calls", stats.dropped_calls),
        ("dropped_events", stats.dropped_events),
        ("discarded_events", stats.discarded_events),
        ("queue_high_water", stats.queue_high_water as u64),
        ("polls", stats.polls),
        ("waits", stats.waits),
        ("interrupts", stats.interrupts),
        ("served", stats.served),
        ("errors", stats.errors),
        ("timers", stats.timers),
        ("periods_missed", stats.periods_missed),
        ("timer_late_max_ns", nanos(stats.timer_late_max)),
    ];
    numbers.iter().for_each(|(name, value)| show(format_args!("loop/{number}/{name}"), *value));
}

fn read_host((number, host): (u32, &HostStats), show: &mut Show<'_>) {
    let numbers = [
        ("syscalls", host.syscalls),
        ("tx_datagrams", host.sent),
        ("tx_bytes", host.sent_bytes),
        ("rx_datagrams", host.received),
        ("rx_bytes", host.received_bytes),
        ("dropped_full", host.dropped_full),
        ("dropped_kernel", host.dropped_kernel),
        ("send_errors", host.send_errors),
        ("dropped_unresolved", host.dropped_unresolved),
        ("dropped_truncated", host.dropped_truncated),
        ("lookups", host.lookups),
        ("bad_descriptors", host.bad_descriptors),
    ];
    numbers.iter().for_each(|(name, value)| show(format_args!("loop/{number}/{name}"), *value));
}

fn read_turns((number, stats): (u32, &LoopStats), show: &mut Show<'_>) {
    for turns in &stats.kinds {
        let kind = match number {
            0 => Cow::Borrowed(turns.kind.as_str()),
            _ => Cow::Owned(format!("{}.{number}", turns.kind)),
        };
        show(format_args!("turn/{kind}/count"), turns.turns);
        show(format_args!("turn/{kind}/steps"), turns.steps);
        show(format_args!("turn/{kind}/total_ns"), nanos(turns.total));
        show(format_args!("turn/{kind}/longest_ns"), nanos(turns.longest));
        show(format_args!("turn/{kind}/steps_max"), turns.steps_max);
        show(format_args!("turn/{kind}/delay_max_ns"), nanos(turns.delay_max));
    }
}

fn nodes(fleet: &Fleet) -> impl Iterator<Item = &Node> {
    fleet.ids().filter_map(|id| fleet.node(id))
}

/// The counters of all lives of nodes.
fn counters(fleet: &Fleet) -> impl Iterator<Item = &Counters> {
    nodes(fleet).map(|node| node.counters()).chain([&fleet.former_lives().counters])
}

fn read_tables(fleet: &Fleet, show: &mut Show<'_>) {
    for (id, relation) in (0..).map(RelationId).zip(&fleet.program().plan().relations) {
        if relation.hidden || relation.table().is_none() {
            continue;
        }
        let (mut rows, mut inserted, mut deleted) = (0, 0, 0);
        for node in nodes(fleet) {
            rows += node.database().get(id).map_or(0, |table| table.len() as u64);
            let counters = node.table_counters(id);
            inserted += counters.inserted;
            deleted += counters.deleted;
        }
        if let Some(counters) = fleet.former_lives().tables.get(id.index()) {
            inserted += counters.inserted;
            deleted += counters.deleted;
        }
        let name = &relation.name;
        show(format_args!("table/{name}/rows"), rows);
        show(format_args!("table/{name}/inserted"), inserted);
        show(format_args!("table/{name}/deleted"), deleted);
    }
}

fn read_rules(fleet: &Fleet, show: &mut Show<'_>) {
    for (position, rule) in fleet.program().plan().rules.iter().enumerate() {
        let (mut fired, mut derived, mut failed) = (0, 0, 0);
        for counters in counters(fleet).filter_map(|counters| counters.rules.get(position)) {
            fired += counters.fired;
            derived += counters.derived;
            failed += counters.failed;
        }
        let name = &rule.name;
        show(format_args!("rule/{name}/fired"), fired);
        show(format_args!("rule/{name}/derived"), derived);
        show(format_args!("rule/{name}/failed"), failed);
    }
}

fn read_stages(fleet: &Fleet, show: &mut Show<'_>) {
    let stages = fleet.program().compiled.stages.iter().enumerate();
    for (position, stage) in stages.filter(|(_, stage)| stage.by == WorkedBy::Node) {
        let all = || counters(fleet).filter_map(|counters| counters.stages.get(position));
        let sum = |of: fn(&StageCounters) -> u64| all().map(of).sum();
        let name = &stage.operator;
        show(format_args!("stage/{name}/inputs"), sum(|counters| counters.inputs));
        show(format_args!("stage/{name}/refused"), sum(|counters| counters.refused));
        show(format_args!("stage/{name}/outputs"), sum(|counters| counters.outputs));
        show(format_args!("stage/{name}/failed"), sum(|counters| counters.failed));
        show(format_args!("stage/{name}/misfits"), sum(|counters| counters.misfits));
    }
}

fn read_queries(fleet: &Fleet, show: &mut Show<'_>) {
    let queries = fleet.queries();
    let numbers = [
        ("evaluated", queries.evaluated),
        ("failed", queries.failed),
        ("limited", queries.limited),
        ("refused", queries.refused),
        ("abandoned", queries.abandoned),
    ];
    numbers.iter().for_each(|(name, value)| show(format_args!("query/all/{name}"), *value));
}

fn read_node(fleet: &Fleet, id: NodeId, show: &mut Show<'_>) {
    let (Some(node), Some(mail)) = (fleet.node(id), fleet.mail(id)) else { return };
    let address = &fleet.identity(id).address;
    let counters = node.counters();
    let numbers = [
        ("turns", counters.turns),
        ("turns_abandoned", counters.turns_abandoned),
        ("events", counters.events),
        ("sent", counters.sent),
        ("received", counters.received),
        ("expired", counters.expired),
        ("waiting", node.waiting() as u64),
        ("dropped_unaddressed", counters.dropped_unaddressed),
        ("dropped_failed", counters.dropped_failed),
        ("dropped_table_full", counters.dropped_table_full),
        ("dropped_queue_full", counters.dropped_queue_full),
        ("dropped_replaced", counters.dropped_replaced),
        ("dropped_records", counters.dropped_records),
        ("dropped_arity", counters.dropped_arity),
        ("periodics_skipped", counters.periodics_skipped),
        ("unsent", mail.unsent()),
    ];
    let network = mail.counters().iter();
    for (name, value) in numbers.into_iter().chain(network) {
        show(format_args!("node/{address}/{name}"), value);
    }
}

fn nanos(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
