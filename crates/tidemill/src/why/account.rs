//! The record of a run: derivations of tuples from others, and tuples received from other nodes.

use std::fmt::Write as _;

use tidemill_overlog::absent::Rules;
use tidemill_overlog::node::{Execution, Named, Receipt};
use tidemill_overlog::program::Written;
use tidemill_relation::Value;
use tidemill_relation::text::{DisplayTuple, parse_tuple};
use tidemill_stdx::hash::Map;

/// The maximum number of executions kept; beyond it the older half is dropped.
const EXECUTIONS_MAX: usize = 1 << 19;

/// The maximum length of a tuple's text in bytes.
const TEXT_BYTES_MAX: usize = 400;

/// The number of a tuple in an account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct TupleNo(u32);

/// The number of a node in an account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct NodeNo(u32);

/// The record of a run, in order: positions determine what came before what.
#[derive(Debug, Default)]
pub(crate) struct Account {
    nodes: Names,
    tuples: Vec<Tuple>,
    numbers: Map<i64, TupleNo>,
    /// Rules, each with its place.
    rules: Names,
    executions: Vec<Executed>,
    /// Inputs of executions, each with its node.
    inputs: Vec<(NodeNo, TupleNo)>,
    made: Map<(NodeNo, TupleNo), Vec<u32>>,
    /// The last turn of each node.
    turns: Map<NodeNo, Turn>,
    receipts: Map<(NodeNo, TupleNo), Vec<Received>>,
    /// Crashes and restarts of nodes, in order.
    lives: Vec<(NodeNo, u64, Life)>,
    /// Whether older executions have been dropped.
    pub(super) is_cut: bool,
    /// The rules of the program, if they are known.
    written: Rules,
}

/// A change of a node's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// It was restarted.
    Began,
    /// It has crashed.
    Ended,
}

/// A tuple in readable form.
#[derive(Debug)]
pub(super) struct Tuple {
    id: i64,
    pub(super) text: Box<str>,
    /// It is only passed between the parts of a rule.
    pub(super) is_part: bool,
    /// It was produced by a timer.
    pub(super) is_timer: bool,
    /// It is a row of a table.
    pub(super) is_row: bool,
}

/// A turn of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Turn {
    at_ns: u64,
    number: u64,
    /// Its first execution.
    first: u32,
}

impl Turn {
    /// The same turn once the first `gone` executions are dropped.
    fn without(self, gone: u32) -> Turn {
        Turn { first: self.first.saturating_sub(gone), ..self }
    }
}

/// An execution of a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed {
    pub(super) at_ns: u64,
    pub(super) node: NodeNo,
    turn: Turn,
    is_late: bool,
    rule: u32,
    pub(super) output: TupleNo,
    pub(super) is_remote: bool,
    first_input: u32,
    inputs: u32,
}

/// The receipt of a tuple from another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// The number of executions before it.
    pub(super) after: u32,
    /// 0 if unknown.
    pub(super) at_ns: u64,
    pub(super) sender: NodeNo,
}

/// Interned texts.
#[derive(Debug, Default)]
struct Names {
    texts: Vec<Box<str>>,
    numbers: Map<Box<str>, u32>,
}

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }
}

impl Account {
    /// An empty account of a program.
    pub(crate) fn of(written: &[Written]) -> Account {
        Account { written: Rules::read(written).unwrap_or_default(), ..Account::default() }
    }

    /// The rows whose absence an execution required, given its joined tuples.
    pub(super) fn lacked(
        &self,
        executed: &Executed,
        joined: impl Iterator<Item = TupleNo>,
    ) -> Vec<String> {
        let place = self.rule(executed).rsplit_once(" (").map_or("", |(_, place)| place);
        let joined = joined.filter_map(|it| parse_tuple(&self.tuple_of(it).text).ok());
        let joined: Vec<_> = joined.collect();
        self.written.lacked(place.trim_end_matches(')'), &joined)
    }

