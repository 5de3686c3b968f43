//! Explains a tuple at a running node from the record of traced rules.
//!
//! ```text
//! [ask] sys::ruleExec, sys::tuple, sys::content, sys::table of a node ──> an account, a tree
//!   ^                                                                          │
//!   └──────────────── nodes that tuples of the tree came from <────────────────┘
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tidemill_overlog::node::{Execution, Named, Receipt};
use tidemill_relation::plan::Rule;
use tidemill_relation::text::{Pattern, parse_pattern};
use tidemill_relation::tuple_id::Naming;
use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::hash::{Map, Set};

use super::account::Account;
use super::tree::Why;
use super::written::{self, WhyError, column_text as text};
use crate::ask::{AskError, Asker, Rows};

/// The maximum number of nodes queried.
pub(super) const NODES_MAX: usize = 32;

/// The explanation by a running system.
#[derive(Debug)]
pub struct WhyAnswer {
    /// Why the tuple is there.
    pub why: Why,
    /// Nodes that have sent tuples and did not answer, with the reason.
    pub silent: Vec<(String, String)>,
}

/// Explains why a tuple, given as text, is at the node of an address. `reach` connects to a node.
/// `_` matches any value: of several recorded tuples that match, the last one is explained.
///
/// # Errors
/// See [`WhyError`].
pub fn why(
    address: &str,
    text: &str,
    timeout: Duration,
    mut reach: impl FnMut(&str) -> Result<Asker, AskError>,
) -> Result<WhyAnswer, WhyError> {
    let pattern = parse_pattern(text).map_err(WhyError::Text)?;
    let mut first = reach(address).map_err(WhyError::Ask)?;
    let rules = written::rules(&mut first, timeout)?;
    // A tuple that is recorded is explained all the same: rules need not mention a watched event.
    let mut unfit = written::check(&rules, &pattern.name, pattern.terms.len()).err();
    let mut or_unfit = |error: WhyError| unfit.take().unwrap_or(error);
    let first = Record::of(first, address, timeout);
    let mut records = vec![first.map_err(|error| or_unfit(WhyError::Ask(error)))?];
    let id = records[0].last(&pattern, address).ok_or_else(|| or_unfit(WhyError::Unknown))?;
    let (mut asked, mut silent) = (Set::default(), Vec::new());
    asked.insert(records[0].node.clone());
    loop {
        let account = account(&records, id);
        let node = account.find_node(&records[0].node);
        let node = node.ok_or_else(|| or_unfit(WhyError::Unknown))?;
        let tuple = account.find_tuple(id).ok_or_else(|| or_unfit(WhyError::Unknown))?;
        let why = Why::new(&account, node, tuple, account.now());
        let strangers = why.strangers().filter(|node| !asked.contains(*node));
        let strangers: Vec<String> = strangers.map(str::to_owned).collect();
        if strangers.is_empty() || asked.len() >= NODES_MAX {
            return Ok(WhyAnswer { why, silent });
        }
        for node in strangers {
            asked.insert(node.clone());
            let found = reach(&node).and_then(|asker| Record::of(asker, &node, timeout));
            match found {
                Ok(record) => records.push(record),
                Err(error) => silent.push((node, error.to_string())),
            }
        }
    }
}

/// The record of a node.
#[derive(Debug)]
struct Record {
    /// The name of the node.
    node: String,
    executions: Rows,
    /// By id, the node that sent the tuple, if it was another.
    sources: Map<i64, String>,
    /// By id, the relation and the columns.
    contents: Map<i64, (String, OwnedValue)>,
    /// The relations that are tables.
    tables: Set<String>,
}

impl Record {
    fn of(mut asker: Asker, address: &str, timeout: Duration) -> Result<Record, AskError> {
        let executions = asker.ask("sys::ruleExec", timeout)?;
        let (mut sources, mut contents) = (Map::default(), Map::default());
        let mut node = executions.rows.first().and_then(|row| text(row, 0));
        for row in asker.ask("sys::tuple", timeout)?.rows {
            let (own, id, source) = (text(&row, 0), int(&row, 1), text(&row, 2));
            if own != source
                && let (Some(id), Some(source)) = (id, source)
            {
                sources.insert(id, source);
            }
            node = node.or(own);
        }
        for mut row in asker.ask("sys::content", timeout)?.rows {
            if let (4, Some(id), Some(name)) = (row.len(), int(&row, 1), text(&row, 2)) {
                contents.extend(row.pop().map(|columns| (id, (name, columns))));
            }
        }
        let tables = asker.ask("sys::table", timeout)?.rows;
        let tables = tables.iter().filter_map(|row| text(row, 1)).collect();
        let node = node.unwrap_or_else(|| address.to_owned());
        Ok(Record { node, executions, sources, contents, tables })
    }

