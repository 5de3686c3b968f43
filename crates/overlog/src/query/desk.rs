//! Questions to the nodes of a run: the askers, their turns, and the limits of each.
//!
//! ```text
//! asker 1   [question, question ...]      one connection; its first question is worked on
//! asker 2   [question]
//!   to_copy   askers whose question has not seen the tables yet, one of them at a time
//!   ring      askers whose question can go on: a slice each, in turn
//! ```
//! So each asker has the same share of the time, however many others ask, and however long their
//! questions take. Each question has [`Limits`]; all together have a limit on memory, which ends
//! the largest. A part of an answer is made when its asker can take it, so that an asker that does
//! not read costs no more than the limit of its question.

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::sorted::SortedMap;

use super::evaluate::{Answer, Evaluation, Limits};
use super::failure::Failure;
use crate::control::{self, End, Status};
use crate::node::Node;

/// Questions of one asker that wait for an earlier one of the same.
pub const WAITING_MAX: usize = 8;

/// Bytes that the questions of all askers may take.
const BYTES_MAX: usize = 1 << 30;

/// Bytes from which on a part of an answer is sent.
const PART_BYTES: usize = 16 << 10;

/// Bytes that one row may take.
const ROW_BYTES_MAX: usize = 1 << 20;

/// A node, and the rows of the table that the question names, if another part of the program has
/// it.
pub type Copyable<'a> = (&'a Node, Option<Vec<Vec<OwnedValue>>>);

/// An asker: a connection, by the number that its owner gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AskerId(pub u64);

/// The node of a query, in which of its lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueriedNode {
    /// The node's number in its fleet.
    pub node: u32,
    /// Counts its restarts.
    pub life: u32,
}

/// The counters of queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueryCounters {
    /// Queries whose evaluation was begun.
    pub evaluated: u64,
    /// Queries that were invalid.
    pub failed: u64,
    /// Queries that were ended because they, or all together, took too much.
    pub limited: u64,
    /// Queries that were not taken because too many of the same asker waited.
    pub refused: u64,
    /// Queries whose asker disconnected before the answer was complete.
    pub abandoned: u64,
}

/// The counters of the process, queried as rows `sys::counter(Node, Name, Value)`. No table has
/// them, as most change all the time and are rarely queried.
#[derive(Clone)]
pub struct Shown(Rc<dyn Fn() -> Vec<(String, u64)>>);

impl Shown {
    /// The counters that `read` gives, by name.
    pub fn new(read: impl Fn() -> Vec<(String, u64)> + 'static) -> Shown {
        Shown(Rc::new(read))
    }

    /// Rows of `sys::counter` without the location.
    fn rows(&self) -> Vec<Vec<OwnedValue>> {
        let row = |(name, value): (String, u64)| {
            let value = Value::Int(i64::try_from(value).unwrap_or(i64::MAX));
            vec![OwnedValue::new(Value::Str(&name)), OwnedValue::new(value)]
        };
        (self.0)().into_iter().map(row).collect()
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}

/// A message for an asker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Its receiver.
    pub asker: AskerId,
    /// The encoded [`Control`](control::Control).
    pub message: Vec<u8>,
}

/// The progress of copying tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Copied {
    /// Rows are needed first.
    Requires {
        /// Tables of the system, to be [supplied](Desk::supply).
        tables: Vec<&'static str>,
        /// The rows of the [node's record](crate::node::Node::write_record) are to be made, too.
        record: bool,
    },
    /// There is more to copy.
    More,
    /// The question can continue without the node, or is over.
    Done,
}

#[derive(Debug)]
struct Question {
    id: u64,
    asked: QueriedNode,
    part: Part,
    /// Time that work on it has taken.
    spent_ns: u64,
}

#[derive(Debug)]
enum Part {
    /// Nothing was done yet.
    Text(String),
    Copy(Box<Evaluation>),
    Evaluate(Box<Evaluation>),
    Send {
        answer: Answer,
        row: usize,
        bytes: usize,
    },
}

impl Part {
    /// Takes the value, leaving a placeholder.
    fn take(&mut self) -> Part {
        std::mem::replace(self, Part::Text(String::new()))
    }
}

impl Question {
    fn bytes(&self) -> usize {
        match &self.part {
            Part::Text(text) => text.len(),
            Part::Copy(evaluation) | Part::Evaluate(evaluation) => evaluation.bytes(),
            Part::Send { bytes, .. } => *bytes,
        }
    }
}

