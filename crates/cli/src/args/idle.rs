//! Options that have nothing to act on in the program given.

use super::options::{EngineKind, ExplainArgs, RunArgs, SimArgs};

/// Verbs some of whose options concern other kinds of programs.
pub trait Idle {
    /// Each option that was given in vain, and why.
    fn idle(&self) -> Vec<(&'static str, &'static str)>;
}

/// The notes about options given in vain, a line each.
pub fn idle(verb: &impl Idle) -> Vec<String> {
    verb.idle().into_iter().map(note).collect()
}

fn note((option, why): (&str, &str)) -> String {
    format!("{option} has no effect here: {why}")
}

const COMPONENTS: &str = "it concerns components, and the program has rules only";
const RULES: &str = "it concerns rules, and the program has components only";
const TEXTS: &str = "it concerns rules and packet graphs, and the program has components only";
const GRAPHS: &str = "it concerns packet graphs, and the program has components only";
const ONE_LOOP: &str = "a run with a seed is on one loop";
const PACKETS: &str = "it concerns packet graphs, and the program has rules only";

impl Idle for RunArgs {
    fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let given = [
            (self.workers.is_some_and(|count| count > 1), "--workers", "rules run on one loop"),
            (self.memory.is_some(), "--memory", COMPONENTS),
            (self.stack.is_some(), "--stack", COMPONENTS),
            (self.root.is_some(), "--root", COMPONENTS),
            (self.png.is_some(), "--png", COMPONENTS),
            (self.busy_wait, "--busy-wait", PACKETS),
            (self.no_checkpoints, "--no-checkpoints", COMPONENTS),
            (self.perf_map, "--perf-map", "rules are interpreted in this version"),
            (!self.arguments.is_empty(), "-- ARG", COMPONENTS),
        ];
        chosen(given).chain(engine(self.engine.engine)).collect()
    }
}

impl Idle for SimArgs {
    fn idle(&self) -> Vec<(&'static str, &'static str)> {
        engine(self.engine.engine).collect()
    }
}

impl Idle for ExplainArgs {
    fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let given = [
            (self.asm, "--asm", "rules are interpreted in this version"),
            (self.message.is_some(), "--type", "it concerns schemas, and the program has rules"),
        ];
        chosen(given).collect()
    }
}

/// The notes about options that have nothing to act on in a program of components, alone or beside
/// a packet graph.
pub fn idle_with_components(args: &RunArgs, has_graph: bool) -> Vec<String> {
    let alone = !has_graph;
    let given = [
        (args.seed.is_some() && args.workers.is_some_and(|count| count > 1), "--workers", ONE_LOOP),
        (args.listen.is_some(), "--listen", RULES),
        (args.nodes.is_some(), "--nodes", RULES),
        (!args.tuples.fact.is_empty(), "--fact", RULES),
        (!args.tuples.inject.is_empty(), "--inject", RULES),
        (alone && !args.sources.defines.is_empty(), "-D", TEXTS),
        (alone && !args.sources.includes.is_empty(), "-I", TEXTS),
        (args.engine.json, "--json", RULES),
        (args.engine.turn_limit.is_some(), "--turn-limit", RULES),
        (alone && args.engine.engine == Some(EngineKind::Dispatch), "--engine dispatch", GRAPHS),
        (alone && args.busy_wait, "--busy-wait", GRAPHS),
    ];
    chosen(given).map(note).collect()
}

/// The same of `sim`.
pub fn idle_sim_with_components(args: &SimArgs) -> Vec<String> {
    let faults = args.loss > 0.0 || args.duplicate > 0.0 || args.reorder > 0.0;
    let given = [
        (args.nodes > 1, "--nodes", RULES),
        (faults, "--loss, --duplicate, --reorder", RULES),
        (args.churn.is_some(), "--churn", RULES),
        (args.script.is_some(), "--script", RULES),
        (args.trace, "--trace", RULES),
        (!args.tuples.fact.is_empty(), "--fact", RULES),
        (!args.tuples.inject.is_empty(), "--inject", RULES),
        (!args.sources.defines.is_empty(), "-D", RULES),
        (!args.sources.includes.is_empty(), "-I", RULES),
        (args.engine.json, "--json", RULES),
        (args.engine.turn_limit.is_some(), "--turn-limit", RULES),
        (args.engine.engine == Some(EngineKind::Dispatch), "--engine dispatch", GRAPHS),
    ];
    chosen(given).map(note).collect()
}

/// The same of `explain`.
pub fn idle_in_components(args: &ExplainArgs) -> Vec<String> {
    let schemas = "it concerns schemas, and the program has components";
    let given = [
        (args.message.is_some(), "--type", schemas),
        (!args.sources.defines.is_empty(), "-D", RULES),
        (!args.sources.includes.is_empty(), "-I", RULES),
    ];
    chosen(given).map(note).collect()
}

fn engine(kind: Option<EngineKind>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let why = "rules are interpreted in this version";
    let idle = kind.is_some_and(|kind| kind != EngineKind::Interpret);
    idle.then_some(("--engine", why)).into_iter()
}

fn chosen<const N: usize>(
    given: [(bool, &'static str, &'static str); N],
) -> impl Iterator<Item = (&'static str, &'static str)> {
    given.into_iter().filter(|given| given.0).map(|(_, option, why)| (option, why))
}
