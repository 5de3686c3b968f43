//! Options without effect on the given program: each is a usage error.
//!
//! Every option that does not apply to all kinds of files is declared in [`CONCERNS`].

use tidemill::program::FileKind::{self, Components, Packets, Rules, Schemas};
use tidemill::program::Kinds;

use super::options::{EngineKind, ExplainArgs, Form, RunArgs, SimArgs};
use super::{Sources, TestArgs};

/// Options, and the kinds of files that they apply to.
const CONCERNS: [(&str, &[FileKind]); 55] = [
    ("--listen", &[Rules]),
    ("--nodes", &[Rules, Components, Packets]),
    ("--device", &[Packets]),
    ("--key", &[Rules]),
    ("--token-file", &[Rules]),
    ("--export", &[Rules]),
    ("--fact", &[Rules]),
    ("--inject", &[Rules]),
    ("--fabric", &[Rules]),
    ("--turn-limit", &[Rules]),
    ("--json", &[Rules, Components, Packets]),
    ("--latency", &[Rules, Components]),
    ("--loss", &[Rules, Components]),
    ("--duplicate", &[Rules, Components]),
    ("--reorder", &[Rules, Components]),
    ("--churn", &[Rules, Components, Packets]),
    ("--kill", &[Components, Packets]),
    ("--partition", &[Rules, Components]),
    ("--pause", &[Rules]),
    ("--slow", &[Rules]),
    ("--skew", &[Rules]),
    ("--then", &[Rules, Components]),
    ("--settle", &[Rules]),
    ("--coverage", &[Rules]),
    ("--corpus", &[Rules]),
    ("--script", &[Rules, Components, Packets]),
    ("--linearizable", &[Rules]),
    ("--trace", &[Rules]),
    ("--svg", &[Rules]),
    ("--workers without several --nodes", &[Components, Packets]),
    ("--memory", &[Components]),
    ("--stack", &[Components]),
    ("--root", &[Rules, Components, Packets]),
    ("--png", &[Components]),
    ("--no-checkpoints", &[Components]),
    ("-- ARG", &[Components]),
    ("--busy-wait", &[Packets]),
    ("--clock", &[Packets]),
    ("--perf-map", &[Rules, Components, Packets]),
    ("--engine compiled", &[Rules, Components, Packets]),
    ("--engine dispatch", &[Packets]),
    ("--engine interpret", &[Rules, Components]),
    ("-D", &[Rules, Packets]),
    ("-I", &[Rules, Packets, Schemas]),
    ("--asm", &[Rules, Components, Packets, Schemas]),
    ("--profile", &[Rules]),
    ("--type", &[Schemas]),
    ("--form dot", &[Rules, Components, Packets]),
    ("--form mermaid", &[Rules, Components, Packets]),
    ("--form svg", &[Rules, Components, Packets]),
    ("--address", &[Rules]),
    ("--open", &[Rules]),
    ("--identity", &[Rules]),
    ("--peers", &[Rules]),
    ("--user", &[Rules, Components, Packets]),
];

/// The options of a verb that do not apply to all programs.
pub trait Given {
    /// Those that were given.
    fn given(&self) -> Vec<&'static str>;
}

/// The errors about options without effect on a program of these kinds, a line each.
pub fn unused(verb: &impl Given, kinds: Kinds) -> Vec<String> {
    if kinds == Kinds::default() {
        // Errors in its files are reported when they are read.
        return Vec::new();
    }
    let concerned = |option: &str| CONCERNS.iter().find(|(name, _)| *name == option);
    let concerned = verb.given().into_iter().filter_map(concerned);
    let unused = concerned.filter_map(|(option, concerns)| {
        let concerns: Kinds = concerns.iter().copied().collect();
        let names = (concerns.names(), kinds.names());
        (!concerns.meets(kinds)).then(|| {
            format!(
                "{option} has no effect here: it concerns {}, and the program has {} only",
                names.0, names.1
            )
        })
    });
    unused.collect()
}

impl Given for RunArgs {
    fn given(&self) -> Vec<&'static str> {
        let RunArgs { sources, tuples, keys, engine, .. } = self;
        let own = [
            ("--listen", self.listen.is_some()),
            ("--address", self.address.is_some()),
            ("--open", self.open),
            ("--nodes", self.nodes.is_some()),
            ("--key", keys.key.is_some()),
            ("--identity", keys.identity.is_some()),
            ("--peers", keys.peers.is_some()),
            ("--token-file", self.token_file.is_some()),
            ("--export", !self.export.is_empty()),
            ("--fact", !tuples.fact.is_empty()),
            ("--inject", !tuples.inject.is_empty()),
            ("--fabric", self.fabric.is_some()),
            ("--turn-limit", engine.turn_limit.is_some()),
            ("--json", engine.json),
            ("--profile", engine.profile.is_some()),
            (
                "--workers without several --nodes",
                self.workers.is_some_and(|count| count > 1)
                    && self.nodes.is_none_or(|nodes| nodes < 2),
            ),
            ("--memory", self.memory.is_some()),
            ("--stack", self.stack.is_some()),
            ("--root", self.root.is_some()),
            ("--png", self.png.is_some()),
            ("--no-checkpoints", self.no_checkpoints),
            ("-- ARG", !self.arguments.is_empty()),
            ("--busy-wait", self.busy_wait),
            ("--clock", self.clock.is_some()),
            ("--perf-map", self.perf_map),
            ("--user", self.user.is_some()),
        ];
        chosen(own).chain(sources.given()).chain(engine_given(engine.engine)).collect()
    }
}

