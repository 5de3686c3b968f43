//! The control socket of a run: who connects gets the component tree as text, and is let go.
//!
//! It lies in the folder of the run's counters, which is the user's alone. Nothing is read from it,
//! and what a reader does not take at once is dropped, so that nobody holds up the loop.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tidemill_event::{Handlers, Interest, Loop};
use tidemill_proc::layout::Worker;
use tidemill_proc::{ComponentView, Home, ProcessView, Role};

use super::run::World;
use crate::top::columns;

/// Its name in the folder.
pub const CONTROL: &str = "control";
/// Components that a listing shows.
const LISTED_MAX: usize = 200;

/// The socket, which goes with this.
pub(super) struct Control(PathBuf);

impl Control {
    /// Listens in a folder.
    pub(super) fn open(folder: &Path, lp: &mut Loop<World>) -> io::Result<Control> {
        let path = folder.join(CONTROL);
        // One of a process that had our number.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let control = Control(path);
        let descriptor = listener.as_raw_fd();
        let handlers = Handlers::new().read(move |world: &mut World, _: &mut Loop<World>, _| {
            while let Ok((mut stream, _)) = listener.accept() {
                let text = listing(world.runner().worker());
                // What does not fit is not waited for.
                let _ = stream.set_nonblocking(true).and_then(|()| stream.write(text.as_bytes()));
            }
        });
        lp.watch(descriptor, Interest::Read, handlers)?;
        Ok(control)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // The folder may be gone.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The component tree with its processes.
fn listing(worker: &mut Worker) -> String {
    let (mut all, rest) = worker.components(0, LISTED_MAX);
    all.sort_by(|one, other| one.path.cmp(&other.path));
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
    let queued = process.client.as_ref().map(|(_, count)| count.to_string());
    let client = process.client.as_ref().map(|(client, _)| format!(" for {client}"));
    let role = if process.role == Role::Server { "server" } else { "" };
    vec![
        format!("  {}{}", process.name, client.unwrap_or_default()),
        role.to_owned(),
        process.state.name().to_owned(),
        String::new(),
        queued.unwrap_or_default(),
    ]
}
