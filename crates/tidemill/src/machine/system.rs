//! Tables of the system about components and packets, for rules and queries.

use std::collections::BTreeMap;

use tidemill_packet::engine::Engine;
use tidemill_packet::graph::LinkSpec;
use tidemill_packet::link::LinkStats;
use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::sorted::SortedMap;

use super::Machine;

/// The maximum number of components in a table.
const COMPONENTS_MAX: usize = 10_000;

/// The rows of a table without the location; none for tables of other parts.
pub(super) fn rows(machine: &mut Machine, name: &str) -> Vec<Vec<OwnedValue>> {
    match name {
        "sys::app" if machine.has.packets => app_rows(&GraphCounts::of(machine)),
        "sys::link" if machine.has.packets => link_rows(&GraphCounts::of(machine)),
        "sys::component" if machine.has.components => component_rows(machine),
        "sys::process" if machine.has.components => process_rows(machine),
        "sys::channel" if machine.has.components => channel_rows(machine),
        "sys::pore" if machine.has.components => pore_rows(machine),
        "sys::log" => log_rows(machine),
        _ => Vec::new(),
    }
}

fn count(value: u64) -> Value<'static> {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn row<const COLUMNS: usize>(values: [Value<'_>; COLUMNS]) -> Vec<OwnedValue> {
    values.map(OwnedValue::new).to_vec()
}

/// The graph of a node with its counters: of several workers those of all instances, which are as
/// they were last published.
struct GraphCounts<'m> {
    engine: &'m Engine,
    /// Counters of all instances, if there are several.
    published: Option<BTreeMap<String, u64>>,
}

impl GraphCounts<'_> {
    fn of(machine: &mut Machine) -> GraphCounts<'_> {
        let published = machine.node.borders.instances.is_some().then(|| {
            machine.node.driver.engine.publish();
            let mut counters = machine.registry.counters("link/");
            counters.append(&mut machine.registry.counters("app/"));
            counters
        });
        GraphCounts { engine: &machine.node.driver.engine, published }
    }

    /// The sum of a counter of all instances, given that of this one.
    fn sum(&self, name: &str, own: u64) -> u64 {
        let published = self.published.as_ref().and_then(|counters| counters.get(name));
        published.copied().unwrap_or(own)
    }

    /// The counts of a link; what is queued is that of this instance.
    fn link(&self, link: &LinkSpec) -> Option<LinkStats> {
        let name = self.engine.graph().link_name(link);
        let own = self.engine.link_stats(&name)?;
        let sum = |counter: &str, own: u64| self.sum(&format!("link/{name}/{counter}"), own);
        Some(LinkStats {
            tx_packets: sum("tx_packets", own.tx_packets),
            tx_bytes: sum("tx_bytes", own.tx_bytes),
            tx_drops: sum("tx_drops", own.tx_drops),
            rx_packets: sum("rx_packets", own.rx_packets),
            rx_bytes: sum("rx_bytes", own.rx_bytes),
            ..own
        })
    }
}

/// App, type, state, packets, time, restarts. Packets are those received or, for a source, sent.
/// Time and state are those of this worker's instance; time is null until it is measured.
fn app_rows(counts: &GraphCounts<'_>) -> Vec<Vec<OwnedValue>> {
    let engine = counts.engine;
    let (graph, out_of_order, done) = (engine.graph(), engine.out_of_order(), engine.done());
    let packets = |app: usize, is_end: fn(&LinkSpec, usize) -> bool| {
        let links = graph.links.iter().filter(|link| is_end(link, app));
        let stats = links.filter_map(|link| counts.link(link));
        stats.fold((0, 0), |all, one| (all.0 + one.rx_packets, all.1 + one.tx_packets))
    };
    let of_app = graph.apps.iter().enumerate().map(|(at, app)| {
        let is_source = graph.links.iter().all(|link| link.to.app != at);
        let moved = if is_source {
            packets(at, |link, app| link.from.app == app).1
        } else {
            packets(at, |link, app| link.to.app == app).0
        };
        let state = match &app.name {
            name if out_of_order.contains(name) => "failed",
            name if done.contains(name) => "done",
            _ => "running",
        };
        let texts = [&app.name, app.kind.name, state].map(Value::Str);
        let [name, kind, state] = texts;
        let restarts = engine.restarts(&app.name);
        let restarts = counts.sum(&format!("app/{}/restarts", app.name), restarts);
        let ns = engine.app_ns(&app.name).map_or(Value::Null, count);
        row([name, kind, state, count(moved), ns, count(restarts)])
    });
    of_app.collect()
}

