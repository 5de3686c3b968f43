//! Apps of the graph that the entry component beside it opens by literal names, checked when the
//! program is loaded. Which others run is known only then.

use tidemill_cl::ast::{Definition, Sent};
use tidemill_cl::system::packets::NAME as PACKETS;
use tidemill_diag::{Diagnostic, nearest};
use tidemill_stdx::sorted::SortedSet;

use super::border::is_of_program;
use super::check::{OPEN, literal};
use crate::components::system::packets::OUTSIDE;
use crate::components::system::ports::ends;
use crate::program::Program;

impl Program {
    /// Checks the names that the entry component opens.
    pub(in crate::borders) fn check_opened(&mut self) {
        let Some((graph, program)) = self.packets.as_ref().zip(self.components.program.as_ref())
        else {
            return;
        };
        let Some(entry) = program.entry.map(|entry| &program.components[entry].name) else {
            return;
        };
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
            if component.name.text != *entry {
                continue;
            }
            component.for_each_send(PACKETS, &mut |Sent { message, arguments, .. }| {
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
