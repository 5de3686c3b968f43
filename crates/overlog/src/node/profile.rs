//! The costs of the rules of a program, by names.

use tidemill_relation::cost::Cost;
use tidemill_relation::plan::{On, Plan, RuleId};
use tidemill_relation::view::{ViewPart, ViewWork};
use tidemill_stdx::ordered::OrderedMap;

use super::costs::{Engine, TurnCosts, TurnKind};
use crate::program::Compiled;

/// Costs by their source, of one node or of many.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// The costs.
    pub costs: OrderedMap<Spot, Cost>,
}

/// The source of a cost.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spot {
    /// The trigger of the turn, such as `event ping` or `timer of r1`.
    pub turn: String,
    /// The rules that ran in it.
    pub worker: Worker,
}

/// A part of a program with a cost.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Worker {
    /// A rule.
    Rule {
        /// Its name.
        rule: String,
        /// `file:line:column` of its head.
        place: String,
        /// The strand or the part of the view, such as `on event ping` or `delta of link`.
        part: String,
    },
    /// An operator of a stage.
    Operator(String),
    /// The engine itself.
    Engine(Engine),
}

impl Profile {
    /// Adds another.
    pub fn add(&mut self, other: &Profile) {
        for (spot, cost) in &other.costs {
            *self.costs.entry(spot.clone()).or_default() += *cost;
        }
    }

    /// The costs of each rule, by its name.
    pub fn rules(&self) -> OrderedMap<&str, Cost> {
        let mut rules: OrderedMap<&str, Cost> = OrderedMap::new();
        for (spot, cost) in &self.costs {
            if let Worker::Rule { rule, .. } = &spot.worker {
                *rules.entry(rule.as_str()).or_default() += *cost;
            }
        }
        rules
    }

    pub(super) fn add_turns(&mut self, program: &Compiled, kind: TurnKind, turns: &TurnCosts) {
        let plan = &program.plan;
        let turn = turn_name(plan, kind);
        let mut put = |worker, cost: Cost| {
            *self.costs.entry(Spot { turn: turn.clone(), worker }).or_default() += cost;
        };
        for (&strand, &cost) in &turns.strands {
            put(of_rule(plan, plan.strands[strand as usize].rule, strand_name(plan, strand)), cost);
        }
        for (&part, &cost) in &turns.views {
            let rule = plan.strata[part.stratum as usize].rules[part.rule as usize].rule;
            put(of_rule(plan, rule, view_name(plan, part)), cost);
        }
        for (&stage, &cost) in &turns.stages {
            put(Worker::Operator(program.stages[stage].operator.clone()), cost);
        }
        for (&engine, &cost) in &turns.engine {
            put(Worker::Engine(engine), cost);
        }
    }
}

fn of_rule(plan: &Plan, rule: RuleId, part: String) -> Worker {
    let rule = &plan.rules[rule.index()];
    Worker::Rule { rule: rule.name.clone(), place: rule.place.clone(), part }
}

fn turn_name(plan: &Plan, kind: TurnKind) -> String {
    let name = |relation| &plan.relation(relation).name;
    match kind {
        TurnKind::Insert(relation) if plan.relation(relation).table().is_none() => {
            format!("event {}", name(relation))
        }
        TurnKind::Insert(relation) => format!("insert {}", name(relation)),
        TurnKind::Delete(relation) => format!("delete {}", name(relation)),
        TurnKind::Change(relation) => format!("change {}", name(relation)),
        TurnKind::Timer(timer) => {
            let is_timer = |on: &On| matches!(on, On::Periodic { .. });
            let timers = plan.strands.iter().filter(|strand| is_timer(&strand.trigger.on));
            let rule = timers.map(|strand| strand.rule).nth(timer);
            format!("timer of {}", rule.map_or("a rule", |rule| &plan.rules[rule.index()].name))
        }
        TurnKind::Facts => "facts".to_owned(),
        TurnKind::Expiry => "expiry".to_owned(),
        TurnKind::Release => "release of held rows".to_owned(),
        TurnKind::Resume => "rest of an operator".to_owned(),
        TurnKind::Record => "record".to_owned(),
        TurnKind::Lost => "peer lost".to_owned(),
        TurnKind::Forgotten => "peer restarted".to_owned(),
        TurnKind::Before => "turn under way".to_owned(),
    }
}

fn strand_name(plan: &Plan, strand: u32) -> String {
    let trigger = &plan.strands[strand as usize].trigger;
    let name = &plan.relation(trigger.relation).name;
    match trigger.on {
        On::Event => format!("on event {name}"),
        On::Change => format!("on change of {name}"),
        On::Periodic { .. } => "on timer".to_owned(),
        On::Delta | On::Head | On::Scan => "in a view".to_owned(),
    }
}

fn view_name(plan: &Plan, part: ViewPart) -> String {
    match (part.work, part.atom(plan)) {
        (ViewWork::Delta(_), Some(atom)) => {
            let negated = if atom.negated { "notin " } else { "" };
            format!("delta of {negated}{}", plan.relation(atom.relation).name)
        }
        (ViewWork::Delta(_), None) => "delta".to_owned(),
        (ViewWork::Groups, _) => "groups".to_owned(),
        (ViewWork::Rederive, _) => "derive again".to_owned(),
    }
}