/// From, to, queued, packets, bytes, drops.
fn link_rows(counts: &GraphCounts<'_>) -> Vec<Vec<OwnedValue>> {
    let graph = counts.engine.graph();
    let end =
        |end: &tidemill_packet::graph::End| format!("{}.{}", graph.apps[end.app].name, end.port);
    let of_link = graph.links.iter().filter_map(|link| {
        let stats = counts.link(link)?;
        let (from, to) = (end(&link.from), end(&link.to));
        let numbers = [stats.queued, stats.tx_packets, stats.tx_bytes, stats.tx_drops].map(count);
        let [queued, packets, bytes, drops] = numbers;
        Some(row([Value::Str(&from), Value::Str(&to), queued, packets, bytes, drops]))
    });
    of_link.collect()
}

/// Path, type, state, processes, bytes.
fn component_rows(machine: &mut Machine) -> Vec<Vec<OwnedValue>> {
    let (components, _) = machine.node.runner.worker().components(0, COMPONENTS_MAX);
    let of_component = components.iter().map(|component| {
        row([
            Value::Str(&component.path),
            Value::Str(&component.kind),
            Value::Str(component.life.name()),
            count(component.processes.len() as u64),
            count(component.bytes),
        ])
    });
    of_component.collect()
}

/// Component, process, state, since, messages. Processes are numbered within their component. Since
/// and messages are null unless a rule of the program reads them.
fn process_rows(machine: &mut Machine) -> Vec<Vec<OwnedValue>> {
    let (components, _) = machine.node.runner.worker().components(0, COMPONENTS_MAX);
    let of_process = components.iter().flat_map(|component| {
        (0..).zip(&component.processes).map(|(number, process)| {
            row([
                Value::Str(&component.path),
                Value::Int(number),
                Value::Str(process.state.name()),
                process.activity.map_or(Value::Null, |it| Value::Time(it.since_ns)),
                process.activity.map_or(Value::Null, |it| count(it.messages)),
            ])
        })
    });
    of_process.collect()
}

/// From, to, interface, queued, messages: requests of clients in one component to servers in
/// another that are still queued, and all messages so far of those that are open, which are null
/// unless a rule of the program reads them.
fn channel_rows(machine: &mut Machine) -> Vec<Vec<OwnedValue>> {
    let (components, _) = machine.node.runner.worker().components(0, COMPONENTS_MAX);
    let mut channels: SortedMap<(&str, &str, &str), (u64, Option<u64>)> = SortedMap::new();
    for server in &components {
        for process in &server.processes {
            let Some(client) = &process.client else { continue };
            let channel = (&*client.path, &*server.path, &*client.interface);
            let (queued, messages) = channels.entry(channel).or_default();
            *queued += u64::from(client.queued);
            if let Some(activity) = process.activity {
                *messages = Some(messages.unwrap_or_default() + activity.channel_messages);
            }
        }
    }
    let of_channel = channels.into_iter().map(|((from, to, interface), (queued, messages))| {
        let names = [from, to, interface].map(Value::Str);
        let [from, to, interface] = names;
        row([from, to, interface, count(queued), messages.map_or(Value::Null, count)])
    });
    of_channel.collect()
}

/// Pore, kind, owner, whether it can be read, whether it can be written.
fn pore_rows(machine: &mut Machine) -> Vec<Vec<OwnedValue>> {
    let pores = machine.node.systems.list_pores();
    let of_pore = pores.into_iter().map(|(from, pore)| {
        let owner = machine.node.runner.worker().client_path(from).unwrap_or_default();
        let number = pore.number.to_string();
        let (readable, writable) = (Value::Bool(pore.readable), Value::Bool(pore.writable));
        row([Value::Str(&number), Value::Str(pore.kind), Value::Str(&owner), readable, writable])
    });
    of_pore.collect()
}

/// Time, level, topic, file, line, text.
fn log_rows(machine: &Machine) -> Vec<Vec<OwnedValue>> {
    let of_line = machine.log.lines().map(|(time, line)| {
        row([
            Value::Time(*time),
            Value::Str(line.level.name()),
            Value::Str(&line.topic),
            Value::Str(&line.file),
            count(u64::from(line.line)),
            Value::Str(&line.text),
        ])
    });
    of_line.collect()
}