#[derive(Debug, Default)]
struct Asker {
    questions: VecDeque<Question>,
    /// It takes nothing more for now.
    is_paused: bool,
    /// It is in the ring.
    is_queued: bool,
    /// Bytes of its first question at the last check.
    bytes: usize,
}

/// The questions of all askers; see the module.
#[derive(Debug)]
pub struct Desk {
    limits: Limits,
    bytes_max: usize,
    askers: SortedMap<AskerId, Asker>,
    to_copy: VecDeque<AskerId>,
    copying: Option<AskerId>,
    ring: VecDeque<AskerId>,
    shown: Option<Shown>,
    counters: QueryCounters,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            limits: Limits::default(),
            bytes_max: BYTES_MAX,
            askers: SortedMap::new(),
            to_copy: VecDeque::new(),
            copying: None,
            ring: VecDeque::new(),
            shown: None,
            counters: QueryCounters::default(),
        }
    }
}

impl Desk {
    /// Enables questions for the counters of the process.
    pub fn show(&mut self, shown: Shown) {
        self.shown = Some(shown);
    }

    /// Sets the limits of questions.
    pub fn limit(&mut self, limits: Limits, bytes_max: usize) {
        (self.limits, self.bytes_max) = (limits, bytes_max);
    }

    /// The counters.
    pub fn counters(&self) -> QueryCounters {
        self.counters
    }

    /// Takes a question.
    ///
    /// # Errors
    /// The end of its answer, if it is not taken.
    pub fn ask(
        &mut self,
        asker: AskerId,
        id: u64,
        asked: QueriedNode,
        text: &str,
    ) -> Result<(), End> {
        let most = control::TEXT_BYTES_MAX;
        if text.len() > most {
            self.counters.failed += 1;
            return Err(End::refusal(Status::Wrong, format!("a query has at most {most} bytes")));
        }
        let waiting = &mut self.askers.entry(asker).or_default().questions;
        if waiting.len() > WAITING_MAX {
            self.counters.refused += 1;
            let reason = format!("more than {WAITING_MAX} queries of one asker wait");
            return Err(End::refusal(Status::Limit, reason));
        }
        waiting.push_back(Question { id, asked, part: Part::Text(text.to_owned()), spent_ns: 0 });
        if waiting.len() == 1 {
            self.to_copy.push_back(asker);
        }
        Ok(())
    }

    /// Forgets an asker and all that it asked.
    pub fn forget(&mut self, asker: AskerId) {
        let Some(gone) = self.askers.remove(&asker) else { return };
        self.counters.abandoned += gone.questions.len() as u64;
        self.to_copy.retain(|&other| other != asker);
        self.ring.retain(|&other| other != asker);
        if self.copying == Some(asker) {
            self.copying = None;
        }
    }

    /// True while questions of this asker are not answered.
    pub fn is_busy(&self, asker: AskerId) -> bool {
        self.askers.get(&asker).is_some_and(|asker| !asker.questions.is_empty())
    }

    /// An asker takes no more for now, until [`Desk::resume`].
    pub fn pause(&mut self, asker: AskerId) {
        if let Some(asker) = self.askers.get_mut(&asker) {
            asker.is_paused = true;
        }
    }

    /// An asker takes more again.
    pub fn resume(&mut self, asker: AskerId) {
        if let Some(known) = self.askers.get_mut(&asker) {
            known.is_paused = false;
            self.queue(asker);
        }
    }

    /// Puts an asker into the ring if its question can continue.
    fn queue(&mut self, id: AskerId) {
        let Some(asker) = self.askers.get_mut(&id) else { return };
        let can_go_on = matches!(
            asker.questions.front().map(|question| &question.part),
            Some(Part::Evaluate(_) | Part::Send { .. })
        );
        if can_go_on && !asker.is_queued && !asker.is_paused {
            asker.is_queued = true;
            self.ring.push_back(id);
        }
    }

    /// The counters of the process as rows, without the location.
    pub fn counter_rows(&self) -> Vec<Vec<OwnedValue>> {
        self.shown.as_ref().map_or(Vec::new(), Shown::rows)
    }

    /// The question of an asker as it was asked, if nothing was done for it.
    pub fn text_of(&self, id: AskerId) -> Option<&str> {
        match &self.askers.get(&id)?.questions.front()?.part {
            Part::Text(text) => Some(text.trim()),
            _ => None,
        }
    }

