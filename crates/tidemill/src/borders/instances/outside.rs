//! Packets of other workers for components of the first one, which open apps of the type `Outside`.
//!
//! ```text
//! other worker                                first worker
//! link -> [app Outside] -> post -------->  queue of the app -> component
//! link <- [app Outside] <--------------------- post <- component
//! ```
//! Of each app of a worker a number of packets may be under way, until a component takes them;
//! others stay on the link.

use tidemill_event::Loop;
use tidemill_packet::drive;

use crate::components::system::packets::{self, PostedPacket};
use crate::machine::{Machine, posts};

/// Packets of an app that may be under way.
const UNDER_WAY_MAX: usize = 256;

/// The graph of another worker has breathed: posts the packets for components.
pub(in crate::borders) fn take(machine: &mut Machine, events: &mut Loop<Machine>) {
    let mut open = std::mem::take(&mut machine.node.borders.open_apps);
    let mut has_taken = false;
    for (app, under_way) in open.iter_mut() {
        let mut some = Vec::new();
        while *under_way < UNDER_WAY_MAX
            && let Some(packet) = machine.node.driver.engine.take_from(app, "input")
        {
            let (bytes, time_ns) = (packet.bytes().to_vec(), packet.time_ns());
            some.push(PostedPacket { bytes, time_ns });
            *under_way += 1;
        }
        if !some.is_empty() {
            has_taken = true;
            let (app, me) = (app.clone(), machine.share.me);
            posts::first(machine, move |machine, events| {
                packets::arrived(machine, events, &app, (me, some));
            });
        }
    }
    machine.node.borders.open_apps = open;
    if has_taken {
        // An empty link may let the graph finish.
        drive::wake(machine, events);
    }
}
