//! Every run of small programs with properties of all nodes, and of their mutants: with every
//! reduction a search finds the same as a plain search.

mod fingerprint;
mod models;
mod world;

use std::fmt::Write as _;

use tidemill::error::Error;
use tidemill::explore::{ExploreOptions, ExploreReport, Explorer, repeat};
use tidemill::program::{LoadOptions, Program};
use tidemill::sim::{SimOptions, Simulation};
use tidemill_diag::Sources;
use tidemill_overlog::node::Program as Rules;

use world::{Given, Plain, Rows, Searched, Wrong};

/// A program, its inputs, and a forbidden condition, as rules and in Rust.
struct Case {
    rules: &'static str,
    property: &'static str,
    nodes: usize,
    script: &'static [Given],
    wrong: Wrong,
}

/// Whether more than one node has a row.
fn two(rows: Rows<'_>, table: &str) -> bool {
    rows(table).iter().filter(|rows| !rows.is_empty()).count() > 1
}

const CASES: [Case; 8] = [
    // The lamp of one node goes off before that of the other goes on; but a turn may be late.
    Case {
        rules: "materialize(up, infinity, infinity, keys(1)).\n\
                r1 up(@N) :- on(@N).\nr2 delete up(@N) :- off(@N).\n",
        property: "violation(@SIM, A, B) :- up(@A), up(@B), A < B.\n",
        nodes: 2,
        script: &[(0, 0, "on", &[]), (1, 0, "off", &[]), (2, 1, "on", &[])],
        wrong: |rows| two(rows, "up"),
    },
    // A lamp goes off in the turn after the one in which it goes on.
    Case {
        rules: "materialize(up, infinity, infinity, keys(1)).\n\
                r1 up(@N) :- on(@N).\nr2 off(@N) :- up(@N).\nr3 delete up(@N) :- off(@N).\n",
        property: "violation(@SIM, All) :- a_COUNT((), (All), up(@_)), All > 1.\n",
        nodes: 2,
        script: &[(0, 0, "on", &[]), (0, 1, "on", &[])],
        wrong: |rows| two(rows, "up"),
    },
    // A token is passed on.
    Case {
        rules: "materialize(token, infinity, infinity, keys(1)).\ntoken(LANDMARK).\n\
                r1 pass(@M, N) :- go(@N, M), token(@N).\n\
                r2 delete token(@N) :- go(@N, _), token(@N).\nr3 token(@N) :- pass(@N, _).\n",
        property: "violation(@SIM, A, B) :- token(@A), token(@B), A < B.\n",
        nodes: 3,
        script: &[(0, 0, "go", &["n1:1"]), (0, 1, "go", &["n2:1"])],
        wrong: |rows| two(rows, "token"),
    },
    // Two candidates request a third node's only vote.
    Case {
        rules: "materialize(voted, infinity, infinity, keys(1)).\n\
                materialize(leads, infinity, infinity, keys(1)).\n\
                r1 ask(@V, N) :- stand(@N, V).\n\
                r2 choose(@V, C) :- ask(@V, C), notin voted(@V, _).\n\
                r3 voted(@V, C) :- choose(@V, C).\nr4 vote(@C, V) :- choose(@V, C).\n\
                r5 leads(@N) :- vote(@N, _).\n",
        property: "violation(@SIM, A, B) :- leads(@A), leads(@B), A < B.\n",
        nodes: 3,
        script: &[(0, 0, "stand", &["n2:1"]), (0, 1, "stand", &["n2:1"])],
        wrong: |rows| two(rows, "leads"),
    },
    // The sender keeps a thing until the receiver has it.
    Case {
        rules: "materialize(known, infinity, infinity, keys(1, 2)).\n\
                materialize(has, infinity, infinity, keys(1, 2)).\n\
                has(LANDMARK, \"x\").\nknown(LANDMARK, \"x\").\n\
                r1 move(@M, X, N) :- go(@N, M), has(@N, X).\nr2 has(@M, X) :- move(@M, X, _).\n\
                r3 thanks(@N, X) :- move(@M, X, N).\nr4 delete has(@N, X) :- thanks(@N, X).\n",
        property: "violation(@SIM, X) :- known(@_, X), notin has(@_, X).\n",
        nodes: 2,
        script: &[(0, 0, "go", &["n1:1"]), (0, 1, "go", &["n0:1"])],
        wrong: |rows| {
            let (known, has) = (rows("known"), rows("has"));
            let somebody_has = |thing: &String| has.iter().flatten().any(|row| row[1] == *thing);
            known.iter().flatten().any(|row| !somebody_has(&row[1]))
        },
    },
    // The holder returns a lease in time, by its own clock.
    Case {
        rules: "materialize(lease, 2, infinity, keys(1)).\n\
                materialize(holds, 3, infinity, keys(1)).\n\
                r1 grant(@C, L) :- want(@L, C), notin lease(@L, _).\n\
                r2 lease(@L, C) :- want(@L, C), notin lease(@L, _).\n\
                r3 holds(@C) :- grant(@C, _).\n",
        property: "violation(@SIM, A, B) :- holds(@A), holds(@B), A < B.\n",
        nodes: 2,
        script: &[(0, 0, "want", &["n0:1"]), (0, 0, "want", &["n1:1"])],
        wrong: |rows| two(rows, "holds"),
    },
    // The first node asks two others, which are alike, and counts those that agree.
    Case {
        rules: "materialize(member, infinity, infinity, keys(2)).\n\
                materialize(yes, infinity, infinity, keys(2)).\n\
                materialize(all, infinity, infinity, keys(1)).\n\
                materialize(agreed, infinity, infinity, keys(1)).\n\
                member(LANDMARK, \"n1:1\").\nmember(LANDMARK, \"n2:1\").\n\
                r1 ask(@M, N) :- start(@N), member(@N, M).\n\
                r2 agreed(@M) :- ask(@M, _).\nr3 agree(@N, M) :- ask(@M, N).\n\
                r4 yes(@N, M) :- agree(@N, M).\nr5 done(@N) :- agree(@N, M), yes(@N, O), O != M.\n\
                r6 all(@N) :- done(@N).\n",
        property: "violation(@SIM, A, M) :- all(@A), member(@A, M), notin agreed(@M).\n",
        nodes: 3,
        script: &[(0, 0, "start", &[])],
        wrong: |rows| {
            let (all, member, agreed) = (rows("all"), rows("member"), rows("agreed"));
            let has_agreed = |name: &String| agreed.iter().flatten().any(|row| row[0] == *name);
            all.iter().flatten().next().is_some()
                && member.iter().flatten().any(|row| !has_agreed(&row[1]))
        },
    },
    // Three nodes that are alike pass a token to one that the script names, and one is asked first.
    Case {
        rules: "materialize(peer, infinity, infinity, keys(2)).\n\
                materialize(lent, infinity, infinity, keys(1)).\n\
                materialize(borrowed, infinity, infinity, keys(1)).\n\
                r1 want(@M, N) :- go(@N), peer(@N, M), M != N.\n\
                r2 lend(@N, M) :- want(@M, N), notin lent(@M, _).\n\
                r3 lent(@M, N) :- want(@M, N), notin lent(@M, _).\n\
                r4 borrowed(@N, M) :- lend(@N, M).\n\
                peer(NODE, \"n0:1\").\npeer(NODE, \"n1:1\").\npeer(NODE, \"n2:1\").\n",
        property: "violation(@SIM, A, B, M) :- borrowed(@A, M), borrowed(@B, M), A != B.\n",
        nodes: 3,
        script: &[(0, 0, "go", &[]), (0, 1, "go", &[])],
        wrong: |rows| {
            let borrowed = rows("borrowed");
            let lenders = || borrowed.iter().flat_map(|rows| rows.iter().map(|row| &row[1]));
            lenders().any(|one| lenders().filter(|other| *other == one).count() > 1)
        },
    },
];

