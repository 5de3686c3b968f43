//! A connection of two that have the same token: Noise NN with the token's key mixed in first.
//!
//! ```text
//! Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s, prologue "tidemill control 1"
//!   hello    5, -> psk, e       by who connects
//!   reply    6, <- e, ee
//!   refused  7                  instead of a reply: the hello is by another token
//!   data     8, sealed bytes    both ways, at most 16 KiB of the stream each
//! ```
//! Each is a frame preceded by its length, as envelopes are; the first bytes 5 to 8 never begin an
//! envelope, so that one port can take both. Frames come in order, so that the sealed ones need no
//! number: one that is changed, repeated or left out ends the connection. Keys are new for each
//! connection, and what was recorded cannot be read with a token that becomes known later.

use snow::error::Error;
use snow::{Builder, HandshakeState, TransportState};

use super::Token;
use crate::noise::{Ephemeral, Resolver};
use crate::stream::{FrameReader, write_frame};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"tidemill control 1";

const HELLO: u8 = 5;
const REPLY: u8 = 6;
const REFUSED: u8 = 7;
const DATA: u8 = 8;

/// Bytes that sealing adds.
const TAG_BYTES: usize = 16;
/// Bytes of the stream in one frame of data.
const DATA_BYTES_MAX: usize = 16 << 10;
/// Bytes that a message of the handshake has.
const HANDSHAKE_BYTES: usize = 32 + TAG_BYTES;

/// Bytes that a frame of a channel may have.
pub const FRAME_BYTES_MAX: usize = 1 + DATA_BYTES_MAX + TAG_BYTES;

/// True for the frame that begins a channel, as far as its first byte says.
pub fn is_hello(frame: &[u8]) -> bool {
    frame.first() == Some(&HELLO)
}

/// Why a channel cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broken {
    /// The other side has another token.
    Token,
    /// The input is no frame of a channel, or not the expected one.
    Frame,
    /// A frame that is longer than it may be.
    TooLong,
    /// A frame that was not sealed by the other side, or not next.
    Seal,
}

/// One side of a channel.
pub struct Channel {
    state: ChannelState,
    reader: FrameReader,
}

enum ChannelState {
    /// The other side has not said hello yet.
    Listening(Box<HandshakeState>),
    /// It has not replied yet.
    Calling(Box<HandshakeState>),
    Open(Box<TransportState>),
    Over,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            ChannelState::Listening(_) => "listening",
            ChannelState::Calling(_) => "calling",
            ChannelState::Open(_) => "open",
            ChannelState::Over => "over",
        };
        f.debug_tuple("Channel").field(&state).finish()
    }
}

impl Channel {
    /// The side that connects; its hello is appended to `out`. `ephemeral` are unpredictable random
    /// bytes.
    ///
    /// # Errors
    /// The library refuses the key.
    pub fn call(token: &Token, ephemeral: [u8; 32], out: &mut Vec<u8>) -> Result<Channel, Broken> {
        let built = builder(token, ephemeral).and_then(Builder::build_initiator);
        let mut handshake = built.map_err(|_| Broken::Token)?;
        write_message(&mut handshake, HELLO, out)?;
        Ok(Channel::new(ChannelState::Calling(Box::new(handshake))))
    }

    /// The side that is connected to.
    ///
    /// # Errors
    /// The library refuses the key.
    pub fn answer(token: &Token, ephemeral: [u8; 32]) -> Result<Channel, Broken> {
        let built = builder(token, ephemeral).and_then(Builder::build_responder);
        let handshake = built.map_err(|_| Broken::Token)?;
        Ok(Channel::new(ChannelState::Listening(Box::new(handshake))))
    }

    fn new(state: ChannelState) -> Channel {
        Channel { state, reader: FrameReader::new(FRAME_BYTES_MAX) }
    }

    /// Whether the other side has shown that it has the token.
    pub fn is_open(&self) -> bool {
        matches!(self.state, ChannelState::Open(_))
    }

