//! The settings of apps in `flow::config`, and the graph of the files.

use std::collections::HashMap;
use std::fmt;

use tidemill_overlog::node::CrossingKind;
use tidemill_packet::app::Value as Setting;
use tidemill_packet::graph::{AppSpec, Graph};
use tidemill_relation::{OwnedValue, Seq, Value};
use tidemill_stat::{Counter, Registry};
use tidemill_stdx::marks;
use tidemill_stdx::sorted::SortedMap;

use super::border::SettingsBorder;
use super::check::CONFIG;
use crate::borders::decode::DECODE;
use crate::borders::flows::is_of_program;
use crate::borders::latency::Handover;

/// The settings of apps in `flow::config`.
pub(crate) struct Settings {
    pub(super) relations: SettingsBorder,
    /// The graph of the files.
    written: Graph,
    /// The numbers of its apps, by name.
    apps: HashMap<String, usize>,
    /// Settings that replace those of the files: by app, then by key.
    rows: Vec<SortedMap<String, Setting>>,
    pub(super) handover: Handover,
    /// Rows that have come or changed, and those of them that were refused.
    pub(super) changes: Counter,
    pub(super) refused: Counter,
}

/// Why a setting is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SettingError {
    /// There is no app of this name.
    NoApp(String),
    /// No setting has such a value.
    NoValue,
    /// What a `Decode` decodes cannot change.
    Decoded,
    /// How an app runs components cannot change.
    Program,
    /// The app does not accept it.
    Config(String),
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            SettingError::NoApp(app) => return write!(f, "the graph has no app `{app}`"),
            SettingError::NoValue => return f.write_str("it is no value of a setting"),
            SettingError::Config(message) => return f.write_str(message),
            SettingError::Decoded => "what it decodes",
            SettingError::Program => "how it runs components",
        };
        write!(f, "{what} is settled when the program is loaded")
    }
}

/// A row that was refused.
pub(super) struct RefusedSetting {
    pub(super) app: String,
    pub(super) key: String,
    pub(super) value: OwnedValue,
    pub(super) reason: String,
}

/// The previous value of a changed row.
pub(super) struct UndoSetting {
    app: usize,
    key: String,
    before: Option<Setting>,
}

impl Settings {
    /// Of a graph with the settings of its files.
    pub(in crate::borders) fn new(
        relations: SettingsBorder,
        written: Graph,
        registry: &Registry,
    ) -> Settings {
        let counter = |name: &str| registry.counter(&format!("border/{CONFIG}/{name}"));
        let mut settings = Settings {
            relations,
            written: Graph::default(),
            apps: HashMap::new(),
            rows: Vec::new(),
            handover: Handover::new(registry, CONFIG),
            changes: counter("changes"),
            refused: counter("refused"),
        };
        settings.rewrite(written);
        settings
    }

    /// Rebinds to the relations of other rules.
    pub(in crate::borders) fn rebind(&mut self, relations: SettingsBorder) {
        self.relations = relations;
    }

    /// The graph of the files.
    pub(in crate::borders) fn into_written(self) -> Graph {
        self.written
    }

    /// Replaces the graph of the files, without settings.
    fn rewrite(&mut self, written: Graph) {
        let names = written.apps.iter().map(|app| app.name.clone());
        self.apps = names.enumerate().map(|(at, name)| (name, at)).collect();
        self.rows = written.apps.iter().map(|_| SortedMap::new()).collect();
        self.written = written;
    }

    /// Replaces the graph of the files; returns it with the settings applied. Rows that no longer
    /// fit are dropped.
    pub(crate) fn rewritten(&mut self, written: Graph) -> Graph {
        let (apps, rows) = (std::mem::take(&mut self.written.apps), std::mem::take(&mut self.rows));
        self.rewrite(written);
        for (app, rows) in apps.iter().zip(rows) {
            let Some(&at) = self.apps.get(&app.name) else { continue };
            let fits = |key: &String, value: &Setting| fits(&self.written.apps[at], key, value);
            self.rows[at] = rows.into_iter().filter(|(key, it)| fits(key, it).is_ok()).collect();
        }
        self.graph()
    }

    pub(super) fn graph(&self) -> Graph {
        let mut graph = self.written.clone();
        for (app, rows) in graph.apps.iter_mut().zip(&self.rows) {
            rows.iter().for_each(|(key, value)| app.config.set(key, value.clone()));
        }
        graph
    }

    /// Applies a change, and records how to undo it; returns the reason if it is refused.
    pub(super) fn take(
        &mut self,
        kind: CrossingKind,
        columns: Seq<'_>,
        undo: &mut Vec<UndoSetting>,
    ) -> Result<(), RefusedSetting> {
        let mut columns = columns.iter().skip(1);
        let (Some(Value::Str(app)), Some(Value::Str(key)), Some(value)) =
            (columns.next(), columns.next(), columns.next())
        else {
            return Ok(());
        };
        let (at, setting) = (self.apps.get(app).copied(), setting(value));
        if kind == CrossingKind::Delete {
            let Some(at) = at else { return Ok(()) };
            if setting.is_some() && self.rows[at].get(key) == setting.as_ref() {
                let before = self.rows[at].remove(key);
                undo.push(UndoSetting { app: at, key: key.to_owned(), before });
            }
            return Ok(());
        }
        marks::arrive("packets/check");
        let found = at.ok_or_else(|| SettingError::NoApp(app.to_owned()));
        let checked = found.and_then(|at| {
            let setting = setting.ok_or(SettingError::NoValue)?;
            fits(&self.written.apps[at], key, &setting)?;
            Ok((at, setting))
        });
        let (at, setting) = match checked {
            Ok(checked) => checked,
            Err(error) => {
                let (app, key, value) = (app.to_owned(), key.to_owned(), OwnedValue::new(value));
                let reason = error.to_string();
                return Err(RefusedSetting { app, key, value, reason });
            }
        };
        marks::leave();
        let before = match self.rows[at].get_mut(key) {
            Some(known) if *known == setting => return Ok(()),
            Some(known) => Some(std::mem::replace(known, setting)),
            None => self.rows[at].insert(key.to_owned(), setting),
        };
        undo.push(UndoSetting { app: at, key: key.to_owned(), before });
        marks::arrive("packets/settings");
        Ok(())
    }

    /// Undoes changes, the last one first.
    pub(super) fn take_back(&mut self, undo: Vec<UndoSetting>) {
        for UndoSetting { app, key, before } in undo.into_iter().rev() {
            match before {
                Some(before) => self.rows[app].insert(key, before),
                None => self.rows[app].remove(&key),
            };
        }
    }
}

/// Checks whether an app accepts a setting.
pub(super) fn fits(known: &AppSpec, key: &str, value: &Setting) -> Result<(), SettingError> {
    if known.kind.name == DECODE {
        return Err(SettingError::Decoded);
    }
    if is_of_program(known) {
        return Err(SettingError::Program);
    }
    let mut config = known.config.clone();
    config.set(key, value.clone());
    match known.kind.check(&config).into_iter().next() {
        Some((_, message)) => Err(SettingError::Config(message)),
        None => Ok(()),
    }
}

fn setting(value: Value<'_>) -> Option<Setting> {
    Some(match value {
        Value::Bool(truth) => Setting::Bool(truth),
        Value::Int(number) => Setting::Integer(number.into()),
        Value::Double(number) => Setting::Double(number),
        Value::Str(text) => Setting::Text(text.to_owned()),
        Value::List(values) => Setting::List(values.iter().map(setting).collect::<Option<_>>()?),
        _ => return None,
    })
}