    /// The id of the tuple that matches a pattern; of several the one that was derived last.
    fn last(&self, pattern: &Pattern, address: &str) -> Option<i64> {
        let param = |_| Value::Str(address);
        if let Some(columns) = pattern.bind(param) {
            return Some(Naming::new(&pattern.name).id(columns.iter().map(OwnedValue::get)));
        }
        let has_it = |id: &i64| {
            let tuple = self.named(*id);
            tuple.relation == pattern.name && pattern.matches(&tuple.columns, param)
        };
        let matching: Set<i64> = self.contents.keys().copied().filter(has_it).collect();
        let derived = executions(self).into_iter().rev().map(|it| it.output);
        let received = matching.iter().copied();
        derived.filter(|id| matching.contains(id)).chain(received.max()).next()
    }

    /// Whether a tuple of the record is a row of a table.
    fn is_row(&self, id: i64) -> bool {
        self.contents.get(&id).is_some_and(|(relation, _)| self.tables.contains(relation))
    }

    /// A tuple of the record.
    fn named(&self, id: i64) -> Named<'_> {
        let (relation, columns) = match self.contents.get(&id) {
            Some((name, columns)) => (name.as_str(), columns.get().as_seq()),
            None => ("unknown", None),
        };
        let columns = columns.map(|columns| columns.iter().collect()).unwrap_or_default();
        // Tuples passed between the parts of a rule have no name.
        let is_part = relation.is_empty();
        let is_row = self.is_row(id);
        Named { id, relation, is_part, is_row, holder: None, columns }
    }
}

fn int(row: &[OwnedValue], column: usize) -> Option<i64> {
    row.get(column)?.get().as_int()
}

/// An execution of a rule, for which the table has a row per input.
#[derive(Debug)]
struct Executed<'r> {
    record: &'r Record,
    at_ns: u64,
    rule: Rule,
    output: i64,
    is_remote: bool,
    /// The first one started it.
    inputs: Vec<i64>,
}

impl Executed<'_> {
    /// The record does not mark views; a rule that an event started is none.
    fn may_be_of_view(&self) -> bool {
        let first = self.inputs.first().map(|first| self.record.named(*first));
        first.is_none_or(|first| first.is_row || first.is_part)
    }
}

/// The executions of a node, in the order of time; at one time each follows those that it depends
/// on.
fn executions(record: &Record) -> Vec<Executed<'_>> {
    let mut found: BTreeMap<(i64, String, i64, bool), Vec<i64>> = BTreeMap::new();
    for row in &record.executions.rows {
        let at = row.get(6).map(OwnedValue::get);
        let (Some(rule), Some(Value::Time(at))) = (text(row, 1), at) else { continue };
        let (Some(input), Some(output)) = (int(row, 2), int(row, 3)) else { continue };
        let is_remote = row.get(4).is_some_and(|it| it.get().equal(&Value::Bool(true)));
        let inputs = found.entry((at, rule, output, is_remote)).or_default();
        match text(row, 7).as_deref() {
            Some("EVENT") => inputs.insert(0, input),
            _ => inputs.push(input),
        }
    }
    let executed = |((at, name, output, is_remote), inputs)| {
        let rule = Rule { name, place: String::new() };
        let at_ns = u64::try_from(at).unwrap_or_default();
        Executed { record, at_ns, rule, output, is_remote, inputs }
    };
    let mut waiting: VecDeque<Executed<'_>> = found.into_iter().map(executed).collect();
    let mut ordered = Vec::with_capacity(waiting.len());
    while let Some(first) = waiting.front() {
        let same = waiting.partition_point(|it| it.at_ns <= first.at_ns);
        in_order(waiting.drain(..same).collect(), &mut ordered);
    }
    ordered
}

