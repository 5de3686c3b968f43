//! Scripts of simulations: parsed, and bound to a program and its nodes.

use std::sync::LazyLock;

use tidemill::program::{LoadOptions, Program};
use tidemill::script::{Cue, bind, parse};
use tidemill_diag::{Diagnostic, Sources};
use tidemill_overlog::node::Identity;
use tidemill_overlog::program::Compiled;

/// The relations used by the scripts of the corpus.
const PROGRAM: &str = "
    materialize(link, infinity, infinity, keys(1, 2)).
    materialize(seen, 10, 100, keys(1, 2)).
    r1 seen(@N, X) :- hello(@N, X).
    r2 hello(@M, X) :- hello(@N, X), link(@N, M).
";

static LOADED: LazyLock<Compiled> = LazyLock::new(|| {
    Program::of_text("p.olg", PROGRAM, &LoadOptions::default()).rules.program.expect("right")
});

/// Panics if parsing or binding `input` does.
pub fn check(input: &[u8]) {
    let mut sources = Sources::default();
    let (_, found) = read(input, &mut sources);
    for diagnostic in &found {
        let text = sources.text(diagnostic.span.file);
        let span = diagnostic.span.start as usize..diagnostic.span.end as usize;
        assert!(text.get(span).is_some(), "{diagnostic:?}");
        assert!(!sources.render(diagnostic).is_empty());
    }
}

/// Whether it is a valid script.
pub fn is_understood(input: &[u8]) -> bool {
    let (cues, found) = read(input, &mut Sources::default());
    !cues.is_empty() && found.is_empty()
}

fn read(input: &[u8], sources: &mut Sources) -> (Vec<Cue>, Vec<Diagnostic>) {
    let text = String::from_utf8_lossy(input);
    let file = sources.add("s.sim", text.clone());
    let (script, mut found) = parse(file, &text);
    let (cues, more) = bind(&script, sources, (&LOADED.plan, &|_| None), &nodes());
    found.extend(more);
    (cues, found)
}

fn nodes() -> Vec<Identity> {
    let identity = |index| Identity {
        address: format!("n{index}:1"),
        index,
        count: 4,
        landmark: "n0:1".to_owned(),
    };
    (0..4).map(identity).collect()
}
