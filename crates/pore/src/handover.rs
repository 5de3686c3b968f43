//! Descriptors from one process to another, over a Unix socket (SCM_RIGHTS).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::Error;

/// The most that are handed over at once.
const DESCRIPTORS_MAX: usize = 4;

/// Sends descriptors with one byte to carry them.
///
/// # Errors
/// The error of the system.
pub fn send(socket: impl AsFd, descriptors: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Error::Malformed("too many descriptors for one message"));
    }
    sendmsg(socket, &[IoSlice::new(b"p")], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Closes descriptors that were refused, on a thread of their own: closing a file that the other
/// side serves (FUSE) lasts until it answers.
pub(crate) fn discard(descriptors: Vec<OwnedFd>) {
    let closing = std::thread::Builder::new().name("refused".to_owned());
    // Without a thread they are closed here.
    let _ = closing.spawn(move || drop(descriptors));
}

/// Takes descriptors that were sent; none if nothing has arrived yet and the socket does not wait.
///
/// # Errors
/// The other side is gone or sent something else, or the error of the system.
pub fn receive(socket: impl AsFd) -> Result<Option<Vec<OwnedFd>>, Error> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let received = match recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
        Ok(received) => received,
        Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if received.bytes == 0 {
        return Err(Error::PeerGone);
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if descriptors.is_empty() {
        return Err(Error::BadOffer("no descriptors came with it"));
    }
    Ok(Some(descriptors))
}
