//! Scripts of a simulation: what happens to its nodes and its network, and what must be true.
//!
//! ```text
//! # one action a line; times are seconds of virtual time
//! at T inject NODE event(...)         every T..U step D inject NODE event(...)
//! at T fact NODE p(...)
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
//! at T calm
//! at T expect NODE pattern(...) [count N]
//! at T end
//! nodes N                             seed S
//! ```
//! `NODE` is an address, an index, `*`, or `i in 1..9` with `$i` in the tuple, also inside its
//! texts; ranges include both ends. Tuples are complete, location included; node parameters
//! (`NODE`, `LANDMARK`, ...) stand for those of the node, and `_` in a pattern for any value.
//! `every` takes each of the actions but `end`.
//!
//! An `expect` holds if the table of the node has a row that fits the pattern, or exactly as many
//! as `count` says; with `*`, at every living node. What is due at one time happens in the order
//! of the lines, before anything else that happens at that time.
//!
//! [`parse()`] reads the text alone; [`bind`] joins it with the relations of a program and the
//! nodes of a simulation.

mod cue;
mod number;
mod parse;
mod print;
mod words;

use std::iter;

use tidemill_diag::Span;
use tidemill_event::{Act, Shape};
use tidemill_relation::text::{Pattern, TextError, parse_pattern};
use tidemill_stdx::sorted::SortedSet;

pub use cue::{Cue, Deed, bind};
pub use number::{latency, latency_of_shape, latency_text, probability};
pub use number::{seconds, seconds_text, signed_seconds_text};
pub use parse::parse;
pub use print::lines;

/// A script as it was written.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Script {
    /// How many nodes it is for, if it says so.
    pub nodes: Option<u32>,
    /// The seed of the run that it is for, if it says so.
    pub seed: Option<u64>,
    /// The actions in the order of the lines.
    pub actions: Vec<Action>,
}

impl Script {
    /// Whether it ends the run.
    pub fn ends(&self) -> bool {
        self.actions.iter().any(|action| action.what == What::End)
    }

    /// When it ends the run, if it does.
    pub fn end_ns(&self) -> Option<u64> {
        let ends = self.actions.iter().filter(|action| action.what == What::End);
        ends.map(|action| action.when.first()).min()
    }

    /// The relations of which it gives nodes tuples.
    pub fn relations(&self) -> SortedSet<String> {
        let given = self.actions.iter().filter_map(|action| match &action.what {
            What::Put(_, template) => template.text.split('(').next(),
            _ => None,
        });
        given.map(|name| name.trim().to_owned()).collect()
    }
}

/// One line of a script.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// When it happens.
    pub when: When,
    /// What happens.
    pub what: What,
    /// The line without indentation and comment.
    pub span: Span,
}

/// When an action happens; all in nanoseconds of virtual time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// `at T`.
    At(u64),
    /// `every T..U step D`.
    Every {
        /// The first time.
        from: u64,
        /// The last time, if the steps meet it.
        to: u64,
        /// Between two times; not 0.
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

/// What an action does.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// `inject` and `fact`: gives nodes a tuple.
    Put(Nodes, Template),
    /// Ends nodes without notice.
    Crash(Nodes),
    /// Starts crashed nodes again, empty.
    Restart(Nodes),
    /// Has a component or an app of nodes fail.
    Kill(Nodes, Victim),
    /// Cuts the network into groups that do not hear each other. Nodes in none of them hear all.
    Partition(Vec<Vec<Nodes>>, Direction),
    /// Ends all partitions.
    Heal,
    /// Sets the probability that a datagram is lost.
    Loss(f64),
    /// Sets the probability that a datagram comes twice.
    Duplicate(f64),
    /// Sets the probability that a datagram is overtaken.
    Reorder(f64),
    /// Sets the delay of datagrams, nanoseconds.
    Latency {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
        /// Which are likely.
        shape: Shape,
    },
    /// Has nodes do nothing for so many nanoseconds.
    Pause(Nodes, u64),
    /// Has each turn of nodes take so many nanoseconds.
    Slow(Nodes, u64),
    /// Sets the clocks of nodes: nanoseconds ahead, and millionths that they gain.
    Clock(Nodes, i64, i64),
    /// Does something to the next datagram between two nodes, or to the next with such a tuple.
    Message {
        /// What.
        act: Act,
        /// From one node.
        from: Nodes,
        /// To another.
        to: Nodes,
        /// A tuple in it; `_` stands for any value.
        tuple: Option<Template>,
    },
    /// From now on datagrams and timers wait for `deliver` and `timer`.
    Manual,
    /// Fires the timer of a rule.
    Timer(Nodes, String),
    /// Ends all faults.
    Calm,
    /// Checks what a table holds.
    Expect {
        /// Where.
        nodes: Nodes,
        /// What a row looks like.
        pattern: Template,
        /// How many rows must fit; `None`: one or more.
        count: Option<u64>,
    },
    /// Ends the run.
    End,
}

/// Who does not hear whom in a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Groups do not hear each other.
    Both,
    /// Later groups do not hear earlier ones.
    Forth,
}

/// What of a node is killed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Victim {
    /// The component of this path, from the entry component down: `Town/house[3]`.
    Component(String),
    /// The app of this name.
    App(String),
}

/// Which nodes an action is for.
#[derive(Clone, PartialEq, Debug)]
pub struct Nodes {
    /// Which.
    pub which: Which,
    /// Where it was written.
    pub span: Span,
}

/// The ways to name nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The node of this address.
    Address(String),
    /// The node of this number.
    Index(u32),
    /// `*`: all.
    All,
    /// `i in A..B`: those with these numbers, each bound to a variable of tuples.
    Range {
        /// The variable, without `$`.
        variable: String,
        /// The first number.
        from: u32,
        /// The last number.
        to: u32,
    },
}

/// A tuple or pattern in which `$i` stands for a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// The text.
    pub text: String,
    /// Where it was written.
    pub span: Span,
}

impl Template {
    /// The tuple for node number `index`, whose number `variable` stands for.
    ///
    /// # Errors
    /// What is wrong with the text; the offset counts in the text as it was written.
    pub fn instance(&self, variable: Option<&str>, index: u32) -> Result<Pattern, TextError> {
        let Some(variable) = variable.filter(|_| self.text.contains('$')) else {
            return parse_pattern(&self.text);
        };
        let text = self.text.replace(&format!("${variable}"), &index.to_string());
        // Places after a replaced variable are moved: point to the first one at most.
        let unmoved = self.text.find('$').unwrap_or(self.text.len());
        parse_pattern(&text)
            .map_err(|error| TextError { offset: error.offset.min(unmoved), ..error })
    }
}
