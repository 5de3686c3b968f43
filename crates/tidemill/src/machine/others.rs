//! Calls between the workers of a run.
//!
//! ```text
//! first worker     its nodes, and all that a run has once: console, tools, signals, keys, the end
//! other workers    their nodes
//! ```
//! Each has a machine and a loop in a thread of its own. They share nothing but queues of calls: a
//! worker [posts](Remote) a request to another, and the answer is a post, too. Tuples between their
//! nodes travel over the network, as to any node.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidemill_event::{Loop, Remote};
use tidemill_overlog::control::{self, Control, End, Message, Status};
use tidemill_overlog::fleet::{self, NodeId, Takes};
use tidemill_overlog::query::AskerId;

use super::Machine;
use super::crew::ASKERS;
use super::posts::{first, post};
use crate::console::{Console, Form};

/// Whether all workers are drained, given the state of this one. Workers other than the first
/// report their state to it, and continue until it ends them: nodes of others may still need
/// theirs.
pub(crate) fn is_drained(machine: &Machine, is_drained: bool) -> bool {
    let me = machine.share.me as usize;
    match &machine.crew {
        None => is_drained,
        Some(crew) if me == 0 => is_drained && crew.drained.iter().all(|drained| *drained),
        Some(_) => {
            first(machine, move |machine, _| {
                let crew = machine.crew.as_mut();
                let drained = crew.and_then(|crew| crew.drained.get_mut(me - 1));
                drained.into_iter().for_each(|drained| *drained = is_drained);
            });
            false
        }
    }
}

/// Passes a query to a node of another worker.
///
/// # Errors
/// There is no such worker.
pub(crate) fn ask(
    machine: &mut Machine,
    node: NodeId,
    (asker, id): (AskerId, u64),
    text: &str,
) -> Result<(), End> {
    let (worker, text) = (machine.share.part_of(node), text.to_owned());
    let remote = machine.crew.as_mut().and_then(|crew| {
        let remote = crew.worker(worker)?.clone();
        *crew.pending.entry((asker, worker)).or_default() += 1;
        Some(remote)
    });
    let Some(remote) = remote else {
        return Err(End::refusal(Status::Unavailable, "the node has ended"));
    };
    post(&remote, move |machine, events| {
        if let Err(end) = fleet::ask(machine, events, node, (asker, id), &text) {
            answer(machine, events, asker, &control::end(id, &end));
        }
    });
    Ok(())
}

/// Passes a part of an answer to its asker: here, or at the first worker.
pub(crate) fn answer(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    asker: AskerId,
    part: &[u8],
) -> Takes {
    let me = machine.share.me;
    if asker.0 / ASKERS == u64::from(me) {
        return crate::control::reply(machine, events, asker, part);
    }
    let decoded = Control::decode(part).ok();
    let is_end = decoded.is_some_and(|part| matches!(part.message, Some(Message::End(_))));
    let part = part.to_vec();
    first(machine, move |machine, events| {
        let takes = crate::control::reply(machine, events, asker, &part);
        let Some(crew) = &mut machine.crew else { return };
        if is_end && let Some(left) = crew.pending.get_mut(&(asker, me)) {
            *left -= 1;
            if *left == 0 {
                crew.pending.remove(&(asker, me));
            }
        }
        if takes == Takes::More {
            go_on(machine, me, asker);
        }
    });
    Takes::Later
}

/// Resumes the answer of another worker to an asker.
fn go_on(machine: &Machine, worker: u32, asker: AskerId) {
    let remote = machine.crew.as_ref().and_then(|crew| crew.worker(worker));
    remote.into_iter().for_each(|remote| {
        post(remote, move |machine, events| fleet::resume(machine, events, asker));
    });
}

/// The workers with pending requests of an asker.
fn pending_workers(machine: &Machine, asker: AskerId) -> Vec<u32> {
    let pending = machine.crew.iter().flat_map(|crew| crew.pending.keys());
    pending.filter(|(known, _)| *known == asker).map(|&(_, worker)| worker).collect()
}

/// An asker is ready for more of its answer.
pub(crate) fn resume(machine: &Machine, asker: AskerId) {
    pending_workers(machine, asker).into_iter().for_each(|worker| go_on(machine, worker, asker));
}

/// The connection of an asker has ended.
pub(crate) fn forget(machine: &mut Machine, asker: AskerId) {
    for worker in pending_workers(machine, asker) {
        let Some(crew) = &mut machine.crew else { return };
        crew.pending.remove(&(asker, worker));
        crew.worker(worker).into_iter().for_each(|remote| {
            post(remote, move |machine, events| fleet::forget(machine, events, asker));
        });
    }
}

/// Whether another worker has a pending request of an asker.
pub(crate) fn is_asking(machine: &Machine, asker: AskerId) -> bool {
    !pending_workers(machine, asker).is_empty()
}

/// Output of a worker other than the first, until the first writes it.
#[derive(Clone, Default)]
pub(crate) struct WorkerOutput(Arc<Mutex<Streams>>);

#[derive(Default)]
struct Streams {
    data: Vec<u8>,
    notes: Vec<u8>,
}

impl WorkerOutput {
    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A console whose lines the first worker writes.
    pub(crate) fn console(
        &self,
        (form, is_eager): (Form, bool),
        first: Remote<Machine>,
    ) -> Console {
        let stream = |is_data| Stream { written: self.clone(), first: first.clone(), is_data };
        let console = Console::new(form, Box::new(stream(true)), Box::new(stream(false)));
        if is_eager { console.eager() } else { console }
    }

    /// Writes the collected output.
    pub(crate) fn write(&self, console: &mut Console) {
        let Streams { data, notes } = mem::take(&mut *self.lock());
        if !data.is_empty() {
            console.write(&data);
        }
        if !notes.is_empty() {
            console.note(String::from_utf8_lossy(&notes).trim_end());
        }
    }
}

/// A stream of such a console, which writes whole lines.
struct Stream {
    written: WorkerOutput,
    first: Remote<Machine>,
    is_data: bool,
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut streams = self.written.lock();
        let was_empty = streams.data.is_empty() && streams.notes.is_empty();
        if self.is_data {
            streams.data.extend_from_slice(bytes)
        } else {
            streams.notes.extend_from_slice(bytes)
        }
        drop(streams);
        if was_empty {
            let written = self.written.clone();
            post(&self.first, move |machine, events| {
                written.write(&mut machine.journal.get_mut().console);
                machine.stop_if_over(events);
            });
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
