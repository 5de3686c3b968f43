//! Opening pores.
//!
//! ```text
//! memfd         PATH              connects, and takes what the other side offers
//! memfd-listen  SHAPE BYTES PATH  listens, and offers rings (bytes, messages) to who connects
//! xenstore      PATH              connects, and takes a page
//! socket        PATH              connects: a stream of bytes
//! io_uring      PATH              a file, read and written through rings of the kernel
//! packet, tap   NAME              frames of an interface; of a device that is made
//! xdp           NAME              frames of the first queue of an interface
//! ```
//! Paths are below the folder that files are confined to.

use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use tidemill_cl::system::pore::Response;
use tidemill_event::{Handlers, Interest, Loop};
use tidemill_pore::memfd::{Memfd, Shape};
use tidemill_pore::socket::Socket;
use tidemill_pore::xenstore::page;
use tidemill_pore::{Error, OwnerId, Pore, PoreId, packet, uring};
use tidemill_proc::Communication;

use super::client::{finished, unwatch};
use super::state::{Opening, PoreClient};
use super::wake;
use crate::components::system::confined::{Purpose, Root};
use crate::machine::Machine;

/// The progress of opening.
pub(super) enum Opened {
    /// It is open, with this many bytes of memory.
    Now(usize),
    /// It waits for the peer.
    Later,
}

pub(super) fn open(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    kind: &[u8],
    argument: &[u8],
) -> Result<Opened, Error> {
    let system = &mut world.node.systems.pores;
    let root = system.root.clone().ok_or(Error::Unsupported("there is no folder for sockets"))?;
    let opening = match kind {
        b"memfd" => Opening::Rings(root.connect(argument)?),
        b"xenstore" => Opening::Page(root.connect(argument)?),
        b"memfd-listen" => listen(&root, argument)?,
        _ => {
            let pore = open_now(&root, kind, argument)?;
            let owner = system.new_owner();
            let id = system.pores.open(owner, pore);
            return keep(world, lp, from, owner, id);
        }
    };
    let owner = system.new_owner();
    system.clients.insert(from, PoreClient { opening: Some(opening), ..PoreClient::new(owner) });
    go_on(world, lp, from)
}

fn open_now(root: &Rc<Root>, kind: &[u8], argument: &[u8]) -> Result<Box<dyn Pore>, Error> {
    let name = || str::from_utf8(argument).map_err(|_| Error::Malformed("no name of an interface"));
    Ok(match kind {
        b"socket" => Box::new(Socket::new(root.connect(argument)?)?),
        b"io_uring" => {
            let file = match root.open(argument, Purpose::Existing) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    root.open(argument, Purpose::New)?
                }
                other => other?,
            };
            Box::new(uring::Uring::new(file.into())?)
        }
        b"packet" => Box::new(packet::ring::PacketRing::open(name()?)?),
        b"xdp" => Box::new(packet::xdp::Xdp::open(name()?, 0)?),
        b"tap" => Box::new(packet::tap::Tap::open(name()?)?),
        _ => return Err(Error::Unsupported("no such kind of pore")),
    })
}

fn listen(root: &Rc<Root>, argument: &[u8]) -> Result<Opening, Error> {
    let wrong = Error::Malformed("memfd-listen takes `bytes` or `messages`, a size, and a path");
    let mut words = argument.splitn(3, |&byte| byte == b' ');
    let (Some(shape), Some(size), Some(path)) = (words.next(), words.next(), words.next()) else {
        return Err(wrong);
    };
    let size = str::from_utf8(size).ok().and_then(|size| size.parse().ok());
    match (shape, size) {
        (b"bytes", Some(size)) => Ok(Opening::Listener(root.listen(path)?, Shape::Bytes, size)),
        (b"messages", Some(size)) => {
            Ok(Opening::Listener(root.listen(path)?, Shape::Messages, size))
        }
        _ => Err(wrong),
    }
}

/// Answers the client, unless opening still waits for the peer.
pub(super) fn answer_opened(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    to: Communication,
    opened: Result<Opened, Error>,
) {
    match opened {
        Ok(Opened::Now(size)) => {
            world.answer(lp, to, Response::Opened { size: size as i64 });
        }
        Ok(Opened::Later) => {}
        Err(error) => {
            finished(world, lp, to);
            let reason = error.to_string().into_bytes().into();
            world.answer(lp, to, Response::Failed { reason });
        }
    }
}

/// Hands an open pore to its client, and watches it.
pub(super) fn keep(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    owner: OwnerId,
    id: PoreId,
) -> Result<Opened, Error> {
    let system = &mut world.node.systems.pores;
    system.clients.insert(from, PoreClient { pore: Some(id), ..PoreClient::new(owner) });
    let size = system.pores.get(owner, id)?.size();
    wake::watch(world, lp, from)?;
    Ok(Opened::Now(size))
}

/// The peer may have completed its part.
fn go_on(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
) -> Result<Opened, Error> {
    let Some(client) = world.node.systems.pores.clients.get_mut(from) else {
        return Ok(Opened::Later);
    };
    unwatch(lp, client);
    let pore = match client.opening.take() {
        None => return Ok(Opened::Later),
        Some(Opening::Listener(listener, shape, size)) => match listener.listener.accept() {
            Ok((peer, _)) => Memfd::offer_to(peer, shape, size)?,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                return wait(world, lp, from, Opening::Listener(listener, shape, size));
            }
            Err(error) => return Err(error.into()),
        },
        Some(Opening::Rings(peer)) => match Memfd::accept_from(peer)? {
            Ok(pore) => pore,
            Err(peer) => return wait(world, lp, from, Opening::Rings(peer)),
        },
        Some(Opening::Page(peer)) => match page::accept_from(peer)? {
            Ok(pore) => pore,
            Err(peer) => return wait(world, lp, from, Opening::Page(peer)),
        },
    };
    let owner = client.owner;
    let id = world.node.systems.pores.pores.open(owner, Box::new(pore));
    keep(world, lp, from, owner, id)
}

fn wait(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    opening: Opening,
) -> Result<Opened, Error> {
    let fd: RawFd = match &opening {
        Opening::Listener(listener, ..) => listener.listener.as_raw_fd(),
        Opening::Rings(peer) | Opening::Page(peer) => UnixStream::as_raw_fd(peer),
    };
    let come = move |world: &mut Machine, lp: &mut Loop<Machine>| {
        let opened = go_on(world, lp, from);
        answer_opened(world, lp, from, opened);
    };
    let handlers = Handlers::new()
        .read(move |world: &mut Machine, lp: &mut Loop<Machine>, _| come(world, lp))
        .error(move |world: &mut Machine, lp: &mut Loop<Machine>, _, error| {
            answer_opened(world, lp, from, Err(error.into()));
        });
    let watch = lp.watch(fd, Interest::Read, handlers)?;
    if let Some(client) = world.node.systems.pores.clients.get_mut(from) {
        client.watches.push(watch);
        client.opening = Some(opening);
    }
    Ok(Opened::Later)
}
