//! Tables of the system that `query` reads from a run whose program reads none of them.

use std::process::Output;

use crate::common::node::{Running, free_addresses, wait_until};
use crate::common::{Folder, status, stderr, stdout, tidemill};

const RULES: &str = "materialize(kept, infinity, infinity, keys(1, 2)).
kept(NODE, 1). kept(NODE, 2).
k1 kept(@N, 3) :- packet(@N, Port, Bytes).
";

const GRAPH: &str = "src :: Generator { frames: [\"hex 01\"], rate: 100, packets: 1000000 }
r :: Rules
src -> r
";

/// The server has a message that it does not take, so there is a channel that stays.
const COMPONENTS: &str = "INTERFACE Work; { IN Put(n: INTEGER) } END Work;
COMPONENT Server OFFERS Work;
  IMPLEMENTATION Work; VARIABLE n: INTEGER; BEGIN ?Put(n); PASSIVATE(1000000000) END Work;
END Server;
COMPONENT {ENTRYPOINT} Main REQUIRES SystemTime; VARIABLE server: Server;
BEGIN
  NEW(server); Work(server)!Put(1); Work(server)!Put(2);
  SystemTime!Wait(1000000000); SystemTime?Passed
END Main;
";

/// The tables, with their number of columns, and whether two answers are the same.
const TABLES: [(&str, usize, bool); 14] = [
    ("sys::app", 7, false),
    ("sys::channel", 6, true),
    ("sys::component", 6, false),
    ("sys::counter", 3, false),
    ("sys::link", 7, false),
    ("sys::log", 7, false),
    ("sys::peer", 5, true),
    ("sys::pore", 6, true),
    ("sys::process", 6, false),
    ("sys::program", 4, false),
    ("sys::rule", 5, false),
    ("sys::source", 4, true),
    ("sys::table", 7, false),
    ("sys::turn", 6, false),
];

struct Asked {
    folder: Folder,
    address: String,
    _run: Running,
}

impl Asked {
    fn new() -> Asked {
        let folder = Folder::new();
        let files = [("a.olg", RULES), ("a.flow", GRAPH), ("a.com", COMPONENTS)];
        let [rules, graph, components] = files.map(|(name, text)| folder.file(name, text));
        let address = free_addresses(1)[0].clone();
        let run =
            Running::start(&folder, "out", &[&rules, &graph, &components, "--listen", &address]);
        let asked = Asked { folder, address, _run: run };
        wait_until("packets come", || stdout(&asked.ask("kept")).lines().count() == 3);
        asked
    }

    fn ask(&self, text: &str) -> Output {
        let mut command = tidemill();
        command.args(["query", &self.address, text]).env("XDG_RUNTIME_DIR", self.folder.path());
        command.output().expect("it starts")
    }

    fn rows(&self, text: &str) -> String {
        let output = self.ask(text);
        assert_eq!((status(&output), stderr(&output).as_str()), (0, ""), "{text}");
        stdout(&output)
    }
}

#[test]
fn each_table_is_read_by_name_by_pattern_and_by_a_rule() {
    let asked = Asked::new();
    for (name, columns, is_steady) in TABLES {
        let rows = asked.rows(name);
        let any = vec!["_"; columns - 1].join(", ");
        let found = asked.rows(&format!("{name}(_, {any})"));
        let variables: Vec<String> = (2..=columns).map(|column| format!("A{column}")).collect();
        let variables = variables.join(", ");
        let of_rule = asked.rows(&format!("x(N, {variables}) :- {name}(@N, {variables})."));
        let of_rule = of_rule.replace("x(", &format!("{name}("));
        let counts = [&rows, &found, &of_rule].map(|rows| rows.lines().count());
        let is_empty = ["sys::log", "sys::peer", "sys::pore"].contains(&name);
        assert!(counts[0] > 0 || is_empty, "{name}");
        // The counters of queries come with the first.
        assert!(counts[1] >= counts[0] && counts[2] >= counts[0], "{name}: {counts:?}");
        if is_steady {
            assert_eq!((&found, &of_rule), (&rows, &rows), "{name}");
        }
    }
}

#[test]
fn rules_join_several_tables_of_the_system_and_of_the_node() {
    let asked = Asked::new();
    let text = "x(A, V) :- sys::app(@N, A, \"Generator\", _, P, _, _), P > 0, kept(@N, V), V > 1.";
    let rows = asked.rows(text);
    assert_eq!(rows, "x(\"src\", 2)\nx(\"src\", 3)\n");
    let rows = asked.rows("n(a_SUM<P>) :- sys::link(@N, _, _, _, P, _, _).");
    assert!(rows.starts_with("n(") && rows != "n(0)\n", "{rows}");
    let rows = asked.rows("sys::table(_, \"kept\", Rows, _, _, _, _)");
    assert!(rows.contains("\"kept\", 3, "), "{rows}");
    for (text, reason) in [
        ("sys::tabel", "there is no table `sys::tabel`; is `sys::table` meant?"),
        ("x(N) :- sys::rule(@N, A).", "`sys::rule` has 5 columns, location included, not 2"),
        ("sys::ruleExec", "there is no table `sys::ruleExec`, as the program has no `trace`"),
    ] {
        let output = asked.ask(text);
        assert_eq!(status(&output), 1, "{text}");
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}
