//! The component tree of a program, as text for tools.

use tidemill_proc::Worker;
use tidemill_proc::{ComponentView, ProcessView, Role};
use tidemill_stdx::sort;

use crate::top::columns;

/// The maximum number of components in a listing.
const LISTED_MAX: usize = 200;

/// The component tree with its processes.
pub(crate) fn listing(worker: &mut Worker) -> String {
    let (mut all, rest) = worker.components(0, LISTED_MAX);
    sort::by(&mut all, |one, other| one.path.cmp(&other.path));
    let mut out = format!("components: {} bytes in use\n\n", worker.used_bytes());
    let rows: Vec<Vec<String>> = all.iter().flat_map(rows).collect();
    out += &columns(&["component", "type", "state", "bytes", "queued"], &rows);
    if rest.is_some() {
        out += "and more components\n\n";
    }
    out
}

fn rows(component: &ComponentView) -> Vec<Vec<String>> {
    let own = vec![
        component.path.clone(),
        component.kind.clone(),
        component.life.name().to_owned(),
        component.bytes.to_string(),
        String::new(),
    ];
    std::iter::once(own).chain(component.processes.iter().map(row)).collect()
}

fn row(process: &ProcessView) -> Vec<String> {
    let queued = process.client.as_ref().map(|client| client.queued.to_string());
    let client = process.client.as_ref().map(|client| format!(" for {}", client.path));
    let role = if process.role == Role::Server { "server" } else { "" };
    vec![
        format!("  {}{}", process.name, client.unwrap_or_default()),
        role.to_owned(),
        process.state.name().to_owned(),
        String::new(),
        queued.unwrap_or_default(),
    ]
}