/// Appends executions of one time, each after one that made each of its inputs: of tuples that are
/// derived in several ways, in a circle too, the first way is one that does not need them.
fn in_order<'r>(mut waiting: Vec<Executed<'r>>, ordered: &mut Vec<Executed<'r>>) {
    let mut there: Set<i64> = Set::default();
    while !waiting.is_empty() {
        let mut made: Map<i64, usize> = Map::default();
        waiting
            .iter()
            .filter(|it| !it.is_remote)
            .for_each(|it| *made.entry(it.output).or_default() += 1);
        let can_go = |it: &Executed<'_>| {
            let is_there = |input: &i64| there.contains(input) || !made.contains_key(input);
            it.inputs.iter().all(|input| *input == it.output || is_there(input))
        };
        let (ready, later): (Vec<_>, Vec<_>) = waiting.drain(..).partition(can_go);
        there.extend(ready.iter().filter(|it| !it.is_remote).map(|it| it.output));
        // A cycle has no order.
        let is_stuck = ready.is_empty();
        ordered.extend(ready);
        if is_stuck { ordered.extend(later) } else { waiting = later }
    }
}

/// Builds the account of these nodes, as an observer of all would have; `root` is at the first.
fn account(records: &[Record], root: i64) -> Account {
    let mut all: Vec<Executed<'_>> = records.iter().flat_map(executions).collect();
    // Stable, so executions of a node keep their order.
    all.sort_by_key(|it| it.at_ns);
    let mut account = Account::default();
    let receive = |account: &mut Account, record: &Record, id: i64| {
        if let Some(sender) = record.sources.get(&id) {
            // The record has no time of receipt.
            let tuple = &record.named(id);
            account.received(Receipt { at_ns: 0, node: &record.node, sender, tuple });
        }
    };
    for it in &all {
        it.inputs.iter().for_each(|input| receive(&mut account, it.record, *input));
        let inputs: Vec<Named<'_>> = it.inputs.iter().map(|id| it.record.named(*id)).collect();
        account.executed(Execution {
            at_ns: it.at_ns,
            // The record has the time of turns.
            turn: it.at_ns,
            is_late: it.may_be_of_view(),
            node: &it.record.node,
            rule: &it.rule,
            output: &it.record.named(it.output),
            is_remote: it.is_remote,
            inputs: &inputs,
        });
    }
    if let Some(first) = records.first() {
        receive(&mut account, first, root);
    }
    account
}

#[cfg(test)]
mod tests {
    use tidemill_relation::SeqBuilder;

    use super::*;

    fn record(node: &str, executions: &[(i64, &str, i64, i64, bool)]) -> Record {
        let row = |&(at, rule, input, output, remote): &(i64, &str, i64, i64, bool)| {
            let columns = [
                Value::Str(node),
                Value::Str(rule),
                Value::Int(input),
                Value::Int(output),
                Value::Bool(remote),
                Value::Time(at),
                Value::Time(at),
                Value::Str("EVENT"),
            ];
            columns.into_iter().map(OwnedValue::new).collect()
        };
        let rows = executions.iter().map(row).collect();
        Record {
            node: node.to_owned(),
            executions: Rows { name: "sys::ruleExec".to_owned(), rows },
            sources: Map::default(),
            contents: Map::default(),
            tables: Set::default(),
        }
    }

    #[test]
    fn what_came_of_another_is_behind_it() {
        let of = |all: &[(i64, &str, i64, i64, bool)]| {
            let record = record("n0:1", all);
            executions(&record).iter().map(|it| it.rule.name.clone()).collect::<Vec<_>>()
        };
        let chain = [(5, "a", 3, 4, false), (5, "b", 2, 3, false), (5, "c", 1, 2, false)];
        assert_eq!(of(&chain), ["c", "b", "a"]);
        assert_eq!(of(&[(6, "a", 1, 2, false), (5, "b", 2, 3, false)]), ["b", "a"]);
        // Cycles terminate.
        assert_eq!(of(&[(5, "a", 1, 2, false), (5, "b", 2, 1, false)]).len(), 2);
    }