impl Given for SimArgs {
    fn given(&self) -> Vec<&'static str> {
        let SimArgs { sources, tuples, engine, .. } = self;
        let network = [
            ("--latency", self.latency.is_some()),
            ("--loss", self.loss > 0.0),
            ("--duplicate", self.duplicate > 0.0),
            ("--reorder", self.reorder > 0.0),
            ("--partition", self.partition.is_some()),
        ];
        // Network options apply to links between nodes.
        let network = chosen(network).filter(|_| !self.devices.has_links());
        let own = [
            ("--nodes", self.nodes.is_some_and(|nodes| nodes > 1)),
            ("--key", self.key.is_some()),
            ("--churn", self.churn.is_some()),
            ("--kill", self.kill.is_some()),
            ("--pause", self.pause.is_some()),
            ("--slow", self.slow.is_some()),
            ("--skew", self.skew.is_some()),
            ("--then", !self.then.is_empty()),
            ("--settle", self.settle.is_some()),
            ("--script", self.script.is_some()),
            ("--device", !self.devices.given.is_empty()),
            ("--linearizable", self.linearizable.is_some()),
            ("--trace", self.trace),
            ("--svg", self.svg.is_some()),
            ("--root", self.root.is_some()),
            ("--fact", !tuples.fact.is_empty()),
            ("--inject", !tuples.inject.is_empty()),
            ("--turn-limit", engine.turn_limit.is_some()),
            ("--profile", engine.profile.is_some()),
        ];
        let own = chosen(own).chain(network);
        own.chain(sources.given()).chain(engine_given(engine.engine)).collect()
    }
}

impl Given for TestArgs {
    fn given(&self) -> Vec<&'static str> {
        let TestArgs { sources, tuples, .. } = self;
        let own = [
            ("--nodes", self.nodes.as_ref().is_some_and(|nodes| *nodes.end() > 1)),
            ("--key", self.key.is_some()),
            ("--settle", self.settle.is_some()),
            ("--script", self.script.is_some()),
            ("--linearizable", self.linearizable.is_some()),
            ("--device", !self.devices.given.is_empty()),
            ("--root", self.root.is_some()),
            ("--fact", !tuples.fact.is_empty()),
            ("--inject", !tuples.inject.is_empty()),
            ("--turn-limit", self.turn_limit.is_some()),
            ("--coverage", self.coverage),
            ("--corpus", self.corpus.is_some()),
            ("--svg", self.svg.is_some()),
        ];
        chosen(own).chain(sources.given()).chain(engine_given(self.engine)).collect()
    }
}

impl Given for ExplainArgs {
    fn given(&self) -> Vec<&'static str> {
        let form = match self.form {
            Form::Text => None,
            Form::Dot => Some("--form dot"),
            Form::Mermaid => Some("--form mermaid"),
            Form::Svg => Some("--form svg"),
        };
        let own =
            [("--asm", self.asm), ("--type", self.message.is_some()), ("--profile", self.profile)];
        chosen(own).chain(form).chain(self.sources.given()).collect()
    }
}

impl Given for Sources {
    fn given(&self) -> Vec<&'static str> {
        chosen([("-D", !self.defines.is_empty()), ("-I", !self.includes.is_empty())]).collect()
    }
}

fn engine_given(engine: Option<EngineKind>) -> Option<&'static str> {
    Some(match engine? {
        EngineKind::Compiled => "--engine compiled",
        EngineKind::Dispatch => "--engine dispatch",
        EngineKind::Interpret => "--engine interpret",
    })
}

fn chosen<const N: usize>(given: [(&'static str, bool); N]) -> impl Iterator<Item = &'static str> {
    given.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(given: &[&'static str], files: &[&str]) -> Vec<String> {
        struct Options<'o>(&'o [&'static str]);
        impl Given for Options<'_> {
            fn given(&self) -> Vec<&'static str> {
                self.0.to_vec()
            }
        }
        unused(&Options(given), Kinds::of(files))
    }

    #[test]
    fn an_option_needs_one_of_its_kinds() {
        let line = "-D has no effect here: it concerns rules and packet graphs, and the program \
                    has components and schemas only";
        assert_eq!(errors(&["-D", "--stack"], &["a.com", "b.proto"]), [line]);
        assert!(errors(&["-D", "--stack"], &["a.com", "b.flow"]).is_empty());
        assert!(errors(&["-D"], &["a.txt"]).is_empty());
    }

    #[test]
    fn all_used_options_are_declared_once() {
        let names: Vec<&str> = CONCERNS.iter().map(|(name, _)| *name).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
    }
}