/// The maximum number of expiries of rows in a run.
const EXPIRIES: u8 = 2;

/// A program, or a mutant of one.
struct Subject<'c> {
    case: &'c Case,
    options: LoadOptions,
    name: String,
}

impl Subject<'_> {
    fn program(&self) -> Program {
        let text = format!("{}g1 {}", self.case.rules, self.case.property);
        Program::of_text("case.olg", &text, &self.options)
    }

    fn script(&self) -> String {
        self.case.script.iter().fold(String::new(), |mut text, (at, node, name, columns)| {
            let columns: String = columns.iter().map(|it| format!(", {it:?}")).collect();
            let _ = writeln!(text, "at {at} inject {node} {name}(NODE{columns})");
            text
        })
    }

    /// Explores it; `None` if its script or an option does not fit it.
    fn explored(&self, crashes: u8, change: &dyn Fn(&mut ExploreOptions)) -> Option<ExploreReport> {
        let nodes = self.case.nodes as u32;
        let mut options =
            ExploreOptions { nodes, crashes, timers: EXPIRIES, ..ExploreOptions::default() };
        change(&mut options);
        let mut explorer = Explorer::new(self.program(), options).expect(&self.name);
        let (mut sources, text) = (Sources::new(), self.script());
        let file = sources.add("case.sim", text.clone());
        let (script, wrong) = tidemill::script::parse(file, &text);
        assert!(wrong.is_empty(), "{text}");
        let fits = explorer.script(&script, &sources).is_empty();
        let run = || match explorer.run() {
            Ok(report) => Some(report),
            // No nodes are interchangeable.
            Err(Error::Options(_)) => None,
            Err(error) => panic!("{error}"),
        };
        fits.then(run).flatten()
    }

    /// Whether a simulation with this script fails.
    fn fails_with(&self, script: &[String]) -> bool {
        let nodes = self.case.nodes as u32;
        let options = SimOptions { nodes, ..SimOptions::default() };
        let simulation = Simulation::new(self.program(), options).expect("it compiles");
        repeat(&simulation, script).expect("it runs").is_some()
    }

    /// The same by a plain search.
    fn searched(&self, crashes: u8, in_order: bool) -> Searched {
        let mut compiled = self.program().rules.program.expect("it compiles");
        compiled.global = None;
        let rules = Rules::new(compiled).expect("it can be run");
        let Case { script, wrong, nodes, .. } = self.case;
        Plain::new(rules, script, *wrong, in_order).search(*nodes, crashes, EXPIRIES)
    }
}

