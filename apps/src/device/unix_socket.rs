//! Frames through a Unix socket.

use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;

use tidemill_packet::app::{App, Fault, Io, Progress, Reconfigured, Start};

use super::burst;

tidemill_packet::declare! {
    /// Exchanges frames with other processes, one datagram of a Unix socket each.
    ///
    /// It sleeps until the socket has something. What the other side does not take, or is not there
    /// for, is dropped as `not_taken`.
    app UnixSocket {
        config UnixSocketConfig {
            /// The path on which frames are received; a socket left there is replaced.
            listen: String,
            /// The path to which frames are sent; empty: none are.
            peer: String = String::new(),
        }
        ports {
            /// Frames to the peer.
            input: Input(Push, Optional),
            /// Frames that came.
            output: Output(Push, Optional),
        }
        traits { pulls, exclusive, device }
    }
}

/// See [`UnixSocket::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct UnixSocket {
    socket: UnixDatagram,
    listen: String,
    peer: String,
    buffer: Vec<u8>,
}

fn is_socket(path: &str) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn bind(path: &str) -> Result<UnixDatagram, Fault> {
    UnixDatagram::bind(path)
        .map_err(|error| Fault::new(format!("cannot listen on `{path}`: {error}")))
}

impl App for UnixSocket {
    fn new(config: UnixSocketConfig, _: &mut Start) -> Result<UnixSocket, Fault> {
        let UnixSocketConfig { listen, peer } = config;
        if is_socket(&listen) {
            std::fs::remove_file(&listen)?;
        }
        let socket = bind(&listen)?;
        socket.set_nonblocking(true)?;
        let buffer = vec![0; tidemill_packet::packet::BYTES_MAX + 1];
        Ok(UnixSocket { socket, listen, peer, buffer })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        burst(io, &mut self.buffer, |buffer| self.socket.recv(buffer))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            let is_sent =
                !self.peer.is_empty() && self.socket.send_to(packet.bytes(), &self.peer).is_ok();
            if !is_sent {
                io.drop(packet, "not_taken");
            }
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.socket.as_raw_fd())
    }

    fn can_take(&self, config: &UnixSocketConfig) -> Result<(), Fault> {
        if config.listen == self.listen || is_socket(&config.listen) {
            return Ok(());
        }
        drop(bind(&config.listen)?);
        Ok(std::fs::remove_file(&config.listen)?)
    }

    /// Another peer is no other socket.
    fn reconfigure(&mut self, config: UnixSocketConfig) -> Reconfigured {
        if config.listen != self.listen {
            return Reconfigured::Restart;
        }
        self.peer = config.peer;
        Reconfigured::Kept
    }

    fn stop(&mut self, _: &mut Io) {
        // It may be removed already.
        let _ = std::fs::remove_file(&self.listen);
    }
}
