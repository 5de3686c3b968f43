//! Xenstore: the traditional driver, all native. Clients of one address share a connection and
//! have their requests done one after the other; the loop does nothing else meanwhile.
//!
//! The driver over a pore, a component with the same interface, is `apps/drivers/xenstore.com`.
mod outlets;

use tidemill_event::{Handlers, Interest, Loop};
use tidemill_pore::xenstore::outlet::{Failure, Outlet};
use tidemill_pore::xenstore::wire::Type;
use tidemill_proc::{Communication, Values};

use crate::components::system::values::text;
use crate::machine::Machine;
use outlets::Address;
pub(super) use outlets::Outlets;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    match message {
        "Connect" => {
            let address = (values.text().to_vec(), values.text().to_vec());
            match world.node.systems.outlets.connect(from, address) {
                Ok(()) => world.answer(lp, from, "Connected", &[]),
                Err(reason) => world.answer(lp, from, "Refused", &[text(reason)]),
            }
        }
        "Next" => next(world, lp, from),
        "Close" => finished(world, lp, from),
        _ => {
            let outlets = &mut world.node.systems.outlets;
            let Some(address) = outlets.clients.get(from) else { return };
            let Some(shared) = outlets.shared.get_mut(address) else { return };
            let address = address.clone();
            match ask(&mut shared.outlet, message, values) {
                Ok(result) => world.answer(lp, from, "Done", &[text(result)]),
                Err(failure) => {
                    let name = match failure {
                        Failure::Store(name) => name,
                        Failure::Line(_) => "EIO".to_owned(),
                    };
                    world.answer(lp, from, "Failed", &[text(name)]);
                }
            }
            // Events may have come before the answer.
            if let Some(whom) = world.node.systems.outlets.first_waiting(&address) {
                next(world, lp, whom);
            }
        }
    }
}

/// Lists go over with NULs, and are read with blanks.
fn swapped(mut list: Vec<u8>, from: u8, to: u8) -> Vec<u8> {
    list.iter_mut().filter(|byte| **byte == from).for_each(|byte| *byte = to);
    list
}

fn ask(outlet: &mut Outlet, message: &str, values: &Values) -> Result<Vec<u8>, Failure> {
    let kind = match message {
        "Write" => Type::Write,
        "Read" => Type::Read,
        "MakeDirectory" => Type::MakeDirectory,
        "Remove" => Type::Remove,
        "Directory" => Type::Directory,
        "GetPermissions" => Type::GetPermissions,
        "SetPermissions" => Type::SetPermissions,
        "Watch" => Type::Watch,
        "Unwatch" => Type::Unwatch,
        "Start" => Type::TransactionStart,
        _ => Type::TransactionEnd,
    };
    let mut payload = match message {
        "Start" => Vec::new(),
        "Commit" => b"T".to_vec(),
        "Abort" => b"F".to_vec(),
        _ => values.text().to_vec(),
    };
    payload.push(0);
    match kind {
        Type::Write => payload.extend(values.bytes()),
        Type::SetPermissions => payload.extend(swapped(values.text().to_vec(), b' ', 0)),
        Type::Watch | Type::Unwatch => payload.extend(values.text()),
        _ => {}
    }
    if matches!(kind, Type::SetPermissions | Type::Watch | Type::Unwatch) {
        payload.push(0);
    }
    // None follows a watch and the start of a transaction, and none is transaction 0.
    let transaction = u32::try_from(values.integer()).unwrap_or(u32::MAX);
    let mut answer = outlet.request(kind, transaction, &payload)?;
    match kind {
        Type::Read => {}
        Type::Directory | Type::GetPermissions | Type::TransactionStart => {
            answer.pop();
            answer = swapped(answer, 0, b' ');
        }
        _ => answer.clear(),
    }
    Ok(answer)
}

/// Tells of the next event of a watch, now or when it comes.
fn next(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let outlets = &mut world.node.systems.outlets;
    let Some(address) = outlets.clients.get(from).cloned() else { return };
    let Some(shared) = outlets.shared.get_mut(&address) else { return };
    match shared.outlet.next_event() {
        Ok(Some((path, token))) => {
            outlets.waiting.remove(&from);
            return world.answer(lp, from, "Fired", &[text(path), text(token)]);
        }
        Ok(None) => drop(outlets.waiting.insert(from, address.clone())),
        // The line has failed, and the client's next request will say so.
        Err(_) => {
            outlets.waiting.remove(&from);
            return world.answer(lp, from, "Fired", &[text(""), text("")]);
        }
    }
    if shared.watch.is_none() {
        let descriptor = shared.outlet.descriptor();
        let handlers =
            Handlers::new().read(move |world: &mut Machine, lp: &mut Loop<Machine>, _| match world
                .node
                .systems
                .outlets
                .first_waiting(&address)
            {
                Some(whom) => next(world, lp, whom),
                None => quiet(world, lp, &address),
            });
        shared.watch = lp.watch(descriptor, Interest::Read, handlers).ok();
    }
}

/// Nobody waits for events: they stay where they are.
fn quiet(world: &mut Machine, lp: &mut Loop<Machine>, address: &Address) {
    let shared = world.node.systems.outlets.shared.get_mut(address);
    if let Some(watch) = shared.and_then(|shared| shared.watch.take()) {
        lp.unwatch(watch);
    }
}

/// A client has gone; the connection closes with the last.
pub(super) fn finished(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let outlets = &mut world.node.systems.outlets;
    outlets.waiting.remove(&from);
    let Some(address) = outlets.clients.remove(from) else { return };
    let Some(shared) = outlets.shared.get_mut(&address) else { return };
    shared.clients -= 1;
    if shared.clients == 0 {
        if let Some(watch) = shared.watch.take() {
            lp.unwatch(watch);
        }
        outlets.shared.remove(&address);
    }
}
