//! The cost of rules in `explain`, `run`, `sim`, `top` and `query`.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, run, status, stderr, stdout, tidemill};

/// Each `ask` matches three rows of `t`, of which two match one of `u`.
const JOIN: &str = "materialize(t, infinity, infinity, keys(1, 2)).
materialize(u, infinity, infinity, keys(1, 2)).
materialize(some, infinity, infinity, keys(1)).
t(NODE, 10). t(NODE, 11). t(NODE, 12). u(NODE, 10). u(NODE, 11).
r1 found(@N, Y) :- periodic(@N, E, 1, 5), t(@N, Y), u(@N, Y).
r2 some(@N, Y) :- found(@N, Y), Y == 11.
r3 never(@N) :- nothing(@N).
export(nothing).
";

/// The cells of each line of the first table of an explained profile, by rule.
fn rules(text: &str) -> BTreeMap<String, Vec<String>> {
    let table = text.split("\n\n").nth(1).expect("a table").lines().skip(1);
    let cells = table.map(|line| line.split_whitespace().map(str::to_owned).collect());
    cells.map(|cells: Vec<String>| (cells[0].clone(), cells[1..].to_vec())).collect()
}

#[test]
fn explain_shows_what_rules_cost() {
    let folder = Folder::new();
    let file = folder.file("a.olg", JOIN);
    let output = run(&format!("explain --profile {file} --nodes 2"));
    assert_eq!((status(&output), stderr(&output).as_str()), (0, ""));
    let text = stdout(&output);
    assert!(text.starts_with("profile of "), "{text}");
    let found = rules(&text);
    // Place, share, time, time each; then fired, derived, and probes.
    let counts = |rule: &str| found[rule][4..].join(" ");
    assert_eq!(counts("r1"), "10 20 50", "{text}");
    assert_eq!(counts("r2"), "20 10 0", "{text}");
    assert_eq!(counts("r3"), "0 0 0", "{text}");
    assert!(found["r1"][0].ends_with("a.olg:5:4"), "{text}");
    let ns: u64 = found["r1"][2].parse().expect("a time");
    assert!(ns > 0, "{text}");
    assert!(text.contains("r1 on timer, in turns: timer of r1 "), "{text}");

    let longer = run(&format!("explain --profile {file} --for 2 --seed 7 --inject found(NODE,11)"));
    let text = stdout(&longer);
    assert_eq!(rules(&text)["r2"][4..].join(" "), "5 3 0", "{text}{}", stderr(&longer));
}

#[test]
fn explain_draws_what_rules_cost() {
    let folder = Folder::new();
    let file = folder.file("a.olg", JOIN);
    let dot = stdout(&run(&format!("explain --profile {file} --form dot")));
    assert!(dot.contains("\\n5 fired, 10 derived, 25 probes\", shape=box];"), "{dot}");
    let mermaid = stdout(&run(&format!("explain --profile {file} --form mermaid")));
    assert!(mermaid.contains("<br/>5 fired, 10 derived, 25 probes\"]"), "{mermaid}");
    let svg = stdout(&run(&format!("explain --profile {file} --form svg")));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    assert!(svg.contains(" ns each: 5 fired, 10 derived, 25 probes</title>"), "{svg}");
    assert!(svg.contains("<title>timer of r1: "), "{svg}");
}

#[test]
fn a_profile_needs_rules_and_its_options_need_it() {
    let folder = Folder::new();
    let rules = folder.file("a.olg", JOIN);
    let component = folder.file("a.com", "COMPONENT Main; BEGIN WRITE(1) END Main;");
    for line in [
        format!("explain {rules} --nodes 2"),
        format!("explain {rules} --for 2"),
        format!("explain {rules} --profile --asm"),
        format!("explain {component} --profile"),
        format!("run {component} --profile p.svg"),
        format!("sim {component} --profile p.svg"),
    ] {
        let output = run(&line);
        assert_eq!(status(&output), 2, "{line}");
        assert!(stderr(&output).contains("--profile"), "{}", stderr(&output));
    }
}

