//! Settings that facts and heads of rules name by constants, checked when the program is loaded.

use tidemill_diag::{Diagnostic, Span, nearest};
use tidemill_overlog::ast::{Functor, Literal};
use tidemill_packet::app::Value as Setting;
use tidemill_packet::graph::AppSpec;

use super::check::CONFIG;
use super::state::{SettingError, fits};
use crate::borders::derived::{constant, constant_text, derived};
use crate::program::Program;

/// The columns of `flow::config(@N, App, Key, Value)`.
const APP: usize = 1;
const KEY: usize = 2;
const VALUE: usize = 3;

impl Program {
    /// The errors in constants of settings.
    pub(super) fn wrong_settings(&self) -> Vec<Diagnostic> {
        let rows = derived(&self.rules.tree, CONFIG);
        rows.filter_map(|row| self.wrong_setting(row)).collect()
    }

    fn wrong_setting(&self, row: &Functor) -> Option<Diagnostic> {
        let graph = self.packets.as_ref()?;
        let (name, place) = constant_text(row, APP)?;
        let apps = || graph.apps.iter().zip(&self.apps);
        let Some((app, &declared)) = apps().find(|(app, _)| app.name == name) else {
            let error = SettingError::NoApp(name.to_owned()).to_string();
            let error = Diagnostic::error("border", place, error);
            let names = graph.apps.iter().map(|app| app.name.as_str());
            let meant = nearest(name, names);
            let meant = meant.and_then(|meant| apps().find(|(app, _)| app.name == meant));
            let Some((app, &declared)) = meant else { return Some(error) };
            let error = error.label(declared, "an app of the graph");
            return Some(error.help(format!("is `{}` meant?", app.name)));
        };
        let (key, place) = constant_text(row, KEY)?;
        let error = |message: String, place: Span| {
            Diagnostic::error("border", place, message).label(declared, "the app")
        };
        let is_key = |app: &AppSpec| app.kind.keys.iter().any(|it| it.name == key);
        if !is_key(app) {
            let keys = app.kind.keys.iter().map(|key| key.name);
            let message = format!("`{name}`, a {}, has no key `{key}`", app.kind.name);
            let error = error(message, place);
            return Some(match nearest(key, keys) {
                Some(meant) => error.help(format!("is `{meant}` meant?")),
                None => error,
            });
        }
        let (value, place) = constant(row, VALUE)?;
        let checked = match setting(value) {
            Some(value) => fits(app, key, &value),
            None => Err(SettingError::NoValue),
        };
        checked.err().map(|reason| error(reason.to_string(), place))
    }
}

fn setting(literal: &Literal) -> Option<Setting> {
    Some(match literal {
        Literal::Bool(truth) => Setting::Bool(*truth),
        Literal::Int(number) => Setting::Integer((*number).into()),
        Literal::Double(number) => Setting::Double(*number),
        Literal::Str(text) => Setting::Text(text.clone()),
        _ => return None,
    })
}
