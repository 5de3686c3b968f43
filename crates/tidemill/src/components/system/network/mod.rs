//! Network: connections (TCP) and datagrams (UDP) on the descriptors of the loop.
//!
//! ```text
//! Listen ... Accept     a listener; what it accepts gets a number, which any client may Take
//! Connect, Take         a connection: Send, Receive
//! Bind                  a port for datagrams: SendTo, ReceiveFrom
//! ```
//! A listener or connection is watched only while its client waits for it or data is left to send:
//! other input stays in the kernel, which applies back pressure. A request that does not fit the
//! kind of socket has no effect: Accept answers with the number 0, Receive with End, ReceiveFrom
//! with an empty datagram without a sender. A client that sends faster than the peer receives is
//! suspended: its messages stay in the channel until the socket has taken most of what was sent
//! before.
mod sockets;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;

use tidemill_cl::system::network::{Request, Response};
use tidemill_event::{Endpoint, Handlers, Interest, Loop};
use tidemill_proc::{Communication, arm};

use crate::machine::Machine;
pub(super) use sockets::Network;
use sockets::{Socket, SocketKind};

/// The size of a receive.
const RECEIVE_BYTES: usize = 1 << 16;
/// Unsent bytes of a connection at which its client is suspended; it resumes at half of them.
const UNSENT_MAX: usize = 1 << 20;
/// The maximum number of accepted connections that no client has taken; beyond it, accepting
/// pauses.
const ACCEPTED_MAX: usize = 1 << 14;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    let opened = match request {
        Request::Listen { address } => listen(world, lp, from, address.0),
        Request::Bind { address } => bind(world, lp, from, address.0),
        Request::Connect { address } => connect(world, lp, from, address.0),
        Request::Take { id } => take(world, lp, from, id),
        Request::Accept => return begin(world, lp, from, PendingRequest::Accept),
        Request::Receive => return begin(world, lp, from, PendingRequest::Receive),
        Request::ReceiveFrom => return begin(world, lp, from, PendingRequest::ReceiveFrom),
        Request::Send { data } => {
            if let Some(socket) = world.node.systems.network.sockets.get_mut(&from) {
                socket.send(data);
            }
            return push(world, lp, from);
        }
        Request::SendTo { address, data } => return send_to(world, lp, from, address.0, data),
        Request::Close => return finished(world, lp, from),
    };
    if let Err(error) = opened {
        let reason = error.to_string().into_bytes().into();
        world.answer(lp, from, Response::Failed { reason });
    }
}

/// The request that a client waits for.
#[derive(Clone, Copy)]
enum PendingRequest {
    Accept,
    Receive,
    ReceiveFrom,
}

fn begin(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    pending: PendingRequest,
) {
    if let Some(socket) = world.node.systems.network.sockets.get_mut(&from) {
        socket.is_asking = true;
    }
    advance(world, lp, from, pending);
}

fn name(bytes: &[u8]) -> io::Result<&str> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidInput, "an address is host:port");
    std::str::from_utf8(bytes).map_err(wrong)
}

fn listen(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    address: &[u8],
) -> io::Result<()> {
    let endpoint = lp.host().listen(name(address)?)?;
    let address = lp.host().local_addr(endpoint)?;
    open(world, lp, from, Socket::new(SocketKind::Listener, endpoint, address));
    Ok(())
}

fn bind(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    address: &[u8],
) -> io::Result<()> {
    let endpoint = lp.host().bind(name(address)?)?;
    let address = lp.host().local_addr(endpoint)?;
    open(world, lp, from, Socket::new(SocketKind::Datagrams, endpoint, address));
    Ok(())
}

/// The answer follows when the connection is established, or has failed.
fn connect(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    address: &[u8],
) -> io::Result<()> {
    let address = name(address)?;
    let endpoint = lp.host().connect(address)?;
    let socket = Socket::new(SocketKind::Connecting, endpoint, address.to_owned());
    world.node.systems.network.sockets.insert(from, socket);
    watch(world, lp, from);
    Ok(())
}

fn take(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    id: i64,
) -> io::Result<()> {
    let taken = world.node.systems.network.accepted.remove(&id);
    let (endpoint, peer) = taken.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("there is no accepted connection {id}"))
    })?;
    open(world, lp, from, Socket::new(SocketKind::Stream, endpoint, peer));
    Ok(())
}