/// The time of each stack of a folded profile.
fn stacks(path: &str) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(path).expect("it was written");
    let stack = |line: &str| {
        let (frames, ns) = line.rsplit_once(' ').expect("frames and a time");
        (frames.to_owned(), ns.parse().expect("a time"))
    };
    text.lines().map(stack).collect()
}

#[test]
fn a_simulation_prints_the_same_with_a_profile() {
    let folder = Folder::new();
    let source = format!("{JOIN} w1 ns(@N, R, F, Ns) :- sys::rule(@N, R, F, _, Ns).");
    let file = folder.file("a.olg", &format!("{source} watch(some). watch(ns)."));
    let path = folder.path().join("p.folded").display().to_string();
    let plain = run(&format!("sim {file} --nodes 2 --for 8"));
    let profiled = run(&format!("sim {file} --nodes 2 --for 8 --profile {path}"));
    assert_eq!((status(&profiled), stdout(&profiled)), (0, stdout(&plain)));
    assert!(stdout(&plain).contains("ns(\"n1:1\", \"r1\", 5, null)"), "{}", stdout(&plain));
    let stacks = stacks(&path);
    assert!(stacks["run;timer of r1;r1;on timer"] > 0, "{stacks:?}");
    assert!(stacks["run;timer of r1;r2;on event found"] > 0, "{stacks:?}");
    assert!(stacks.contains_key("run;timer of r1;(engine) commit"), "{stacks:?}");
}

#[test]
fn a_run_writes_a_flame_graph_at_its_end() {
    let folder = Folder::new();
    let file = folder.file("a.olg", JOIN);
    let path = folder.path().join("p.svg");
    let line = format!("run {file} --nodes 1 --for 1.5 --profile {}", path.display());
    let output = run(&line);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let svg = std::fs::read_to_string(&path).expect("it was written");
    assert!(svg.contains("<title>r1: ") && svg.contains(" 2 derived, 5 probes</title>"), "{svg}");
    let nowhere = folder.path().join("none").join("p.svg");
    let line = format!("run {file} --nodes 1 --for 0.1 --profile {}", nowhere.display());
    let output = run(&line);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("cannot write the profile"), "{}", stderr(&output));
}

/// A process that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn tools_see_what_rules_cost_while_they_look() {
    let folder = Folder::new();
    let rules = "r1 tick(@N, E) :- periodic(@N, E, 0.01).\n";
    let file = folder.file("a.olg", rules);
    let mut command = tidemill();
    command.args(["run", &file, "--nodes", "1", "--for", "60"]);
    command.env("XDG_RUNTIME_DIR", folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().expect("it starts"));
    let mut line = String::new();
    let notes = running.0.stderr.take().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(notes), &mut line).expect("a line");
    let address = line.split_whitespace().nth(1).expect("INDEX ADDR").to_owned();
    let ask = |arguments: &[&str]| {
        let mut command = tidemill();
        command.args(arguments).env("XDG_RUNTIME_DIR", folder.path());
        stdout(&command.output().expect("it starts"))
    };
    // The first query finds no measurement, and starts one.
    let first = ask(&["query", &address, "sys::rule"]);
    assert!(first.contains("\"r1\", ") && first.ends_with(", null)\n"), "{first}");
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let text = ask(&["query", &address, "sys::rule"]);
        let ns = text.trim_end().trim_end_matches(')').rsplit(", ").next();
        if ns.is_some_and(|ns| ns.parse::<u64>().is_ok_and(|ns| ns > 0)) {
            break;
        }
        assert!(Instant::now() < end, "{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = running.0.id().to_string();
    for whom in [pid.as_str(), address.as_str()] {
        loop {
            let text = ask(&["top", whom]);
            let row = text.lines().find(|line| line.starts_with("r1 ")).unwrap_or_default();
            // Rule, fired, derived, probes, time each, share.
            let cells: Vec<&str> = row.split_whitespace().collect();
            if let [_, _, _, "0", each, share] = cells[..]
                && each.parse::<u64>().is_ok_and(|ns| ns > 0)
                && share.ends_with('%')
            {
                break;
            }
            assert!(Instant::now() < end, "{text}");
        }
    }
}
