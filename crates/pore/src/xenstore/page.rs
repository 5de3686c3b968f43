//! The ring page: 4096 bytes that a guest shares with the store, here in a sealed memfd with a
//! pair of eventfds instead of a grant and an event channel.
//!
//! ```text
//!    0  requests [1024]    1024  responses [1024]
//! 2048  req_cons   2052  req_prod   2056  rsp_cons   2060  rsp_prod
//! 2064  server_features   2068  connection   2072  error
//! 2112  1 while the store polls, and need not be rung   2176  the same of the guest
//! ```
//! The last two are ours: the protocol does not use the page after the error. They lie apart from
//! the indexes, each in a line of its own, as they change less often. A side that does not know
//! them leaves its own at 0 and is rung after each update of an index, and rings likewise.
//!
//! The store makes the page and hands it to the client that connects to its socket.

use std::os::unix::net::UnixStream;

use crate::doorbell::Doorbell;
use crate::memfd::{Checked, Ends, Memfd, Offer, Polling, Shape};
use crate::region::Region;
use crate::ring::Layout;
use crate::{Error, PoreKind, Width, handover};

/// Bytes of the page.
pub const PAGE_BYTES: usize = 4096;
/// Bytes of each ring.
pub const RING_BYTES: u32 = 1024;
/// The offset of the error word.
pub const ERROR_WORD: u64 = 2072;
/// Value of the error word: an index was impossible.
pub const ERROR_INDEX: u64 = 2;
/// Value of the error word: a violation of the protocol.
pub const ERROR_PROTOCOL: u64 = 3;

const STORE_POLLS: u32 = 2112;
const GUEST_POLLS: u32 = 2176;

const REQUESTS: Layout = Layout { data: 0, size: RING_BYTES, prod: 2052, cons: 2048 };
const RESPONSES: Layout = Layout { data: 1024, size: RING_BYTES, prod: 2060, cons: 2056 };

/// Makes a page whose indexes begin at `start`: the store's side, and the guest's descriptors.
///
/// # Errors
/// The error of the system.
pub fn create(start: u32) -> Result<(Memfd, Offer), Error> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    let memory = memfd_create(c"xenstore", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&memory, PAGE_BYTES as u64)?;
    fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let region = Region::map(&memory, PAGE_BYTES)?;
    for index in [REQUESTS.prod, REQUESTS.cons, RESPONSES.prod, RESPONSES.cons] {
        region.store(u64::from(index), Width::Four, u64::from(start))?;
    }
    let (bell, theirs) = (Doorbell::new()?, Doorbell::new()?);
    let offer = Offer {
        memory,
        waits_at: theirs.fd().try_clone_to_owned()?,
        rings: bell.fd().try_clone_to_owned()?,
    };
    let ends = Ends::new(&region, Shape::Bytes, RESPONSES, REQUESTS);
    let polling = Polling::new(STORE_POLLS, GUEST_POLLS);
    Ok((Memfd::over(PoreKind::Xenstore, region, ends, polling, [bell, theirs]), offer))
}

/// The guest's side of a page that was offered.
///
/// # Errors
/// It is not sealed, or no page.
pub fn attach(offer: Offer) -> Result<Memfd, Error> {
    let Checked { memory, size, bells } = offer.checked()?;
    if size != PAGE_BYTES as u64 {
        return Err(Error::BadOffer("no page"));
    }
    let region = Region::map(&memory, PAGE_BYTES)?;
    let ends = Ends::new(&region, Shape::Bytes, REQUESTS, RESPONSES);
    let polling = Polling::new(GUEST_POLLS, STORE_POLLS);
    Ok(Memfd::over(PoreKind::Xenstore, region, ends, polling, bells))
}

/// As [`Memfd::accept_from`], for a page.
///
/// # Errors
/// As [`attach`], or the socket fails.
pub fn accept_from(peer: UnixStream) -> Result<Result<Memfd, UnixStream>, Error> {
    let Some(descriptors) = handover::receive(&peer)? else { return Ok(Err(peer)) };
    let mut page = attach(Offer::of(descriptors)?)?;
    page.keep_lifeline(peer)?;
    Ok(Ok(page))
}

/// Makes a page for the process at the other end of a socket, which becomes the lifeline.
///
/// # Errors
/// As [`create`], or the socket fails.
pub fn offer_to(peer: UnixStream, start: u32) -> Result<Memfd, Error> {
    let (mut page, offer) = create(start)?;
    offer.send(&peer)?;
    page.keep_lifeline(peer)?;
    Ok(page)
}

/// Writes an error to the page.
pub(crate) fn set_error(page: &Memfd, error: u64) {
    // The page has this word.
    let _ = page.region().store(ERROR_WORD, Width::Four, error);
}