    /// Of a path in a circle each edge is a path as well, whatever else it follows from.
    #[test]
    fn a_circle_is_explained_by_what_does_not_need_it() {
        // Edges 1 to 3 make the paths 11 to 13; these make 21 to 23, and those 11 to 13 again.
        let edges = [(5, "e", 1, 11, false), (5, "e", 2, 12, false), (5, "e", 3, 13, false)];
        let longer = [(5, "p", 12, 21, false), (5, "p", 13, 22, false), (5, "p", 11, 23, false)];
        let again = [(5, "q", 22, 11, false), (5, "q", 23, 12, false), (5, "q", 21, 13, false)];
        let record = record("n0:1", &[&again[..], &longer, &edges].concat());
        let order: Vec<_> = executions(&record).iter().map(|it| it.rule.name.clone()).collect();
        assert_eq!(order.concat(), "eeepppqqq");
        let account = account(&[record], 21);
        let (node, tuple) = (account.find_node("n0:1"), account.find_tuple(21));
        let why = Why::new(&account, node.expect("it"), tuple.expect("it"), account.now());
        let lines = why.to_string();
        assert_eq!(lines.matches("by p").count(), 1, "{lines}");
        assert_eq!(lines.matches("by e").count(), 1, "{lines}");
    }

    /// An event came twice: the rule that it started the second time has read the row of the first.
    #[test]
    fn a_row_that_a_rule_has_read_was_there_before_its_turn() {
        let all = [(5000, "a", 10, 1, false), (5000, "b", 1, 2, false), (6000, "a", 11, 1, false)];
        let again = [(6000, "b", 1, 2, false), (6000, "c", 1, 3, false)];
        let mut record = record("n0:1", &[&all[..], &again].concat());
        let mut joined = record.executions.rows[4].clone();
        joined[2] = OwnedValue::new(Value::Int(2));
        joined[7] = OwnedValue::new(Value::Str("PRECOND"));
        record.executions.rows.push(joined);
        for (id, relation) in [(1, "ping"), (2, "seen"), (3, "twice"), (10, "time"), (11, "time")] {
            let columns = OwnedValue::new(Value::Int(id));
            record.contents.insert(id, (relation.to_owned(), columns));
        }
        record.tables.extend(["seen".to_owned(), "twice".to_owned()]);
        let account = account(&[record], 3);
        let (node, tuple) = (account.find_node("n0:1"), account.find_tuple(3));
        let why = Why::new(&account, node.expect("it"), tuple.expect("it"), account.now());
        let lines = why.to_string();
        let seen = lines.lines().find(|line| line.contains("seen(")).unwrap_or_default();
        assert!(seen.ends_with("by b at 0.000005"), "{lines}");
    }

    #[test]
    fn of_tuples_that_match_the_last_derived_is_explained() {
        let all = [(5, "a", 9, 1, false), (7, "a", 9, 2, false), (6, "a", 9, 3, false)];
        let mut record = record("n0:1", &all);
        for (id, at) in [(1, 30), (2, 20), (3, 10), (4, 50)] {
            let relation = if id == 4 { "other" } else { "p" };
            let columns = [Value::Str("n0:1"), Value::Int(at)].map(OwnedValue::new);
            let columns = SeqBuilder::from(&columns[..]);
            let columns = OwnedValue::new(Value::List(columns.as_seq()));
            record.contents.insert(id, (relation.to_owned(), columns));
        }
        let last = |text: &str| record.last(&parse_pattern(text).expect("a pattern"), "n0:1");
        assert_eq!(last("p(_, _)"), Some(2));
        assert_eq!(last("p(NODE, _)"), Some(2));
        assert_eq!(last("p(_, 10)"), Some(3));
        assert_eq!(last("other(_, _)"), Some(4));
        assert_eq!(last("p(_, 50)"), None);
        assert_eq!(last("p(_)"), None);
        // A whole tuple need not be recorded: other nodes may have it.
        assert!(last("p(NODE, 50)").is_some());
    }

    #[test]
    fn what_came_from_another_node_is_followed_there() {
        let mut here = record("n0:1", &[(9, "b", 2, 3, false)]);
        here.sources.insert(2, "n1:1".to_owned());
        let node = here.node.clone();
        let tree = |records: &[Record]| {
            let account = account(records, 3);
            let (node, tuple) = (account.find_node(&node), account.find_tuple(3));
            Why::new(&account, node.expect("it"), tuple.expect("it"), account.now())
        };
        let alone = tree(std::slice::from_ref(&here));
        assert_eq!(alone.strangers().collect::<Vec<_>>(), ["n1:1"]);
        let both = tree(&[here, record("n1:1", &[(7, "a", 1, 2, true)])]);
        assert_eq!(both.strangers().count(), 0);
        let lines = both.to_string();
        assert!(lines.contains("unknown()  from n1:1, by a at 0.000000"), "{lines}");
    }
}
