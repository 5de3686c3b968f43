//! Posting calls to the loops of other workers; see `others` for what they say to each other.

use tidemill_event::{Loop, Owner, Remote};

use super::Machine;
use super::crew::Crew;

/// Posts a call. A full queue has counted it; the loop behind it has stopped running.
pub(super) fn post(
    remote: &Remote<Machine>,
    f: impl FnOnce(&mut Machine, &mut Loop<Machine>) + Send + 'static,
) {
    let _ = remote.event(Owner::LOOP, f);
}

/// The other workers, if this is the first.
fn others(machine: &Machine) -> &[Remote<Machine>] {
    match &machine.crew {
        Some(crew) if machine.share.me == 0 => &crew.others,
        _ => &[],
    }
}

/// Runs a function at all other workers, if this is the first.
pub(crate) fn all(
    machine: &Machine,
    f: impl Fn(&mut Machine, &mut Loop<Machine>) + Clone + Send + 'static,
) {
    for other in others(machine) {
        post(other, f.clone());
    }
}

impl Machine {
    /// Another worker has work that it had not when it last said that it is drained.
    pub(crate) fn has_work_of(&mut self, worker: u32) {
        let drained = self.crew.as_mut().map(|crew| &mut crew.drained);
        let drained =
            drained.and_then(|drained| drained.get_mut((worker as usize).checked_sub(1)?));
        drained.into_iter().for_each(|drained| *drained = false);
    }
}

/// Runs a function at another worker, if this is the first.
pub(crate) fn to(
    machine: &Machine,
    worker: u32,
    f: impl FnOnce(&mut Machine, &mut Loop<Machine>) + Send + 'static,
) {
    let remote = machine.crew.as_ref().and_then(|crew| crew.worker(worker));
    if let Some(remote) = remote {
        post(remote, f);
    }
}

/// Runs a function at the first worker, if this is another.
pub(crate) fn first(
    machine: &Machine,
    f: impl FnOnce(&mut Machine, &mut Loop<Machine>) + Send + 'static,
) {
    let first = machine.crew.as_ref().filter(|_| machine.share.me > 0).and_then(Crew::first);
    if let Some(first) = first {
        post(first, f);
    }
}
