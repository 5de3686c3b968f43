//! The components that the system offers to the entry component.
//!
//! Clients send them messages as to any component. What arrives is a request ([`serve`]); it is
//! answered at once, or when a timer or a descriptor of the loop allows it ([`Machine::answer`]).
//! None of them blocks the loop, and nothing that a program asks for makes one fail.
//!
//! | part | interface |
//! |---|---|
//! | `time` | SystemTime |
//! | `files` | FileSystem; `confined` opens files below a folder, `disk` has those of simulations |
//! | `view` | GraphicView; `glyphs` has the shapes of characters |
//! | `input` | Input |
//! | `arguments` | Arguments |
//! | `network` | Network |
//! | `pore` | Pore |
//! | `messages` | Messages |
//! | `packets` | Packets; `ports` is what it leads to in an app |
//! | `xenstore` | Xenstore, the native driver; the one over a pore is a component |

mod arguments;
pub(crate) mod confined;
pub(crate) mod disk;
mod files;
mod glyphs;
mod input;
mod messages;
mod network;
pub(crate) mod packets;
mod pore;
pub(crate) mod ports;
mod time;
mod view;
mod xenstore;

use std::borrow::Cow;
use std::path::Path;

use tidemill_event::Loop;
use tidemill_proc::Worker;
use tidemill_proc::program::Program;
use tidemill_proc::{Communication, CommunicationMap, Refused, Request, Value, arm};

use crate::borders::schemas::Schemas;
use crate::machine::Machine;
use crate::run::ComponentOptions;
pub(crate) use pore::PoreView;

/// A system component; its number is what requests come with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum System {
    Time,
    Files,
    View,
    Input,
    Arguments,
    Network,
    Pore,
    Xenstore,
    Packets,
    Messages,
}

impl System {
    const ALL: [System; 10] = [
        System::Time,
        System::Files,
        System::View,
        System::Input,
        System::Arguments,
        System::Network,
        System::Pore,
        System::Xenstore,
        System::Packets,
        System::Messages,
    ];

    fn interface(self) -> &'static str {
        match self {
            System::Time => "SystemTime",
            System::Files => "FileSystem",
            System::View => "GraphicView",
            System::Input => "Input",
            System::Arguments => "Arguments",
            System::Network => "Network",
            System::Pore => "Pore",
            System::Xenstore => "Xenstore",
            System::Packets => "Packets",
            System::Messages => "Messages",
        }
    }
}

/// All system components of a run.
pub(crate) struct Systems {
    /// The messages of each, in the order that the program numbers them.
    messages: [Vec<String>; System::ALL.len()],
    /// Communications that are open, with their system component.
    open: CommunicationMap<System>,
    /// Requests are being served: the loop need not be told to look for what is ready.
    serving: bool,
    files: files::Files,
    view: view::View,
    input: input::Reader,
    arguments: Vec<String>,
    network: network::Network,
    pores: pore::PoreSystem,
    outlets: xenstore::Outlets,
    packets: packets::Packets,
    /// What clients of Messages hold.
    contents: messages::Messages,
}

impl Systems {
    /// What a program needs of them. A folder that cannot be opened matters to who uses files.
    pub(crate) fn new(
        program: &Program,
        options: &mut ComponentOptions,
        disk: disk::Disk,
    ) -> Result<Systems, String> {
        let messages: [Vec<String>; _] = System::ALL.map(|system| {
            let known = program.interfaces.iter().find(|it| it.name == system.interface());
            let messages = known.map(|it| it.messages.iter().map(|one| one.name.clone()).collect());
            messages.unwrap_or_default()
        });
        let uses_files = !messages[System::Files as usize].is_empty();
        let files = match uses_files || options.root.is_some() {
            true => files::Files::new(options.root.as_deref().unwrap_or(Path::new(".")), disk)?,
            false => files::Files::default(),
        };
        let uses_pores = [System::Pore, System::Xenstore]
            .into_iter()
            .any(|system| !messages[system as usize].is_empty());
        let sockets = match uses_pores {
            true => Some(confined::Root::open_folder(options.root.as_deref())?),
            false => None,
        };
        let pores = pore::PoreSystem::new(sockets.clone(), &messages[System::Pore as usize]);
        Ok(Systems {
            messages,
            open: CommunicationMap::default(),
            serving: false,
            files,
            view: view::View::default(),
            input: input::Reader::new(std::mem::take(&mut options.input)),
            arguments: std::mem::take(&mut options.arguments),
            network: network::Network::default(),
            pores,
            outlets: xenstore::Outlets::new(sockets),
            packets: packets::Packets::default(),
            contents: messages::Messages::default(),
        })
    }

    /// Offers all of them to the entry component.
    pub(crate) fn offer(&self, worker: &mut Worker) {
        for system in System::ALL {
            worker.offer(system.interface(), system as u32);
        }
    }

    /// Has Messages know the schemas of the program.
    pub(crate) fn know(&mut self, schemas: &Schemas) {
        self.contents.know(schemas);
    }

    /// Has Packets lead to the ports of an app; the program has not begun.
    pub(crate) fn lead_to_ports(&mut self) {
        self.packets.lead_to_ports();
    }

    /// The ports that Packets leads to.
    pub(crate) fn ports(&mut self) -> Option<&mut ports::Ports> {
        self.packets.ports()
    }