    /// The next question whose tables are to be copied, if none is being copied.
    pub fn next_copy(&mut self) -> Option<(AskerId, QueriedNode)> {
        if self.copying.is_some() {
            return None;
        }
        let id = self.to_copy.pop_front()?;
        let asked = self.askers.get(&id)?.questions.front()?.asked;
        self.copying = Some(id);
        Some((id, asked))
    }

    /// Takes the present rows of a table of the system that the question of an asker reads; also
    /// returns the end of an answer, which may be another asker's.
    pub fn supply(&mut self, id: AskerId, name: &str, rows: &[Vec<OwnedValue>]) -> Option<Reply> {
        let Some(Part::Copy(evaluation)) = self.question(id).map(|question| &mut question.part)
        else {
            return None;
        };
        match evaluation.supply(name, rows) {
            Err(failure) => self.fail(id, failure),
            Ok(()) => self.weigh(id),
        }
    }

    /// Copies at most `rows` rows of the queried node, whose tables must not change before this is
    /// done; also returns the end of an answer, which may be another asker's.
    pub fn copy(&mut self, id: AskerId, from: Copyable<'_>, rows: u64) -> (Copied, Option<Reply>) {
        match self.try_copy(id, from, rows) {
            Err(failure) => (Copied::Done, self.fail(id, failure)),
            Ok(Copied::Done) => {
                self.copying = None;
                self.queue(id);
                (Copied::Done, self.weigh(id))
            }
            Ok(required @ Copied::Requires { .. }) => (required, None),
            Ok(Copied::More) => {
                let reply = self.weigh(id);
                let is_over = self.copying != Some(id);
                (if is_over { Copied::Done } else { Copied::More }, reply)
            }
        }
    }

    fn try_copy(
        &mut self,
        id: AskerId,
        (node, foreign): Copyable<'_>,
        rows: u64,
    ) -> Result<Copied, Failure> {
        if self.copying != Some(id) {
            return Ok(Copied::Done);
        }
        let limits = self.limits;
        let Some(question) = self.askers.get_mut(&id).and_then(|asker| asker.questions.front_mut())
        else {
            return Ok(Copied::Done);
        };
        if let Part::Text(text) = &question.part {
            let evaluation = match foreign {
                Some(rows) => Evaluation::of_rows(node, text.trim(), &rows),
                None => Evaluation::new(node.into(), text, limits)?,
            };
            self.counters.evaluated += 1;
            let (tables, record) = (evaluation.system_tables(), evaluation.reads_record());
            question.part = Part::Copy(Box::new(evaluation));
            if record || !tables.is_empty() {
                let tables = tables.iter().map(|table| table.name).collect();
                return Ok(Copied::Requires { tables, record });
            }
        }
        let Part::Copy(mut evaluation) = question.part.take() else { return Ok(Copied::Done) };
        let is_whole = evaluation.copy(node.into(), rows)?;
        question.part = if is_whole { Part::Evaluate(evaluation) } else { Part::Copy(evaluation) };
        Ok(if is_whole { Copied::Done } else { Copied::More })
    }

    /// Notes time that was spent on the question of an asker.
    pub fn spent(&mut self, id: AskerId, ns: u64) {
        if let Some(question) = self.question(id) {
            question.spent_ns += ns;
        }
    }

    /// The question whose tables are being copied.
    pub fn copying(&self) -> Option<(AskerId, QueriedNode)> {
        let id = self.copying?;
        Some((id, self.askers.get(&id)?.questions.front()?.asked))
    }

    /// Gives up the copy under way, whose node has ended.
    pub fn give_up_copy(&mut self, id: AskerId) -> Option<Reply> {
        if self.copying != Some(id) {
            return None;
        }
        Some(self.end(id, End::refusal(Status::Unavailable, "the node has ended")))
    }

