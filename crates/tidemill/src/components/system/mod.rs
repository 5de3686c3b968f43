//! The components that the system provides to the entry component.
//!
//! Clients send them messages like any component. A message arrives as a request ([`serve`]); it is
//! answered at once, or when a timer or descriptor of the loop allows it ([`Machine::answer`]).
//! None blocks the loop, and no request makes one fail.
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
//! | `packets` | Packets; `ports` replaces the graph in an app |
//! | `xenstore` | Xenstore, the native driver; the one over a pore is a component |
//!
//! The state of each is in a file below the machine (`state` has them all); the functions that take
//! the machine send messages by `answer`.

mod answer;
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
mod state;
mod time;
mod view;
mod xenstore;

use tidemill_cl::system::{self as offered, System};
use tidemill_event::Loop;
use tidemill_proc::{Communication, Request};

use crate::machine::Machine;
pub(crate) use state::{Systems, count};

/// Serves one request.
pub(crate) fn serve(world: &mut Machine, lp: &mut Loop<Machine>, request: &Request) {
    let Request { communication, system, message, ref values, .. } = *request;
    let Some(&system) = System::ALL.get(system as usize) else { return };
    let Some(number) = message else {
        finished(world, lp, communication);
        return;
    };
    world.node.systems.open.insert(communication, system);
    world.node.systems.serving = true;
    macro_rules! serve {
        ($($interface:ident)::+ => $server:ident) => {
            if let Some(request) = $($interface)::+::Request::of(number, values) {
                $server::serve(world, lp, communication, request);
            }
        };
    }
    match system {
        System::Time => serve!(offered::system_time => time),
        System::Files => serve!(offered::file_system => files),
        System::View => serve!(offered::graphic_view => view),
        System::Input => serve!(offered::input => input),
        System::Arguments => serve!(offered::arguments => arguments),
        System::Network => serve!(offered::network => network),
        System::Pore => serve!(offered::pore => pore),
        System::Xenstore => serve!(offered::xenstore => xenstore),
        System::Packets => serve!(offered::packets => packets),
        System::Messages => serve!(offered::messages => messages),
    }
    world.node.systems.serving = false;
}

/// No process is ready: polls for a short while; returns whether something has arrived for a
/// waiting client.
pub(crate) fn look(world: &mut Machine, lp: &mut Loop<Machine>) -> bool {
    world.node.systems.serving = true;
    let has_come = pore::look(world, lp);
    world.node.systems.serving = false;
    has_come
}

/// A client has finished, or its component has ended.
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