    /// Whether the program has opened an input of these.
    pub(crate) fn has_opened(&self, input: usize) -> bool {
        self.packets.is_open(input)
    }

    /// The communications that are open.
    pub(crate) fn communications(&self) -> impl Iterator<Item = Communication> {
        self.open.iter().map(|(name, _)| name)
    }

    /// Whether the network has still to take what was sent.
    pub(crate) fn has_unsent(&self) -> bool {
        self.network.has_unsent()
    }

    /// Frames that the kernel dropped before a pore could read them.
    pub(crate) fn pore_drops(&mut self) -> u64 {
        self.pores.dropped()
    }

    /// The pores that are open, with the communication that owns each.
    pub(crate) fn list_pores(&mut self) -> Vec<(Communication, PoreView)> {
        self.pores.list()
    }

    /// What went wrong behind the backs of the clients: files that could not be written.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        self.files.take_problems()
    }

    /// Writes the picture.
    pub(crate) fn write_png(&self, path: &Path) -> std::io::Result<()> {
        self.view.write_png(path)
    }
}

fn integer(value: i64) -> Value<'static> {
    Value::Word(value.cast_unsigned())
}

fn text(bytes: impl Into<Vec<u8>>) -> Value<'static> {
    Value::Text(Cow::Owned(bytes.into()))
}

/// A text that only has to last until it is sent.
fn lent(bytes: &[u8]) -> Value<'_> {
    Value::Text(Cow::Borrowed(bytes))
}

/// The number of Packets.
pub(crate) fn packets_number() -> u32 {
    System::Packets as u32
}

/// How many there are: higher numbers are those of others.
pub(crate) fn count() -> u32 {
    System::ALL.len() as u32
}

/// Serves one request.
pub(crate) fn serve(world: &mut Machine, lp: &mut Loop<Machine>, request: Request) {
    let Request { communication, system, message, values, .. } = request;
    let Some(&system) = System::ALL.get(system as usize) else { return };
    let Some(number) = message else {
        finished(world, lp, communication);
        return;
    };
    world.node.systems.open.insert(communication, system);
    let names = &mut world.node.systems.messages[system as usize];
    let Some(name) = names.get_mut(number as usize).map(std::mem::take) else { return };
    world.node.systems.serving = true;
    match system {
        System::Time => time::serve(world, lp, communication, &name, &values),
        System::Files => files::serve(world, lp, communication, &name, &values),
        System::View => view::serve(world, lp, communication, &name, &values),
        System::Input => input::serve(world, lp, communication, &name),
        System::Arguments => arguments::serve(world, lp, communication, &name, &values),
        System::Network => network::serve(world, lp, communication, &name, &values),
        System::Pore => pore::serve(world, lp, communication, number, &values),
        System::Xenstore => xenstore::serve(world, lp, communication, &name, &values),
        System::Packets => packets::serve(world, lp, communication, &name, &values),
        System::Messages => messages::serve(world, lp, communication, &name, &values),
    }
    world.node.systems.serving = false;
    world.node.systems.messages[system as usize][number as usize] = name;
    world.node.runner.worker().reuse(values);
}

/// Nothing is ready: whether something comes that somebody waits for, within a short while.
pub(crate) fn look(world: &mut Machine, lp: &mut Loop<Machine>) -> bool {
    world.node.systems.serving = true;
    let has_come = pore::look(world, lp);
    world.node.systems.serving = false;
    has_come
}

/// A client has finished, or its component is gone.
pub(crate) fn finished(world: &mut Machine, lp: &mut Loop<Machine>, communication: Communication) {
    match world.node.systems.open.remove(communication) {
        Some(System::Files) => world.node.systems.files.close(communication),
        Some(System::View) => world.node.systems.view.finished(communication),
        Some(System::Input) => input::finished(world, lp, communication),
        Some(System::Network) => network::finished(world, lp, communication),
        Some(System::Pore) => pore::finished(world, lp, communication),
        Some(System::Xenstore) => xenstore::finished(world, lp, communication),
        Some(System::Packets) => packets::finished(world, communication),
        Some(System::Messages) => world.node.systems.contents.finished(communication),
        Some(System::Time | System::Arguments) | None => {}
    }
}

impl Machine {
    /// Answers a client. One that has gone meanwhile needs no answer.
    fn answer(
        &mut self,
        lp: &mut Loop<Machine>,
        to: Communication,
        message: &str,
        values: &[Value<'_>],
    ) {
        let Some(&system) = self.node.systems.open.get(to) else { return };
        let mut names = self.node.systems.messages[system as usize].iter();
        let Some(number) = names.position(|name| name == message) else { return };
        self.answer_by_number(lp, to, number as u32, values);
    }

    fn answer_by_number(
        &mut self,
        lp: &mut Loop<Machine>,
        to: Communication,
        number: u32,
        values: &[Value<'_>],
    ) {
        match self.node.runner.worker().answer(to, number, values) {
            Ok(()) | Err(Refused::Gone | Refused::OutOfMemory) => {}
            Err(Refused::Protocol) => debug_assert!(false, "message {number} is not allowed now"),
        }
        if !self.node.systems.serving {
            arm(self, lp);
        }
    }
}
