//! A failing run, in readable form.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tidemill_overlog::global::SIM;
use tidemill_overlog::node::Event;
use tidemill_relation::json::JsonWriter;
use tidemill_relation::plan::{On, RelationId};
use tidemill_relation::text::DisplayTuple;
use tidemill_stdx::hash::Map;

use super::cause::sent_in;
use super::events::EventId;
use super::locals::{Failure, LocalId};
use super::search::Walked;
use super::steps::{Effect, Step, Steps};
use super::turns::{MessageId, TablesId};

/// A failing run: the inputs of its nodes, and their effects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counterexample {
    /// The violation: its tuple and rule.
    pub failure: String,
    /// The node that found it; `SIM` for a property of all nodes.
    pub node: String,
    /// The steps, in order.
    pub moves: Vec<Happened>,
    /// The lines of a script that repeats the run in a simulation, as far as possible: simulated
    /// nodes run turns as soon as they can, and the tuples that a turn sends to one node arrive
    /// together.
    pub script: Vec<String>,
}

/// A step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Happened {
    /// It is an input: a message, a timer, an action of the script, or a fault. Other steps are
    /// turns.
    pub is_outside: bool,
    /// A description of the step.
    pub text: String,
    /// Its effects on the node: inserted and deleted rows, sent messages.
    pub effects: Vec<String>,
}

impl Counterexample {
    /// The number of inputs.
    pub fn outside(&self) -> usize {
        self.moves.iter().filter(|moved| moved.is_outside).count()
    }

    /// The object `{"counterexample":{...}}`.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            json.key("counterexample").object(|json| {
                json.key("failure").string(&self.failure);
                json.key("node").string(&self.node);
                json.key("steps").array(|json| {
                    for Happened { is_outside, text, effects } in &self.moves {
                        json.object(|json| {
                            json.key("outside").bool(*is_outside);
                            json.key("text").string(text);
                            json.key("effects")
                                .array(|json| effects.iter().for_each(|it| json.string(it)));
                        });
                    }
                });
            });
        });
        json.finish()
    }
}

/// As lines; inputs are numbered.
impl std::fmt::Display for Counterexample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counterexample { failure, node, moves, .. } = self;
        write!(f, "{failure} at {node}, in a run of {} steps:", self.outside())?;
        let mut number = 0;
        for Happened { is_outside, text, effects } in moves {
            match is_outside {
                true => {
                    number += 1;
                    write!(f, "\n{number:>3}. {text}")?;
                }
                false => write!(f, "\n     {text}")?,
            }
            for effect in effects {
                write!(f, "\n       {effect}")?;
            }
        }
        Ok(())
    }
}

