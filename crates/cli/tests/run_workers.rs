//! A run on several workers: its nodes behave as with one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Duration;

use crate::common::node::{Running, wait_until};
use crate::common::{Folder, stderr, stdout, tidemill};

const NODES: usize = 5;

/// Each node counts the answers to its requests, which visit all nodes.
const PROGRAM: &str = "\
materialize(member, infinity, infinity, keys(2)).
materialize(heard, infinity, infinity, keys(2)).
h1 hello(@LANDMARK, N) :- periodic(@N, E, 0.05).
h2 member(@N, From) :- hello(@N, From).
h3 told(@M, N) :- hello(@N, _), member(@N, M).
h4 heard(@N, From) :- told(@N, From).
h5 violation(@N, X) :- wrong(@N, X).
watchmod(heard, \"i\").
";

struct Run {
    folder: Folder,
    running: Running,
    addresses: Vec<String>,
}

impl Run {
    fn start(more: &[&str]) -> Run {
        let folder = Folder::new();
        let file = folder.file("program.olg", PROGRAM);
        let nodes = NODES.to_string();
        let mut arguments = vec![&*file, "--nodes", &nodes, "--workers", "3"];
        arguments.extend(more);
        let running = Running::start(&folder, "out", &arguments);
        let known = || {
            let log = fs::read_to_string(&running.log).unwrap_or_default();
            let address = |index: usize| {
                let of = |line: &str| line.strip_prefix(&format!("{index} ")).map(str::to_owned);
                log.lines().find_map(of)
            };
            (0..NODES).filter_map(address).collect::<Vec<String>>()
        };
        wait_until("all nodes are named", || known().len() == NODES);
        let addresses = known();
        Run { folder, running, addresses }
    }

    fn tool(&self, verb: &str, node: usize, text: &str) -> Output {
        let mut command: Command = tidemill();
        command.args([verb, &self.addresses[node], text]);
        command.env("XDG_RUNTIME_DIR", self.folder.path()).output().expect("it starts")
    }

    fn printed(&self) -> String {
        fs::read_to_string(&self.running.out).unwrap_or_default()
    }

    /// Waits until the process has ended; returns its status.
    fn ended(&mut self) -> Option<i32> {
        let child = &mut self.running.child;
        wait_until("it ends", || child.try_wait().expect("a child").is_some());
        child.wait().expect("a status").code()
    }
}

#[test]
fn nodes_of_all_workers_talk_and_print() {
    let run = Run::start(&[]);
    wait_until("all nodes have heard", || {
        let printed = run.printed();
        run.addresses.iter().all(|node| printed.contains(&format!(" i - heard(\"{node}\", ")))
    });
    // Lines of different workers are not mixed.
    for line in run.printed().lines() {
        assert!(line.contains(" i - heard(\"") && line.ends_with(')'), "{line}");
    }
    // Each worker counts its loop, and all its turns.
    for number in 0..3 {
        let name = format!("loop/{number}/turns");
        wait_until(&name, || run.running.counter(&name) > 0);
    }
    let of_nodes: u64 =
        run.addresses.iter().map(|node| run.running.counter(&format!("node/{node}/turns"))).sum();
    assert!(of_nodes > 0);
    wait_until("rules are counted", || run.running.counter("rule/h4/fired") >= NODES as u64);
}

#[test]
fn tools_ask_any_node() {
    let run = Run::start(&[]);
    for node in 0..NODES {
        wait_until("it is there", || {
            let output = run.tool("query", node, "heard");
            output.status.success() && stdout(&output).contains("heard(")
        });
    }
    let one = run.tool("query", 1, "heard");
    assert!(stdout(&one).lines().all(|line| line.contains(&run.addresses[1])), "{}", stdout(&one));
    let wrong = run.tool("query", 1, "nothing_of_that_name");
    assert!(!wrong.status.success());
    assert!(stderr(&wrong).contains("nothing_of_that_name"), "{}", stderr(&wrong));
}

/// Rules are installed and removed at the nodes of all workers, and an invalid version at none.
#[test]
fn rules_come_and_go_at_all_workers() {
    let run = Run::start(&[]);
    let rules = run.folder.file("more.olg", "m1 more(@N) :- told(@N, _).\nwatch(more).\n");
    let installed = run.tool("install", 2, &rules);
    assert!(installed.status.success(), "{}", stderr(&installed));
    let hear = |word: &str| {
        wait_until("all nodes have it", || {
            let printed = run.printed();
            run.addresses.iter().all(|node| printed.contains(&format!(" {word}(\"{node}\"")))
        });
    };
    hear("more");
    let wrong = run.folder.file("wrong.olg", "w1 wrong(@N) :- told(@N, _), nothing(@N).\n");
    let refused = run.tool("install", 1, &wrong);
    assert!(!refused.status.success(), "{}", stdout(&refused));
    let rules = run.folder.file("more.olg", "m1 other(@N) :- told(@N, _).\nwatch(other).\n");
    let replaced = run.tool("install", 0, &rules);
    assert!(replaced.status.success(), "{}", stderr(&replaced));
    hear("other");
    let gone = run.tool("uninstall", 3, "more.olg");
    assert!(gone.status.success(), "{}", stderr(&gone));
    wait_until("all nodes are without it", || {
        let before = run.printed().matches(" other(").count();
        std::thread::sleep(Duration::from_millis(500));
        run.printed().matches(" other(").count() == before
    });
    let notes = fs::read_to_string(&run.running.log).unwrap_or_default();
    assert_eq!(notes.matches("goes on with the new rules").count(), 3, "{notes}");
}

#[test]
fn long_answers_come_whole() {
    let rows = 60_000;
    let facts: String = (0..rows).map(|row| format!("big(NODE, {row}).\n")).collect();
    let folder = Folder::new();
    let text = format!("materialize(big, infinity, infinity, keys(2)).\n{facts}");
    let file = folder.file("big.olg", &text);
    let running = Running::start(&folder, "out", &[&file, "--nodes", "4", "--workers", "2"]);
    let address = |index: usize| {
        let log = fs::read_to_string(&running.log).unwrap_or_default();
        log.lines().find_map(|line| line.strip_prefix(&format!("{index} ")).map(str::to_owned))
    };
    wait_until("the nodes are named", || address(3).is_some());
    for node in [3, 2] {
        let node = address(node).expect("named");
        let count = || {
            let mut command = tidemill();
            command.args(["query", &node, "big"]).env("XDG_RUNTIME_DIR", folder.path());
            stdout(&command.output().expect("it starts")).lines().count()
        };
        wait_until("all rows come", || count() == rows);
    }
}

/// The first worker reads the key files, and passes the keys to the others.
#[test]
fn keys_are_replaced_once_at_each_node() {
    let keys = Folder::new();
    let (old, new) = ("0123456789abcdef".repeat(4), "fedcba9876543210".repeat(4));
    let key = keys.file("key", &format!("{old}\n"));
    fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("a mode");
    let run = Run::start(&["--key", &key]);
    wait_until("something is printed", || run.running.lines() > 3);
    fs::write(&key, format!("{old}\n{new}\n")).expect("written");
    let taken = || {
        let names = run.addresses.iter().map(|node| format!("node/{node}/keys_taken"));
        names.map(|name| run.running.counter(&name)).collect::<Vec<u64>>()
    };
    wait_until("all nodes have them", || taken().iter().all(|count| *count > 0));
    // Counters are published once a second, and files checked every two.
    std::thread::sleep(Duration::from_millis(3500));
    assert_eq!(taken(), [1; NODES]);
    run.running.signal("HUP");
    wait_until("all nodes have them again", || taken() == [2; NODES]);
}

#[test]
fn it_ends_in_order() {
    let mut run = Run::start(&[]);
    wait_until("something is printed", || run.running.lines() > 3);
    run.running.signal("TERM");
    assert_eq!(run.ended(), Some(0));
    let log = fs::read_to_string(&run.running.log).expect("a log");
    assert!(!log.contains("work left"), "{log}");
}

#[test]
fn a_violation_anywhere_ends_it() {
    let mut run = Run::start(&["--inject", "wrong(NODE, 7)"]);
    assert_eq!(run.ended(), Some(1));
    assert!(run.running.logged("violation(") >= 1);
}

#[test]
fn figures_are_of_all() {
    let folder = Folder::new();
    let file = folder.file("program.olg", PROGRAM);
    let mut command = tidemill();
    command.args(["run", &file, "--nodes", "5", "--workers", "2", "--for", "1.5", "--stats"]);
    let output = command.env("XDG_RUNTIME_DIR", folder.path()).output().expect("it starts");
    let text = stderr(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("5 nodes (5 alive)"), "{text}");
}

/// Nodes with all parts are distributed: they talk, and the run ends when all of them have.
#[test]
fn nodes_of_a_mix_are_at_all_workers() {
    let folder = Folder::new();
    let rules = folder.file(
        "mix.olg",
        "materialize(seen, infinity, infinity, keys(2)).\n\
         materialize(peer, infinity, infinity, keys(2)).\n\
         r1 seen(@N, B) :- packet(@N, Port, B).\n\
         r2 send(@N, \"out\", B) :- packet(@N, \"src\", B).\n\
         r3 hello(@LANDMARK, N) :- periodic(@N, E, 0.05, 20).\n\
         r4 peer(@N, From) :- hello(@N, From).\n",
    );
    let components = folder.file(
        "mix.com",
        "COMPONENT Main REQUIRES SystemTime; VARIABLE i: INTEGER;\n\
         BEGIN FOR i := 1 TO 3 DO SystemTime!Wait(400); SystemTime?Passed;\n\
         WRITE(\"tick \"); WRITE(i); WRITELINE END END Main;\n",
    );
    let graph = folder.file(
        "mix.flow",
        "src :: Generator { frames: [\"hex 01\", \"hex 02\", \"hex 03\"] }\n\
         rules :: Rules\nout :: Sink\nsrc -> rules\nrules -> out\n",
    );
    let options = ["--nodes", "5", "--workers", "3", "--stats"];
    let arguments = [&[&*rules, &*components, &*graph][..], &options].concat();
    let mut running = Running::start(&folder, "out", &arguments);
    for number in 0..3 {
        let name = format!("loop/{number}/turns");
        wait_until(&name, || running.counter(&name) > 0);
    }
    let child = &mut running.child;
    wait_until("it ends", || child.try_wait().expect("a child").is_some());
    let notes = fs::read_to_string(&running.log).expect("a log");
    assert_eq!(running.child.wait().expect("a status").code(), Some(0), "{notes}");
    let printed = fs::read_to_string(&running.out).expect("output");
    for (node, address) in running.addresses(NODES).iter().enumerate() {
        for tick in 1..=3 {
            let line = format!("{address}: tick {tick}\n");
            assert_eq!(printed.matches(&line).count(), 1, "node {node}: {printed}");
        }
    }
    assert!(notes.contains("rows: seen 15, peer 5"), "{notes}");
    assert!(notes.contains("components: 5 created, 0 alive"), "{notes}");
    assert!(!notes.contains("one worker only"), "{notes}");
}

/// A new version of the graph comes to the nodes of all workers.
#[test]
fn the_graph_of_a_mix_is_replaced_at_all_workers() {
    let folder = Folder::new();
    let rules = folder.file(
        "mix.olg",
        "materialize(seen, infinity, infinity, keys(2)).\n\
         r1 seen(@N, B) :- packet(@N, Port, B).\n\
         watchmod(seen, \"i\").\n",
    );
    let text = |byte: &str| {
        format!(
            "src :: Generator {{ frames: [\"hex {byte}\"], packets: 1000, rate: 100 }}\n\
             rules :: Rules {{ verdict: \"\" }}\nsrc -> rules\n"
        )
    };
    let graph = folder.file("mix.flow", &text("01"));
    let options = ["--nodes", "4", "--workers", "2", "--for", "20"];
    let arguments = [&[&*rules, &*graph][..], &options].concat();
    let running = Running::start(&folder, "out", &arguments);
    let printed = |what: &str| {
        let printed = fs::read_to_string(&running.out).unwrap_or_default();
        printed.matches(what).count()
    };
    wait_until("all nodes see packets", || printed("b\"\\x01\"") == 4);
    folder.file("mix.flow", &text("02"));
    running.signal("HUP");
    wait_until("all nodes see other packets", || printed("b\"\\x02\"") == 4);
}

/// A program that needs a single worker runs on one, and the run reports that.
#[test]
fn a_program_that_writes_files_has_one_worker() {
    let folder = Folder::new();
    let rules = "r1 said(@N) :- periodic(@N, E, 0, 1). watchmod(said, \"h\").";
    let plain = folder.file("a.olg", rules);
    let sink = folder.file("b.olg", &format!("{rules} sink(\"said.jsonl\", said)."));
    let root = folder.path().display().to_string();
    let run = |file: &str| {
        let options = ["--nodes", "2", "--workers", "2", "--for", "0.2", "--root", &root];
        let options = if file == plain { &options[..6] } else { &options[..] };
        let output = tidemill().args(["run", file]).args(options).output().expect("it starts");
        stderr(&output)
    };
    let note = "tidemill: one worker only: the program writes files\n";
    assert!(!run(&plain).contains(note));
    let notes = run(&sink);
    assert!(notes.contains(note), "{notes}");
}
