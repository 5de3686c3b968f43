//! Options that have nothing to act on in the program given: each is a usage error.

use super::Sources;
use super::options::{EngineKind, ExplainArgs, Form, RunArgs, SimArgs};

/// Verbs some of whose options concern other kinds of programs than rules.
pub trait Unused {
    /// Each option that has nothing to act on in a program of rules, and why.
    fn unused(&self) -> Vec<(&'static str, &'static str)>;
}

/// The errors about options that have nothing to act on in a program of rules, a line each.
pub fn unused(verb: &impl Unused) -> Vec<String> {
    verb.unused().into_iter().map(note).collect()
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
const IN_GRAPHS: &str = "it concerns rules or components, and these are packet graphs";
const IN_SCHEMAS: &str = "it concerns programs, and these are schemas";

impl Unused for RunArgs {
    fn unused(&self) -> Vec<(&'static str, &'static str)> {
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

impl Unused for SimArgs {
    fn unused(&self) -> Vec<(&'static str, &'static str)> {
        engine(self.engine.engine).collect()
    }
}

impl Unused for ExplainArgs {
    fn unused(&self) -> Vec<(&'static str, &'static str)> {
        let given = [
            (self.asm, "--asm", "rules are interpreted in this version"),
            (self.message.is_some(), "--type", "it concerns schemas, and the program has rules"),
        ];
        chosen(given).collect()
    }
}

/// The same of `run` in a program of components, alone or beside a packet graph.
pub fn unused_with_components(args: &RunArgs, has_graph: bool) -> Vec<String> {
    let alone = !has_graph;
    let given = [
        (args.seed.is_some() && args.workers.is_some_and(|count| count > 1), "--workers", ONE_LOOP),
        (args.listen.is_some(), "--listen", RULES),
        (args.nodes.is_some(), "--nodes", RULES),
        (args.keys.key.is_some(), "--key", RULES),
        (args.token_file.is_some(), "--token-file", RULES),
        (!args.export.is_empty(), "--export", RULES),
        (!args.tuples.fact.is_empty(), "--fact", RULES),
        (!args.tuples.inject.is_empty(), "--inject", RULES),
        (alone && !args.sources.defines.is_empty(), "-D", TEXTS),
        (alone && !args.sources.includes.is_empty(), "-I", TEXTS),
        (args.engine.json, "--json", RULES),
        (args.engine.turn_limit.is_some(), "--turn-limit", RULES),
        (args.fabric.is_some(), "--fabric", RULES),
        (alone && args.engine.engine == Some(EngineKind::Dispatch), "--engine dispatch", GRAPHS),
        (alone && args.busy_wait, "--busy-wait", GRAPHS),
    ];
    chosen(given).map(note).collect()
}

/// The same of `run` in packet graphs.
pub fn unused_in_graphs(args: &RunArgs) -> Vec<String> {
    let interpreted = args.engine.engine == Some(EngineKind::Interpret);
    let given = [
        (args.listen.is_some(), "--listen", IN_GRAPHS),
        (args.nodes.is_some(), "--nodes", IN_GRAPHS),
        (args.keys.key.is_some(), "--key", IN_GRAPHS),
        (args.token_file.is_some(), "--token-file", IN_GRAPHS),
        (!args.export.is_empty(), "--export", IN_GRAPHS),
        (!args.tuples.fact.is_empty(), "--fact", IN_GRAPHS),
        (!args.tuples.inject.is_empty(), "--inject", IN_GRAPHS),
        (args.fabric.is_some(), "--fabric", IN_GRAPHS),
        (args.engine.turn_limit.is_some(), "--turn-limit", IN_GRAPHS),
        (args.workers.is_some_and(|count| count > 1), "--workers", "a packet graph is on one loop"),
        (args.memory.is_some(), "--memory", IN_GRAPHS),
        (args.stack.is_some(), "--stack", IN_GRAPHS),
        (args.root.is_some(), "--root", IN_GRAPHS),
        (args.png.is_some(), "--png", IN_GRAPHS),
        (args.no_checkpoints, "--no-checkpoints", IN_GRAPHS),
        (args.engine.json, "--json", IN_GRAPHS),
        (!args.arguments.is_empty(), "-- ARG", IN_GRAPHS),
        (interpreted, "--engine interpret", "packet graphs are compiled or dispatched"),
    ];
    chosen(given).map(note).collect()
}

/// The same of `sim` in a program of components.
pub fn unused_sim_with_components(args: &SimArgs) -> Vec<String> {
    let faults = args.loss > 0.0 || args.duplicate > 0.0 || args.reorder > 0.0;
    let given = [
        (args.nodes > 1, "--nodes", RULES),
        (args.latency.is_some(), "--latency", RULES),
        (faults, "--loss, --duplicate, --reorder", RULES),
        (args.churn.is_some(), "--churn", RULES),
        (args.script.is_some(), "--script", RULES),
        (args.key.is_some(), "--key", RULES),
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

/// The same of `explain` in a program of components.
pub fn unused_in_components(args: &ExplainArgs) -> Vec<String> {
    let schemas = "it concerns schemas, and the program has components";
    let given = [
        (args.message.is_some(), "--type", schemas),
        (!args.sources.defines.is_empty(), "-D", TEXTS),
        (!args.sources.includes.is_empty(), "-I", TEXTS),
    ];
    chosen(given).map(note).collect()
}

/// The same of `explain` in packet graphs.
pub fn unused_explaining_graphs(args: &ExplainArgs) -> Vec<String> {
    let schemas = "it concerns schemas, and these are packet graphs";
    chosen([(args.message.is_some(), "--type", schemas)]).map(note).collect()
}

/// The same of `explain` in schemas.
pub fn unused_explaining_schemas(args: &ExplainArgs) -> Vec<String> {
    let given = [
        (args.form != Form::Text, "--form", "a schema has no graph"),
        (!args.sources.defines.is_empty(), "-D", IN_SCHEMAS),
    ];
    chosen(given).map(note).collect()
}

/// The same of `check`, where files are of these kinds.
pub fn unused_in_check(sources: &Sources, has_texts: bool, has_schemas: bool) -> Vec<String> {
    let given = [
        (!has_texts && !sources.defines.is_empty(), "-D", "there are no rules and packet graphs"),
        (
            !has_texts && !has_schemas && !sources.includes.is_empty(),
            "-I",
            "there are no rules, packet graphs and schemas",
        ),
    ];
    chosen(given).map(note).collect()
}

fn engine(kind: Option<EngineKind>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let why = "rules are interpreted in this version";
    let unused = kind.is_some_and(|kind| kind != EngineKind::Interpret);
    unused.then_some(("--engine", why)).into_iter()
}

fn chosen<const N: usize>(
    given: [(bool, &'static str, &'static str); N],
) -> impl Iterator<Item = (&'static str, &'static str)> {
    given.into_iter().filter(|given| given.0).map(|(_, option, why)| (option, why))
}