/// Describes a path.
pub(super) fn describe(steps: &mut Steps, path: &[Walked]) -> Counterexample {
    let mut counterexample = Counterexample::default();
    let mut senders: Map<MessageId, Vec<u32>> = Map::default();
    // The node whose only waiting event has just arrived.
    let mut arrived: Option<u32> = None;
    for walked in path {
        let Walked { step, before, after, failure } = walked;
        let node = steps.node_of(*step);
        let address = node.map(|node| steps.locals.turns.identities[node as usize].address.clone());
        let address = address.unwrap_or_default();
        let tables = |steps: &Steps, state: &[u32]| {
            node.map(|node| steps.locals.get(steps.local(state, node)).tables)
        };
        let (old, new) = (tables(steps, before), tables(steps, after));
        let mut effects = Vec::new();
        // The facts are in the source already.
        let begins = matches!(step, Step::Turn(node) if starts(steps, steps.local(before, *node)));
        let runs = !begins && (steps.is_atomic() || matches!(step, Step::Turn(_)));
        if runs
            && let (Some(old), Some(new)) = (old, new)
            && !steps.is_crash(*step)
        {
            effects = differences(steps, old, new);
        }
        for message in sent_in(steps, *step, before, after) {
            senders.entry(message).or_default().extend(node);
            let (to, event) = steps.locals.turns.message(message);
            let to = &steps.locals.turns.identities[to as usize].address;
            effects.push(format!("sends {} to {to}", text(steps, event)));
        }
        if let Some(failure) = failure {
            counterexample.failure = match failure {
                Failure::Turn(number) => steps.locals.turns.failure(*number).to_owned(),
                Failure::Property(number) => {
                    let properties = steps.locals.turns.properties.as_ref();
                    properties.map_or("", |properties| properties.failure(*number)).to_owned()
                }
                Failure::Chain => "turns that follow from one event do not end".to_owned(),
            };
            counterexample.node = match failure {
                Failure::Property(_) => SIM.to_owned(),
                Failure::Turn(_) | Failure::Chain => address.clone(),
            };
            effects.push(counterexample.failure.clone());
        }
        let from = |message: &MessageId| {
            let sender = senders.get(message).and_then(|all| all.first()).copied();
            let sender =
                sender.map(|it| steps.locals.turns.identities[it as usize].address.as_str());
            sender.unwrap_or("nowhere").to_owned()
        };
        let line = match step {
            Step::Turn(node) => {
                let inbox = &steps.locals.get(steps.local(before, *node)).inbox;
                let first = inbox.first().copied();
                let is_alone = inbox.len() == 1 && arrived == Some(*node);
                arrived = None;
                if is_alone && let Some(last) = counterexample.moves.last_mut() {
                    last.effects.extend(effects);
                    continue;
                }
                turn_line(steps, &address, first, effects.is_empty())
            }
            Step::Deliver(message) => {
                let (_, event) = steps.locals.turns.message(*message);
                Some(format!("{address} receives {} from {}", text(steps, event), from(message)))
            }
            Step::Duplicate(message) => {
                let (_, event) = steps.locals.turns.message(*message);
                let (tuple, from) = (text(steps, event), from(message));
                Some(format!("{address} receives {tuple} from {from}, which will come once more"))
            }
            Step::Drop(message) => {
                let (to, event) = steps.locals.turns.message(*message);
                let to = &steps.locals.turns.identities[to as usize].address;
                Some(format!("{} to {to} is lost", text(steps, event)))
            }
            Step::Timer(_, number) => Some(format!("{address}: {}", timer(steps, *number))),
            Step::Script(action) => Some(match &steps.script()[*action as usize].effect {
                Effect::Give(event) => {
                    format!("{address} gets {} from the script", text(steps, *event))
                }
                Effect::Crash => format!("{address} crashes, and starts again, empty"),
            }),
            Step::Crash(_) => Some(format!("{address} crashes, and starts again, empty")),
        };
        if let Step::Deliver(message) | Step::Drop(message) = step
            && let Some(senders) = senders.get_mut(message).filter(|all| !all.is_empty())
        {
            senders.remove(0);
        }
        if !matches!(step, Step::Turn(_)) {
            arrived = node;
        }
        if let Some(text) = line {
            let is_outside = !matches!(step, Step::Turn(_));
            counterexample.moves.push(Happened { is_outside, text, effects });
        }
    }
    counterexample
}

/// Whether the first waiting event holds the facts with which a node starts.
fn starts(steps: &Steps, local: LocalId) -> bool {
    let first = steps.locals.get(local).inbox.first();
    first.is_some_and(|first| {
        matches!(steps.locals.turns.events.get(*first).event, Event::Facts { .. })
    })
}

/// The line of a turn; `None` if it has no effect.
fn turn_line(
    steps: &Steps,
    address: &str,
    first: Option<EventId>,
    has_no_effect: bool,
) -> Option<String> {
    let first = first.filter(|_| !has_no_effect)?;
    Some(match &steps.locals.turns.events.get(first).event {
        Event::Facts { .. } => format!("{address} starts:"),
        Event::Change { .. } => format!("{address} goes on with {}:", text(steps, first)),
        _ => format!("{address} runs the turn of {}:", text(steps, first)),
    })
}

fn text(steps: &Steps, event: EventId) -> String {
    let turns = &steps.locals.turns;
    turns.events.text(turns.rules().plan(), event).to_string()
}

/// The description of a timer.
fn timer(steps: &Steps, number: u32) -> String {
    let plan = steps.locals.turns.rules().plan();
    let mut periodics =
        plan.strands.iter().filter(|it| matches!(it.trigger.on, On::Periodic { .. }));
    match periodics.nth(number as usize) {
        Some(strand) => {
            format!("the timer of {} fires", plan.rules[strand.rule.index()].name)
        }
        None => "the time of rows is over".to_owned(),
    }
}

/// The rows inserted and deleted between two states of a node.
fn differences(steps: &mut Steps, old: TablesId, new: TablesId) -> Vec<String> {
    let (old, new) = (rows(steps, old), rows(steps, new));
    let gone = old.difference(&new).map(|row| format!("- {row}"));
    let come = new.difference(&old).map(|row| format!("+ {row}"));
    gone.chain(come).collect()
}

/// The rows of a node's tables as text.
fn rows(steps: &mut Steps, tables: TablesId) -> BTreeSet<String> {
    let node = steps.locals.turns.node(tables);
    let plan = node.program().plan();
    let mut rows = BTreeSet::new();
    for (id, relation) in (0..).map(RelationId).zip(&plan.relations) {
        if !relation.hidden && relation.table().is_some() {
            node.rows(id, |row| {
                let mut text = String::new();
                // Writing to a string cannot fail.
                let _ = write!(text, "{}", DisplayTuple::new(&relation.name, row.iter().copied()));
                rows.insert(text);
            });
        }
    }
    rows
}
