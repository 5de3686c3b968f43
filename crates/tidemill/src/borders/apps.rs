//! Apps of a graph that are borders: their links, and whether they are as they were checked.

use tidemill_packet::app::{Config, Direction};
use tidemill_packet::engine::Engine;
use tidemill_packet::graph::{AppSpec, Graph};

/// The links to an app that has one output, and from it.
pub(super) fn links(engine: &Engine, app: &str) -> (Vec<usize>, Option<usize>) {
    let of = |direction| engine.links_of(app, direction).into_iter().map(|(link, _)| link);
    (of(Direction::Input).collect(), of(Direction::Output).next())
}

/// The first app of a graph that is a border of this kind and differs from all checked ones.
pub(super) fn unchecked<'g, 'k>(
    graph: &'g Graph,
    is_border: impl Fn(&AppSpec) -> bool,
    checked: impl Iterator<Item = (&'k str, &'k Config)> + Clone,
) -> Option<&'g str> {
    let is_known = |app: &AppSpec| {
        checked.clone().any(|(name, config)| name == app.name && *config == app.config)
    };
    let mut borders = graph.apps.iter().filter(|app| is_border(app));
    borders.find(|app| !is_known(app)).map(|app| &*app.name)
}
