//! Mutated inputs for everything here that reads text.

mod apps;
mod graph;
mod kernel;

use tidemill_stdx::rng::Rng;
use tidemill_support::mutate;

/// The counts of tables.
const TABLES_DO: [&str; 6] =
    ["_inserted", "_deleted", "_expired", "_evicted", "_refused", "drop_slow"];

#[test]
fn drawn_apps_agree_interpreted_and_compiled() {
    let mut random = Rng::new(11);
    let (mut changed, mut cloned, mut written, mut done) = (0, 0, 0, [0; TABLES_DO.len()]);
    let mut ran = 0;
    for _ in 0..200 {
        let input: Vec<u8> = (0..600).map(|_| random.below(256) as u8).collect();
        let Some(one) = apps::run(&input) else { continue };
        ran += 1;
        changed += usize::from(one.kept != one.sent);
        cloned += usize::from(one.kept.len() > one.sent.len());
        written += one.written;
        for (name, count) in one.counts {
            let what = TABLES_DO.iter().position(|what| name.ends_with(what));
            what.into_iter().for_each(|at| done[at] += count);
        }
    }
    assert!(ran > 100, "most programs are short: {ran}");
    assert!(changed > 50 && cloned > 5, "programs change packets: {changed}, {cloned}");
    assert!(written > 100, "tables are written: {written}");
    assert!(done.iter().all(|&count| count > 10), "{TABLES_DO:?}: {done:?}");
}

#[test]
fn mutated_kernels_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/kernel", &[]), 1500, kernel::check);
}

#[test]
fn mutated_graphs_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/graph", &[]), 400, graph::check);
}

/// Seeds that are not understood would make the test above read only the first bytes.
#[test]
fn seeds_are_understood() {
    for (path, bytes) in mutate::seeds("tests/corpora/kernel", &["kernel"]) {
        assert!(kernel::is_understood(&bytes), "{path:?}");
    }
    for (path, bytes) in mutate::seeds("tests/corpora/graph", &["flow"]) {
        assert!(graph::is_understood(&bytes), "{path:?}");
    }
}
