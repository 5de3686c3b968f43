//! Asking a running node for the rows of a table or the answer of a rule.
//!
//! The asker is a little node of its own: a port, a question, and the parts of the answer that
//! have come ([`tidemill_overlog::query`] has the protocol). What is lost is asked for again, at
//! growing intervals, until nothing has come for the time allowed.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::time::Duration;

use tidemill_event::{Endpoint, Handlers, Host, Interest, Loop, Outcome, TimerId};
use tidemill_overlog::query::message::{Query, Reply, TEXT_BYTES_MAX};
use tidemill_relation::OwnedValue;

/// The first time to wait before asking again, and the longest.
const PATIENCE: Duration = Duration::from_millis(200);
const PATIENCE_MAX: Duration = Duration::from_secs(1);
/// Datagrams read at a stretch.
const BATCH: usize = 64;

/// Rows of a table or of a rule's head, sorted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// The name of the table or head.
    pub name: String,
    /// The rows.
    pub rows: Vec<Vec<OwnedValue>>,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
    /// The node says what is wrong with the question.
    Refused(String),
    /// Nothing has come from the node for so long.
    Silence {
        /// The node.
        address: String,
        /// How long was waited.
        waited: Duration,
    },
    /// The question is longer than a datagram.
    TooLong,
    /// The network of this machine failed.
    Io(io::Error),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Refused(reason) => f.write_str(reason),
            AskError::Silence { address, waited } => {
                write!(f, "no answer from {address} within {} s", waited.as_secs_f64())
            }
            AskError::TooLong => write!(f, "a query has at most {TEXT_BYTES_MAX} bytes"),
            AskError::Io(error) => write!(f, "the network fails: {error}"),
        }
    }
}

impl std::error::Error for AskError {}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> AskError {
        AskError::Io(error)
    }
}

/// Asks one node.
pub struct Asker {
    events: Loop<Asking>,
    asking: Asking,
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").field("address", &self.asking.query.node).finish_non_exhaustive()
    }
}

impl Asker {
    /// An asker of the node at `address`, on a host of its own. Nothing is sent yet.
    ///
    /// # Errors
    /// If the host has no port left.
    pub fn new(host: Box<dyn Host>, address: &str) -> io::Result<Asker> {
        let mut events = Loop::new(host);
        // Where there is IPv6 its port takes IPv4 as well.
        let any = events.host().bind("[::]:0");
        let endpoint = any.or_else(|_| events.host().bind("0.0.0.0:0"))?;
        let id = (events.random() >> 1) as i64;
        let query = Query { node: address.to_owned(), id, text: String::new(), first: 0 };
        let mut asking = Asking {
            endpoint,
            query,
            parts: BTreeMap::new(),
            end: None,
            heard: false,
            patience: PATIENCE,
            again: None,
            buffer: vec![0; 1 << 16],
        };
        let handlers = Handlers::new()
            .read(|asking: &mut Asking, events: &mut Loop<Asking>, _| asking.receive(events))
            .error(|_, _, _, _| {});
        events.watch(endpoint, Interest::Read, handlers)?;
        let at = events.now() + PATIENCE;
        asking.again = Some(events.alarm(at, |asking: &mut Asking, events, _| {
            asking.patience = (asking.patience * 2).min(PATIENCE_MAX);
            asking.demand(events);
        }));
        Ok(Asker { events, asking })
    }

    /// Asks and waits for the whole answer; gives up when nothing has come for `timeout`.
    ///
    /// # Errors
    /// See [`AskError`].
    pub fn ask(&mut self, text: &str, timeout: Duration) -> Result<Rows, AskError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(AskError::TooLong);
        }
        let Asker { events, asking } = self;
        asking.begin(text);
        asking.demand(events);
        loop {
            asking.heard = false;
            let end = events.now() + timeout;
            match events.run_until(asking, end) {
                Outcome::Failed(error) => return Err(error.into()),
                _ if asking.is_complete() => break,
                _ if asking.heard => {}
                _ => {
                    let address = asking.query.node.clone();
                    return Err(AskError::Silence { address, waited: timeout });
                }
            }
        }
        asking.finish()
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// If the host fails to wait.
    pub fn pause(&mut self, span: Duration) -> io::Result<()> {
        let end = self.events.now() + span;
        match self.events.run_until(&mut self.asking, end) {
            Outcome::Failed(error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// A question and what has come of its answer.
struct Asking {
    endpoint: Endpoint,
    query: Query,
    parts: BTreeMap<u32, Vec<Vec<OwnedValue>>>,
    /// How many parts there are, their name, and why there are none.
    end: Option<(u32, String, Option<String>)>,
    /// Something of the answer has come since the question was put last.
    heard: bool,
    patience: Duration,
    again: Option<TimerId>,
    buffer: Vec<u8>,
}

impl Asking {
    fn begin(&mut self, text: &str) {
        self.query.id = self.query.id.wrapping_add(1) & i64::MAX;
        self.query.text = text.to_owned();
        self.parts.clear();
        self.end = None;
        self.patience = PATIENCE;
    }

    fn is_complete(&self) -> bool {
        self.end.as_ref().is_some_and(|(parts, ..)| self.parts.len() as u64 >= u64::from(*parts))
    }

    /// The first part that has not come.
    fn missing(&self) -> u32 {
        let come = (0..).zip(self.parts.keys()).take_while(|(index, part)| index == *part);
        come.count() as u32
    }

    /// Asks for what is missing, and again later.
    fn demand(&mut self, events: &mut Loop<Asking>) {
        if self.query.text.is_empty() || self.is_complete() {
            return;
        }
        self.query.first = self.missing();
        let datagram = self.query.encode();
        // One that is not sent is like one that is lost.
        let _ = events.host().send(self.endpoint, &self.query.node, &datagram);
        if let Some(again) = self.again {
            let at = events.now() + self.patience;
            events.rearm(again, at);
        }
    }

    fn receive(&mut self, events: &mut Loop<Asking>) {
        let mut ends = false;
        for _ in 0..BATCH {
            let read = events.host().recv(self.endpoint, &mut self.buffer);
            // What is wrong with one datagram says nothing about the next.
            let Ok(Some((length, _))) = read else { break };
            ends |= Reply::decode(&self.buffer[..length]).is_some_and(|reply| self.take_in(reply));
        }
        if self.is_complete() {
            events.stop();
        } else if ends {
            // A window is over: ask for the next, or for what of this one is lost.
            self.demand(events);
        }
    }

    /// Keeps a part; true if it ends a window.
    fn take_in(&mut self, reply: Reply) -> bool {
        match reply {
            Reply::Rows { id, part, rows } if id == self.query.id => {
                self.heard |= self.parts.insert(part, rows).is_none();
                self.patience = PATIENCE;
                false
            }
            Reply::End { id, parts, name, error } if id == self.query.id => {
                self.heard |= self.end.is_none();
                self.end = Some((parts, name, error));
                true
            }
            _ => false,
        }
    }

    fn finish(&mut self) -> Result<Rows, AskError> {
        self.query.text.clear();
        let parts = std::mem::take(&mut self.parts);
        match self.end.take() {
            Some((_, _, Some(error))) => Err(AskError::Refused(error)),
            Some((_, name, None)) => {
                Ok(Rows { name, rows: parts.into_values().flatten().collect() })
            }
            None => Ok(Rows::default()),
        }
    }
}
