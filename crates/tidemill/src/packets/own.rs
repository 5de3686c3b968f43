//! Programs that apps have of their own, by `file`: of which kind they may be.
//!
//! `Rules` runs a file of rules and `Script` one of components, and neither has apps. So programs
//! do not nest deeper, and no file leads back to itself; one that would, a graph, is an error.

use tidemill_diag::Diagnostic;
use tidemill_packet::app::Value;

use crate::program::{FileKind, Program};

/// The apps with programs of their own, and the kind of these.
const APPS: [(&str, FileKind); 2] = [("Rules", FileKind::Rules), ("Script", FileKind::Components)];

impl Program {
    /// Checks the kinds of files that apps run.
    pub(crate) fn check_files_of_apps(&mut self) {
        let mut found = Vec::new();
        for (app, &span) in self.packets.iter().flat_map(|graph| &graph.apps).zip(&self.apps) {
            let known = APPS.into_iter().find(|(name, _)| app.kind.name == *name);
            let file = app.config.get("file");
            let (Some((kind, needed)), Some(Value::Text(file))) = (known, file) else { continue };
            let is = FileKind::of(file.as_ref());
            if file.is_empty() || is == Some(needed) {
                continue;
            }
            let (name, needed) = (&app.name, needed.name());
            let message = match is {
                Some(FileKind::Packets) => format!(
                    "`{name}` cannot run `{file}`, a packet graph, which could lead back to itself"
                ),
                _ => format!("`{name}` cannot run `{file}`"),
            };
            let help = format!("the `file` of `{kind}` is one of {needed}");
            found.push(Diagnostic::error("app-file", span, message).help(help));
        }
        self.diagnostics.append(&mut found);
    }
}