    /// Records that a rule has derived a tuple.
    pub(crate) fn executed(&mut self, it: Execution<'_>) {
        if self.executions.len() >= EXECUTIONS_MAX {
            self.cut();
        }
        let node = NodeNo(self.nodes.number(it.node));
        let rule = match it.rule.place.as_str() {
            "" => self.rules.number(&it.rule.name),
            place => self.rules.number(&format!("{} ({place})", it.rule.name)),
        };
        let output = self.tuple(it.output);
        let first_input = self.inputs.len() as u32;
        for input in it.inputs {
            let holder = input.holder.map_or(node, |holder| NodeNo(self.nodes.number(holder)));
            let input = (holder, self.tuple(input));
            if !self.inputs[first_input as usize..].contains(&input) {
                self.inputs.push(input);
            }
        }
        let inputs = self.inputs.len() as u32 - first_input;
        let Execution { at_ns, is_late, is_remote, .. } = it;
        let turn = self.turn(node, (at_ns, it.turn));
        self.made.entry((node, output)).or_default().push(self.executions.len() as u32);
        self.executions.push(Executed {
            at_ns,
            node,
            turn,
            is_late,
            rule,
            output,
            is_remote,
            first_input,
            inputs,
        });
    }

    /// The turn of a node in which the next execution is.
    fn turn(&mut self, node: NodeNo, (at_ns, number): (u64, u64)) -> Turn {
        let first = self.executions.len() as u32;
        let turn = self.turns.entry(node).or_insert(Turn { at_ns, number, first });
        if (turn.at_ns, turn.number) != (at_ns, number) {
            *turn = Turn { at_ns, number, first };
        }
        *turn
    }

    /// Records that a tuple was received from another node.
    pub(crate) fn received(&mut self, it: Receipt<'_>) {
        let node = NodeNo(self.nodes.number(it.node));
        let sender = NodeNo(self.nodes.number(it.sender));
        let tuple = self.tuple(it.tuple);
        let received = Received { after: self.executions.len() as u32, at_ns: it.at_ns, sender };
        self.receipts.entry((node, tuple)).or_default().push(received);
    }

    /// Records that a node has crashed or restarted.
    pub(crate) fn lived(&mut self, node: &str, at_ns: u64, life: Life) {
        let node = NodeNo(self.nodes.number(node));
        self.lives.push((node, at_ns, life));
    }

    fn tuple(&mut self, named: &Named<'_>) -> TupleNo {
        if let Some(number) = self.numbers.get(&named.id) {
            return *number;
        }
        let number = TupleNo(self.tuples.len() as u32);
        let is_timer = named.relation == "periodic";
        let text = text(named.relation, &named.columns);
        let Named { id, is_part, is_row, .. } = *named;
        self.tuples.push(Tuple { id, text, is_part, is_timer, is_row });
        self.numbers.insert(id, number);
        number
    }

    /// Drops the older half of the executions, and all that only they refer to.
    fn cut(&mut self) {
        let mut old = std::mem::take(self);
        let first = old.executions.len() / 2;
        self.is_cut = true;
        (self.nodes, self.rules) = (std::mem::take(&mut old.nodes), std::mem::take(&mut old.rules));
        (self.lives, self.written) =
            (std::mem::take(&mut old.lives), std::mem::take(&mut old.written));
        let mut renumbered: Map<TupleNo, TupleNo> = Map::default();
        let mut keep = |account: &mut Account, tuple: TupleNo| {
            *renumbered.entry(tuple).or_insert_with(|| {
                let number = TupleNo(account.tuples.len() as u32);
                let kept = &mut old.tuples[tuple.0 as usize];
                let text = std::mem::take(&mut kept.text);
                account.numbers.insert(kept.id, number);
                account.tuples.push(Tuple { text, ..*kept });
                number
            })
        };
        for it in &old.executions[first..] {
            let output = keep(self, it.output);
            let first_input = self.inputs.len() as u32;
            let inputs = it.first_input as usize..(it.first_input + it.inputs) as usize;
            for input in &old.inputs[inputs] {
                let tuple = keep(self, input.1);
                self.inputs.push((input.0, tuple));
            }
            self.made.entry((it.node, output)).or_default().push(self.executions.len() as u32);
            let turn = it.turn.without(first as u32);
            self.executions.push(Executed { output, first_input, turn, ..*it });
        }
        let turns = old.turns.into_iter();
        self.turns = turns.map(|(node, turn)| (node, turn.without(first as u32))).collect();
        for ((node, tuple), all) in old.receipts {
            let newer = all.into_iter().filter(|it| it.after as usize >= first);
            let newer: Vec<Received> =
                newer.map(|it| Received { after: it.after - first as u32, ..it }).collect();
            if !newer.is_empty() {
                let tuple = keep(self, tuple);
                self.receipts.insert((node, tuple), newer);
            }
        }
    }

