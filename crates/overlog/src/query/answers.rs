//! The node's side of queries: evaluating them, and sending the answers part by part.

use std::collections::VecDeque;

use super::evaluate::evaluate;
use super::message::{Cutter, Query, encode_end};
use crate::node::Node;

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
    /// Queries evaluated.
    pub evaluated: u64,
    /// Of those, how many had no answer.
    pub failed: u64,
    /// Demands for the rest of an answer.
    pub repeated: u64,
    /// Datagrams that look like a query and are none.
    pub malformed: u64,
    /// Answers forgotten before their time because others needed the room.
    pub evicted: u64,
}

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
struct Kept {
    asker: String,
    query: Query,
    parts: Vec<Vec<u8>>,
    end: Vec<u8>,
    bytes: usize,
    asked_ns: u64,
}

/// The answers of one node; see the module.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    kept: VecDeque<Kept>,
    counters: QueryCounters,
}

impl Answers {
    /// No answers yet.
    pub fn new() -> Answers {
        Answers::default()
    }

    /// What was counted.
    pub fn counters(&self) -> QueryCounters {
        self.counters
    }

    /// Takes a query from `asker` and sends what of the answer it demands. `now_ns` is the loop's
    /// time.
    pub fn receive(
        &mut self,
        node: &Node,
        asker: &str,
        datagram: &[u8],
        now_ns: u64,
        send: &mut impl FnMut(&[u8]),
    ) {
        let Some(query) = Query::decode(datagram) else {
            self.counters.malformed += 1;
            return;
        };
        self.kept.retain(|kept| now_ns.saturating_sub(kept.asked_ns) < KEPT_NS);
        let same = |kept: &Kept| {
            kept.asker == asker && kept.query.id == query.id && kept.query.text == query.text
        };
        let first = query.first as usize;
        let place = match self.kept.iter().position(same) {
            Some(place) => {
                self.counters.repeated += 1;
                place
            }
            None => {
                let kept = self.answer(node, asker, query, now_ns);
                self.kept.push_back(kept);
                self.make_room();
                self.kept.len() - 1
            }
        };
        let kept = &mut self.kept[place];
        kept.asked_ns = now_ns;
        kept.parts.iter().skip(first).take(WINDOW).for_each(|part| send(part));
        send(&kept.end);
    }

    fn answer(&mut self, node: &Node, asker: &str, query: Query, now_ns: u64) -> Kept {
        self.counters.evaluated += 1;
        let cut = evaluate(node, &query.text).and_then(|answer| {
            let mut cutter = Cutter::new(asker, query.id);
            let fits = answer.rows().all(|row| cutter.push(row.iter()));
            let too_long = || "a row of the answer is too long for a datagram".to_owned();
            fits.then(|| (cutter.finish(), answer.name)).ok_or_else(too_long)
        });
        self.counters.failed += u64::from(cut.is_err());
        let (parts, name, error) = match cut {
            Ok((parts, name)) => (parts, name, None),
            Err(error) => (Vec::new(), String::new(), Some(error)),
        };
        // There are less than 2^32 rows.
        let end = encode_end(asker, query.id, parts.len() as u32, &name, error.as_deref());
        let bytes = parts.iter().map(Vec::len).sum::<usize>() + end.len() + query.text.len();
        Kept { asker: asker.to_owned(), query, parts, end, bytes, asked_ns: now_ns }
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
