//! Settings of apps that rules change: the table `flow::config(@N, App, Key, Value)`.
//!
//! The changes of a commit are one reconfiguration of the graph, between two breaths. Deleting a
//! row restores what the files of the graph say. A row that does not fit changes nothing, and is
//! derived as `flow::refused(@N, App, Key, Value, Reason)`.

mod check;

use std::collections::BTreeMap;

use tidemill_event::Loop;
use tidemill_overlog::fleet;
use tidemill_overlog::node::{Crossing, CrossingKind, Event};
use tidemill_packet::app::Value as Setting;
use tidemill_packet::drive;
use tidemill_packet::graph::Graph;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, TupleBuf, Value};

use super::decode::DECODE;
use super::flows::is_of_program;
use crate::machine::Machine;

pub use check::SettingsBorder;

/// What rules say of the settings of apps.
pub(crate) struct Settings {
    relations: SettingsBorder,
    /// The graph as its files say.
    written: Graph,
    /// What rules say in its place, by app and key.
    rows: BTreeMap<(String, String), Setting>,
}

/// A row that was refused.
struct Refused {
    app: String,
    key: String,
    value: OwnedValue,
    reason: String,
}

impl Settings {
    /// Of a graph that is as its files say.
    pub(crate) fn new(relations: SettingsBorder, written: Graph) -> Settings {
        Settings { relations, written, rows: BTreeMap::new() }
    }

    /// The files of the graph have changed; the graph with what rules say of it. Rows that fit no
    /// more are forgotten.
    pub(crate) fn rewritten(&mut self, written: Graph) -> Graph {
        self.written = written;
        let written = &self.written;
        self.rows.retain(|(app, key), value| fits(written, app, key, value).is_ok());
        self.graph()
    }

    fn graph(&self) -> Graph {
        let mut graph = self.written.clone();
        for ((name, key), value) in &self.rows {
            let app = graph.apps.iter_mut().find(|app| app.name == *name);
            app.into_iter().for_each(|app| app.config.set(key, value.clone()));
        }
        graph
    }

    /// Takes a change; why it is refused, if so.
    fn take(&mut self, kind: CrossingKind, columns: &[Value<'_>]) -> Result<(), Refused> {
        let [_, Value::Str(app), Value::Str(key), value] = *columns else { return Ok(()) };
        let at = (app.to_owned(), key.to_owned());
        let setting = setting(value);
        if kind == CrossingKind::Delete {
            if self.rows.get(&at) == setting.as_ref() {
                self.rows.remove(&at);
            }
            return Ok(());
        }
        let checked = setting.ok_or_else(|| "it is no value of a setting".to_owned());
        let checked = checked.and_then(|setting| {
            fits(&self.written, app, key, &setting)?;
            Ok(setting)
        });
        match checked {
            Ok(setting) => {
                self.rows.insert(at, setting);
                Ok(())
            }
            Err(reason) => {
                let (app, key) = at;
                Err(Refused { app, key, value: OwnedValue::new(value), reason })
            }
        }
    }
}

/// Changes settings of apps as the rules of a turn say.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    let Some(settings) = &machine.node.borders.settings else { return };
    let relation = settings.relations.config;
    let of_table = tuples.iter().filter(|(crossing, _)| crossing.relation == relation);
    let changes: Vec<_> =
        of_table.map(|(crossing, columns)| (crossing.kind, columns.iter().collect())).collect();
    if !changes.is_empty() {
        change(machine, events, &changes);
    }
}

/// Does what the rules of a turn have changed.
fn change(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    changes: &[(CrossingKind, Vec<Value<'_>>)],
) {
    let Some(mut settings) = machine.node.borders.settings.take() else { return };
    let before = settings.rows.clone();
    let taken = changes.iter().map(|(kind, columns)| settings.take(*kind, columns));
    let mut refused: Vec<Refused> = taken.filter_map(Result::err).collect();
    if settings.rows != before
        && let Err(error) = drive::prepare(machine, events, settings.graph())
    {
        // No row is wrong by itself; together they give a graph that does not start.
        settings.rows = before;
        refused.extend(changes.iter().filter_map(|(_, columns)| {
            let [_, Value::Str(app), Value::Str(key), value] = columns[..] else { return None };
            let (app, key, value) = (app.to_owned(), key.to_owned(), OwnedValue::new(value));
            Some(Refused { app, key, value, reason: error.to_string() })
        }));
    }
    let relation = settings.relations.refused;
    machine.node.borders.settings = Some(settings);
    for one in refused {
        machine.note(&format!("app {}: `{}` is refused: {}", one.app, one.key, one.reason));
        relation.into_iter().for_each(|relation| derive(machine, events, relation, &one));
    }
}

fn derive(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    relation: RelationId,
    refused: &Refused,
) {
    let node = machine.node.id;
    let Some(address) = machine.fleet.address(node).map(str::to_owned) else { return };
    let Refused { app, key, value, reason } = refused;
    let texts = [Value::Str(&address), Value::Str(app), Value::Str(key)];
    let mut columns = texts.map(OwnedValue::new).to_vec();
    columns.extend([value.clone(), OwnedValue::new(Value::Str(reason))]);
    // What the node does not take it counts.
    fleet::inject(
        machine,
        events,
        node,
        Event::Tuple { relation, columns, delete: false, received: false },
    );
}

/// Whether an app takes a setting.
fn fits(graph: &Graph, app: &str, key: &str, value: &Setting) -> Result<(), String> {
    let known = graph.apps.iter().find(|known| known.name == app);
    let known = known.ok_or_else(|| format!("the graph has no app `{app}`"))?;
    if known.kind.name == DECODE {
        return Err("what it decodes is settled when the program is loaded".to_owned());
    }
    if is_of_program(known) {
        return Err("how it runs components is settled when the program is loaded".to_owned());
    }
    let mut config = known.config.clone();
    config.set(key, value.clone());
    match known.kind.check(&config).into_iter().next() {
        Some((_, message)) => Err(message),
        None => Ok(()),
    }
}

fn setting(value: Value<'_>) -> Option<Setting> {
    Some(match value {
        Value::Bool(truth) => Setting::Bool(truth),
        Value::Int(number) => Setting::Integer(number),
        Value::Double(number) => Setting::Double(number),
        Value::Str(text) => Setting::Text(text.to_owned()),
        Value::List(values) => Setting::List(values.iter().map(setting).collect::<Option<_>>()?),
        _ => return None,
    })
}
