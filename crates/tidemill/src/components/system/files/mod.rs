//! FileSystem: files below one folder; in simulations they are in memory ([`super::disk`]).
//!
//! Reads and writes are buffered, so that a byte at a time does not cost a system call each. Only
//! regular files are opened, and each call moves a bounded number of bytes, so none blocks for
//! longer than a disk. A large text is written in pieces, one per event of the loop; its client is
//! suspended meanwhile.
mod open;

use tidemill_cl::system::Text;
use tidemill_cl::system::file_system::{Request, Response};
use tidemill_event::Loop;
use tidemill_proc::{Communication, arm};

use super::confined::Purpose;
use crate::machine::Machine;
pub(super) use open::Files;
use open::PIECE_BYTES;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    let (name, purpose) = match request {
        Request::New { name } => (name, Purpose::New),
        Request::Open { name } => (name, Purpose::Existing),
        _ => return serve_open(world, lp, from, request),
    };
    let is_open = world.node.systems.files.open(from, name.0, purpose);
    world.answer(lp, from, if is_open { Response::Done } else { Response::Failed });
}

/// Serves a request to an open file.
fn serve_open(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    let Some(open) = world.node.systems.files.open.get_mut(from) else { return };
    // Only a client that has finished is not suspended.
    open.write_rest();
    let answer = match request {
        Request::SetPosition { position } => {
            // Positions before the beginning are clamped.
            open.position = u64::try_from(position).unwrap_or(0);
            return;
        }
        Request::GetPosition => Response::Position { pos: open.position.cast_signed() },
        Request::GetLength => Response::Length { len: open.length().cast_signed() },
        Request::ReadByte => open.byte().map_or(Response::EOF, |x| Response::Byte { x }),
        Request::ReadLine => open.line().map_or(Response::EOF, |x| Response::Line { x: x.into() }),
        Request::Write { x } => return open.write(&[x]),
        Request::WriteText { x: Text(text) } => {
            open.large = text.to_vec();
            if open.large.len() <= PIECE_BYTES {
                return open.write_rest();
            }
            world.node.runner.worker().hold_off(from);
            return go_on(world, lp, from);
        }
        Request::Update => return open.flush(),
        Request::Close => return world.node.systems.files.close(from),
        // The protocol allows `New` and `Open` once, at the start.
        Request::New { .. } | Request::Open { .. } => return,
    };
    world.answer(lp, from, answer);
}

/// Writes the next piece of a large text.
fn go_on(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let files = &mut world.node.systems.files;
    let owner = *files.owner.get_or_insert_with(|| lp.owner("files"));
    let Some(open) = files.open.get_mut(from) else { return };
    if open.write_piece() {
        let next = move |world: &mut Machine, lp: &mut Loop<Machine>| go_on(world, lp, from);
        if lp.event(owner, next).is_ok() {
            return;
        }
        // The event queue is full: writes the rest at once.
        open.write_rest();
    }
    world.node.runner.worker().resume(from);
    arm(world, lp);
}