    /// The number of executions so far.
    pub(super) fn now(&self) -> u32 {
        self.executions.len() as u32
    }

    pub(super) fn find_node(&self, name: &str) -> Option<NodeNo> {
        self.nodes.numbers.get(name).map(|number| NodeNo(*number))
    }

    pub(super) fn find_tuple(&self, id: i64) -> Option<TupleNo> {
        self.numbers.get(&id).copied()
    }

    pub(super) fn tuple_of(&self, number: TupleNo) -> &Tuple {
        &self.tuples[number.0 as usize]
    }

    pub(super) fn node(&self, number: NodeNo) -> &str {
        &self.nodes.texts[number.0 as usize]
    }

    /// All nodes, ordered by the numbers in their names, then by name.
    pub(super) fn nodes_in_order(&self) -> Vec<NodeNo> {
        let mut nodes: Vec<NodeNo> = (0..self.nodes.texts.len() as u32).map(NodeNo).collect();
        nodes.sort_by_key(|node| (self.node(*node).len(), self.node(*node)));
        nodes
    }

    /// The crashes and restarts of a node, in order.
    pub(super) fn lives(&self, node: NodeNo) -> Vec<(u64, Life)> {
        let of_node = self.lives.iter().filter(|(it, ..)| *it == node);
        of_node.map(|(_, at_ns, life)| (*at_ns, *life)).collect()
    }

    /// The receipts from other nodes, in order.
    pub(super) fn receipts_in_order(&self) -> Vec<(NodeNo, TupleNo, Received)> {
        let all = self.receipts.iter();
        let all = all.flat_map(|((node, tuple), all)| all.iter().map(|it| (*node, *tuple, *it)));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(node, tuple, it)| (it.after, *node, *tuple));
        all
    }

    /// The last execution before another that made a tuple at a node; for the node itself, or for
    /// others.
    ///
    /// Derivations of views are reported at the end of a commit, after their consequences: without
    /// an earlier one, the maker may be a later one of the same turn. No rule of a turn sees what
    /// other rules of that turn derive.
    pub(super) fn maker(&self, at: (NodeNo, TupleNo), before: u32, is_remote: bool) -> Option<u32> {
        let all = self.made.get(&at)?;
        let earlier = all.partition_point(|number| *number < before);
        let (earlier, later) = all.split_at(earlier);
        let fits = |number: &&u32| self.execution(**number).is_remote == is_remote;
        let known = self.executions.get(before as usize).filter(|known| known.is_late);
        let same_turn = |number: &&u32| {
            let it = self.execution(**number);
            known.is_some_and(|known| (known.node, known.turn) == (it.node, it.turn))
        };
        let is_late = |number: &&u32| self.execution(**number).is_late && fits(number);
        let of_turn = || later.iter().take_while(same_turn).find(is_late);
        earlier.iter().rev().find(fits).or_else(of_turn).copied()
    }

    /// The last receipt of a tuple at a node before an execution.
    pub(super) fn receipt(&self, at: (NodeNo, TupleNo), before: u32) -> Option<&Received> {
        self.receipts.get(&at)?.iter().rev().find(|it| it.after <= before)
    }

    pub(super) fn execution(&self, number: u32) -> &Executed {
        &self.executions[number as usize]
    }

    /// The name of a rule, and its place.
    pub(super) fn rule(&self, executed: &Executed) -> &str {
        &self.rules.texts[executed.rule as usize]
    }

    /// The inputs of an execution, each with its node and the execution before which it existed;
    /// the first one started it. Rules see the rows of tables from before their turn; views see
    /// the changes of the turn.
    pub(super) fn inputs(&self, number: u32) -> impl Iterator<Item = (NodeNo, TupleNo, u32)> {
        let it = self.execution(number);
        let before = move |tuple: TupleNo| {
            if self.tuple_of(tuple).is_row && !it.is_late { it.turn.first } else { number }
        };
        let inputs = &self.inputs[it.first_input as usize..(it.first_input + it.inputs) as usize];
        inputs.iter().map(move |&(node, tuple)| (node, tuple, before(tuple)))
    }
}

/// The text of a tuple, truncated.
pub(super) fn text(relation: &str, columns: &[Value<'_>]) -> Box<str> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", DisplayTuple::new(relation, columns.iter().copied()));
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push_str("...");
    }
    text.into()
}
