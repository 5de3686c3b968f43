//! Listings of what there is, for tools that show a running system.

use crate::channel::interface_of;
use crate::communication::Communication;
use crate::component::{ComponentId, Life, path, unique_path};
use crate::crew;
use crate::fault::{self, process_name};
use crate::handle::ComponentRef;
use crate::machine::Worker;
use crate::observed::Activity;
use crate::process::{ProcessState, Role};
use crate::program::Port;

/// A component as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComponentView {
    /// Its id.
    pub id: ComponentId,
    /// From the entry component down: `Town/house[3]`. No other component has it: where several
    /// have one name, their numbers follow, as in `Adder#7`.
    pub path: String,
    /// The name of its type.
    pub kind: String,
    /// Where it is in its life.
    pub life: Life,
    /// Its processes.
    pub processes: Vec<ProcessView>,
    /// Bytes of its own block and of its processes' blocks; not what its variables own.
    pub bytes: u64,
}

/// A process as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessView {
    /// The function it began with.
    pub name: String,
    /// Why it exists.
    pub role: Role,
    /// What it waits for.
    pub state: ProcessState,
    /// What it has done, if that is noted.
    pub activity: Option<Activity>,
    /// Of a server process: the other end of its channel.
    pub client: Option<ClientView>,
}

/// The client of a server process, as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientView {
    /// The path of its component.
    pub path: String,
    /// The name of the interface.
    pub interface: String,
    /// Messages in the channel.
    pub queued: u8,
}

impl Worker {
    /// At most `count` components by number, from `first` on, with the number to continue from. All
    /// loops are stopped between two processes meanwhile.
    pub fn components(&mut self, first: u32, count: usize) -> (Vec<ComponentView>, Option<u32>) {
        crew::visit(self, |worker| {
            crew::between(worker, |worker| {
                let mut views = Vec::new();
                for component in worker.machine.table.iter_from(first) {
                    if views.len() == count {
                        return (views, Some(component.number()));
                    }
                    views.push(worker.view(component));
                }
                (views, None)
            })
        })
    }

    /// Whether an existing component offers or requires an interface of the program.
    pub fn uses(&mut self, interface: u32) -> bool {
        let is_it = |port: &Port| port.interface == interface;
        crew::visit(self, |worker| {
            crew::between(worker, |worker| {
                worker.machine.table.iter().any(|component| {
                    let known = component.descriptor();
                    known.offered.iter().chain(&known.required).any(is_it)
                })
            })
        })
    }

    /// The path of the component that has a communication with a system component open.
    pub fn client_path(&mut self, communication: Communication) -> Option<String> {
        crew::visit(self, |worker| {
            crew::between(worker, |worker| {
                let server = worker.machine.systems.servers.get(communication)?;
                let client = server.channel().client_component().some()?;
                Some(unique_path(worker, client))
            })
        })
    }

    /// Makes the component of a path, as [`Worker::components`] shows it, fail; false if there is
    /// none. Without `#NUMBER` in the path it is the first that has it. Then the world is to be
    /// [armed](crate::arm).
    pub fn kill(&mut self, wanted: &str) -> bool {
        crew::visit(self, |worker| {
            crew::between(worker, |worker| {
                let has_begun_to_fail = |component: ComponentRef| {
                    component.is_doomed()
                        || matches!(Life::of(component), Life::Failing | Life::Failed)
                };
                let is_it = |component: ComponentRef| {
                    path(worker, component) == wanted || unique_path(worker, component) == wanted
                };
                let found = worker
                    .machine
                    .table
                    .iter_from(0)
                    .find(|component| !has_begun_to_fail(*component) && is_it(*component));
                let found = found.inspect(|&component| {
                    fault::note_component(worker, component, "outside", fault::Reason::Killed);
                });
                found.is_some()
            })
        })
    }

    fn view(&self, component: ComponentRef) -> ComponentView {
        let descriptor = component.descriptor();
        let mut view = ComponentView {
            id: component.id(),
            path: unique_path(self, component),
            kind: descriptor.name.clone(),
            life: Life::of(component),
            processes: Vec::new(),
            bytes: u64::from(descriptor.size),
        };
        let mut process = component.processes();
        while !process.is_null() {
            view.bytes += u64::from(process.size());
            let channel = process.channel();
            let client = (Role::of(process) == Role::Server)
                .then(|| channel.client_component().some())
                .flatten()
                .map(|client| ClientView {
                    path: unique_path(self, client),
                    interface: interface_of(self, channel).name.clone(),
                    queued: channel.count(),
                });
            view.processes.push(ProcessView {
                name: process_name(self, process),
                role: Role::of(process),
                state: ProcessState::of(process),
                activity: self.activity(process),
                client,
            });
            process = process.next();
        }
        view
    }
}
