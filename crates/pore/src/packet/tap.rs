//! A TAP device: the kernel's side is an interface, ours is a file of frames.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use super::{FRAME_BYTES_MAX, check};
use crate::{Avail, Error, Pore, PoreKind, Signal};

/// The number of files that a device may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queues {
    /// One.
    One,
    /// Several: the kernel writes the frames of a flow to the file that has sent in it last.
    Several,
}

/// The file of the device of this name, which is made if it does not exist and goes when its last
/// file is closed. Each read and write is a frame; none of them waits.
///
/// # Errors
/// The name is too long, the system has no such devices, or the process may not have one.
pub fn device(name: &str, queues: Queues) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open("/dev/net/tun")?;
    // SAFETY: zeros are a request without a name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(Error::Malformed("no name of a device"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    let several = if queues == Queues::Several { libc::IFF_MULTI_QUEUE } else { 0 };
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | several;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the descriptor is open, and the request is of the kind that this call reads.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw const request) })?;
    Ok(file)
}

/// A device, which goes when this is dropped.
#[derive(Debug)]
pub struct Tap {
    file: File,
    /// A frame that has been read ahead and not taken.
    next: Vec<u8>,
}

impl Tap {
    /// The device of this name, which is made if it does not exist.
    ///
    /// # Errors
    /// The name is too long, the system has no such devices, or the process may not have one.
    pub fn open(name: &str) -> Result<Tap, Error> {
        Ok(Tap { file: device(name, Queues::One)?, next: Vec::new() })
    }

    fn fetch(&mut self) -> Result<usize, Error> {
        if self.next.is_empty() {
            self.next.resize(FRAME_BYTES_MAX, 0);
            let read = self.file.read(&mut self.next);
            let length = match read {
                Ok(length) => length,
                // There is no frame, or the interface is down.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) if error.raw_os_error() == Some(libc::EIO) => 0,
                Err(error) => {
                    self.next.clear();
                    return Err(error.into());
                }
            };
            self.next.truncate(length);
        }
        Ok(self.next.len())
    }
}

impl Pore for Tap {
    fn kind(&self) -> PoreKind {
        PoreKind::Tap
    }

    fn avail(&mut self) -> Result<Avail, Error> {
        Ok(Avail { readable: self.fetch()?, writable: FRAME_BYTES_MAX })
    }

    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let count = self.peek(n, into)?;
        if count > 0 {
            self.next.clear();
        }
        Ok(count)
    }

    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let length = self.fetch()?;
        if length > n {
            return Ok(0);
        }
        into.extend_from_slice(&self.next);
        Ok(length)
    }

    fn write(&mut self, frame: &[u8]) -> Result<usize, Error> {
        match self.file.write(frame) {
            Ok(count) => Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(0),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Err(Error::Malformed("no Ethernet frame"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A write is all that the kernel needs.
    fn ring(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn signals(&self) -> Vec<Signal> {
        vec![Signal::Ready(self.file.as_raw_fd())]
    }
}