/// A program and its mutants.
fn subjects(case: &Case) -> Vec<Subject<'_>> {
    let original = Subject { case, options: LoadOptions::default(), name: case.rules.to_owned() };
    let mutants = original.program().mutants();
    let mutants = mutants.into_iter().map(|(mutant, place)| {
        let name = format!("{}{}: {}", case.rules, place, mutant.change);
        Subject { case, options: LoadOptions { mutant: Some(mutant), ..Default::default() }, name }
    });
    let mut all = vec![original];
    all.extend(mutants.filter(|mutant| !mutant.program().has_errors()));
    all
}

/// The result of a search, in the form of a plain one.
fn found(report: &ExploreReport) -> Searched {
    let fails_after = report.counterexample.as_ref().map(|failed| failed.outside());
    assert!(fails_after.is_some() || report.is_complete(), "{report}");
    Searched { distinct: if fails_after.is_some() { 0 } else { report.distinct }, fails_after }
}

#[test]
fn searches_find_what_a_plain_one_finds() {
    let (mut failed, mut well) = (0, 0);
    for subject in CASES.iter().flat_map(subjects) {
        for crashes in [0, 1] {
            let name = format!("{} with {crashes} crashes", subject.name);
            let full = subject.explored(crashes, &|options| options.reduction = false);
            let Some(full) = full else { continue };
            let plain = subject.searched(crashes, full.is_ordered);
            assert_eq!(found(&full), plain, "{name}");
            let reduced = subject.explored(crashes, &|_| {}).expect("as before");
            assert_eq!(found(&reduced).fails_after, plain.fails_after, "reduced: {name}");
            assert!(reduced.distinct <= full.distinct || plain.fails_after.is_some(), "{name}");
            for reduction in [false, true] {
                let deep = subject.explored(crashes, &|options| {
                    (options.depth_first, options.reduction) = (true, reduction);
                });
                let deep = deep.expect("as before");
                assert_eq!(deep.is_well(), plain.fails_after.is_none(), "depth first: {name}");
            }
            *if plain.fails_after.is_some() { &mut failed } else { &mut well } += 1;
        }
    }
    assert!(failed > 20 && well > 20, "{failed} failed and {well} did not");
}

