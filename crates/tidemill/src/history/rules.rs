//! Models that are defined by rules: `step(State, Operation, Argument, Result, Next)`.
//!
//! ```text
//! search ── a state and an operation ──> question ── views of one node ──> answers: results and
//!                                                                          next states
//! ```
//! Answers are kept: the search tries an operation in the same state again and again.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use tidemill_diag::{Diagnostic, Sources, has_errors};
use tidemill_history::{Object, Operation, Value as Plain};
use tidemill_overlog::node::{Event, Identity, Node, Observer, Program as Rules, Sighting};
use tidemill_overlog::parse::parse_files;
use tidemill_overlog::pre::Disk;
use tidemill_overlog::sequential::{ADDRESS, Sequential, compile_sequential};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, SeqBuilder, Value};
use tidemill_stdx::hash::Map;
use tidemill_stdx::keyed::Secret;

use super::plain::plain;
use crate::program::LoadOptions;
use crate::properties::{Moment, next_turn};

/// A model that is defined by rules.
#[derive(Debug)]
pub struct RuleModel {
    name: String,
    rules: Arc<Rules>,
    question: RelationId,
    answer: RelationId,
    start: RelationId,
    /// The operations that may change the state, `None` for any.
    changing: Vec<Option<String>>,
}

impl RuleModel {
    /// Compiles a file; `None` goes with an error.
    pub(super) fn load(
        path: &Path,
        options: &LoadOptions,
        sources: &mut Sources,
    ) -> (Option<RuleModel>, Vec<Diagnostic>) {
        let options = options.rules();
        let (tree, mut found) = parse_files(&[path.to_owned()], &options, &Disk, sources);
        if has_errors(&found) {
            return (None, found);
        }
        let (sequential, more) = compile_sequential(&tree, sources);
        found.extend(more);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Its tuples never travel, so it has no messages that could be wrong.
        let model = sequential.and_then(|sequential| {
            let Sequential { mut compiled, question, answer, start, changing } = sequential;
            compiled.wire.clear();
            let mut rules = Rules::new(compiled).ok()?;
            rules.cross(answer);
            rules.cross(start);
            let rules = Arc::new(rules);
            Some(RuleModel { name, rules, question, answer, start, changing })
        });
        (model, found)
    }

    /// Its name, that of the file.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A result that an operation may have, if it is not any, and the next state.
type Answer = (Option<Plain>, u32);

/// The model as the search asks it about the operations of a history.
pub(super) struct Asked<'m> {
    /// Of each operation: which of the different ones, and its result.
    operations: Vec<(u32, Plain)>,
    asking: RefCell<Asking<'m>>,
}

struct Asking<'m> {
    model: &'m RuleModel,
    node: Node,
    failures: Failures,
    /// Names and arguments that differ.
    kinds: Vec<(String, OwnedValue)>,
    states: Vec<OwnedValue>,
    /// The number of each state, by its text, which is different for different ones.
    numbers: Map<String, u32>,
    answers: Map<(u32, u32), Rc<[Answer]>>,
    /// The question that is in its table.
    asked: Option<SeqBuilder>,
}

/// The first rule that failed, and why.
#[derive(Default)]
struct Failures(Option<String>);

impl Observer for Failures {
    fn sighted(&mut self, _: Sighting<'_>) {}

    fn violated(&mut self, _: Sighting<'_>) {}

    fn rule_failed(&mut self, _: &str, rule: &str, place: &str, reason: &str) {
        self.0.get_or_insert_with(|| format!("{place}: rule {rule} of the model fails: {reason}"));
    }
}

impl<'m> Asked<'m> {
    /// A model, and operations with their arguments as the program has them.
    pub(super) fn new<'h>(
        model: &'m RuleModel,
        history: impl Iterator<Item = (&'h Operation, &'h OwnedValue)>,
    ) -> Asked<'m> {
        let mut kinds = Vec::new();
        let mut numbers: Map<(&str, String), u32> = Map::default();
        let operations = history.map(|(operation, argument)| {
            let key = (operation.name.as_str(), argument.get().to_string());
            let number = *numbers.entry(key).or_insert_with(|| {
                kinds.push((operation.name.clone(), argument.clone()));
                kinds.len() as u32 - 1
            });
            (number, operation.result.clone())
        });
        let operations = operations.collect();
        Asked { operations, asking: RefCell::new(Asking::new(model, kinds)) }
    }

