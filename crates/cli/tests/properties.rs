//! Properties of all nodes together: rules at `@SIM`.

use crate::common::{Folder, run, status, stderr, stdout};

/// Two nodes may lead one term, and a node may know what no other knows.
const LEADERS: &str = "\
materialize(leader, infinity, infinity, keys(1, 2)).
materialize(backup, infinity, infinity, keys(1, 2)).
export(elected). export(keep). export(drop).
e1 leader(@N, T, N) :- elected(@N, T).
b1 backup(@N, T) :- keep(@N, T).
b2 delete backup(@N, T) :- drop(@N, T), backup(@N, T).
g1 violation(@SIM, T, A, B) :- leader(@X, T, A), leader(@Y, T, B), A < B.
history(@SIM, T, X) :- leader(@X, T, _), notin backup(@_, T).
g3 history(@SIM, 0, a_COUNT<*>) :- leader(@_, T, _).
watch(history).
";

fn simulated(rules: &str, script: &str, options: &str) -> (i32, String, String) {
    let folder = Folder::new();
    let file = folder.file("leaders.olg", rules);
    let script = folder.file("leaders.sim", script);
    let output = run(&format!("sim {file} --nodes 3 --script {script} {options}"));
    (status(&output), stdout(&output), stderr(&output))
}

/// The lines without the summary.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("summary")).collect()
}

#[test]
fn tables_of_all_nodes_are_joined_as_they_stand() {
    let script = "at 1 inject 0 elected(NODE, 7)\nat 2 inject 1 keep(NODE, 7)\n\
                  at 3 inject 1 drop(NODE, 7)\nat 4 inject 2 elected(NODE, 7)\n\
                  at 5 inject 0 elected(NODE, 8)\n";
    for options in ["", "--engine interpret", "--workers 2"] {
        let (code, text, err) = simulated(LEADERS, script, options);
        assert_eq!(code, 1, "{err}");
        let expected = [
            "1.000000 SIM i rule5 history(\"SIM\", 7, \"n0:1\")",
            "1.000000 SIM i g3 history(\"SIM\", 0, 1)",
            "2.000000 SIM d rule5 history(\"SIM\", 7, \"n0:1\")",
            "3.000000 SIM i rule5 history(\"SIM\", 7, \"n0:1\")",
            "4.000000 SIM i rule5 history(\"SIM\", 7, \"n2:1\")",
            "4.000000 SIM d g3 history(\"SIM\", 0, 1)",
            "4.000000 SIM i g3 history(\"SIM\", 0, 2)",
        ];
        assert_eq!(lines(&text), expected, "{options}");
        let violation = "4.000000 SIM: violation(\"SIM\", 7, \"n0:1\", \"n2:1\") (rule g1)";
        assert!(err.contains(violation), "{err}");
        assert_eq!(err.contains("one worker only: rules at @SIM"), options.contains("workers"));
    }
}

/// The rows of a crashed node no longer count; those that it has after its restart do.
#[test]
fn a_crash_takes_the_rows_of_its_node() {
    let script = "at 1 inject 0 elected(NODE, 7)\nat 2 crash 0\nat 3 inject 2 elected(NODE, 7)\n\
                  at 4 crash 2\nat 5 restart 0\nat 6 inject 0 elected(NODE, 7)\n";
    let (code, text, err) = simulated(LEADERS, script, "");
    assert_eq!(code, 0, "{err}");
    let of_rule = lines(&text).into_iter().filter(|line| line.contains("rule5"));
    let expected = [
        "1.000000 SIM i rule5 history(\"SIM\", 7, \"n0:1\")",
        "2.000000 SIM d rule5 history(\"SIM\", 7, \"n0:1\")",
        "3.000000 SIM i rule5 history(\"SIM\", 7, \"n2:1\")",
        "4.000000 SIM d rule5 history(\"SIM\", 7, \"n2:1\")",
        "6.000000 SIM i rule5 history(\"SIM\", 7, \"n0:1\")",
    ];
    assert_eq!(of_rule.collect::<Vec<_>>(), expected);
}

/// A row belongs to the node that stores it, whichever column has the location.
#[test]
fn rows_of_tables_with_several_locations_are_distinct() {
    let rules = "materialize(link, infinity, infinity, keys(1, 2)).
                 l1 link(@A, B) :- join(@A, B).
                 l2 link(A, @B) :- join(@A, B).
                 export(join).
                 g1 history(@SIM, 1, A, B) :- link(@A, B).
                 g2 history(@SIM, 2, A, B) :- link(A, @B).
                 watch(history).";
    let (code, text, err) = simulated(rules, "at 1 inject 0 join(NODE, \"n1:1\")\n", "--loss 1");
    assert_eq!(code, 0, "{err}");
    assert_eq!(lines(&text), ["1.000000 SIM i g1 history(\"SIM\", 1, \"n0:1\", \"n1:1\")"]);
}

/// These rules do not change the behaviour of nodes.
#[test]
fn a_run_checks_them_and_does_not_run_them() {
    let folder = Folder::new();
    let rules = "r1 p(@N, X) :- periodic(@N, _, 0.1, 1), X := 1.
                 r2 q(@N, X) :- p(@N, X).
                 materialize(q, infinity, infinity, keys(1)).
                 watchmod(q, \"i\").
                 g1 violation(@SIM, X) :- q(@N, X).\n";
    let file = folder.file("q.olg", rules);
    let output = run(&format!("run {file} --for 0.5"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains(" i - q("), "{}", stdout(&output));
    let text = run(&format!("explain {file}"));
    assert!(stdout(&text).contains("\nplan at SIM\n"), "{}", stdout(&text));
    let schema = |rules: &str| stdout(&run(&format!("schema {}", folder.file("q.olg", rules))));
    let without = rules.lines().filter(|line| !line.contains("@SIM")).collect::<Vec<_>>();
    assert_eq!(schema(rules), schema(&without.join("\n")));
    let wrong = folder.file("wrong.olg", &rules.replace("q(@N, X).", "p(@N, X)."));
    let output = run(&format!("run {wrong}"));
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("error[sim-table]"), "{}", stderr(&output));
}

#[test]
fn test_finds_what_is_wrong_between_nodes() {
    let folder = Folder::new();
    let file = folder.file("leaders.olg", LEADERS);
    let script = "at 1 inject 0 elected(NODE, 7)\nat 2 inject 2 elected(NODE, 7)\nat 3 end\n";
    let script = folder.file("leaders.sim", script);
    let output = run(&format!("test {file} --nodes 3 --script {script} --seeds 1..20"));
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).contains(" SIM: violation("), "{}", stdout(&output));
}
