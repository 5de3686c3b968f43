//! Settings of apps that rules change: the table `flow::config(@N, App, Key, Value)`.
//!
//! The changes of a commit are one reconfiguration of the graph, between two breaths. Deleting a
//! row restores the setting in the graph's files. A row that does not fit changes nothing, and is
//! derived as `flow::refused(@N, App, Key, Value, Reason)`.

mod border;
mod check;
mod constants;
mod state;

use tidemill_event::{Loop, Time};
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, TupleBuf, Value};
use tidemill_stdx::marks;

use super::instances;
use super::rows::put;
use crate::machine::Machine;

pub use border::SettingsBorder;
pub(crate) use check::CONFIG;
use state::RefusedSetting;
pub(crate) use state::Settings;

/// Applies the settings that the rules of a turn have changed.
pub(super) fn take(machine: &mut Machine, events: &mut Loop<Machine>, tuples: &TupleBuf<Crossing>) {
    let Some(settings) = &machine.node.borders.settings else { return };
    let config = settings.relations.config;
    let of_table = || tuples.iter().filter(|(crossing, _)| crossing.relation == config);
    if of_table().next().is_none() {
        return;
    }
    let Some(mut settings) = machine.node.borders.settings.take() else { return };
    settings.handover.hand(events.now());
    let (mut undo, mut refused) = (Vec::new(), Vec::new());
    for (crossing, columns) in of_table() {
        marks::leave();
        // A row that is replaced is deleted, too.
        settings.changes.add(u64::from(crossing.kind != CrossingKind::Delete));
        refused.extend(settings.take(crossing.kind, columns, &mut undo).err());
    }
    if undo.is_empty() {
        marks::stay();
    } else if let Err(error) = reconfigure(machine, events, &settings) {
        // Each row is valid by itself; the graph with all of them does not start.
        settings.take_back(undo);
        refused.extend(of_table().filter_map(|(_, columns)| {
            let mut columns = columns.iter().skip(1);
            let mut text = || columns.next()?.as_str().map(str::to_owned);
            let (app, key) = (text()?, text()?);
            let value = OwnedValue::new(columns.next()?);
            Some(RefusedSetting { app, key, value, reason: error.clone() })
        }));
    }
    settings.refused.add(refused.len() as u64);
    let relation = settings.relations.refused;
    machine.node.borders.settings = Some(settings);
    for one in refused {
        machine.note(&format!("app {}: `{}` is refused: {}", one.app, one.key, one.reason));
        relation.into_iter().for_each(|relation| derive(machine, events, relation, &one));
    }
}

/// Runs the graph with the settings of all rows.
fn reconfigure(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    settings: &Settings,
) -> Result<(), String> {
    marks::leave();
    let prepared = instances::prepare(machine, events, settings.graph());
    marks::arrive("packets/reconfigured");
    prepared
}

/// The graph has breathed with the new settings, unless their code is still being compiled.
pub(super) fn breathed(machine: &mut Machine, now: Time) {
    let Some(settings) = &mut machine.node.borders.settings else { return };
    if !machine.node.driver.engine.is_preparing() {
        settings.handover.begin(now);
    }
}

fn derive(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    relation: RelationId,
    refused: &RefusedSetting,
) {
    let RefusedSetting { app, key, value, reason } = refused;
    let (app, key, reason) = (Value::Str(app), Value::Str(key), Value::Str(reason));
    put(machine, events, (relation, false), [app, key, value.get(), reason]);
}
