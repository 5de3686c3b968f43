//! Ports that verdicts name by constants, checked when the program is loaded.

use tidemill_diag::{Diagnostic, Span, nearest};
use tidemill_stdx::sorted::SortedSet;

use crate::borders::derived::{constant_text, derived};
use crate::program::Program;

/// The column of the port in a verdict.
const PORT: usize = 1;

impl Program {
    /// The errors in constant ports of a verdict that is of these apps: each has to be an output of
    /// one of them.
    pub(super) fn wrong_ports(&self, verdict: &str, apps: &[(&str, Span)]) -> Vec<Diagnostic> {
        let (Some(graph), Some(&(first, declared))) = (&self.packets, apps.first()) else {
            return Vec::new();
        };
        let is_of_them = |app: usize| apps.iter().any(|(name, _)| *name == graph.apps[app].name);
        let links = graph.links.iter().filter(|link| is_of_them(link.from.app));
        let outputs: SortedSet<&str> = links.map(|link| &*link.from.port).collect();
        let tuples = derived(&self.rules.tree, verdict);
        let ports = tuples.filter_map(|tuple| constant_text(tuple, PORT));
        let wrong = ports.filter(|(port, _)| !outputs.contains(port)).map(|(port, place)| {
            let message = format!("no link of `{first}` leads to `{port}`");
            let help = match nearest(port, outputs.iter().copied()) {
                Some(meant) => {
                    format!("is `{meant}` meant? ports go by the apps at the other ends")
                }
                None if outputs.is_empty() => format!("`{first}` has no outputs"),
                None => {
                    let all: Vec<&str> = outputs.iter().copied().collect();
                    format!("its outputs are {}", all.join(", "))
                }
            };
            let error = Diagnostic::error("border", place, message);
            error.label(declared, "the app").help(help)
        });
        wrong.collect()
    }
}
