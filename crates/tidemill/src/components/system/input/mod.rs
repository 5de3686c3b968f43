//! Input: the standard input, as bytes and lines.
//!
//! It is read only while a request is pending and the buffer is empty. The loop watches a terminal
//! or pipe; what it cannot watch (a file) is always ready. Clients are served in the order of their
//! requests.
mod reader;

use std::os::fd::AsRawFd;

use tidemill_cl::system::input::{Request, Response};
use tidemill_event::{Handlers, Interest, Loop};
use tidemill_proc::Communication;

use crate::machine::Machine;
use crate::run::Input;
pub(super) use reader::InputReader;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request,
) {
    world.node.systems.input.waiting.push_back((from, request));
    advance(world, lp);
}

pub(super) fn finished(world: &mut Machine, lp: &mut Loop<Machine>, communication: Communication) {
    world.node.systems.input.waiting.retain(|waiting| waiting.0 != communication);
    advance(world, lp);
}

/// Serves pending requests from the buffer, and has more input read for the rest.
fn advance(world: &mut Machine, lp: &mut Loop<Machine>) {
    while let Some(&(to, wanted)) = world.node.systems.input.waiting.front() {
        let Some(found) = world.node.systems.input.take(wanted) else {
            if watch(world, lp) {
                return;
            }
            world.node.systems.input.read();
            continue;
        };
        world.node.systems.input.waiting.pop_front();
        let answer = match (found, wanted) {
            (None, _) => Response::EOF,
            (Some(bytes), Request::ReadByte) => {
                Response::Byte { x: bytes.first().copied().unwrap_or(0) }
            }
            (Some(bytes), Request::ReadLine) => Response::Line { x: bytes.into() },
        };
        world.answer(lp, to, answer);
    }
    if let Some(watch) = world.node.systems.input.watch.take() {
        lp.unwatch(watch);
    }
}

/// Watches the input; returns false if the loop cannot watch it.
fn watch(world: &mut Machine, lp: &mut Loop<Machine>) -> bool {
    let reader = &mut world.node.systems.input;
    if reader.watch.is_some() {
        return true;
    }
    let Input::Descriptor(descriptor) = &reader.input else { return false };
    let handlers = Handlers::new()
        .read(|world: &mut Machine, lp: &mut Loop<Machine>, _| {
            world.node.systems.input.read();
            advance(world, lp);
        })
        .error(|world: &mut Machine, lp: &mut Loop<Machine>, watch, _| {
            // Input written before the hang-up can still be read.
            lp.unwatch(watch);
            world.node.systems.input.watch = None;
            world.node.systems.input.read();
            advance(world, lp);
        });
    reader.watch = lp.watch(descriptor.as_raw_fd(), Interest::Read, handlers).ok();
    reader.watch.is_some()
}
