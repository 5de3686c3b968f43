//! The relations of settings, checked when the program is loaded.

use tidemill_diag::{Diagnostic, FileId, Span};
use tidemill_overlog::exports::first_use;
use tidemill_relation::plan::RelationId;

use super::border::SettingsBorder;
use crate::program::{FileKind, Program};

/// The table of settings, the event of refused ones, and its columns.
pub(crate) const CONFIG: &str = "flow::config";
const REFUSED: &str = "flow::refused";
const REFUSED_COLUMNS: usize = 5;

impl Program {
    /// The relations by which rules change settings of apps, if they do.
    fn settings_border(&self) -> Result<Option<SettingsBorder>, Diagnostic> {
        let Some(rules) = &self.rules.program else { return Ok(None) };
        let Some(config) = rules.plan.find(CONFIG) else { return Ok(None) };
        let place = |name| first_use(&self.rules.tree, name);
        let nowhere = Span { file: FileId(0), start: 0, end: 0 };
        if !self.kinds.has(FileKind::Packets) {
            let message = format!("`{CONFIG}` changes settings of packet apps, and there are none");
            let span = place(CONFIG).unwrap_or(nowhere);
            let help = "add a packet graph to the program";
            return Err(Diagnostic::error("border", span, message).help(help));
        }
        Ok(Some(SettingsBorder { config, refused: self.refused_settings()? }))
    }

    /// The event of refused settings, where the rules read it.
    ///
    /// # Errors
    /// It has other columns.
    pub(in crate::borders) fn refused_settings(&self) -> Result<Option<RelationId>, Diagnostic> {
        let Some(rules) = &self.rules.program else { return Ok(None) };
        let refused = rules.plan.find(REFUSED);
        if let Some(id) = refused
            && !rules.plan.relation(id).takes(REFUSED_COLUMNS)
        {
            let message = format!("`{REFUSED}` has {REFUSED_COLUMNS} columns");
            let nowhere = Span { file: FileId(0), start: 0, end: 0 };
            let span = first_use(&self.rules.tree, REFUSED).unwrap_or(nowhere);
            let help = format!("it is `{REFUSED}(@N, App, Key, Value, Reason)`");
            return Err(Diagnostic::error("border", span, message).help(help));
        }
        Ok(refused)
    }

    /// The events of refused settings.
    pub(crate) fn events_of_settings(&self) -> impl Iterator<Item = String> {
        self.packets.iter().map(|_| REFUSED.to_owned())
    }

    /// Checks the relations of settings against the graph.
    pub(crate) fn check_settings_border(&mut self) {
        match self.settings_border() {
            Ok(settings) => {
                if settings.is_some() {
                    self.diagnostics.extend(self.wrong_settings());
                }
                self.borders.settings = settings;
            }
            Err(error) => self.diagnostics.push(error),
        }
    }
}