/// Answers Opened, with the address.
fn open(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication, socket: Socket) {
    let address = socket.peer.clone();
    world.node.systems.network.sockets.insert(from, socket);
    world.answer(lp, from, Response::Opened { address: address.into_bytes().into() });
}

/// Continues the pending request of a client, as far as that is possible now.
fn advance(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    pending: PendingRequest,
) {
    let Some(socket) = world.node.systems.network.sockets.get(&from) else { return };
    let (kind, endpoint) = (socket.kind, socket.endpoint);
    let answer = match (pending, kind) {
        (PendingRequest::Accept, SocketKind::Listener) => accept(world, lp, endpoint),
        (PendingRequest::Receive, SocketKind::Stream) => receive(lp, socket),
        (PendingRequest::ReceiveFrom, SocketKind::Datagrams) => receive_from(lp, endpoint),
        (PendingRequest::Accept, _) => Some(Response::Accepted { id: 0 }),
        (PendingRequest::ReceiveFrom, _) => {
            Some(Response::Datagram { address: Cow::default(), data: Cow::default() })
        }
        (PendingRequest::Receive, _) => Some(Response::End),
    };
    if let Some(answer) = answer {
        if let Some(socket) = world.node.systems.network.sockets.get_mut(&from) {
            socket.is_asking = false;
        }
        world.answer(lp, from, answer);
    }
    watch(world, lp, from);
}

type Answer = Option<Response<'static>>;

fn accept(world: &mut Machine, lp: &mut Loop<Machine>, listener: Endpoint) -> Answer {
    let network = &mut world.node.systems.network;
    if network.accepted.len() >= ACCEPTED_MAX {
        return Some(Response::Accepted { id: 0 });
    }
    match lp.host().accept(listener) {
        Ok(Some((endpoint, address))) => {
            let peer = lp.host().name_of(address).into_owned();
            network.last_accepted += 1;
            network.accepted.insert(network.last_accepted, (endpoint, peer));
            Some(Response::Accepted { id: network.last_accepted })
        }
        Ok(None) => None,
        // For example, too many descriptors: answers with a number that opens nothing.
        Err(_) => Some(Response::Accepted { id: 0 }),
    }
}

fn receive(lp: &mut Loop<Machine>, socket: &Socket) -> Answer {
    if socket.is_broken {
        return Some(Response::End);
    }
    let mut buffer = vec![0; RECEIVE_BYTES];
    match lp.host().read(socket.endpoint, &mut buffer) {
        Ok(None) => None,
        Ok(Some(0)) | Err(_) => Some(Response::End),
        Ok(Some(length)) => {
            buffer.truncate(length);
            Some(Response::Data { data: buffer.into() })
        }
    }
}

fn receive_from(lp: &mut Loop<Machine>, port: Endpoint) -> Answer {
    let mut buffer = vec![0; RECEIVE_BYTES];
    loop {
        match lp.host().recv(port, &mut buffer) {
            Ok(None) => return None,
            Ok(Some((length, address))) => {
                buffer.truncate(length);
                let sender = lp.host().name_of(address).into_owned();
                let address = sender.into_bytes().into();
                return Some(Response::Datagram { address, data: buffer.into() });
            }
            // An ICMP error for an earlier datagram.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return None,
        }
    }
}

/// Best effort, as datagrams are.
fn send_to(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    address: &[u8],
    bytes: &[u8],
) {
    let Some(socket) = world.node.systems.network.sockets.get(&from) else { return };
    if socket.kind == SocketKind::Datagrams
        && let Ok(address) = name(address)
    {
        let _ = lp.host().send(socket.endpoint, address, bytes);
    }
}

/// Writes unsent data to the socket.
fn push(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(socket) = world.node.systems.network.sockets.get_mut(&from) else { return };
    while !socket.unsent.is_empty() && socket.kind == SocketKind::Stream {
        match lp.host().write(socket.endpoint, socket.unsent.as_slices().0) {
            Ok(Some(sent)) => drop(socket.unsent.drain(..sent)),
            Ok(None) => break,
            Err(_) => {
                socket.is_broken = true;
                socket.unsent = VecDeque::new();
            }
        }
    }
    if socket.is_closing && socket.unsent.is_empty() {
        close(world, lp, from);
    } else {
        throttle(world, lp, from);
        watch(world, lp, from);
    }
}

