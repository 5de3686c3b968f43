//! Apps of the graph that components beside it open by literal names, checked when the program is
//! loaded.

use tidemill_cl::ast::Definition;
use tidemill_cl::system::packets::NAME as PACKETS;
use tidemill_diag::{Diagnostic, nearest};
use tidemill_stdx::sorted::SortedSet;

use super::border::is_of_program;
use super::check::{OPEN, literal};
use crate::components::system::packets::OUTSIDE;
use crate::components::system::ports::ends;
use crate::program::Program;

impl Program {
    /// Checks the names that components open. In those that apps run, and in what these use, they
    /// are ports of the app; which component is used by which is known only when they run.
    pub(in crate::borders) fn check_opened(&mut self) {
        let Some(graph) = self.packets.as_ref().filter(|_| self.components.program.is_some())
        else {
            return;
        };
        let of_apps = self.components_of_apps();
        let apps = || graph.apps.iter().zip(&self.apps);
        let outside = || apps().filter(|(app, _)| app.kind.name == OUTSIDE);
        let scripts: SortedSet<usize> = graph
            .apps
            .iter()
            .enumerate()
            .filter_map(|(at, app)| is_of_program(app).then_some(at))
            .collect();
        let ends_of = graph.links.iter().flat_map(|link| [&link.from, &link.to]);
        let of_scripts = ends_of.filter(|end| scripts.contains(&end.app));
        let ports: SortedSet<&str> = of_scripts.map(|end| &*end.port).collect();
        let mut found = Vec::new();
        for definition in self.components.tree.definitions() {
            let Definition::Component(component) = definition else { continue };
            if of_apps.contains(&component.name.text) {
                continue;
            }
            component.for_each_send(PACKETS, &mut |message, arguments| {
                let Some((name, place)) = arguments.first().and_then(literal) else { return };
                let (from, to) = ends(name);
                let is_port = ports.contains(from) && ports.contains(to);
                if message.text != OPEN || is_port || outside().any(|(app, _)| app.name == name) {
                    return;
                }
                let message = format!("the packet graph has no `{name} :: {OUTSIDE}`");
                let error = Diagnostic::error("border", place, message);
                let names = outside().map(|(app, _)| app.name.as_str());
                let meant = nearest(name, names);
                let other = meant.and_then(|meant| outside().find(|(app, _)| app.name == meant));
                let same = apps().find(|(app, _)| app.name == name);
                found.push(match (other, same) {
                    (Some((app, &declared)), _) => error
                        .label(declared, "an app that components open")
                        .help(format!("is `{}` meant?", app.name)),
                    (None, Some((app, &declared))) => error
                        .label(declared, format!("it is a {}", app.kind.name))
                        .help(format!("components reach the packets of an app {OUTSIDE}")),
                    (None, None) => error.help(format!("add `{name} :: {OUTSIDE}` to the graph")),
                });
            });
        }
        self.diagnostics.extend(found);
    }
}
