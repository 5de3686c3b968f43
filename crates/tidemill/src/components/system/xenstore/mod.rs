//! Xenstore: the native, blocking driver. Clients of one address share a connection, on which
//! requests run one at a time; they block the loop.
//!
//! The driver over a pore, a component with the same interface, is `apps/drivers/xenstore.com`.
mod outlets;

use std::borrow::Cow;

use tidemill_cl::system::xenstore::{Request, Response};
use tidemill_event::{Handlers, Interest, Loop};
use tidemill_pore::xenstore::outlet::{Failure, Outlet};
use tidemill_pore::xenstore::wire::Type;
use tidemill_proc::Communication;

use crate::machine::Machine;
use outlets::Address;
pub(super) use outlets::Outlets;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    let request = match request {
        Request::Connect { kind, address } => {
            let address = (kind.0.to_vec(), address.0.to_vec());
            let answer = match world.node.systems.outlets.connect(from, address) {
                Ok(()) => Response::Connected,
                Err(error) => {
                    let reason = error.to_string().into_bytes().into();
                    Response::Refused { reason }
                }
            };
            return world.answer(lp, from, answer);
        }
        Request::Next => return next(world, lp, from),
        Request::Close => return finished(world, lp, from),
        request => request,
    };
    let Some(store_request) = store_request(request) else { return };
    let outlets = &mut world.node.systems.outlets;
    let Some(address) = outlets.clients.get(from) else { return };
    let Some(shared) = outlets.shared.get_mut(address) else { return };
    let address = address.clone();
    let answer = match perform(&mut shared.outlet, &store_request) {
        Ok(result) => Response::Done { result: result.into() },
        Err(Failure::Store(name)) => Response::Failed { error: name.into_bytes().into() },
        Err(Failure::Transport(_)) => Response::Failed { error: b"EIO".into() },
    };
    world.answer(lp, from, answer);
    // Events may have arrived before the answer.
    if let Some(whom) = world.node.systems.outlets.first_waiting(&address) {
        next(world, lp, whom);
    }
}

/// What a request means for the store; nothing, if it is about the connection itself.
fn store_request(request: Request<'_>) -> Option<StoreRequest> {
    Some(match request {
        Request::Connect { .. } | Request::Next | Request::Close => return None,
        Request::Write { path, value, transaction } => {
            // The only payload without a terminating NUL.
            StoreRequest::new(Type::Write, transaction, [path.0, &[0], value].concat())
        }
        Request::Read { path, transaction } => StoreRequest::of(Type::Read, transaction, &[path.0]),
        Request::MakeDirectory { path, transaction } => {
            StoreRequest::of(Type::MakeDirectory, transaction, &[path.0])
        }
        Request::Remove { path, transaction } => {
            StoreRequest::of(Type::Remove, transaction, &[path.0])
        }
        Request::Directory { path, transaction } => {
            StoreRequest::of(Type::Directory, transaction, &[path.0])
        }
        Request::GetPermissions { path, transaction } => {
            StoreRequest::of(Type::GetPermissions, transaction, &[path.0])
        }
        Request::SetPermissions { path, permissions, transaction } => {
            let permissions = swapped(permissions.0.to_vec(), b' ', 0);
            StoreRequest::of(Type::SetPermissions, transaction, &[path.0, &permissions])
        }
        // Requests for watches and transaction starts are outside of transactions.
        Request::Watch { path, token } => StoreRequest::of(Type::Watch, 0, &[path.0, token.0]),
        Request::Unwatch { path, token } => StoreRequest::of(Type::Unwatch, 0, &[path.0, token.0]),
        Request::Start => StoreRequest::of(Type::TransactionStart, 0, &[b""]),
        Request::Commit { transaction } => {
            StoreRequest::of(Type::TransactionEnd, transaction, &[b"T"])
        }
        Request::Abort { transaction } => {
            StoreRequest::of(Type::TransactionEnd, transaction, &[b"F"])
        }
    })
}

/// A request to a store.
struct StoreRequest {
    kind: Type,
    transaction: u32,
    payload: Vec<u8>,
}

impl StoreRequest {
    fn new(kind: Type, transaction: i64, payload: Vec<u8>) -> StoreRequest {
        let transaction = u32::try_from(transaction).unwrap_or(u32::MAX);
        StoreRequest { kind, transaction, payload }
    }

    /// A request of texts, each terminated by NUL.
    fn of(kind: Type, transaction: i64, texts: &[&[u8]]) -> StoreRequest {
        let payload = texts.iter().flat_map(|text| [*text, &[0]]).flatten().copied().collect();
        StoreRequest::new(kind, transaction, payload)
    }
}

/// Lists are transmitted with NULs, and given to clients with blanks.
fn swapped(mut list: Vec<u8>, from: u8, to: u8) -> Vec<u8> {
    list.iter_mut().filter(|byte| **byte == from).for_each(|byte| *byte = to);
    list
}

fn perform(outlet: &mut Outlet, store_request: &StoreRequest) -> Result<Vec<u8>, Failure> {
    let StoreRequest { kind, transaction, payload } = store_request;
    let mut answer = outlet.request(*kind, *transaction, payload)?;
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

/// Answers with the next event of a watch, now or when it arrives.
fn next(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let outlets = &mut world.node.systems.outlets;
    let Some(address) = outlets.clients.get(from).cloned() else { return };
    let Some(shared) = outlets.shared.get_mut(&address) else { return };
    match shared.outlet.next_event() {
        Ok(Some((path, token))) => {
            outlets.waiting.remove(&from);
            let (path, token) = (path.into(), token.into());
            return world.answer(lp, from, Response::Fired { path, token });
        }
        Ok(None) => drop(outlets.waiting.insert(from, address.clone())),
        // The connection has failed; the client's next request will report that.
        Err(_) => {
            outlets.waiting.remove(&from);
            let (path, token) = (Cow::default(), Cow::default());
            return world.answer(lp, from, Response::Fired { path, token });
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
                None => stop_watch(world, lp, &address),
            });
        shared.watch = lp.watch(descriptor, Interest::Read, handlers).ok();
    }
}

/// No client waits for events: they stay in the socket.
fn stop_watch(world: &mut Machine, lp: &mut Loop<Machine>, address: &Address) {
    let shared = world.node.systems.outlets.shared.get_mut(address);
    if let Some(watch) = shared.and_then(|shared| shared.watch.take()) {
        lp.unwatch(watch);
    }
}

/// A client has ended; the last one closes the connection.
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
