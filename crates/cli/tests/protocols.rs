//! The protocols of `examples` with properties: `tidemill test` finds no failure under the faults
//! that it draws by default, and detects each of some one-line mutations with the same options.
//! These options are in the second line of `test.sim`.

use std::process::Output;

use crate::common::{Folder, root, status, stderr, stdout, tidemill};

const PROTOCOLS: [&str; 5] = ["raft", "kv", "lock", "crdt", "chain"];

/// Tests an example in a folder.
fn test(folder: &Folder, example: &str, seeds: &str) -> Output {
    let script = format!("examples/{example}/test.sim");
    let text = std::fs::read_to_string(root().join(&script)).expect("a script");
    let command = text.lines().nth(1).and_then(|line| line.strip_prefix("# tidemill test "));
    let mut run = tidemill();
    run.current_dir(folder.path()).arg("test");
    run.args(command.expect("the command").split_whitespace()).args(["--script", &script]);
    run.args(["--seeds", seeds, "--no-shrink", "-q"]).output().expect("it starts")
}

/// A folder with these examples, which may include each other.
fn copied() -> Folder {
    let folder = Folder::new();
    for example in PROTOCOLS {
        let from = root().join("examples").join(example);
        let to = folder.path().join("examples").join(example);
        std::fs::create_dir_all(&to).expect("a folder");
        for entry in std::fs::read_dir(from).expect("the example") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
    folder
}

#[test]
fn nothing_is_wrong_with_them() {
    let folder = copied();
    for example in PROTOCOLS {
        let output = test(&folder, example, "1..4");
        let text = stdout(&output);
        assert_eq!(status(&output), 0, "{example}: {text}{}", stderr(&output));
        assert!(text.contains("summary: 4 runs, 0 failed"), "{example}: {text}");
    }
}

/// A mutation: a text of a program, and its replacement; a seed that detects it, and the failure.
struct Mutant {
    example: &'static str,
    right: &'static str,
    wrong: &'static str,
    seed: u32,
    found: &'static str,
}

fn check(mutants: &[Mutant]) {
    let folder = copied();
    for Mutant { example, right, wrong, seed, found } in mutants {
        let file = format!("examples/{example}/{example}.olg");
        let source = std::fs::read_to_string(root().join(&file)).expect("a program");
        assert_eq!(source.matches(right).count(), 1, "{example}: {right}");
        let file = folder.path().join(file);
        std::fs::write(&file, source.replace(right, wrong)).expect("written");
        let output = test(&folder, example, &format!("{seed}..{seed}"));
        let text = stdout(&output);
        assert_eq!(status(&output), 1, "{example}, {wrong}: {text}{}", stderr(&output));
        assert!(text.contains(found), "{example}, {wrong}: {text}");
        std::fs::write(&file, source).expect("written");
    }
}

#[test]
fn mistakes_in_raft_are_found() {
    check(&[
        // The first candidate gets the vote, even with an incomplete log.
        Mutant {
            example: "raft",
            right: "last(@N, I, LastTerm), Log >= [LastTerm, I].",
            wrong: "last(@N, I, LastTerm).",
            seed: 1,
            found: "\"leader lacks\"",
        },
        Mutant {
            example: "raft",
            right: ":- asked(@N, T, Candidate, Log), notin vote(@N, T, _),",
            wrong: ":- asked(@N, T, Candidate, Log),",
            seed: 1,
            found: "\"one vote for two\"",
        },
        Mutant {
            example: "raft",
            right: "f_size(Members) / 2 + 1)",
            wrong: "f_size(Members) / 2)",
            seed: 1,
            found: "\"leader lacks\"",
        },
        // Entries are appended to one of another term.
        Mutant {
            example: "raft",
            right: "log(@N, I, Before, _),\n    End := I + f_size(Entries).",
            wrong: "log(@N, I, _, _),\n    End := I + f_size(Entries).",
            seed: 1,
            found: "\"counted, but lacks\"",
        },
        // A late message changes committed entries.
        Mutant {
            example: "raft",
            right: "entry(@N, I, T, Entry, _), commit(@N, C), I > C.",
            wrong: "entry(@N, I, T, Entry, _).",
            seed: 11,
            found: "\"two states\"",
        },
        Mutant {
            example: "raft",
            right: "c1 term(@N, T) :- refused(@N, T), term(@N, Old), T > Old.",
            wrong: "",
            seed: 9,
            found: "\"behind\"",
        },
    ]);
}

#[test]
fn mistakes_in_the_replicated_store_are_found() {
    check(&[
        // Duplicate log entries are executed twice.
        Mutant {
            example: "kv",
            right: "Last), I > Last.",
            wrong: "Last), I != null.",
            seed: 11,
            found: "kv history: no order",
        },
        // A node reads its own copy.
        Mutant {
            example: "kv",
            right: "k1 command",
            wrong: "k0 answer(@A, Client, I, V) :- propose(@N, [Client, I, \"get\", K, _]), \
                    kv(@N, K, V), A := Client[0].\nk1 command",
            seed: 4,
            found: "kv history: no order",
        },
        Mutant {
            example: "kv",
            right: "old(@N, _, _, \"cas\", K, X, V), V == X[1].",
            wrong: "old(@N, _, _, \"cas\", K, X, V).",
            seed: 1,
            found: "kv history: no order",
        },
        Mutant {
            example: "kv",
            right: "i10 session(@N, S[0], S[1], S[2]) :- restored(@N, [], [S | _]).",
            wrong: "",
            seed: 2,
            found: "\"two stores\"",
        },
        // A lost answer is not sent again.
        Mutant {
            example: "kv",
            right: "k12 answer(@A, Client, I, Result) :- command(@N, Client, I, _, _, _),\n    \
                    session(@N, Client, I, Result), leading(@N, _), A := Client[0].",
            wrong: "",
            seed: 3,
            found: "\"not answered\"",
        },
    ]);
}

#[test]
fn mistakes_in_the_lock_are_found() {
    check(&[
        Mutant {
            example: "lock",
            right: "highest(@S, Most), Token >= Most.",
            wrong: "highest(@S, Most).",
            seed: 6,
            found: "\"interleaved\"",
        },
        Mutant {
            example: "lock",
            right: "w2 highest(@S, Token) :- accept(@S, _, Token, _).",
            wrong: "",
            seed: 6,
            found: "\"interleaved\"",
        },
        Mutant {
            example: "lock",
            right: "grant(@L, C, Last + 1)",
            wrong: "grant(@L, C, Last)",
            seed: 1,
            found: "\"one token for two\"",
        },
        Mutant {
            example: "lock",
            right: "notin lease(@L, _, _), waiting",
            wrong: "waiting",
            seed: 1,
            found: "\"lent twice\"",
        },
        // The last holder of the lock keeps its place.
        Mutant {
            example: "lock",
            right: "l9 delete waiting(@L, C, _) :- grant(@L, C, _).",
            wrong: "",
            seed: 1,
            found: "\"waits for what it has\"",
        },
    ]);
}

#[test]
fn mistakes_in_replicated_data_types_are_found() {
    check(&[
        // A node that has lost its share continues to count in it.
        Mutant {
            example: "crdt",
            right: "s1 self(@N, [N, Id]) :-",
            wrong: "s1 self(@N, [N, 0]) :-",
            seed: 16,
            found: "\"more than it is\"",
        },
        Mutant {
            example: "crdt",
            right: "Direction, Sum, Old), Sum > Old.",
            wrong: "Direction, Sum, Old), Sum != Old.",
            seed: 1,
            found: "\"more than it is\"",
        },
        Mutant {
            example: "crdt",
            right: ", Me], V) :-",
            wrong: ", 0], V) :-",
            seed: 1,
            found: "\"two writes\"",
        },
        Mutant {
            example: "crdt",
            right: "written(@N, R, Stamp, V, Old), Stamp > Old.",
            wrong: "written(@N, R, Stamp, V, Old), Old == null.",
            seed: 1,
            found: "register(\"n",
        },
        Mutant {
            example: "crdt",
            right: "m4 removed(@N, Tag) :- merge(@N, [\"removed\", Tag]).",
            wrong: "",
            seed: 1,
            found: "element(\"n",
        },
    ]);
}

#[test]
fn mistakes_in_the_chain_are_found() {
    check(&[
        // The tail reads its own state, although it may no longer be the tail.
        Mutant {
            example: "chain",
            right: "c9 request",
            wrong: "h4 peek(@A, Me, I) :- submit(@N, I, \"read\", _), client(@N, Me), \
                    rest(@N, [[A, _]]).\n\
                    h5 answer(@A, Me, I, V) :- peek(@N, Me, I), tail(@N), value(@N, V), \
                    A := Me[0].\nc9 request",
            seed: 5,
            found: "register history: no order",
        },
        // The last complete server may be removed.
        Mutant {
            example: "chain",
            right: "f_size(f_intersect(Left, Full)) > 0.",
            wrong: "f_size(Left) > 0.",
            seed: 10,
            found: "\"head lacks\"",
        },
        Mutant {
            example: "chain",
            right: ", notin entry(@N, _, Client, Number, _, _).",
            wrong: ".",
            seed: 3,
            found: "\"twice\"",
        },
        // A removed server keeps its entries.
        Mutant {
            example: "chain",
            right: "k10 delete entry(@N, I, _, _, _, _) :- out(@N), \
                    entry(@N, I, _, _, _, _), I > 0.",
            wrong: "",
            seed: 2,
            found: "\"two entries\"",
        },
        Mutant {
            example: "chain",
            right: "k9 self(@N, [N, f_rand()]) :- out(@N).",
            wrong: "",
            seed: 1,
            found: "\"outside\"",
        },
    ]);
}