    /// Takes what came over the connection: opened bytes are appended to `plain`, what has to be
    /// sent at once to `out`.
    ///
    /// # Errors
    /// See [`Broken`]; the connection has to end then, after `out` was sent.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        self.reader.push(bytes);
        let mut frames = Vec::new();
        loop {
            match self.reader.next_frame() {
                Ok(Some(frame)) => frames.push(frame.to_vec()),
                Ok(None) => break,
                Err(_) => return Err(Broken::TooLong),
            }
        }
        frames.iter().try_for_each(|frame| self.take(frame, plain, out))
    }

    fn take(&mut self, frame: &[u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), Broken> {
        let (&kind, message) = frame.split_first().ok_or(Broken::Frame)?;
        self.state = match (std::mem::replace(&mut self.state, ChannelState::Over), kind) {
            (ChannelState::Listening(mut handshake), HELLO) => {
                if read_message(&mut handshake, message).is_err() {
                    // The length of a frame with one byte always fits.
                    let _ = write_frame(out, &[REFUSED]);
                    return Err(Broken::Token);
                }
                write_message(&mut handshake, REPLY, out)?;
                opened(*handshake)?
            }
            (ChannelState::Calling(mut handshake), REPLY) => {
                read_message(&mut handshake, message)?;
                opened(*handshake)?
            }
            (ChannelState::Calling(_), REFUSED) if message.is_empty() => return Err(Broken::Token),
            (ChannelState::Open(mut transport), DATA) => {
                let start = plain.len();
                plain.resize(start + message.len(), 0);
                let opened = transport.read_message(message, &mut plain[start..]);
                plain.truncate(start + opened.as_ref().map_or(0, |&length| length));
                opened.map_err(|_| Broken::Seal)?;
                ChannelState::Open(transport)
            }
            _ => return Err(Broken::Frame),
        };
        Ok(())
    }

    /// Seals bytes of the stream and appends the frames to `out`.
    ///
    /// # Errors
    /// The channel is not open.
    pub fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        let ChannelState::Open(transport) = &mut self.state else { return Err(Broken::Frame) };
        let mut frame = Vec::new();
        for piece in plain.chunks(DATA_BYTES_MAX) {
            frame.clear();
            frame.push(DATA);
            frame.resize(1 + piece.len() + TAG_BYTES, 0);
            transport.write_message(piece, &mut frame[1..]).map_err(|_| Broken::Seal)?;
            write_frame(out, &frame).map_err(|_| Broken::TooLong)?;
        }
        Ok(())
    }
}

fn builder(token: &Token, ephemeral: Ephemeral) -> Result<Builder<'_>, Error> {
    let params = PATTERN.parse()?;
    Builder::with_resolver(params, Box::new(Resolver(ephemeral)))
        .prologue(PROLOGUE)?
        .psk(0, &token.psk)
}

/// Appends this side's message of the handshake.
fn write_message(
    handshake: &mut HandshakeState,
    kind: u8,
    out: &mut Vec<u8>,
) -> Result<(), Broken> {
    let mut frame = [0; 1 + HANDSHAKE_BYTES];
    frame[0] = kind;
    let length = handshake.write_message(&[], &mut frame[1..]).map_err(|_| Broken::Frame)?;
    write_frame(out, &frame[..1 + length]).map_err(|_| Broken::TooLong)
}

/// Takes the other side's.
fn read_message(handshake: &mut HandshakeState, message: &[u8]) -> Result<(), Broken> {
    let mut payload = [0; HANDSHAKE_BYTES];
    if message.len() == HANDSHAKE_BYTES && handshake.read_message(message, &mut payload).is_ok() {
        Ok(())
    } else {
        Err(Broken::Seal)
    }
}

fn opened(handshake: HandshakeState) -> Result<ChannelState, Broken> {
    let transport = handshake.into_transport_mode().map_err(|_| Broken::Frame)?;
    Ok(ChannelState::Open(Box::new(transport)))
}
