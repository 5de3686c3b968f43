//! One connection of a tool: received frames, and messages to send.

use tidemill_fabric::stream::{FrameReader, write_frame};
use tidemill_fabric::token::{Broken, Channel};
use tidemill_overlog::control::{Control, REQUEST_BYTES_MAX};

/// Unsent bytes above which an answer pauses, and requests are not read.
const WAITING_MAX: usize = 64 << 10;
/// Unsent bytes below which both resume.
const WAITING_LOW: usize = 16 << 10;

/// The authentication state of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It may send requests.
    Admitted,
    /// It has not proved that it has the token.
    HalfOpen,
}

/// Why a connection has to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// The peer has another token.
    Token,
    /// A malformed frame, or one that is not a message of a tool.
    Malformed,
    /// A frame that is too long.
    TooLong,
    /// A frame that was not sealed by the peer.
    Seal,
}

impl From<Broken> for Ending {
    fn from(broken: Broken) -> Ending {
        match broken {
            Broken::Token => Ending::Token,
            Broken::Frame => Ending::Malformed,
            Broken::TooLong => Ending::TooLong,
            Broken::Seal => Ending::Seal,
        }
    }
}

/// The protocol of one connection, without its socket.
#[derive(Debug)]
pub(super) struct Connection {
    /// Seals frames over the network.
    channel: Option<Channel>,
    reader: FrameReader,
    /// Bytes to send, from `sent` on.
    out: Vec<u8>,
    sent: usize,
    /// The answer is paused.
    is_paused: bool,
    /// The time of creation, or of the last complete message.
    pub(super) received_ns: u64,
    /// The time of the last progress in sending, or at which bytes were first queued.
    pub(super) progress_ns: u64,
}

impl Connection {
    /// A new connection; sealed by `channel`, if given.
    pub(super) fn new(channel: Option<Channel>, now_ns: u64) -> Connection {
        Connection {
            channel,
            reader: FrameReader::new(REQUEST_BYTES_MAX),
            out: Vec::new(),
            sent: 0,
            is_paused: false,
            received_ns: now_ns,
            progress_ns: now_ns,
        }
    }

    /// Its authentication state.
    pub(super) fn standing(&self) -> Standing {
        match &self.channel {
            Some(channel) if !channel.is_open() => Standing::HalfOpen,
            _ => Standing::Admitted,
        }
    }

    /// Processes received bytes.
    pub(super) fn push(&mut self, bytes: &[u8], now_ns: u64) -> Result<(), Ending> {
        let Some(channel) = &mut self.channel else {
            self.reader.push(bytes);
            return Ok(());
        };
        let was_open = channel.is_open();
        let mut plain = Vec::new();
        let received = channel.receive(bytes, &mut plain, &mut self.out);
        if !was_open && channel.is_open() {
            self.received_ns = now_ns;
        }
        received?;
        self.reader.push(&plain);
        Ok(())
    }

    /// The next complete message, unless answers to earlier ones are paused.
    pub(super) fn next(&mut self, now_ns: u64) -> Result<Option<Control>, Ending> {
        if self.waiting() > WAITING_MAX {
            return Ok(None);
        }
        let Ok(frame) = self.reader.next_frame() else { return Err(Ending::TooLong) };
        let Some(frame) = frame else { return Ok(None) };
        self.received_ns = now_ns;
        Control::decode(frame).map(Some).map_err(|_| Ending::Malformed)
    }

    /// Queues a message.
    pub(super) fn send(&mut self, message: &[u8], now_ns: u64) -> Result<(), Ending> {
        if self.waiting() == 0 {
            self.progress_ns = now_ns;
        }
        let Some(channel) = &mut self.channel else {
            return write_frame(&mut self.out, message).map_err(|_| Ending::TooLong);
        };
        let mut frame = Vec::with_capacity(message.len() + 4);
        write_frame(&mut frame, message).map_err(|_| Ending::TooLong)?;
        Ok(channel.seal(&frame, &mut self.out)?)
    }

