//! The system components of a program, and their state for clients.

use std::path::Path;

use tidemill_cl::system::System;
use tidemill_proc::program::Program;
use tidemill_proc::{Communication, CommunicationMap, Worker};

use super::pore::PoreView;
use super::{
    confined, disk, files, input, messages, network, packets, pore, ports, view, xenstore,
};
use crate::borders::schemas::Schemas;
use crate::error::Error;
use crate::run::ComponentOptions;

/// All system components of a run.
pub(crate) struct Systems {
    /// Those that the program uses.
    used: [bool; System::ALL.len()],
    /// Open communications, with their system component.
    pub(super) open: CommunicationMap<System>,
    /// Requests are being served, so the loop need not be scheduled for it.
    pub(super) serving: bool,
    pub(super) files: files::Files,
    pub(super) view: view::View,
    pub(super) input: input::InputReader,
    pub(super) arguments: Vec<String>,
    pub(super) network: network::Network,
    pub(super) pores: pore::PoreSystem,
    pub(super) outlets: xenstore::Outlets,
    pub(super) packets: packets::Packets,
    /// The messages held by clients of Messages.
    pub(super) contents: messages::Messages,
}

impl Systems {
    /// Sets up the components for a program. A folder that cannot be opened is an error only if the
    /// program uses files.
    pub(crate) fn new(
        program: &Program,
        options: &mut ComponentOptions,
        disk: disk::Disk,
    ) -> Result<Systems, Error> {
        let used = used_by(program);
        let uses_files = used[System::Files as usize];
        let files = if uses_files || options.root.is_some() {
            files::Files::new(options.root.as_deref().unwrap_or(Path::new(".")), disk)?
        } else {
            files::Files::default()
        };
        let uses_pores = used[System::Pore as usize] || used[System::Xenstore as usize];
        let sockets = if uses_pores {
            Some(confined::Root::open_folder(options.root.as_deref())?)
        } else {
            None
        };
        let pores = pore::PoreSystem::new(sockets.clone());
        Ok(Systems {
            used,
            open: CommunicationMap::default(),
            serving: false,
            files,
            view: view::View::default(),
            input: input::InputReader::new(std::mem::take(&mut options.input)),
            arguments: std::mem::take(&mut options.arguments),
            network: network::Network::default(),
            pores,
            outlets: xenstore::Outlets::new(sockets),
            packets: packets::Packets::default(),
            contents: messages::Messages::default(),
        })
    }

    /// The first of these names whose component needs something that was not set up at the start.
    pub(crate) fn lacks<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        let is_known = |system: System| self.used[system as usize];
        let are_open = is_known(System::Pore) || is_known(System::Xenstore);
        names.find(|name| match System::named(name) {
            Some(System::Files) => !is_known(System::Files),
            Some(System::Pore | System::Xenstore) => !are_open,
            _ => false,
        })
    }

    /// Records which of them a program uses.
    pub(crate) fn learn(&mut self, program: &Program) {
        self.used = used_by(program);
    }

    /// Offers all of them to the entry component.
    pub(crate) fn offer(&self, worker: &mut Worker) {
        for system in System::ALL {
            worker.offer(system.name(), system as u32);
        }
    }

    /// Sets the schemas of the program, for Messages.
    pub(crate) fn know(&mut self, schemas: &Schemas) {
        self.contents.know(schemas);
    }

    /// Connects Packets to the ports of an app, before the program starts.
    pub(crate) fn lead_to_ports(&mut self) {
        self.packets.lead_to_ports();
    }

    /// The ports that Packets is connected to.
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

    /// Whether sockets have unsent data.
    pub(crate) fn has_unsent(&self) -> bool {
        self.network.has_unsent()
    }

    /// Frames that the kernel dropped before a pore could read them.
    pub(crate) fn pore_drops(&mut self) -> u64 {
        self.pores.dropped()
    }

    /// The open pores, each with the communication that owns it.
    pub(crate) fn list_pores(&mut self) -> Vec<(Communication, PoreView)> {
        self.pores.list()
    }

    /// Takes reports of errors that no client has seen: files that could not be written.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        self.files.take_problems()
    }

    /// Writes the picture.
    pub(crate) fn write_png(&self, path: &Path) -> std::io::Result<()> {
        self.view.write_png(path)
    }
}

/// The number of system components: higher numbers are other interfaces.
pub(crate) fn count() -> u32 {
    System::ALL.len() as u32
}

/// Which of them a program uses.
fn used_by(program: &Program) -> [bool; System::ALL.len()] {
    System::ALL.map(|system| program.interfaces.iter().any(|it| it.name == system.name()))
}
