//! The protocols in `tests/explore`, and each mutant of theirs: searches with a reduction find what
//! a full one finds.

use tidemill::error::Error;
use tidemill::explore::{ExploreOptions, ExploreReport, Explorer};
use tidemill::program::{LoadOptions, Program};
use tidemill_diag::Sources;

/// A program, its script, and the number of its nodes.
struct Model {
    text: &'static str,
    script: &'static str,
    nodes: u32,
}

macro_rules! model {
    ($name:literal, $nodes:literal) => {
        Model {
            text: include_str!(concat!("../../../../tests/explore/", $name, ".olg")),
            script: include_str!(concat!("../../../../tests/explore/", $name, ".sim")),
            nodes: $nodes,
        }
    };
}

const MODELS: [Model; 4] =
    [model!("commit", 3), model!("election", 3), model!("ring", 3), model!("mutex", 3)];

/// The inputs of a run: mutants may go on for ever.
const DEPTH: u32 = 9;

impl Model {
    fn program(&self, options: &LoadOptions) -> Program {
        Program::of_text("model.olg", self.text, options)
    }

    /// Searches it; `None` if its script or an option does not fit it.
    fn explored(
        &self,
        options: &LoadOptions,
        change: impl Fn(&mut ExploreOptions),
    ) -> Option<ExploreReport> {
        let mut bounds =
            ExploreOptions { nodes: self.nodes, depth: Some(DEPTH), ..ExploreOptions::default() };
        change(&mut bounds);
        let mut explorer = Explorer::new(self.program(options), bounds).expect("it compiles");
        let mut sources = Sources::new();
        let file = sources.add("model.sim", self.script.to_owned());
        let (script, wrong) = tidemill::script::parse(file, self.script);
        assert!(wrong.is_empty(), "{}", self.script);
        if !explorer.script(&script, &sources).is_empty() {
            return None;
        }
        match explorer.run() {
            Ok(report) => Some(report),
            // No nodes are interchangeable.
            Err(Error::Options(_)) => None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// The inputs of a shortest run that fails.
fn fails_after(report: &ExploreReport) -> Option<usize> {
    report.counterexample.as_ref().map(|failed| failed.outside())
}

#[test]
fn reduced_searches_of_protocols_and_their_mutants_find_what_full_ones_find() {
    let (mut failed, mut well, mut symmetric) = (0, 0, 0);
    for model in &MODELS {
        let original = LoadOptions::default();
        let mutants = model.program(&original).mutants().into_iter();
        let mutants = mutants.map(|(mutant, place)| {
            let name = format!("{place}: {}", mutant.change);
            (LoadOptions { mutant: Some(mutant), ..LoadOptions::default() }, name)
        });
        let compiles = |(it, _): &(LoadOptions, String)| !model.program(it).has_errors();
        for (options, name) in
            [(original, String::new())].into_iter().chain(mutants.filter(compiles))
        {
            let full = model.explored(&options, |bounds| bounds.reduction = false);
            let Some(full) = full else { continue };
            let expected = fails_after(&full);
            let reduced = model.explored(&options, |_| {}).expect("as before");
            assert_eq!(fails_after(&reduced), expected, "{name}");
            assert!(reduced.distinct <= full.distinct || expected.is_some(), "{name}");
            let alike = model.explored(&options, |bounds| bounds.symmetry = true);
            if let Some(alike) = alike {
                assert_eq!(fails_after(&alike), expected, "with symmetry: {name}");
                symmetric += usize::from(alike.distinct < reduced.distinct);
            }
            *if expected.is_some() { &mut failed } else { &mut well } += 1;
        }
    }
    let counts = (failed, well, symmetric);
    assert!(failed > 10 && well > 50 && symmetric > 10, "{counts:?}");
}