    /// The bytes to send.
    pub(super) fn unsent(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// The number of bytes to send.
    pub(super) fn waiting(&self) -> usize {
        self.out.len() - self.sent
    }

    /// `count` bytes were sent; returns true if a paused answer can resume.
    pub(super) fn advance(&mut self, count: usize, now_ns: u64) -> bool {
        self.sent += count;
        self.progress_ns = now_ns;
        if self.sent == self.out.len() {
            self.out.clear();
            // Releases the capacity that a long answer needed.
            self.out.shrink_to(WAITING_MAX);
            self.sent = 0;
        } else if self.sent > WAITING_MAX {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        let goes_on = self.is_paused && self.waiting() <= WAITING_LOW;
        self.is_paused &= !goes_on;
        goes_on
    }

    /// Pauses the answer if too many bytes are queued; returns whether it is paused.
    pub(super) fn pause(&mut self) -> bool {
        self.is_paused |= self.waiting() > WAITING_MAX;
        self.is_paused
    }

    /// Whether requests are read.
    pub(super) fn reads(&self) -> bool {
        self.waiting() <= WAITING_MAX
    }
}

#[cfg(test)]
mod tests {
    use tidemill_fabric::token::Token;
    use tidemill_overlog::control::{self, Message};

    use super::*;

    fn framed(message: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        write_frame(&mut frame, message).unwrap();
        frame
    }

    #[test]
    fn requests_wait_while_answers_are_not_read() {
        let mut connection = Connection::new(None, 0);
        let question = framed(&control::query(1, "", "edge"));
        connection.push(&question.repeat(3), 0).unwrap();
        assert!(matches!(
            connection.next(5).unwrap().unwrap().message,
            Some(Message::Query { .. })
        ));
        assert_eq!(connection.received_ns, 5);
        connection.send(&vec![0; WAITING_MAX], 6).unwrap();
        assert!(connection.pause() && !connection.reads());
        assert_eq!(connection.next(7).unwrap(), None, "the answer first");
        assert!(!connection.advance(10, 8), "there is too much yet");
        assert!(connection.advance(connection.waiting() - WAITING_LOW, 9));
        assert!(!connection.advance(connection.waiting(), 10), "it goes on already");
        assert!(connection.next(11).unwrap().is_some());
        assert_eq!((connection.received_ns, connection.progress_ns), (11, 10));
    }

    #[test]
    fn garbage_ends_a_connection() {
        let ending = |bytes: &[u8]| {
            let mut connection = Connection::new(None, 0);
            connection.push(bytes, 1).unwrap();
            connection.next(1)
        };
        assert_eq!(ending(&framed(b"\xff\xff\xff")), Err(Ending::Malformed));
        assert_eq!(ending(b"GET / HTTP/1.1\r\n"), Err(Ending::TooLong));
        assert_eq!(ending(&framed(&vec![0; REQUEST_BYTES_MAX + 1])), Err(Ending::TooLong));
        assert_eq!(ending(&framed(&[])), Ok(Some(Control::default())));
        // Half a frame is no message, and does not count as activity.
        let mut connection = Connection::new(None, 0);
        connection.push(&[9, 0, 0], 1).unwrap();
        assert_eq!((connection.next(2), connection.received_ns), (Ok(None), 0));
    }

    #[test]
    fn over_the_network_nothing_is_read_before_the_token() {
        let token = Token::parse("0123456789abcdef0123456789abcdef").unwrap();
        let server = || {
            let channel = Channel::answer(&token, [2; 32]).unwrap();
            Connection::new(Some(channel), 0)
        };
        let mut hello = Vec::new();
        let mut tool = Channel::call(&token, [1; 32], &mut hello).unwrap();
        let mut connection = server();
        assert_eq!(connection.standing(), Standing::HalfOpen);
        connection.push(&hello, 3).unwrap();
        assert_eq!((connection.standing(), connection.received_ns), (Standing::Admitted, 3));
        tool.receive(connection.unsent(), &mut Vec::new(), &mut Vec::new()).unwrap();
        let mut sealed = Vec::new();
        tool.seal(&framed(&control::top(4)), &mut sealed).unwrap();
        connection.push(&sealed, 4).unwrap();
        assert_eq!(connection.next(4).unwrap().unwrap().id, 4);
        assert_eq!(connection.push(&sealed, 5), Err(Ending::Seal), "repeated");
        // A request without a token.
        let mut connection = server();
        let question = framed(&control::query(1, "", "edge"));
        assert_eq!(connection.push(&question, 1), Err(Ending::Malformed));
        assert_eq!(connection.next(1), Ok(None));
        let other = Token::parse("fedcba98765432100123456789abcdef").unwrap();
        let mut hello = Vec::new();
        Channel::call(&other, [1; 32], &mut hello).unwrap();
        let mut connection = server();
        assert_eq!(connection.push(&hello, 1), Err(Ending::Token));
        assert!(connection.waiting() > 0, "the refusal is sent");
    }
}