    /// The first rule that failed, and why.
    pub(super) fn failure(self) -> Option<String> {
        self.asking.into_inner().failures.0
    }
}

impl Object for Asked<'_> {
    fn step(&self, state: u32, operation: usize, is_pending: bool, number: u32) -> Option<u32> {
        let (kind, result) = &self.operations[operation];
        let answers = self.asking.borrow_mut().answers(state, *kind);
        let fits = |(answer, _): &&Answer| {
            is_pending || answer.as_ref().is_none_or(|answer| answer == result)
        };
        answers.iter().filter(fits).nth(number as usize).map(|(_, next)| *next)
    }

    fn only_reads(&self, operation: usize) -> bool {
        let asking = self.asking.borrow();
        let (name, _) = &asking.kinds[self.operations[operation].0 as usize];
        let may_change = |it: &Option<String>| it.as_ref().is_none_or(|it| it == name);
        !asking.model.changing.iter().any(may_change)
    }
}

impl<'m> Asking<'m> {
    fn new(model: &'m RuleModel, kinds: Vec<(String, OwnedValue)>) -> Asking<'m> {
        let (address, landmark) = (ADDRESS.to_owned(), ADDRESS.to_owned());
        let identity = Identity { address, index: 0, count: 1, landmark };
        let node = Node::new(model.rules.clone(), identity, 0, Secret::FIXED);
        let mut asking = Asking {
            model,
            node,
            failures: Failures::default(),
            kinds,
            states: Vec::new(),
            numbers: Map::default(),
            answers: Map::default(),
            asked: None,
        };
        let facts = asking.node.facts();
        let mut first = OwnedValue::new(Value::Null);
        for (relation, row) in asking.turn(facts) {
            if relation == model.start {
                first = OwnedValue::new(row.as_seq().get(1).unwrap_or(Value::Null));
            }
        }
        asking.number(first.get());
        asking
    }

    /// The number of a state.
    fn number(&mut self, state: Value<'_>) -> u32 {
        let next = self.states.len() as u32;
        let number = *self.numbers.entry(state.to_string()).or_insert(next);
        if number == next {
            self.states.push(OwnedValue::new(state));
        }
        number
    }

    /// What an operation may do in a state.
    fn answers(&mut self, state: u32, kind: u32) -> Rc<[Answer]> {
        if let Some(known) = self.answers.get(&(state, kind)) {
            return known.clone();
        }
        let (name, argument) = &self.kinds[kind as usize];
        let state_value = &self.states[state as usize];
        let row = SeqBuilder::from_iter([
            Value::Str(ADDRESS),
            Value::Int(self.answers.len() as i64),
            state_value.get(),
            Value::Str(name),
            argument.get(),
        ]);
        let before = self.asked.replace(row.clone());
        let rows = before.map(|before| (self.model.question, true, before));
        let rows = rows.into_iter().chain([(self.model.question, false, row)]).collect();
        let mut answers = Vec::new();
        for (relation, row) in self.turn(vec![Event::Rows { rows }]) {
            let columns: Vec<Value<'_>> = row.as_seq().iter().collect();
            if let ([_, _, Value::Bool(is_any), result, next], true) =
                (&columns[..], relation == self.model.answer)
            {
                answers.push(((!is_any).then(|| plain(*result)), self.number(*next)));
            }
        }
        let answers: Rc<[Answer]> = answers.into();
        self.answers.insert((state, kind), answers.clone());
        answers
    }

    /// The rows that turns of these events insert.
    fn turn(&mut self, events: Vec<Event>) -> Vec<(RelationId, SeqBuilder)> {
        use tidemill_overlog::node::CrossingKind::Delete;
        events.into_iter().for_each(|event| self.node.enqueue(event));
        let mut rows = Vec::new();
        let moment = Moment { now_ns: 0, wall_ns: 0 };
        while let Some(crossings) = next_turn(&mut self.node, moment, &mut self.failures) {
            for (crossing, columns) in crossings.iter() {
                if crossing.kind != Delete {
                    rows.push((crossing.relation, columns.iter().collect()));
                }
            }
        }
        rows
    }
}
