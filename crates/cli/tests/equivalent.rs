//! The lists of mutants that are judged equivalent to an example, `examples/NAME/equivalent.txt`,
//! name mutants of its program as it is now. `cargo xtask mutate` tests whether they are right.

use std::path::PathBuf;

use tidemill::program::{LoadOptions, Program};
use tidemill::test::{Equivalents, Mutant};

use crate::common::root;

/// The mutants of the program that the script of an example tests.
fn mutants(example: &str) -> Vec<Mutant> {
    let script = root().join(format!("examples/{example}/test.sim"));
    let text = std::fs::read_to_string(script).expect("a script");
    let command = text.lines().find(|line| line.starts_with("# tidemill test ")).expect("options");
    let rules = command.split_whitespace().filter(|word| word.ends_with(".olg"));
    let files: Vec<PathBuf> = rules.map(|file| root().join(file)).collect();
    let program = Program::load(&files, &LoadOptions::default());
    program.mutants().into_iter().map(|(mutant, _)| mutant).collect()
}

#[test]
fn lists_of_equivalent_mutants_fit_their_programs() {
    let folders = std::fs::read_dir(root().join("examples")).expect("examples");
    let lists = folders.map(|entry| entry.expect("an entry").path().join("equivalent.txt"));
    let mut count = 0;
    for list in lists.filter(|list| list.exists()) {
        let folder = list.parent().and_then(|it| it.file_name()).expect("a folder");
        let text = std::fs::read_to_string(&list).expect("a list");
        let mutants = mutants(&folder.to_string_lossy());
        if let Err(wrong) = Equivalents::parse(&text, &mutants) {
            panic!("{}: {wrong}", list.display());
        }
        count += 1;
    }
    assert!(count > 0, "no example has a list");
}
