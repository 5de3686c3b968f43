//! The node's side of queries: having them evaluated, and sending the answers part by part.
//!
//! A query is work for some while ([`Answers::receive`] gives a [`Ticket`] for it): who drives
//! the node calls [`Answers::copy`] until the tables are copied, between two turns of it, then
//! [`Answers::go_on`] until the answer is sent, whenever there is time. An asker that asks again
//! meanwhile, or while too many queries are at work, gets nothing; it will ask once more.

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use tidemill_relation::Value;

use super::evaluate::{Answer, Evaluation};
use super::message::{Cutter, Query, encode_end};
use crate::node::Node;

/// Queries evaluated at a time.
const AT_WORK_MAX: usize = 4;
/// Datagrams sent for one demand.
const WINDOW: usize = 16;
/// Answers kept for askers that want the rest.
const ANSWERS_MAX: usize = 16;
/// Bytes that the kept answers have together, but for the newest.
const BYTES_MAX: usize = 64 << 20;
/// How long an answer is kept after it was last asked for.
const KEPT_NS: u64 = 30_000_000_000;

/// What queries to one node have counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueryCounters {
    /// Queries whose evaluation was begun.
    pub evaluated: u64,
    /// Of those, how many had no answer.
    pub failed: u64,
    /// Demands for the rest of an answer, or for one that is not there yet.
    pub repeated: u64,
    /// Queries not taken because too many were at work.
    pub put_off: u64,
    /// Datagrams that look like a query and are none.
    pub malformed: u64,
    /// Answers forgotten before their time because others needed the room.
    pub evicted: u64,
}

/// The counters of the process, asked for as rows `sys::counter(Node, Name, Value)`: no table has
/// them, as most of them change all the time and nobody asks.
#[derive(Clone)]
pub struct Shown(Rc<dyn Fn() -> Vec<(String, u64)>>);

impl Shown {
    /// The counters that `read` gives, by name.
    pub fn new(read: impl Fn() -> Vec<(String, u64)> + 'static) -> Shown {
        Shown(Rc::new(read))
    }

    fn evaluation(&self, node: &Node) -> Evaluation {
        let counters = (self.0)();
        let address = Value::Str(&node.identity().address);
        let rows = counters.iter().map(|(name, value)| {
            let value = Value::Int(i64::try_from(*value).unwrap_or(i64::MAX));
            [address, Value::Str(name), value]
        });
        Evaluation::of_rows(node, COUNTER, rows)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}

/// The relation of the counters.
const COUNTER: &str = "sys::counter";

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
struct Kept {
    asker: String,
    query: Query,
    parts: Vec<Vec<u8>>,
    end: Vec<u8>,
    bytes: usize,
    failed: bool,
    asked_ns: u64,
}

impl Kept {
    fn of_error(asker: &str, query: Query, error: &str, asked_ns: u64) -> Kept {
        let end = encode_end(asker, query.id, 0, "", Some(error));
        Kept::new(asker.to_owned(), query, Vec::new(), (end, true), asked_ns)
    }

    fn of_answer(
        asker: String,
        query: Query,
        parts: Vec<Vec<u8>>,
        name: &str,
        asked_ns: u64,
    ) -> Kept {
        // There are less than 2^32 rows.
        let end = encode_end(&asker, query.id, parts.len() as u32, name, None);
        Kept::new(asker, query, parts, (end, false), asked_ns)
    }

    fn new(
        asker: String,
        query: Query,
        parts: Vec<Vec<u8>>,
        (end, failed): (Vec<u8>, bool),
        asked_ns: u64,
    ) -> Kept {
        let bytes = parts.iter().map(Vec::len).sum::<usize>() + end.len() + query.text.len();
        Kept { asker, query, parts, end, bytes, failed, asked_ns }
    }

    /// Sends a window of the parts from `first` on, and the end.
    fn send(&self, first: u32, send: &mut impl FnMut(&[u8])) {
        self.parts.iter().skip(first as usize).take(WINDOW).for_each(|part| send(part));
        send(&self.end);
    }
}

/// A query at work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(u64);

/// How far work on a query is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worked {
    /// There is more of it.
    More,
    /// This part of it is done; the next is [`Answers::go_on`].
    Copied,
    /// The answer has been sent, or the work was given up.
    Done,
}

#[derive(Debug)]
struct Work {
    ticket: Ticket,
    asker: String,
    query: Query,
    /// Absent only while it is being worked on.
    part: Option<Part>,
}

#[derive(Debug)]
enum Part {
    Evaluate(Box<Evaluation>),
    Cut { answer: Answer, row: usize, cutter: Cutter },
}

impl Part {
    fn go_on(self, asker: &str, query: &Query, steps: u64) -> Result<Part, String> {
        match self {
            Part::Evaluate(mut evaluation) => match evaluation.go_on(steps)? {
                false => Ok(Part::Evaluate(evaluation)),
                true => {
                    let cutter = Cutter::new(asker, query.id);
                    Ok(Part::Cut { answer: evaluation.into_answer(), row: 0, cutter })
                }
            },
            Part::Cut { answer, row, mut cutter } => {
                let until = row.saturating_add(steps as usize).min(answer.len());
                for row in (row..until).filter_map(|row| answer.row(row)) {
                    if !cutter.push(row.iter()) {
                        return Err("a row of the answer is too long for a datagram".to_owned());
                    }
                }
                Ok(Part::Cut { answer, row: until, cutter })
            }
        }
    }
}

