//! A stream socket as a pore of bytes: for protocols of daemons.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::{Avail, Error, Pore, PoreKind, Signal};

/// Bytes that the kernel is assumed to accept; a write returns what it did.
const ROOM: usize = 1 << 16;
/// Bytes read ahead to know how many there are.
const AHEAD: usize = 1 << 16;

/// A connected socket.
#[derive(Debug)]
pub struct Socket {
    stream: UnixStream,
    ahead: Vec<u8>,
    is_full: bool,
    is_over: bool,
}

impl Socket {
    /// Over a connected socket.
    ///
    /// # Errors
    /// The error of the system.
    pub fn new(stream: UnixStream) -> Result<Socket, Error> {
        stream.set_nonblocking(true)?;
        Ok(Socket { stream, ahead: Vec::new(), is_full: false, is_over: false })
    }

    fn fetch(&mut self) -> Result<(), Error> {
        if self.is_over || self.ahead.len() >= AHEAD {
            return Ok(());
        }
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.is_over = true,
                Ok(count) => {
                    self.ahead.extend_from_slice(&bytes[..count]);
                    if count == bytes.len() && self.ahead.len() < AHEAD {
                        continue;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.is_over = true,
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
    }
}

impl Pore for Socket {
    fn kind(&self) -> PoreKind {
        PoreKind::Socket
    }

    fn avail(&mut self) -> Result<Avail, Error> {
        self.fetch()?;
        if self.is_over && self.ahead.is_empty() {
            return Err(Error::PeerGone);
        }
        Ok(Avail { readable: self.ahead.len(), writable: if self.is_full { 0 } else { ROOM } })
    }

    fn read(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        let count = self.peek(n, into)?;
        self.ahead.drain(..count);
        Ok(count)
    }

    fn peek(&mut self, n: usize, into: &mut Vec<u8>) -> Result<usize, Error> {
        self.fetch()?;
        let count = n.min(self.ahead.len());
        into.extend_from_slice(&self.ahead[..count]);
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        match self.stream.write(bytes) {
            Ok(count) => {
                self.is_full = count < bytes.len();
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_full = true;
                Ok(0)
            }
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Error::PeerGone),
            Err(error) => Err(error.into()),
        }
    }

    /// Nothing to do: what was written is on its way.
    fn ring(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn signals(&self) -> Vec<Signal> {
        vec![Signal::Ready(self.stream.as_raw_fd())]
    }

    /// It was found writable, or readable.
    fn drain_doorbell(&mut self) {
        self.is_full = false;
    }

    fn look_at_peer(&mut self) -> Result<(), Error> {
        let mut byte = [0];
        match recv(&self.stream, &mut byte[..], RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Err(Error::PeerGone),
            _ => Ok(()),
        }
    }
}