/// Suspends a client that sends faster than its socket, and resumes it.
fn throttle(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(socket) = world.node.systems.network.sockets.get_mut(&from) else { return };
    if !socket.is_held_off && socket.unsent.len() >= UNSENT_MAX {
        socket.is_held_off = true;
        world.node.runner.worker().hold_off(from);
    } else if socket.is_held_off && socket.unsent.len() < UNSENT_MAX / 2 {
        socket.is_held_off = false;
        world.node.runner.worker().resume(from);
        arm(world, lp);
    }
}

/// A client has ended: its socket is closed once all data is sent.
pub(super) fn finished(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(socket) = world.node.systems.network.sockets.get_mut(&from) else { return };
    socket.is_closing = true;
    socket.is_asking = false;
    push(world, lp, from);
}

fn close(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(socket) = world.node.systems.network.sockets.remove(&from) else { return };
    if let Some((watch, _)) = socket.watch {
        lp.unwatch(watch);
    }
    lp.host().close(socket.endpoint);
    let network = &mut world.node.systems.network;
    if network.sockets.values().any(|socket| socket.is_closing) {
        return;
    }
    if world.node.systems.open.is_empty() {
        // The run is over, and this was the last socket with unsent data.
        lp.stop();
    }
}

/// Watches a socket for its interest.
fn watch(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(socket) = world.node.systems.network.sockets.get_mut(&from) else { return };
    let wanted = socket.interest();
    match socket.watch {
        Some((_, interest)) if interest == wanted => {}
        Some((watch, _)) => match lp.modify(watch, wanted) {
            Ok(()) => socket.watch = Some((watch, wanted)),
            Err(_) => failed(world, lp, from, None),
        },
        None if wanted == Interest::None => {}
        None => {
            let handlers = Handlers::new()
                .read(move |world: &mut Machine, lp: &mut Loop<Machine>, _| ready(world, lp, from))
                .write(move |world: &mut Machine, lp: &mut Loop<Machine>, _| {
                    writable(world, lp, from)
                })
                .error(move |world: &mut Machine, lp: &mut Loop<Machine>, _, error| {
                    failed(world, lp, from, Some(error));
                });
            match lp.watch(socket.endpoint, wanted, handlers) {
                Ok(watch) => socket.watch = Some((watch, wanted)),
                Err(error) => failed(world, lp, from, Some(error)),
            }
        }
    }
}

fn ready(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(socket) = world.node.systems.network.sockets.get(&from) else { return };
    if socket.is_asking {
        let pending = match socket.kind {
            SocketKind::Listener => PendingRequest::Accept,
            SocketKind::Datagrams => PendingRequest::ReceiveFrom,
            SocketKind::Stream | SocketKind::Connecting => PendingRequest::Receive,
        };
        advance(world, lp, from, pending);
    }
}

fn writable(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(socket) = world.node.systems.network.sockets.get_mut(&from) else { return };
    if socket.kind == SocketKind::Connecting {
        socket.kind = SocketKind::Stream;
        let peer = socket.peer.clone();
        world.answer(lp, from, Response::Opened { address: peer.into_bytes().into() });
    }
    push(world, lp, from);
}

/// A watched socket has failed. Data that arrived before can still be read.
fn failed(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    error: Option<io::Error>,
) {
    let Some(socket) = world.node.systems.network.sockets.get_mut(&from) else { return };
    if let Some((watch, _)) = socket.watch.take() {
        lp.unwatch(watch);
    }
    socket.unsent = VecDeque::new();
    throttle(world, lp, from);
    let Some(socket) = world.node.systems.network.sockets.get_mut(&from) else { return };
    if socket.kind == SocketKind::Connecting {
        let reason = error.map_or_else(|| "no connection".to_owned(), |error| error.to_string());
        close(world, lp, from);
        world.answer(lp, from, Response::Failed { reason: reason.into_bytes().into() });
        return;
    }
    if socket.kind == SocketKind::Datagrams {
        // An ICMP error for an earlier datagram; the port remains usable.
        return watch(world, lp, from);
    }
    if socket.is_closing {
        return close(world, lp, from);
    }
    ready(world, lp, from);
    if let Some(socket) = world.node.systems.network.sockets.get_mut(&from)
        && socket.is_asking
    {
        socket.is_asking = false;
        let answer = match socket.kind {
            SocketKind::Listener => Response::Accepted { id: 0 },
            _ => Response::End,
        };
        world.answer(lp, from, answer);
    }
}
