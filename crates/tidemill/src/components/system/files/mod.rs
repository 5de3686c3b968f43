//! FileSystem: files below one folder; in simulations they are in memory ([`super::disk`]).
//!
//! Reads and writes go through a buffer, so that a byte at a time costs no system call each. Only
//! regular files are opened, and each call moves a bounded number of bytes; so none of them waits
//! for more than a disk. A large text is written piece by piece, an event of the loop each; its
//! client is held off meanwhile.
mod open;

use tidemill_event::Loop;
use tidemill_proc::{Communication, Values, arm};

use super::confined::Purpose;
use crate::components::system::values::{integer, text};
use crate::machine::Machine;
pub(super) use open::Files;
use open::PIECE_BYTES;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    let purpose = match message {
        "New" => Some(Purpose::New),
        "Open" => Some(Purpose::Existing),
        _ => None,
    };
    if let Some(purpose) = purpose {
        let done = world.node.systems.files.open(from, values.text(), purpose);
        return world.answer(lp, from, if done { "Done" } else { "Failed" }, &[]);
    }
    let Some(open) = world.node.systems.files.open.get_mut(from) else { return };
    // Only who has finished is not held off.
    open.write_rest();
    let (answer, values) = match message {
        "SetPosition" => {
            // Before the beginning is the beginning.
            open.position = u64::try_from(values.integer()).unwrap_or(0);
            return;
        }
        "GetPosition" => ("Position", vec![integer(open.position.cast_signed())]),
        "GetLength" => ("Length", vec![integer(open.length().cast_signed())]),
        "ReadByte" => match open.byte() {
            Some(byte) => ("Byte", vec![integer(i64::from(byte))]),
            None => ("EOF", Vec::new()),
        },
        "ReadLine" => match open.line() {
            Some(line) => ("Line", vec![text(line)]),
            None => ("EOF", Vec::new()),
        },
        "Write" => return open.write(&[values.integer() as u8]),
        "WriteText" => {
            open.large = values.text().to_vec();
            if open.large.len() <= PIECE_BYTES {
                return open.write_rest();
            }
            world.node.runner.worker().hold_off(from);
            return go_on(world, lp, from);
        }
        "Update" => return open.flush(),
        "Close" => return world.node.systems.files.close(from),
        _ => return,
    };
    world.answer(lp, from, answer, &values);
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
        // The loop has too much to do to do it bit by bit.
        open.write_rest();
    }
    world.node.runner.worker().attend_to(from);
    arm(world, lp);
}