    /// True if a question can go on by [`Desk::work`].
    pub fn has_work(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Evaluates the question of the asker whose turn it is for about `steps` steps. `clock` gives
    /// the time in nanoseconds, before and after.
    pub fn work(&mut self, steps: u64, clock: &mut dyn FnMut() -> u64) -> Option<Reply> {
        let id = self.ring.pop_front()?;
        let asker = self.askers.get_mut(&id)?;
        asker.is_queued = false;
        if asker.is_paused {
            return None;
        }
        let limits = self.limits;
        let question = asker.questions.front_mut()?;
        let began = clock();
        let went = question.go_on(steps);
        question.spent_ns += clock().saturating_sub(began);
        let seconds = limits.time_ns / 1_000_000_000;
        let late = question.spent_ns > limits.time_ns;
        let reply = match went {
            Err(failure) => self.fail(id, failure),
            Ok(_) if late && matches!(question.part, Part::Evaluate(_)) => {
                let reason = format!("work on the query takes more than {seconds} s");
                self.fail(id, Failure::Limit(reason))
            }
            Ok(Went::On) => self.weigh(id),
            Ok(Went::Part(message)) => Some(Reply { asker: id, message }),
            Ok(Went::Whole(name)) => {
                Some(self.end(id, End { status: Status::Done, name, reason: String::new() }))
            }
        };
        self.queue(id);
        reply
    }

    fn question(&mut self, id: AskerId) -> Option<&mut Question> {
        self.askers.get_mut(&id)?.questions.front_mut()
    }

    /// Updates the memory that a question takes; if all take too much, ends the largest.
    fn weigh(&mut self, id: AskerId) -> Option<Reply> {
        let asker = self.askers.get_mut(&id)?;
        asker.bytes = asker.questions.front().map_or(0, Question::bytes);
        let all: usize = self.askers.values().map(|asker| asker.bytes).sum();
        if all <= self.bytes_max {
            return None;
        }
        let largest = self.askers.iter().max_by_key(|(_, asker)| asker.bytes)?;
        let (largest, most) = (*largest.0, self.bytes_max);
        let reason = format!("the queries of all askers take over {most} bytes, and this one most");
        self.fail(largest, Failure::Limit(reason))
    }

    fn fail(&mut self, id: AskerId, failure: Failure) -> Option<Reply> {
        let (status, reason) = match failure {
            Failure::Wrong(reason) => (Status::Wrong, reason),
            Failure::Limit(reason) => (Status::Limit, reason),
        };
        match status {
            Status::Limit => self.counters.limited += 1,
            _ => self.counters.failed += 1,
        }
        Some(self.end(id, End::refusal(status, reason)))
    }

    /// Ends an asker's first question; the next one may begin.
    fn end(&mut self, id: AskerId, end: End) -> Reply {
        if self.copying == Some(id) {
            self.copying = None;
        }
        let mut question_id = 0;
        if let Some(asker) = self.askers.get_mut(&id) {
            question_id = asker.questions.pop_front().map_or(0, |question| question.id);
            asker.bytes = 0;
            if !asker.questions.is_empty() {
                self.to_copy.push_back(id);
            }
        }
        Reply { asker: id, message: control::end(question_id, &end) }
    }
}

/// The result of a slice.
enum Went {
    On,
    /// A part of the answer.
    Part(Vec<u8>),
    /// All parts are made; the answer's name.
    Whole(String),
}

impl Question {
    fn go_on(&mut self, steps: u64) -> Result<Went, Failure> {
        match self.part.take() {
            Part::Evaluate(mut evaluation) => {
                self.part = if evaluation.go_on(steps)? {
                    let bytes = evaluation.bytes();
                    Part::Send { answer: evaluation.into_answer(), row: 0, bytes }
                } else {
                    Part::Evaluate(evaluation)
                };
                Ok(Went::On)
            }
            Part::Send { answer, mut row, bytes } => {
                let mut message = control::part(self.id);
                let empty = message.len();
                while let Some(columns) = answer.row(row)
                    && message.len() < PART_BYTES
                {
                    let before = message.len();
                    if !control::row_fits(columns.iter()) {
                        let reason = "a row of the answer nests too deep to be sent";
                        return Err(Failure::wrong(reason));
                    }
                    control::append_row(&mut message, columns.iter());
                    if message.len() - before > ROW_BYTES_MAX {
                        let reason = format!("a row of the answer has over {ROW_BYTES_MAX} bytes");
                        return Err(Failure::Limit(reason));
                    }
                    row += 1;
                }
                if message.len() == empty {
                    Ok(Went::Whole(answer.name))
                } else {
                    self.part = Part::Send { answer, row, bytes };
                    Ok(Went::Part(message))
                }
            }
            part @ (Part::Text(_) | Part::Copy(_)) => {
                self.part = part;
                Ok(Went::On)
            }
        }
    }
}