/// Nodes that are taken for interchangeable make no difference to the result.
#[test]
fn searches_with_symmetry_find_what_a_full_one_finds() {
    let (mut alike, mut fewer, mut failed) = (0, 0, 0);
    for subject in CASES.iter().flat_map(subjects) {
        for (crashes, reduction, atomic_chains) in
            [(0, false, false), (1, true, false), (1, false, true), (0, true, true)]
        {
            let with = |symmetry, depth_first| {
                subject.explored(crashes, &|options| {
                    (options.reduction, options.atomic_chains) = (reduction, atomic_chains);
                    (options.symmetry, options.depth_first) = (symmetry, depth_first);
                })
            };
            let Some(symmetric) = with(true, false) else { continue };
            let full = with(false, false).expect("as before");
            let name = format!("{} with {crashes} crashes: {symmetric}", subject.name);
            assert_eq!(found(&symmetric).fails_after, found(&full).fails_after, "{name}");
            let deep = with(true, true).expect("as before");
            assert_eq!(deep.is_well(), full.is_well(), "depth first: {name}");
            failed += usize::from(!full.is_well());
            alike += usize::from(symmetric.asymmetry.is_none());
            if full.is_well() {
                assert!(symmetric.distinct <= full.distinct, "{name}");
                fewer += usize::from(symmetric.distinct < full.distinct);
            }
        }
    }
    assert!(alike > 80 && fewer > 40 && failed > 30, "{alike} {fewer} {failed}");
}

/// The number of threads makes no difference.
#[test]
fn searches_by_several_threads_find_what_one_finds() {
    let mut failed = 0;
    for subject in CASES.iter().flat_map(subjects) {
        for (crashes, reduction, symmetry) in
            [(1, true, false), (1, false, false), (1, true, true), (2, false, true)]
        {
            let with = |workers| {
                let report = subject.explored(crashes, &|options| {
                    (options.reduction, options.symmetry) = (reduction, symmetry);
                    options.workers = workers;
                })?;
                let json = report.json();
                let (found, _) = json.split_once(",\"cost\":").expect("the cost is last");
                Some((found.to_owned(), report.to_string(), report.counterexample))
            };
            let one = with(1);
            failed += usize::from(one.as_ref().is_some_and(|(.., failed)| failed.is_some()));
            for workers in [2, 3] {
                assert_eq!(with(workers), one, "{workers} threads: {}", subject.name);
            }
        }
    }
    assert!(failed > 50, "{failed}");
}

/// A failing run, as a script, fails in a simulation, unless a node has to delay a turn.
#[test]
fn a_run_that_fails_can_be_simulated() {
    let (mut atomic, mut others) = ((0, 0), (0, 0));
    for subject in CASES.iter().flat_map(subjects) {
        for (crashes, atomic_chains) in [(0, true), (1, true), (0, false), (1, false)] {
            let report =
                subject.explored(crashes, &|options| options.atomic_chains = atomic_chains);
            let failed = report.and_then(|report| report.counterexample);
            let Some(failed) = failed else { continue };
            let (count, repeated) = if atomic_chains { &mut atomic } else { &mut others };
            *count += 1;
            *repeated += usize::from(subject.fails_with(&failed.script));
        }
    }
    assert!(atomic.0 > 20 && atomic.1 == atomic.0, "{atomic:?}");
    // In others a node may have to delay a turn.
    assert!(others.0 > 20 && others.1 * 5 >= others.0 * 4, "{others:?}");
}

/// Properties are checked between the turns of a node that completes chains at once, too.
#[test]
fn properties_see_each_turn_of_a_chain() {
    let case = |property| Case { property, ..CASES[1] };
    let seen = |property, atomic: bool| {
        let case = case(property);
        let subject = Subject { case: &case, options: LoadOptions::default(), name: String::new() };
        let report = subject.explored(0, &|options| options.atomic_chains = atomic);
        found(&report.expect("it fits")).fails_after
    };
    let lit = "violation(@SIM, A) :- up(@A).\n";
    assert_eq!((seen(lit, true), seen(lit, false)), (Some(1), Some(1)));
    // Two at a time are only possible if messages arrive between turns.
    assert_eq!((seen(CASES[1].property, true), seen(CASES[1].property, false)), (None, Some(2)));
}
