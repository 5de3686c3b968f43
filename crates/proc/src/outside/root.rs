//! Launched components: they have no client, only use what the system offers, and end.
//!
//! One ends when its body does, when it is [dismissed](Worker::dismiss), or when it fails; the
//! embedder [takes over](Worker::take_over) each end. A dismissed one continues until its processes
//! are done: it sees TERMINATED, and FINISH where its embedder has [ended](Worker::finish) a
//! communication. A process that waits for more all the same ends there, and FINALLY runs.

use crate::channel::notify_watching_client;
use crate::communication::Communication;
use crate::component::{self, ComponentId};
use crate::crew;
use crate::fault;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{CLIENT_WAITS, SERVER_ENDED};
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::outside::SendError;
use crate::outside::launched::top;
use crate::outside::state::Over;
use crate::system;

impl Worker {
    /// Makes a component of a type that offers nothing, without an owner. What it requires is
    /// connected with what the system [offers](Worker::offer).
    ///
    /// # Errors
    /// No memory for it within the limit, or the type offers something.
    pub fn launch(&mut self, kind: u32) -> Result<ComponentId, SendError> {
        crew::visit(self, |worker| worker.launch_now(kind))
    }

    fn launch_now(&mut self, kind: u32) -> Result<ComponentId, SendError> {
        let known = self.program().components.get(kind as usize);
        if known.is_none_or(|known| !known.offered.is_empty()) {
            return Err(SendError::Protocol);
        }
        self.machine.outside.has_launched = true;
        let full = self.machine.table.is_full();
        let create =
            |worker: &mut Worker| component::create(worker, kind, ComponentRef::NULL, false);
        let made = if full { crew::alone(self, create) } else { create(self) };
        let component = made.map_err(|OutOfMemory| SendError::OutOfMemory)?;
        system::connect(self, component);
        if component.process_count() == 0 {
            component::terminate(self, component, ProcessRef::NULL);
        }
        Ok(component.id())
    }

    /// Takes the next end of a launched component.
    pub fn take_over(&mut self) -> Option<Over> {
        self.machine.outside.over.pop_front()
    }

    /// Terminates a component that was launched; releases what is left of one that has failed.
    pub fn dismiss(&mut self, id: ComponentId) {
        crew::visit(self, |worker| {
            if let Some(component) = worker.machine.table.get(id) {
                component::terminate(worker, component, ProcessRef::NULL);
            }
        });
    }

    /// Ends a component that was launched, and kills its processes. Its FINALLY runs, and those of
    /// its sub-components.
    pub fn retire(&mut self, id: ComponentId) {
        crew::visit(self, |worker| {
            crew::between(worker, |worker| {
                let Some(component) = worker.machine.table.get(id) else { return };
                component::terminate(worker, component, ProcessRef::NULL);
                if !component.has_failed() {
                    fault::doom(worker, component);
                }
            });
        });
    }

    /// The component at the top of the tree that the client of a communication is in.
    pub fn root_of(&self, communication: Communication) -> Option<ComponentId> {
        let server = self.machine.systems.servers.get(communication)?;
        let client = server.channel().client_component().some()?;
        Some(top(client).id())
    }

    /// Ends a communication in order: its client sees FINISH when it has taken what was sent.
    pub fn finish(&mut self, communication: Communication) {
        crew::visit(self, |worker| {
            let Some(server) = worker.machine.systems.servers.get(communication) else { return };
            let channel = server.channel();
            channel.raise(SERVER_ENDED);
            if channel.has(CLIENT_WAITS) {
                channel.clear(CLIENT_WAITS);
                worker.wake(channel.client_process());
            }
            notify_watching_client(worker, channel);
        });
    }
}