/// The answers of one node; see the module.
#[derive(Debug, Default)]
pub struct Answers {
    at_work: Vec<Work>,
    tickets: u64,
    kept: VecDeque<Kept>,
    counters: QueryCounters,
    shown: Option<Shown>,
}

impl Answers {
    /// No answers yet; `shown` are the counters of the process, if they may be asked for.
    pub fn new(shown: Option<Shown>) -> Answers {
        Answers { shown, ..Answers::default() }
    }

    /// What was counted.
    pub fn counters(&self) -> QueryCounters {
        self.counters
    }

    /// Takes a query from `asker` and sends what of the answer it demands; if there is none yet,
    /// gives the work to be done for it. `now_ns` is the loop's time.
    pub fn receive(
        &mut self,
        node: &Node,
        asker: &str,
        datagram: &[u8],
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) -> Option<Ticket> {
        let Some(query) = Query::decode(datagram) else {
            self.counters.malformed += 1;
            return None;
        };
        self.kept.retain(|kept| now_ns.saturating_sub(kept.asked_ns) < KEPT_NS);
        let same = |other: &Query, from: &str| {
            from == asker && other.id == query.id && other.text == query.text
        };
        if let Some(kept) = self.kept.iter_mut().find(|kept| same(&kept.query, &kept.asker)) {
            self.counters.repeated += 1;
            kept.asked_ns = now_ns;
            kept.send(query.first, send);
            return None;
        }
        if self.at_work.iter().any(|work| same(&work.query, &work.asker)) {
            self.counters.repeated += 1;
            return None;
        }
        if self.at_work.len() >= AT_WORK_MAX {
            self.counters.put_off += 1;
            return None;
        }
        self.counters.evaluated += 1;
        let evaluation = match &self.shown {
            Some(shown) if query.text.trim() == COUNTER => Ok(shown.evaluation(node)),
            _ => Evaluation::new(node, &query.text),
        };
        match evaluation {
            Ok(evaluation) => {
                self.tickets += 1;
                let ticket = Ticket(self.tickets);
                let part = Some(Part::Evaluate(Box::new(evaluation)));
                self.at_work.push(Work { ticket, asker: asker.to_owned(), query, part });
                Some(ticket)
            }
            Err(error) => {
                self.keep(Kept::of_error(asker, query, &error, now_ns), send);
                None
            }
        }
    }

    /// Copies at most `rows` rows of the node's tables, which must not change before this is done.
    pub fn copy(
        &mut self,
        ticket: Ticket,
        node: &Node,
        rows: u64,
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) -> Worked {
        let Some(place) = self.place(ticket) else { return Worked::Done };
        let Some(Part::Evaluate(evaluation)) = &mut self.at_work[place].part else {
            return Worked::Copied;
        };
        match evaluation.copy(node, rows) {
            Ok(true) => Worked::Copied,
            Ok(false) => Worked::More,
            Err(error) => self.fail(place, &error, now_ns, send),
        }
    }

    /// Goes on for about so many steps with what is left to do after the tables are copied.
    pub fn go_on(
        &mut self,
        ticket: Ticket,
        steps: u64,
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) -> Worked {
        let Some(place) = self.place(ticket) else { return Worked::Done };
        let work = &mut self.at_work[place];
        let Some(part) = work.part.take() else { return self.give_up(ticket) };
        match part.go_on(&work.asker, &work.query, steps) {
            Err(error) => self.fail(place, &error, now_ns, send),
            Ok(Part::Cut { answer, row, cutter }) if row == answer.len() => {
                let Work { asker, query, .. } = self.at_work.remove(place);
                let parts = cutter.finish();
                self.keep(Kept::of_answer(asker, query, parts, &answer.name, now_ns), send);
                Worked::Done
            }
            Ok(part) => {
                work.part = Some(part);
                Worked::More
            }
        }
    }

    /// Forgets the work on a query that cannot go on; its asker may ask again.
    pub fn give_up(&mut self, ticket: Ticket) -> Worked {
        self.at_work.retain(|work| work.ticket != ticket);
        Worked::Done
    }

    fn place(&self, ticket: Ticket) -> Option<usize> {
        self.at_work.iter().position(|work| work.ticket == ticket)
    }

    fn fail(
        &mut self,
        place: usize,
        error: &str,
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) -> Worked {
        let Work { asker, query, .. } = self.at_work.remove(place);
        self.keep(Kept::of_error(&asker, query, error, now_ns), send);
        Worked::Done
    }

    /// Sends what of an answer was demanded and keeps it.
    fn keep(&mut self, kept: Kept, send: &mut impl FnMut(&[u8])) {
        self.counters.failed += u64::from(kept.failed);
        kept.send(kept.query.first, send);
        self.kept.push_back(kept);
        self.make_room();
    }

    /// Forgets the oldest answers, but never the newest.
    fn make_room(&mut self) {
        let mut bytes: usize = self.kept.iter().map(|kept| kept.bytes).sum();
        while self.kept.len() > 1 && (self.kept.len() > ANSWERS_MAX || bytes > BYTES_MAX) {
            bytes -= self.kept.pop_front().map_or(0, |kept| kept.bytes);
            self.counters.evicted += 1;
        }
    }
}
