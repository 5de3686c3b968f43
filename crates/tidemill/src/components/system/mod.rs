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
//!
//! What each of them keeps is in a file below the machine (`state` has them all); the functions
//! that take the machine send messages by `answer`.

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
pub(crate) fn serve(world: &mut Machine, lp: &mut Loop<Machine>, request: Request) {
    let Request { communication, system, message, values, .. } = request;
    let Some(&system) = System::ALL.get(system as usize) else { return };
    let Some(number) = message else {
        finished(world, lp, communication);
        return;
    };
    world.node.systems.open.insert(communication, system);
    world.node.systems.serving = true;
    macro_rules! serve {
        ($($interface:ident)::+ => $server:ident) => {
            if let Some(request) = $($interface)::+::Request::of(number, &values) {
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
