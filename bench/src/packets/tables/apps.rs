//! The source and sink of `tables`.

use std::path::Path;

use tidemill_packet::app::{App, Fault, Io, Progress, Start};

use super::requests::{Found, Requests};
use crate::packets::Rounds;

tidemill_packet::declare! {
    /// Brings the packets that fill a table, then the others again and again.
    app Ask {
        config AskConfig {
            /// The file of requests.
            file: String,
            /// How often.
            passes: u64,
        }
        ports {
            /// The packets.
            output: Output(Push, One),
        }
        traits { pulls }
    }
}

/// See [`Ask::declaration`](tidemill_packet::app::Declared::declaration).
pub struct Ask {
    requests: Requests,
    rounds: Rounds,
}

impl App for Ask {
    fn new(config: AskConfig, _: &mut Start) -> Result<Ask, Fault> {
        let requests = Requests::read(Path::new(&config.file)).map_err(Fault::last)?;
        Ok(Ask { requests, rounds: Rounds::new(config.passes) })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let frames = self.requests.frames();
        let range = (self.requests.fill(), frames.len());
        Ok(self.rounds.bring(io, range, |at| &frames[at]))
    }
}

tidemill_packet::declare! {
    /// Reads what look-ups have found.
    app Learn {
        config LearnConfig { }
        ports {
            /// The packets.
            input: Input(Either, One),
        }
        traits { }
    }
}

/// See [`Learn::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Learn {
    found: Found,
}

impl App for Learn {
    fn new(_: LearnConfig, _: &mut Start) -> Result<Learn, Fault> {
        Ok(Learn { found: Found::default() })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            self.found.read(packet.bytes());
        }
        Ok(())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("hits", self.found.hits), ("sum", self.found.sum)]
    }
}
