//! Tables of the system about components and packets, for rules and queries.

use tidemill_packet::engine::Engine;
use tidemill_packet::graph::LinkSpec;
use tidemill_relation::{OwnedValue, Value};

use super::Machine;

/// Components that a table shows at most.
const COMPONENTS_MAX: usize = 10_000;

/// The rows of a table without the location; none, if it is none of these.
pub(super) fn rows(machine: &mut Machine, name: &str) -> Vec<Vec<OwnedValue>> {
    match name {
        "sys::app" if machine.has.packets => app_rows(&machine.node.driver.engine),
        "sys::link" if machine.has.packets => link_rows(&machine.node.driver.engine),
        "sys::component" if machine.has.components => component_rows(machine),
        "sys::process" if machine.has.components => process_rows(machine),
        _ => Vec::new(),
    }
}

fn count(value: u64) -> Value<'static> {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn row<const COLUMNS: usize>(values: [Value<'_>; COLUMNS]) -> Vec<OwnedValue> {
    values.map(OwnedValue::new).to_vec()
}

/// App, type, state, packets, time, restarts. Packets are those that it took, or, of a source,
/// gave. Time and restarts are not counted by app.
fn app_rows(engine: &Engine) -> Vec<Vec<OwnedValue>> {
    let (graph, out_of_order, done) = (engine.graph(), engine.out_of_order(), engine.done());
    let packets = |app: usize, is_end: fn(&LinkSpec, usize) -> bool| {
        let links = graph.links.iter().filter(|link| is_end(link, app));
        let stats = links.filter_map(|link| engine.link_stats(&graph.link_name(link)));
        stats.fold((0, 0), |all, one| (all.0 + one.rx_packets, all.1 + one.tx_packets))
    };
    let of_app = graph.apps.iter().enumerate().map(|(at, app)| {
        let is_source = graph.links.iter().all(|link| link.to.app != at);
        let moved = match is_source {
            true => packets(at, |link, app| link.from.app == app).1,
            false => packets(at, |link, app| link.to.app == app).0,
        };
        let state = match &app.name {
            name if out_of_order.contains(name) => "failed",
            name if done.contains(name) => "done",
            _ => "running",
        };
        let texts = [&app.name, app.kind.name, state].map(Value::Str);
        let [name, kind, state] = texts;
        row([name, kind, state, count(moved), Value::Null, Value::Null])
    });
    of_app.collect()
}

/// From, to, queued, packets, bytes, drops.
fn link_rows(engine: &Engine) -> Vec<Vec<OwnedValue>> {
    let graph = engine.graph();
    let end =
        |end: &tidemill_packet::graph::End| format!("{}.{}", graph.apps[end.app].name, end.port);
    let of_link = graph.links.iter().filter_map(|link| {
        let stats = engine.link_stats(&graph.link_name(link))?;
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

/// Component, process, state, since, messages. Processes are numbered within their component; since
/// when, and how many messages, is not counted.
fn process_rows(machine: &mut Machine) -> Vec<Vec<OwnedValue>> {
    let (components, _) = machine.node.runner.worker().components(0, COMPONENTS_MAX);
    let of_process = components.iter().flat_map(|component| {
        (0..).zip(&component.processes).map(|(number, process)| {
            row([
                Value::Str(&component.path),
                Value::Int(number),
                Value::Str(process.state.name()),
                Value::Null,
                Value::Null,
            ])
        })
    });
    of_process.collect()
}
