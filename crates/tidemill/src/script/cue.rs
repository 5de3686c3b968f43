//! Binds scripts to the program and the nodes of a simulation.

use tidemill_diag::{Diagnostic, LineColumn, Sources, Span};
use tidemill_event::{Act, Shape};
use tidemill_overlog::node::Identity;
use tidemill_relation::OwnedValue;
use tidemill_relation::plan::{On, Plan, RelationId, Strand};
use tidemill_relation::text::{Pattern, TextError};
use tidemill_stdx::sorted::SortedMap;

use super::{Action, ActionKind, Direction, NodeSelection, Nodes, Script, Template, Victim, When};
use crate::tuples::{self, Unsuited};

/// A bound action.
#[derive(Clone, PartialEq, Debug)]
pub struct Cue {
    /// Its time.
    pub when: When,
    /// The action.
    pub action: CueAction,
    /// Its place in the script, `FILE:LINE:COLUMN`.
    pub place: String,
}

/// A node, and the columns of a tuple of a relation for it.
pub type Given = (u32, RelationId, Vec<OwnedValue>);

/// A bound action; nodes are numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum CueAction {
    /// Gives nodes a tuple each.
    Put(Vec<Given>),
    /// Removes the rows of nodes with the primary key of a tuple each.
    Delete(Vec<Given>),
    /// Crashes nodes.
    Crash(Vec<u32>),
    /// Restarts nodes.
    Restart(Vec<u32>),
    /// Makes a part of nodes fail.
    Kill(Vec<u32>, Victim),
    /// Cuts the network.
    Partition(Vec<Vec<u32>>, Direction),
    /// Ends all partitions.
    Heal,
    /// Sets the probability of a loss.
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
    Pause(Vec<u32>, u64),
    /// Makes each turn of nodes take some nanoseconds.
    Slow(Vec<u32>, u64),
    /// Sets the clocks of nodes: offset in nanoseconds, and drift in millionths.
    Clock(Vec<u32>, i64, i64),
    /// Applies a fault to a datagram.
    Message {
        /// The fault.
        act: Act,
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
        /// A tuple in it.
        tuple: Option<Pattern>,
    },
    /// Holds datagrams and timers from now on.
    Manual,
    /// Fires the timer of a rule.
    Timer(Vec<u32>, String),
    /// Draws random numbers from another seed from now on.
    Seed(u64),
    /// Ends all faults.
    Calm,
    /// Checks tables.
    Expect {
        /// The nodes, with the pattern for each.
        rows: Vec<(u32, RelationId, Pattern)>,
        /// Skip nodes that are down.
        living: bool,
        /// The expected number of matching rows; `None`: one or more.
        count: Option<u64>,
    },
    /// Ends the run.
    End,
}

impl CueAction {
    /// The list of nodes, if the action does the same to each.
    pub(crate) fn nodes_mut(&mut self) -> Option<&mut Vec<u32>> {
        match self {
            CueAction::Crash(nodes)
            | CueAction::Restart(nodes)
            | CueAction::Kill(nodes, _)
            | CueAction::Pause(nodes, _)
            | CueAction::Slow(nodes, _)
            | CueAction::Clock(nodes, ..)
            | CueAction::Timer(nodes, _) => Some(nodes),
            _ => None,
        }
    }
}

