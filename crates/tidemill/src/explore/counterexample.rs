//! A failing run, in readable form.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tidemill_overlog::global::SIM;
use tidemill_overlog::node::Event;
use tidemill_relation::json::JsonWriter;
use tidemill_relation::plan::{On, RelationId};
use tidemill_relation::text::DisplayTuple;
use tidemill_stdx::hash::Map;

use super::actions::Effect;
use super::cause::sent_in;
use super::events::EventId;
use super::locals::{Failure, LocalId};
use super::search::Walked;
use super::steps::{Step, Steps};
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
    let mut description = Description::default();
    path.iter().for_each(|walked| description.step(steps, walked));
    description.counterexample
}

/// A description of the steps so far.
#[derive(Default)]
struct Description {
    counterexample: Counterexample,
    /// By message: the nodes that sent it.
    senders: Map<MessageId, Vec<u32>>,
    /// The node whose only waiting event has just arrived.
    arrived: Option<u32>,
}

impl Description {
    fn step(&mut self, steps: &mut Steps, walked: &Walked) {
        let Walked { step, before, after, failure } = walked;
        let node = steps.node_of(*step);
        let address = node.map(|node| address_of(steps, node).to_owned()).unwrap_or_default();
        let mut effects = changes(steps, walked);
        for message in sent_in(steps, *step, before, after) {
            self.senders.entry(message).or_default().extend(node);
            let (to, event) = steps.locals.turns.message(message);
            effects.push(format!("sends {} to {}", text(steps, event), address_of(steps, to)));
        }
        if let Some(failure) = failure {
            effects.push(self.fail(steps, failure, &address));
        }
        let line = match step {
            Step::Turn(node) => {
                let inbox = &steps.locals.get(steps.local(before, *node)).inbox;
                let first = inbox.first().copied();
                let is_alone = inbox.len() == 1 && self.arrived == Some(*node);
                self.arrived = None;
                if is_alone && let Some(last) = self.counterexample.moves.last_mut() {
                    last.effects.extend(effects);
                    return;
                }
                turn_line(steps, &address, first, effects.is_empty())
            }
            step => self.line(steps, step, &address),
        };
        if let Step::Deliver(message) | Step::Drop(message) = step
            && let Some(senders) = self.senders.get_mut(message).filter(|all| !all.is_empty())
        {
            senders.remove(0);
        }
        let is_outside = !matches!(step, Step::Turn(_));
        if is_outside {
            self.arrived = node;
        }
        if let Some(text) = line {
            self.counterexample.moves.push(Happened { is_outside, text, effects });
        }
    }

    /// Notes the failure; returns its text.
    fn fail(&mut self, steps: &Steps, failure: &Failure, address: &str) -> String {
        let turns = &steps.locals.turns;
        let (text, node) = match failure {
            Failure::Turn(number) => (turns.failure(*number), address),
            Failure::Property(number) => {
                let properties = turns.properties.as_ref();
                (properties.map_or("", |properties| properties.failure(*number)), SIM)
            }
            Failure::Chain => ("turns that follow from one event do not end", address),
        };
        self.counterexample.failure = text.to_owned();
        self.counterexample.node = node.to_owned();
        text.to_owned()
    }

    /// The line of a step; nothing, if it is a turn of a node, whose line has its effects.
    fn line(&self, steps: &Steps, step: &Step, address: &str) -> Option<String> {
        Some(match step {
            Step::Deliver(message) => {
                let (_, event) = steps.locals.turns.message(*message);
                format!(
                    "{address} receives {} from {}",
                    text(steps, event),
                    self.from(steps, message)
                )
            }
            Step::Duplicate(message) => {
                let (_, event) = steps.locals.turns.message(*message);
                let (tuple, from) = (text(steps, event), self.from(steps, message));
                format!("{address} receives {tuple} from {from}, which will come once more")
            }
            Step::Drop(message) => {
                let (to, event) = steps.locals.turns.message(*message);
                format!("{} to {} is lost", text(steps, event), address_of(steps, to))
            }
            Step::Timer(_, number) => format!("{address}: {}", timer(steps, *number)),
            Step::Script(action) => match &steps.script()[*action as usize].effect {
                Effect::Give(event) => {
                    format!("{address} gets {} from the script", text(steps, *event))
                }
                Effect::Crash => format!("{address} crashes, and starts again, empty"),
            },
            Step::Crash(_) => format!("{address} crashes, and starts again, empty"),
            Step::Turn(_) => return None,
        })
    }

    /// The node that sent a message.
    fn from<'s>(&self, steps: &'s Steps, message: &MessageId) -> &'s str {
        let sender = self.senders.get(message).and_then(|all| all.first()).copied();
        sender.map_or("nowhere", |sender| address_of(steps, sender))
    }
}

fn address_of(steps: &Steps, node: u32) -> &str {
    &steps.locals.turns.identities[node as usize].address
}

/// What a step changes in the tables of its node.
fn changes(steps: &mut Steps, walked: &Walked) -> Vec<String> {
    let Walked { step, before, after, .. } = walked;
    let Some(node) = steps.node_of(*step) else { return Vec::new() };
    let tables = |state: &[u32]| steps.locals.get(steps.local(state, node)).tables;
    let (old, new) = (tables(before), tables(after));
    // The facts are in the source already.
    let begins = matches!(step, Step::Turn(node) if starts(steps, steps.local(before, *node)));
    let runs = !begins && (steps.is_atomic() || matches!(step, Step::Turn(_)));
    if runs && !steps.is_crash(*step) { differences(steps, old, new) } else { Vec::new() }
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
