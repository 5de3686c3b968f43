//! Scripts of a simulation: actions on its nodes and network, and expectations.
//!
//! ```text
//! # one action a line; times are seconds of virtual time
//! at T inject NODE event(...)         every T..U step D inject NODE event(...)
//! at T fact NODE p(...)               at T delete NODE p(...)
//! at T crash NODE                     at T restart NODE
//! at T kill NODE component PATH       at T kill NODE app NAME
//! at T partition A,B,.. | C,D,..      at T heal
//! at T partition A,B,.. > C,D,..      what the first send to the others is lost
//! at T loss P                         at T latency A..B[:SHAPE]    milliseconds
//! at T duplicate P                    at T reorder P
//! at T pause NODE D                   at T slow NODE MS
//! at T clock NODE OFFSET [PPM]        seconds ahead, and millionths that it gains
//! at T drop A B ['tuple']             at T duplicate A B [MS] ['tuple']
//! at T delay A B MS ['tuple']         at T deliver A B ['tuple']
//! at T manual                         at T timer NODE RULE
//! at T seed S                         random numbers from another seed
//! at T calm
//! at T expect NODE pattern(...) [count N]
//! at T end
//! nodes N                             seed S
//! ```
//! `NODE` is an address, an index, `*`, or `i in 1..9` with `$i` in the tuple, also inside its
//! texts; ranges include both ends. Tuples are complete, location included; node parameters
//! (`NODE`, `LANDMARK`, ...) have the values of the node, and `_` in a pattern matches any value.
//! `every` takes all actions but `end`.
//!
//! `delete` removes the row with the primary key of the tuple, as a rule does: other columns may be
//! `_`, and if there is no such row nothing happens.
//!
//! An `expect` holds if the table of the node has a row that matches the pattern, or exactly as
//! many as `count` says; with `*`, at every live node. Actions due at one time are performed in the
//! order of the lines, before anything else that happens at that time.
//!
//! [`parse()`] parses the text alone; [`bind`] binds it to the relations of a program and the nodes
//! of a simulation.

mod cue;
mod error;
mod number;
mod parse;
mod print;
mod words;

use std::iter;

use tidemill_diag::Span;
use tidemill_event::{Act, Shape};
use tidemill_relation::text::{Pattern, TextError, parse_pattern};
use tidemill_stdx::sorted::SortedSet;

pub use cue::{Cue, CueAction, Given, bind};
pub use error::NumberError;
pub use number::{latency, latency_of_shape, latency_text, probability};
pub use number::{nodes, seconds, seconds_text, seed, signed_seconds_text};
pub use number::{some_milliseconds, some_seconds};
pub use parse::parse;
pub use print::lines;

/// A parsed script.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// The number of nodes that it is for, if given.
    pub nodes: Option<u32>,
    /// The seed of the run that it is for, if given.
    pub seed: Option<u64>,
    /// The actions in the order of the lines.
    pub actions: Vec<Action>,
}

impl Script {
    /// Whether it ends the run.
    pub fn ends(&self) -> bool {
        self.actions.iter().any(|action| action.what == ActionKind::End)
    }

    /// The time at which it ends the run, if it does.
    pub fn end_ns(&self) -> Option<u64> {
        let ends = self.actions.iter().filter(|action| action.what == ActionKind::End);
        ends.map(|action| action.when.first()).min()
    }

    /// The relations of its tuples.
    pub fn relations(&self) -> SortedSet<String> {
        let given = self.actions.iter().filter_map(|action| match &action.what {
            ActionKind::Put(_, template) => template.text.split('(').next(),
            _ => None,
        });
        given.map(|name| name.trim().to_owned()).collect()
    }
}

/// One line of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// Its time.
    pub when: When,
    /// The action.
    pub what: ActionKind,
    /// The line without indentation and comment.
    pub span: Span,
}

/// The time of an action, in nanoseconds of virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `at T`.
    At(u64),
    /// `every T..U step D`.
    Every {
        /// The first time.
        from: u64,
        /// The last time, if a step meets it.
        to: u64,
        /// The step; not 0.
        step: u64,
    },
}

impl When {
    /// The first time.
    pub fn first(self) -> u64 {
        match self {
            When::At(at) | When::Every { from: at, .. } => at,
        }
    }