/// Binds a script to a program and its nodes. Reports all that does not fit; `filled` names the
/// relations that something else alone fills.
pub fn bind(
    script: &Script,
    sources: &Sources,
    (plan, filled): (&Plan, &dyn Fn(RelationId) -> Option<String>),
    nodes: &[Identity],
) -> (Vec<Cue>, Vec<Diagnostic>) {
    let binding = Binding { sources, plan, filled, nodes };
    let mut cues = Vec::with_capacity(script.actions.len());
    let mut diagnostics = Vec::new();
    for action in &script.actions {
        match binding.cue(action) {
            Ok(cue) => cues.push(cue),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    (cues, diagnostics)
}

struct Binding<'s> {
    sources: &'s Sources,
    plan: &'s Plan,
    filled: &'s dyn Fn(RelationId) -> Option<String>,
    nodes: &'s [Identity],
}

impl Binding<'_> {
    fn cue(&self, action: &Action) -> Result<Cue, Diagnostic> {
        let bound = match &action.what {
            ActionKind::Put(nodes, tuple) => {
                self.given(nodes, tuple, tuples::bind).map(CueAction::Put)?
            }
            ActionKind::Delete(nodes, tuple) => {
                self.given(nodes, tuple, tuples::bind_deleted).map(CueAction::Delete)?
            }
            ActionKind::Crash(nodes) => CueAction::Crash(self.numbers(nodes)?),
            ActionKind::Restart(nodes) => CueAction::Restart(self.numbers(nodes)?),
            ActionKind::Kill(nodes, victim) => {
                CueAction::Kill(self.numbers(nodes)?, victim.clone())
            }
            ActionKind::Partition(groups, direction) => {
                CueAction::Partition(self.groups(groups)?, *direction)
            }
            ActionKind::Heal => CueAction::Heal,
            ActionKind::Loss(probability) => CueAction::Loss(*probability),
            ActionKind::Duplicate(probability) => CueAction::Duplicate(*probability),
            ActionKind::Reorder(probability) => CueAction::Reorder(*probability),
            ActionKind::Latency { least, most, shape } => {
                CueAction::Latency { least: *least, most: *most, shape: *shape }
            }
            ActionKind::Pause(nodes, ns) => CueAction::Pause(self.numbers(nodes)?, *ns),
            ActionKind::Slow(nodes, ns) => CueAction::Slow(self.numbers(nodes)?, *ns),
            ActionKind::Clock(nodes, offset, drift) => {
                CueAction::Clock(self.numbers(nodes)?, *offset, *drift)
            }
            ActionKind::Message { act, from, to, tuple } => {
                let (from, to) = (self.one(from)?, self.one(to)?);
                let tuple = tuple.as_ref().map(|tuple| self.tuple_of_message(tuple)).transpose()?;
                CueAction::Message { act: *act, from, to, tuple }
            }
            ActionKind::Manual => CueAction::Manual,
            ActionKind::Timer(nodes, rule) => {
                self.check_timer(rule, action.span)?;
                CueAction::Timer(self.numbers(nodes)?, rule.clone())
            }
            ActionKind::Seed(seed) => CueAction::Seed(*seed),
            ActionKind::Calm => CueAction::Calm,
            ActionKind::Expect { nodes, pattern, count } => self.expect(nodes, pattern, *count)?,
            ActionKind::End => CueAction::End,
        };
        let LineColumn { line, column } = self.sources.place(action.span);
        let place = format!("{}:{line}:{column}", self.sources.name(action.span.file));
        Ok(Cue { when: action.when, action: bound, place })
    }

    /// The tuples of nodes that are inserted or deleted, as `bind` fills their columns.
    fn given(
        &self,
        nodes: &Nodes,
        tuple: &Template,
        bind: impl Fn(&Plan, &Pattern, &Identity) -> Result<tuples::Bound, Unsuited>,
    ) -> Result<Vec<Given>, Diagnostic> {
        self.each(nodes, tuple, |node, pattern| {
            let (relation, columns) = bind(self.plan, &pattern, node)?;
            match (self.filled)(relation) {
                Some(name) => Err(Unsuited::System { name }),
                None => Ok((node.index, relation, columns)),
            }
        })
    }

    fn expect(
        &self,
        nodes: &Nodes,
        pattern: &Template,
        count: Option<u64>,
    ) -> Result<CueAction, Diagnostic> {
        let living = nodes.which == NodeSelection::All;
        let rows = self.each(nodes, pattern, |node, pattern| {
            let relation = tuples::relation_of(self.plan, &pattern)?;
            match self.plan.relation(relation).table() {
                Some(_) => Ok((node.index, relation, pattern)),
                None => Err(Unsuited::NoTable { name: pattern.name }),
            }
        })?;
        Ok(CueAction::Expect { rows, living, count })
    }

    /// The numbers of the nodes of each group of a partition; none is in two.
    fn groups(&self, groups: &[Vec<Nodes>]) -> Result<Vec<Vec<u32>>, Diagnostic> {
        let mut known = SortedMap::new();
        let mut found = Vec::with_capacity(groups.len());
        for (number, group) in groups.iter().enumerate() {
            let mut members = Vec::new();
            for nodes in group {
                for node in self.numbers(nodes)? {
                    if *known.entry(node).or_insert(number) != number {
                        let name = &self.nodes[node as usize].address;
                        let message = format!("{name} is in two groups of the partition");
                        return Err(Diagnostic::error("script-partition", nodes.span, message));
                    }
                    members.push(node);
                }
            }
            found.push(members);
        }
        Ok(found)
    }

    /// Checks that a rule has a timer.
    fn check_timer(&self, rule: &str, span: Span) -> Result<(), Diagnostic> {
        let is_timer = |strand: &&Strand| matches!(strand.trigger.on, On::Periodic { .. });
        let timers = self.plan.strands.iter().filter(is_timer);
        let names: Vec<&str> =
            timers.map(|it| self.plan.rules[it.rule.index()].name.as_str()).collect();
        if names.contains(&rule) {
            return Ok(());
        }
        let message = format!("the program has no rule `{rule}` with a `periodic`");
        Err(Diagnostic::error("script-timer", span, message).help(match names.as_slice() {
            [] => "none of its rules has one".to_owned(),
            names => format!("those that have one are {}", names.join(", ")),
        }))
    }

    /// The numbers of the named nodes.
    fn numbers(&self, nodes: &Nodes) -> Result<Vec<u32>, Diagnostic> {
        let known = |&index: &u32| (index as usize) < self.nodes.len();
        let found: Option<Vec<u32>> = match &nodes.which {
            NodeSelection::All => Some((0..).take(self.nodes.len()).collect()),
            NodeSelection::Index(index) => Some(*index).filter(known).map(|index| vec![index]),
            NodeSelection::Range { from, to, .. } => {
                Some(*to).filter(known).map(|to| (*from..=to).collect())
            }
            NodeSelection::Address(address) => {
                let node = self.nodes.iter().find(|node| node.address == *address);
                node.map(|node| vec![node.index])
            }
        };
        found.ok_or_else(|| {
            let last = self.nodes.last().map_or("", |node| node.address.as_str());
            Diagnostic::error("unknown-node", nodes.span, "there is no such node")
                .help(format!("{} nodes run, the last is {last}", self.nodes.len()))
        })
    }

    /// The number of the single named node.
    fn one(&self, nodes: &Nodes) -> Result<u32, Diagnostic> {
        match self.numbers(nodes)?[..] {
            [one] => Ok(one),
            _ => {
                let message = "a message goes from one node to one";
                Err(Diagnostic::error("script-syntax", nodes.span, message))
            }
        }
    }

    /// The tuple that identifies a message.
    fn tuple_of_message(&self, template: &Template) -> Result<Pattern, Diagnostic> {
        let pattern = template.instance(None, 0);
        let pattern = pattern.map_err(|error| error.message).and_then(|pattern| {
            let known = tuples::relation_of(self.plan, &pattern);
            known.map(|_| pattern).map_err(|wrong| wrong.to_string())
        });
        pattern.map_err(|message| Diagnostic::error("script-tuple", template.span, message))
    }

    /// The result of `of` on a template for each of the nodes.
    fn each<T>(
        &self,
        nodes: &Nodes,
        template: &Template,
        of: impl Fn(&Identity, Pattern) -> Result<T, Unsuited>,
    ) -> Result<Vec<T>, Diagnostic> {
        let variable = match &nodes.which {
            NodeSelection::Range { variable, .. } => Some(variable.as_str()),
            _ => None,
        };
        let at = |offset: usize| {
            let start = template.span.start + offset as u32;
            Span { start: start.min(template.span.end), ..template.span }
        };
        let one = |index: u32| {
            let pattern =
                template.instance(variable, index).map_err(|TextError { offset, message }| {
                    Diagnostic::error("script-tuple", at(offset), message)
                })?;
            of(&self.nodes[index as usize], pattern).map_err(|wrong| {
                let found = Diagnostic::error("script-tuple", at(0), wrong.to_string());
                match wrong.help() {
                    Some(help) => found.help(help),
                    None => found,
                }
            })
        };
        self.numbers(nodes)?.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identities::identities;
    use crate::script::parse;

    fn check(text: &str) -> (Vec<Cue>, String) {
        let plan = tidemill_relation::plan::parse(
            "relation p0 \"lookup\" at 0 (string, int64)\n\
             relation p1 \"succ\" at 0 (string, string)\n  table key(0)\n",
        )
        .expect("a plan");
        let nodes: Vec<Identity> = identities(3, None);
        let mut sources = Sources::new();
        let file = sources.add("t.sim", text);
        let (script, errors) = parse(file, text);
        assert!(errors.is_empty(), "{errors:?}");
        let (cues, errors) = bind(&script, &sources, (&plan, &|_| None), &nodes);
        (cues, errors.iter().map(|one| sources.render(one)).collect())
    }

    #[test]
    fn actions_are_bound_to_nodes_and_relations() {
        let (cues, errors) = check(
            "at 1 inject * lookup(NODE, 1)\nat 2 inject i in 1..2 lookup(\"n$i:1\", $i)\n\
             at 3 crash n1:1\nat 4 partition 0 | 1..2\nat 5 expect * succ(NODE, _)\n\
             at 6 delete i in 0..1 succ(\"n$i:1\", _)\n",
        );
        assert_eq!(errors, "");
        let CueAction::Put(tuples) = &cues[0].action else { panic!("tuples") };
        assert_eq!(tuples.len(), 3);
        let CueAction::Put(tuples) = &cues[1].action else { panic!("tuples") };
        let texts: Vec<String> = tuples.iter().map(|tuple| tuple.2[0].to_string()).collect();
        assert_eq!(texts, ["\"n1:1\"", "\"n2:1\""]);
        assert_eq!(cues[2].action, CueAction::Crash(vec![1]));
        let groups = vec![vec![0], vec![1, 2]];
        assert_eq!(cues[3].action, CueAction::Partition(groups, Direction::Both));
        let CueAction::Expect { rows, living: true, .. } = &cues[4].action else { panic!("rows") };
        assert_eq!(rows.len(), 3);
        assert_eq!(cues[4].place, "t.sim:5:1");
        let CueAction::Delete(tuples) = &cues[5].action else { panic!("tuples") };
        let texts: Vec<String> =
            tuples.iter().flat_map(|tuple| &tuple.2).map(OwnedValue::to_string).collect();
        assert_eq!(texts, ["\"n0:1\"", "null", "\"n1:1\"", "null"]);
    }

    #[test]
    fn what_does_not_fit_has_its_place() {
        let cases = [
            ("at 1 crash 3", "t.sim:1:12: error[unknown-node]"),
            ("at 1 crash n9:1", "t.sim:1:12: error[unknown-node]"),
            ("at 1 crash i in 1..3", "t.sim:1:12: error[unknown-node]"),
            (
                "at 1 partition 0,1 | 1..2",
                "t.sim:1:22: error[script-partition]: n1:1 is in two groups",
            ),
            ("at 1 timer 0 t1", "t.sim:1:1: error[script-timer]: the program has no rule `t1`"),
            ("at 1 inject 0 look(NODE, 1)", "t.sim:1:15: error[script-tuple]: the program has no"),
            ("at 1 inject 0 lookup(NODE)", "t.sim:1:15: error[script-tuple]: `lookup` has 2"),
            ("at 1 inject 0 lookup(\"n1:1\", 1)", "t.sim:1:15: error[script-tuple]: the tuple is"),
            ("at 1 drop * 1", "t.sim:1:11: error[script-syntax]: a message goes from one node"),
            ("at 1 drop 0 1 'look(1)'", "t.sim:1:16: error[script-tuple]: the program has no"),
            ("at 1 inject 0 lookup(NODE, _)", "t.sim:1:15: error[script-tuple]: expected a value"),
            ("at 1 delete 0 lookup(NODE, 1)", "t.sim:1:15: error[script-tuple]: `lookup` is an"),
            ("at 1 delete 0 succ(_, \"n1:1\")", "t.sim:1:15: error[script-tuple]: `_` stands for"),
            ("at 1 delete 0 succ(\"n1:1\", 1)", "t.sim:1:15: error[script-tuple]: the tuple is"),
            ("at 1 expect 0 lookup(NODE, _)", "t.sim:1:15: error[script-tuple]: `lookup` is an"),
        ];
        for (line, expected) in cases {
            let (cues, errors) = check(line);
            assert!(errors.starts_with(expected), "{line}\n got {errors}\nwant {expected}");
            assert!(cues.is_empty());
        }
    }
}