    /// All times.
    pub fn times(self) -> impl Iterator<Item = u64> {
        let (from, to, step) = match self {
            When::At(at) => (at, at, 1),
            When::Every { from, to, step } => (from, to, step),
        };
        let next = move |at: &u64| at.checked_add(step).filter(|at| *at <= to);
        iter::successors(Some(from), next)
    }
}

/// An action.
#[derive(Clone, PartialEq, Debug)]
pub enum ActionKind {
    /// `inject` and `fact`: gives nodes a tuple.
    Put(Nodes, Template),
    /// Removes the rows of nodes with the primary key of a tuple.
    Delete(Nodes, Template),
    /// Crashes nodes.
    Crash(Nodes),
    /// Restarts crashed nodes, empty.
    Restart(Nodes),
    /// Makes a component or an app of nodes fail.
    Kill(Nodes, Victim),
    /// Cuts the network into groups that do not reach each other. Nodes in none of them reach all.
    Partition(Vec<Vec<Nodes>>, Direction),
    /// Ends all partitions.
    Heal,
    /// Sets the probability that a datagram is lost.
    Loss(f64),
    /// Sets the probability that a datagram is duplicated.
    Duplicate(f64),
    /// Sets the probability that a datagram is reordered.
    Reorder(f64),
    /// Sets the delay of datagrams, in nanoseconds.
    Latency {
        /// The minimum.
        least: u64,
        /// The maximum.
        most: u64,
        /// The shape of the distribution.
        shape: Shape,
    },
    /// Pauses nodes for some nanoseconds.
    Pause(Nodes, u64),
    /// Makes each turn of nodes take some nanoseconds.
    Slow(Nodes, u64),
    /// Sets the clocks of nodes: offset in nanoseconds, and drift in millionths.
    Clock(Nodes, i64, i64),
    /// Applies a fault to the next datagram between two nodes, or to the next with such a tuple.
    Message {
        /// The fault.
        act: Act,
        /// The sender.
        from: Nodes,
        /// The receiver.
        to: Nodes,
        /// A tuple in it; `_` matches any value.
        tuple: Option<Template>,
    },
    /// Holds datagrams and timers until `deliver` and `timer`.
    Manual,
    /// Fires the timer of a rule.
    Timer(Nodes, String),
    /// Draws random numbers from another seed from now on.
    Seed(u64),
    /// Ends all faults.
    Calm,
    /// Checks the rows of a table.
    Expect {
        /// The nodes.
        nodes: Nodes,
        /// The pattern of a row.
        pattern: Template,
        /// The expected number of matching rows; `None`: one or more.
        count: Option<u64>,
    },
    /// Ends the run.
    End,
}

/// The directions that a partition cuts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Both directions between groups.
    Both,
    /// From earlier groups to later ones.
    Forth,
}

/// The part of a node that fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Victim {
    /// The component of this path, from the entry component down: `Town/house[3]`.
    Component(String),
    /// The app of this name.
    App(String),
}

/// The nodes of an action.
#[derive(Clone, PartialEq, Debug)]
pub struct Nodes {
    /// Their selection.
    pub which: NodeSelection,
    /// The place in the script.
    pub span: Span,
}

/// A selection of nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeSelection {
    /// The node of this address.
    Address(String),
    /// The node of this number.
    Index(u32),
    /// `*`: all nodes.
    All,
    /// `i in A..B`: the nodes of these numbers, each bound to a variable of tuples.
    Range {
        /// The variable, without `$`.
        variable: String,
        /// The first number.
        from: u32,
        /// The last number.
        to: u32,
    },
}

/// A tuple or pattern in which `$i` is replaced by a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// The text.
    pub text: String,
    /// The place in the script.
    pub span: Span,
}

impl Template {
    /// The tuple for node number `index`, which replaces `variable`.
    ///
    /// # Errors
    /// What is wrong with the text; the offset is that in the original text.
    pub fn instance(&self, variable: Option<&str>, index: u32) -> Result<Pattern, TextError> {
        let Some(variable) = variable.filter(|_| self.text.contains('$')) else {
            return parse_pattern(&self.text);
        };
        let text = self.text.replace(&format!("${variable}"), &index.to_string());
        // Offsets after a replaced variable are shifted: point to the first one at most.
        let unmoved = self.text.find('$').unwrap_or(self.text.len());
        parse_pattern(&text)
            .map_err(|error| TextError { offset: error.offset.min(unmoved), ..error })
    }
}
